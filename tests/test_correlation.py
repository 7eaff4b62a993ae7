"""Correlation, against scipy, a published table, and what an interval promises."""

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from twopan.stats.correlation import correlation, grouped_correlation, system_correlation
from twopan.stats.resampling import Undefined
from twopan.stats.win_rate import NoData

METHODS = ["pearson", "spearman", "kendall"]
SCIPY = {
    "pearson": lambda x, y: stats.pearsonr(x, y).statistic,
    "spearman": lambda x, y: stats.spearmanr(x, y).statistic,
    "kendall": lambda x, y: stats.kendalltau(x, y, variant="b").statistic,
}
TOPICAL_CHAT = (
    Path(__file__).resolve().parents[2] / "shared/data/topicalchat/topical_chat_unieval.parquet"
)

levels = st.integers(1, 5)
scored = st.lists(st.tuples(levels, levels), min_size=3, max_size=40).filter(
    lambda rows: all(len(set(column)) > 1 for column in zip(*rows, strict=True))
)
every_method = pytest.mark.parametrize("method", METHODS)


def columns(rows):
    return tuple(np.array(column, dtype=float) for column in zip(*rows, strict=True))


def bivariate(rng, m, rho):
    return rng.multivariate_normal([0, 0], [[1, rho], [rho, 1]], size=m).T


@every_method
@given(rows=scored)
def test_agrees_with_scipy_ties_and_all(method, rows):
    x, y = columns(rows)
    assert correlation(x, y, method).estimate == pytest.approx(SCIPY[method](x, y), abs=1e-9)


@every_method
@given(rows=scored)
def test_swapping_the_scorings_or_the_order_of_rows_changes_nothing(method, rows):
    x, y = columns(rows)
    ours, theirs = correlation(x, y, method), correlation(y[::-1], x[::-1], method)
    assert (theirs.low, theirs.high) == pytest.approx((ours.low, ours.high), abs=1e-6)


@every_method
@given(rows=scored)
def test_turning_one_scoring_around_mirrors_the_interval(method, rows):
    x, y = columns(rows)
    ours, theirs = correlation(x, y, method), correlation(-x, y, method)
    assert (-theirs.high, -theirs.low) == pytest.approx((ours.low, ours.high), abs=1e-6)


@every_method
@given(rows=scored)
def test_units_do_not_matter_and_ranks_need_none(method, rows):
    x, y = columns(rows)
    other = 1000 - 7 / 3 * x if method == "pearson" else -np.exp(x)
    ours, theirs = correlation(x, y, method), correlation(other, y, method)
    assert theirs.estimate == pytest.approx(-ours.estimate, abs=1e-9)


@every_method
@given(rows=scored)
def test_the_interval_lies_in_range_and_holds_the_estimate(method, rows):
    found = correlation(*columns(rows), method)
    assert -1 <= found.low <= found.estimate <= found.high <= 1


@every_method
@given(rows=scored)
def test_repeated_rows_of_an_item_tell_nothing_new(method, rows):
    x, y = columns(rows)
    once = correlation(x, y, method)
    twice = correlation(np.tile(x, 2), np.tile(y, 2), method, cluster=np.tile(np.arange(len(x)), 2))
    assert (twice.low, twice.high, twice.m) == pytest.approx(
        (once.low, once.high, once.m), abs=1e-6
    )


@every_method
def test_the_influence_is_what_leaving_rows_out_shows(method):
    """The standard error, found by calculus, against a jackknife by brute force."""
    x, y = np.round(2 * bivariate(np.random.default_rng(3), 300, 0.6))  # with ties
    left_out = [SCIPY[method](np.delete(x, i), np.delete(y, i)) for i in range(300)]
    theirs = math.sqrt(299**2 / 300 * np.var(left_out, ddof=1))
    assert correlation(x, y, method).standard_error == pytest.approx(theirs, rel=0.02)


@every_method
@pytest.mark.parametrize("m", [10, 60])
@pytest.mark.parametrize("rho", [0.0, 0.7])
def test_the_interval_holds_the_truth_as_often_as_it_says(method, m, rho):
    truth = {
        "pearson": rho,
        "spearman": 6 / math.pi * math.asin(rho / 2),
        "kendall": 2 / math.pi * math.asin(rho),
    }[method]
    rng = np.random.default_rng(5)
    found = [correlation(*bivariate(rng, m, rho), method) for _ in range(400)]
    covered = np.mean([f.low <= truth <= f.high for f in found])
    assert covered >= 0.92
    assert covered <= (0.98 if m > 10 else 1)  # ranks of ten items take few values


@every_method
def test_the_clustered_interval_holds_the_truth_where_the_plain_one_does_not(method):
    """Four responses an item that share what makes the item easy."""
    rng, hits = np.random.default_rng(8), {"clustered": 0, "plain": 0}
    item = np.repeat(np.arange(40), 4)
    for _ in range(300):
        x, y = bivariate(rng, 40, 0.0)[:, item] + 0.4 * rng.normal(size=(2, 160))
        for name, cluster in (("clustered", item), ("plain", None)):
            found = correlation(x, y, method, cluster=cluster)
            hits[name] += found.low <= 0 <= found.high
    assert hits["plain"] / 300 < 0.9 <= hits["clustered"] / 300


