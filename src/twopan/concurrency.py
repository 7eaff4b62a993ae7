"""Structured concurrency: nothing we start outlives the block that started it."""

from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from typing import Any, TypeVar

import anyio

from twopan.errors import TwopanError

T = TypeVar("T")


async def together(*awaitables: Awaitable[T]) -> Sequence[T]:
    """Await all at once, keeping their order.

    Where one fails on purpose the others still finish, for their answers are paid for; then the
    first failure *in order* is raised, so that which one is seen does not depend on timing. One
    that ends the run goes before one that concerns this work alone.
    """
    results: dict[int, T] = {}
    failures: dict[int, TwopanError] = {}

    async def settle(index: int, awaitable: Awaitable[T]) -> None:
        try:
            results[index] = await awaitable
        except TwopanError as failure:
            failures[index] = failure

    async with anyio.create_task_group() as tasks:
        for index, awaitable in enumerate(awaitables):
            tasks.start_soon(settle, index, awaitable)
    if failures:
        raise failures[min(failures, key=lambda i: (not failures[i].ends_the_run, i))]
    return [results[index] for index in sorted(results)]


async def for_each(
    items: Iterable[T], work: Callable[[T], Awaitable[None]], *, workers: int
) -> None:
    """Do the work for every item, so many at a time, drawing the items only as they are needed.

    Where the work fails on purpose no further item is drawn, what is under way is finished, for
    it is paid for, and then the first failure is raised.
    """
    remaining = iter(items)
    failures: list[TwopanError] = []

    async def worker() -> None:
        for item in remaining:
            try:
                await work(item)
            except TwopanError as failure:
                failures.append(failure)
            if failures:
                return

    async with anyio.create_task_group() as tasks:
        for _ in range(workers):
            tasks.start_soon(worker)
    if failures:
        raise failures[0]


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Make any coroutine of ours a plain call, in a script and in a notebook alike.

    A notebook already runs an event loop in this thread, and two cannot be nested; there the
    coroutine runs in a thread of its own. Interrupting the call cancels it in both.
    """
    import asyncio
    import threading
    from concurrent.futures import Future

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)

    outcome: Future[T] = Future()
    begun: Future[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]]] = Future()

    async def cancellable() -> T:
        task = asyncio.current_task()
        assert task is not None
        begun.set_result((asyncio.get_running_loop(), task))
        return await coroutine

    def elsewhere() -> None:
        try:
            outcome.set_result(asyncio.run(cancellable()))
        except BaseException as error:
            outcome.set_exception(error)

    threading.Thread(target=elsewhere, name="twopan-run").start()
    try:
        return outcome.result()
    except KeyboardInterrupt:
        loop, task = begun.result()
        loop.call_soon_threadsafe(task.cancel)
        outcome.exception()  # waits until it is done
        raise
