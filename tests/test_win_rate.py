"""Win rate, against scipy and statsmodels and against what its interval promises."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from twopan.stats.win_rate import NoData, bounds, score_test, sign_test, win_rate

scores = st.lists(st.floats(0, 1), min_size=1, max_size=60)


@given(st.integers(1, 300), st.data())
def test_agrees_with_scipy_on_wins_and_losses(m, data):
    wins = data.draw(st.integers(0, m))
    ours = win_rate([1] * wins + [0] * (m - wins))
    theirs = binomtest(wins, m).proportion_ci(method="wilson")
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=1e-12)


@pytest.mark.parametrize("name", ["wins", "ties", "sure", "torn", "rare"])
@pytest.mark.parametrize("m", [8, 30, 100])
def test_the_interval_covers_the_truth_as_often_as_it_says(name, m):
    rng = np.random.default_rng(7)
    draw, truth = {
        "wins": (lambda size: rng.random(size) < 0.7, 0.7),
        "ties": (lambda size: rng.choice([1, 0.5, 0], p=[0.5, 0.3, 0.2], size=size), 0.65),
        "sure": (lambda size: rng.beta(0.5, 0.2, size), 0.5 / 0.7),
        "torn": (lambda size: rng.beta(40, 30, size), 40 / 70),
        "rare": (lambda size: np.where(rng.random(size) < 0.9, 0.52, 0), 0.9 * 0.52),
    }[name]
    covered = [(r := win_rate(y)).low <= truth <= r.high for y in draw((3000, m)).astype(float)]
    assert np.mean(covered) >= 0.92  # Wilson's own least, at these numbers of wins and losses


@given(scores)
def test_swapping_the_sides_mirrors_the_interval(y):
    ours, theirs = win_rate(y), win_rate([1 - x for x in y])
    mirrored = (1 - ours.estimate, 1 - ours.high, 1 - ours.low)
    assert (theirs.estimate, theirs.low, theirs.high) == pytest.approx(mirrored, abs=1e-9)


@given(scores, st.randoms())
def test_the_order_of_items_changes_nothing(y, random):
    shuffled = random.sample(y, len(y))
    assert win_rate(shuffled).low == pytest.approx(win_rate(y).low, abs=1e-12)


@given(scores)
def test_the_interval_lies_in_range_and_holds_the_estimate(y):
    rate = win_rate(y)
    assert 0 <= rate.low <= rate.estimate + 1e-12
    assert rate.estimate - 1e-12 <= rate.high <= 1


def test_ties_tell_more_than_wins_and_losses_of_the_same_mean():
    ties, extremes = win_rate([0.5] * 40), win_rate([1, 0] * 20)
    assert ties.high - ties.low < extremes.high - extremes.low


def test_items_that_all_score_the_same_are_not_taken_for_certainty():
    rate = win_rate([0.51] * 10)
    assert rate.low < 0.5


def test_the_standard_error_is_clustered_by_item():
    both_looks = [np.mean(looks) for looks in [[1, 1], [0, 0]] * 4]
    assert win_rate(both_looks).standard_error == pytest.approx(0.188982, abs=1e-6)


def test_no_data_is_an_error_and_not_a_rate():
    with pytest.raises(NoData):
        win_rate([])


@pytest.mark.parametrize("y", [[1.1], [-0.1], [math.nan]])
def test_a_score_out_of_range_is_refused(y):
    with pytest.raises(ValueError, match="between 0 and 1"):
        win_rate(y)


@given(st.integers(0, 400), st.integers(0, 400))
def test_the_sign_test_agrees_with_scipy(wins, losses):
    theirs = binomtest(wins, wins + losses).pvalue if wins + losses else 1.0
    assert sign_test(wins, losses) == pytest.approx(theirs, abs=1e-9)


@given(scores, st.integers(0, 20))
def test_bounds_hold_whatever_the_missing_would_have_scored(y, missing):
    low, high = bounds(sum(y), len(y), missing)
    for fill in (0.0, 0.5, 1.0):
        assert low - 1e-9 <= np.mean(y + [fill] * missing) <= high + 1e-9


@pytest.mark.parametrize("level", [0.8, 0.99, 0.999])
def test_other_levels_cover_as_they_say(level):
    """Where nine in ten are ties, the padding has to grow with the level."""
    rng = np.random.default_rng(3)
    scores = rng.choice([1, 0.5, 0], p=[0.06, 0.9, 0.04], size=(4000, 40))
    covered = [(r := win_rate(y, level=level)).low <= 0.51 <= r.high for y in scores]
    assert np.mean(covered) >= level - 0.01


@pytest.mark.parametrize("level", [0.8, 0.9, 0.95, 0.99])
def test_fewer_decided_items_than_needed_are_never_significant(level):
    from twopan.stats.win_rate import fewest_decided

    n = fewest_decided(level)
    assert sign_test(n, 0) <= 1 - level + 1e-9
    assert sign_test(n - 1, 0) > 1 - level


@given(
    st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=2, max_size=60),
    st.floats(0.05, 0.95),
    st.sampled_from([0.8, 0.95, 0.99]),
)
def test_the_score_test_is_the_interval_turned_round(y, threshold, level):
    found = win_rate(y, level=level)
    p = score_test(y, threshold, level=level)
    if min(abs(threshold - found.low), abs(threshold - found.high)) > 1e-9:
        assert (p < 1 - level) == (not found.low <= threshold <= found.high)


def test_the_score_test_of_wins_and_losses_is_that_of_statsmodels():
    from statsmodels.stats.proportion import proportions_ztest

    for wins, losses, threshold in ((30, 10, 0.5), (18, 22, 0.6), (400, 350, 0.5)):
        n = wins + losses
        # Beyond some forty items the padding that guards few equal scores changes nothing.
        _, theirs = proportions_ztest(wins, n, threshold, prop_var=threshold)
        assert score_test([1] * wins + [0] * losses, threshold) == pytest.approx(theirs, rel=1e-9)
