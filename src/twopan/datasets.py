"""From files to responses and pairs: every row is judged, left out by name, or an error.

    rows -> fields -> Responses of one system -> joined -> Pairs
                   -> Pairs, where one file holds both responses

All that is wrong with a file is said at once and before anything is sent to a judge. A caller
who would rather go on without the bad rows says ``on_bad="skip"`` and gets them listed.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Literal, TypeVar
from unicodedata import normalize

from twopan.data import Item, Pair, Response
from twopan.errors import DataError
from twopan.fields import (
    check_columns,
    check_mapping,
    check_needed,
    conversation,
    derived_id,
    excerpt,
    is_blank,
    label,
    name,
    recognise,
    text,
)
from twopan.rows import Place, Problem, read_rows, shown
from twopan.verdict import Choice

OnBad = Literal["refuse", "skip"]
Source = str | os.PathLike[str]
Values = dict[str, object]
"""Field -> what the row has in its column."""

SHOWN = 20
"""Problems, or items, that a message names one by one."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a system answered to an item, and the place it was read from."""

    item: Item
    response: Response
    place: Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Responses:
    """What one system answered."""

    system: str
    answers: list[Answer]
    has_ids: bool
    """Whether the ids are the file's own; they are derived from the instructions otherwise."""
    bad: list[Problem]

    @property
    def empty(self) -> list[str]:
        """Ids of the responses in which nothing can be seen."""
        return [a.item.id for a in self.answers if is_blank(a.response.text)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairs:
    """Pairs to judge, and everything in the files that did not become one."""

    pairs: list[Pair]
    systems: tuple[str, str]
    joined_on: str | None = None
    """"id" or "instruction"; None where the file held both responses."""
    unmatched_a: list[tuple[str, Place]] = field(default_factory=list)
    unmatched_b: list[tuple[str, Place]] = field(default_factory=list)
    bad: list[Problem] = field(default_factory=list)
    left: int = 0
    """Pairs beyond the limit that was asked for."""
    unlabelled: int = 0
    """Pairs left out because nobody said which response is better, where that is needed."""
    labels_left: int = 0
    """Labels of pairs that are not among these."""

    @property
    def empty(self) -> list[tuple[str, Choice]]:
        """(item id, side) of each response in which nothing can be seen: a fact, not an error."""
        return [
            (pair.item.id, side)
            for pair in self.pairs
            for side, response in ((Choice.A, pair.a), (Choice.B, pair.b))
            if is_blank(response.text)
        ]

    def notes(self) -> list[str]:
        """What a person should know about these pairs, a line each."""
        by = f", joined on {self.joined_on}" if self.joined_on else ""
        named = (
            "" if self.systems == ("a", "b") else f": {self.systems[0]} (a), {self.systems[1]} (b)"
        )
        lines = [f"{len(self.pairs)} pairs{named}{by}"]
        if self.left:
            lines.append(f"{self.left} more pairs were left out by the limit")
        if self.unlabelled:
            lines.append(f"{self.unlabelled} pairs without a label were left out")
        if self.labels_left:
            lines.append(f"{self.labels_left} labels are of no pair here, and were left out")
        for side, rows in zip("ab", (self.unmatched_a, self.unmatched_b), strict=True):
            if rows:
                lines.append(f"{len(rows)} rows of {side} have no partner: {_some(rows)}")
        if self.bad:
            lines.append(f"{len(self.bad)} bad rows were left out:")
            lines += [f"  {problem}" for problem in self.bad[:SHOWN]]
        if self.empty:
            lines.append(f"{len(self.empty)} responses are empty: {_some(self.empty)}")
        return lines


def _some(rows: Iterable[tuple[str, object]]) -> str:
    head = [f"{shown(id)} ({what})" for id, what in islice(rows, 4)]
    return ", ".join(head[:3]) + (", ..." if len(head) > 3 else "")


# One system a file


def read_responses(
    path: Source,
    *,
    mapping: Mapping[str, str] | None = None,
    system: str | None = None,
    on_bad: OnBad = "refuse",
) -> Responses:
    """The responses of one system: a row needs an instruction and a response.

    The system is called ``system``; else what the file's own system, model or generator column
    says, where all rows agree on a short single line (a long one is a system prompt); else after
    the file. Raises DataError, also where an id, or without ids an instruction, comes twice.
    """
    once = _Once()
    rows, bad = _answers(
        path, lambda item, _, values, place: once(item, (), values, place), mapping, on_bad
    )
    title = system or _constant({called for *_, called in rows}) or _stem(path)
    return _answered(title, rows, bool(once.has_ids), bad)


def read_systems(
    path: Source, *, mapping: Mapping[str, str] | None = None, on_bad: OnBad = "refuse"
) -> list[Responses]:
    """The responses of every system in a file, in the order in which they first come.

    They are told apart by a system, model or generator column with a short single line on every
    row; without one it is a file of one system. Raises DataError as ``read_responses`` does; an
    item may come once for each system.
    """
    once = _Once()

    def see(item: Item, called: str | None, values: Values, place: Place) -> None:
        once(item, (called or "",), values, place)

    rows, bad = _answers(path, see, mapping, on_bad)
    names = [_constant({called}) for *_, called in rows]
    has_ids = bool(once.has_ids)
    if None in names or len(set(names)) == 1:
        title = _constant({called for *_, called in rows}) or _stem(path)
        return [_answered(title, rows, has_ids, bad)]
    found: dict[str, list[_Row]] = {}
    for called, row in zip(names, rows, strict=True):
        found.setdefault(str(called), []).append(row)
    return [
        _answered(title, of, has_ids, [] if n else bad)
        for n, (title, of) in enumerate(found.items())
    ]


_Row = tuple[Item, str, Place, str | None]
"""What a row asks, what it answers, where it is, and what it calls the system."""


def _answers(
    path: Source,
    see: Callable[[Item, str | None, Values, Place], None],
    mapping: Mapping[str, str] | None,
    on_bad: OnBad,
) -> tuple[list[_Row], list[Problem]]:
    def build(values: Values, place: Place) -> _Row:
        item, answered = task_of(values, "response")
        response = text("response", answered)
        called = values.get("system")
        named = called if isinstance(called, str) else None
        see(item, named, values, place)
        return item, response, place, named

    return read_as(
        path,
        build,
        fields=("id", "instruction", "response", "reference", "category", "system"),
        needed=("instruction", "response"),
        mapping=mapping or {},
        on_bad=on_bad,
    )


def _answered(title: str, rows: list[_Row], has_ids: bool, bad: list[Problem]) -> Responses:
    return Responses(
        system=title,
        answers=[
            Answer(item, Response(item_id=item.id, system=title, text=response), place)
            for item, response, place, _ in rows
        ],
        has_ids=has_ids,
        bad=bad,
    )


def _constant(names: set[str | None]) -> str | None:
    """The one name of all rows, if there is one and it is not a system prompt."""
    only = next(iter(names)) if len(names) == 1 else None
    return only if only and only.isprintable() and not is_blank(only) and len(only) <= 100 else None


def _stem(path: Source) -> str:
    name = Path(path).name
    return "stdin" if os.fspath(path) == "-" else shown(name.partition(".")[0] or name)


def read_pairs(
    candidate: Source,
    baseline: Source,
    *,
    mapping: Mapping[str, str] | None = None,
    baseline_mapping: Mapping[str, str] | None = None,
    on_bad: OnBad = "refuse",
    limit: int | None = None,
) -> Pairs:
    """Pairs of what two systems answered to the same items; the candidate is A.

    Joined on the id where both files have ids, else on the whole instruction, character by
    character; in the order of the candidate's file. What has no partner is listed, not judged.
    ``baseline_mapping`` is ``mapping`` unless given. ``limit`` keeps the first pairs only.
    Raises DataError where one id stands for two different texts, and where nothing matches.
    """
    if str(candidate) == str(baseline) == "-":
        raise DataError("only one of the two files can come from standard input")
    a = read_responses(candidate, mapping=mapping, on_bad=on_bad)
    b = read_responses(
        baseline,
        mapping=mapping if baseline_mapping is None else baseline_mapping,
        on_bad=on_bad,
    )
    key = "id" if a.has_ids and b.has_ids else "instruction"
    bad = [*a.bad, *b.bad]
    found: list[Problem] = []
    a_by_key, b_by_key = (_keyed(side.answers, key, found) for side in (a, b))
    systems = _distinct((a.system, b.system))
    pairs = []
    matched = [k for k in a_by_key if k in b_by_key]
    for mine, other in ((a_by_key[k], b_by_key[k]) for k in matched):
        try:
            item = _same(mine, other, keep=mine if a.has_ids else other)
        except DataError as error:
            found.append(Problem(mine.place, str(error)))
        else:
            pairs.append(_pair(item, (mine.response.text, other.response.text), systems))
    if not matched:
        raise DataError(_no_match(candidate, baseline, key, a_by_key, b_by_key))
    _settle(found, bool(pairs), on_bad)
    return Pairs(
        pairs=pairs[:limit],
        systems=systems,
        joined_on=key,
        unmatched_a=[(x.item.id, x.place) for k, x in a_by_key.items() if k not in b_by_key],
        unmatched_b=[(x.item.id, x.place) for k, x in b_by_key.items() if k not in a_by_key],
        bad=bad + found,
        left=len(pairs) - len(pairs[:limit]),
    )


def _keyed(answers: list[Answer], key: str, bad: list[Problem]) -> dict[str, Answer]:
    keyed: dict[str, Answer] = {}
    for answer in answers:
        k = answer.item.id if key == "id" else answer.item.instruction
        first = keyed.setdefault(k, answer)
        if first is not answer:
            bad.append(Problem(answer.place, _twice(key, k, first.place)))
    return keyed


def _same(mine: Answer, other: Answer, keep: Answer) -> Item:
    """The one item that two rows are about."""
    a, b = mine.item, other.item
    for what, here, there in (
        ("instruction", a.instruction, b.instruction),
        ("reference", a.reference, b.reference),
    ):
        if here != there and None not in (here, there):
            raise DataError(
                f"{what}: id {excerpt(a.id)} has another {what} at {other.place}: "
                f"{excerpt(here)} and {excerpt(there)} are not the same item"
            )
    return Item(
        id=keep.item.id,
        instruction=a.instruction,
        reference=b.reference if a.reference is None else a.reference,
        category=b.category if a.category is None else a.category,
    )


def _no_match(
    candidate: Source, baseline: Source, key: str, a: dict[str, Answer], b: dict[str, Answer]
) -> str:
    def plain(k: str) -> str:
        return " ".join(normalize("NFKC", k).split()).casefold()

    message = (
        f"{shown(str(candidate))}: 0 of {len(a)} matched a row of {shown(str(baseline))} by {key}"
    )
    near = {plain(k): answer for k, answer in b.items()}
    close = [(k, answer) for k, answer in a.items() if plain(k) in near]
    if close:
        k, mine = close[0]
        other = near[plain(k)]
        theirs = other.item.id if key == "id" else other.item.instruction
        return (
            f"{message}; {len(close)} would if blanks, case and composed characters did not "
            f"count, as {excerpt(k)} ({mine.place}) and {excerpt(theirs)} ({other.place})"
        )
    if key == "id":
        asked = {answer.item.instruction for answer in b.values()}
        if same := sum(answer.item.instruction in asked for answer in a.values()):
            return f"{message}; {same} instructions are the same: leave out the ids to join on them"
    return message


# Both systems in one file


def read_pairs_file(
    path: Source,
    *,
    mapping: Mapping[str, str] | None = None,
    systems: tuple[str, str] = ("a", "b"),
    meanings: Mapping[str, str] | None = None,
    on_bad: OnBad = "refuse",
    limit: int | None = None,
) -> Pairs:
    """Pairs from rows that hold both responses, with what people preferred where it is known.

    ``systems`` names the two sides where the file does not. Of ``chosen`` and ``rejected``,
    chosen was preferred. ``meanings`` says what label values mean (value -> a, b or tie); see
    ``fields.label`` for those understood without. A label that is not understood is an error
    even when bad rows are skipped: the others may then not mean what they seem to. One id may
    come again with other systems, and always with the same instruction. Raises DataError.
    """
    texts = ("response_a", "response_b")
    once = _Once()

    def build(values: Values, place: Place) -> tuple[Pair, object, Place]:
        item, answer = task_of(values, None)
        if answer is not None:
            raise DataError("instruction: ends with an answer, and the row has two others")
        names = _distinct(
            (
                name("system_a", values.get("system_a")) or systems[0],
                name("system_b", values.get("system_b")) or systems[1],
            )
        )
        a, b = (text(side, values.get(side)) for side in texts)
        once(item, names, values, place)
        return _pair(item, (a, b), names), values.get("label"), place

    found, bad = read_as(
        path,
        build,
        fields=(
            *("id", "instruction", *texts, "reference", "category"),
            *("system_a", "system_b", "label"),
        ),
        needed=("instruction", *texts),
        mapping=mapping or {},
        on_bad=on_bad,
    )
    pairs = list(_labelled(found, meanings))
    named = {(pair.a.system, pair.b.system) for pair in pairs}
    return Pairs(
        pairs=pairs[:limit],
        systems=named.pop() if len(named) == 1 else systems,
        bad=bad,
        left=len(pairs) - len(pairs[:limit]),
    )


def _labelled(
    found: list[tuple[Pair, object, Place]], meanings: Mapping[str, str] | None
) -> Iterator[Pair]:
    for pair, value, place in found:
        if value is None or value == "":
            yield pair
            continue
        if isinstance(value, Choice):
            yield replace(pair, label=value)
            continue
        try:
            preferred = label(value, systems=(pair.a.system, pair.b.system), meanings=meanings)
        except DataError as error:
            values = sorted({excerpt(value) for _, value, _ in found})
            raise DataError(
                f"{place}: {error}; the values found are {', '.join(values[:SHOWN])}: say what "
                "each means, as in --label 0=a --label 1=b"
            ) from None
        yield replace(pair, label=preferred)


def read_labels(path: Source, found: Pairs) -> Pairs:
    """The pairs with what people preferred, from rows of an ``id``, or ``instruction``, and a
    ``label``.

    A label is the name of a system, candidate or baseline, or as ``fields.label`` has it. Pairs
    need not all have one; labels of pairs that are not there are left out and counted. Raises
    DataError where a row cannot be read, or an id comes twice, or no id is a pair's.
    """
    pairs = {pair.item.id: pair for pair in found.pairs}
    seen: dict[str, Place] = {}
    sides = {"candidate": Choice.A, "baseline": Choice.B}

    def build(values: Values, place: Place) -> tuple[str, Choice]:
        id = name("id", values.get("id"))
        if id is None and values.get("instruction") is not None:
            id = derived_id(text("instruction", values["instruction"]))
        if id is None or is_blank(id):
            raise DataError("id: is missing")
        if id in seen:
            raise DataError(
                _twice("id", id, seen[id]) + "; people's votes on one pair make one label"
            )
        seen[id] = place
        pair, value = pairs.get(id), values.get("label")
        systems = (pair.a.system, pair.b.system) if pair else found.systems
        side = sides.get(value.strip().lower()) if isinstance(value, str) else None
        return id, side or label(value, systems=systems)

    told, _ = read_as(
        path,
        build,
        fields=("id", "instruction", "label"),
        needed=("label",),
        mapping={},
        on_bad="refuse",
    )
    labels = dict(told)
    if told and not labels.keys() & pairs.keys():
        raise DataError(f"{path}: none of its {len(told)} ids is the id of a pair")
    return replace(
        found,
        pairs=[replace(p, label=labels.get(p.item.id, p.label)) for p in found.pairs],
        labels_left=len(labels.keys() - pairs.keys()),
    )


# What both kinds share


class _Once:
    """Sees to it that an item comes once, and that either all rows have an id or none does."""

    def __init__(self) -> None:
        self.has_ids: bool | None = None
        self.seen: dict[object, Place] = {}
        self.asked: dict[str, tuple[str, Place]] = {}

    def __call__(self, item: Item, systems: tuple[str, ...], values: Values, place: Place) -> None:
        has_id = values.get("id") not in (None, "")
        self.has_ids = has_id if self.has_ids is None else self.has_ids
        if has_id != self.has_ids:
            raise DataError(f"id: is {'given' if has_id else 'missing'} here and not before")
        seen = (item.id, *systems) if systems else item.id
        if first := self.seen.get(seen):
            key = ("id", item.id) if has_id else ("instruction", item.instruction)
            raise DataError(_twice(*key, first))
        if systems:
            asked, first = self.asked.setdefault(item.id, (item.instruction, place))
            if asked != item.instruction:
                raise DataError(f"instruction: id {excerpt(item.id)} has another one at {first}")
        self.seen[seen] = place


def _twice(field: str, value: str, first: Place) -> str:
    return f"{field}: {excerpt(value)} was already at {first}"


def task_of(values: Values, response: str | None) -> tuple[Item, object]:
    """The item of a row, and the response that the row gives to it."""
    asked = values.get("instruction")
    answer = values.get(response) if response else None
    if isinstance(asked, list):
        asked, last = conversation("instruction", asked)
        if last is not None and answer is not None:
            raise DataError("instruction: ends with an answer, and the row has another")
        answer = last if answer is None else answer
    instruction = text("instruction", asked)
    if is_blank(instruction):
        raise DataError("instruction: is empty")
    id = name("id", values.get("id"))
    if id is not None and is_blank(id):
        raise DataError("id: is blank")
    item = Item(
        id=derived_id(instruction) if id is None else id,
        instruction=instruction,
        reference=name("reference", values.get("reference")),
        category=name("category", values.get("category")),
    )
    return item, answer


def _pair(item: Item, texts: tuple[str, str], systems: tuple[str, str]) -> Pair:
    a, b = (
        Response(item_id=item.id, system=system, text=text)
        for system, text in zip(systems, texts, strict=True)
    )
    return Pair(item=item, a=a, b=b)


def _distinct(systems: tuple[str, str]) -> tuple[str, str]:
    a, b = systems
    return (f"{a} (candidate)", f"{b} (baseline)") if a == b else systems


T = TypeVar("T")


def read_as(
    path: Source,
    build: Callable[[Values, Place], T],
    *,
    fields: tuple[str, ...],
    needed: tuple[str, ...],
    mapping: Mapping[str, str],
    on_bad: OnBad,
) -> tuple[list[T], list[Problem]]:
    """What ``build`` makes of each row, and the rows that it, or the file format, refused."""
    check_mapping(mapping, fields)
    built: list[T] = []
    bad: list[Problem] = []
    known: dict[str, None] = {}
    plan = lru_cache(lambda columns: recognise(columns, fields, mapping))
    understood = False
    for row in read_rows(path, bad=bad):
        known |= dict.fromkeys(row.fields)
        try:
            chosen = plan(tuple(row.fields))
            if not understood:
                check_needed(needed, chosen, row.fields, mapping)
                understood = True
            values = {field: row.fields[column] for field, column in chosen.items()}
            if chosen.get("response_a", "").lower() == "chosen":
                values.setdefault("label", Choice.A)
            built.append(build(values, row.place))
        except DataError as error:
            if not understood and on_bad == "refuse":
                raise DataError(f"{row.place.file}: {error}") from None
            bad.append(Problem(row.place, str(error)))
    if known:
        check_columns(mapping, known)
    _settle(bad, bool(built), on_bad)
    return built, bad


def _settle(bad: list[Problem], usable: bool, on_bad: OnBad) -> None:
    """Raise what is wrong, unless it may be skipped and something is left."""
    if bad and (on_bad == "refuse" or not usable):
        lines = [str(problem) for problem in bad[:SHOWN]]
        if len(bad) > SHOWN:
            lines.append(f"and {len(bad) - SHOWN} more bad rows")
        raise DataError("\n".join(lines))
