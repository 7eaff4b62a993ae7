"""A ranking laid out: ratings on one axis, the matrix, and how the tournament went.

Numbers in, coordinates and rows out; nothing is estimated here.
"""

import math
from dataclasses import dataclass

from twopan.pipelines.rank import Ranking
from twopan.stats.leaderboard import Flag, Standing
from twopan.stats.length_control import LengthControlled

MOST_SYSTEMS = 30
"""In the matrix."""
MOST_LINES = 40
"""In the path."""
MOST_STEPS = 300
FLAGS: dict[Flag, str] = {
    "undefeated": "undefeated: no finite rating",
    "winless": "took no point: no finite rating",
    "separated": "above or below every other: no finite rating",
    "alone": "met nobody",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """Of ratings, in points of chess."""

    low: float
    high: float
    ticks: tuple[float, ...]

    def at(self, rating: float) -> float:
        """0 at the left edge, 1 at the right; what lies beyond is drawn at the edge."""
        return min(max((rating - self.low) / (self.high - self.low), 0.0), 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    name: str
    standing: Standing
    rating: tuple[float, float, float, float, float] | None
    """Where to draw it: the ends of the simultaneous interval, of its own, and the rating last."""
    side: str
    """Whose colour it has: above or below the mean of its group, or neither."""
    even: LengthControlled | str | None
    consistency: float | None
    unjudged: int


def axis(found: Ranking) -> Axis:
    """Wide enough for all intervals, but for those that say next to nothing."""
    board = found.board
    ends = [] if board is None else [
        end for s in board.standings if s.interval is not None for end in s.interval
    ]  # fmt: skip
    ratings = [s.rating for s in board.standings if s.rating is not None] if board else []
    if not ratings:
        return Axis(low=900, high=1100, ticks=(900, 1000, 1100))
    spread = max(max(ratings) - min(ratings), 100)
    low = max(min(ends), min(ratings) - spread)
    high = min(max(ends), max(ratings) + spread)
    step = next(s for s in (25, 50, 100, 200, 500, 1000, 10_000) if (high - low) / s <= 6)
    low, high = step * math.floor(low / step), step * math.ceil(high / step)
    ticks = tuple(float(low + step * k) for k in range(round((high - low) / step) + 1))
    return Axis(low=low, high=high, ticks=ticks)


def rows(found: Ranking) -> list[Row]:
    if found.board is None:
        return []
    line = axis(found)
    return [_row(found, s, line) for s in found.board.standings]


def _row(found: Ranking, s: Standing, line: Axis) -> Row:
    name, drawn, side = found.systems[s.system], None, "neither"
    if s.rating is not None and s.interval is not None and s.simultaneous is not None:
        low, high = s.simultaneous
        drawn = (
            line.at(low), line.at(high), line.at(s.interval[0]), line.at(s.interval[1]),
            line.at(s.rating),
        )  # fmt: skip
        side = "candidate" if low > 1000 else "baseline" if high < 1000 else "neither"
    return Row(
        name=name,
        standing=s,
        rating=drawn,
        side=side,
        even=found.length_controlled.get(name),
        consistency=found.consistency[name],
        unjudged=found.lost[name],
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    share: float | None
    """Points the row took from the column, of those there were; None where they did not meet."""
    games: int
    expected: float | None
    """The share by the ratings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    names: tuple[str, ...]
    rows: tuple[tuple[Cell | None, ...], ...]
    """None on the diagonal."""
    left: int
    """Systems that are not drawn."""


def matrix(found: Ranking) -> Matrix | None:
    """The best first; None where nobody met."""
    board = found.board
    if board is None:
        return None
    order = [s.system for s in board.standings][:MOST_SYSTEMS]

    def cell(i: int, j: int) -> Cell | None:
        if i == j:
            return None
        games = float(board.games[i, j])
        share = float(board.scores[i, j]) / games if games else None
        return Cell(share=share, games=round(games), expected=board.expected[i][j])

    return Matrix(
        names=tuple(found.systems[s] for s in order),
        rows=tuple(tuple(cell(i, j) for j in order) for i in order),
        left=len(board.standings) - len(order),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    name: str
    points: str
    end: float
    """Height at the right edge, from 0 at the top to 100."""
    leader: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Path:
    """How ratings came about, on a canvas of 1000 by 100."""

    lines: tuple[Line, ...]
    separated: str
    """How many of the differences that matter were told apart: points of a line, all at the top."""
    first: int
    last: int
    """Comparisons at either end."""
    told: int
    wanted: int
    left: int
    """Systems that are not drawn."""


def path(found: Ranking) -> Path | None:
    """None where there were no steps to follow."""
    steps = found.path
    if len(steps) < 3 or found.board is None:
        return None
    stride = math.ceil(len(steps) / MOST_STEPS)
    kept = [*steps[:-1:stride], steps[-1]]
    first, last = kept[0].games, kept[-1].games
    values = [float(theta) for step in kept for theta in step.theta]
    low, high = min(values), max(values)
    room = max(high - low, 1e-9)

    def x(games: int) -> float:
        return 1000 * (games - first) / max(last - first, 1)

    order = [s.system for s in found.board.standings]
    lines = []
    for place, system in enumerate(order[:MOST_LINES]):
        heights = [100 * (high - float(step.theta[system])) / room for step in kept]
        dots = zip(kept, heights, strict=True)
        lines.append(
            Line(
                name=found.systems[system],
                points=" ".join(f"{x(step.games):.1f},{height:.2f}" for step, height in dots),
                end=heights[-1],
                leader=place == 0,
            )
        )
    return Path(
        lines=tuple(lines),
        separated=" ".join(
            f"{x(step.games):.1f},{100 * (1 - step.separated / max(step.wanted, 1)):.2f}"
            for step in kept
        ),
        first=first,
        last=last,
        told=kept[-1].separated,
        wanted=kept[-1].wanted,
        left=len(order) - len(lines),
    )
