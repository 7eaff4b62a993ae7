"""A gate that looks after every item, level 95 %, at most 500 items; futility tried every ten.

*Promoted* and *kept* are shares of runs; at a true win rate of .5 both are mistakes. *Any look* is
the same without stopping for futility: how often the evidence ever sufficed, which is what the
error rate promises of. *Fixed* is the share that Wilson's interval at all 500 items promotes.
*Saved* is 500 over the mean number of items. *Limit* is the mean number of items that no test with
this error rate can go below, log(1 / .05) over the Kullback-Leibler divergence of win and loss,
divided by the share of items that are no ties. *Bounds held* is the share of runs in which the
lower end was below the truth at every look, and the upper above: 95 % was promised of each.
"""

import math
from collections.abc import Iterator
from functools import cache

import numpy as np

from twopan.stats.sequential import FUTILE, LIKELY, chances, log_wealth
from twopan.stats.win_rate import win_rate

TITLE = "Sequential gate"
HEADS = (
    "win rate", "ties", "promoted", "kept", "any look", "items", "saved", "limit", "fixed",
    "lower held", "upper held",
)  # fmt: skip
CAP, LEVEL, EVERY = 500, 0.95, 10
GOAL = -math.log(1 - LEVEL)


def rows(runs: int, seed: int) -> Iterator[tuple[str, ...]]:
    for rate in (0.5, 0.55, 0.6, 0.7, 0.4):
        for ties in (0.0, 0.3):
            yield f"{rate:.2f}", f"{ties:.0%}", *told(runs, seed, rate, ties)


def told(runs: int, seed: int, rate: float, ties: float) -> tuple[str, ...]:
    rng = np.random.default_rng(seed)
    # A tie is half a win, so the decided items must win more often for the same rate.
    wins = rate - ties / 2
    y = rng.choice([0.0, 0.5, 1.0], p=[1 - wins - ties, ties, wins], size=(runs, CAP))
    ends = [ended(one) for one in y]
    decisions = [decision for decision, _, _ in ends]
    items = float(np.mean([n for _, n, _ in ends]))
    ever = np.mean([ever for _, _, ever in ends])
    fixed = np.mean([win_rate(one).low > 0.5 for one in y])
    # An end of the bounds passes the truth when betting against the truth has paid.
    held = [np.mean([log_wealth(one, rate).max() < GOAL for one in y]),
            np.mean([log_wealth(1 - one, 1 - rate).max() < GOAL for one in y])]  # fmt: skip
    p = wins / (1 - ties)
    divergence = p * math.log(2 * p) + (1 - p) * math.log(2 * (1 - p)) if p != 0.5 else 0.0
    limit = f"{GOAL / divergence / (1 - ties):.0f}" if p > 0.5 else ""
    return (
        f"{decisions.count('promote') / runs:.3f}",
        f"{decisions.count('keep') / runs:.3f}",
        f"{ever:.3f}",
        f"{items:.0f}",
        f"{CAP / items:.1f}",
        limit,
        f"{fixed:.3f}",
        *(f"{share:.1%}" for share in held),
    )


def ended(y: np.ndarray) -> tuple[str, int, bool]:
    """What was decided, after how many items, and whether promotion was ever in reach."""
    up, down = log_wealth(y, 0.5) >= GOAL, log_wealth(1 - y, 0.5) >= GOAL
    first = {
        "promote": int(np.argmax(up)) + 1 if up.any() else CAP + 1,
        "keep": int(np.argmax(down)) + 1 if down.any() else CAP + 1,
    }
    decision = min(first, key=lambda name: first[name])
    end = first[decision]
    for n in range(EVERY, min(end, CAP), EVERY):
        good, bad = ahead(n, int((y[:n] == 1).sum()), int((y[:n] == 0.5).sum()))
        if good < FUTILE and bad <= LIKELY:
            return "inconclusive", n, bool(up.any())
    return (decision, end, bool(up.any())) if end <= CAP else ("inconclusive", CAP, False)


@cache
def ahead(n: int, wins: int, ties: int) -> tuple[float, float]:
    y = np.repeat([1.0, 0.5, 0.0], [wins, ties, n - wins - ties])
    return chances(y, 0.5, GOAL, CAP - n, 0)
