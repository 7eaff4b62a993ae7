"""Recorded looks: verdicts of any judge, one look a row, put together into comparisons.

    {"item", "judge", "protocol", "order": "a"|"b", "choice": "a"|"b"|"tie"|null, "p_a", "unjudged"}

``order`` is the response that was shown first. An item here is a pair: where several systems
answer one question, their names are part of the id. What other people's logs hold, one order a
row, comes together as our own verdicts do: a response that is chosen twice wins, and half a
comparison is none.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Literal

from twopan.datasets import SHOWN, Source
from twopan.errors import DataError, NotRecorded, Unparsed
from twopan.fields import excerpt, label, name
from twopan.jury import Outcome
from twopan.rows import Row, read_rows
from twopan.verdict import Choice, Comparison, Preference, Unjudged, Verdict

Frame = Literal["item", "position"]
"""Whether "a" in a log is the response A of the item, or whichever was shown first."""

ASSUMED = "assumed"
"""The flag of a look that nobody made: it was taken to agree with the one there is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What one judge said on one showing of a pair, in the frame of the item: A is A."""

    item: str
    judge: str
    protocol: str
    order: Choice
    """A or B: the response that was shown first."""
    choice: Choice | None
    """None where the judge gave no verdict, which is no tie."""
    p_a: float | None = None
    unjudged: str = Unparsed.reason
    """Why there is no choice, where there is none."""

    @property
    def position(self) -> Choice | None:
        """The position that was chosen: A the first, B the second."""
        return framed(self.choice, self.order)


def framed(choice: Choice | None, order: Choice) -> Choice | None:
    """From the frame of the positions to that of the item, or back."""
    return choice.flipped() if choice and order == Choice.B else choice


def read_looks(path: Source, *, frame: Frame = "item") -> list[Look]:
    """The looks of a file of rows; ``choice`` and ``p_a`` are in the given frame.

    ``p_a``, in [0, 1], and ``unjudged``, one word, may be missing. Sides may be written in any way
    that a label may (``fields.label``). Raises DataError, one line a problem.
    """
    return to_looks(read_rows(path), lambda row: look_of(row, frame))


def to_looks(rows: Iterable[Row], build: Callable[[Row], Look | None]) -> list[Look]:
    """The looks that ``build`` makes of rows; None leaves one out. Raises DataError as above."""
    looks: list[Look] = []
    wrong: list[str] = []
    for row in rows:
        try:
            look = build(row)
        except DataError as error:
            wrong.append(f"{row.place}: {error}")
        else:
            looks += [look] if look else []
    if wrong:
        more = [f"and {len(wrong) - SHOWN} more bad rows"] if len(wrong) > SHOWN else []
        raise DataError("\n".join(wrong[:SHOWN] + more))
    return looks


def look_of(row: Row, frame: Frame = "item") -> Look:
    """One look. Raises DataError that names the field."""

    def side(field: str) -> Choice:
        try:
            return label(row.fields.get(field))
        except DataError as error:
            raise DataError(str(error).replace("label", field, 1)) from None

    names = {field: name(field, row.fields.get(field)) for field in ("item", "judge", "protocol")}
    if missing := [field for field, value in names.items() if value is None]:
        raise DataError(f"{missing[0]}: is missing")
    order = side("order")
    if order == Choice.TIE:
        raise DataError("order: is the response shown first, a or b")
    choice = None if row.fields.get("choice") in (None, "") else side("choice")
    reason = name("unjudged", row.fields.get("unjudged"))
    if reason and choice:
        raise DataError("unjudged: is given, and a choice too")
    p_a = _probability(row.fields.get("p_a"))
    if frame == "position":
        choice = framed(choice, order)
        p_a = 1 - p_a if p_a is not None and order == Choice.B else p_a
    return Look(
        **{field: str(value) for field, value in names.items()},
        order=order,
        choice=choice,
        p_a=p_a,
        unjudged=reason or Unparsed.reason,
    )


def _probability(value: object) -> float | None:
    if value in (None, ""):
        return None
    try:
        known = isinstance(value, str | int | float) and not isinstance(value, bool)
        p = float(value) if known else -1.0  # type: ignore[arg-type]
    except (ValueError, OverflowError):
        p = -1.0
    if not 0 <= p <= 1:
        raise DataError(f"p_a: {excerpt(value)} is no probability from 0 to 1")
    return p


def assemble(
    looks: Iterable[Look], *, lone: Literal["unjudged", "consistent"] = "unjudged"
) -> dict[tuple[str, str], dict[str, Outcome]]:
    """(judge, protocol) -> item -> its verdict, or why there is none, in the order of the looks.

    A pair of which a look is missing (``not_recorded``) or has no choice is unjudged; of two such
    looks the first in order gives the reason. ``lone="consistent"`` counts as some authors do: a
    look without its partner is taken for both, and the copy carries the flag ASSUMED. That calls
    judges more consistent than anybody saw, so it serves to reproduce numbers, not to make them.
    Raises DataError where one look is there twice.
    """
    found: dict[tuple[str, str], dict[str, dict[Choice, Look]]] = defaultdict(dict)
    for look in looks:
        shown = found[look.judge, look.protocol].setdefault(look.item, {})
        if shown.setdefault(look.order, look) is not look:
            raise DataError(
                f"item: {excerpt(look.item)} has two looks of {look.judge}, {look.protocol}, with "
                f"{look.order.value} shown first: give repetitions protocols of their own"
            )
    return {
        key: {item: _outcome(item, f"{key[0]}|{key[1]}", shown, lone) for item, shown in of.items()}
        for key, of in found.items()
    }


def _outcome(item: str, judge: str, shown: dict[Choice, Look], lone: str) -> Outcome:
    sides = (Choice.A, Choice.B)
    seen = [_preference(shown.get(side)) for side in sides]
    if lone == "consistent" and any(seen):
        seen = [here or _assumed(other) for here, other in zip(seen, reversed(seen), strict=True)]
    a_first, b_first = seen
    if a_first and b_first:
        vote = Comparison(judge=judge, a_first=a_first, b_first=b_first)
        return Verdict(item_id=item, votes=(vote,), choice=vote.choice)
    # A look that failed says more than one that nobody made.
    lacking = [side for side, preference in zip(sides, seen, strict=True) if not preference]
    missing = next((side for side in lacking if side in shown), lacking[0])
    look = shown.get(missing)
    what = "is not recorded" if look is None else "gave no verdict"
    return Unjudged(
        item_id=item,
        reason=NotRecorded.reason if look is None else look.unjudged,
        detail=f"the look with {missing.value} shown first {what}",
    )


def _preference(look: Look | None) -> Preference | None:
    if look is None or look.choice is None:
        return None
    return Preference(choice=look.choice, reasoning="", p_a=look.p_a)


def _assumed(other: Preference | None) -> Preference | None:
    return other and replace(other, flags=(*other.flags, ASSUMED))
