"""A judge corrected by people's labels: how often the intervals hold what people would have said.

People label some items, drawn at random, and the judge scores these and many more; ``right`` is
how often it sides with people where these decide (it is worse where B is better, so that it is not
only noisy but crooked), ``ties`` how often people call a tie. *labels alone* is the interval of
:func:`twopan.stats.win_rate.win_rate` on the labels, *judge alone* on its verdicts of the rest.
``rating`` is the first of three systems' strength, each pair of systems judged on every item.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from twopan.stats.bradley_terry import NotIdentified, bradley_terry
from twopan.stats.confusion import unconfused
from twopan.stats.powered import powered, powered_ratings
from twopan.stats.resampling import student
from twopan.stats.win_rate import win_rate

TITLE = "A judge corrected by people's labels"
HEADS = (
    "labelled / others", "right", "ties", "judge alone", "labels alone", "width",
    "PPI++", "width", "confusion", "width", "refused", "rating",
)  # fmt: skip
TRUE_RATE = 0.55
STRENGTHS = np.array([0.6, 0.0, -0.6])
A, B = np.array([0, 0, 1]), np.array([1, 2, 2])


def rows(runs: int, seed: int) -> Iterator[tuple[str, ...]]:
    rng = np.random.default_rng(seed)
    for few, many in ((30, 500), (100, 1000), (400, 1000)):
        for right in (0.6, 0.75, 0.9):
            for ties in (0.0, 0.2):
                found = simulated(runs, rng, (few, many), right, ties)
                rating = f"{ratings_held(runs, rng, few, many, right):.1%}"
                yield (f"{few} / {many}", f"{right:.0%}", f"{ties:.0%}", *found, rating)


def simulated(
    runs: int, rng: np.random.Generator, items: tuple[int, int], right: float, ties: float
) -> tuple[str, ...]:
    few, many = items
    told, refused = np.full((4, runs, 2), np.nan), 0
    for run in range(runs):
        y = people(rng, few + many, ties)
        f = judge(rng, y, right)
        told[0, run] = ends(win_rate(f[few:]))
        told[1, run] = ends(win_rate(y[:few]))
        told[2, run] = ends(powered(y[:few], f[:few], f[few:]))
        try:
            told[3, run] = ends(unconfused(y[:few], f[:few], f[few:]))
        except NotIdentified:
            refused += 1
    held = [coverage(each) for each in told]
    wide = [width(each) for each in told]
    return (
        held[0], held[1], wide[1], held[2], wide[2], held[3], wide[3], f"{refused / runs:.0%}"
    )  # fmt: skip


def ends(found: object) -> tuple[float, float]:
    return found.low, found.high  # type: ignore[attr-defined]


def coverage(intervals: NDArray[np.float64]) -> str:
    there = intervals[np.isfinite(intervals[:, 0])]
    if not len(there):
        return "–"
    return f"{np.mean((there[:, 0] <= TRUE_RATE) & (there[:, 1] >= TRUE_RATE)):.1%}"


def width(intervals: NDArray[np.float64]) -> str:
    there = intervals[np.isfinite(intervals[:, 0])]
    return f"{np.mean(there[:, 1] - there[:, 0]):.3f}" if len(there) else "–"


def people(rng: np.random.Generator, m: int, ties: float) -> NDArray[np.float64]:
    win = TRUE_RATE - ties / 2
    return rng.choice([1.0, 0.5, 0.0], p=[win, ties, 1 - win - ties], size=m)


def judge(rng: np.random.Generator, y: NDArray[np.float64], right: float) -> NDArray[np.float64]:
    """Right less often where B is better, and a tie half the time where people call one."""
    chance = np.select([y == 1, y == 0], [right, right - 0.1], 0.5)
    wrong = np.where(y == 0.5, rng.choice([0.0, 1.0], size=len(y), p=[0.4, 0.6]), 1 - y)
    return np.where(rng.random(len(y)) < chance, y, wrong)


def ratings_held(runs: int, rng: np.random.Generator, few: int, many: int, right: float) -> float:
    """How often the first system's strength is within its interval; items have effects."""
    m, truth = few + many, marginal()[0]
    held = []
    for _ in range(runs):
        own = STRENGTHS + rng.normal(0, 0.7, (m, len(STRENGTHS)))
        p = 1 / (1 + np.exp(-(own[:, A] - own[:, B])))
        y = (rng.random(p.shape) < p).astype(float)
        f = judge(rng, y.ravel(), right).reshape(y.shape)
        item = np.repeat(np.arange(m), len(A))
        a, b = np.tile(A, m), np.tile(B, m)
        cut = few * len(A)
        try:
            found = powered_ratings(
                (a[:cut], b[:cut], y.ravel()[:cut], f.ravel()[:cut]),
                (a[cut:], b[cut:], f.ravel()[cut:]),
                n=len(STRENGTHS), cluster=item[:cut], unlabelled_cluster=item[cut:],
            ).ratings  # fmt: skip
        except NotIdentified:
            continue
        reach = student(0.95, few - 1) * np.sqrt(found.covariance[0, 0])
        held.append(abs(found.theta[0] - truth) <= reach)
    return float(np.mean(held))


def marginal(draws: int = 400_000) -> NDArray[np.float64]:
    """The strengths that fit the mean outcome of infinitely many items."""
    rng = np.random.default_rng(0)
    own = STRENGTHS + rng.normal(0, 0.7, (draws, len(STRENGTHS)))
    p = (1 / (1 + np.exp(-(own[:, A] - own[:, B])))).mean(0)
    return bradley_terry(A, B, p, n=3).theta
