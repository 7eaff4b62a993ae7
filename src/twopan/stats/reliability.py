r"""Reliability of raters on any scale: Krippendorff's alpha, and the intraclass correlation.

Alpha is one minus disagreement within items over disagreement at large,

.. math:: \alpha = 1 - (n - 1) \sum_i \frac{1}{r_i - 1} \sum_{j,k \in i} \delta^2_{jk}
          \Big/ \sum_{j,k} \delta^2_{jk}

over the :math:`n` ratings of items with :math:`r_i \ge 2` of them, where :math:`\delta` is 0 or 1
(nominal), or the difference of ranks (ordinal) or of values (interval).

The intraclass correlation of :math:`n` items and :math:`k` raters comes from the mean squares
between items :math:`B`, between raters :math:`J` and of the error :math:`E`,

.. math:: \text{ICC}(3,1) = \frac{B - E}{B + (k - 1) E}, \qquad
          \text{ICC}(2,1) = \frac{B - E}{B + (k - 1) E + k (J - E) / n}.

Intervals are over items. Raters are few, and other raters could differ by more.

References
----------
Krippendorff (2011), Computing Krippendorff's alpha-reliability.
Shrout and Fleiss (1979), Intraclass correlations. Psychological Bulletin 86.
"""

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twopan.stats.agreement import NO_PAIRS, beyond_chance, rated
from twopan.stats.columns import groups, numbers, sum_by
from twopan.stats.correlation import net_rank
from twopan.stats.resampling import SAME, Estimate, Undefined, fisher, influence, jackknife
from twopan.stats.win_rate import NoData


def krippendorff_alpha(
    ratings: ArrayLike,
    metric: Literal["nominal", "ordinal", "interval"] = "nominal",
    *,
    cluster: ArrayLike | None = None,
    level: float = 0.95,
) -> Estimate:
    """Krippendorff's alpha, of ratings of any number of raters with any of them missing.

    Parameters
    ----------
    ratings : labels, shape (items, raters)
        None or NaN where there is none. Numbers, unless nominal.
    cluster : shape (items,), optional
        Which rows belong together, where an item has several. Each its own by default.

    Raises
    ------
    NoData, Undefined
        If no item has two ratings, or all ratings are the same, or there is one item.

    Examples
    --------
    They disagree on one item in four, where ratings drawn at random would on half:

    >>> krippendorff_alpha([[1, 1], [1, 1], [0, 0], [0, 1]]).estimate > 0.5
    True
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

    if metric == "interval":
        return fisher(*jackknife(alpha, parts), level=level)
    found, u = influence(alpha, totals, parts)
    if metric == "nominal":
        n = totals[1]
        alike = float((totals[3:] * (totals[3:] - 1)).sum() / (n * (n - 1)))
        return beyond_chance(found, u, alike, level)
    return fisher(found, u, level=level)


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
