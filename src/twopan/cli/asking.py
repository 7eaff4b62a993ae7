"""Asking one judge after the other, in one protocol after the other."""

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from twopan.cli.options import Options
from twopan.cli.running import Advance, judged
from twopan.cli.show import Rehearse, rehearsed
from twopan.errors import BudgetReached, ConfigError
from twopan.session import Session

if TYPE_CHECKING:
    from twopan.pipelines.trials import Asked

T = TypeVar("T")


def each_alone(options: Options, judges: Sequence[str], protocols: Sequence[str]) -> list[Options]:
    """The options of a run for each judge and protocol. Raises ConfigError where one is twice."""
    for what, names in (("judge", judges), ("protocol", protocols)):
        if twice := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
            raise ConfigError(f"--{what} {twice[0]} is named twice")
    return [
        replace(options, judge=(judge,), protocol=protocol)
        for protocol in protocols or (options.protocol,)
        for judge in judges
    ]


def check_all(asked: Sequence[Options], rehearse: Rehearse) -> None:
    """Seat every judge and rehearse, so that what is wrong with the last is said before the first
    is paid for: ConfigError."""
    for options in asked:
        rehearsed(options, rehearse, set())


def in_time(options: Options, began: float) -> Options:
    """The options with what is left of the deadline. Raises BudgetReached where nothing is."""
    left = None if options.deadline is None else options.deadline + began - time.monotonic()
    if left is not None and left <= 0:
        raise BudgetReached("the time allowed for the run is used up")
    return replace(options, deadline=left)


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
    from twopan.pipelines.trials import Cost, trials

    done: list[tuple[str, Sequence[T], Cost]] = []
    began = time.monotonic()
    budget = asked[0].the_budget if asked else None
    for number, options in enumerate(asked, 1):
        title = f"{number} of {len(asked)}"
        outcomes, session = judged(
            in_time(options, began), total, work, budget=budget, title=title, what=what
        )
        done.append((session.signature, outcomes, Cost.of(session.used(), total)))
    return trials(done)
