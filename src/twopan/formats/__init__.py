"""Benchmarks of judges, each read from the files that its publisher distributes.

    load("llmbar", "LLMBar/Dataset/LLMBar") -> Pairs, every one with its label and its category

A format is one function ``(path) -> Pairs``. Here stands what the built-in ones share: a row
becomes a pair or a problem that names its file, line and field, and a file with a problem is
refused, for a benchmark that lacks rows is another benchmark. Nothing is downloaded; the first
lines of each module say where a file comes from and under which licence.
"""

from collections.abc import Callable, Mapping

from twopan.data import Item, Pair, Response
from twopan.datasets import SHOWN, Pairs, Source
from twopan.errors import DataError
from twopan.fields import excerpt, is_blank, name, text
from twopan.plugins import find
from twopan.rows import Place, Problem, read_rows, shown
from twopan.verdict import Choice

FORMATS = {
    "judgebench": "twopan.formats.judgebench:read",
    "llmbar": "twopan.formats.llmbar:read",
    "mtbench": "twopan.formats.mtbench:read",
    "pairs": "twopan.datasets:read_pairs_file",
    "rewardbench": "twopan.formats.rewardbench:read",
}
"""``pairs`` is the general one: it knows the usual names of columns, and so most other files."""


def load(name: str, path: Source) -> Pairs:
    """The pairs of a published file, by the name of its format: ours or ``module:attribute``.

    Raises ConfigError for a name that is none, DataError for a file that is not of that format.
    """
    read: Callable[[Source], Pairs] = find("format", name, FORMATS)
    return read(path)


Columns = Mapping[str, object]


def gather(
    path: Source,
    needs: tuple[str, ...],
    build: Callable[[Columns, int], Pair | None],
    *,
    votes: bool = False,
) -> Pairs:
    """The pairs that ``build`` makes of the rows of a file, numbered from 0; None leaves one out.

    ``needs`` are the columns without which it is another kind of file. Two rows of one item and
    the same systems are ``votes`` of several people, or else an error. Raises DataError, one line
    a problem.
    """
    pairs: list[Pair] = []
    bad: list[Problem] = []
    seen: dict[tuple[str, str, str], Place] = {}
    asked: dict[str, tuple[str, Place]] = {}
    for number, row in enumerate(read_rows(path, bad=bad)):
        if missing := [column for column in needs if column not in row.fields]:
            found = ", ".join(map(shown, row.fields))
            raise DataError(f"{row.place}: no column {', '.join(missing)}; there are {found}")
        try:
            pair = build(row.fields, number)
            if pair is None:
                continue
            first = seen.setdefault((pair.item.id, pair.a.system, pair.b.system), row.place)
            if first is not row.place and not votes:
                raise DataError(f"id: {excerpt(pair.item.id)} was already at {first}")
            instruction, first = asked.setdefault(pair.item.id, (pair.item.instruction, row.place))
            if instruction != pair.item.instruction:
                raise DataError(f"id: {excerpt(pair.item.id)} has another instruction at {first}")
            pairs.append(pair)
        except DataError as error:
            bad.append(Problem(row.place, str(error)))
    if bad:
        more = [f"and {len(bad) - SHOWN} more bad rows"] if len(bad) > SHOWN else []
        raise DataError("\n".join([*map(str, bad[:SHOWN]), *more]))
    systems = {(pair.a.system, pair.b.system) for pair in pairs}
    return Pairs(pairs=pairs, systems=systems.pop() if len(systems) == 1 else ("a", "b"))


def make_item(id: str, category: str | None, field: str, instruction: object) -> Item:
    """An item; ``field`` is the column that the instruction is in. Raises DataError."""
    asked = text(field, instruction)
    if is_blank(asked):
        raise DataError(f"{field}: is empty")
    return Item(id=id, instruction=asked, category=category)


def make_pair(item: Item, a: tuple[str, str], b: tuple[str, str], label: Choice) -> Pair:
    """A pair of (system, text) and (system, text)."""
    first, second = (Response(item_id=item.id, system=system, text=text) for system, text in (a, b))
    return Pair(item=item, a=first, b=second, label=label)


def needed(field: str, value: object) -> str:
    """``value`` as a name, which must be there. Raises DataError."""
    found = name(field, value)
    if found is None or is_blank(found):
        raise DataError(f"{field}: is missing")
    return found


def meaning(field: str, value: object, meanings: Mapping[str, Choice]) -> Choice:
    """What a label means, of those that the format has and no others. Raises DataError."""
    try:
        return meanings[str(value)]
    except KeyError:
        raise DataError(f"{field}: {excerpt(value)} is none of {', '.join(meanings)}") from None
