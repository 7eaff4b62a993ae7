"""Asking one judge after the other, in one protocol after the other."""

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from twopan.cli.options import Options
from twopan.cli.running import Advance, judged
from twopan.errors import BudgetReached
from twopan.judges import find_protocol
from twopan.session import Session

if TYPE_CHECKING:
    from twopan.pipelines.meta_evaluate import Asked

T = TypeVar("T")


def each_alone(options: Options, judges: Sequence[str], protocols: Sequence[str]) -> list[Options]:
    """The options of a run for each judge and protocol, all of them checked: ConfigError."""
    asked = [
        replace(options, judge=(judge,), protocol=protocol)
        for protocol in protocols or (options.protocol,)
        for judge in judges
    ]
    for one in asked:
        _ = one.specs
        find_protocol(one.protocol or "pairwise")
    return asked


def ask_all(
    asked: Sequence[Options],
    total: int,
    work: Callable[[Session, Advance], Awaitable[Sequence[T]]],
    *,
    what: str,
) -> "list[Asked[T]]":
    """Do the work in a session for each, out of one budget and before one deadline.

    ``total`` of ``what`` are judged in each. Raises what ended a run early.
    """
    from twopan.pipelines.meta_evaluate import Cost
    from twopan.pipelines.recorded import trials

    done: list[tuple[str, Sequence[T], Cost]] = []
    began = time.monotonic()
    budget = asked[0].the_budget if asked else None
    for number, options in enumerate(asked, 1):
        left = None if options.deadline is None else options.deadline + began - time.monotonic()
        if left is not None and left <= 0:
            raise BudgetReached("the time allowed for the run is used up")
        title = f"{number} of {len(asked)}"
        outcomes, session = judged(
            replace(options, deadline=left), total, work, budget=budget, title=title, what=what
        )
        done.append((session.signature, outcomes, Cost.of(session.used(), total)))
    return trials(done)
