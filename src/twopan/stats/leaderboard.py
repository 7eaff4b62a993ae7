"""A leaderboard: ratings where there are any, ranks that the data bear out, and no more than that.

Where every system lost a point to some other, all have a rating on one scale. Where some group
never did, ratings exist within it and within the rest, and the board says who is above whom by how
the games went (:mod:`twopan.stats.connectivity`). An undefeated system has no finite rating, so it
is given none: not a large number that an iteration limit or a penalty has chosen. Systems that
never met have no order at all.

A rank interval needs certainty (:mod:`twopan.stats.ranks`). Between groups there is no standard
error; there a system is surely better than another where it took every point from it on so many
items that a fair coin would hardly do the same, with Bonferroni's correction for all pairs.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from twopan.stats.battles import Battles
from twopan.stats.bradley_terry import ELO, Ratings, Ties, fit
from twopan.stats.columns import Floats, Ints, sum_by
from twopan.stats.connectivity import connectivity
from twopan.stats.ranks import critical, ranks
from twopan.stats.resampling import Estimate, influence, student, wilson

Flag = Literal["undefeated", "winless", "separated", "alone"]
"""No point was taken from it, it took none, every other took all or none from it, or it met
nobody."""


@dataclass(frozen=True, slots=True)
class Standing:
    """One system. Ratings are in points of chess, 1000 being the mean of its group."""

    system: int
    group: int
    rank: int
    """From 1; systems share it of which none is surely better than the other."""
    worst_rank: int
    """With ``rank`` the interval of ranks that the data allow."""
    rating: float | None
    """None where it is the only one of its group."""
    interval: tuple[float, float] | None
    """Of the rating by itself."""
    simultaneous: tuple[float, float] | None
    """Wide enough that those of all systems hold at once."""
    win_rate: Estimate | None
    """Against whomever it met, a tie half; None where it met nobody."""
    games: int
    flag: Flag | None


@dataclass(frozen=True, slots=True)
class Leaderboard:
    standings: tuple[Standing, ...]
    """Best first; islands of systems that never met one after the other."""
    groups: tuple[tuple[int, ...], ...]
    """Systems with ratings on one scale, best first."""
    islands: tuple[tuple[int, ...], ...]
    """Systems that met, by way of others or directly. More than one: there is no single order."""
    surely: NDArray[np.bool_]
    """Shape (n, n): whether the row is surely better than the column."""
    expected: tuple[tuple[float | None, ...], ...]
    """n rows of n: the score of the row against the column by the ratings; None between groups."""
    scores: Floats
    """Shape (n, n): points the row took from the column."""
    games: Floats
    """Shape (n, n)."""
    nu: float | None
    """Davidson's, of the largest group; None where ties are half wins."""
    prior: float | None
    level: float

    @property
    def single(self) -> bool:
        """Whether all systems stand in one order."""
        return len(self.islands) == 1


