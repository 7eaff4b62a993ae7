"""Where each mark of a drawing goes. Numbers in, coordinates out; nothing is estimated here.

The drawings are SVG of our own, written by the templates: they follow light and dark through CSS
variables, stretch with the page because coordinates are percentages, print sharply, need no
library and weigh a few kilobytes. Colour never speaks alone: each class has a mark of its own.
"""

import math
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from twopan.jury import Outcome
from twopan.pipelines.gate import Gate
from twopan.stats.sequential import confidence_sequence
from twopan.stats.win_rate import WinRate
from twopan.verdict import Choice, Unjudged, Verdict

Kind = Literal["candidate", "baseline", "tie", "inconsistent", "unjudged"]

KINDS: dict[Kind, str] = {
    "candidate": "A preferred",
    "tie": "Tie",
    "inconsistent": "Inconsistent",
    "baseline": "B preferred",
    "unjudged": "Unjudged",
}
"""What the page calls them. In a column of a drawing they are stacked in this order."""

BINS = 20
MOST_BLOCKS = 24
"""In a column; higher columns are drawn as one bar."""
MOST_POINTS = 1500
MOST_CATEGORIES = 60
MOST_LOOKS = 150


def kind(outcome: Outcome) -> Kind:
    if isinstance(outcome, Unjudged):
        return "unjudged"
    if outcome.choice == Choice.TIE:
        return "tie" if outcome.consistent else "inconsistent"
    return "candidate" if outcome.choice == Choice.A else "baseline"


@dataclass(frozen=True, slots=True, kw_only=True)
class Balance:
    """The two pans, heavier side down. Lengths in units of a 64 by 44 picture."""

    tilt: float
    """Degrees; positive lowers the candidate's pan, which hangs on the right."""
    left: tuple[float, float]
    right: tuple[float, float]


def balance(rate: float | None) -> Balance:
    tilt = 0.0 if rate is None else (rate - 0.5) * 40
    dx, dy = 22 * math.cos(math.radians(tilt)), 22 * math.sin(math.radians(tilt))
    return Balance(
        tilt=tilt,
        left=(round(32 - dx, 2), round(10 - dy, 2)),
        right=(round(32 + dx, 2), round(10 + dy, 2)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    kind: Kind
    base: int
    """How many pairs lie below it in its column."""
    count: int
    item: int | None = None
    """Number of the pair, where the block is one pair."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """How many pairs have which score, in 21 columns centred on 0, 0.05, ..., 1."""

    columns: tuple[tuple[Block, ...], ...]
    highest: int
    counts: tuple[Counter[Kind], ...] = field(repr=False)


def scores(gate: Gate) -> Scores:
    found: list[list[tuple[Kind, int]]] = [[] for _ in range(BINS + 1)]
    for number, outcome in enumerate(gate.outcomes, 1):
        if isinstance(outcome, Verdict):
            found[int(outcome.a_score * BINS + 0.5)].append((kind(outcome), number))
    highest = max(map(len, found))
    order = list(KINDS)
    columns = []
    for column in found:
        column.sort(key=lambda entry: (order.index(entry[0]), entry[1]))
        if highest <= MOST_BLOCKS:
            blocks = [
                Block(kind=k, base=base, count=1, item=number)
                for base, (k, number) in enumerate(column)
            ]
        else:
            counts = Counter(k for k, _ in column)
            blocks = []
            for k in order:
                if counts[k]:
                    base = sum(block.count for block in blocks)
                    blocks.append(Block(kind=k, base=base, count=counts[k]))
        columns.append(tuple(blocks))
    return Scores(
        columns=tuple(columns),
        highest=highest,
        counts=tuple(Counter(k for k, _ in column) for column in found),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    kind: Kind
    item: int
    x: float
    """0 at the left edge, 1 at the right."""
    y: float
    longer: int
    """Characters that the candidate's response has more than the baseline's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lengths:
    points: tuple[Point, ...]
    judged: int
    """Of so many verdicts the points are all, or a sample."""
    reach: int
    """The difference in characters at the right edge; minus that at the left."""
    counts: dict[str, Counter[Kind]]
    """Outcomes where the candidate's response is longer, as long, shorter."""


def lengths(gate: Gate) -> Lengths:
    judged = [
        (number, len(pair.a.text) - len(pair.b.text), outcome)
        for number, (pair, outcome) in enumerate(zip(gate.pairs, gate.outcomes, strict=True), 1)
        if isinstance(outcome, Verdict)
    ]
    counts: dict[str, Counter[Kind]] = {
        name: Counter(kind(o) for _, longer, o in judged if (longer > 0) - (longer < 0) == sign)
        for name, sign in (("A is longer", 1), ("the same length", 0), ("B is longer", -1))
    }
    drawn = judged
    if len(judged) > MOST_POINTS:
        drawn = sorted(judged, key=lambda entry: shuffled(entry[0]))[:MOST_POINTS]
    reach = rounded_up(max((abs(longer) for _, longer, _ in judged), default=1))
    return Lengths(
        points=tuple(
            Point(
                kind=kind(outcome),
                item=number,
                x=0.5 + longer / (2 * reach),
                y=outcome.a_score,
                longer=longer,
            )
            for number, longer, outcome in sorted(drawn, key=lambda entry: entry[0])
        ),
        judged=len(judged),
        reach=reach,
        counts=counts,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Path:
    """How a sequential gate got where it stopped, on a canvas of 1000 by 100."""

    estimate: str
    """Points of a line: right with the pairs that were judged, upwards with the win rate."""
    bounds: str
    """Points of the band between the bounds that hold at all looks."""
    judged: int


def path(gate: Gate) -> Path | None:
    """None for a gate that looked once, or judged so little that there is no line to draw."""
    if gate.rules is None or len(gate.verdicts) < 3:
        return None
    y = np.array([gate.worth(v) for v in gate.verdicts])
    looks = np.unique(np.linspace(1, len(y), min(len(y), MOST_LOOKS)).round().astype(int))
    low, high = confidence_sequence(y, gate.rules.betting, looks=looks)
    x = [1000 * (n - 1) / (len(y) - 1) for n in looks]
    means = np.cumsum(y)[looks - 1] / looks
    there, back = list(zip(x, high, strict=True)), list(zip(x, low, strict=True))[::-1]
    return Path(
        estimate=_points(list(zip(x, means, strict=True))),
        bounds=_points([*there, *back]),
        judged=len(y),
    )


def _points(places: "Sequence[tuple[float, float]]") -> str:
    return " ".join(f"{x:.1f},{100 * (1 - y):.2f}" for x, y in places)


def rounded_up(value: int) -> int:
    """To a number that reads well on an axis, at least 10.

    >>> rounded_up(137), rounded_up(0)
    (150, 10)
    """
    power = 10 ** max(len(str(max(value, 1))) - 1, 1)
    steps = (1, 1.5, 2, 3, 4, 5, 6, 8, 10)
    return next(int(step * power) for step in steps if step * power >= value)


def categories(gate: Gate) -> dict[str, WinRate]:
    """Those that are drawn: all, or the largest, in the order of the data."""
    by_size = sorted(gate.categories, key=lambda name: -gate.categories[name].m)
    drawn = set(by_size[:MOST_CATEGORIES])
    return {name: rate for name, rate in gate.categories.items() if name in drawn}


def shuffled(number: int) -> int:
    """A place in an order that looks random and is the same in every run."""
    return zlib.crc32(str(number).encode())


def tally(outcomes: Sequence[Outcome]) -> dict[Kind, int]:
    counts = Counter(map(kind, outcomes))
    return {k: counts[k] for k in KINDS}