@every_method
def test_full_correlation_of_a_few_systems_is_not_taken_for_certainty(method):
    found = correlation([1, 2, 3, 4, 5, 6], [10, 20, 30, 40, 50, 60], method)
    assert found.estimate == pytest.approx(1)
    assert found.low < 0.4


# Levels


@every_method
def test_grouped_is_the_mean_over_groups_and_counts_those_without(method):
    x, y, group = [1, 2, 3, 1, 2, 3, 4, 4, 4], [1, 2, 3, 1, 3, 2, 1, 2, 3], list("aaabbbccc")
    found = grouped_correlation(x, y, group, method)
    within = [SCIPY[method](x[k : k + 3], y[k : k + 3]) for k in (0, 3)]
    assert found.coefficient.estimate == pytest.approx(np.mean(within))
    assert (found.coefficient.m, found.undefined) == (2, 1)


@every_method
@given(seed=st.integers(0, 10_000))
def test_system_level_is_the_correlation_of_the_means(method, seed):
    rng = np.random.default_rng(seed)
    system = rng.permutation(np.repeat(np.arange(6), rng.integers(1, 9, size=6)))
    x, y = rng.integers(1, 6, size=(2, len(system))) / 3
    means = [[np.round(column[system == s].mean(), 9) for s in range(6)] for column in (x, y)]
    assume(all(len(set(column)) > 1 for column in means))
    found = system_correlation(x, y, system, method)
    assert found.estimate == pytest.approx(SCIPY[method](*means), abs=1e-6)
    assert found.m == 6


def test_equal_means_are_tied_in_whatever_order_they_were_added_up():
    scores, system = [0.1, 0.2, 0.3, 0.3, 0.2, 0.1, 0.9, 0.9], [0, 0, 0, 1, 1, 1, 2, 2]
    human = [1, 1, 1, 2, 2, 2, 3, 3]
    assert sum(scores[:3]) != sum(scores[3:6])
    expected = SCIPY["kendall"]([0.2, 0.2, 0.9], [1, 2, 3])
    found = system_correlation(scores, human, system, "kendall")
    assert found.estimate == pytest.approx(expected)


def test_a_judge_can_order_systems_and_not_responses():
    rng = np.random.default_rng(1)
    system = np.repeat(np.arange(12), 100)
    human, judge = system * 0.3 + rng.normal(size=(2, 1200)) * 3
    assert correlation(human, judge, "pearson").estimate < 0.2
    assert system_correlation(human, judge, system, "pearson").estimate > 0.8


@pytest.mark.parametrize(
    ("dimension", "pearson", "spearman"),
    [
        ("naturalness", 0.444, 0.514),
        ("coherence", 0.595, 0.613),
        ("engagingness", 0.557, 0.605),
        ("groundedness", 0.536, 0.575),
    ],
)
def test_the_published_correlations_of_unieval_on_topical_chat(dimension, pearson, spearman):
    """Zhong et al. (2022), Towards a unified multi-dimensional evaluator; at turn level."""
    if not TOPICAL_CHAT.exists():
        pytest.skip(f"needs {TOPICAL_CHAT.name}, which is not beside this checkout")
    parquet = pytest.importorskip("pyarrow.parquet")
    names = [f"unieval_{dimension}", f"human_{dimension}"]
    table = parquet.read_table(TOPICAL_CHAT, columns=names)
    x, y = (table[name].to_numpy() for name in names)
    found = [round(correlation(x, y, method).estimate, 3) for method in ("pearson", "spearman")]
    assert found == [pearson, spearman]


# What cannot be answered


@pytest.mark.parametrize(
    ("function", "given", "error", "says"),
    [
        (correlation, [[], []], NoData, "no rows"),
        (correlation, [[1, 2], [1]], ValueError, "2 of x and 1 of y"),
        (correlation, [[1, math.nan], [1, 2]], ValueError, r"x\[1\] is nan"),
        (correlation, [[1], [1]], Undefined, "x is 1 throughout"),
        (correlation, [[1, 2, 3], [0.1 + 0.2, 0.3, 0.3]], Undefined, "y is 0.3 throughout"),
        (grouped_correlation, [[1, 2], [1, 2], ["a"]], ValueError, "group has 1 values"),
        (grouped_correlation, [[1, 1], [1, 2], [7, 7]], Undefined, "within every group"),
        (grouped_correlation, [[1, 2], [1, 2], [7, 7]], Undefined, "single item"),
        (system_correlation, [[1, 2], [1, 2], [7, 7]], Undefined, "throughout"),
        (system_correlation, [[1, 2], [1, 2], [7, None]], ValueError, r"system\[1\] is missing"),
    ],
)
@every_method
def test_what_cannot_be_answered_is_an_error_that_says_why(function, given, error, says, method):
    with pytest.raises(error, match=says):
        function(*given, method)