def leaderboard(
    battles: Battles,
    *,
    ties: Ties = "half",
    prior: float | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> Leaderboard:
    """Rate and rank n systems by counted games. Never raises for what the games do not tell.

    Parameters
    ----------
    prior : float, optional
        Standard deviation, in log-odds, that strengths are assumed to have. It gives every system
        of an island a rating, and is part of what the ratings say.

    Examples
    --------
    0 and 1 beat each other on some items, and both beat 2 on every one:

    >>> from twopan.stats.battles import count
    >>> a, b = [0, 0, 1, 0, 1] * 8, [1, 1, 0, 2, 2] * 8
    >>> board = leaderboard(count(a, b, [1] * 40, n=3))
    >>> [(s.system, s.rank, s.worst_rank, s.flag) for s in board.standings]
    [(0, 1, 2, None), (1, 1, 2, None), (2, 3, 3, 'winless')]
    """
    n = battles.n
    found = connectivity(battles)
    scores, games = matrices(battles)
    surely = _outright(battles, level)
    expected: list[list[float | None]] = [[None] * n for _ in range(n)]
    rating: dict[int, tuple[float, tuple[float, float], tuple[float, float]]] = {}
    nu = None
    member = found.member if prior is None else found.island
    parts = [np.flatnonzero(member == g) for g in range(int(member.max()) + 1)]
    for part in sorted(parts, key=len):
        if len(part) > 1:
            fitted = fit(battles.among(part), ties=ties, prior=prior)
            nu = fitted.nu
            surely[np.ix_(part, part)] = _rated(fitted, part, rating, level, seed)
            for i, row in enumerate(part):
                for j, column in enumerate(part):
                    expected[row][column] = fitted.win_probability(i, j)
    better, worse = surely.sum(0), surely.sum(1)
    mates = np.array([(found.island == island).sum() for island in found.island])
    order = sorted(
        range(n),
        key=lambda s: (found.island[s], member[s], -rating[s][0] if s in rating else 0.0, s),
    )
    rates = {s: _win_rate(battles, s, level) for s in range(n)}
    standings = tuple(
        Standing(
            system=s,
            group=int(member[s]),
            rank=1 + int(better[s]),
            worst_rank=int(mates[s] - worse[s]),
            rating=rating[s][0] if s in rating else None,
            interval=rating[s][1] if s in rating else None,
            simultaneous=rating[s][2] if s in rating else None,
            win_rate=rates[s],
            games=int(games[s].sum()),
            flag=_flag(scores[s].sum(), games[s].sum(), s in rating),
        )
        for s in order
    )
    return Leaderboard(
        standings=standings,
        groups=tuple(tuple(s for s in order if member[s] == g) for g in range(len(parts))),
        islands=tuple(
            tuple(s for s in order if found.island[s] == i) for i in range(found.islands)
        ),
        surely=surely,
        expected=tuple(map(tuple, expected)),
        scores=scores,
        games=games,
        nu=nu,
        prior=prior,
        level=level,
    )


def matrices(battles: Battles) -> tuple[Floats, Floats]:
    """Points and games of the row against the column, shape (n, n)."""
    scores, games = np.zeros((2, battles.n, battles.n))
    i, j = battles.i, battles.j
    score, m = battles.by_pair(battles.score), battles.by_pair(battles.games)
    scores[i, j], scores[j, i] = score, m - score
    games[i, j] = games[j, i] = m
    return scores, games


def _rated(
    fitted: Ratings,
    part: Ints,
    rating: dict[int, tuple[float, tuple[float, float], tuple[float, float]]],
    level: float,
    seed: int,
) -> NDArray[np.bool_]:
    """Put the ratings of a group down, and say who in it is surely better than whom."""
    df = max(fitted.clusters - 1, 1)
    own = np.sqrt(np.maximum(np.diag(fitted.covariance), 0.0))
    each = student(level, df)
    # A system against the mean of its group, as a difference from a system that is 0 for certain.
    padded = np.zeros((len(part) + 1,) * 2)
    padded[1:, 1:] = fitted.covariance
    errors = np.zeros_like(padded)
    errors[0, 1:] = errors[1:, 0] = own
    together = critical(padded, errors, df=df, level=level, seed=seed)
    for s, theta, se in zip(part, fitted.theta, own, strict=True):
        centre = 1000 + ELO * theta
        alone, all_of_them = (
            (float(centre - ELO * c * se), float(centre + ELO * c * se)) for c in (each, together)
        )
        rating[int(s)] = (float(centre), alone, all_of_them)
    return ranks(fitted.theta, fitted.covariance, df=df, level=level, seed=seed).surely


def _outright(battles: Battles, level: float) -> NDArray[np.bool_]:
    """Whether the row took every point from the column, on more items than a coin would."""
    n = battles.n
    surely = np.zeros((n, n), dtype=bool)
    score, m = battles.by_pair(battles.score), battles.by_pair(battles.games)
    items = battles.by_pair(np.ones(len(battles.pair)))
    pairs = max(n * (n - 1) / 2, 1)
    sure = 2 * 0.5**items < (1 - level) / pairs
    for i, j, won in ((battles.i, battles.j, score == m), (battles.j, battles.i, score == 0)):
        surely[i[sure & won], j[sure & won]] = True
    return surely


def _win_rate(battles: Battles, system: int, level: float) -> Estimate | None:
    cells = (battles.i[battles.pair] == system) | (battles.j[battles.pair] == system)
    if not cells.any():
        return None
    first = battles.i[battles.pair[cells]] == system
    games = battles.games[cells]
    score = np.where(first, battles.score[cells], games - battles.score[cells])
    _, item = np.unique(battles.item[cells], return_inverse=True)
    parts = sum_by(item, int(item.max()) + 1, np.column_stack([score, games]))
    estimate, u = influence(lambda s: s[..., 0] / s[..., 1], parts.sum(0), parts)
    return wilson(estimate, u, level=level)


def _flag(took: float, played: float, rated: bool) -> Flag | None:
    if not played:
        return "alone"
    if took == played:
        return "undefeated"
    if not took:
        return "winless"
    return None if rated else "separated"
