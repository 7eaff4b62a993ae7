r"""Calibration: whether what is held to be likely by 70 % happens 70 times in a hundred.

With :math:`f_i` the probability given to an event and :math:`y_i` what became of it (1 happened,
0 did not, ½ a tie), Brier's score is the mean of :math:`(f_i - y_i)^2`. In bins :math:`b` of
:math:`n_b` items with means :math:`f_b` and :math:`y_b` it is exactly

.. math:: \underbrace{\sum_b \tfrac{n_b}{n} (f_b - y_b)^2}_\text{reliability}
        - \underbrace{\sum_b \tfrac{n_b}{n} (y_b - \bar y)^2}_\text{resolution}
        + \underbrace{\tfrac{1}{n} \sum_i (y_i - \bar y)^2}_\text{uncertainty}
        + \underbrace{\tfrac{1}{n} \sum_i d_i (d_i - 2 (y_i - y_b))}_\text{within bins}

with :math:`d_i = f_i - f_b`: how wrong the probabilities are, how far they tell cases apart, how
hard the cases are, and what the bins hide. The expected calibration error is
:math:`\sum_b \frac{n_b}{n} |f_b - y_b|`. It is above 0 even for perfect probabilities, the more
so the fewer the items: by about :math:`\sum_b \frac{n_b}{n} \sqrt{2 s_b^2 / \pi n_b}`, with
:math:`s_b^2` the mean of :math:`f_i (1 - f_i)`, which is reported beside it.

References
----------
Brier (1950), Verification of forecasts expressed in terms of probability. Mon. Weather Rev. 78.
Murphy (1973), A new vector partition of the probability score. J. Appl. Meteorology 12.
Stephenson, Coelho and Jolliffe (2008), Two extra components in the Brier score decomposition.
Weather and Forecasting 23.
Naeini, Cooper and Hauskrecht (2015), Obtaining well calibrated probabilities using Bayesian
binning. AAAI.
Bröcker and Smith (2007), Increasing the reliability of reliability diagrams. Weather and
Forecasting 22.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from twopan.stats.columns import Floats, groups, numbers, sum_by
from twopan.stats.resampling import (
    Estimate,
    Undefined,
    mean,
    require_several,
    standard_error,
    student,
)


@dataclass(frozen=True, slots=True)
class Bin:
    low: float
    high: float
    """The bin holds probabilities from ``low`` up to but not including ``high``; the last, all."""
    n: int
    probability: float
    """The mean of what was given."""
    rate: Estimate
    """How often it happened, with Wilson's interval."""


@dataclass(frozen=True, slots=True)
class Calibration:
    bins: tuple[Bin, ...]
    """From low to high; those with no item are left out."""
    ece: float
    """Expected calibration error, from 0 to 1."""
    ece_by_chance: float
    """What it would be about, were the probabilities perfect."""
    brier: Estimate
    reliability: float
    resolution: float
    uncertainty: float
    within_bins: float


def calibration(
    f: ArrayLike,
    y: ArrayLike,
    *,
    bins: int = 10,
    equal: Literal["mass", "width"] = "mass",
    cluster: ArrayLike | None = None,
    level: float = 0.95,
) -> Calibration:
    """Hold probabilities against what happened.

    Parameters
    ----------
    f : float, shape (m,)
        Probabilities.
    y : float, shape (m,)
        1 where it happened, 0 where not, ½ for a tie, or anything between.
    bins : int
        How many at most. Equal probabilities are never parted, so there may be fewer.
    equal
        Bins of as many items each, or of the same width.
    cluster : shape (m,), optional
        Which rows belong together, usually the item. Each its own by default.

    Examples
    --------
    Held to be 80 % likely, four times, and it happened three times:

    >>> found = calibration([0.8, 0.8, 0.8, 0.8], [1, 1, 1, 0])
    >>> round(found.ece, 3), round(found.brier.estimate, 3)
    (0.05, 0.19)
    """
    f, y = probabilities(f, y)
    group, _ = groups(cluster, len(f))
    edges = bin_edges(f, bins, equal)
    member = np.searchsorted(edges[1:-1], f, side="right")
    n = sum_by(member, len(edges) - 1, np.ones(len(f)))
    filled = n > 0
    means = sum_by(member, len(n), np.column_stack([f, y, f * (1 - f)]))[filled]
    means, share = means / n[filled, None], n[filled] / len(f)
    f_b, y_b, variance = means.T

    of = (np.cumsum(filled) - 1)[member]
    d = f - f_b[of]
    return Calibration(
        bins=tuple(
            Bin(
                low=float(edges[k]),
                high=float(edges[k + 1]),
                n=int(n[k]),
                probability=float(f[member == k].mean()),
                rate=mean(y[member == k], cluster=group[member == k], level=level),
            )
            for k in np.flatnonzero(filled)
        ),
        ece=float(share @ np.abs(f_b - y_b)),
        ece_by_chance=float(share @ np.sqrt(2 * variance / (math.pi * n[filled]))),
        brier=brier_score(f, y, cluster=group, level=level),
        reliability=float(share @ (f_b - y_b) ** 2),
        resolution=float(share @ (y_b - y.mean()) ** 2),
        uncertainty=float(y.var()),
        within_bins=float((d * (d - 2 * (y - y_b[of]))).mean()),
    )


