r"""How far an estimate would have moved, had the items been others.

Let :math:`w_c` say how much cluster :math:`c` counts: once each, in the data as they are. An
estimate :math:`\theta(S)` is a smooth function of totals :math:`S(w)`. The influence of a cluster
and the variance are

.. math:: u_c = \frac{\partial \theta}{\partial w_c}, \qquad
          \widehat{\operatorname{var}}\,\theta = \frac{G}{G - 1} \sum_{c=1}^G u_c^2.

This is the jackknife that leaves out an infinitely small part of each cluster in turn, or the
delta method with the algebra left to the machine. It needs no seed, and as no cluster is ever
missing altogether, it exists wherever the estimate does. The derivative is taken by a complex
step, :math:`\operatorname{Im} \theta(S + ih s_c) / h` with :math:`s_c = \partial S / \partial
w_c`, which subtracts nothing and so loses no digit.

The ordinary jackknife leaves out the whole cluster, :math:`u_c = \frac{G-1}{G}
(\bar\theta_{(\cdot)} - \theta_{(c)})`. Where it exists it is the better one for few items.

Two intervals are built on them. A mean of bounded scores has Wilson's, at the number of clusters
that would show this spread if each scored only the lowest or the highest; spread and mean are
taken with one of either added, so that equal scores are not taken for certainty. A coefficient
in :math:`(-1, 1)` has Fisher's, :math:`\operatorname{artanh} \theta \pm t_{G-1}\,
\operatorname{se} / (1 - \theta^2)`. It has none where a coefficient is 1, -1 or shows no spread
at all; there Wilson's stands in.

References
----------
Tukey (1958), Bias and confidence in not quite large samples. Ann. Math. Stat. 29.
Jaeckel (1972), The infinitesimal jackknife. Bell Laboratories, MM 72-1215-11.
Squire and Trapp (1998), Using complex variables to estimate derivatives. SIAM Review 40.
Korn and Graubard (1998), Confidence intervals for proportions with small expected number of
positive counts estimated from survey data. Survey Methodology 24.
Phipson and Smyth (2010), Permutation p-values should never be zero. Stat. Appl. Genet. 9.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twopan.stats.columns import Floats, groups, numbers, sum_by

Statistic = Callable[[NDArray[Any]], NDArray[Any]]
"""From totals, shape (..., d), to estimates, shape (...), by arithmetic and roots alone."""


SAME = 1e-12
"""Numbers that differ by less, relative to their size, are one number added up in other ways."""


class Undefined(ValueError):
    """There are data, but what was asked for does not exist for them."""


@dataclass(frozen=True, slots=True)
class Estimate:
    estimate: float
    low: float
    high: float
    m: int
    """How many clusters, usually items, it rests on."""
    standard_error: float | None
    """None where one cluster shows no spread."""
    level: float = 0.95
    """How often an interval made this way holds the truth."""


def influence(statistic: Statistic, totals: Floats, parts: Floats) -> tuple[float, Floats]:
    """The estimate, and the influence on it of each cluster.

    Parameters
    ----------
    totals : float, shape (d,)
    parts : float, shape (clusters, d)
        How the totals grow with each cluster's weight. Where the totals are sums over clusters
        these are simply the summands.

    Examples
    --------
    A mean is the ratio of a sum and a count:

    >>> ratio = lambda s: s[..., 0] / s[..., 1]
    >>> influence(ratio, np.array([3.0, 3.0]), np.array([[0.0, 1.0], [1.0, 1.0], [2.0, 1.0]]))[1]
    array([-0.33333333,  0.        ,  0.33333333])
    """
    step = 1e-30
    moved = statistic(totals + 1j * step * parts)
    return float(statistic(totals)), np.asarray(moved.imag / step)


def jackknife(statistic: Statistic, parts: Floats) -> tuple[float, Floats]:
    """The estimate and the influences, as above, by leaving out each cluster whole.

    For totals that are sums of ``parts``, shape (clusters, d). Where an estimate does not exist
    without some cluster, by leaving out an infinitely small part of each.
    """
    totals = parts.sum(0)
    with np.errstate(divide="ignore", invalid="ignore"):
        left_out = statistic(totals - parts)
    if not np.isfinite(left_out).all():
        return influence(statistic, totals, parts)
    g = len(parts)
    return float(statistic(totals)), np.asarray((left_out.mean() - left_out) * (g - 1) / g)


def standard_error(u: Floats) -> float | None:
    """Of an estimate, from the influence of each cluster; a single one shows no spread."""
    g = len(u)
    return math.sqrt(g / (g - 1) * float(u @ u)) if g > 1 else None


def require_several(u: Floats) -> None:
    if len(u) < 2:
        raise Undefined("a single item shows no spread, so there is no interval: judge more items")


def wilson(
    estimate: float, u: Floats, *, lowest: float = 0.0, highest: float = 1.0, level: float = 0.95
) -> Estimate:
    """Wilson's interval for a mean of scores from ``lowest`` to ``highest``."""
    g, room = len(u), highest - lowest
    p = (estimate - lowest) / room
    scores = p + g * u / room
    padded = np.concatenate([scores, [0.0, 1.0]])
    effect = float(padded.var(ddof=1) / (padded.mean() * (1 - padded.mean())))
    if ((scores >= -SAME) & (scores <= 1 + SAME)).all():
        effect = min(effect, 1.0)  # no scores between the ends spread more than scores at the ends
    n = g / effect
    z = NormalDist().inv_cdf((1 + level) / 2)
    centre = p + z**2 / (2 * n)
    half_width = z * math.sqrt(max(p * (1 - p), 0) / n + z**2 / (4 * n**2))
    ends = ((centre + s * half_width) / (1 + z**2 / n) for s in (-1, 1))
    low, high = (lowest + room * min(max(float(end), 0.0), 1.0) for end in ends)
    # It holds the estimate, which rounding could put just outside.
    low, high = min(low, estimate), max(high, estimate)
    return Estimate(estimate, low, high, g, standard_error(u), level)


