r"""Correlation of two scorings: Pearson, Spearman and Kendall are one formula.

.. math:: \Gamma = \frac{\sum_{ij} a_{ij} b_{ij}}
                        {\sqrt{\sum_{ij} a_{ij}^2} \sqrt{\sum_{ij} b_{ij}^2}}

where :math:`a_{ij}` compares items :math:`i` and :math:`j` on the one scoring and :math:`b_{ij}`
on the other: by :math:`x_i - x_j` (Pearson), by the difference of their ranks, ties sharing the
middle one (Spearman), or by :math:`\operatorname{sgn}(x_i - x_j)` (Kendall's tau-b).

Three questions are told apart. *Item level* ("turn level" for dialogues): over all pairs of
values at once. *Grouped*: within each group, say the responses to one item, then averaged.
*System level*: over the means of each system. A judge can order systems well and single
responses badly, so a coefficient without its level says little.

References
----------
Daniels (1944), The relation between measures of correlation in the universe of sample
permutations. Biometrika 33.
Kendall (1945), The treatment of ties in ranking problems. Biometrika 33.
Fisher (1921), On the "probable error" of a coefficient of correlation. Metron 1.
Deutsch, Dror and Roth (2021), A statistical analysis of summarization evaluation metrics using
resampling methods. TACL 9.
"""

from contextlib import suppress
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twopan.stats.columns import Floats, Ints, groups, numbers, sum_by
from twopan.stats.resampling import SAME, Estimate, Undefined, fisher, influence, jackknife

Method = Literal["pearson", "spearman", "kendall"]


def correlation(
    x: ArrayLike,
    y: ArrayLike,
    method: Method,
    *,
    cluster: ArrayLike | None = None,
    level: float = 0.95,
) -> Estimate:
    """Correlate two scorings over all rows.

    Parameters
    ----------
    x, y : float, shape (m,)
    method
        ``kendall`` is tau-b and takes time as the square of m: a second or so at 10,000 rows.
    cluster : shape (m,), optional
        Which rows belong together, usually the item. Each its own by default.

    Raises
    ------
    NoData, ValueError
        If there is no row, or one without a number.
    Undefined
        If one of the scorings is constant, or there is a single cluster.

    Examples
    --------
    Of six pairs, five are in the same order:

    >>> round(correlation([1, 2, 3, 4], [1, 2, 4, 3], "kendall").estimate, 3)
    0.667
    """
    x, y = numbers(x=x, y=y)
    group, g = groups(cluster, len(x))
    return fisher(*coefficient(x, y, method, group, g), level=level)


def coefficient(x: Floats, y: Floats, method: Method, group: Ints, g: int) -> tuple[float, Floats]:
    """The coefficient, and the influence on it of each of g groups of rows."""
    for name, column in (("x", x), ("y", y)):
        if np.ptp(column) <= SAME * np.abs(column).max():
            raise Undefined(f"{name} is {column[0]:g} throughout, so it correlates with nothing")
    if method == "pearson":
        x, y = (x - x.mean()) / x.std(), (y - y.mean()) / y.std()
        sums = np.column_stack([np.ones(len(x)), x, y, x * x, y * y, x * y])
        return jackknife(of_moments, sum_by(group, g, sums))
    totals, parts = {"spearman": ranks, "kendall": signs}[method](codes_of(x), codes_of(y))
    return influence(of_pairs, totals, sum_by(group, g, parts))


def of_moments(s: NDArray[Any]) -> NDArray[Any]:
    n, x, y, xx, yy, xy = np.moveaxis(s, -1, 0)
    var_x, var_y = n * xx - x * x, n * yy - y * y
    spread = (var_x.real > SAME * n.real**2) & (var_y.real > SAME * n.real**2)
    return np.asarray((n * xy - x * y) / np.sqrt(np.where(spread, var_x * var_y, np.nan)))


def of_pairs(s: NDArray[Any]) -> NDArray[Any]:
    return np.asarray(s[..., 2] / np.sqrt(s[..., 0] * s[..., 1]))


# The sums of a², b² and ab over all pairs, shape (3,); and how they grow with the weight of each
# row, shape (m, 3).


