"""A gate that looks after every item, level 95 %, at most 500 items; futility tried every ten.

*Promoted* and *kept* are shares of runs; at a true win rate of .5 both are mistakes. *Any look* is
the same without stopping for futility, the last look included: how often the evidence ever
sufficed, which is what the error rate promises of. *Fixed* is the share that Wilson's interval at
all 500 items promotes. *Saved* is 500 over the mean number of items. *Limit* is the mean number of
items that no test with this error rate can go below, log(1 / .05) over the Kullback-Leibler
divergence of win and loss, divided by the share of items that are no ties. *Held* is the share of
runs in which the lower end was below the truth at every look, and the upper above: 96 % was
promised of each, for a fifth of the error rate is kept for the test after the last item.
"""

import math
from collections.abc import Iterator

import numpy as np

from twopan.stats.sequential import Rules, Stop, log_wealth, walk
from twopan.stats.win_rate import win_rate

TITLE = "Sequential gate"
HEADS = (
    "win rate", "ties", "promoted", "kept", "any look", "items", "saved", "limit", "fixed",
    "lower held", "upper held",
)  # fmt: skip
CAP = 500
RULES, NEVER_FUTILE = Rules(cap=CAP), Rules(cap=CAP, futile=0)


def rows(runs: int, seed: int) -> Iterator[tuple[str, ...]]:
    for rate in (0.5, 0.55, 0.6, 0.7, 0.4):
        for ties in (0.0, 0.3):
            yield f"{rate:.2f}", f"{ties:.0%}", *told(runs, seed, rate, ties)


def told(runs: int, seed: int, rate: float, ties: float) -> tuple[str, ...]:
    rng = np.random.default_rng(seed)
    # A tie is half a win, so the decided items must win more often for the same rate.
    wins = rate - ties / 2
    y = rng.choice([0.0, 0.5, 1.0], p=[1 - wins - ties, ties, wins], size=(runs, CAP))
    stops = [walk(one, RULES) or Stop("inconclusive", "end", CAP) for one in y]
    decisions = [stop.decision for stop in stops]
    items = float(np.mean([stop.n for stop in stops]))
    patient = [walk(one, NEVER_FUTILE) for one in y]
    ever = np.mean([stop is not None and stop.decision == "promote" for stop in patient])
    fixed = np.mean([win_rate(one).low > 0.5 for one in y])
    # An end of the bounds passes the truth when betting against the truth has paid.
    held = [np.mean([log_wealth(one, rate).max() < RULES.goal for one in y]),
            np.mean([log_wealth(1 - one, 1 - rate).max() < RULES.goal for one in y])]  # fmt: skip
    p = wins / (1 - ties)
    divergence = p * math.log(2 * p) + (1 - p) * math.log(2 * (1 - p)) if p != 0.5 else 0.0
    limit = f"{-math.log(1 - RULES.level) / divergence / (1 - ties):.0f}" if p > 0.5 else ""
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
