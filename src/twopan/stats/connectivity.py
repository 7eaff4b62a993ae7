"""What a set of games can tell at all: who can be compared with whom.

Systems that never met, not even by way of others, have no common scale. Of systems that met, a
group that never lost a point to the rest has no finite rating: any large number fits as well as
any other (Ford 1957). So systems fall into *groups*, within which every system can be reached from
every other along games in which a point was scored; ratings exist within a group. Groups that met
are ordered, the one that took all the points first.

References
----------
Ford (1957), Solution of a ranking problem from binary comparisons. Am. Math. Monthly 64.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from twopan.stats.battles import Battles
from twopan.stats.columns import Ints


@dataclass(frozen=True, slots=True)
class Groups:
    member: Ints
    """Shape (n,), the group of each system; a group comes before those it is above."""
    size: int
    """How many groups."""
    above: NDArray[np.bool_]
    """Shape (size, size): whether one group took every point from another, or from one that did."""
    island: Ints
    """Shape (n,), which systems met, by way of others or directly: systems of one island."""

    @property
    def islands(self) -> int:
        return int(self.island.max()) + 1


def connectivity(battles: Battles) -> Groups:
    """Who can be compared with whom.

    Examples
    --------
    0 and 1 beat each other, and both beat 2; nobody met 3:

    >>> from twopan.stats.battles import count
    >>> found = connectivity(count([0, 1, 0, 1], [1, 0, 2, 2], [1, 1, 1, 1], n=4))
    >>> found.member.tolist(), found.island.tolist()
    ([0, 0, 1, 2], [0, 0, 0, 1])
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n = battles.n
    score, games = battles.by_pair(battles.score), battles.by_pair(battles.games)
    took, gave = score > 0, score < games
    points = coo_array(
        (
            np.ones(took.sum() + gave.sum()),
            (
                np.concatenate([battles.i[took], battles.j[gave]]),
                np.concatenate([battles.j[took], battles.i[gave]]),
            ),
        ),
        shape=(n, n),
    ).tocsr()
    _, island = connected_components(points, directed=False)
    size, strong = connected_components(points, directed=True, connection="strong")
    above = np.zeros((size, size), dtype=bool)
    rows, columns = points.nonzero()
    above[strong[rows], strong[columns]] = True
    for _ in range(size.bit_length()):
        above |= above @ above
    np.fill_diagonal(above, False)
    # Islands stay together, in the order of their first system; within, those above come first.
    first = np.array([np.argmax(strong == g) for g in range(size)])
    order = sorted(range(size), key=lambda g: (island[first[g]], above[:, g].sum(), first[g]))
    number = np.empty(size, dtype=np.int64)
    number[order] = np.arange(size)
    return Groups(number[strong], size, above[np.ix_(order, order)], island.astype(np.int64))
