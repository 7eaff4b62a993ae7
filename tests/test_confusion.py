"""A judge's confusions undone, against closed forms, resampling, and what must hold of any."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twopan.stats.bradley_terry import NotIdentified
from twopan.stats.confusion import unconfused
from twopan.stats.resampling import Undefined

RIGHT = np.array([[0.85, 0.3, 0.1], [0.1, 0.5, 0.1], [0.05, 0.2, 0.8]])
"""Of a judge that leans to A: a column for each outcome of people's."""


def judged(y, rng, matrix=RIGHT):
    outcomes = np.array([1, 0.5, 0])
    return np.array([rng.choice(outcomes, p=matrix[:, int(2 - 2 * each)]) for each in y])


def drawn(seed, few=200, many=600, of=(0.5, 0.2, 0.3), by=(0.4, 0.2, 0.4)):
    """Labels of one mix of outcomes and verdicts of another."""
    rng = np.random.default_rng(seed)
    y = rng.choice([1, 0.5, 0], p=by, size=few)
    return y, judged(y, rng), judged(rng.choice([1, 0.5, 0], p=of, size=many), rng)


def test_without_ties_it_is_rogan_and_gladens():
    rng = np.random.default_rng(0)
    y = (rng.random(150) < 0.4).astype(float)
    f = np.where(rng.random(150) < np.where(y == 1, 0.9, 0.75), y, 1 - y)
    more = (rng.random(500) < 0.6).astype(float)
    sensitivity, specificity, q = f[y == 1].mean(), 1 - f[y == 0].mean(), more.mean()
    theirs = (q + specificity - 1) / (sensitivity + specificity - 1)
    found = unconfused(y, f, more)
    assert found.estimate == pytest.approx(theirs)
    # The delta method, by hand, with each sample's own binomial variances.
    slope = sensitivity + specificity - 1
    ones, noughts = (y == 1).sum(), (y == 0).sum()
    variance = q * (1 - q) / 500
    variance += (theirs**2) * sensitivity * (1 - sensitivity) / ones
    variance += ((1 - theirs) ** 2) * specificity * (1 - specificity) / noughts
    assert found.standard_error == pytest.approx(np.sqrt(variance) / slope, rel=0.01)
    np.testing.assert_allclose(
        found.confusion, [[sensitivity, 1 - specificity], [1 - sensitivity, specificity]]
    )


def test_a_crooked_judge_and_another_mix_of_labels_still_say_the_truth():
    found = unconfused(*drawn(1, few=3000, many=20_000))
    assert found.estimate == pytest.approx(0.6, abs=0.03)
    assert found.shares == pytest.approx((0.5, 0.2, 0.3), abs=0.05)
    np.testing.assert_allclose(found.confusion, RIGHT, atol=0.04)
    assert sum(found.shares) == pytest.approx(1)


def test_the_error_is_that_of_resampled_items():
    y, f, more = drawn(2)
    found = unconfused(y, f, more)
    rng, again = np.random.default_rng(0), []
    for _ in range(1000):
        at, of = rng.integers(len(y), size=len(y)), rng.integers(len(more), size=len(more))
        again.append(unconfused(y[at], f[at], more[of]).estimate)
    assert found.standard_error == pytest.approx(np.std(again), rel=0.08)


@given(st.integers(0, 10_000), st.booleans())
def test_sides_order_and_names_do_not_matter(seed, symmetric):
    y, f, more = drawn(seed)
    try:
        one = unconfused(y, f, more, symmetric=symmetric)
    except NotIdentified:
        with pytest.raises(NotIdentified):
            unconfused(1 - y, 1 - f, 1 - more, symmetric=symmetric)
        return
    other = unconfused(1 - y, 1 - f, 1 - more, symmetric=symmetric)
    assert other.estimate == pytest.approx(1 - one.estimate)
    assert (other.low, other.high) == pytest.approx((1 - one.high, 1 - one.low))
    assert other.shares == pytest.approx(one.shares[::-1])
    order = np.random.default_rng(seed).permutation(len(y))
    again = unconfused(
        y[order], f[order], more[::-1], cluster=[f"item {i}" for i in order], symmetric=symmetric
    )
    assert (again.low, again.high) == pytest.approx((one.low, one.high))
    # Every row twice, on the same items, is no more evidence than once.
    twice = unconfused(
        *(np.tile(column, 2) for column in (y, f, more)),
        cluster=np.tile(range(len(y)), 2),
        unlabelled_cluster=np.tile(range(len(more)), 2),
        symmetric=symmetric,
    )
    assert (twice.low, twice.high) == pytest.approx((one.low, one.high))


def test_a_judge_that_errs_alike_on_both_sides_needs_fewer_labels():
    rng = np.random.default_rng(3)
    fair = np.array([[0.8, 0.2, 0.1], [0.1, 0.6, 0.1], [0.1, 0.2, 0.8]])
    y = rng.choice([1, 0.5, 0], p=[0.4, 0.2, 0.4], size=400)
    f = judged(y, rng, fair)
    more = judged(rng.choice([1, 0.5, 0], p=[0.6, 0.2, 0.2], size=2000), rng, fair)
    own, shared = unconfused(y, f, more), unconfused(y, f, more, symmetric=True)
    assert shared.standard_error < own.standard_error
    assert shared.low < 0.7 < shared.high
    np.testing.assert_allclose(shared.confusion, shared.confusion[::-1, ::-1])


def test_where_it_does_not_follow_that_is_said():
    y, f, more = drawn(4)
    with pytest.raises(NotIdentified, match="hardly tells outcomes apart"):
        unconfused(y, np.ones(len(y)), more)
    rng = np.random.default_rng(0)
    with pytest.raises(NotIdentified, match="hardly tells outcomes apart"):
        unconfused(y, rng.permutation(f), more)
    with pytest.raises(NotIdentified, match="people never said a tie"):
        unconfused(np.where(y == 0.5, 0, y), f, more)
    with pytest.raises(NotIdentified, match="people never said B better"):
        unconfused(np.ones(20), [1, 0] * 10, [1, 0] * 100)
    with pytest.raises(Undefined, match="people labelled 9 items; 10 is the least"):
        unconfused(y[:9], f[:9], more)
    with pytest.raises(Undefined, match="fewer than two items"):
        unconfused(y, f, more[:1])
    with pytest.raises(ValueError, match="f must hold outcomes"):
        unconfused(y, f + 0.1, more)
