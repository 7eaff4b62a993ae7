"""How far an estimate would have moved: influences, intervals, and p-values by permutation."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from twopan.stats.columns import labels, numbers
from twopan.stats.resampling import (
    Undefined,
    fisher,
    influence,
    jackknife,
    mean,
    permutation_p,
    sign_flip,
    student,
)
from twopan.stats.win_rate import NoData, win_rate


def ratio(s):
    return s[..., 0] / s[..., 1]


@given(st.integers(0, 10_000))
def test_the_influence_on_a_ratio_is_what_the_textbook_says(seed):
    parts = np.random.default_rng(seed).uniform(1, 2, size=(20, 2))
    found, u = influence(ratio, parts.sum(0), parts)
    x, y = parts.T
    np.testing.assert_allclose(u, (x - found * y) / y.sum(), atol=1e-14)


@given(st.integers(0, 10_000))
def test_the_jackknife_of_a_mean_is_its_standard_error(seed):
    y = np.random.default_rng(seed).normal(size=15)
    _, u = jackknife(ratio, np.column_stack([y, np.ones(15)]))
    assert math.sqrt(15 / 14 * u @ u) == pytest.approx(stats.sem(y))


def test_where_an_item_cannot_be_left_out_the_jackknife_leaves_out_a_part():
    parts = np.array([[1.0, 0.0], [2.0, 1.0]])  # without the second there is nothing to divide by
    assert jackknife(ratio, parts)[1] == pytest.approx(influence(ratio, parts.sum(0), parts)[1])


@given(st.integers(5, 500), st.sampled_from([0.8, 0.9, 0.95, 0.99]))
def test_students_quantile_agrees_with_scipy(df, level):
    assert student(level, df) == pytest.approx(stats.t.ppf((1 + level) / 2, df), rel=0.005)


@given(st.integers(0, 60), st.integers(1, 60))
def test_a_mean_of_ones_and_zeros_has_wilsons_interval(ones, more):
    found = mean([1] * ones + [0] * more)
    theirs = proportion_confint(ones, ones + more, method="wilson")
    assert (found.low, found.high) == pytest.approx(theirs, abs=1e-9)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40))
def test_a_mean_of_scores_has_the_interval_of_a_win_rate(y):
    ours, theirs = mean(y), win_rate(y)
    assert (ours.estimate, ours.low, ours.high) == pytest.approx(
        (theirs.estimate, theirs.low, theirs.high), abs=1e-9
    )


def test_two_orders_of_a_pair_are_one_item():
    looks = [1, 1, 0, 0] * 4
    found = mean(looks, cluster=np.repeat(np.arange(8), 2))
    assert found.standard_error == pytest.approx(0.188982, abs=1e-6)


@pytest.mark.parametrize("g", [2, 6, 50])
def test_a_coefficient_of_one_is_not_taken_for_certainty(g):
    found = fisher(1.0, np.zeros(g))
    assert (found.estimate, found.high) == (1, 1)
    assert -1 < found.low < 1


def test_a_coefficient_out_of_range_is_an_error():
    with pytest.raises(Undefined, match="outside -1 to 1"):
        fisher(-1.2, np.array([0.1, -0.1]))


@pytest.mark.parametrize(("exceed", "draws", "p"), [(0, 1000, 1 / 1001), (4, 99, 0.05), (9, 9, 1)])
def test_a_permutation_p_value_is_never_zero(exceed, draws, p):
    assert permutation_p(exceed, draws) == pytest.approx(p)


@pytest.mark.parametrize(("exceed", "draws"), [(0, 0), (-1, 5), (6, 5)])
def test_a_permutation_p_value_needs_a_count_among_its_draws(exceed, draws):
    with pytest.raises(ValueError, match="draw at least one"):
        permutation_p(exceed, draws)


def test_flipping_signs_agrees_with_scipy():
    y = np.random.default_rng(2).normal(0.4, 1, size=12)
    exact = stats.permutation_test((y,), np.mean, permutation_type="samples", n_resamples=np.inf)
    assert sign_flip(y, seed=0) == pytest.approx(exact.pvalue, abs=0.015)


@given(
    st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.5, 1.0]), min_size=1, max_size=20), st.randoms()
)
def test_a_seed_gives_one_p_value_whatever_the_order_of_rows(y, random):
    shuffled = random.sample(y, len(y))
    assert sign_flip(y, seed=1, draws=200) == sign_flip(shuffled, seed=1, draws=200)


def test_rows_of_one_item_flip_together():
    alone = sign_flip([1, 1, 1, 1], seed=0)
    together = sign_flip([1] * 40, seed=0, cluster=[0, 1, 2, 3] * 10)
    assert together == pytest.approx(alone)
    assert together == pytest.approx(2 / 16, abs=0.02)


@pytest.mark.parametrize(
    ("values", "error", "says"),
    [
        ([], NoData, "no rows"),
        ([[1.0]], ValueError, "plain columns"),
        (["x"], ValueError, "x holds something that is not a number"),
        ([1.0, math.nan], ValueError, r"x\[1\] is nan"),
        ([math.inf], ValueError, r"x\[0\] is inf"),
    ],
)
def test_a_column_that_is_not_numbers_is_an_error_that_says_where(values, error, says):
    with pytest.raises(error, match=says):
        numbers(x=values)


@pytest.mark.parametrize("missing", [None, math.nan, np.float32("nan")])
def test_a_missing_label_is_an_error_and_not_a_category(missing):
    with pytest.raises(ValueError, match=r"x\[1\] is missing"):
        labels(x=[1, missing, 2])
