"""``twopan rank``: which of several systems is better."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from twopan.cli import BUDGET, INCONCLUSIVE, UNFINISHED, show, tables, visible
from twopan.cli.options import PATH, Number, Options, judging
from twopan.cli.reading import chosen
from twopan.cli.running import Advance, judged
from twopan.client import Budget
from twopan.entries import Entries, read_entries
from twopan.errors import ConfigError, TwopanError
from twopan.judge import difference
from twopan.verdict import Choice

if TYPE_CHECKING:
    from twopan.data import Pair
    from twopan.estimate import Estimate
    from twopan.games import Games
    from twopan.judge import Judge
    from twopan.jury import Outcome
    from twopan.pipelines.history import Moves
    from twopan.pipelines.rank import Ranking
    from twopan.session import Session, Spent
    from twopan.stats.pairing import Goal

REHEARSED = 500
"""Comparisons that a dry run rehearses; of more it takes so many."""


@click.command()
@click.argument("files", nargs=-1, type=PATH, metavar="FILE...")
@click.option(
    "--method",
    type=click.Choice(["active", "swiss", "round-robin", "random"]),
    default="active",
    show_default=True,
    help="How the next comparisons are chosen: where the answer hangs, in Swiss rounds, everything,"
    " or at random.",
)
@click.option(
    "--against",
    metavar="SYSTEM",
    help="Compare every system with this one only, on every item.",
)
@click.option(
    "--resolve",
    type=click.Choice(["top1", "top-k", "all"]),
    help="Stop when this is settled: the best, the best --top, or the whole order (default).",
)
@click.option("--top", type=click.IntRange(1), metavar="K", help="How many; makes --resolve top-k.")
@click.option(
    "--max-calls",
    type=click.IntRange(1),
    metavar="N",
    help="Make no more calls than this, and rank by what they say.",
)
@click.option(
    "--level",
    type=Number(0, 1, min_open=True, max_open=True),
    default=0.95,
    show_default=True,
    help="Confidence, of intervals and of what is called settled.",
)
@click.option(
    "--ties",
    type=click.Choice(["half", "davidson"]),
    default="half",
    show_default=True,
    help="A tie is half a win, or an outcome with a probability of its own (Davidson's model).",
)
@click.option(
    "--label",
    "meanings",
    multiple=True,
    metavar="VALUE=SIDE",
    help="What a value of a battle log means, such as --label 1=a --label 2=b --label 0=tie.",
)
@click.option(
    "--history",
    type=PATH,
    metavar="FILE.jsonl",
    help="Say what moved since the last ranking in this file, and add this one to it.",
)
@judging()
def rank(
    *,
    options: Options,
    files: tuple[Path, ...],
    method: Literal["active", "swiss", "round-robin", "random"],
    against: str | None,
    resolve: Literal["top1", "top-k", "all"] | None,
    top: int | None,
    max_calls: int | None,
    level: float,
    ties: Literal["half", "davidson"],
    meanings: tuple[str, ...],
    history: Path | None,
) -> int:
    """Find out which of several systems is better.

    Each FILE holds the responses of one system to the same items, or of several with the system's
    name in a column, joined on id, else on the instruction. Comparisons are chosen by what is known
    so far, each is judged in both orders, and it stops when what --resolve asks for is settled.

    With --verdicts nobody is asked: the games are those of a file of verdict lines, or of a battle
    log with a column for each of the two systems, the winner and, best, the item. FILES then only
    tell how long responses are.

    What the ledger holds counts from the start. So run the same command again to go on, and name
    one more FILE to add a system: it meets the others, and they do not meet again.

    \b
    Examples:
      twopan rank one.jsonl two.jsonl three.jsonl
      twopan rank answers/*.jsonl --resolve top1 --report board.html
      twopan rank answers.csv --map system=model --method swiss --max-calls 2000
      twopan rank answers/*.jsonl --against production --judge openai:gpt-4o-mini
      twopan rank --verdicts battles.csv --history board.jsonl

    Exit status: 0 ranked, 2 bad input, 3 could not finish, 4 ranked, but what --resolve asked for
    is not settled, 5 budget reached, 130 interrupted.
    """
    if not files and options.verdicts is None:
        raise ConfigError("name the files of the systems' responses, or --verdicts of their games")
    show.ready(options, files if history is None else [*files])
    goal = _goal(resolve, top)
    rules: dict[str, Any] = {
        "goal": goal, "level": level, "ties": ties, "seed": options.seed or 0, "baseline": against,
    }  # fmt: skip
    if history is not None:
        _check_history(history, options, files)
    entries = None
    notes: list[str] = []
    if files:
        entries = _limited(
            read_entries(files, mapping=options.mapping, on_bad=options.on_bad)
            if options.verdicts is None
            else read_entries(files),
            options,
        )
        notes = entries.notes()
    spent: Spent | None = None
    if options.verdicts is not None:
        result = _recorded(options, entries, meanings, rules, notes)
    else:
        assert entries is not None
        if meanings:
            raise ConfigError("--label is for the battle log of --verdicts")
        show.notes(notes)
        rules["method"] = "baseline" if against is not None else method
        if options.dry_run:
            _dry_run(options, entries, against)
            return 0
        budget = _budget(options, max_calls)
        result, session = _judged(options, entries, rules, budget)
        spent = session.spent()
        if result.stopped == "budget" and max_calls is not None and budget.usd is None:
            click.echo(f"Stopped by --max-calls {max_calls}.", err=True)
    moves = None if history is None else _moves(history, result, level)
    _deliver(options, result, spent, moves, notes)
    return _status(result, max_calls, resolve is not None or top is not None)


def _goal(resolve: Literal["top1", "top-k", "all"] | None, top: int | None) -> "Goal":
    from twopan.stats.pairing import Goal

    if resolve == "top-k" and top is None:
        raise ConfigError("--resolve top-k: say how many with --top")
    if top is not None and resolve not in (None, "top-k"):
        raise ConfigError(f"--top is for --resolve top-k, not {resolve}")
    return Goal("top-k" if top is not None else resolve or "all", top or 1)


def _limited(entries: Entries, options: Options) -> Entries:
    """As many items as were asked for; a seed alone draws the pairing."""
    if options.limit is None:
        return entries
    numbered = list(range(len(entries.items)))
    kept = chosen(numbered, options, lambda n: entries.items[n].id)
    return entries.taking(kept)


def _recorded(
    options: Options,
    entries: Entries | None,
    meanings: Sequence[str],
    rules: dict[str, Any],
    notes: list[str],
) -> "Ranking":
    from twopan.games import read_games
    from twopan.pipelines.rank import lengths, rank_games

    assert options.verdicts is not None
    known = [meaning.partition("=") for meaning in meanings]
    for value, equals, side in known:
        if not equals or side not in list(Choice):
            raise ConfigError(f"--label {value}{equals}{side}: write --label VALUE=a, b or tie")
    games: Games = read_games(
        options.verdicts,
        mapping=options.mapping,
        meanings={value: side for value, _, side in known} or None,
    )
    notes += games.notes()
    show.notes(notes)
    if options.dry_run:
        raise ConfigError("--dry-run: with --verdicts nobody is called")
    return rank_games(games, lengths=None if entries is None else lengths(entries), **rules)


def _budget(options: Options, max_calls: int | None) -> Budget:
    budget = options.the_budget
    if max_calls is not None:
        budget.calls = min(max_calls, budget.calls or max_calls)
    return budget


def _judged(
    options: Options, entries: Entries, rules: dict[str, Any], budget: Budget
) -> "tuple[Ranking, Session]":
    from twopan.pipelines.rank import comparisons
    from twopan.pipelines.rank import rank as run_rank

    async def work(session: "Session", advance: Advance) -> "Ranking":
        async def each(place: int, pair: "Pair", outcome: "Outcome") -> None:
            await session.keep(place, pair, outcome)
            advance()

        def recalled(known: int) -> None:
            for _ in range(known):
                advance()

        return await run_rank(
            session.jury,
            entries,
            known=session.recorded(),
            workers=session.workers,
            each=each,
            recalled=recalled,
            **rules,
        )

    total = len(comparisons(entries, rules["baseline"]))
    return judged(options, total, work, budget=budget, what="comparisons")


def _dry_run(options: Options, entries: Entries, against: str | None) -> None:
    """What all comparisons would take; a run that is settled before takes less."""
    import random

    from twopan.estimate import estimate
    from twopan.pipelines.rank import comparisons

    rows = comparisons(entries, against)
    some = rows if len(rows) <= REHEARSED else random.Random(0).sample(rows, REHEARSED)
    pairs = [entries.pair(*row) for row in sorted(some)]

    async def rehearse(jury: "Sequence[Judge]") -> "Estimate":
        return await estimate(jury, pairs)

    found = show.rehearsed(options, rehearse, set())
    show.estimated(options, found, of=len(rows))


def _moves(path: Path, result: "Ranking", level: float) -> "Moves | None":
    """What moved since the last ranking by the same judge; then this one is added to the file."""
    from twopan.ledger import now
    from twopan.pipelines import history

    known = history.read(path)
    new = history.entry(result, now())
    if new is None:
        show.notes(["not added to the history: the systems have no ratings on one scale yet"])
        return None
    then = history.before(known, new)
    if then is None and known:
        parts = ", ".join(difference(known[-1].signature, new.signature)) or "the judge"
        show.notes([f"the last ranking in {path} is by another judge ({parts}): not compared"])
    history.append(path, new)
    return None if then is None else history.moved(then, new, level)


def _check_history(path: Path, options: Options, files: Sequence[Path]) -> None:
    from twopan.pipelines import history
    from twopan.saving import check_writable

    others = [*files, options.verdicts, options.report, options.json, options.ledger]
    if path.resolve() in {Path(other).resolve() for other in others if other is not None}:
        raise ConfigError(f"--history {path}: that file is named for something else")
    check_writable(path)
    history.read(path)


def _deliver(
    options: Options,
    result: "Ranking",
    spent: "Spent | None",
    moves: "Moves | None",
    notes: Sequence[str],
) -> None:
    tables.ranking(result, spent, moves)
    if options.json != "-":
        click.echo(visible(result.because))
    try:
        if options.json is not None:
            from twopan.pipelines.history import plain

            told = {"run": show.plain(spent), "moves": None if moves is None else plain(moves)}
            show.write_json(options.json, {**result.to_dict(), **told})
        if options.report is not None:
            from twopan import report

            page = report.render_ranking(result, spent, moves=moves, notes=notes)
            report.write(options.report, page)
            click.echo(f"Report: {options.report}", err=True)
    except ConfigError as error:
        raise TwopanError(f"{error}; the verdicts are kept: run the same command again") from None


def _status(result: "Ranking", max_calls: int | None, asked: bool) -> int:
    if result.board is None:
        return UNFINISHED
    settled = result.settled is not None and result.settled.done
    if result.stopped == "budget" and max_calls is None:
        return BUDGET
    return INCONCLUSIVE if asked and not settled else 0
