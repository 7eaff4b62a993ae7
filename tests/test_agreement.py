"""Agreement, against four other libraries, published examples, and what an interval promises."""

import math
from functools import partial

import krippendorff
import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.inter_rater import aggregate_raters, cohens_kappa
from statsmodels.stats.inter_rater import fleiss_kappa as statsmodels_fleiss

from twopan.stats.agreement import cohen_kappa, fleiss_kappa, gwet_ac1, percent_agreement
from twopan.stats.paired import paired_difference
from twopan.stats.reliability import intraclass_correlation, krippendorff_alpha
from twopan.stats.resampling import Undefined
from twopan.stats.win_rate import NoData, win_rate

NAN = math.nan
METRICS = ["nominal", "ordinal", "interval"]


def pairs(table):
    """Two columns of labels whose cross table is the given one."""
    table = np.array(table)
    return np.repeat(np.argwhere(table >= 0), table.ravel(), axis=0).T


def ratings(seed, *, items=30, raters=3, levels=4, missing=0.0):
    """Raters who see one quality with an error each; NaN where one did not rate."""
    rng = np.random.default_rng(seed)
    seen = rng.normal(size=(items, 1)) + 0.7 * rng.normal(size=(items, raters))
    table = np.digitize(seen, np.linspace(-1, 1, levels - 1)).astype(float)
    table[rng.random(table.shape) < missing] = NAN
    return table


two_raters = st.lists(
    st.tuples(st.integers(1, 4), st.integers(1, 4)), min_size=2, max_size=40
).filter(lambda rows: len({label for row in rows for label in row}) > 1)
seeds = st.integers(0, 10_000)

# From the R package irrCAC: two raters of 100 cases (Ectopic, AIU, NIU).
ABSTRACTORS = pairs([[13, 0, 0], [0, 20, 7], [0, 4, 56]])
# Krippendorff (2011): four observers, twelve units, some missing.
OBSERVERS = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, NAN, NAN, NAN],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NAN, 3],
        [NAN, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NAN],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NAN],
    ]
).T
# Shrout and Fleiss (1979), Table 2: six targets, four judges.
TARGETS = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]


# Two raters


@given(two_raters, st.sampled_from([None, "linear", "quadratic"]))
def test_kappa_agrees_with_scikit_learn(rows, weights):
    a, b = zip(*rows, strict=True)
    theirs = cohen_kappa_score(a, b, weights=weights, labels=[1, 2, 3, 4])
    assert cohen_kappa(a, b, weights=weights).coefficient.estimate == pytest.approx(theirs)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # theirs, in a column that is not read
@given(two_raters, st.sampled_from([None, "linear", "quadratic"]))
def test_the_standard_error_of_kappa_agrees_with_statsmodels(rows, weights):
    a, b = zip(*rows, strict=True)
    table = np.zeros((4, 4))
    np.add.at(table, (np.array(a) - 1, np.array(b) - 1), 1)
    theirs = cohens_kappa(table, wt=weights)
    m = len(rows)
    ours = cohen_kappa(a, b, weights=weights).coefficient.standard_error * math.sqrt((m - 1) / m)
    assert ours == pytest.approx(math.sqrt(max(theirs.var_kappa, 0)), abs=1e-6)


def test_kappa_and_ac1_reproduce_the_published_example_with_its_standard_errors():
    found = [cohen_kappa(*ABSTRACTORS).coefficient, gwet_ac1(ABSTRACTORS.T).coefficient]
    assert [x.estimate for x in found] == pytest.approx([0.7964094, 0.84933], abs=1e-5)
    errors = [x.standard_error * math.sqrt(99 / 100) for x in found]  # the example divides by m
    assert errors == pytest.approx([0.05891072, 0.04322], abs=1e-5)


