"""Running a judging verb: signals, progress, and what is said when it stops early."""

import asyncio
import shlex
import signal
import sys
from collections.abc import Awaitable, Callable
from contextlib import ExitStack, contextmanager, suppress
from types import TracebackType
from typing import Any, TypeVar

import anyio
import click

from twopan.cli.options import Options
from twopan.client import Budget
from twopan.data import Pair
from twopan.errors import BudgetReached, Interrupted, TwopanError
from twopan.jury import Each, Outcome
from twopan.ledger import Ledger, default_path
from twopan.session import Session, open_session

T = TypeVar("T")
Advance = Callable[[], None]
"""Says that one more is done."""


def judged(
    options: Options,
    total: int,
    work: Callable[[Session, Advance], Awaitable[T]],
    *,
    budget: Budget | None = None,
    title: str = "",
    what: str = "pairs",
) -> tuple[T, Session]:
    """Do the work in a session of its own, showing how far it is.

    ``budget`` is one that several sessions share, ``title`` what the progress is of. Where it
    stops early, says what is kept and which command goes on; then raises what stopped it.
    """
    with Ledger(options.ledger or default_path()) as ledger, Progress(total, title) as progress:
        try:
            return asyncio.run(_judged(options, ledger, progress, work, budget))
        except (Interrupted, BudgetReached, TwopanError) as error:
            progress.close()
            if isinstance(error, Interrupted | BudgetReached) or progress.done:
                again = shlex.join(["twopan", *sys.argv[1:]])
                click.echo(
                    f"{progress.done} of {total} {what} are done, and kept in {ledger.path}.\n"
                    "To resume, run the same command again; what is kept is not paid for again:\n"
                    f"  {again}",
                    err=True,
                )
            raise


async def _judged(
    options: Options,
    ledger: Ledger,
    progress: "Progress",
    work: Callable[[Session, Advance], Awaitable[T]],
    budget: Budget | None,
) -> tuple[T, Session]:
    async with open_session(
        options.specs,
        ledger=ledger,
        protocol=options.protocol,
        rubric=options.the_rubric,
        prompts=options.the_prompts,
        settings=options.settings,
        budget=budget or options.the_budget,
        concurrency=options.concurrency,
        attempt_timeout=options.timeout,
        deadline=options.deadline,
        offline=options.offline,
        command=["twopan", *sys.argv[1:]],
        config=options.record,
    ) as session:
        progress.session = session

        with anyio.CancelScope() as scope, handled_signals(session, scope):
            result = await work(session, progress.advance)
        if scope.cancelled_caught:
            raise Interrupted("interrupted")
        return result, session


def keeping(session: Session, advance: Advance) -> Each:
    """What is to be done with every outcome: keep it, and show that it is there."""

    async def each(place: int, pair: Pair, outcome: Outcome) -> None:
        await session.keep(place, pair, outcome)
        advance()

    return each


@contextmanager
def handled_signals(session: Session, scope: anyio.CancelScope) -> Any:
    """The first signal lets paid calls finish and starts no more; the second leaves at once."""
    loop = asyncio.get_running_loop()

    def stop() -> None:
        if not asked and session.interrupt():
            click.echo("\nFinishing the calls under way; once more to leave at once.", err=True)
        else:
            scope.cancel()
        asked.append(True)

    asked: list[bool] = []
    with ExitStack() as handlers:
        # A platform without signal handlers is left with KeyboardInterrupt.
        with suppress(NotImplementedError):
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.add_signal_handler(number, stop)
                handlers.callback(loop.remove_signal_handler, number)
        yield


class Progress:
    """A bar with rate and time left, on a terminal; elsewhere nothing."""

    def __init__(self, total: int, title: str = "") -> None:
        self.total, self.title, self.done = total, title, 0
        self.session: Session | None = None
        self._bar: Any = None

    def __enter__(self) -> "Progress":
        if sys.stderr.isatty():
            from rich import progress
            from rich.console import Console

            self._bar = progress.Progress(
                progress.TextColumn(f"judging {self.title}".strip()),
                progress.BarColumn(bar_width=30),
                progress.MofNCompleteColumn(),
                progress.TextColumn("{task.fields[rate]}"),
                progress.TimeRemainingColumn(compact=True),
                progress.TextColumn("left  {task.fields[calls]}"),
                console=Console(stderr=True),
                transient=True,
            )
            self._task = self._bar.add_task("", total=self.total, rate="", calls="")
            self._bar.start()
        return self

    def advance(self) -> None:
        self.done += 1
        if self._bar is None or self.session is None:
            return
        spent = self.session.spent()
        calls = f"{spent.calls} calls, {spent.recalled} recalled"
        money = f", ${spent.cost_usd:.2f}" if spent.cost_usd else ""
        rate = f"{60 * self.done / max(spent.seconds, 0.001):.0f} a minute"
        self._bar.update(self._task, advance=1, rate=rate, calls=calls + money)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
