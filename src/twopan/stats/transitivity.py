r"""Transitivity: is there an order at all, or does a beat b, b beat c, and c beat a?

A *triad* is three systems that all met. It is circular where each beat one of the others, tied
where some two came out even, and else transitive. Of systems the winner of two is who took more
points; on an item it is what the verdicts on that item say.

Chance makes circular triads too: where three systems are equal, one in four is. So the share is
held against what a Bradley-Terry world would show, in which an order exists and nothing else: games
are drawn again with the fitted strengths, as many for each pair, on the same items with the same
ties, and the triads counted in each drawn world. The p-value is the share of worlds with as many.

Kendall's coefficient of consistence is 1 where no triad is circular, and 0 where as many are as
can be, :math:`(n^3 - n) / 24` for odd and :math:`(n^3 - 4n) / 24` for even :math:`n`; it exists
where every two of the systems met and none came out even.

References
----------
Kendall and Babington Smith (1940), On the method of paired comparisons. Biometrika 31.
Xu, Ruan, Tsai, Rijke and Wan (2025), Investigating non-transitivity in LLM-as-a-judge.
arXiv:2502.14074.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from twopan.stats.battles import Battles
from twopan.stats.bradley_terry import Ratings
from twopan.stats.columns import Floats
from twopan.stats.leaderboard import matrices
from twopan.stats.resampling import permutation_p

MOST_CYCLES = 50


@dataclass(frozen=True, slots=True)
class Triads:
    circular: int
    transitive: int
    tied: int
    """At least two of the three came out even: not counted as either."""

    @property
    def share(self) -> float | None:
        """Of the triads that are no ties; None where there are none."""
        decided = self.circular + self.transitive
        return self.circular / decided if decided else None


@dataclass(frozen=True, slots=True)
class Transitivity:
    systems: Triads
    items: Triads
    """Added up over items."""
    cycles: tuple[tuple[int, int, int], ...]
    """Circular triads of systems, the first of each beating the second and so on; at most 50."""
    consistence: float | None
    """Kendall's, of systems; None where some did not meet or came out even."""
    expected_systems: float | None
    """The mean share in Bradley-Terry worlds of the same strengths; None without ratings."""
    expected_items: float | None
    p_systems: float | None
    p_items: float | None

    @property
    def transitive(self) -> bool:
        """No three systems go round in a circle."""
        return not self.systems.circular


def transitivity(
    battles: Battles, ratings: Ratings | None = None, *, worlds: int = 200, seed: int = 0
) -> Transitivity:
    """Look for circles among systems and on items; with ratings, against what chance makes.

    Examples
    --------
    Rock, paper and scissors:

    >>> from twopan.stats.battles import count
    >>> found = transitivity(count([0, 1, 2], [1, 2, 0], [1, 1, 1], n=3))
    >>> found.cycles, found.systems.circular, found.consistence
    (((0, 1, 2),), 1, 0.0)
    """
    scores, games = matrices(battles)
    beats, even = _beats(scores, games)
    systems, items = triads(beats, even), item_triads(battles, battles.score)
    expected: tuple[float | None, float | None] = (None, None)
    p: tuple[float | None, float | None] = (None, None)
    if ratings is not None:
        drawn = [
            _world(battles, ratings, np.random.default_rng([seed, world]))
            for world in range(worlds)
        ]
        kinds = ((systems, [s for s, _ in drawn]), (items, [i for _, i in drawn]))
        expected, p = zip(*(_against(seen, others) for seen, others in kinds), strict=True)
    met = games + np.eye(len(games)) > 0
    return Transitivity(
        systems=systems,
        items=items,
        cycles=tuple(islice(cycles(beats), MOST_CYCLES)),
        consistence=_consistence(systems, len(games)) if met.all() and not even.any() else None,
        expected_systems=expected[0],
        expected_items=expected[1],
        p_systems=p[0],
        p_items=p[1],
    )


def triads(beats: NDArray[np.bool_], even: NDArray[np.bool_]) -> Triads:
    """Count the triads of a relation, shape (n, n); ``even`` says who met and drew.

    With B the matrix of wins, trace(B³) / 3 triads are circular: a circle is walked from each of
    its three. A triad of three that all met is of one of the three kinds.
    """
    decided = beats | beats.T
    circular = round(_walks(beats[None].astype(float)) / 3)
    all_decided, all_met = (
        round(_walks(M[None].astype(float)) / 6) for M in (decided, decided | even)
    )
    return Triads(circular, all_decided - circular, all_met - all_decided)


