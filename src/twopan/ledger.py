"""The record of everything a judge was asked and said: one SQLite file, append-only.

The ledger is also the cache. There is no second store to invalidate or to trust.

Whatever a method promised is on disk when it returns: write-ahead log, synchronous=FULL. One
thread does all the writing and commits everything that is waiting in one transaction, so a
thousand writers cost one flush of the disk and not a thousand. Reading has a connection of its
own and never waits.
"""

import asyncio
import hashlib
import json
import os
import platform
import queue
import secrets
import sqlite3
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import closing
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import zstandard

from twopan.errors import ConfigError, LedgerError
from twopan.providers import Completion, Request, Usage

T = TypeVar("T")
Write = tuple[Callable[[sqlite3.Connection], Any], "Future[Any]"]

SCHEMA_VERSION = "1"
BUSY_S = 60.0
"""How long to wait for another process that is writing."""


class Ledger:
    """One file at ``path``, made on first use and readable by its owner alone.

    Without a path the ledger is a temporary file that is gone when it is closed.
    Raises LedgerError where the file cannot be used, or is no ledger.
    """

    def __init__(self, path: Path | str | None = None, *, read_only: bool = False) -> None:
        self._folder = None if path else tempfile.TemporaryDirectory(prefix="twopan-")
        self.path = Path(path or Path(self._folder.name) / "ledger.sqlite")  # type: ignore[union-attr]
        self.read_only = read_only
        if not read_only:
            _create_private(self.path)
        elif not self.path.is_file():
            raise ConfigError(f"no ledger at {self.path}")
        self._reader = self._connect()
        self._queue: queue.SimpleQueue[Write | None] = queue.SimpleQueue()
        self._writer: threading.Thread | None = None
        if not read_only:
            self._prepare()
        self._compress = zstandard.ZstdCompressor(level=9)
        self._decompress = zstandard.ZstdDecompressor()

    # ---- what a client needs -------------------------------------------------------------

    def recall(self, key: str) -> Iterator[Completion]:
        """Every completion that answers this request, newest first."""
        rows = self._read(
            "select attempt, reply, checksum from replies where key = ? order by attempt desc", key
        )
        for attempt, blob, checksum in rows:
            yield self._unpack(blob, checksum, f"reply {attempt}", Completion)

    async def intend(self, run: str, request: Request) -> int:
        """Say that a request is about to be sent. Returns the number of the attempt."""
        blob = self._compress.compress(msgspec.json.encode(request, order="deterministic"))
        call = (request.key, request.endpoint, request.model, blob)

        def write(db: sqlite3.Connection) -> int:
            db.execute("insert or ignore into calls values (?, ?, ?, ?)", call)
            cursor = db.execute(
                "insert into attempts (key, run, started_at, outcome) values (?, ?, ?, 'pending')",
                (request.key, run, now()),
            )
            return int(cursor.lastrowid or 0)

        return await self._write(write)

    async def answered(
        self, attempt: int, key: str, completion: Completion, cost_usd: float | None
    ) -> None:
        """Keep what came back. It is on disk when this returns."""
        blob = self._compress.compress(msgspec.json.encode(completion))
        usage = completion.usage
        settled = (
            now(), completion.request_id, usage.input, usage.cached_input, usage.output,
            cost_usd, attempt,
        )  # fmt: skip
        reply = (
            attempt,
            key,
            completion.model_served,
            completion.finish_reason,
            blob,
            digest(blob),
        )

        def write(db: sqlite3.Connection) -> None:
            db.execute(
                "update attempts set outcome = 'answered', ended_at = ?, request_id = ?,"
                " input_tokens = ?, cached_tokens = ?, output_tokens = ?, cost_usd = ?"
                " where id = ?",
                settled,
            )
            db.execute("insert into replies values (?, ?, ?, ?, ?, ?)", reply)

        await self._write(write)

    async def failed(
        self,
        attempt: int,
        outcome: str,
        error: str,
        usage: Usage | None = None,
        cost_usd: float | None = None,
    ) -> None:
        """Keep that no usable answer came back, why, and what it cost where that is known."""
        tokens = (usage.input, usage.cached_input, usage.output) if usage else (None, None, None)
        row = (outcome, error[:2000], now(), *tokens, cost_usd, attempt)
        await self._write(
            lambda db: db.execute(
                "update attempts set outcome = ?, error = ?, ended_at = ?, input_tokens = ?,"
                " cached_tokens = ?, output_tokens = ?, cost_usd = ? where id = ?",
                row,
            )
        )

    # ---- what a pipeline needs -----------------------------------------------------------

    def begin(
        self, command: Sequence[str], config: Mapping[str, Any], signatures: Sequence[str]
    ) -> str:
        """Open a run, and close those that died without saying so. Returns its id."""
        self._bury_the_dead()
        moment = now()
        run = f"{moment[:19].replace(':', '').replace('-', '')}-{secrets.token_hex(3)}"
        from twopan import __version__

        row = (
            run, moment, None, "running", platform.node(), os.getpid(), __version__,
            *(json.dumps(x, ensure_ascii=False) for x in (list(command), config, list(signatures))),
        )  # fmt: skip
        self._submit(
            lambda db: db.execute("insert into runs values (?,?,?,?,?,?,?,?,?,?)", row)
        ).result()
        return run

    def end(self, run: str, state: str) -> None:
        """Close a run. What it had sent and not heard back becomes an unknown outcome."""

        def write(db: sqlite3.Connection) -> None:
            db.execute(
                "update attempts set outcome = 'unknown', ended_at = ?"
                " where run = ? and outcome = 'pending'",
                (now(), run),
            )
            db.execute("update runs set state = ?, ended_at = ? where id = ?", (state, now(), run))

        self._submit(write).result()

    async def judged(self, run: str, place: int, line: Mapping[str, Any]) -> None:
        """Keep a verdict line, and the place of its pair in the data."""
        row = (
            run, place, line["item"], line["a"], line["b"], line["choice"], line["a_score"],
            line["consistent"], line["unjudged"], json.dumps(line, ensure_ascii=False),
        )  # fmt: skip
        await self._write(
            lambda db: db.execute(
                "insert or replace into verdicts values (?,?,?,?,?,?,?,?,?,?)", row
            )
        )

    # ---- what a person needs -------------------------------------------------------------

    def query(self, sql: str, *parameters: object) -> list[dict[str, Any]]:
        """Rows of the ledger's own tables and views, as dictionaries."""
        cursor = self._execute(sql, parameters)
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor]

    def request(self, key: str) -> Request | None:
        rows = list(self._read("select request from calls where key = ?", key))
        return (
            msgspec.json.decode(self._decompress.decompress(rows[0][0]), type=Request)
            if rows
            else None
        )

    def verify(self) -> list[str]:
        """What is wrong with the file, one line each; nothing where it is whole."""
        wrong = [
            f"sqlite: {row[0]}" for row in self._read("pragma integrity_check") if row[0] != "ok"
        ]
        for attempt, blob, checksum in self._read("select attempt, reply, checksum from replies"):
            try:
                self._unpack(blob, checksum, f"reply {attempt}", Completion)
            except LedgerError as error:
                wrong.append(str(error))
        for key, blob in self._read("select key, request from calls"):
            try:
                actual = msgspec.json.decode(self._decompress.decompress(blob), type=Request).key
            except (zstandard.ZstdError, msgspec.MsgspecError):
                actual = None
            if actual != key:
                wrong.append(f"call {key[:12]}: the request stored is not the one that was keyed")
        return wrong

    def vacuum(self) -> None:
        self._submit(lambda db: None).result()  # everything that waits is written
        with closing(sqlite3.connect(self.path, timeout=BUSY_S, isolation_level=None)) as db:
            db.execute("pragma wal_checkpoint(truncate)")
            db.execute("vacuum")

    def close(self) -> None:
        if self._writer is not None:
            self._queue.put(None)
            self._writer.join()
            self._writer = None
        self._reader.close()
        if self._folder is not None:
            self._folder.cleanup()

    def __enter__(self) -> "Ledger":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- how ----------------------------------------------------------------------------

    def _connect(self) -> sqlite3.Connection:
        try:
            if self.read_only:
                uri = f"{self.path.resolve().as_uri()}?mode=ro"
                db = sqlite3.connect(uri, uri=True, timeout=BUSY_S, check_same_thread=False)
            else:
                db = sqlite3.connect(
                    self.path, timeout=BUSY_S, isolation_level=None, check_same_thread=False
                )
            db.execute("select count(*) from sqlite_master").fetchone()
        except sqlite3.Error as error:
            raise LedgerError(f"{self.path} cannot be used as a ledger: {error}") from None
        return db

    def _prepare(self) -> None:
        try:
            self._reader.execute("pragma journal_mode = wal")
            tables = {r[0] for r in self._reader.execute("select name from sqlite_master")}
            if tables and "meta" not in tables:
                raise ConfigError(f"{self.path} is a database, but not a twopan ledger")
            schema = files("twopan").joinpath("schema.sql").read_text()
            self._reader.executescript(schema)
            with closing(sqlite3.connect(":memory:")) as model:
                model.executescript(schema)
                same = columns_of(self._reader) == columns_of(model)
            self._reader.execute(
                "insert or ignore into meta values ('schema', ?)", (SCHEMA_VERSION,)
            )
            found = self._reader.execute("select value from meta where name = 'schema'").fetchone()
        except sqlite3.Error as error:
            raise LedgerError(f"{self.path} cannot be used as a ledger: {error}") from None
        if found[0] != SCHEMA_VERSION or not same:
            raise ConfigError(
                f"{self.path} was written by another version of twopan (schema {found[0]}"
                f"{'' if same else ', with other columns'}); name another file with --ledger"
            )

    def _bury_the_dead(self) -> None:
        for run in self.query("select id, host, pid from runs where state = 'running'"):
            if run["host"] == platform.node() and not alive(run["pid"]):
                self.end(run["id"], "interrupted")

    def _read(self, sql: str, *parameters: object) -> Iterator[tuple[Any, ...]]:
        try:
            yield from self._execute(sql, parameters)
        except sqlite3.Error as error:
            raise self._unreadable(error) from None

    def _execute(self, sql: str, parameters: Iterable[object]) -> sqlite3.Cursor:
        try:
            return self._reader.execute(sql, tuple(parameters))
        except sqlite3.Error as error:
            raise self._unreadable(error) from None

    def _unreadable(self, error: sqlite3.Error) -> LedgerError:
        return LedgerError(f"{self.path}: {error}; try `twopan ledger verify`")

    def _unpack(self, blob: bytes, checksum: str, what: str, kind: type[T]) -> T:
        """Decode a stored record. A damaged one is an error, never a reason to ask again."""
        if digest(blob) != checksum:
            raise LedgerError(
                f"{self.path}: {what} is damaged (its checksum differs); restore the file from a"
                " copy, or remove that reply to have it asked again"
            )
        return msgspec.json.decode(self._decompress.decompress(blob), type=kind)

    async def _write(self, operation: Callable[[sqlite3.Connection], T]) -> T:
        # Shielded: what was handed over gets written even if nobody waits any more.
        future = asyncio.wrap_future(self._submit(operation))
        return await asyncio.shield(future)

    def _submit(self, operation: Callable[[sqlite3.Connection], T]) -> "Future[T]":
        if self.read_only:
            raise LedgerError(f"{self.path} was opened for reading only")
        if self._writer is None:
            db = self._connect()
            db.execute("pragma synchronous = full")
            self._writer = threading.Thread(
                target=self._serve, args=[db], name="twopan-ledger", daemon=True
            )
            self._writer.start()
        future: Future[T] = Future()
        self._queue.put((operation, future))
        return future

    def _serve(self, db: sqlite3.Connection) -> None:
        """The writing thread: take all that waits, commit it together, then say so."""
        stopping = False
        while not stopping:
            batch = [self._queue.get()]
            while not self._queue.empty():
                batch.append(self._queue.get())
            stopping = None in batch
            self._commit(db, [write for write in batch if write is not None])
        db.close()

    def _commit(self, db: sqlite3.Connection, batch: Sequence[Write]) -> None:
        results: list[Any] = []
        try:
            db.execute("begin immediate")
            for operation, _ in batch:
                db.execute("savepoint one")
                try:
                    results.append(operation(db))
                except Exception as error:
                    if not db.in_transaction:  # the disk, not the row: nothing can be kept of it
                        raise
                    # One row that cannot be stored takes no other with it.
                    db.execute("rollback to one")
                    results.append(self._unwritten(error))
                db.execute("release one")
            db.execute("commit")
        except sqlite3.Error as error:
            if db.in_transaction:
                db.execute("rollback")
            results = [self._unwritten(error)] * len(batch)
        for (_, future), result in zip(batch, results, strict=True):
            if isinstance(result, LedgerError):
                future.set_exception(result)
            else:
                future.set_result(result)

    def _unwritten(self, error: Exception) -> LedgerError:
        hint = "; is the disk full?" if "full" in str(error) else ""
        return LedgerError(f"{self.path} could not be written: {error}{hint}")


