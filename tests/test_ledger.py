"""The ledger: what it holds is there, whole, and nobody else's to read."""

import os
import sqlite3
import stat
import subprocess
import sys
import textwrap

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twopan.concurrency import together
from twopan.errors import ConfigError, LedgerError
from twopan.ledger import Ledger
from twopan.providers import Completion, Message, Request, TokenLogprobs, Usage

pytestmark = pytest.mark.anyio


def request(text="Which?", **changes):
    return Request(
        endpoint="https://judge.test/v1", model="judge-x", messages=(Message("user", text),),
        **changes,
    )  # fmt: skip


async def answer(ledger, run, asked, completion, cost=None):
    attempt = await ledger.intend(run, asked)
    await ledger.answered(attempt, asked.key, completion, cost)


async def test_a_reply_comes_back_as_it_was(ledger):
    run = ledger.begin([], {}, [])
    reply = Completion(
        text="A\n\u2028 ü 你 \x00",
        logprobs=(TokenLogprobs("A", (("A", -0.1), ("B", None))),),
        usage=Usage(input=10, cached_input=4, output=1),
        model_served="judge-x-2026",
        reasoning="Hm.",
    )
    await answer(ledger, run, request(), reply)
    assert list(ledger.recall(request().key)) == [reply]


async def test_the_newest_reply_comes_first(ledger):
    run = ledger.begin([], {}, [])
    for text in ("old", "new"):
        await answer(ledger, run, request(), Completion(text=text))
    assert [c.text for c in ledger.recall(request().key)] == ["new", "old"]


@pytest.mark.parametrize(
    "changes",
    [{"temperature": 0.7}, {"sample": 1}, {"max_tokens": 5}, {"top_logprobs": 5}, {"schema": {}}],
)
def test_whatever_can_change_an_answer_changes_the_key(changes):
    assert request(**changes).key != request().key


def test_the_parts_of_a_request_do_not_run_into_each_other():
    one = Request(endpoint="e", model="m", messages=(Message("system", "ab"), Message("user", "c")))
    other = Request(
        endpoint="e", model="m", messages=(Message("system", "a"), Message("user", "bc"))
    )
    assert one.key != other.key
    assert request().key != Request(endpoint="x", model="judge-x", messages=request().messages).key


def test_a_default_that_is_spelled_out_changes_nothing():
    assert request(temperature=0.0, sample=0, schema=None).key == request().key


def test_a_key_is_the_same_today_as_when_the_first_ledger_was_written():
    """A change of the key would have everybody pay again; this one must never be edited."""
    assert request().key == "028ab7751df62d952ea36dc567daa79c9a307cf7d05a37ea0221e5b6134516b0"


async def test_it_is_its_owners_alone(tmp_path):
    before = os.umask(0)
    try:
        with Ledger(tmp_path / "new" / "ledger.sqlite") as ledger:
            run = ledger.begin([], {}, [])
            await answer(ledger, run, request(), Completion(text="A"))
            modes = {p.name: stat.S_IMODE(p.stat().st_mode) for p in (tmp_path / "new").iterdir()}
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700
    assert set(modes.values()) == {0o600}, modes


async def test_many_writers_at_once_lose_nothing(ledger):
    run = ledger.begin([], {}, [])
    await together(
        *(answer(ledger, run, request(str(i)), Completion(text=str(i))) for i in range(300))
    )
    assert all(next(ledger.recall(request(str(i)).key)).text == str(i) for i in range(300))
    assert (
        ledger.query("select count(*) as n from attempts where outcome = 'answered'")[0]["n"] == 300
    )


async def test_a_row_that_cannot_be_stored_takes_no_other_with_it(ledger):
    run = ledger.begin([], {}, [])
    results = {}

    async def store(i):
        line = {"item": str(i), "a": "a", "b": "b", "choice": "a", "a_score": 1.0}
        line |= {"consistent": True, "unjudged": None, "note": "\ud835" if i == 37 else ""}
        try:
            await ledger.judged(run, i, line)
        except LedgerError as error:
            results[i] = error

    async with anyio.create_task_group() as tasks:
        for i in range(100):
            tasks.start_soon(store, i)
    assert list(results) == [37]
    assert ledger.query("select count(*) as n from verdicts")[0]["n"] == 99


async def test_a_flipped_byte_is_found_and_not_asked_again(tmp_path):
    path = tmp_path / "ledger.sqlite"
    with Ledger(path) as ledger:
        run = ledger.begin([], {}, [])
        for i in range(30):
            await answer(ledger, run, request(str(i)), Completion(text=f"reply {i}"))
    with sqlite3.connect(path) as db:
        (blob,) = db.execute("select reply from replies where attempt = 17").fetchone()
        flipped = blob[:5] + bytes([blob[5] ^ 1]) + blob[6:]
        db.execute("update replies set reply = ? where attempt = 17", [flipped])
    db.close()
    with Ledger(path) as ledger:
        with pytest.raises(LedgerError, match="reply 17 is damaged"):
            list(ledger.recall(request("16").key))
        assert len(ledger.verify()) == 1
        assert next(ledger.recall(request("15").key)).text == "reply 15"


