r"""What was not judged: how far it could move a result, and whether it hits one side more.

A refusal, a time-out or a reply that cannot be read is no verdict. If such pairs are a random part
of all, leaving them out costs precision and nothing else. If they are not, as where a judge refuses
the candidate's bolder answers, what is left is crooked, and no interval says so. Two things can be
said without assumptions: the *bounds* between which a mean lies whatever the missing ones would
have been (Manski 1989), and whether two arms, such as two judges or two systems, miss *differently*
often, by McNemar's test where they were asked about the same items and by Fisher's exact test
where not.

References
----------
Manski (1989), Anatomy of the selection problem. Journal of Human Resources 24.
McNemar (1947). Fisher (1935), The logic of inductive inference. JRSS 98.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from twopan.stats.columns import Floats
from twopan.stats.win_rate import NoData, bounds, sign_test


@dataclass(frozen=True, slots=True)
class Missing:
    """How often two arms miss."""

    first: float
    """Share of the first arm that is missing, from 0 to 1."""
    second: float
    p_value: float
    """Exact, two-sided, of as many in the one as in the other."""


@dataclass(frozen=True, slots=True)
class Scores:
    """Scores of which some are missing."""

    mean: float | None
    """Of those that are there; None where none is."""
    scored: int
    total: int
    low: float
    """The mean, had all that is missing been the lowest there is,"""
    high: float
    """and the highest."""

    @property
    def coverage(self) -> float:
        return self.scored / self.total


def scores_with_gaps(
    y: ArrayLike, there: ArrayLike, *, lowest: float = 0.0, highest: float = 1.0
) -> Scores:
    """Sum up scores, shape (m,), of which only those that are ``there`` count.

    >>> found = scores_with_gaps([5, 4, 0, 0, 3], [1, 1, 0, 0, 1], lowest=1, highest=5)
    >>> found.mean, found.coverage, round(found.low, 3), round(found.high, 3)
    (4.0, 0.6, 2.8, 4.4)
    """
    y, there = np.asarray(y, dtype=np.float64), np.asarray(there, dtype=bool)
    if not y.size:
        raise NoData("no row at all")
    known = y[there]
    if not ((known >= lowest) & (known <= highest)).all():
        raise ValueError(f"scores must be numbers between {lowest:g} and {highest:g}")
    room = highest - lowest
    low, high = bounds(float((known - lowest).sum() / room), len(known), len(y) - len(known))
    return Scores(
        mean=float(known.mean()) if len(known) else None,
        scored=len(known),
        total=len(y),
        low=lowest + room * low,
        high=lowest + room * high,
    )


def missing_in_pairs(first: ArrayLike, second: ArrayLike) -> Missing:
    """Whether two arms on the same items miss differently often; shape (m,), true where missing.

    >>> missing_in_pairs([1, 1, 1, 1, 1, 1, 0, 0], [0, 0, 0, 0, 0, 0, 0, 0]).p_value
    0.03125
    """
    a, b = np.asarray(first, dtype=bool), np.asarray(second, dtype=bool)
    if a.shape != b.shape or a.ndim != 1:
        raise ValueError("both arms need one value an item")
    if not a.size:
        raise NoData("no item at all")
    p = sign_test(int((a & ~b).sum()), int((b & ~a).sum()))
    return Missing(float(a.mean()), float(b.mean()), p)


def missing_apart(missing: tuple[int, int], total: tuple[int, int]) -> Missing:
    """The same of two arms on different items, from how many of how many are missing.

    Fisher's exact test: two-sided, adding up all tables no likelier than the one seen.

    >>> round(missing_apart((3, 0), (4, 4)).p_value, 4)
    0.1429
    """
    (a, b), (m, n) = missing, total
    if not (0 <= a <= m and 0 <= b <= n and m and n):
        raise ValueError(f"{missing} of {total}: count among them, and at least one of each")
    k = a + b
    table = np.arange(max(0, k - n), min(k, m) + 1)
    log_p = _choose(m, table) + _choose(n, k - table) - _choose(m + n, np.array(k))
    seen = log_p[table == a][0]
    p = float(np.exp(log_p[log_p <= seen + 1e-9]).sum())
    return Missing(a / m, b / n, min(1.0, p))


def _choose(n: int, k: np.ndarray) -> Floats:
    from scipy.special import gammaln

    return np.asarray(math.lgamma(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))
