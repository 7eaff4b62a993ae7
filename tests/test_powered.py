"""A judge corrected by people's labels, against closed forms, resampling, and people themselves."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from twopan.stats.bradley_terry import NotIdentified, bradley_terry
from twopan.stats.powered import powered, powered_ratings
from twopan.stats.resampling import Undefined
from twopan.stats.win_rate import win_rate


def drawn(seed, few=60, many=300, right=0.8, ties=0.1):
    rng = np.random.default_rng(seed)
    y = rng.choice([1.0, 0.5, 0.0], p=[0.55 - ties / 2, ties, 0.45 - ties / 2], size=few + many)
    f = np.where(rng.random(len(y)) < right, y, rng.choice([1.0, 0.5, 0.0], size=len(y)))
    return y[:few], f[:few], f[few:]


def tournament(seed, few=40, many=150, right=0.8):
    """Three systems on every item: rows of the labelled, and of the others."""
    rng = np.random.default_rng(seed)
    m, a, b = few + many, np.array([0, 0, 1]), np.array([1, 2, 2])
    own = np.array([0.7, 0, -0.7]) + rng.normal(0, 0.6, (m, 3))
    y = (rng.random((m, 3)) < 1 / (1 + np.exp(own[:, b] - own[:, a]))).astype(float).ravel()
    f = np.where(rng.random(len(y)) < right, y, 1 - y)
    a, b, item, cut = np.tile(a, m), np.tile(b, m), np.repeat(np.arange(m), 3), 3 * few
    return (
        (a[:cut], b[:cut], y[:cut], f[:cut]),
        (a[cut:], b[cut:], f[cut:]),
        {"cluster": item[:cut], "unlabelled_cluster": item[cut:]},
    )


# --- the win rate


@pytest.mark.parametrize("seed", range(5))
def test_the_weight_and_the_error_are_those_of_the_paper(seed):
    """PPI++, equations 3 and 7, for a mean of independent items."""
    y, f, more = drawn(seed)
    n, many = len(y), len(more)
    # Equation 7 has one variance of f, which here is each sample's own.
    spread = f.var(ddof=1) / n + more.var(ddof=1) / many
    weight = np.cov(y, f)[0, 1] / n / spread
    error = (y - weight * f).var(ddof=1) / n + weight**2 * more.var(ddof=1) / many
    found = powered(y, f, more)
    assert found.weight == pytest.approx(weight)
    assert found.estimate == pytest.approx(y.mean() + weight * (more.mean() - f.mean()))
    assert found.standard_error == pytest.approx(np.sqrt(error))
    assert found.worth == pytest.approx(y.var(ddof=1) / n / error)


def test_a_judge_that_tells_nothing_is_not_listened_to():
    y, _, _ = drawn(0)
    found = powered(y, [1] * len(y), [1] * 300)
    alone = win_rate(y)
    assert (found.weight, found.estimate, found.worth) == pytest.approx((0, alone.estimate, 1))
    assert found.low == pytest.approx(alone.low, abs=0.006)
    assert found.high == pytest.approx(alone.high, abs=0.006)


def test_a_judge_that_is_a_person_is_worth_as_many_labels_as_it_has_verdicts():
    y, _, _ = drawn(1, few=100)
    more, _, _ = drawn(2, few=900)
    found = powered(y, y, more)
    assert found.worth == pytest.approx(10, rel=0.1)
    assert found.estimate == pytest.approx(np.concatenate([y, more]).mean(), abs=0.01)


def test_a_judge_that_errs_to_one_side_is_set_right():
    """It takes A in three of four that people give to B."""
    y = np.array([1, 0] * 200, float)
    f = np.where(np.arange(400) % 8 == 7, 0, 1.0)
    more = np.tile([1.0] * 7 + [0], 500)
    assert powered(y, f, more).low < 0.5 < powered(y, f, more).high
    assert win_rate(more).low > 0.8


def test_the_error_is_that_of_resampled_items():
    y, f, more = (np.repeat(c, 3) for c in drawn(3, few=80, many=200))
    rng = np.random.default_rng(0)
    noise = rng.random(len(y)) < 0.2
    y = np.where(noise, 1 - y, y)
    few, many = np.repeat(np.arange(80), 3), np.repeat(np.arange(200), 3)
    found = powered(y, f, more, cluster=few, unlabelled_cluster=[f"other {i}" for i in many])
    again = []
    for _ in range(3000):
        at = (rng.integers(80, size=80)[:, None] * 3 + np.arange(3)).ravel()
        of = (rng.integers(200, size=200)[:, None] * 3 + np.arange(3)).ravel()
        again.append(y[at].mean() + found.weight * (more[of].mean() - f[at].mean()))
    assert found.standard_error == pytest.approx(np.std(again), rel=0.05)


@given(st.integers(0, 10_000))
def test_sides_order_and_names_do_not_matter(seed):
    y, f, more = drawn(seed, few=20, many=50)
    one, other = powered(y, f, more), powered(1 - y, 1 - f, 1 - more)
    assert other.estimate == pytest.approx(1 - one.estimate)
    assert (other.low, other.high) == pytest.approx((1 - one.high, 1 - one.low))
    assert 0 <= one.low <= one.estimate <= one.high <= 1
    assert 0 <= one.weight <= 1
    order = np.random.default_rng(seed).permutation(len(y))
    again = powered(y[order], f[order], more[::-1], cluster=[f"item {i}" for i in order])
    assert again.low == pytest.approx(one.low)
    # Every row twice, on the same items, is no more evidence than once.
    twice = powered(
        np.tile(y, 2), np.tile(f, 2), np.tile(more, 2),
        cluster=np.tile(np.arange(20), 2), unlabelled_cluster=np.tile(np.arange(20, 70), 2),
    )  # fmt: skip
    assert (twice.low, twice.high) == pytest.approx((one.low, one.high))


def test_what_does_not_correct_is_refused():
    y, f, more = drawn(0)
    with pytest.raises(Undefined, match="people labelled 9 items; 10 is the least"):
        powered(y[:9], f[:9], more)
    with pytest.raises(Undefined, match="fewer than two items"):
        powered(y, f, more[:1])
    with pytest.raises(ValueError, match="item 7 is among the labelled and among the others"):
        powered(y, f, more, cluster=range(60), unlabelled_cluster=[*range(7, 8), *range(60, 359)])
    for columns in ((y + 1, f, more), (y, f - 1, more), (y, f, more * 3)):
        with pytest.raises(ValueError, match="must hold numbers between 0 and 1"):
            powered(*columns)


# --- strengths


def test_without_the_judge_it_is_the_fit_of_the_labels():
    labelled, others, clusters = tournament(0)
    found = powered_ratings(labelled, others, n=3, weight=0, **clusters)
    a, b, y, _ = labelled
    alone = bradley_terry(a, b, y, n=3, cluster=clusters["cluster"])
    np.testing.assert_allclose(found.ratings.theta, alone.theta, atol=1e-9)
    np.testing.assert_allclose(found.ratings.covariance, alone.covariance, rtol=0.06)
    assert (found.weight, found.ratings.clusters) == (0, 40)


def test_the_strengths_are_the_least_of_the_combined_loss():
    """PPI++, section 4: the loss itself, handed to another optimiser."""
    labelled, others, clusters = tournament(1)
    found = powered_ratings(labelled, others, n=3, **clusters)
    a, b, y, f = labelled
    c, d, more = others

    def loss(theta, a, b, y):
        eta = theta[a] - theta[b]
        return np.mean(np.logaddexp(0, eta) - y * eta)

    def combined(free):
        theta = np.array([*free, -sum(free)])
        moved = loss(theta, c, d, more) - loss(theta, a, b, f)
        return loss(theta, a, b, y) + found.weight * moved

    theirs = minimize(combined, [0, 0], method="BFGS", options={"gtol": 1e-10}).x
    np.testing.assert_allclose(found.ratings.theta[:2], theirs, atol=1e-6)
    assert 0.2 < found.weight < 0.9


def test_the_best_weight_is_better_than_others_and_the_errors_are_those_of_resampled_items():
    labelled, others, clusters = tournament(2)
    found = powered_ratings(labelled, others, n=3, **clusters)
    total = np.trace(found.ratings.covariance)
    for weight in (0, found.weight - 0.2, found.weight + 0.2):
        worse = powered_ratings(labelled, others, n=3, weight=weight, **clusters)
        assert total < np.trace(worse.ratings.covariance) * 1.001
    rng, again = np.random.default_rng(0), []
    for _ in range(400):
        at = (rng.integers(40, size=40)[:, None] * 3 + np.arange(3)).ravel()
        of = (rng.integers(150, size=150)[:, None] * 3 + np.arange(3)).ravel()
        refit = powered_ratings(
            tuple(c[at] for c in labelled), tuple(c[of] for c in others),
            n=3, weight=found.weight,
            cluster=np.repeat(range(40), 3), unlabelled_cluster=np.repeat(range(40, 190), 3),
        )  # fmt: skip
        again.append(refit.ratings.theta)
    np.testing.assert_allclose(
        np.sqrt(np.diag(found.ratings.covariance)), np.std(again, axis=0), rtol=0.12
    )


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1000), st.permutations([0, 1, 2]))
def test_other_numbers_and_other_sides_are_the_same_strengths(seed, number):
    labelled, others, clusters = tournament(seed)
    try:
        one = powered_ratings(labelled, others, n=3, **clusters)
    except NotIdentified:
        return
    number = np.array(number)
    a, b, y, f = labelled
    c, d, more = others
    other = powered_ratings(
        (number[b], number[a], 1 - y, 1 - f), (number[d], number[c], 1 - more), n=3, **clusters
    )
    np.testing.assert_allclose(other.ratings.theta[number], one.ratings.theta, atol=1e-7)
    covariance = other.ratings.covariance[np.ix_(number, number)]
    np.testing.assert_allclose(covariance, one.ratings.covariance, rtol=1e-4, atol=1e-9)


def test_strengths_that_do_not_exist_are_not_made_up():
    labelled, others, clusters = tournament(3)
    a, b, y, _ = labelled
    won = np.where(a == 0, 1.0, y)
    with pytest.raises(NotIdentified, match="infinitely far"):
        powered_ratings((a, b, won, won), others, n=3, weight=0, **clusters)
    with pytest.raises(NotIdentified, match="infinitely far"):
        powered_ratings(labelled, others, n=4, **clusters)
    for weight in (-0.1, 1.1):
        with pytest.raises(ValueError, match="weight must lie between 0 and 1"):
            powered_ratings(labelled, others, n=3, weight=weight)
    with pytest.raises(ValueError, match="from 0 to 1"):
        powered_ratings(labelled, others, n=2)


# --- how often they hold


def test_intervals_hold_as_often_as_they_say(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parent.parent / "benchmarks" / "simulate"))
    import powered as simulated

    rng = np.random.default_rng(1)
    judge, labels, wide, ppi, narrow, confusion, _, refused = simulated.simulated(
        300, rng, (100, 1000), 0.9, 0.0
    )
    assert float(judge.rstrip("%")) < 60, "the judge alone is believed in error"
    for coverage in (labels, ppi, confusion):
        assert 91 < float(coverage.rstrip("%")) < 98.5
    assert float(narrow) < 0.8 * float(wide)
    assert refused == "0%"
    assert 0.91 < simulated.ratings_held(150, rng, 100, 300, 0.8) < 0.99
