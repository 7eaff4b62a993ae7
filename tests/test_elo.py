"""Elo, against an independent implementation, published numbers and what must hold of any."""

import evalica
import numpy as np
import pytest
from cases.loading import cases, every_case
from hypothesis import given
from hypothesis import strategies as st

from twopan.stats.elo import average_win_rate, elo
from twopan.stats.win_rate import NoData

WORTH = {"A": 1.0, "B": 0.0, "tie": 0.5}


def games(seed, n=4, m=60):
    rng = np.random.default_rng(seed)
    a = rng.integers(n, size=m)
    b = (a + rng.integers(1, n, size=m)) % n
    return a, b, rng.choice([0.0, 0.5, 1.0], size=m)


@given(st.integers(0, 10_000))
def test_agrees_with_evalica_in_the_order_given(seed):
    a, b, y = games(seed)
    won = [
        {1.0: evalica.Winner.X, 0.0: evalica.Winner.Y, 0.5: evalica.Winner.Draw}[score]
        for score in y
    ]
    names = "abcd"
    theirs = evalica.elo([names[i] for i in a], [names[i] for i in b], won, k=16.0).scores
    ours = elo(a, b, y, n=4, k=16.0).ratings
    expected = [theirs.get(name, 1000.0) for name in names]
    np.testing.assert_allclose(ours, expected, atol=1e-8)


@given(st.integers(0, 10_000))
def test_points_only_change_hands(seed):
    a, b, y = games(seed)
    found = elo(a, b, y, n=4, orders=5)
    assert found.ratings.sum() == pytest.approx(4000)
    other = elo(b, a, 1 - y, n=4)
    np.testing.assert_allclose(other.ratings, elo(a, b, y, n=4).ratings, atol=1e-9)


def test_averaged_over_orders_the_order_given_matters_little():
    a, b, y = games(1, m=200)
    order = np.random.default_rng(0).permutation(200)
    one, other = elo(a, b, y, n=4), elo(a[order], b[order], y[order], n=4)
    assert np.abs(one.ratings - other.ratings).max() > 10
    assert one.spread is None
    many = [elo(*c, n=4, orders=3000) for c in ((a, b, y), (a[order], b[order], y[order]))]
    assert np.abs(many[0].ratings - many[1].ratings).max() < 2
    assert (many[0].spread > 5).all()


def test_no_games_have_no_ratings():
    with pytest.raises(NoData):
        elo([], [], [], n=2)


def test_an_opponent_met_once_counts_as_much_as_one_met_often():
    scores = np.array([[0, 9, 0], [1, 0, 0], [1, 0, 0.0]])
    games = np.array([[0, 10, 1], [10, 0, 0], [1, 0, 0.0]])
    assert average_win_rate(scores, games).tolist() == pytest.approx([0.45, 0.1, 1.0])


def about(function):
    try:
        found = [c["id"] for c in every_case() if c["input"].get("fn") == function]
    except FileNotFoundError:
        found = ["STAT-"]
    return cases(*found)


@pytest.mark.parametrize("case", about("elo"))
def test_ratings_come_from_the_games_that_are_printed(case):
    args, expected = case["input"]["args"], case["expected"]
    names = list(expected["ratings"])
    a, b = ([names.index(game[side]) for game in args["games"]] for side in (0, 1))
    y = [WORTH[game[2]] for game in args["games"]]
    found = elo(a, b, y, n=len(names), k=args["k"], start=args["init"])
    rated = dict(zip(names, found.ratings, strict=True))
    assert rated == pytest.approx(expected["ratings"], abs=expected["tolerance"])
    assert rated != pytest.approx(expected["printed_in_source"], abs=10)