def ranks(i: Ints, j: Ints) -> tuple[Floats, Floats]:
    m = len(i)
    a, b = net_rank(i, np.ones(m)) / m, net_rank(j, np.ones(m)) / m
    products = np.column_stack([a * a, b * b, a * b])
    # A row's weight also moves the ranks of all the others.
    moved = np.column_stack(
        [2 * net_rank(i, a), 2 * net_rank(j, b), net_rank(i, b) + net_rank(j, a)]
    )
    return products.sum(0), products - moved / m


def signs(i: Ints, j: Ints) -> tuple[Floats, Floats]:
    i, j, rows = i.astype(np.int32), j.astype(np.int32), []
    for some in np.array_split(np.arange(len(i)), len(i) ** 2 // 2_000_000 + 1):
        a, b = np.sign(i[some, None] - i), np.sign(j[some, None] - j)
        rows.append(np.column_stack([np.abs(a).sum(1), np.abs(b).sum(1), (a * b).sum(1)]))
    sums = np.concatenate(rows).astype(np.float64) / len(i) ** 2
    # A pair has the weights of both its rows.
    return sums.sum(0), 2 * sums


def codes_of(x: Floats) -> Ints:
    """0 for the least value, 1 for the next, and so on."""
    return np.asarray(np.unique(x, return_inverse=True)[1])


def net_rank(codes: Ints, weight: Floats) -> Floats:
    """For each row, the weight of all that are less minus the weight of all that are more.

    With weights of 1 it is twice the rank, counted from the middle; ties share theirs.

    >>> net_rank(np.array([0, 1, 1]), np.ones(3))
    array([-2.,  1.,  1.])
    """
    by_code = np.bincount(codes, weights=weight)
    up_to = np.cumsum(by_code)
    return np.asarray((2 * up_to - by_code - up_to[-1])[codes])


@dataclass(frozen=True, slots=True)
class Grouped:
    coefficient: Estimate
    """The mean over groups; its interval speaks of other groups of the kind."""
    undefined: int
    """Groups left out: in these one of the scorings was constant."""


def grouped_correlation(
    x: ArrayLike, y: ArrayLike, group: ArrayLike, method: Method, *, level: float = 0.95
) -> Grouped:
    """Correlate within each group, and average over the groups.

    Parameters
    ----------
    x, y : float, shape (m,)
    group : shape (m,)
        Usually the item whose responses are compared.

    Raises
    ------
    Undefined
        If fewer than two groups have a correlation.
    """
    x, y = numbers(x=x, y=y)
    member, g = groups(group, len(x), "group")
    by_group = np.split(np.argsort(member, kind="stable"), np.cumsum(np.bincount(member))[:-1])
    found = []
    for rows in by_group:
        with suppress(Undefined):
            one_each = np.arange(len(rows))
            found.append(coefficient(x[rows], y[rows], method, one_each, len(rows))[0])
    if not found:
        raise Undefined("within every group one of the scorings is constant")
    each, estimate = np.array(found), fmean(found)
    return Grouped(fisher(estimate, (each - estimate) / len(each), level=level), g - len(each))


def system_correlation(
    x: ArrayLike, y: ArrayLike, system: ArrayLike, method: Method, *, level: float = 0.95
) -> Estimate:
    """Correlate the mean scores of systems.

    The systems are the sample: the interval speaks of other systems of the kind, judged on as
    many items. Few systems leave it wide, and no number of items helps.

    Parameters
    ----------
    x, y : float, shape (m,)
    system : shape (m,)
        Whose response a row scores.

    Raises
    ------
    Undefined
        If all means are the same on one scoring, or there is one system.
    """
    x, y = numbers(x=x, y=y)
    of, systems = groups(system, len(x), "system")
    means = [sum_by(of, systems, column) / np.bincount(of) for column in (x, y)]
    # Rounded, so that equal means are equal in whatever order they were added up.
    scales = [max(float(np.abs(column).max()), 1e-300) for column in (x, y)]
    a, b = (np.round(mean / scale, 12) for mean, scale in zip(means, scales, strict=True))
    return correlation(a, b, method, level=level)
