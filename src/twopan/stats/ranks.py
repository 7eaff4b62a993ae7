r"""Which systems are surely better, all comparisons taken together, and what that makes of ranks.

Among :math:`n` systems there are :math:`n(n-1)/2` differences, and of twenty intervals at 95 % one
is wrong. So the interval of every difference is made as wide as the largest of them needs,

.. math:: \hat\theta_i - \hat\theta_j \pm c \cdot \operatorname{se}_{ij}, \qquad
          P\Bigl(\max_{i<j} \frac{|Z_i - Z_j|}{\operatorname{se}_{ij}} \le c\Bigr) = 1 - \alpha,

with :math:`Z \sim N(0, \hat\Sigma)`, divided by :math:`\sqrt{\chi^2_{G-1} / (G-1)}` where few
clusters :math:`G` tell the spread; :math:`c` is a quantile of draws with a seed. A system is surely
better than another where that interval lies above 0. All such statements are true together in
:math:`1 - \alpha` of the data sets one might have had, and so are the rank intervals they imply:

.. math:: 1 + \#\{\text{surely better}\} \le \operatorname{rank} \le n - \#\{\text{surely worse}\}.

The lower end is the *shared rank*: systems that nobody is surely better than share the first.

References
----------
Tukey (1953), The problem of multiple comparisons. Hothorn, Bretz and Westfall (2008), Simultaneous
inference in general parametric models. Biometrical Journal 50.
Mogstad, Romano, Shaikh and Wilhelm (2024), Inference for ranks with applications to mobility across
neighbourhoods and academic achievement across countries. Review of Economic Studies 91.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from twopan.stats.columns import Floats, Ints
from twopan.stats.threads import one_thread

DRAWS = 4000


@dataclass(frozen=True, slots=True)
class Ranks:
    low: Ints
    """Shape (n,), the best rank each system may have, from 1: its shared rank."""
    high: Ints
    """Shape (n,), the worst."""
    surely: NDArray[np.bool_]
    """Shape (n, n): whether the row is surely better than the column."""
    critical: float
    """c: in standard errors, half the width of the simultaneous interval of a difference."""
    level: float


def ranks(
    theta: Floats,
    covariance: Floats,
    *,
    df: int | None = None,
    level: float = 0.95,
    seed: int = 0,
    draws: int = DRAWS,
) -> Ranks:
    """Rank systems by their strengths, shape (n,), of this covariance, shape (n, n).

    ``df`` are the degrees of freedom of the covariance, clusters less one; None where many.

    Examples
    --------
    Two are far ahead of a third, and nothing tells them apart:

    >>> found = ranks(np.array([2.0, 1.9, -3.9]), np.eye(3) * 0.05)
    >>> found.low.tolist(), found.high.tolist()
    ([1, 1, 3], [2, 2, 3])
    """
    n = len(theta)
    errors = difference_errors(covariance)
    c = critical(covariance, errors, df=df, level=level, seed=seed, draws=draws)
    gap = theta[:, None] - theta[None, :]
    surely = gap > c * errors
    return Ranks(1 + surely.sum(0), n - surely.sum(1), surely, c, level)


def difference_errors(covariance: Floats) -> Floats:
    """The standard error of each difference, shape (n, n)."""
    own = np.diag(covariance)
    return np.sqrt(np.maximum(own[:, None] + own[None, :] - 2 * covariance, 0.0))


@one_thread
def critical(
    covariance: Floats,
    errors: Floats,
    *,
    df: int | None = None,
    level: float = 0.95,
    seed: int = 0,
    draws: int = DRAWS,
) -> float:
    """How many standard errors every difference is within, all at once, so often; 0 of one system.

    >>> round(critical(np.eye(2), difference_errors(np.eye(2)), draws=100_000), 1)
    2.0
    """
    n = len(covariance)
    if n < 2:
        return 0.0
    rng = np.random.default_rng(seed)
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    i, j = np.triu_indices(n, 1)
    with np.errstate(divide="ignore"):
        inverse = np.where(errors[i, j] > 0, 1 / errors[i, j], 0.0)
    largest = np.empty(draws)
    size = max(1, 2_000_000 // len(i))
    for start in range(0, draws, size):
        z = rng.standard_normal((min(size, draws - start), n)) @ root.T
        largest[start : start + len(z)] = (np.abs(z[:, i] - z[:, j]) * inverse).max(1)
    if df is not None:
        largest /= np.sqrt(rng.chisquare(df, draws) / df)
    return float(np.quantile(largest, level))
