"""Circular triads against Bradley-Terry worlds: how often the p-value is .05 or less.

Three systems meet on 200 items, all pairs. In the first world there is an order and no circle:
alarms are false. In the others all are equal, but each does better against the next, going round,
by so much in log-odds. Circles within items are counted; 100 worlds a run, 400 runs.
"""

from collections.abc import Iterator
from itertools import combinations

import numpy as np

from twopan.stats.battles import count
from twopan.stats.bradley_terry import fit
from twopan.stats.transitivity import transitivity

TITLE = "Transitivity"
HEADS = ("circle", "alarms")
N, ITEMS = 3, 200


def rows(runs: int, seed: int) -> Iterator[tuple[str, ...]]:
    for circle in (0.0, 0.4, 0.8):
        yield f"{circle:g}", f"{alarms(min(runs, 400), seed, circle):.1%}"


def alarms(runs: int, seed: int, circle: float) -> float:
    rng = np.random.default_rng(seed)
    i, j = np.array(list(combinations(range(N), 2))).T
    a, b, item = np.tile(i, ITEMS), np.tile(j, ITEMS), np.repeat(np.arange(ITEMS), len(i))
    theta = np.linspace(0.3, -0.3, N) * (circle == 0)
    ahead = np.where((b - a) % N == 1, circle, -circle)
    alarm = 0
    for world in range(runs):
        y = (rng.random(len(a)) < 1 / (1 + np.exp(-(theta[a] - theta[b] + ahead)))).astype(float)
        battles = count(a, b, y, n=N, cluster=item)
        found = transitivity(battles, fit(battles, robust=False), worlds=100, seed=world)
        alarm += found.p_items is not None and found.p_items <= 0.05
    return alarm / runs