@given(two_raters)
def test_renaming_categories_changes_nothing(rows):
    a, b = zip(*rows, strict=True)
    names = {1: "tie", 2: "b", 3: "neither", 4: "a"}
    renamed = cohen_kappa([names[x] for x in a], [names[x] for x in b]).coefficient
    ours = cohen_kappa(a, b).coefficient
    assert (renamed.low, renamed.estimate) == pytest.approx((ours.low, ours.estimate))


@given(two_raters, st.randoms())
def test_swapping_raters_or_reordering_rows_changes_nothing(rows, random):
    a, b = zip(*rows, strict=True)
    c, d = zip(*random.sample(rows, len(rows)), strict=True)
    ours, theirs = cohen_kappa(a, b).coefficient, cohen_kappa(d, c).coefficient
    assert (theirs.low, theirs.high) == pytest.approx((ours.low, ours.high))


@given(two_raters)
def test_repeated_rows_of_an_item_tell_nothing_new(rows):
    a, b = zip(*rows, strict=True)
    once = cohen_kappa(a, b).coefficient
    twice = cohen_kappa(a * 2, b * 2, cluster=list(range(len(a))) * 2).coefficient
    assert (twice.low, twice.high, twice.m) == pytest.approx((once.low, once.high, once.m))


def test_weights_go_by_the_distance_of_labels_and_not_by_their_number():
    near, far = ([1, 2, 5, 5], [2, 2, 5, 5]), ([1, 2, 5, 5], [5, 2, 5, 5])
    kappas = [cohen_kappa(*ab, weights="linear").coefficient.estimate for ab in (near, far)]
    theirs = [
        cohen_kappa_score(*ab, weights="linear", labels=[1, 2, 3, 4, 5]) for ab in (near, far)
    ]
    assert kappas == pytest.approx(theirs)


def test_high_agreement_with_low_kappa_is_pointed_out():
    found = cohen_kappa(*pairs([[94, 3], [2, 1]]))
    assert found.skewed
    assert (found.observed, found.adjusted) == pytest.approx((0.95, 0.9))
    assert found.balance == pytest.approx({0: 0.965, 1: 0.035})
    assert gwet_ac1(pairs([[94, 3], [2, 1]]).T).coefficient.estimate > 0.9


@pytest.mark.parametrize("table", [[[45, 5], [5, 45]], [[25, 25], [25, 25]], [[97, 0], [0, 3]]])
def test_an_even_balance_or_full_agreement_is_not_pointed_out(table):
    assert not cohen_kappa(*pairs(table)).skewed


def test_full_agreement_on_a_few_items_is_not_taken_for_certainty():
    found = cohen_kappa([0, 1] * 5, [0, 1] * 5).coefficient
    assert (found.estimate, found.high) == (1, 1)
    assert 0.3 < found.low < 0.6


def test_full_agreement_is_the_less_sure_the_rarer_the_other_category():
    even, rare = (cohen_kappa(*[[0] * n + [1] * (200 - n)] * 2).coefficient for n in (100, 190))
    assert (even.estimate, rare.estimate) == (1, 1)
    assert even.low > 0.95
    assert rare.low < 0.85


def test_one_rater_who_never_varies_has_kappa_zero():
    assert cohen_kappa([1, 1, 1, 1], [1, 1, 1, 0]).coefficient.estimate == pytest.approx(0)


def test_kappa_of_a_single_category_is_an_error_that_says_why():
    with pytest.raises(Undefined, match="both raters said 'a' of every item"):
        cohen_kappa(["a", "a"], ["a", "a"])


@given(two_raters)
def test_percent_agreement_is_the_win_rate_of_agreeing(rows):
    a, b = zip(*rows, strict=True)
    ours, same = percent_agreement(a, b), win_rate(np.equal(a, b).astype(float))
    assert (ours.estimate, ours.low, ours.high) == pytest.approx(
        (same.estimate, same.low, same.high)
    )


# Many raters


@given(seeds, st.integers(2, 5))
def test_fleiss_kappa_agrees_with_statsmodels(seed, raters):
    table = ratings(seed, raters=raters)
    theirs = statsmodels_fleiss(aggregate_raters(table)[0])
    assert fleiss_kappa(table).coefficient.estimate == pytest.approx(theirs)


