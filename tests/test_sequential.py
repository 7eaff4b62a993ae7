"""Deciding early, looking as often as one likes: what is promised must hold exactly."""

import math
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twopan.stats.sequential import (
    Rules,
    Stop,
    _lower_ends,
    at_the_end,
    chances,
    confidence_sequence,
    log_wealth,
    sequential,
    walk,
)
from twopan.stats.win_rate import NoData, win_rate

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
    one = sequential(y, Rules(threshold))
    other = sequential([1 - x for x in y], Rules(1 - threshold))
    swapped = {"promote": "keep", "keep": "promote"}
    assert other.decision == swapped.get(one.decision, one.decision)
    assert other.low == pytest.approx(1 - one.high, abs=1e-9)
    assert other.p_keep == pytest.approx(one.p_promote)


@given(outcomes, outcomes)
def test_what_was_decided_on_evidence_stays_decided(y, more):
    before, after = sequential(y), sequential(y + more)
    if before.decision:
        assert after.decision == before.decision
        assert walk(y + more, Rules()) == walk(y, Rules())
    assert after.low >= before.low - 1e-9
    assert after.high <= before.high + 1e-9


@given(outcomes)
def test_the_bounds_exclude_the_threshold_exactly_when_it_is_decided(y):
    found = sequential(y)
    assert (found.low > 0.5) == (found.decision == "promote" or found.p_promote <= 0.05)
    assert (found.high < 0.5) == (found.decision == "keep" or found.p_keep <= 0.05)
    assert (found.p_promote <= 0.05) == (log_wealth(np.array(y), 0.5).max() >= math.log(20))


def test_ties_neither_win_nor_lose_at_one_half():
    wins = [1.0] * 9
    assert walk(wins, Rules(cap=500)) == Stop("promote", "evidence", 9)
    assert walk([0.5] * 30 + wins, Rules(cap=500)) == Stop("promote", "evidence", 39)
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
    assert sequential(even, Rules(cap=len(even))).stopped == "end"
    assert sequential(even, Rules(cap=200)).stopped == "futility"
    assert sequential(even, Rules(cap=200, futile=0)).decision is None
    assert sequential([1.0, 0.0] * 5, Rules(cap=500)).decision is None


def test_a_candidate_that_is_worse_is_called_so_and_not_given_up_on():
    worse = ([0.0] * 3 + [1.0]) * 4
    found = sequential(worse, Rules(cap=500))
    assert found.chance < 0.02
    assert found.decision is None, "to be kept out is likely, and worth waiting for"
    assert sequential(worse * 3, Rules(cap=500)).decision == "keep"


def test_a_short_data_set_is_not_wasted():
    """Bets alone would leave this open; the test after the last item does not."""
    y = [0.0, 1.0, 1.0, 0.5, 1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 0.5, 1.0, 1.0, 1.0, 1.0, 1.0]
    assert walk(y, Rules()) is None
    assert walk(y, Rules(cap=16)) == Stop("promote", "end", 16)
    found = sequential(y, Rules(cap=16))
    assert (found.decision, found.stopped) == ("promote", "end")
    assert found.low == win_rate(y, level=0.98).low > 0.5


def test_six_wins_may_be_chance_where_only_a_fifth_of_the_error_rate_is_left():
    assert at_the_end(np.ones(6), Rules(cap=6)) == "inconclusive"
    assert at_the_end(np.ones(7), Rules(cap=7)) == "promote"
    assert at_the_end(np.zeros(7), Rules(cap=7)) == "keep"


@given(st.lists(st.lists(st.integers(0, 30), min_size=3, max_size=3), min_size=1, max_size=5))
def test_wilsons_interval_of_many_data_sets_is_that_of_each(often):
    often = np.array([[*counts[:2], counts[2] + 1] for counts in often])
    values = np.array([0.0, 0.4, 1.0])
    lows = _lower_ends(often, values, 0.98)
    for counts, low in zip(often, lows, strict=True):
        assert low == pytest.approx(win_rate(np.repeat(values, counts), level=0.98).low, abs=1e-9)


@given(outcomes, st.integers(0, 3))
def test_looking_after_every_item_stops_where_one_look_there_says_so(y, more):
    """The walk over all outcomes, and a look at those up to its end, are one decision."""
    rules = Rules(cap=len(y) + 40 * more)
    stop = walk(y, rules)
    if stop is None:
        assert more
    else:
        there = sequential(y[: stop.n], rules)
        assert (there.decision, there.stopped) == (stop.decision, stop.stopped)
        assert walk(y[: stop.n], rules) == stop
        assert walk(y[: stop.n - 1], rules) is None if stop.n > 1 else True


def test_items_without_an_outcome_are_no_future_and_count_against_coverage():
    wins, every_other = [1.0] * 12, np.arange(1, 13) * 2
    assert walk(wins, Rules(cap=500), seen=every_other).n == 9
    assert walk(wins, Rules(cap=500), seen=every_other, coverage=0.9) is None
    late = [1, *range(3, 14)]  # one of the first two failed
    assert walk(wins, Rules(cap=500), seen=late, coverage=0.9).n == 9
    assert walk(wins, Rules(cap=24), seen=every_other, asked=24, coverage=0.9).stopped == "end"
    assert chances(np.ones(3), Rules(cap=9), 0) == (0.0, 0.0)


def test_the_same_outcomes_give_the_same_answer():
    y = [1.0, 0.0, 0.5, 1.0] * 9
    assert sequential(y, Rules(cap=300)) == sequential(y, Rules(cap=300))


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
        sequential(y, Rules(**more))


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
