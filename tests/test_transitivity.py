"""Circles: found by their systems, and held against what chance makes of an order."""

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from cases.loading import cases, every_case
from hypothesis import given
from hypothesis import strategies as st

from twopan.stats.battles import count
from twopan.stats.bradley_terry import fit
from twopan.stats.transitivity import transitivity

WORTH = {"A": 1.0, "B": 0.0, "tie": 0.5}


def by_hand(wins):
    """(circular, transitive, tied) and the circles of a matrix of 1, 0, -1, None."""
    kinds, circles = [0, 0, 0], set()
    for three in combinations(range(len(wins)), 3):
        lead = [wins[i][j] for i, j in combinations(three, 2)]
        if None in lead:
            continue
        if 0 in lead:
            kinds[2] += 1
            continue
        out = [sum(wins[i][j] == 1 for j in three if j != i) for i in three]
        kinds[0 if out == [1, 1, 1] else 1] += 1
        if out == [1, 1, 1]:
            i, j, k = three
            circles.add((i, j, k) if wins[i][j] == 1 else (i, k, j))
    return tuple(kinds), circles


@given(st.integers(0, 10_000), st.integers(3, 8))
def test_triads_are_those_that_one_counts_by_hand(seed, n):
    rng = np.random.default_rng(seed)
    wins = [[None] * n for _ in range(n)]
    a, b, y = [], [], []
    for i, j in combinations(range(n), 2):
        if rng.random() < 0.8:
            lead = int(rng.integers(-1, 2))
            wins[i][j], wins[j][i] = lead, -lead
            a, b, y = [*a, i, j], [*b, j, i], [*y, (1 + lead) / 2, (1 - lead) / 2]
    if not a:
        return
    found = transitivity(count(a, b, y, n=n, cluster=[0] * len(a)))
    kinds, circles = by_hand(wins)
    assert (found.systems.circular, found.systems.transitive, found.systems.tied) == kinds
    assert set(found.cycles) == circles
    # All on one item: the item says what the systems do.
    assert found.items == found.systems


def test_kendalls_coefficient_runs_from_an_order_to_a_circle():
    pairs = list(combinations(range(5), 2))
    a, b = zip(*pairs, strict=True)
    assert transitivity(count(a, b, [1] * 10, n=5)).consistence == 1
    # Each beats the next two, going round: as many circles as five systems can make.
    round_robin = [1.0 if (j - i) % 5 in (1, 2) else 0.0 for i, j in pairs]
    found = transitivity(count(a, b, round_robin, n=5))
    assert (found.systems.circular, found.consistence) == (5, 0)
    assert transitivity(count(a[1:], b[1:], [1] * 9, n=5)).consistence is None


def test_circles_are_looked_for_within_an_item():
    a, b = [0, 1, 2] * 4, [1, 2, 0] * 4
    circle, order = [1, 1, 1] * 2, [1, 1, 0] * 2
    found = transitivity(count(a, b, circle + order, n=3, cluster=np.repeat(range(4), 3)))
    assert (found.items.circular, found.items.transitive) == (2, 2)
    assert found.items.share == 0.5


def test_chance_alone_raises_no_alarm_and_a_circle_does(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parent.parent / "benchmarks" / "simulate"))
    import transitivity as simulated

    assert simulated.alarms(60, 1, circle=0.0) < 0.15
    assert simulated.alarms(30, 1, circle=0.8) > 0.7


def test_worlds_repeat_with_a_seed():
    rng = np.random.default_rng(0)
    a = rng.integers(4, size=300)
    b = (a + rng.integers(1, 4, size=300)) % 4
    battles = count(
        a, b, rng.choice([0, 0.5, 1], size=300), n=4, cluster=rng.integers(40, size=300)
    )
    one, other = (transitivity(battles, fit(battles), worlds=50, seed=5) for _ in range(2))
    assert one == other
    assert 0 < one.p_items <= 1
    assert 0.1 < one.expected_items < 0.4


def about(function):
    try:
        found = [c["id"] for c in every_case() if c["input"].get("fn") == function]
    except FileNotFoundError:
        found = ["STAT-"]
    return cases(*found)


@pytest.mark.parametrize("case", about("cycles"))
def test_a_circle_of_names_is_found_whatever_letters_they_had(case):
    games = case["input"]["args"]["games"]
    names = sorted({name for game in games for name in game[:2]})
    a, b = ([names.index(game[side]) for game in games] for side in (0, 1))
    found = transitivity(count(a, b, [WORTH[game[2]] for game in games], n=len(names)))
    assert [[names[s] for s in cycle] for cycle in found.cycles] == case["expected"]["cycles"]
    assert found.transitive == case["expected"]["transitive"]