def columns_of(db: sqlite3.Connection) -> set[tuple[str, str]]:
    """(table, column) of all of our tables."""
    return set(
        db.execute(
            "select m.name, c.name from sqlite_master m, pragma_table_info(m.name) c"
            " where m.type = 'table' and m.name not like 'sqlite_%'"
        )
    )


def default_path() -> Path:
    """One ledger a person, so that what was bought for one project is there for the next."""
    from platformdirs import user_data_path

    return user_data_path("twopan") / "ledger.sqlite"


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def digest(blob: bytes) -> str:
    return hashlib.sha256(blob).hexdigest()[:16]


def alive(pid: int) -> bool:
    """Whether a process of this machine still runs; taken for granted where nobody can say."""
    if os.name == "nt":  # there, signal 0 is Ctrl-C
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _create_private(path: Path) -> None:
    """Make the file, and a folder for it, that nobody else can read."""
    try:
        if not path.parent.exists():
            path.parent.mkdir(parents=True, mode=0o700)
            path.parent.chmod(0o700)
        # SQLite gives its -wal and -shm files the mode of the file itself.
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        if path.stat().st_size == 0:
            path.chmod(0o600)
    except OSError as error:
        raise ConfigError(f"no ledger can be kept at {path}: {error.strerror or error}") from None
