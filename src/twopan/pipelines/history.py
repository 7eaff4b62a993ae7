r"""History: what moved since the last ranking, and whether the move is more than noise.

    ranking ──► a line with ratings and their covariance ──► file
                the line before by the same judge        ──► moves

Ratings are differences, so each is taken from the mean of the systems that both rankings have. Two
rankings that share verdicts vary together; they are compared as if they did not, which makes the
intervals of a move too wide and not too narrow. With :math:`m` systems each interval has the level
:math:`1 - \alpha / m` (Bonferroni), so that the chance that noise is called a move, of any of them,
is at most :math:`\alpha`.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from twopan.errors import DataError
from twopan.pipelines.rank import Ranking
from twopan.rows import shown
from twopan.saving import write
from twopan.stats.bradley_terry import ELO
from twopan.stats.columns import Floats
from twopan.stats.resampling import student


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One ranking, as a line of the file."""

    time: str
    signature: str
    systems: tuple[str, ...]
    theta: tuple[float, ...]
    """Strengths in log-odds."""
    covariance: tuple[tuple[float, ...], ...]
    clusters: int
    games: int

    def __post_init__(self) -> None:
        n = len(self.systems)
        if len(self.theta) != n or [len(row) for row in self.covariance] != [n] * n:
            raise ValueError("systems, theta and covariance are of different lengths")


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """Of one system, in points of chess against the mean of the systems that both have."""

    system: str
    before: float
    after: float
    low: float
    high: float
    """Of the change, all systems together."""

    @property
    def change(self) -> float:
        return self.after - self.before

    @property
    def real(self) -> bool:
        """More than noise."""
        return self.low > 0 or self.high < 0


@dataclass(frozen=True, kw_only=True)
class Moves:
    since: str
    """When the ranking before was made."""
    moves: tuple[Move, ...]
    """Largest first."""
    new: tuple[str, ...]
    gone: tuple[str, ...]
    level: float


def entry(ranking: Ranking, time: str) -> Entry | None:
    """What is kept of a ranking; None where its systems have no ratings on one scale."""
    ratings = ranking.ratings
    if ratings is None:
        return None
    return Entry(
        time=time,
        signature=ranking.signature,
        systems=ranking.systems,
        theta=tuple(ratings.theta.tolist()),
        covariance=tuple(tuple(row) for row in ratings.covariance.tolist()),
        clusters=ratings.clusters,
        games=len(ranking.games),
    )


def read(path: Path) -> list[Entry]:
    """The rankings of a file; none where it is not there yet. Raises DataError."""
    if not path.exists():
        return []
    entries = []
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        try:
            entries.append(msgspec.json.decode(line, type=Entry))
        except (msgspec.DecodeError, ValueError) as error:
            raise DataError(
                f"{shown(str(path))}: line {number}: not a line of a history: {error}"
            ) from None
    return entries


def append(path: Path, new: Entry) -> None:
    """Put one more ranking at the end of the file, which is whole at any moment."""
    known = path.read_text(encoding="utf-8") if path.exists() else ""
    if known and not known.endswith("\n"):
        known += "\n"
    write(path, known + msgspec.json.encode(new).decode() + "\n")


def before(entries: Sequence[Entry], now: Entry) -> Entry | None:
    """The last ranking by the same judge; ratings by another are of another scale."""
    return next((one for one in reversed(entries) if one.signature == now.signature), None)


def moved(then: Entry, now: Entry, level: float = 0.95) -> Moves:
    """What moved from one ranking to another.

    Examples
    --------
    A system gained a hundred points on the other, of which either is uncertain by fifteen:

    >>> sure = ((0.002, -0.002), (-0.002, 0.002))
    >>> then, now = (
    ...     Entry(time="", signature="", systems=("a", "b"), theta=theta, covariance=sure,
    ...           clusters=200, games=400)
    ...     for theta in ((0.0, 0.0), (0.3, -0.3))
    ... )
    >>> [(m.system, round(m.change), m.real) for m in moved(then, now).moves]
    [('a', 52, True), ('b', -52, True)]
    """
    common = [system for system in now.systems if system in then.systems]
    moves: list[Move] = []
    if len(common) > 1:
        (old, old_var), (new, new_var) = (_of(one, common) for one in (then, now))
        alpha = (1 - level) / len(common)
        reach = student(1 - alpha, max(min(then.clusters, now.clusters) - 1, 1))
        for k, system in enumerate(common):
            width = reach * math.sqrt(old_var[k] + new_var[k])
            change = new[k] - old[k]
            moves.append(
                Move(
                    system=system,
                    before=float(ELO * old[k]),
                    after=float(ELO * new[k]),
                    low=float(ELO * (change - width)),
                    high=float(ELO * (change + width)),
                )
            )
    return Moves(
        since=then.time,
        moves=tuple(sorted(moves, key=lambda move: -abs(move.change))),
        new=tuple(system for system in now.systems if system not in then.systems),
        gone=tuple(system for system in then.systems if system not in now.systems),
        level=level,
    )


def plain(moves: Moves) -> dict[str, Any]:
    """As JSON values."""
    return {
        "since": moves.since,
        "new": list(moves.new),
        "gone": list(moves.gone),
        "moves": [
            {**asdict(move), "change": move.change, "more_than_noise": move.real}
            for move in moves.moves
        ],
    }


def _of(one: Entry, systems: Sequence[str]) -> tuple[Floats, Floats]:
    """Strengths against the mean of these systems, and their variances."""
    at = [one.systems.index(system) for system in systems]
    centre = np.eye(len(at)) - 1 / len(at)
    theta = centre @ np.array(one.theta)[at]
    covariance = centre @ np.array(one.covariance)[np.ix_(at, at)] @ centre
    return theta, np.maximum(np.diag(covariance), 0.0)
