"""``twopan ledger``: look into the record of all calls and verdicts."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import msgspec

from twopan.cli import UNFINISHED, visible
from twopan.cli.options import PATH
from twopan.cli.show import dumps
from twopan.errors import ConfigError
from twopan.ledger import Ledger, default_path


@click.group()
@click.option(
    "--ledger",
    "path",
    type=PATH,
    envvar="TWOPAN_LEDGER",
    metavar="FILE",
    help="The file (default: the one that all your runs share).",
)
@click.pass_context
def ledger(ctx: click.Context, path: Path | None) -> None:
    """Look into the record of all calls and verdicts.

    It is one SQLite file with plain tables and views; sqlite3 and datasette open it too.

    \b
    Examples:
      twopan ledger runs
      twopan ledger show 20260102T030405-a1b2c3
      twopan ledger export 20260102T030405-a1b2c3 > verdicts.jsonl
      twopan ledger --ledger other.sqlite verify
    """
    ctx.obj = path or default_path()


def opened(path: Path, *, read_only: bool = True) -> Ledger:
    if not path.is_file():
        raise ConfigError(f"no ledger at {path}; name one with `twopan ledger --ledger FILE ...`")
    return Ledger(path, read_only=read_only)


as_json = click.option("--json", "as_json", is_flag=True, help="JSON lines on standard output.")


@ledger.command()
@as_json
@click.pass_obj
def runs(path: Path, as_json: bool) -> None:
    """List the runs, newest first: what each asked for, how it ended, what came out."""
    with opened(path) as book:
        rows = book.query(
            "select run, started_at, state, pairs, judged, unjudged,"
            " round(win_rate, 4) as win_rate, round(consistent, 4) as consistent"
            " from run_results order by started_at desc, run desc"
        )
    table(rows, as_json, leave_out=["unjudged", "started_at"])


@ledger.command()
@as_json
@click.pass_obj
def cost(path: Path, as_json: bool) -> None:
    """Calls, tokens and money by run and model. What has no price is counted, not left out."""
    with opened(path) as book:
        rows = book.query("select * from run_costs order by run desc")
    table(rows, as_json, leave_out=["endpoint", "cached_tokens", "attempts"])


@ledger.command()
@click.argument("what")
@click.pass_obj
def show(path: Path, what: str) -> None:
    """Show a run with its settings, or a call (by its key, or the start of it) with its replies."""
    with opened(path) as book:
        found: Any = book.query("select * from runs where id = ?", what)
        if found:
            row = found[0]
            for name in ("command", "config", "signature"):
                row[name] = json.loads(row[name])
            row["costs"] = book.query("select * from run_costs where run = ?", what)
            row["results"] = book.query("select * from run_results where run = ?", what)
        else:
            keys = book.query("select key from calls where key glob ? limit 2", f"{what}*")
            if len(keys) != 1:
                how = "no run and no call" if not keys else "more than one call"
                raise ConfigError(
                    f"{how} begins with {what!r}; `twopan ledger runs` lists the runs"
                )
            key = keys[0]["key"]
            row = {
                "key": key,
                "request": msgspec.to_builtins(book.request(key)),
                "attempts": book.query("select * from attempts where key = ? order by id", key),
                "replies": [msgspec.to_builtins(reply) for reply in book.recall(key)],
            }
    click.echo(dumps(row, indent=2))


@ledger.command()
@click.argument("run", required=False)
@click.pass_obj
def export(path: Path, run: str | None) -> None:
    """Print the verdict lines of a run, or of the newest one, as `twopan judge` would."""
    with opened(path) as book:
        known = book.query("select id from runs order by started_at desc, id desc")
        names = [row["id"] for row in known]
        if run is None and names:
            run = names[0]
        if run not in names:
            raise ConfigError(f"no run {run!r}; `twopan ledger runs` lists them")
        for row in book.query("select line from verdicts where run = ? order by place", run):
            click.echo(dumps(json.loads(row["line"])))


@ledger.command()
@click.pass_context
def verify(ctx: click.Context) -> None:
    """Check every stored record against its checksum, and the file against itself."""
    with opened(ctx.obj) as book:
        wrong = book.verify()
        count = book.query("select count(*) as n from replies")[0]["n"]
    for line in wrong:
        click.echo(visible(line))
    if wrong:
        ctx.exit(UNFINISHED)
    click.echo(f"{ctx.obj}: {count} replies, all whole")


@ledger.command()
@click.pass_obj
def vacuum(path: Path) -> None:
    """Give back the space that is not used any more."""
    before = path.stat().st_size if path.is_file() else 0
    with opened(path, read_only=False) as book:
        book.vacuum()
    click.echo(f"{path}: {before:,} bytes before, {path.stat().st_size:,} after")


def table(rows: list[dict[str, Any]], as_json: bool, leave_out: Sequence[str] = ()) -> None:
    """All columns as JSON; the most important ones for people, that they fit a terminal."""
    if as_json:
        for row in rows:
            click.echo(dumps(row))
        return
    if not rows:
        click.echo("no runs yet", err=True)
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table

    shown = Table(box=box.SIMPLE, pad_edge=False)
    columns = [name for name in rows[0] if name not in leave_out]
    for name in columns:
        heading = name.removesuffix("_tokens").replace("_", " ")
        shown.add_column(heading, overflow="fold", no_wrap=name == "run")
    for row in rows:
        values = (row[name] for name in columns)
        shown.add_row(*("" if value is None else visible(str(value)) for value in values))
    Console(markup=False, highlight=False).print(shown)
