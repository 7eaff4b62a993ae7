"""Calibration, against scikit-learn, and by the identity that a Brier score is made of."""

import math

import numpy as np
import pytest
import sklearn.metrics
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest
from sklearn.calibration import calibration_curve

from twopan.stats.calibration import brier_score, calibration, log_loss
from twopan.stats.resampling import Undefined
from twopan.stats.win_rate import NoData

forecast = st.integers(0, 100).map(lambda percent: percent / 100)
binary = st.lists(st.tuples(forecast, st.sampled_from([0, 1])), min_size=1, max_size=60)
with_ties = st.lists(st.tuples(forecast, st.sampled_from([0, 0.5, 1])), min_size=1, max_size=60)
either = pytest.mark.parametrize("equal", ["mass", "width"])


def columns(rows):
    return tuple(np.array(column, dtype=float) for column in zip(*rows, strict=True))


@given(binary)
def test_brier_and_log_loss_agree_with_scikit_learn(rows):
    f, y = columns(rows)
    brier = sklearn.metrics.brier_score_loss(y, f, pos_label=1)
    assert brier_score(f, y).estimate == pytest.approx(brier)
    if len(f) > 1:
        clipped = sklearn.metrics.log_loss(y, np.clip(f, 0.01, 0.99), labels=[0, 1])
        assert log_loss(f, y, clip=0.01).estimate == pytest.approx(clipped)


@given(binary)
def test_bins_of_equal_width_agree_with_scikit_learn(rows):
    f, y = columns(rows)
    f = f * 0.98 + 0.0101  # off the edges of bins, to which side of which opinions differ
    rate, probability = calibration_curve(y, f, n_bins=10, strategy="uniform")
    bins = calibration(f, y, equal="width").bins
    assert [b.rate.estimate for b in bins] == pytest.approx(list(rate))
    assert [b.probability for b in bins] == pytest.approx(list(probability))


@either
@given(rows=with_ties, bins=st.integers(1, 12))
def test_the_parts_of_the_brier_score_add_up_to_it(equal, rows, bins):
    found = calibration(*columns(rows), bins=bins, equal=equal)
    total = found.reliability - found.resolution + found.uncertainty + found.within_bins
    assert total == pytest.approx(found.brier.estimate, abs=1e-12)


@either
@given(rows=with_ties, bins=st.integers(1, 12))
def test_every_item_is_in_one_bin_whose_edges_hold_it(equal, rows, bins):
    f, y = columns(rows)
    found = calibration(f, y, bins=bins, equal=equal).bins
    inside = [(b.low <= f) & ((f < b.high) | (b.high == 1)) for b in found]
    assert [int(i.sum()) for i in inside] == [b.n for b in found]
    assert sum(b.n for b in found) == len(f)
    assert len(found) <= bins
    assert all(b.low <= b.probability <= b.high for b in found)


@either
@given(rows=with_ties)
def test_the_error_is_the_mean_gap_between_said_and_seen(equal, rows):
    found = calibration(*columns(rows), equal=equal)
    gaps = [b.n * abs(b.probability - b.rate.estimate) for b in found.bins]
    assert found.ece == pytest.approx(sum(gaps) / len(rows))
    assert 0 <= found.ece <= 1


@either
@given(rows=with_ties, random=st.randoms())
def test_the_order_of_items_changes_nothing(equal, rows, random):
    ours = calibration(*columns(rows), equal=equal)
    theirs = calibration(*columns(random.sample(rows, len(rows))), equal=equal)
    assert [(b.low, b.n) for b in theirs.bins] == [(b.low, b.n) for b in ours.bins]
    assert theirs.ece == pytest.approx(ours.ece)


@given(with_ties)
def test_the_other_side_is_calibrated_as_well(rows):
    f, y = columns(rows)
    ours, theirs = calibration(f, y, bins=1), calibration(1 - f, 1 - y, bins=1)
    for field in ("ece", "reliability", "resolution", "uncertainty", "within_bins"):
        assert getattr(theirs, field) == pytest.approx(getattr(ours, field), abs=1e-12)
    assert theirs.brier.low == pytest.approx(ours.brier.low)


def test_bins_of_equal_mass_hold_as_many_items_each():
    f = np.linspace(0.9, 0.99, 100)
    assert [b.n for b in calibration(f, f > 0.95, bins=4).bins] == [25] * 4