@given(seeds, st.integers(2, 5), st.sampled_from(METRICS))
def test_alpha_agrees_with_krippendorff(seed, raters, metric):
    table = ratings(seed, raters=raters, missing=0.3)
    theirs = krippendorff.alpha(reliability_data=table.T, level_of_measurement=metric)
    assert krippendorff_alpha(table, metric).estimate == pytest.approx(theirs)


@pytest.mark.parametrize(
    ("metric", "published"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)]
)
def test_alpha_reproduces_the_published_example(metric, published):
    assert krippendorff_alpha(OBSERVERS, metric).estimate == pytest.approx(published, abs=5e-4)


@given(seeds)
def test_ac1_agrees_with_its_definition_by_pairs_of_raters(seed):
    table = ratings(seed, items=12)
    categories = np.unique(table)
    agree = np.mean([[r[i] == r[j] for i in range(3) for j in range(i)] for r in table])
    share = np.array([(table == c).mean() for c in categories])
    chance = (share * (1 - share)).sum() / (len(categories) - 1)
    assert gwet_ac1(table).coefficient.estimate == pytest.approx((agree - chance) / (1 - chance))


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_the_influence_on_alpha_is_what_leaving_items_out_shows(metric, missing):
    """The standard error, found by calculus, against a jackknife by brute force."""
    table = ratings(7, items=300, missing=missing)
    table = table[(~np.isnan(table)).sum(1) > 1]
    n = len(table)
    left_out = [krippendorff_alpha(np.delete(table, i, 0), metric).estimate for i in range(n)]
    theirs = math.sqrt((n - 1) ** 2 / n * np.var(left_out, ddof=1))
    assert krippendorff_alpha(table, metric).standard_error == pytest.approx(theirs, rel=0.02)


@pytest.mark.parametrize("coefficient", [fleiss_kappa, gwet_ac1, krippendorff_alpha])
@given(seed=seeds, data=st.data())
def test_the_order_of_items_and_of_raters_changes_nothing(coefficient, seed, data):
    table = ratings(seed, missing=0.1)
    rows = data.draw(st.permutations(range(len(table))))
    columns = data.draw(st.permutations(range(3)))
    found = [coefficient(t) for t in (table, table[rows][:, columns])]
    ours, theirs = (getattr(f, "coefficient", f) for f in found)
    assert (theirs.low, theirs.high) == pytest.approx((ours.low, ours.high))


@pytest.mark.parametrize(
    "coefficient",
    [fleiss_kappa, gwet_ac1, *(partial(krippendorff_alpha, metric=m) for m in METRICS)],
    ids=["fleiss", "ac1", *METRICS],
)
def test_repeated_rows_of_an_item_tell_nothing_new_of_many_raters_either(coefficient):
    table = ratings(4, items=200, missing=0.2)
    once = getattr(coefficient(table), "coefficient", coefficient(table))
    twice = coefficient(np.concatenate([table, table]), cluster=np.tile(np.arange(200), 2))
    twice = getattr(twice, "coefficient", twice)
    assert twice.standard_error == pytest.approx(once.standard_error, rel=0.01)


@given(seeds)
def test_text_and_none_serve_as_well_as_numbers_and_nan(seed):
    table = ratings(seed, missing=0.2)
    words = [[None if math.isnan(x) else "dcba"[int(x)] for x in row] for row in table]
    ours, theirs = krippendorff_alpha(table), krippendorff_alpha(words)
    assert (theirs.low, theirs.high) == pytest.approx((ours.low, ours.high))


def test_ac1_counts_the_categories_that_were_on_offer():
    table = [[1, 1], [1, 1], [1, 1]]
    with pytest.raises(Undefined, match="every rating is 1"):
        gwet_ac1(table)
    assert gwet_ac1(table, categories=[0, 1]).coefficient.estimate == 1
    with pytest.raises(ValueError, match="3 was given and is not among"):
        gwet_ac1([[1, 3], [1, 1]], categories=[0, 1])


