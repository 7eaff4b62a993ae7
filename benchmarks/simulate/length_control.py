"""The win rate at equal lengths, and the effect of length: how often their intervals hold.

A's responses are longer by a normal amount, in the mean by so many of its standard deviations; a
win has log-odds quality + effect · x. *Looks* are repeats on the same items, which agree more than
chance; the item is the cluster. *Soft* scores are probabilities instead of wins. The truth is what
the same model gives for very many items. 95 % intervals.
"""

from collections.abc import Iterator

import numpy as np

from twopan.stats.length_control import length_controlled
from twopan.stats.logistic import Separated

TITLE = "Length control"
HEADS = ("items", "looks", "effect", "longer by", "scores", "rate held", "effect held", "raw held",
         "failed")  # fmt: skip


def rows(runs: int, seed: int) -> Iterator[tuple[str, ...]]:
    for items, looks, effect, by, soft in (
        (50, 1, 0.0, 0.0, False), (100, 1, 0.0, 1.0, False), (100, 1, 1.5, 0.5, False),
        (400, 1, 1.5, 1.0, False), (100, 3, 1.0, 0.5, False), (150, 1, 1.0, 0.5, True),
    ):  # fmt: skip
        told = simulated(runs, seed, items=items, looks=looks, effect=effect, by=by, soft=soft)
        named = (str(items), str(looks), f"{effect:g}", f"{by:g} sd", "soft" if soft else "wins")
        yield (*named, *(f"{share:.1%}" for share in told))


def drawn(rng, *, items, looks, effect, by, soft):
    """(score, longer by, item): A is .4 better in log-odds, and items differ (sd .8)."""
    longer = rng.normal(by, 1, items)
    eta = 0.4 + effect * np.tanh(longer / 1.0) + 0.8 * rng.normal(size=items)
    p = 1 / (1 + np.exp(-np.repeat(eta, looks)))
    y = p if soft else (rng.random(items * looks) < p).astype(float)
    return y, np.repeat(longer, looks), np.repeat(np.arange(items), looks)


def simulated(runs, seed, **design):
    rng = np.random.default_rng(seed)
    y, longer, _ = drawn(rng, **{**design, "items": 400_000, "looks": 1})
    truth = length_controlled(y, longer, np.zeros_like(longer))
    found = []
    for _ in range(runs):
        y, longer, item = drawn(rng, **design)
        try:
            one = length_controlled(y, longer, np.zeros_like(longer), cluster=item)
        except Separated:
            continue
        effect = truth.effect.estimate
        found.append(
            (
                one.low <= truth.estimate <= one.high,
                one.effect.low <= effect <= one.effect.high,
                one.raw.low <= truth.raw.estimate <= one.raw.high,
            )
        )
    return (*np.mean(found, 0), 1 - len(found) / runs)
