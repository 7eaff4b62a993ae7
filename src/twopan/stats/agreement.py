r"""Agreement between raters, beyond what chance would give.

Every coefficient here has the form

.. math:: \kappa = \frac{p_o - p_e}{1 - p_e},

where :math:`p_o` is how much raters agree and :math:`p_e` how much they would by chance. They
differ in what they call chance. With :math:`\pi_c` the share of all ratings in category
:math:`c`, and :math:`\pi^a_c, \pi^b_c` the shares of each of two raters,

=================  =========================================================================
Cohen's kappa      :math:`\sum_{ck} w_{ck} \pi^a_c \pi^b_k`: each rater keeps its own habits
Fleiss' kappa      :math:`\sum_c \pi_c^2`: all raters draw from one urn
Gwet's AC1         :math:`\sum_c \pi_c (1 - \pi_c) / (q - 1)`: only hard items are guessed
Krippendorff's α   as Fleiss', drawn without replacement; on any metric
=================  =========================================================================

When nearly everything falls into one category, the kappas call nearly all agreement chance: 95 %
agreement can be a kappa of 0.26. ``Agreement.skewed`` says so, and AC1 or ``adjusted``
stand beside it. When everything does, the kappas are 0/0 and raise ``Undefined``.

Items are the clusters, and intervals follow from their influence (``stats.resampling``).

References
----------
Cohen (1960), A coefficient of agreement for nominal scales. Educ. Psychol. Meas. 20.
Cohen (1968), Weighted kappa. Psychological Bulletin 70.
Fleiss (1971), Measuring nominal scale agreement among many raters. Psychological Bulletin 76.
Gwet (2008), Computing inter-rater reliability and its variance in the presence of high
agreement. Br. J. Math. Stat. Psychol. 61; for missing ratings his Handbook (2014).
Krippendorff (2011), Computing Krippendorff's alpha-reliability.
Byrt, Bishop and Carlin (1993), Bias, prevalence and kappa. J. Clin. Epidemiol. 46.
Shrout and Fleiss (1979), Intraclass correlations. Psychological Bulletin 86.
McNemar (1947), Note on the sampling error of the difference between correlated proportions.
Psychometrika 12.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twopan.stats.columns import Floats, Ints, encode, groups, labels, numbers, sum_by
from twopan.stats.correlation import net_rank
from twopan.stats.resampling import (
    SAME,
    Estimate,
    Undefined,
    fisher,
    influence,
    jackknife,
    mean,
    require_several,
    wilson,
)
from twopan.stats.win_rate import NoData, sign_test

SKEWED = 0.15
"""How much kappa may lose to an uneven balance of categories before it is said to."""
NO_PAIRS = "no item has two ratings, so there is no agreement to speak of"


@dataclass(frozen=True, slots=True)
class Agreement:
    """A coefficient with what it is made of."""

    coefficient: Estimate
    observed: float
    """Agreement, from 0 to 1; with weights, near misses count in part."""
    expected: float
    """The agreement that chance would give."""
    even: float
    """The agreement that chance would give if all categories were equally common."""
    balance: Mapping[Any, float]
    """The share of all ratings in each category."""

    @property
    def adjusted(self) -> float:
        """The coefficient if all categories were equally common (Brennan and Prediger)."""
        return (self.observed - self.even) / (1 - self.even)

    @property
    def skewed(self) -> bool:
        """Whether one category is so common that the coefficient hides how much they agree."""
        return self.adjusted - self.coefficient.estimate > SKEWED


def percent_agreement(
    a: ArrayLike, b: ArrayLike, *, cluster: ArrayLike | None = None, level: float = 0.95
) -> Estimate:
    """How often two raters say the same, with Wilson's interval.

    >>> percent_agreement(["a", "b", "tie", "b"], ["a", "b", "a", "b"]).estimate
    0.75
    """
    (a, b), _ = labels(a=a, b=b)
    return mean(a == b, cluster=cluster, level=level)


def cohen_kappa(
    a: ArrayLike,
    b: ArrayLike,
    *,
    weights: Literal["linear", "quadratic"] | None = None,
    cluster: ArrayLike | None = None,
    level: float = 0.95,
) -> Agreement:
    """Cohen's kappa of two raters.

    Parameters
    ----------
    a, b : labels, shape (m,)
        What each rater said of each row: all text, or all numbers.
    weights : optional
        Let near misses count in part, by the distance of the numbers or by its square.
    cluster : shape (m,), optional
        Which rows belong together, usually the item. Each its own by default.

    Raises
    ------
    NoData, ValueError
        If there is no row, or a label is missing.
    Undefined
        If both raters only ever used one and the same category, or there is one item.

    Examples
    --------
    They agree on 5 of 6, where chance would give 3 of 6:

    >>> kappa = cohen_kappa([1, 1, 1, 0, 0, 0], [1, 1, 1, 0, 0, 1])
    >>> kappa.observed, kappa.expected, kappa.coefficient.estimate
    (0.8333333333333334, 0.5, 0.6666666666666667)
    """
    (a, b), categories = labels(a=a, b=b)
    m, q = len(a), len(categories)
    group, g = groups(cluster, m)
    if q == 1:
        raise Undefined(
            f"both raters said {categories[0]!r} of every item: chance alone agrees as much, so "
            "there is no kappa; report the agreement itself"
        )
    w = np.eye(q) if weights is None else nearness(categories, weights)

    n_a, n_b = np.bincount(a, minlength=q), np.bincount(b, minlength=q)
    agree, chance = w[a, b], w @ n_b  # of each row; of each label of a against all of b
    totals = np.array([agree.sum(), n_a @ chance, m])
    parts = np.column_stack([agree, chance[a] + (n_a @ w)[b], np.ones(m)])

    def kappa(s: NDArray[Any]) -> NDArray[Any]:
        p_o, p_e = s[..., 0] / s[..., 2], s[..., 1] / s[..., 2] ** 2
        return np.asarray((p_o - p_e) / (1 - p_e))

    p_e = float(n_a @ chance) / m**2
    found, u = influence(kappa, totals, sum_by(group, g, parts))
    return Agreement(
        # Near misses spread less than hits and misses, so that Wilson's would be far too wide.
        coefficient=fisher(found, u, level=level)
        if weights
        else beyond_chance(found, u, p_e, level),
        observed=float(agree.mean()),
        expected=p_e,
        even=float(w.mean()),
        balance=dict(zip(categories, ((n_a + n_b) / (2 * m)).tolist(), strict=True)),
    )


def beyond_chance(kappa: float, u: Floats, p_e: float, level: float) -> Estimate:
    """Wilson's interval, with agreement as the score: kappa runs from no agreement to all."""
    require_several(u)
    return wilson(kappa, u, lowest=-p_e / (1 - p_e), level=level)


