"""What was not judged, and several tests at once, against independent implementations."""

import numpy as np
import pytest
from cases.loading import cases, every_case
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import fisher_exact
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests

from twopan.stats.missingness import missing_apart, missing_in_pairs, scores_with_gaps
from twopan.stats.multiplicity import benjamini_hochberg, holm
from twopan.stats.win_rate import NoData

shares = st.lists(st.floats(0, 1), min_size=1, max_size=30)


@given(shares)
def test_adjusted_p_values_are_those_of_another_implementation(p):
    for ours, name in ((holm, "holm"), (benjamini_hochberg, "fdr_bh")):
        np.testing.assert_allclose(ours(p), multipletests(p, method=name)[1], atol=1e-12)
        assert (ours(p) >= np.array(p) - 1e-15).all()


def test_p_values_are_probabilities():
    with pytest.raises(ValueError, match="between 0 and 1"):
        holm([1.2])


@given(st.integers(0, 12), st.integers(0, 12), st.integers(1, 12), st.integers(1, 12))
def test_arms_apart_are_compared_by_fishers_exact_test(a, b, m, n):
    a, b = min(a, m), min(b, n)
    found = missing_apart((a, b), (m, n))
    assert found.p_value == pytest.approx(fisher_exact([[a, m - a], [b, n - b]])[1], abs=1e-9)
    assert missing_apart((b, a), (n, m)).p_value == pytest.approx(found.p_value, abs=1e-9)


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=60))
def test_arms_on_the_same_items_are_compared_by_mcnemars(both):
    a, b = np.array(both).T
    table = [[(a & b).sum(), (a & ~b).sum()], [(~a & b).sum(), (~a & ~b).sum()]]
    expected = mcnemar(table, exact=True).pvalue
    assert missing_in_pairs(a, b).p_value == pytest.approx(min(expected, 1), abs=1e-9)


def test_nothing_asked_is_nothing_missing():
    with pytest.raises(NoData):
        missing_in_pairs([], [])
    with pytest.raises(NoData):
        scores_with_gaps([], [])
    assert scores_with_gaps([0.0, 0.0], [False, False]).mean is None


def about(function):
    try:
        found = [c["id"] for c in every_case() if c["input"].get("fn") == function]
    except FileNotFoundError:
        found = ["STAT-"]
    return cases(*found)


@pytest.mark.parametrize("case", about("score_summary"))
def test_a_mean_comes_with_its_coverage_and_its_worst_and_best_case(case):
    rows, expected = case["input"]["args"]["rows"], case["expected"]
    lowest, highest = expected["scale"]
    scored = [row["score"] is not None for row in rows]
    found = scores_with_gaps(
        [row["score"] or 0 for row in rows], scored, lowest=lowest, highest=highest
    )
    assert (found.mean, found.scored, found.total) == (
        expected["mean"], expected["n_scored"], expected["n_total"],
    )  # fmt: skip
    assert found.coverage == pytest.approx(expected["coverage"])
    bounds = expected["bounds_if_missing"]
    assert (found.low, found.high) == pytest.approx((bounds["min"], bounds["max"]))