def cycles(beats: NDArray[np.bool_]) -> Iterator[tuple[int, int, int]]:
    """Circular triads, each from its lowest number."""
    for i in range(len(beats)):
        for j in np.flatnonzero(beats[i]):
            for k in np.flatnonzero(beats[j] & beats[:, i]):
                if i < j and i < k:
                    yield i, int(j), int(k)


FEW_SYSTEMS = 30
"""With more, an item's triads are counted among the systems that met on it alone."""


def item_triads(battles: Battles, score: Floats) -> Triads:
    """The triads of each item, added up, with these points of i in each cell."""
    order = np.argsort(battles.item, kind="stable")
    item, pair = battles.item[order], battles.pair[order]
    i, j = battles.i[pair], battles.j[pair]
    lead = np.sign(score - battles.games / 2)[order]
    # Items are taken together, as many as fit: a stack of matrices, one an item.
    size = 1 if battles.n > FEW_SYSTEMS else max(1, 1_000_000 // battles.n**2)
    starts = np.searchsorted(item, np.arange(0, battles.items, size))
    total = np.zeros(3)
    for first, last in zip(starts, np.append(starts[1:], len(item)), strict=True):
        cells = slice(first, last)
        if last - first < 3:
            continue
        of, number = np.unique(item[cells], return_inverse=True)
        there, codes = np.unique(np.concatenate([i[cells], j[cells]]), return_inverse=True)
        a, b = np.split(codes, 2)
        stack = np.zeros((len(of), len(there), len(there)))
        beats, met = stack.copy(), stack
        won = lead[cells] > 0
        beats[number[won], a[won], b[won]] = 1
        won = lead[cells] < 0
        beats[number[won], b[won], a[won]] = 1
        met[number, a, b] = met[number, b, a] = 1
        decided = beats + beats.transpose(0, 2, 1)
        circular = _walks(beats) / 3
        all_decided, all_met = _walks(decided) / 6, _walks(met) / 6
        total += (circular, all_decided - circular, all_met - all_decided)
    return Triads(*(round(kind) for kind in total))


def _walks(stack: Floats) -> float:
    """Closed walks of three steps, in all matrices of a stack."""
    return float(((stack @ stack) * stack.transpose(0, 2, 1)).sum())


def _beats(scores: Floats, games: Floats) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Who took more points from whom, and who met and took as many."""
    lead = 2 * scores - games
    return lead > 1e-9, (games > 0) & (np.abs(lead) <= 1e-9)


def _world(battles: Battles, ratings: Ratings, rng: np.random.Generator) -> tuple[Triads, Triads]:
    """The triads of systems and items where there is an order and nothing else."""
    gap = ratings.theta[battles.i] - ratings.theta[battles.j]
    p = (1 / (1 + np.exp(-gap)))[battles.pair]
    decided = np.rint(battles.games - battles.ties).astype(int)
    score = rng.binomial(decided, p) + battles.ties / 2
    drawn = np.zeros((battles.n, battles.n))
    drawn[battles.i, battles.j] = battles.by_pair(score)
    games = np.zeros_like(drawn)
    games[battles.i, battles.j] = battles.by_pair(battles.games)
    games += games.T
    drawn += np.tril(games - drawn.T, -1)
    return triads(*_beats(drawn, games)), item_triads(battles, score)


def _against(seen: Triads, worlds: list[Triads]) -> tuple[float | None, float | None]:
    """The mean share in the worlds, and how many of them have as large a one."""
    if seen.share is None:
        return None, None
    shares = np.array([w.share or 0.0 for w in worlds])
    p = permutation_p(int((shares >= seen.share - 1e-12).sum()), len(shares))
    return float(shares.mean()), p


def _consistence(found: Triads, n: int) -> float | None:
    if n < 3:
        return None
    most = (n**3 - n) / 24 if n % 2 else (n**3 - 4 * n) / 24
    return 1 - found.circular / most
