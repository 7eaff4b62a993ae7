"""Deciding early, looking as often as one likes: what is promised must hold exactly."""

import math
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twopan.stats.sequential import confidence_sequence, log_wealth, sequential
from twopan.stats.win_rate import NoData

outcomes = st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=1, max_size=60)


@pytest.mark.parametrize(
    ("values", "chances", "threshold"),
    [
        ((0.0, 1.0), (0.5, 0.5), 0.5),
        ((0.0, 1.0), (0.4, 0.6), 0.6),
        ((0.0, 0.5, 1.0), (0.25, 0.5, 0.25), 0.5),
        ((0.0, 0.3, 1.0), (0.2, 0.5, 0.3), 0.45),
    ],
)
def test_at_the_threshold_the_wealth_stays_one_on_average_and_is_seldom_large(
    values, chances, threshold
):
    """Every sequence of outcomes there is, with its probability."""
    n = 12 if len(values) == 2 else 8
    ever = {0.05: 0.0, 0.2: 0.0}
    mean = np.zeros(n)
    for sequence in product(range(len(values)), repeat=n):
        p = math.prod(chances[k] for k in sequence)
        wealth = np.exp(log_wealth(np.array([values[k] for k in sequence]), threshold))
        mean += p * wealth
        for alpha in ever:
            ever[alpha] += p * (wealth.max() >= 1 / alpha)
    np.testing.assert_allclose(mean, 1, rtol=1e-9)
    assert all(share <= alpha for alpha, share in ever.items())
    assert ever[0.2] > 0.01, "some do get rich, so the test can fail"


@given(outcomes, st.sampled_from([0.3, 0.5, 0.6]))
def test_swapping_the_sides_swaps_the_decisions(y, threshold):
    one = sequential(y, threshold=threshold)
    other = sequential([1 - x for x in y], threshold=1 - threshold)
    swapped = {"promote": "keep", "keep": "promote"}
    assert other.decision == swapped.get(one.decision, one.decision)
    assert other.low == pytest.approx(1 - one.high, abs=1e-9)
    assert other.p_keep == pytest.approx(one.p_promote)


@given(outcomes, outcomes)
def test_what_was_decided_on_evidence_stays_decided(y, more):
    before, after = sequential(y), sequential(y + more)
    if before.decision:
        assert (after.decision, after.decided_at) == (before.decision, before.decided_at)
    assert after.low >= before.low - 1e-9
    assert after.high <= before.high + 1e-9


@given(outcomes)
def test_the_bounds_exclude_the_threshold_exactly_when_it_is_decided(y):
    found = sequential(y, threshold=0.5)
    assert (found.low > 0.5) == (found.decision == "promote" or found.p_promote <= 0.05)
    assert (found.high < 0.5) == (found.decision == "keep" or found.p_keep <= 0.05)
    assert (found.p_promote <= 0.05) == (log_wealth(np.array(y), 0.5).max() >= math.log(20))


def test_ties_neither_win_nor_lose_at_one_half():
    wins = [1.0] * 8
    assert sequential(wins).decided_at == 8
    assert sequential([0.5] * 30 + wins).decided_at == 38
    assert sequential([0.5] * 30 + wins).p_promote == sequential(wins).p_promote


def test_any_scores_are_bounded_and_not_only_wins():
    y = np.random.default_rng(0).beta(8, 4, size=200)
    low, high = confidence_sequence(y)
    assert (np.diff(low) >= 0).all()
    assert (np.diff(high) <= 0).all()
    assert low[-1] < 2 / 3 < high[-1]
    assert high[-1] - low[-1] < 0.12, "the spread is small, and the bounds know it"


def test_without_a_future_the_gate_stops():
    even = [1.0, 0.0] * 60
    assert sequential(even).decision is None, "without a cap there is always a future"
    assert sequential(even, cap=len(even)).stopped == "cap"
    assert sequential(even, cap=200).stopped == "futility"
    assert sequential(even, cap=200, futile=0).decision is None
    assert sequential([1.0, 0.0] * 5, cap=500).decision is None


def test_a_candidate_that_is_worse_is_called_so_and_not_given_up_on():
    worse = ([0.0] * 3 + [1.0]) * 4
    found = sequential(worse, cap=500)
    assert found.chance < 0.02
    assert found.decision is None, "to be kept out is likely, and worth waiting for"
    assert sequential(worse * 3, cap=500).decision == "keep"


def test_the_same_outcomes_give_the_same_answer():
    y = [1.0, 0.0, 0.5, 1.0] * 9
    assert sequential(y, cap=300) == sequential(y, cap=300)


@pytest.mark.parametrize(
    ("y", "more", "error"),
    [
        ([], {}, NoData),
        ([1.2], {}, ValueError),
        ([float("nan")], {}, ValueError),
        ([1], {"threshold": 0}, ValueError),
        ([1], {"level": 1}, ValueError),
    ],
)
def test_what_cannot_be_decided_on_is_refused(y, more, error):
    with pytest.raises(error):
        sequential(y, **more)


def test_the_error_rate_holds_and_items_are_saved(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parent.parent / "benchmarks" / "simulate"))
    import sequential as simulated

    at = {rate: simulated.told(120, 1, rate, 0.0) for rate in (0.5, 0.7)}
    promoted, _, ever, *_ = map(float, at[0.5][:3])
    assert promoted <= ever <= 0.08
    promoted, kept, _, items = map(float, at[0.7][:4])
    assert promoted > 0.95
    assert kept == 0
    assert items < 60