def fisher(estimate: float, u: Floats, *, level: float = 0.95) -> Estimate:
    """Fisher's interval for a coefficient between -1 and 1."""
    require_several(u)
    if not abs(estimate) <= 1 + 1e-9:
        raise Undefined(f"the coefficient came to {estimate:.3g}, outside -1 to 1: too few items")
    estimate = min(max(estimate, -1.0), 1.0)
    se, room = standard_error(u) or 0.0, 1 - estimate**2
    if room < 1e-9 or se < 1e-9:
        return wilson(estimate, u, lowest=-1, level=level)
    z, half_width = math.atanh(estimate), student(level, len(u) - 1) * se / room
    low, high = math.tanh(z - half_width), math.tanh(z + half_width)
    return Estimate(estimate, low, high, len(u), se, level)


def mean(
    y: ArrayLike,
    *,
    cluster: ArrayLike | None = None,
    lowest: float = 0.0,
    highest: float = 1.0,
    level: float = 0.95,
) -> Estimate:
    """The mean of bounded scores, every row counting the same, with a clustered interval.

    >>> round(mean([1] * 10).low, 4)
    0.7225
    """
    (y,) = numbers(y=y)
    if not ((y >= lowest) & (y <= highest)).all():
        raise ValueError(f"scores must be numbers between {lowest:g} and {highest:g}")
    group, g = groups(cluster, len(y))
    parts = sum_by(group, g, np.column_stack([y, np.ones(len(y))]))
    found, u = influence(lambda s: s[..., 0] / s[..., 1], parts.sum(0), parts)
    return wilson(found, u, lowest=lowest, highest=highest, level=level)


def student(level: float, df: int) -> float:
    """The two-sided quantile of Student's t, to 0.1 % from 5 degrees of freedom up, 1 % from 2.

    Cornish and Fisher's expansion, Abramowitz and Stegun (1964), 26.7.5.

    >>> round(student(0.95, 10), 3)
    2.228
    """
    z = NormalDist().inv_cdf((1 + level) / 2)
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return z + math.fsum(term / float(df) ** (k + 1) for k, term in enumerate(terms))


def permutation_p(exceed: int, draws: int) -> float:
    """The p-value when ``exceed`` of ``draws`` random permutations reached what was observed.

    What was observed is itself one of the possible permutations, so it is never 0.

    >>> round(permutation_p(0, 1000), 6)
    0.000999
    """
    if not 0 <= exceed <= draws or not draws:
        raise ValueError(f"{exceed} of {draws} draws: draw at least one, and count among them")
    return (exceed + 1) / (draws + 1)


def sign_flip(
    difference: ArrayLike, *, seed: int, cluster: ArrayLike | None = None, draws: int = 10_000
) -> float:
    """The two-sided p-value of a mean difference of 0, by flipping the sign of whole clusters.

    For paired scores of any kind; ``difference`` has shape (m,).
    """
    (difference,) = numbers(difference=difference)
    group, g = groups(cluster, len(difference))
    # In order of size, so that a seed gives one p-value whatever the order of the rows.
    totals = np.sort(sum_by(group, g, difference))
    rng = np.random.default_rng(seed)
    observed, exceed = abs(totals.sum()) * (1 - 1e-12), 0
    for size in (min(1000, draws - done) for done in range(0, draws, 1000)):
        signs = rng.integers(0, 2, size=(size, g)) * 2.0 - 1
        exceed += int((np.abs(signs @ totals) >= observed).sum())
    return permutation_p(exceed, draws)
