r"""Ratings refitted to items drawn again: a check on the sandwich, and a picture of what may move.

Items are drawn with replacement, as many as there are, and all games of an item come with it. The
ratings are fitted anew each time, from the counts, starting where the data's own are. A draw in
which some system is unbeaten has no ratings: such draws are counted and said, and not left out in
silence, for without them an interval is too narrow.

References
----------
Efron and Tibshirani (1993), An introduction to the bootstrap, chapter 8. Field and Welsh (2007),
Bootstrapping clustered data. JRSS B 69.
"""

from dataclasses import dataclass

import numpy as np

from twopan.stats.battles import Battles
from twopan.stats.bradley_terry import NotIdentified, fit
from twopan.stats.columns import Floats, Ints
from twopan.stats.threads import one_thread

BATCH, STEPS, SMALL = 32, 30, 1e-9


@dataclass(frozen=True, slots=True)
class Bootstrap:
    theta: Floats
    """Shape (draws that have ratings, n); each row sums to zero."""
    draws: int
    """How many were drawn."""

    @property
    def failed(self) -> int:
        """Draws without ratings, because some system went unbeaten in them."""
        return self.draws - len(self.theta)

    def interval(self, i: int, j: int, level: float = 0.95) -> tuple[float, float] | None:
        """Of the difference of two strengths; None where too many draws failed to tell its ends.

        A failed draw may lie beyond either end, so it is put there.
        """
        tail = (1 - level) / 2 - self.failed / self.draws
        if tail <= 0:
            return None
        low, high = np.quantile(self.theta[:, i] - self.theta[:, j], (tail, 1 - tail))
        return float(low), float(high)


def bootstrap(battles: Battles, *, draws: int = 1000, seed: int = 0) -> Bootstrap:
    """Refit ratings, ties as half a win, to items drawn with replacement.

    Raises NotIdentified where the data themselves have no ratings.

    Examples
    --------
    One loss in ten games is not in a third of all draws:

    >>> from twopan.stats.battles import count
    >>> found = bootstrap(count([0] * 10, [1] * 10, [1] * 9 + [0], n=2), draws=300)
    >>> 0.25 < found.failed / found.draws < 0.45, found.interval(0, 1)
    (True, None)
    """
    from scipy.sparse import csr_array

    start = fit(battles, robust=False).theta
    rng = np.random.default_rng(seed)
    kind, often = _kinds(battles)
    shape = (battles.pairs, len(often))
    score, games = (
        csr_array((cells, (battles.pair, kind)), shape=shape)
        for cells in (battles.score, battles.games)
    )
    # Cells of one kind are added up here: a draw of one of its items has their mean.
    drawn_as = often / often.sum()
    found = []
    for done in range(0, draws, BATCH):
        again = (
            rng.multinomial(battles.items, drawn_as, size=min(BATCH, draws - done)).T
            / (often[:, None])
        )
        found.append(_refit(battles, (score @ again).T, (games @ again).T, start))
    return Bootstrap(np.concatenate(found), draws)


def _kinds(battles: Battles) -> tuple[Ints, Floats]:
    """The kind of item that each cell is of, and how many items there are of a kind.

    An item with games of several pairs is a kind of its own. Those with one pair are alike where it
    is the same pair with the same result, so that to draw them is to draw how often each result
    comes: a thousand results in place of a million games.
    """
    alone = np.bincount(battles.item, minlength=battles.items)[battles.item] == 1
    results, result = np.unique((battles.games + 1j * battles.score)[alone], return_inverse=True)
    alike = battles.pair[alone] * len(results) + result
    _, alike, many = np.unique(alike, return_inverse=True, return_counts=True)
    _, own = np.unique(battles.item[~alone], return_inverse=True)
    kind = np.empty(len(battles.pair), dtype=np.int64)
    kind[alone], kind[~alone] = alike, len(many) + own
    return kind, np.concatenate([many, np.ones(own.max(initial=-1) + 1)]).astype(float)


@one_thread
def _refit(battles: Battles, score: Floats, games: Floats, start: Floats) -> Floats:
    """The ratings of each draw that has some, from points and games, shape (draws, pairs)."""
    n, i, j = battles.n, battles.i, battles.j
    theta = np.tile(start, (len(score), 1))
    moving, reached = np.arange(len(score)), np.zeros(len(score), dtype=bool)
    constants = np.full((n, n), 1 / n)
    to_system = np.zeros((battles.pairs, n))
    to_system[np.arange(battles.pairs), i], to_system[np.arange(battles.pairs), j] = 1, -1
    for _ in range(STEPS):
        at = theta[moving]
        p = (1 + np.tanh((at[:, i] - at[:, j]) / 2)) / 2
        gradient = (score[moving] - games[moving] * p) @ to_system
        w = games[moving] * p * (1 - p)
        H = np.zeros((len(moving), n, n))
        H[:, i, j] = H[:, j, i] = -w
        own = -H.sum(2)
        H[:, np.arange(n), np.arange(n)] = own
        H += constants * own.mean(1)[:, None, None]
        try:
            step = np.linalg.solve(H, gradient[..., None])[..., 0]
        except np.linalg.LinAlgError:  # one of them is endless: nothing stops the others
            step = np.stack([_step(*one) for one in zip(H, gradient, strict=True)])
        reach = np.abs(step).max(1)
        theta[moving] = at + step / np.maximum(1, reach / 2)[:, None]
        reached[moving] = reach < SMALL
        moving = moving[(reach >= SMALL) & np.isfinite(reach) & (np.abs(theta[moving]).max(1) < 50)]
        if not len(moving):
            break
    return theta[reached]


def _step(information: Floats, gradient: Floats) -> Floats:
    try:
        return np.asarray(np.linalg.solve(information, gradient))
    except np.linalg.LinAlgError:
        return np.full_like(gradient, np.inf)


__all__ = ["Bootstrap", "NotIdentified", "bootstrap"]
