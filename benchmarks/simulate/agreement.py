"""Coefficients of agreement, and correlations: how often their intervals hold the truth.

Raters see a quality that items have (normal) and err on their own (*error*, its standard
deviation); they say which of three levels it is in, low, middle or high, cut so that these are even
or so that *skewed* ones are mostly high. Kappa and percent agreement are of two raters, the others
of three; the intraclass correlation and Pearson's r are of what they saw, before it was cut.
Kendall's tau-b and Spearman's rho are of levels, which tie a lot. The truth is what 200,000 items
give. 95 % intervals; cells are shares of runs.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np

from twopan.stats.agreement import cohen_kappa, fleiss_kappa, gwet_ac1, percent_agreement
from twopan.stats.correlation import correlation
from twopan.stats.reliability import intraclass_correlation, krippendorff_alpha
from twopan.stats.resampling import Estimate, Undefined

TITLE = "Agreement and correlation"
MANY = 200_000
FEW = 4000
"""Of Kendall's tau, which takes time as their square, and of alpha on ranks."""


def of_two(function: Callable[..., Any], levels: np.ndarray, _: np.ndarray) -> Estimate:
    found = function(levels[:, 0], levels[:, 1])
    return getattr(found, "coefficient", found)


def of_all(function: Callable[..., Any], levels: np.ndarray, _: np.ndarray) -> Estimate:
    found = function(levels)
    return getattr(found, "coefficient", found)


def of_seen(function: Callable[..., Any], _: np.ndarray, seen: np.ndarray) -> Estimate:
    return function(seen)


def pearson(seen: np.ndarray) -> Estimate:
    return correlation(seen[:, 0], seen[:, 1], "pearson")


COEFFICIENTS: dict[str, Callable[[np.ndarray, np.ndarray], Estimate]] = {
    "percent": partial(of_two, percent_agreement),
    "kappa": partial(of_two, cohen_kappa),
    "weighted kappa": partial(of_two, partial(cohen_kappa, weights="quadratic")),
    "Fleiss": partial(of_all, fleiss_kappa),
    "AC1": partial(of_all, gwet_ac1),
    "alpha": partial(of_all, krippendorff_alpha),
    "alpha, ordinal": partial(of_all, partial(krippendorff_alpha, metric="ordinal")),
    "alpha, interval": partial(of_all, partial(krippendorff_alpha, metric="interval")),
    "ICC(2,1)": partial(of_seen, partial(intraclass_correlation, kind="ICC(2,1)")),
    "ICC(3,1)": partial(of_seen, partial(intraclass_correlation, kind="ICC(3,1)")),
    "r": partial(of_seen, pearson),
    "rho": partial(of_two, partial(correlation, method="spearman")),
    "tau-b": partial(of_two, partial(correlation, method="kendall")),
}
HEADS = ("items", "error", "levels", *COEFFICIENTS)


def rows(runs: int, seed: int) -> Iterator[tuple[str, ...]]:
    rng = np.random.default_rng(seed)
    for items in (30, 100, 300):
        for error in (0.5, 1.0):
            for skewed in (False, True):
                yield (
                    str(items), f"{error}", "skewed" if skewed else "even",
                    *simulated(rng, runs, items, error=error, skewed=skewed),
                )  # fmt: skip


def simulated(
    rng: np.random.Generator, runs: int, items: int, *, error: float, skewed: bool
) -> Iterator[str]:
    truth = {}
    levels, seen = drawn(rng, MANY, error, skewed)
    for name, of in COEFFICIENTS.items():
        some = slice(FEW) if name in ("tau-b", "alpha, ordinal") else slice(None)
        truth[name] = of(levels[some], seen[some]).estimate
    held: dict[str, list[bool]] = {name: [] for name in COEFFICIENTS}
    for _ in range(runs):
        levels, seen = drawn(rng, items, error, skewed)
        for name, of in COEFFICIENTS.items():
            with suppress(Undefined):
                found = of(levels, seen)
                held[name].append(found.low <= truth[name] <= found.high)
    return (f"{np.mean(each):.1%}" for each in held.values())


def drawn(
    rng: np.random.Generator, items: int, error: float, skewed: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Levels and what was seen, shape (items, 3)."""
    seen = rng.normal(size=(items, 1)) + error * rng.normal(size=(items, 3))
    ends = (-0.45, 0.45) if not skewed else (-1.6, -0.9)
    return np.digitize(seen / np.sqrt(1 + error**2), ends).astype(float), seen