def nearness(categories: Sequence[Any], weights: Literal["linear", "quadratic"]) -> Floats:
    """How far two labels agree, from 1 for the same to 0 for the two ends; shape (q, q)."""
    if isinstance(categories[0], str):
        raise ValueError("weights need numbers for labels, to know how far apart they are")
    value = np.asarray(categories, dtype=np.float64)
    distance = np.abs(value[:, None] - value) / np.ptp(value)
    return np.asarray(1 - distance ** {"linear": 1, "quadratic": 2}[weights])


def fleiss_kappa(
    ratings: ArrayLike, *, cluster: ArrayLike | None = None, level: float = 0.95
) -> Agreement:
    """Fleiss' kappa of several raters.

    Parameters
    ----------
    ratings : labels, shape (items, raters)
        Which rater gave a rating does not matter. None or NaN where there is none: an item with
        a single rating counts towards the balance of categories and not towards agreement.
    cluster : shape (items,), optional
        Which rows belong together, where an item has several. Each its own by default.

    Raises
    ------
    Undefined
        If there is only one category, or fewer than two items with two ratings.
    """
    return against_chance(lambda share, q: (share**2).sum(-1), ratings, None, cluster, level)


def gwet_ac1(
    ratings: ArrayLike,
    *,
    categories: Sequence[Any] | None = None,
    cluster: ArrayLike | None = None,
    level: float = 0.95,
) -> Agreement:
    """Gwet's AC1 of two or more raters, which keeps its head where kappa loses it.

    Parameters
    ----------
    ratings, cluster
        As for Fleiss' kappa. For two raters: ``np.column_stack([a, b])``.
    categories : optional
        All that were on offer. AC1 depends on their number, used or not; by default those used.
    """

    def chance(share: NDArray[Any], q: int) -> NDArray[Any]:
        return np.asarray((share * (1 - share)).sum(-1) / (q - 1))

    return against_chance(chance, ratings, categories, cluster, level)


