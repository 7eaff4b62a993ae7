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
Byrt, Bishop and Carlin (1993), Bias, prevalence and kappa. J. Clin. Epidemiol. 46.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twopan.stats.columns import Floats, Ints, encode, groups, labels, sum_by
from twopan.stats.resampling import (
    Estimate,
    Undefined,
    fisher,
    influence,
    mean,
    require_several,
    wilson,
)
from twopan.stats.win_rate import NoData

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