# Intraclass correlation


@pytest.mark.parametrize(("kind", "published"), [("ICC(2,1)", 0.290), ("ICC(3,1)", 0.715)])
def test_icc_reproduces_the_published_example(kind, published):
    assert intraclass_correlation(TARGETS, kind).estimate == pytest.approx(published, abs=5e-4)


@given(seeds, st.integers(2, 4))
def test_icc_agrees_with_an_analysis_of_variance(seed, k):
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(10, 1)) + rng.normal(size=k) + 0.5 * rng.normal(size=(10, k))
    long = pd.DataFrame(
        {
            "y": table.ravel(),
            "item": np.repeat(np.arange(10), k),
            "rater": np.tile(np.arange(k), 10),
        }
    )
    fit = sm.formula.ols("y ~ C(item) + C(rater)", long).fit()
    anova = sm.stats.anova_lm(fit)
    rows, raters, error = anova["mean_sq"]
    consistency = (rows - error) / (rows + (k - 1) * error)
    absolute = (rows - error) / (rows + (k - 1) * error + k * (raters - error) / 10)
    assert intraclass_correlation(table, "ICC(3,1)").estimate == pytest.approx(consistency)
    assert intraclass_correlation(table, "ICC(2,1)").estimate == pytest.approx(absolute)


def test_a_stricter_rater_costs_absolute_agreement_and_not_consistency():
    table = ratings(1, raters=2, levels=9)
    table[:, 1] = table[:, 0] + 3
    assert intraclass_correlation(table, "ICC(3,1)").estimate == pytest.approx(1)
    assert intraclass_correlation(table, "ICC(2,1)").estimate < 0.7


# Two judges on the same items


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=60))
def test_the_paired_test_is_exact_mcnemar(rows):
    first, second = zip(*rows, strict=True)
    found = paired_difference(first, second)
    table = np.zeros((2, 2))
    np.add.at(table, (np.array(first, int), np.array(second, int)), 1)
    assert found.p_value == pytest.approx(
        mcnemar(table, exact=True).pvalue if first != second else 1
    )
    assert found.difference.estimate == pytest.approx(np.mean(first) - np.mean(second))
    assert found.difference.low <= found.difference.estimate <= found.difference.high


def test_rows_of_one_item_are_one_observation_of_a_difference():
    first, second = [1, 1, 0, 1], [0, 0, 0, 1]
    once = paired_difference(first, second)
    thrice = paired_difference(first * 3, second * 3, cluster=[0, 1, 2, 3] * 3)
    assert (thrice.first_only, thrice.second_only, thrice.p_value) == (2, 0, once.p_value)
    assert thrice.difference.low == pytest.approx(once.difference.low)


# What an interval promises