def test_equal_probabilities_are_never_parted():
    found = calibration([0.5] * 7 + [0.9] * 3, [1] * 10, bins=5)
    assert [(b.n, b.probability) for b in found.bins] == [(7, 0.5), (3, pytest.approx(0.9))]


def test_a_bin_has_wilsons_interval():
    (only,) = calibration([0.8] * 10, [1] * 7 + [0] * 3).bins
    theirs = binomtest(7, 10).proportion_ci(method="wilson")
    assert (only.rate.low, only.rate.high) == pytest.approx((theirs.low, theirs.high))


def test_two_looks_at_an_item_do_not_narrow_a_bin():
    once = calibration([0.8] * 10, [1] * 7 + [0] * 3)
    twice = calibration([0.8] * 20, [1] * 14 + [0] * 6, cluster=np.repeat(np.arange(10), 2))
    assert twice.bins[0].rate.low == pytest.approx(once.bins[0].rate.low)
    assert twice.brier.low == pytest.approx(once.brier.low)


@pytest.mark.parametrize("m", [100, 1000])
def test_perfect_probabilities_show_the_error_that_chance_gives_and_no_more(m):
    rng = np.random.default_rng(4)
    found = []
    for _ in range(200):
        f = rng.beta(2, 2, size=m)
        found.append(calibration(f, rng.random(m) < f))
    by_chance = np.mean([c.ece_by_chance for c in found])
    assert np.mean([c.ece for c in found]) == pytest.approx(by_chance, rel=0.1)


def test_overconfidence_is_more_than_chance_gives():
    rng = np.random.default_rng(4)
    f = rng.choice([0.02, 0.98], size=500)
    found = calibration(f, rng.random(500) < np.where(f > 0.5, 0.8, 0.2))
    assert found.ece > 10 * found.ece_by_chance
    assert found.ece == pytest.approx(0.18, abs=0.05)


@pytest.mark.parametrize("score", [brier_score, log_loss])
def test_the_interval_of_a_score_holds_the_truth_as_often_as_it_says(score):
    rng = np.random.default_rng(9)
    f = rng.uniform(0.1, 0.9, size=(500, 120))
    y = rng.random(f.shape) < f
    u = np.linspace(0.1, 0.9, 100_001)
    truth = {
        brier_score: (u * (1 - u)).mean(),
        log_loss: -(u * np.log(u) + (1 - u) * np.log(1 - u)).mean(),
    }[score]
    found = [score(*fy) for fy in zip(f, y, strict=True)]
    assert 0.92 <= np.mean([e.low <= truth <= e.high for e in found]) <= 0.98


def test_certain_and_right_costs_nothing_and_certain_and_wrong_is_an_error():
    assert log_loss([0, 1], [0, 1]).estimate == 0
    with pytest.raises(Undefined, match=r"f\[1\] is 0 and y\[1\] is 1: .*infinite.*clip"):
        log_loss([1, 0], [1, 1])
    with pytest.raises(Undefined, match="infinite"):
        log_loss([1, 0.5], [0.5, 1])
    assert log_loss([1, 0], [1, 1], clip=0.01).estimate == pytest.approx(
        -(math.log(0.99) + math.log(0.01)) / 2
    )


@pytest.mark.parametrize(
    ("function", "given", "error", "says"),
    [
        (calibration, [[], []], NoData, "no rows"),
        (brier_score, [[0.5], [1, 0]], ValueError, "1 of f and 2 of y"),
        (brier_score, [[1.2], [1]], ValueError, r"f\[0\] is 1.2, not between 0 and 1"),
        (brier_score, [[0.5], [2]], ValueError, r"y\[0\] is 2, not between 0 and 1"),
        (calibration, [[math.nan], [1]], ValueError, r"f\[0\] is nan"),
        (log_loss, [[0.5], [1]], Undefined, "single item"),
    ],
)
def test_what_cannot_be_answered_is_an_error_that_says_why(function, given, error, says):
    with pytest.raises(error, match=says):
        function(*given)


def test_no_bins_and_a_clip_that_clips_all_are_refused():
    with pytest.raises(ValueError, match="bins must be 1 or more"):
        calibration([0.5], [1], bins=0)
    with pytest.raises(ValueError, match="clip must be"):
        log_loss([0.5, 0.5], [1, 0], clip=0.5)