def against_chance(
    chance: Callable[[NDArray[Any], int], NDArray[Any]],
    ratings: ArrayLike,
    on_offer: Sequence[Any] | None,
    cluster: ArrayLike | None,
    level: float,
) -> Agreement:
    """A coefficient by what it calls chance, given the shares (..., q) of q categories."""
    codes, categories = rated(ratings, on_offer)
    q = len(categories)
    if q == 1:
        raise Undefined(f"every rating is {categories[0]!r}, and one category shows no agreement")
    counts = (codes[:, :, None] == np.arange(q)).sum(1).astype(np.float64)
    r = counts.sum(1)
    group, _ = groups(cluster, len(r))
    group, counts, r = group[r > 0], counts[r > 0], r[r > 0]
    _, group = np.unique(group, return_inverse=True)
    paired = r > 1
    if not paired.any():
        raise NoData(NO_PAIRS)
    agree = (counts * (counts - 1)).sum(1) / np.maximum(r * (r - 1), 1)
    rows = np.column_stack([agree, paired, np.ones(len(r)), counts / r[:, None]])
    parts = sum_by(group, group.max() + 1, rows)
    totals = parts.sum(0)

    def coefficient(s: NDArray[Any]) -> NDArray[Any]:
        p_o, p_e = s[..., 0] / s[..., 1], chance(s[..., 3:] / s[..., 2:3], q)
        return np.asarray((p_o - p_e) / (1 - p_e))

    found, u = influence(coefficient, totals, parts)
    share = totals[3:] / totals[2]
    p_e = float(chance(share, q))
    return Agreement(
        coefficient=beyond_chance(found, u, p_e, level),
        observed=float(totals[0] / totals[1]),
        expected=p_e,
        even=1 / q,
        balance=dict(zip(categories, share.tolist(), strict=True)),
    )


def krippendorff_alpha(
    ratings: ArrayLike,
    metric: Literal["nominal", "ordinal", "interval"] = "nominal",
    *,
    cluster: ArrayLike | None = None,
    level: float = 0.95,
) -> Estimate:
    r"""Krippendorff's alpha: one minus disagreement within items over disagreement at large.

    .. math:: \alpha = 1 - (n - 1) \sum_i \frac{1}{r_i - 1} \sum_{j,k \in i} \delta^2_{jk}
              \Big/ \sum_{j,k} \delta^2_{jk}

    over the :math:`n` ratings of items with :math:`r_i \ge 2` of them, where :math:`\delta` is 0
    or 1 (nominal), the difference of ranks (ordinal) or of values (interval).

    Parameters
    ----------
    ratings : labels, shape (items, raters)
        None or NaN where there is none. Numbers, unless nominal.
    cluster : shape (items,), optional
        Which rows belong together, where an item has several. Each its own by default.
    """
    codes, categories = rated(ratings)
    several = (codes >= 0).sum(1) > 1
    group, _ = groups(cluster, len(codes))
    _, group = np.unique(group[several], return_inverse=True)
    codes = codes[several]
    at, rater = np.nonzero(codes >= 0)
    flat, items = codes[at, rater], len(codes)
    if not items:
        raise NoData(NO_PAIRS)
    if len(np.unique(flat)) == 1:
        raise Undefined(f"every rating is {categories[flat[0]]!r}: alpha needs them to vary")
    r = np.bincount(at).astype(np.float64)
    if metric == "nominal":
        # Labels as corners of a simplex: all different ones are equally far apart.
        values = (flat[:, None] == np.arange(len(categories))).astype(np.float64)
    elif isinstance(categories[0], str):
        raise ValueError(f"an {metric} alpha needs numbers for labels")
    elif metric == "interval":
        value = np.asarray(categories, dtype=np.float64)[flat]
        values = ((value - value.mean()) / value.std())[:, None]
    else:
        values = net_rank(flat, np.ones(len(flat)))[:, None] / len(flat)

    # Σ over pairs in i of |x_j - x_k|² = 2 r Σ|x|² - 2 |Σx|²; its slope in each value is 2 of that
    sums, squares = sum_by(at, items, values), (values**2).sum(1)
    within = 2 * (r * sum_by(at, items, squares) - (sums**2).sum(1)) / (r - 1)
    parts = np.column_stack([within, r, sum_by(at, items, squares), sums])
    totals = parts.sum(0)
    if metric == "ordinal":
        # A rating moves the rank of every other one, so that its weight acts through them too.
        slope = 4 * (r[at] * values[:, 0] - sums[at, 0]) / (r[at] - 1)
        moved = [net_rank(flat, s) / len(flat) for s in (slope, 2 * values[:, 0])]
        parts[:, 0] -= sum_by(at, items, moved[0])
        parts[:, 2] -= sum_by(at, items, moved[1])

    parts = sum_by(group, group.max() + 1, parts)

    def alpha(s: NDArray[Any]) -> NDArray[Any]:
        n = s[..., 1]
        at_large = 2 * (n * s[..., 2] - (s[..., 3:] ** 2).sum(-1))
        return np.asarray(1 - (n - 1) * s[..., 0] / at_large)

    found, u = influence(alpha, totals, parts)
    if metric == "interval":
        found, u = jackknife(alpha, parts)
    if metric == "nominal":
        n = totals[1]
        alike = float((totals[3:] * (totals[3:] - 1)).sum() / (n * (n - 1)))
        return beyond_chance(found, u, alike, level)
    return fisher(found, u, level=level)