@pytest.mark.parametrize("skew", [0.5, 0.75])
@pytest.mark.parametrize("strength", [0.0, 0.6])
def test_the_interval_of_kappa_holds_the_truth_as_often_as_it_says(skew, strength):
    rng = np.random.default_rng(3)
    share = np.array([skew, 1 - skew])
    joint = (1 - strength) * np.outer(share, share) + strength * np.diag(share)
    covered = []
    for draw in rng.choice(4, size=(600, 100), p=joint.ravel()):
        found = cohen_kappa(draw // 2, draw % 2).coefficient
        covered.append(found.low <= strength <= found.high)
    assert 0.92 <= np.mean(covered) <= 0.98


@pytest.mark.parametrize(
    "coefficient",
    [
        lambda table: krippendorff_alpha(table, "interval"),
        lambda table: intraclass_correlation(table, "ICC(2,1)"),
        lambda table: intraclass_correlation(table, "ICC(3,1)"),
    ],
    ids=["alpha", "ICC(2,1)", "ICC(3,1)"],
)
@pytest.mark.parametrize("truth", [0.3, 0.8])
def test_the_interval_of_a_reliability_holds_the_truth_as_often_as_it_says(coefficient, truth):
    rng = np.random.default_rng(5)
    covered = []
    for _ in range(500):
        quality, error = rng.normal(size=(40, 1)), rng.normal(size=(40, 3))
        found = coefficient(math.sqrt(truth) * quality + math.sqrt(1 - truth) * error)
        covered.append(found.low <= truth <= found.high)
    assert 0.92 <= np.mean(covered) <= 0.98


def test_the_clustered_interval_holds_the_truth_where_the_plain_one_does_not():
    """Four looks an item that share what makes the item hard."""
    rng = np.random.default_rng(11)
    hits = {"clustered": 0, "plain": 0}
    for _ in range(400):
        hard = np.repeat(rng.random(40) < 0.5, 4)
        right = rng.random(160) < np.where(hard, 0.5, 0.95)
        for name, cluster in (("clustered", np.repeat(np.arange(40), 4)), ("plain", None)):
            found = percent_agreement(right, np.ones(160, bool), cluster=cluster)
            hits[name] += found.low <= 0.725 <= found.high
    assert hits["plain"] / 400 < 0.92 <= hits["clustered"] / 400 <= 0.98


# What cannot be answered


@pytest.mark.parametrize(
    ("function", "given", "error", "says"),
    [
        (cohen_kappa, [[], []], NoData, "no rows"),
        (cohen_kappa, [[1, 2], [1]], ValueError, "2 of a and 1 of b"),
        (cohen_kappa, [[1, None], [1, 2]], ValueError, r"a\[1\] is missing"),
        (cohen_kappa, [[1.0, 2.0], [NAN, 2.0]], ValueError, r"b\[0\] is missing"),
        (cohen_kappa, [[1, 2], ["1", "2"]], ValueError, "mix text and numbers"),
        (partial(cohen_kappa, weights="linear"), ["ab", "ab"], ValueError, "plain columns"),
        (partial(cohen_kappa, weights="linear"), [["a", "b"]] * 2, ValueError, "need numbers"),
        (partial(cohen_kappa, cluster=[1]), [[1, 2], [1, 2]], ValueError, "1 values for 2 rows"),
        (partial(cohen_kappa, cluster=[5, 5]), [[1, 2], [1, 2]], Undefined, "single item"),
        (percent_agreement, [[], []], NoData, "no rows"),
        (fleiss_kappa, [[]], NoData, "no ratings"),
        (fleiss_kappa, [[1, 2, 3]], ValueError, "must be a table"),
        (fleiss_kappa, [[[1, 1], [1, 1]]], Undefined, "every rating is 1"),
        (fleiss_kappa, [[[1, 2]]], Undefined, "single item"),
        (fleiss_kappa, [[[1, None], [None, 2]]], NoData, "no item has two ratings"),
        (krippendorff_alpha, [[[NAN, NAN]]], NoData, "no item has two ratings"),
        (krippendorff_alpha, [[[1, 1], [1, 1], [2, NAN]]], Undefined, "every rating is 1"),
        (krippendorff_alpha, [[["a", "b"]] * 3, "ordinal"], ValueError, "needs numbers"),
        (intraclass_correlation, [[], "ICC(2,1)"], NoData, "no ratings"),
        (intraclass_correlation, [[[1], [2]], "ICC(2,1)"], ValueError, "must be a table"),
        (intraclass_correlation, [[[1, NAN]] * 3, "ICC(2,1)"], ValueError, "nan"),
        (intraclass_correlation, [[[1, 2]] * 9, "ICC(3,1)"], Undefined, "no items apart"),
        (intraclass_correlation, [[[1, 2], [3, 3]], "ICC(3,1)"], Undefined, "too few"),
        (paired_difference, [[2], [0]], ValueError, "first must hold numbers between"),
        (paired_difference, [[], []], NoData, "no rows"),
    ],
)
def test_what_cannot_be_answered_is_an_error_that_says_why(function, given, error, says):
    with pytest.raises(error, match=says):
        function(*given)
