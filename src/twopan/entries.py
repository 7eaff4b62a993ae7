"""What several systems answered to the same items, as a tournament needs it.

    FILE FILE FILE ──► rows ──► Entries: systems × items ──► the pair of any two systems on an item

A file holds what one system answered or what several did, one answer a row with the
system's name in a column of its own (``datasets.read_systems``).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from twopan.data import Item, Pair, Response
from twopan.datasets import SHOWN, OnBad, Responses, Source, read_systems
from twopan.errors import DataError
from twopan.rows import Problem, shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Entries:
    """Systems and items in the order of the files, and who answered what."""

    systems: tuple[str, ...]
    items: tuple[Item, ...]
    texts: Mapping[tuple[int, int], str]
    """(system, item), by their numbers -> the response."""
    joined_on: str
    """"id" or "instruction"."""
    bad: list[Problem] = field(default_factory=list)
    alone: int = 0
    """Items that only one system answered, and that are left out."""
    left: int = 0
    """Items beyond the limit that was asked for."""

    def pair(self, a: int, b: int, item: int) -> Pair:
        """Two systems' responses to an item. Raises KeyError where one has none."""
        asked = self.items[item]
        first, second = (
            Response(item_id=asked.id, system=self.systems[n], text=self.texts[n, item])
            for n in (a, b)
        )
        return Pair(item=asked, a=first, b=second)

    @property
    def holes(self) -> dict[str, int]:
        """How many of the items each system did not answer, where it left some out."""
        answered = Counter(system for system, _ in self.texts)
        missing = {name: len(self.items) - answered[n] for n, name in enumerate(self.systems)}
        return {name: n for name, n in missing.items() if n}

    def taking(self, items: Sequence[int]) -> "Entries":
        """Only these items."""
        number = {old: new for new, old in enumerate(items)}
        texts = {(s, number[i]): text for (s, i), text in self.texts.items() if i in number}
        return replace(
            self,
            items=tuple(self.items[i] for i in items),
            texts=texts,
            left=self.left + len(self.items) - len(items),
        )

    def notes(self) -> list[str]:
        """What a person should know about these entries, a line each."""
        lines = [
            f"{len(self.systems)} systems, {len(self.items)} items, joined on {self.joined_on}"
        ]
        if self.left:
            lines.append(f"{self.left} more items were left out by the limit")
        if self.alone:
            lines.append(f"{self.alone} items that only one system answered were left out")
        if self.holes:
            some = [f"{shown(name)} {n}" for name, n in self.holes.items()]
            more = ", ..." if len(some) > 5 else ""
            lines.append(f"not every system answered every item: {', '.join(some[:5])}{more}")
        if self.bad:
            lines.append(f"{len(self.bad)} bad rows were left out:")
            lines += [f"  {problem}" for problem in self.bad[:SHOWN]]
        return lines


def read_entries(
    files: Sequence[Source],
    *,
    mapping: Mapping[str, str] | None = None,
    on_bad: OnBad = "refuse",
) -> Entries:
    """The responses of all the systems of these files.

    Joined on the id where all files have ids, else on the whole instruction. Two files whose
    systems have one name are told apart by the names of the files. Raises DataError where there
    are fewer than two systems, where one answers an item twice, where one id stands for two
    instructions, and where no item has two answers.
    """
    found: list[tuple[Source, Responses]] = []
    for file in files:
        found += [(file, one) for one in read_systems(file, mapping=mapping, on_bad=on_bad)]
    named = _named(found)
    if len(named) < 2:
        raise DataError(
            "a ranking needs two systems or more: name a file for each, or one file with the"
            " system of each row in a column (--map system=COLUMN)"
        )
    has_ids = all(one.has_ids for _, one in found)
    items: dict[str, Item] = {}
    texts: dict[tuple[str, str], str] = {}
    wrong: list[str] = []
    for system, one in named.items():
        for answer in one.answers:
            key = answer.item.id if has_ids else answer.item.instruction
            item = items.setdefault(key, answer.item)
            if item.instruction != answer.item.instruction:
                wrong.append(
                    f"{answer.place}: instruction: id {shown(key)} has another instruction in"
                    " another file: they are not the same item"
                )
            elif (system, key) in texts:
                wrong.append(f"{answer.place}: {shown(system)} answers {shown(key)} a second time")
            else:
                texts[system, key] = answer.response.text
    if wrong:
        more = [f"and {len(wrong) - SHOWN} more"] if len(wrong) > SHOWN else []
        raise DataError("\n".join(wrong[:SHOWN] + more))
    answered = Counter(key for _, key in texts)
    shared = [key for key in items if answered[key] > 1]
    if not shared:
        by = "id" if has_ids else "instruction"
        raise DataError(f"no item was answered by two of the systems: 0 matched by {by}")
    number = {key: n for n, key in enumerate(shared)}
    names = list(named)
    return Entries(
        systems=tuple(names),
        items=tuple(items[key] for key in shared),
        texts={(names.index(s), number[k]): t for (s, k), t in texts.items() if k in number},
        joined_on="id" if has_ids else "instruction",
        bad=[problem for _, one in found for problem in one.bad],
        alone=len(items) - len(shared),
    )


def _named(found: Sequence[tuple[Source, Responses]]) -> dict[str, Responses]:
    """Each system under a name of its own."""
    names = Counter(one.system for _, one in found)
    named: dict[str, Responses] = {}
    for file, one in found:
        name = one.system if names[one.system] == 1 else f"{one.system} ({Path(file).name})"
        if name in named:
            raise DataError(
                f"{shown(str(file))}: a second file of {shown(one.system)}; give the two systems"
                " names that differ, or put all rows of a system into one file"
            )
        named[name] = one
    return named
