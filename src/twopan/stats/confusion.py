r"""What people would have said, from how often the judge takes one outcome for another.

Let :math:`M_{kl}` be the chance that the judge says :math:`k` where people say :math:`l`, each of
win, tie and loss, and :math:`q` what the judge says over all items. Then :math:`q = M \pi` and

.. math:: \hat\pi = \hat M^{-1} \hat q, \qquad \hat\theta = \hat\pi_{win} + \hat\pi_{tie} / 2.

Where there are no ties this is Rogan and Gladen's :math:`(\hat q + \text{specificity} - 1) /
(\text{sensitivity} + \text{specificity} - 1)`. It differs from the correction in
:mod:`twopan.stats.powered` in what it needs: the labelled items may be of another mix of outcomes,
so long as the judge errs there as it does here. It pays with a wider interval.

The variance is the delta method's, over labels and verdicts both, with the item as the cluster
(:mod:`twopan.stats.resampling`). A judge that answers alike whatever people say has a singular
:math:`M` and nothing can be inferred: unless :math:`\det \hat M` is at least three of its own
standard errors from 0, that is said instead of a number.

References
----------
Rogan and Gladen (1978), Estimating prevalence from the results of a screening test.
Am. J. Epidemiology 107. Buonaccorsi (2010), Measurement error, chapter 2.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twopan.stats.bradley_terry import NotIdentified
from twopan.stats.columns import Floats, groups, numbers, sum_by
from twopan.stats.powered import FEWEST
from twopan.stats.resampling import Undefined, influence, standard_error, student

OUTCOMES = (1.0, 0.5, 0.0)
APART = 3.0
"""Standard errors that the determinant must be away from 0."""


@dataclass(frozen=True, slots=True)
class Unconfused:
    estimate: float
    """Of the win rate, a tie half, between 0 and 1."""
    low: float
    high: float
    standard_error: float
    shares: tuple[float, ...]
    """Of win, tie and loss as people would have it, or of win and loss; they sum to 1, and one may
    come to a little less than 0."""
    confusion: Floats
    """M, shape (k, k): a column for each outcome of people's, a row for each of the judge's."""
    labelled: int
    level: float = 0.95


def unconfused(
    y: ArrayLike,
    f: ArrayLike,
    unlabelled: ArrayLike,
    *,
    cluster: ArrayLike | None = None,
    unlabelled_cluster: ArrayLike | None = None,
    symmetric: bool = False,
    level: float = 0.95,
) -> Unconfused:
    """The win rate by people's standard, with the judge's confusions undone.

    Parameters
    ----------
    y, f : shape (n,)
        What people and the judge said of the same comparisons: 1, ½ or 0, nothing between.
    unlabelled : shape (N,)
        What the judge said of those that count.
    cluster, unlabelled_cluster : optional
        Which comparisons are of one item.
    symmetric : bool
        Take the judge to err alike whichever of the two is better. So it does where every pair is
        judged in both orders and neither system is the judge's own kind; a third fewer unknowns.

    Raises
    ------
    NotIdentified
        If some outcome was never people's, or the judge does not tell outcomes apart.
    Undefined
        If people labelled fewer than ten items, or there is but one item that counts.
    ValueError
        If a value is no outcome.

    Examples
    --------
    Right in 90 of 100 either way, and 58 % for A, is 60 % for A:

    >>> people, judge = [1] * 100 + [0] * 100, [1] * 90 + [0] * 100 + [1] * 10
    >>> round(unconfused(people, judge, [1] * 58 + [0] * 42).estimate, 3)
    0.6
    """
    y, f = numbers(y=y, f=f)
    (more,) = numbers(unlabelled=unlabelled)
    for name, values in (("y", y), ("f", f), ("unlabelled", more)):
        if not np.isin(values, OUTCOMES).all():
            raise ValueError(f"{name} must hold outcomes: 1, 0.5 or 0")
    ties = (y == 0.5).any() or (f == 0.5).any() or (more == 0.5).any()
    outcomes = np.array(OUTCOMES if ties else (1.0, 0.0))
    k = len(outcomes)
    group, few = groups(cluster, len(y))
    others, rest = groups(unlabelled_cluster, len(more), "unlabelled_cluster")
    if few < FEWEST:
        raise Undefined(f"people labelled {few} items; {FEWEST} is the least to correct a judge by")
    if rest < 2:
        raise Undefined("the judge scored fewer than two items that count")

    cells = (f[:, None, None] == outcomes[:, None]) & (y[:, None, None] == outcomes)
    if symmetric:
        cells = cells + cells[:, ::-1, ::-1].astype(float)
    told = sum_by(group, few, cells.reshape(len(y), k * k).astype(float))
    said = sum_by(others, rest, (more[:, None] == outcomes).astype(float))
    counts = told.sum(0).reshape(k, k)
    _require_all(counts, outcomes)

    def matrix(totals: NDArray[Any]) -> NDArray[Any]:
        of = totals[..., : k * k].reshape(*totals.shape[:-1], k, k)
        return np.asarray(of / of.sum(-2, keepdims=True))

    def determinant(totals: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(np.linalg.det(matrix(totals)))

    def shares(totals: NDArray[Any]) -> NDArray[Any]:
        q = totals[..., k * k :]
        solved = np.linalg.solve(matrix(totals), (q / q.sum(-1, keepdims=True))[..., None])
        return np.asarray(solved[..., 0])

    size, moves = influence(determinant, counts.ravel(), told)
    if abs(size) <= max(APART * (standard_error(moves) or 0.0), 1e-9):
        raise NotIdentified(
            f"the judge hardly tells outcomes apart (determinant {size:.2f} of its confusions, not"
            f" {APART:g} standard errors from 0), so what people would say does not follow from"
            " what it says: label more items, or take a better judge"
        )
    totals = np.concatenate([counts.ravel(), said.sum(0)])
    by_labels = np.hstack([told, np.zeros((few, k))])
    by_verdicts = np.hstack([np.zeros((rest, k * k)), said])
    estimate, u = influence(lambda s: shares(s) @ outcomes, totals, by_labels)
    _, v = influence(lambda s: shares(s) @ outcomes, totals, by_verdicts)
    se = math.hypot(standard_error(u) or 0.0, standard_error(v) or 0.0)
    reach = student(level, few - 1) * se
    low, high, estimate = (min(max(e, 0.0), 1.0) for e in
                           (estimate - reach, estimate + reach, estimate))  # fmt: skip
    found = tuple(float(share) for share in shares(totals))
    return Unconfused(estimate, low, high, se, found, matrix(counts.ravel()), few, level)


def _require_all(counts: Floats, outcomes: Floats) -> None:
    names = {1.0: "A better", 0.5: "a tie", 0.0: "B better"}
    for outcome, seen in zip(outcomes, counts.sum(0), strict=True):
        if not seen:
            raise NotIdentified(
                f"people never said {names[float(outcome)]}, so how the judge takes that is not"
                " known: label more items"
            )
