"""Rows of comparisons, counted once: who met whom, on which item, with what result.

Bradley-Terry, Elo's cousins and their intervals need no rows. They need, for every pair of
systems, how many games there were and how they ended; and for an interval that takes account of
items, the same for every pair *and* item, for what was said on one item is not independent. These
counts are made here in one sort of whole numbers, and everything after works on them: a fit costs
as much for a million games as for a thousand.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from twopan.stats.columns import Floats, Ints, groups, numbers
from twopan.stats.win_rate import NoData


@dataclass(frozen=True, slots=True)
class Battles:
    """Counts by pair of systems, and by pair and item: a *cell*."""

    n: int
    """Systems, numbered from 0."""
    items: int
    i: Ints
    """Shape (pairs,), the lower number of each pair of systems that met; in order."""
    j: Ints
    """Shape (pairs,), the higher."""
    pair: Ints
    """Shape (cells,), which pair; in order."""
    item: Ints
    """Shape (cells,), which item."""
    games: Floats
    """Shape (cells,), how many games, or their weight."""
    score: Floats
    """Shape (cells,), what i scored in them: wins and half the ties."""
    square: Floats
    """Shape (cells,), the sum of squares of the scores of single games."""
    ties: Floats
    """Shape (cells,), how many ended even."""

    @property
    def pairs(self) -> int:
        return len(self.i)

    def by_pair(self, cells: Floats) -> Floats:
        """Add up over items: shape (cells,) becomes (pairs,)."""
        return np.asarray(np.bincount(self.pair, weights=cells, minlength=self.pairs), float)

    def by_system(self, first: Floats, second: Floats) -> Floats:
        """Add up what pairs give to i and to j: shapes (pairs,) become (n,)."""
        to_i = np.bincount(self.i, weights=first, minlength=self.n)
        return np.asarray(to_i + np.bincount(self.j, weights=second, minlength=self.n), float)

    def among(self, systems: Ints) -> "Battles":
        """Only the games between these systems, which are numbered anew in the order given."""
        number = np.full(self.n, -1)
        number[systems] = np.arange(len(systems))
        i, j = number[self.i], number[self.j]
        held = (i >= 0) & (j >= 0)
        new = np.cumsum(held) - 1
        cells = held[self.pair]
        turn = (i > j)[self.pair][cells]
        games, score = self.games[cells], self.score[cells]
        square = self.square[cells]
        # (1 - y)² summed is m - 2 Σy + Σy².
        score, square = (
            np.where(turn, games - score, score),
            np.where(turn, games - 2 * score + square, square),
        )
        return replace(
            self,
            n=len(systems),
            i=np.minimum(i, j)[held],
            j=np.maximum(i, j)[held],
            pair=new[self.pair[cells]],
            item=self.item[cells],
            games=games,
            score=score,
            square=square,
            ties=self.ties[cells],
        )


def count(
    a: ArrayLike, b: ArrayLike, y: ArrayLike, *, n: int, cluster: ArrayLike | None = None
) -> Battles:
    """Count comparisons.

    Parameters
    ----------
    a, b : int, shape (m,)
        The two systems of each comparison, numbered from 0 to n - 1.
    y : float, shape (m,)
        The score of ``a``: 1 for a win, ½ for a tie, 0 for a loss, or anything between.
    cluster : shape (m,), optional
        Which comparisons belong together, usually the item. Each its own by default.

    Raises
    ------
    NoData
        If there is no comparison.
    ValueError
        If a system is not numbered from 0 to n - 1 or meets itself, or a score is not in [0, 1].

    Examples
    --------
    Two games on one item, of which the higher-numbered system won one and tied the other:

    >>> found = count([0, 1], [1, 0], [0, 0.5], n=2, cluster=["q", "q"])
    >>> found.games.tolist(), found.score.tolist(), found.ties.tolist()
    ([2.0], [0.5], [1.0])
    """
    a, b, y = checked(a, b, y, n)
    return counted(a, b, y, n, groups(cluster, len(y)))


def counted(a: Ints, b: Ints, y: Floats, n: int, clusters: tuple[Ints, int]) -> Battles:
    """The same of columns that were checked; ``clusters`` are numbers, and how many there are."""
    item, items = clusters
    twice = (2 * y).astype(np.int64)
    if not (twice == 2 * y).all() or items * n * n >= 2**60:
        swap = a > b
        y = np.where(swap, 1 - y, y)
        cell = (np.where(swap, b, a) * n + np.where(swap, a, b)) * items + item
        cells, of = np.unique(cell, return_inverse=True)
        games, score, square, ties = (
            np.asarray(np.bincount(of, weights=w, minlength=len(cells)), float)
            for w in (np.ones(len(y)), y, y * y, (y == 0.5).astype(float))
        )
    else:
        if 3 * n * n * items <= 4 * len(y) + FEW:
            cells, losses, ties, wins = _tabled(a * n + b, item, twice, (n, items))
        else:
            swap = a > b
            cell = (np.where(swap, b, a) * n + np.where(swap, a, b)) * items + item
            cells, losses, ties, wins = _packed(cell, np.where(swap, 2 - twice, twice))
        games, score, square = losses + ties + wins, wins + ties / 2, wins + ties / 4
    keys, pair = np.unique(cells // items, return_inverse=True)
    return Battles(n, items, keys // n, keys % n, pair, cells % items, games, score, square, ties)


FEW = 100_000
"""Numbers of a table that is made however few games there are."""


def _tabled(
    pair: Ints, item: Ints, twice: Ints, shape: tuple[int, int]
) -> tuple[Ints, Floats, Floats, Floats]:
    """Losses, ties and wins of each cell, counted in a table of all there could be."""
    n, items = shape
    table = np.bincount((pair * items + item) * 3 + twice, minlength=3 * n * n * items)
    table = table.reshape(n, n, items, 3)
    both = table + table.transpose(1, 0, 2, 3)[..., ::-1]
    both[np.tril_indices(n)] = 0
    counts = both.reshape(-1, 3)
    cells = np.flatnonzero(counts.any(1))
    losses, ties, wins = counts[cells].T.astype(float)
    return cells, losses, ties, wins


def _packed(cell: Ints, twice: Ints) -> tuple[Ints, Floats, Floats, Floats]:
    """Losses, ties and wins, counted by sorting whole numbers that hold cell and result."""
    key = np.sort(cell * 4 + twice)
    first = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]]))
    often = np.diff(np.append(first, len(key))).astype(float)
    cell, result = key[first] >> 2, key[first] & 3
    start = np.flatnonzero(np.concatenate([[True], cell[1:] != cell[:-1]]))
    losses, ties, wins = (np.add.reduceat(often * (result == kind), start) for kind in (0, 1, 2))
    return cell[start], losses, ties, wins


def checked(a: ArrayLike, b: ArrayLike, y: ArrayLike, n: int) -> tuple[Ints, Ints, Floats]:
    if not np.size(y):
        raise NoData("no comparison, so there is nothing to rate")
    first, second, scores = numbers(a=a, b=b, y=y)
    for name, systems in (("a", first), ("b", second)):
        if not ((systems >= 0) & (systems < n) & (systems == np.rint(systems))).all():
            raise ValueError(f"{name} must number systems from 0 to {n - 1}")
    if (first == second).any():
        raise ValueError(f"row {int(np.argmax(first == second))}: a system meets itself")
    if not ((scores >= 0) & (scores <= 1)).all():
        raise ValueError("scores must be numbers between 0 and 1")
    return first.astype(np.int64), second.astype(np.int64), scores
