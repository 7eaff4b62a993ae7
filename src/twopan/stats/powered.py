r"""What people would have said, from a few of their labels and many verdicts of a judge (PPI++).

People labelled :math:`n` items, :math:`Y_i`; the judge scored these, :math:`f_i`, and :math:`N`
more items of the same kind, :math:`\tilde f_j`. The judge's mean over the many is precise and may
be wrong; how wrong is seen where people looked. With a weight :math:`\lambda` between 0 and 1

.. math:: \hat\theta = \bar Y + \lambda\,(\bar{\tilde f} - \bar f), \qquad
          \operatorname{var} \hat\theta = \operatorname{var}(\bar Y - \lambda \bar f)
          + \lambda^2 \operatorname{var} \bar{\tilde f}.

It is unbiased whatever the judge does, and the weight that makes its variance least,

.. math:: \lambda = \frac{\operatorname{cov}(\bar Y, \bar f)}
          {\operatorname{var} \bar f + \operatorname{var} \bar{\tilde f}}
          = \frac{\operatorname{cov}(Y, f)}{(1 + n / N) \operatorname{var} f}
          \text{ for independent items,}

is 0 for a judge that tells nothing, so labels are never made worse than they are alone. Strengths
minimise the same combination of three log-likelihoods,

.. math:: \ell_n(\theta; Y) + \lambda\,(\tilde\ell_N(\theta; f) - \ell_n(\theta; f)),

each a mean over comparisons, with the sandwich covariance of both samples; there :math:`\lambda`
makes the sum of the variances of the strengths least.

The items that people labelled must be a random draw from the items that count. If someone chose
them, the correction carries the choice along. Intervals have Student's quantile at the number of
labelled clusters, and for the win rate Wilson's form at the number of wins and losses that would be
as precise, one win and one loss added to what was labelled, as in :mod:`twopan.stats.win_rate`.

References
----------
Angelopoulos et al. (2023), Prediction-powered inference. Science 382.
Angelopoulos, Duchi and Zrnic (2023), PPI++: Efficient prediction-powered inference.
arXiv:2311.01453, sections 2, 4 and 6.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from twopan.stats.bradley_terry import NotIdentified, Ratings, constrained_inverse
from twopan.stats.columns import Floats, Ints, groups, numbers, sum_by
from twopan.stats.resampling import Undefined, student

FEWEST = 10
"""Labelled clusters; with fewer their spread is not known well enough to correct by."""
STEPS, SMALL, FAR = 60, 1e-10, 30.0


@dataclass(frozen=True, slots=True)
class Powered:
    estimate: float
    """Between 0 and 1; what people would have said of all items."""
    low: float
    high: float
    standard_error: float
    weight: float
    """λ, how far the judge was listened to: 0 not at all, near 1 as if it were a person."""
    labelled: int
    """Clusters that people labelled."""
    worth: float
    """How many labels alone would be as precise, over the labels there are; 1 is no gain."""
    level: float = 0.95


@dataclass(frozen=True, slots=True)
class PoweredRatings:
    ratings: Ratings
    """Strengths as people would have it; ``clusters`` counts the labelled ones."""
    weight: float


def powered(
    y: ArrayLike,
    f: ArrayLike,
    unlabelled: ArrayLike,
    *,
    cluster: ArrayLike | None = None,
    unlabelled_cluster: ArrayLike | None = None,
    level: float = 0.95,
) -> Powered:
    """The win rate by people's standard.

    Parameters
    ----------
    y, f : float, shape (n,)
        What people and the judge said of the same comparisons: 1 where A is better, ½, 0.
    unlabelled : float, shape (N,)
        What the judge said of the others.
    cluster, unlabelled_cluster : shape (n,) and (N,), optional
        Which comparisons are of one item. No item may be in both.

    Raises
    ------
    Undefined
        If people labelled fewer than ten items, or the judge scored fewer than two others.
    ValueError
        If the columns are not what they should be.

    Examples
    --------
    The judge prefers A in 70 of 100, but said so too often where people looked:

    >>> people = [1] * 10 + [0] * 10
    >>> judge = [1] * 10 + [1] * 3 + [0] * 7
    >>> found = powered(people, judge, [1] * 70 + [0] * 30)
    >>> round(found.estimate, 3), round(found.weight, 2)
    (0.533, 0.65)
    """
    y, f = numbers(y=y, f=f)
    (more,) = numbers(unlabelled=unlabelled)
    for name, values in (("y", y), ("f", f), ("unlabelled", more)):
        if not ((values >= 0) & (values <= 1)).all():
            raise ValueError(f"{name} must hold numbers between 0 and 1")
    group, few, others, many = _apart(cluster, unlabelled_cluster, len(y), len(more))
    of_y, of_f, of_more = _moves(group, few, y), _moves(group, few, f), _moves(others, many, more)
    spread = of_f @ of_f + of_more @ of_more
    weight = min(max(float(of_y @ of_f / spread), 0.0), 1.0) if spread > 0 else 0.0
    estimate = float(y.mean() + weight * (more.mean() - f.mean()))
    estimate = min(max(estimate, 0.0), 1.0)

    t = student(level, few - 1)
    scores = few * (of_y - weight * of_f)
    padded = np.concatenate([scores, [-estimate, 1 - estimate]])
    careful = padded.var(ddof=1) / few + weight**2 * (of_more @ of_more)
    centre = (few * estimate + 1) / (few + 2)
    n = centre * (1 - centre) / careful
    middle = estimate + t**2 / (2 * n)
    half_width = t * math.sqrt(estimate * (1 - estimate) / n + t**2 / (4 * n**2))
    low, high = (
        min(max(float((middle + s * half_width) / (1 + t**2 / n)), 0.0), 1.0) for s in (-1, 1)
    )
    alone = float(of_y @ of_y)
    variance = float(scores @ scores) / few**2 + weight**2 * float(of_more @ of_more)
    return Powered(
        estimate, min(low, estimate), max(high, estimate), math.sqrt(variance), weight, few,
        alone / variance if variance > 0 else 1.0, level,
    )  # fmt: skip


def powered_ratings(
    labelled: tuple[ArrayLike, ArrayLike, ArrayLike, ArrayLike],
    unlabelled: tuple[ArrayLike, ArrayLike, ArrayLike],
    *,
    n: int,
    cluster: ArrayLike | None = None,
    unlabelled_cluster: ArrayLike | None = None,
    weight: float | None = None,
) -> PoweredRatings:
    """Bradley-Terry strengths by people's standard, ties half.

    Parameters
    ----------
    labelled
        ``a, b, y, f``, each of shape (m,): the two systems, from 0 to n - 1, and what people and
        the judge said, as a score of ``a``.
    unlabelled
        ``a, b, f``, each of shape (M,).
    weight : float, optional
        λ, in place of the best one. 0 fits the labels alone.

    Raises
    ------
    NotIdentified
        If what is known puts some system infinitely far from the others.
    Undefined
        If people labelled fewer than ten items.
    ValueError
        If the columns are not what they should be.
    """
    a, b, y, f = numbers(a=labelled[0], b=labelled[1], y=labelled[2], f=labelled[3])
    c, d, more = numbers(a=unlabelled[0], b=unlabelled[1], f=unlabelled[2])
    if weight is not None and not 0 <= weight <= 1:
        raise ValueError("weight must lie between 0 and 1")
    group, few, others, many = _apart(cluster, unlabelled_cluster, len(y), len(more))
    few_, many_ = _Sample(_design(a, b, n), group, few), _Sample(_design(c, d, n), others, many)
    if weight is None:
        weight = _best(few_, y, f, many_, more)
    theta, bread = _minimum(few_.x, y - weight * f, many_.x, more, weight)
    p, q = _expected(few_.x @ theta), _expected(many_.x @ theta)
    seen = few_.moves(y - weight * f - (1 - weight) * p)
    unseen = many_.moves(weight * (more - q))
    covariance = bread @ (seen.T @ seen + unseen.T @ unseen) @ bread
    return PoweredRatings(Ratings(theta=theta, covariance=covariance, clusters=few), weight)


def _apart(
    cluster: ArrayLike | None, others: ArrayLike | None, n: int, many: int
) -> tuple[Ints, int, Ints, int]:
    """The clusters of both samples, which share none."""
    if cluster is not None and others is not None:
        both = set(np.asarray(cluster).tolist()) & set(np.asarray(others).tolist())
        if both:
            raise ValueError(
                f"item {min(both, key=str)!r} is among the labelled and among the others: a sample"
                " cannot correct itself"
            )
    group, few = groups(cluster, n)
    group_others, rest = groups(others, many, "unlabelled_cluster")
    if few < FEWEST:
        raise Undefined(f"people labelled {few} items; {FEWEST} is the least to correct a judge by")
    if rest < 2:
        raise Undefined("the judge scored fewer than two items that people did not label")
    return group, few, group_others, rest


def _moves(group: Ints, g: int, values: Floats) -> Floats:
    """How each cluster moves the mean, scaled so that the squares add up to its variance."""
    moved = sum_by(group, g, values - values.mean(0)) / len(values)
    return np.asarray(moved * math.sqrt(g / (g - 1)))


def _design(a: Floats, b: Floats, n: int) -> Floats:
    """+1 for the first system and -1 for the second: shape (m, n)."""
    if not all(np.isin(system, np.arange(n)).all() for system in (a, b)) or (a == b).any():
        raise ValueError(f"systems must be two different whole numbers from 0 to {n - 1}")
    x, row = np.zeros((len(a), n)), np.arange(len(a))
    x[row, a.astype(int)], x[row, b.astype(int)] = 1.0, -1.0
    return x


def _expected(eta: Floats) -> Floats:
    return np.asarray((1 + np.tanh(eta / 2)) / 2)


@dataclass(frozen=True, slots=True)
class _Sample:
    x: Floats
    """+1 for the first system of a comparison, -1 for the second: shape (m, n)."""
    group: Ints
    clusters: int

    def moves(self, surprise: Floats) -> Floats:
        """How each cluster moves the gradient: shape (clusters, n)."""
        return _moves(self.group, self.clusters, surprise[:, None] * self.x)


def _best(few: _Sample, y: Floats, f: Floats, many: _Sample, more: Floats) -> float:
    """λ, at the strengths that labels alone give, or where these do not exist the judge's too."""
    try:
        theta, bread = _minimum(few.x, y, many.x, more, 0.0)
    except NotIdentified:
        theta, bread = _minimum(few.x, y - f / 2, many.x, more, 0.5)
    p, q = _expected(few.x @ theta), _expected(many.x @ theta)
    of_y, of_f = few.moves(y - p) @ bread, few.moves(f - p) @ bread
    of_more = many.moves(more - q) @ bread
    spread = float((of_f**2).sum() + (of_more**2).sum())
    return min(max(float((of_y * of_f).sum()) / spread, 0.0), 1.0) if spread > 0 else 0.0


def _minimum(
    x: Floats, score: Floats, z: Floats, more: Floats, weight: float
) -> tuple[Floats, Floats]:
    """Strengths that sum to 0, and the inverse information; ``score`` is y - λ f."""
    n = x.shape[1]
    theta = np.zeros(n)
    target = x.T @ score / len(x) + weight * (z.T @ more) / len(z)
    for _ in range(STEPS):
        p, q = _expected(x @ theta), _expected(z @ theta)
        mean = (1 - weight) * (x.T @ p) / len(x) + weight * (z.T @ q) / len(z)
        information = (1 - weight) * (x.T * (p * (1 - p))) @ x / len(x)
        information += weight * (z.T * (q * (1 - q))) @ z / len(z)
        bread = constrained_inverse(information, n)
        if bread is None or not np.isfinite(bread).all() or np.abs(theta).max() > FAR:
            break
        step = bread @ (target - mean)
        if np.abs(step).max() < SMALL:
            return theta, bread
        theta = theta + step / max(1.0, np.abs(step).max() / 2)
    raise NotIdentified(
        "the labels, corrected by the judge, put some system infinitely far from the others: more"
        " labels are needed where it was compared"
    )
