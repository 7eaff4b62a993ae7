"""Intervals of a win rate, one score an item: how often they hold the true rate.

Each run draws items that are won, lost or tied; a tie counts half. Intervals are to hold the truth
in 95 % of runs.
"""

from collections.abc import Iterator

import numpy as np

from twopan.stats.win_rate import win_rate

TITLE = "Win rate"
HEADS = ("true rate", "ties", "items", "coverage", "mean width")


def rows(runs: int, seed: int) -> Iterator[tuple[str, ...]]:
    rng = np.random.default_rng(seed)
    for rate in (0.5, 0.6, 0.8):
        for ties in (0.0, 0.3):
            for items in (30, 100, 400):
                chances = [(1 - ties) * (1 - rate), ties, (1 - ties) * rate]
                truth = chances[2] + ties / 2
                drawn = rng.choice((0.0, 0.5, 1.0), p=chances, size=(runs, items))
                found = [win_rate(y) for y in drawn]
                held = np.mean([e.low <= truth <= e.high for e in found])
                width = np.mean([e.high - e.low for e in found])
                yield f"{truth:.3f}", f"{ties:.0%}", str(items), f"{held:.1%}", f"{width:.3f}"
