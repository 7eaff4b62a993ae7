"""Ask in an order that was drawn, and stop where the evidence suffices.

    rows ──drawn──► 7 3 9 1 4 … ──until──► judged, many at once ──add──► prefix ──► stop?

What decides is the *prefix*: everything before the first row that has no outcome yet. So neither
how fast answers come nor how many are under way changes where it stops, and outcomes that were
recorded stop at the same place. What was under way when it stopped is kept, and not counted.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from twopan.stats.sequential import Rules, Stop, walk

T = TypeVar("T")

CLOSELY = 1000
"""Up to so many rows every outcome is looked at when it comes; later every tenth."""


def drawn(rows: Sequence[T], seed: int, id: Callable[[T], str]) -> list[T]:
    """The rows in an order that has nothing to do with what is in them, the same each time.

    By a hash of seed and id: a row more, or rows in another order in the file, and the others keep
    their order.
    """
    return sorted(rows, key=lambda row: hashlib.sha256(f"{seed}\0{id(row)}".encode()).digest())


class Watch:
    """What came of the rows so far, and whether any more are wanted."""

    def __init__(self, rules: Rules | None, *, coverage: float = 0.0) -> None:
        """Without rules it never stops. ``coverage`` is as in :func:`walk`."""
        self.rules, self.coverage = rules, coverage
        self.stop: Stop | None = None
        self._early: dict[int, float | None] = {}
        self._scores: list[float] = []
        self._seen: list[int] = []
        self._prefix = 0

    def until(self, rows: Iterable[T]) -> Iterator[T]:
        """The rows, as long as they are wanted."""
        for row in rows:
            if self.stop is not None:
                return
            yield row

    def add(self, place: int, score: float | None) -> None:
        """An outcome, in whatever order they come; None where there is no score."""
        self._early[place] = score
        while self.stop is None and self._prefix in self._early:
            found = self._early.pop(self._prefix)
            self._prefix += 1
            if found is not None:
                self._scores.append(found)
                self._seen.append(self._prefix)
            self._look()

    def _look(self) -> None:
        if self.rules is None:
            return
        last = self._prefix == self.rules.cap
        if self._prefix <= CLOSELY or self._prefix % 10 == 0 or last:
            self.stop = walk(
                self._scores,
                self.rules,
                seen=self._seen,
                asked=self._prefix,
                coverage=self.coverage,
            )

    @property
    def counted(self) -> int | None:
        """How many rows the decision rests on; None where that is all of them."""
        if self.stop is None or self.stop.stopped == "end":
            return None
        return self._seen[self.stop.n - 1]