def bin_edges(f: Floats, bins: int, equal: Literal["mass", "width"]) -> Floats:
    """From 0 to 1, shape (bins + 1,) or fewer where many probabilities are the same."""
    if bins < 1:
        raise ValueError("bins must be 1 or more")
    parts = np.linspace(0, 1, bins + 1)
    if equal == "width":
        return parts
    inner = np.quantile(f, parts[1:-1], method="inverted_cdf")
    # A cut lies above the value it is made at, and so between two values that occur.
    values = np.unique(f)
    above = np.searchsorted(values, inner, side="right")
    cuts = [(values[k - 1] + values[k]) / 2 for k in np.unique(above) if k < len(values)]
    return np.array([0.0, *cuts, 1.0])


def brier_score(
    f: ArrayLike, y: ArrayLike, *, cluster: ArrayLike | None = None, level: float = 0.95
) -> Estimate:
    """The mean squared error of probabilities: 0 is best, 0.25 what always saying ½ gets."""
    f, y = probabilities(f, y)
    return mean((f - y) ** 2, cluster=cluster, level=level)


def log_loss(
    f: ArrayLike,
    y: ArrayLike,
    *,
    clip: float | None = None,
    cluster: ArrayLike | None = None,
    level: float = 0.95,
) -> Estimate:
    """The mean of -y ln f - (1 - y) ln (1 - f), in nats; ln 2 is what always saying ½ gets.

    Parameters
    ----------
    clip : float, optional
        Take probabilities to be at least this far from 0 and 1. It decides what being certain
        and wrong costs, so it has no default.

    Raises
    ------
    Undefined
        If something certain did not happen and there is no ``clip``: the loss is infinite. Or if
        there is a single cluster.
    """
    f, y = probabilities(f, y)
    if clip is not None:
        if not 0 < clip < 0.5:
            raise ValueError("clip must be above 0 and below 0.5")
        f = np.clip(f, clip, 1 - clip)
    wrong = ((f == 0) & (y > 0)) | ((f == 1) & (y < 1))
    if wrong.any():
        at = int(np.argmax(wrong))
        raise Undefined(
            f"f[{at}] is {f[at]:g} and y[{at}] is {y[at]:g}: certain and wrong is an infinite "
            "loss; say with clip how much it is to cost"
        )
    with np.errstate(divide="ignore", invalid="ignore"):
        loss = -np.where(y > 0, y * np.log(f), 0) - np.where(y < 1, (1 - y) * np.log1p(-f), 0)
    group, g = groups(cluster, len(f))
    estimate = float(loss.mean())
    u = sum_by(group, g, loss - estimate) / len(loss)
    require_several(u)
    se = standard_error(u) or 0.0
    half_width = student(level, g - 1) * se
    return Estimate(estimate, max(estimate - half_width, 0), estimate + half_width, g, se, level)


def probabilities(f: ArrayLike, y: ArrayLike) -> tuple[Floats, Floats]:
    f, y = numbers(f=f, y=y)
    for name, column in (("f", f), ("y", y)):
        wrong = (column < 0) | (column > 1)
        if wrong.any():
            at = int(np.argmax(wrong))
            raise ValueError(f"{name}[{at}] is {column[at]:g}, not between 0 and 1")
    return f, y
