"""Intervals of differences, and statements about ranks that hold all at once.

Systems answer items; of each item some pairs are judged. Every system is better on some items than
on others (standard deviation 1 in log-odds), so games on one item are not independent. *By item*
is the clustered sandwich with t quantiles; *as if independent* takes every game to be evidence of
its own, as arena scripts do. *All differences* and *all ranks* count runs in which every one of the
simultaneous intervals and of the rank intervals held. The truth is the strength to which many items
lead. 95 % intervals.
"""

from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple

import numpy as np

from twopan.stats.battles import count
from twopan.stats.bradley_terry import NotIdentified, fit
from twopan.stats.ranks import difference_errors, ranks
from twopan.stats.resampling import student

TITLE = "Bradley-Terry"
HEADS = (
    "systems", "items", "pairs an item", "votes a pair", "ties", "by item", "as if independent",
    "all differences", "all ranks", "no ratings",
)  # fmt: skip
QUIRK = 1.0


class Design(NamedTuple):
    systems: int
    items: int
    games: int
    votes: int = 1
    tie: float = 0.0


def rows(runs: int, seed: int) -> Iterator[tuple[str, ...]]:
    for design in (
        Design(4, 40, 6),
        Design(4, 150, 6, tie=0.2),
        Design(4, 100, 6, votes=5),
        Design(8, 100, 10, tie=0.2),
        Design(8, 400, 4),
    ):
        yield (*map(str, design[:4]), f"{design.tie:.0%}", *told(runs, seed, design))


def played(rng, theta, design):
    """(a, b, y, item) of games on random pairs, with quirks of systems on items."""
    n, items, games, votes, tie = design
    item = np.repeat(np.arange(items), games)
    pairs = np.array(list(combinations(range(n), 2)))
    drawn = np.argsort(rng.random((items, len(pairs))), 1)[:, :games].ravel()
    a, b = pairs[np.repeat(drawn, votes)].T
    item = np.repeat(item, votes)
    quirk = rng.normal(size=(items, n)) * QUIRK
    eta = theta[a] - theta[b] + quirk[item, a] - quirk[item, b]
    y = (rng.random(len(eta)) < 1 / (1 + np.exp(-eta))).astype(float)
    y[rng.random(len(eta)) < tie] = 0.5
    return a, b, y, item


def told(runs, seed, design):
    rng = np.random.default_rng(seed)
    n, items = design.systems, design.items
    theta = np.linspace(0.6, -0.6, n)
    truth = fit(count(*played(rng, theta, design._replace(items=200_000))[:3], n=n)).theta
    gap = truth[:, None] - truth[None, :]
    order = 1 + (gap > 0).sum(0)
    i, j = np.triu_indices(n, 1)
    held: list[tuple[float, float, bool, bool]] = []
    failed = 0
    for _ in range(runs):
        a, b, y, item = played(rng, theta, design)
        try:
            battles = count(a, b, y, n=n, cluster=item)
            found = fit(battles)
        except NotIdentified:
            failed += 1
            continue
        missed = np.abs(found.theta[:, None] - found.theta[None, :] - gap)[i, j]
        errors = difference_errors(found.covariance)[i, j]
        plain = difference_errors(fit(battles, robust=False).covariance)[i, j]
        ranked = ranks(found.theta, found.covariance, df=items - 1, draws=1000)
        held.append(
            (
                (missed <= student(0.95, items - 1) * errors).mean(),
                (missed <= 1.96 * plain).mean(),
                (missed <= ranked.critical * errors).all(),
                ((ranked.low <= order) & (order <= ranked.high)).all(),
            )
        )
    return (*(f"{share:.1%}" for share in np.mean(held, 0)), f"{failed / runs:.1%}")
