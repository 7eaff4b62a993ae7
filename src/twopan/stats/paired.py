"""Two judges on the same items: how much more often the one is right, and whether that is chance.

Only the items on which they differ tell them apart; McNemar's test asks whether as many go one
way as the other. The difference of their mean scores has Wilson's interval, from -1 to 1, as wins
and losses of the one against the other with ties between them.

References
----------
McNemar (1947), Note on the sampling error of the difference between correlated proportions.
Psychometrika 12.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from twopan.stats.columns import groups, numbers, sum_by
from twopan.stats.resampling import Estimate, mean
from twopan.stats.win_rate import sign_test


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
