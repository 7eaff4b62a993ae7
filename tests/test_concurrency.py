"""What is started together ends together, and what comes of it does not depend on timing."""

import asyncio
import subprocess
import sys

import anyio
import pytest

from twopan.concurrency import for_each, run, together
from twopan.errors import BudgetReached, Malformed, Refused, TwopanError, Unparsed, Unreachable

pytestmark = pytest.mark.anyio


class Gates:
    """Work that ends when the test says so."""

    def __init__(self, *names):
        self.open = {name: anyio.Event() for name in names}
        self.ended = []

    async def __call__(self, name, failure=None):
        await self.open[name].wait()
        self.ended.append(name)
        if failure:
            raise failure
        return name


async def test_results_keep_the_order_of_what_was_asked_not_of_what_ended():
    gates = Gates("one", "two", "three")
    results = []

    async def ask():
        results.extend(await together(*map(gates, gates.open)))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask)
        for name in ("three", "one", "two"):
            gates.open[name].set()
            await anyio.wait_all_tasks_blocked()
    assert gates.ended == ["three", "one", "two"]
    assert results == ["one", "two", "three"]


async def test_nothing_together_is_nothing():
    assert list(await together()) == []


async def test_a_failure_waits_for_the_others_and_the_first_in_order_is_raised():
    gates = Gates("one", "two", "three")
    raised = []

    async def ask():
        try:
            await together(
                gates("one"), gates("two", Refused("two")), gates("three", Unreachable("three"))
            )
        except TwopanError as error:
            raised.append((error, list(gates.ended)))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask)
        for name in ("three", "two", "one"):
            gates.open[name].set()
            await anyio.wait_all_tasks_blocked()
    [(error, ended)] = raised
    assert str(error) == "two"
    assert ended == ["three", "two", "one"]


async def test_a_mistake_in_our_own_code_stops_the_others_at_once():
    finished = []

    async def slow():
        await anyio.sleep_forever()
        finished.append("slow")

    async def broken():
        raise ZeroDivisionError

    with pytest.raises(ExceptionGroup) as group:
        await together(slow(), broken())
    assert group.group_contains(ZeroDivisionError)
    assert finished == []


async def test_every_item_is_worked_on_once():
    done = []

    async def work(item):
        await anyio.lowlevel.checkpoint()
        done.append(item)

    await for_each(range(50), work, workers=7)
    assert sorted(done) == list(range(50))


@pytest.mark.parametrize("workers", [1, 3])
async def test_items_are_drawn_as_they_are_needed_and_so_many_at_once(workers):
    drawn, finished, most = 0, 0, 0

    def items():
        nonlocal drawn
        for item in range(20):
            drawn += 1
            yield item

    async def work(item):
        nonlocal finished, most
        most = max(most, drawn - finished)
        await anyio.lowlevel.checkpoint()
        finished += 1

    await for_each(items(), work, workers=workers)
    assert finished == 20
    assert most == workers


async def test_an_endless_supply_is_drawn_from_only_until_a_failure():
    drawn = []

    def items():
        item = 0
        while True:
            drawn.append(item)
            yield item
            item += 1

    async def work(item):
        await anyio.lowlevel.checkpoint()
        if item == 5:
            raise Malformed("five")

    with pytest.raises(Malformed, match="five"):
        await for_each(items(), work, workers=2)
    assert len(drawn) <= 7


async def test_what_is_under_way_when_something_fails_is_finished():
    gates = Gates("fails", "paid for", "never begun")
    raised = []

    async def work(name):
        await gates(name, Unreachable(name) if name == "fails" else None)

    async def all_of_it():
        try:
            await for_each(gates.open, work, workers=2)
        except TwopanError as error:
            raised.append(str(error))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(all_of_it)
        gates.open["never begun"].set()
        gates.open["fails"].set()
        await anyio.wait_all_tasks_blocked()
        assert raised == []
        gates.open["paid for"].set()
    assert raised == ["fails"]
    assert gates.ended == ["fails", "paid for"]


async def answer():
    await anyio.lowlevel.checkpoint()
    return 42


async def fail():
    raise Refused("no")


def test_run_is_a_plain_call():
    assert run(answer()) == 42
    with pytest.raises(Refused, match="no"):
        run(fail())


def test_run_works_in_a_script():
    script = "from twopan.concurrency import run\nasync def f(): return 42\nprint(run(f()))"
    printed = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True
    )
    assert printed.stdout == "42\n"


def test_run_works_where_a_loop_already_runs():
    """CONC-006: as in a notebook, where every cell is run by a loop."""

    async def cell():
        return run(answer())

    assert asyncio.run(cell()) == 42


def test_run_in_a_loop_raises_what_was_raised():
    async def cell():
        return run(fail())

    with pytest.raises(Refused, match="no"):
        asyncio.run(cell())


def test_interrupting_a_call_beside_a_running_loop_cancels_it(tmp_path):
    """As in a notebook: the coroutine is told, and the call does not wait for it to be done."""
    script = """
import asyncio, os, signal, threading, time
from twopan.concurrency import run
async def work():
    threading.Timer(0.2, os.kill, [os.getpid(), signal.SIGINT]).start()
    try:
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        print("cancelled", flush=True)
        raise
async def cell():
    run(work())
signal.signal(signal.SIGINT, signal.default_int_handler)
loop = asyncio.new_event_loop()
try:
    loop.run_until_complete(cell())
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=30, check=False
    )
    assert done.stdout.split() == ["cancelled", "interrupted"], done.stderr


@pytest.mark.anyio
async def test_a_failure_that_ends_the_run_goes_before_one_that_does_not():
    async def fail(error):
        raise error

    with pytest.raises(BudgetReached):
        await together(fail(Unparsed("no_verdict")), fail(BudgetReached("spent")))