def test_a_whole_ledger_has_nothing_wrong(ledger):
    assert ledger.verify() == []


@pytest.mark.parametrize("content", [b"cos\nsystem\n(S'touch PWNED'\ntR.", b"not a database" * 99])
def test_a_file_that_is_no_ledger_is_refused_and_left_alone(tmp_path, content):
    path = tmp_path / "ledger.sqlite"
    path.write_bytes(content)
    with pytest.raises(LedgerError, match="cannot be used as a ledger"):
        Ledger(path)
    assert path.read_bytes() == content


def test_a_database_of_something_else_is_refused(tmp_path):
    path = tmp_path / "other.sqlite"
    with sqlite3.connect(path) as db:
        db.execute("create table songs (name text)")
    db.close()
    with pytest.raises(ConfigError, match="not a twopan ledger"):
        Ledger(path)


def test_a_folder_that_cannot_be_written_is_said_at_once(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="no ledger can be kept"):
        Ledger(tmp_path / "file" / "ledger.sqlite")


def test_a_process_that_died_leaves_unknown_outcomes_behind(tmp_path):
    """What was acknowledged before a kill -9 is there; what was under way is unknown."""
    path = tmp_path / "ledger.sqlite"
    script = textwrap.dedent(f"""
        import asyncio, os, signal
        from twopan.ledger import Ledger
        from twopan.providers import Completion, Message, Request
        async def main():
            ledger = Ledger({str(path)!r})
            run = ledger.begin(["gate"], {{}}, [])
            for i in range(20):
                r = Request(endpoint="e", model="m", messages=(Message("user", str(i)),))
                attempt = await ledger.intend(run, r)
                if i < 15:
                    await ledger.answered(attempt, r.key, Completion(text=str(i)), None)
                    print("acknowledged", i, flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
        asyncio.run(main())
    """)
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False
    )
    acknowledged = done.stdout.count("acknowledged")
    assert (done.returncode, acknowledged) == (-9, 15)
    with Ledger(path) as ledger:
        ledger.begin([], {}, [])
        outcomes = ledger.query("select outcome, count(*) as n from attempts group by 1 order by 1")
        states = ledger.query("select state from runs order by rowid")
        assert ledger.verify() == []
    assert outcomes == [{"outcome": "answered", "n": 15}, {"outcome": "unknown", "n": 5}]
    assert [row["state"] for row in states] == ["interrupted", "running"]


async def test_costs_are_added_up_over_all_runs_and_what_has_no_price_is_counted(ledger):
    usage = Usage(input=100, output=10)
    for cost in (0.5, None):
        run = ledger.begin([], {}, [])
        await answer(ledger, run, request(str(cost)), Completion(text="A", usage=usage), cost)
    rows = ledger.query("select cost_usd, unpriced, input_tokens from run_costs order by cost_usd")
    assert [tuple(row.values()) for row in rows] == [(None, 1, 100), (0.5, 0, 100)]


@given(st.text())
def test_any_text_survives(text):
    async def there_and_back():
        with Ledger() as ledger:
            run = ledger.begin([], {}, [])
            await answer(ledger, run, request(text), Completion(text=text))
            return next(ledger.recall(request(text).key)).text, ledger.request(request(text).key)

    import asyncio

    assert asyncio.run(there_and_back()) == (text, request(text))


async def test_a_full_disk_is_said_to_be_one_and_what_was_acknowledged_stays(tmp_path):
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        run = ledger.begin([], {}, [])
        await answer(ledger, run, request("before"), Completion(text="kept"))
        pages = ledger.query("pragma page_count")[0]["page_count"]
        await ledger._write(lambda db: db.execute(f"pragma max_page_count = {pages}"))
        noise = os.urandom(200_000).hex()
        with pytest.raises(LedgerError, match="is the disk full"):
            await answer(ledger, run, request("after"), Completion(text=noise))
        await ledger._write(lambda db: db.execute("pragma max_page_count = 1000000"))
        await answer(ledger, run, request("later"), Completion(text=noise))
        assert next(ledger.recall(request("before").key)).text == "kept"
        assert next(ledger.recall(request("later").key)).text == noise
        assert ledger.verify() == []


def test_1_and_1_0_ask_for_the_same():
    assert request(temperature=1).key == request(temperature=1.0).key


async def test_what_is_written_is_flushed_before_it_is_acknowledged(ledger):
    assert await ledger._write(lambda db: db.execute("pragma synchronous").fetchone()[0]) == 2


def test_a_ledger_with_other_columns_is_refused_before_anything_is_written(tmp_path):
    path = tmp_path / "old.sqlite"
    with Ledger(path):
        pass
    with sqlite3.connect(path) as db:
        db.execute("alter table attempts drop column request_id")
    with pytest.raises(ConfigError, match=r"another version of twopan .*other columns"):
        Ledger(path)
