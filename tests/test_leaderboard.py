"""A leaderboard says what the games bear out, and no more."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twopan.stats.battles import count
from twopan.stats.bootstrap import bootstrap
from twopan.stats.bradley_terry import bradley_terry, fit
from twopan.stats.leaderboard import leaderboard
from twopan.stats.ranks import ranks


def games(*rows):
    """Rows (a, b, how often a won, how often b did), each game on an item of its own."""
    a, b, y = [], [], []
    for first, second, won, lost in rows:
        a += [first] * (won + lost)
        b += [second] * (won + lost)
        y += [1] * won + [0] * lost
    return a, b, y


def board_of(*rows, n, **more):
    return leaderboard(count(*games(*rows), n=n), **more)


def test_ratings_are_those_of_bradley_and_terry():
    rows = [(0, 1, 30, 20), (1, 2, 30, 10), (0, 2, 33, 7)]
    board = board_of(*rows, n=3)
    theta = bradley_terry(*games(*rows), n=3).theta
    for s in board.standings:
        assert s.rating == pytest.approx(1000 + 400 / np.log(10) * theta[s.system])
        assert s.interval[0] < s.rating < s.interval[1]
        assert s.simultaneous[0] < s.interval[0]
    assert [s.system for s in board.standings] == [0, 1, 2]
    assert board.expected[0][1] == pytest.approx(1 / (1 + np.exp(theta[1] - theta[0])))
    np.testing.assert_array_equal(board.scores, [[0, 30, 33], [20, 0, 30], [7, 10, 0]])


def test_a_system_that_lost_everything_spoils_nobody_elses_rating():
    mixed = [(0, 1, 6, 4), (1, 2, 6, 4), (0, 2, 7, 3)]
    board = board_of(*mixed, (0, 3, 5, 0), (1, 3, 5, 0), (2, 3, 5, 0), n=4)
    alone = board_of(*mixed, n=3)
    rated = {s.system: s.rating for s in board.standings}
    assert rated == {**{s.system: s.rating for s in alone.standings}, 3: None}
    assert [s.system for s in board.standings] == [0, 1, 2, 3]
    assert board.standings[-1].flag == "winless"
    assert board.standings[-1].interval is None


def test_systems_that_never_met_stand_in_no_one_order():
    board = board_of((0, 1, 6, 4), (2, 3, 6, 4), n=4)
    assert board.islands == ((0, 1), (2, 3))
    assert not board.single
    assert board.expected[0][2] is None
    assert {s.worst_rank for s in board.standings} == {2}


def test_an_undefeated_system_is_first_for_certain_only_after_enough_games():
    few, many = (board_of((0, 1, won, 0), n=2) for won in (3, 9))
    assert [(s.rank, s.worst_rank) for s in few.standings] == [(1, 2), (1, 2)]
    assert [(s.rank, s.worst_rank) for s in many.standings] == [(1, 1), (2, 2)]
    assert [s.flag for s in many.standings] == ["undefeated", "winless"]
    assert {s.rating for s in many.standings} == {None}


def test_a_system_that_met_nobody_has_no_numbers():
    alone = next(s for s in board_of((0, 1, 3, 2), n=3).standings if s.system == 2)
    assert (alone.flag, alone.win_rate, alone.games, alone.rating) == ("alone", None, 0, None)


def test_a_prior_rates_an_undefeated_system_and_is_declared():
    board = board_of((0, 1, 9, 0), n=2, prior=1.0)
    assert board.prior == 1.0
    assert board.standings[0].rating > 1000
    assert board.standings[0].flag == "undefeated"


def test_ranks_are_shared_where_nothing_tells_systems_apart():
    found = ranks(np.array([1.0, 0.95, -1.95]), np.eye(3) * 0.04)
    assert found.low.tolist() == [1, 1, 3]
    assert found.high.tolist() == [2, 2, 3]


def test_the_width_for_all_differences_is_that_of_the_studentised_range():
    from scipy.stats import studentized_range

    found = ranks(np.zeros(5), np.eye(5), draws=100_000, level=0.95)
    exact = studentized_range.ppf(0.95, 5, np.inf) / np.sqrt(2)
    assert found.critical == pytest.approx(exact, rel=0.01)
    few = ranks(np.zeros(5), np.eye(5), df=8, draws=100_000)
    assert few.critical == pytest.approx(studentized_range.ppf(0.95, 5, 8) / np.sqrt(2), rel=0.015)


@given(st.integers(0, 2**32 - 1), st.integers(2, 7), st.integers(1, 40))
def test_any_games_make_a_board_of_all_systems(seed, n, m):
    rng = np.random.default_rng(seed)
    a = rng.integers(n, size=m)
    b = (a + rng.integers(1, n, size=m)) % n
    y = rng.choice([0.0, 0.5, 1.0], size=m)
    item = rng.integers(6, size=m)
    board = leaderboard(count(a, b, y, n=n, cluster=item))
    assert sorted(s.system for s in board.standings) == list(range(n))
    for s in board.standings:
        assert 1 <= s.rank <= s.worst_rank <= n
        assert s.rating is None or np.isfinite(s.rating)
        assert (s.flag == "alone") == (s.games == 0)
        assert s.flag in (None, "separated") or s.rating is None
    # Renaming systems renames the board and changes nothing else.
    name = rng.permutation(n)
    other = leaderboard(count(name[a], name[b], y, n=n, cluster=item))
    before = {name[s.system]: s for s in board.standings}
    for s in other.standings:
        same = before[s.system]
        assert (s.flag, s.games) == (same.flag, same.games)
        assert s.rating == (None if same.rating is None else pytest.approx(same.rating, abs=1e-6))


def test_intervals_and_ranks_hold_as_often_as_they_say(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parent.parent / "benchmarks" / "simulate"))
    import bradley_terry as simulated

    design = simulated.Design(4, 60, 6, votes=4)
    by_item, independent, differences, ranked, _ = (
        float(share.rstrip("%")) for share in simulated.told(150, 1, design)
    )
    assert 91 < by_item < 98
    assert independent < by_item - 10, "votes on one item are no independent evidence"
    assert differences > 90
    assert ranked > 90


def test_the_bootstrap_moves_as_far_as_the_sandwich_says():
    rng = np.random.default_rng(2)
    item = np.repeat(np.arange(150), 6)
    a = rng.integers(4, size=900)
    b = (a + rng.integers(1, 4, size=900)) % 4
    quirk = rng.normal(size=(150, 4))
    theta = np.array([0.5, 0.2, -0.2, -0.5])
    eta = theta[a] - theta[b] + quirk[item, a] - quirk[item, b]
    battles = count(
        a, b, (rng.random(900) < 1 / (1 + np.exp(-eta))).astype(float), n=4, cluster=item
    )
    drawn, fitted = bootstrap(battles, draws=2000, seed=1), fit(battles)
    assert drawn.failed == 0
    for i, j in ((0, 1), (0, 3), (2, 3)):
        spread = (drawn.theta[:, i] - drawn.theta[:, j]).std()
        assert spread == pytest.approx(fitted.standard_error(i, j), rel=0.07)
        low, high = drawn.interval(i, j)
        assert low < fitted.theta[i] - fitted.theta[j] < high