def rated(ratings: ArrayLike, on_offer: Sequence[Any] | None = None) -> tuple[Ints, list[Any]]:
    """Ratings as numbers of categories, -1 where missing; shape (items, raters)."""
    array = np.asarray(ratings, dtype=object)
    if array.size == 0:
        raise NoData("no ratings, so there is nothing to estimate")
    if array.ndim != 2:
        raise ValueError("ratings must be a table, one row an item and one column a rater")
    codes, used = encode(array)
    if not used:
        raise NoData(NO_PAIRS)
    if on_offer is None:
        return codes, used
    _, categories = labels(categories=on_offer)
    if strange := [label for label in used if label not in categories]:
        raise ValueError(f"{strange[0]!r} was given and is not among the categories")
    new = np.array([categories.index(label) for label in used] + [-1])
    return np.asarray(new[codes]), categories


def intraclass_correlation(
    ratings: ArrayLike, kind: Literal["ICC(2,1)", "ICC(3,1)"], *, level: float = 0.95
) -> Estimate:
    """How far a single rating tells items apart, after Shrout and Fleiss.

    ICC(2,1), absolute agreement: raters are a sample of raters, and one who is always stricter
    counts as error. ICC(3,1), consistency: these raters only, and strictness does not count.

    Parameters
    ----------
    ratings : float, shape (items, raters)
        Complete: leave an item out that not everyone rated, or use Krippendorff's alpha.

    Raises
    ------
    Undefined
        If the ratings do not vary over items, or there are too few items.
    """
    x = np.asarray(ratings, dtype=np.float64)
    if x.size == 0:
        raise NoData("no ratings, so there is nothing to estimate")
    if x.ndim != 2 or x.shape[1] < 2:
        raise ValueError("ratings must be a table, one row an item and a column for each rater")
    numbers(ratings=x.ravel())
    n, k = x.shape
    x = x - x.mean()
    if not (np.ptp(x, axis=0) > SAME * np.abs(x).max()).any():
        raise Undefined("every rater said the same of every item, which tells no items apart")
    if n < 3:
        raise Undefined(f"{n} items are too few to tell items from error: rate 3 or more")
    parts = np.column_stack([np.ones(n), (x**2).sum(1), x.sum(1) ** 2 / k, x])

    def icc(s: NDArray[Any]) -> NDArray[Any]:
        n, columns = s[..., 0], s[..., 3:]
        grand = columns.sum(-1) ** 2 / (n * k)
        rows, raters = s[..., 2] - grand, (columns**2).sum(-1) / n - grand
        between, rater = rows / (n - 1), raters / (k - 1)
        error = (s[..., 1] - grand - rows - raters) / ((n - 1) * (k - 1))
        bias = k * (rater - error) / n if kind == "ICC(2,1)" else 0
        return np.asarray((between - error) / (between + (k - 1) * error + bias))

    return fisher(*jackknife(icc, parts), level=level)


@dataclass(frozen=True, slots=True)
class Paired:
    """Two judges on the same items."""

    difference: Estimate
    """Mean score of the first minus that of the second, from -1 to 1."""
    first_only: int
    """Items, or clusters, on which the first scored more."""
    second_only: int
    p_value: float
    """Exact McNemar's: two-sided, for equal chances, from the items on which they differ."""


def paired_difference(
    first: ArrayLike, second: ArrayLike, *, cluster: ArrayLike | None = None, level: float = 0.95
) -> Paired:
    """Whether one judge is right more often than another on the same items.

    Parameters
    ----------
    first, second : float, shape (m,)
        1 where right, 0 where wrong, or anything between.
    cluster : shape (m,), optional
        Which rows belong together. McNemar's test then counts clusters by what they lean to.

    Examples
    --------
    The first is right on both items on which they differ, which is not much:

    >>> paired_difference([1, 1, 1, 0], [1, 0, 0, 0]).p_value
    0.5
    """
    first, second = numbers(first=first, second=second)
    for name, scores in (("first", first), ("second", second)):
        if not ((scores >= 0) & (scores <= 1)).all():
            raise ValueError(f"{name} must hold numbers between 0 and 1")
    group, g = groups(cluster, len(first))
    lean = np.round(sum_by(group, g, first - second), 12)
    more, less = int((lean > 0).sum()), int((lean < 0).sum())
    found = mean(first - second, cluster=cluster, lowest=-1, level=level)
    return Paired(found, more, less, sign_test(more, less))
