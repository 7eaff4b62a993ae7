r"""Logistic regression on scores between 0 and 1, plain or with an L1 penalty.

The model is :math:`P(\text{win}) = \sigma(x^\top \beta)`. A score of ½ counts as half a win and
half a loss, so one minimises, with weights :math:`w_k`,

.. math:: C \sum_k w_k \bigl[\log(1 + e^{x_k^\top \beta}) - y_k x_k^\top \beta\bigr]
          + \lVert \beta \rVert_1,

or the sum alone without a penalty. Of the scores only :math:`\sum_k w_k y_k x_k` matters, which is
why rows whose scores are known in sum alone can take part. Newton's method, which with the penalty
solves each step by coordinate descent (Friedman, Hastie and Tibshirani 2010, section 3).

References
----------
Papke and Wooldridge (1996), Econometric methods for fractional response variables. Journal of
Applied Econometrics 11.
Friedman, Hastie and Tibshirani (2010), Regularization paths for generalized linear models via
coordinate descent. Journal of Statistical Software 33.
"""

import numpy as np

from twopan.stats.columns import Floats, Ints, sum_by
from twopan.stats.resampling import Undefined

STEPS, SMALL = 60, 1e-10


class Separated(ValueError):
    """Something tells wins from losses without error, so that its effect is endless."""


def logistic(
    x: Floats,
    y: Floats,
    *,
    weight: Floats | None = None,
    group: Ints | None = None,
    groups: int = 0,
) -> tuple[Floats, Floats, Floats]:
    """Coefficients, their covariance, and the influence of each group on them.

    ``x`` has shape (m, p), ``y`` and ``weight`` (m,); ``group`` numbers the cluster of each row
    from 0, each row its own by default. The influences, shape (groups, p), are one step of Newton
    from leaving the group out, turned; the covariance is their sum of squares times G / (G - 1),
    the clustered sandwich. Raises Separated, and Undefined where covariates are collinear.
    """
    weight = np.ones(len(y)) if weight is None else weight
    beta = np.zeros(x.shape[1])
    for number in range(STEPS):
        p = (1 + np.tanh(x @ beta / 2)) / 2
        information = (x * (weight * p * (1 - p))[:, None]).T @ x
        condition = np.linalg.cond(information)
        if not number and not condition < 1e10:
            raise Undefined("the covariates say the same as each other, or hardly differ")
        if not condition < 1e13:
            break
        bread = np.linalg.inv(information)
        step = bread @ (x.T @ (weight * (y - p)))
        if np.abs(step).max() < SMALL:
            scores = x * (weight * (y - p))[:, None]
            if group is not None:
                scores = sum_by(group, groups, scores)
            u = scores @ bread
            g = len(u)
            return beta, np.asarray(u.T @ u * g / max(g - 1, 1)), np.asarray(u)
        beta = beta + step / max(1.0, np.abs(step).max() / 2)
    raise Separated("a covariate tells wins from losses without error, so its effect is endless")


def lasso(
    x: Floats, told: Floats, weight: Floats, *, c: float, start: Floats | None = None
) -> Floats:
    """The coefficients with an L1 penalty, shape (p,).

    ``told`` is the sum of weight, score and row of x, shape (p,); ``c`` is C.
    """
    beta = np.zeros(x.shape[1]) if start is None else start.copy()
    size = len(beta)

    def loss(b: Floats) -> float:
        eta = x @ b
        return float(c * ((weight * np.logaddexp(0, eta)).sum() - told @ b) + np.abs(b).sum())

    now = loss(beta)
    for _ in range(STEPS):
        p = (1 + np.tanh(x @ beta / 2)) / 2
        gradient = c * (x.T @ (weight * p) - told)
        curvature = c * (x * (weight * p * (1 - p))[:, None]).T @ x
        curvature[np.diag_indices(size)] += 1e-10
        new = beta.copy()
        for _ in range(200):
            before = new.copy()
            for k in range(size):
                slope = gradient[k] + curvature[k] @ (new - beta) - curvature[k, k] * new[k]
                new[k] = -np.sign(slope) * max(abs(slope) - 1, 0) / curvature[k, k]
            if np.abs(new - before).max() < SMALL / 10:
                break
        step, share = new - beta, 1.0
        while share > 1e-6 and loss(beta + share * step) > now + 1e-12 * abs(now):
            share /= 2
        beta = beta + share * step
        now = loss(beta)
        if np.abs(step).max() < SMALL * 10:
            break
    return beta
