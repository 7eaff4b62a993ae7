"""Responses with what people rated them: numbers, by one person or several, on any scale.

A row needs an instruction, a response, and a column for each person; a column may also hold the
list of all ratings. Columns of scores that a judge gave already may stand beside them.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from twopan.data import Item, Response
from twopan.datasets import SHOWN, OnBad, Source, Values, read_as, task_of
from twopan.errors import ConfigError, DataError
from twopan.fields import excerpt, name, text
from twopan.rows import Place, Problem, shown

FIELDS = ("id", "instruction", "response", "reference", "category", "system")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rated:
    """One response, and what was thought of it."""

    item: Item
    response: Response
    people: tuple[float | None, ...]
    """A rating of each person; None where that person gave none."""
    scores: Mapping[str, float | None]
    """Judge -> the score it gave, as recorded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratings:
    rows: list[Rated]
    bad: list[Problem]
    unrated: int = 0
    """Responses left out because nobody rated them."""

    def notes(self) -> list[str]:
        """What a person should know about them, a line each."""
        items = len({row.item.id for row in self.rows})
        systems = len({row.response.system for row in self.rows})
        lines = [f"{len(self.rows)} rated responses of {systems} systems to {items} items"]
        if self.unrated:
            lines.append(f"{self.unrated} responses that nobody rated were left out")
        if self.bad:
            lines.append(f"{len(self.bad)} bad rows were left out:")
            lines += [f"  {problem}" for problem in self.bad[:SHOWN]]
        return lines


def read_rated(
    path: Source,
    *,
    people: Sequence[str],
    scores: Sequence[str] = (),
    mapping: Mapping[str, str] | None = None,
    on_bad: OnBad = "refuse",
) -> Ratings:
    """Read them; ``people`` and ``scores`` name columns.

    An empty cell is no rating. Where rows carry no system, all are of one. Raises DataError, one
    line a problem, where a rating is not a number, or one system's response to an item comes twice.
    """
    if not people:
        raise ConfigError("say which columns hold what people thought")
    if twice := [c for c in dict.fromkeys([*people, *scores]) if [*people, *scores].count(c) > 1]:
        raise ConfigError(f"the column {twice[0]} is named twice")
    if clash := [column for column in (*people, *scores) if column in FIELDS]:
        raise ConfigError(f"the column {clash[0]} holds the {clash[0]}, and no rating")
    seen: dict[tuple[str, str, str], Place] = {}
    asked: dict[str, tuple[str, Place]] = {}

    def build(values: Values, place: Place) -> Rated:
        item, answered = task_of(values, "response")
        response = text("response", answered)
        system = name("system", values.get("system")) or "all"
        first = seen.setdefault((item.id, system, response), place)
        if first is not place:
            raise DataError(f"id: {excerpt(item.id)} with this response was already at {first}")
        instruction, first = asked.setdefault(item.id, (item.instruction, place))
        if instruction != item.instruction:
            raise DataError(f"id: {excerpt(item.id)} has another instruction at {first}")
        return Rated(
            item=item,
            response=Response(item_id=item.id, system=system, text=response),
            people=tuple(r for column in people for r in ratings(column, values.get(column))),
            scores={column: rating(column, values.get(column)) for column in scores},
        )

    columns = {column: column for column in (*people, *scores)}
    rows, bad = read_as(
        path,
        build,
        fields=(*FIELDS, *columns),
        needed=("instruction", "response", *columns),
        mapping=columns | dict(mapping or {}),
        on_bad=on_bad,
    )
    if not any(rating is not None for row in rows for rating in row.people):
        raise DataError(f"{shown(str(path))}: nobody rated any of {len(rows)} responses")
    return Ratings(rows=rows, bad=bad)


def ratings(column: str, value: object) -> list[float | None]:
    """One rating, or all of a list."""
    if isinstance(value, list):
        return [rating(f"{column}[{i}]", one) for i, one in enumerate(value)]
    return [rating(column, value)]


def rating(column: str, value: object) -> float | None:
    """
    >>> rating("c", "4.5"), rating("c", "")
    (4.5, None)
    """
    if value in (None, ""):
        return None
    try:
        number = math.nan if isinstance(value, bool) else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise DataError(f"{column}: {excerpt(value)} is not a number")
    return number
