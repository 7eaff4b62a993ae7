"""``twopan gate``: may the candidate replace the baseline?"""

import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from twopan.cli import INCONCLUSIVE, KEEP, PROMOTE, UNFINISHED, show
from twopan.cli.asking import in_time
from twopan.cli.options import PATH, Number, Options, judging
from twopan.cli.reading import read
from twopan.cli.running import Advance, judged, keeping
from twopan.datasets import Pairs, read_labels
from twopan.errors import ConfigError, TwopanError
from twopan.judges import find_protocol
from twopan.rubric import load as load_rubric
from twopan.screen import Screening, screen

if TYPE_CHECKING:
    from twopan.pipelines.floor import Floor
    from twopan.pipelines.gate import Gate
    from twopan.session import Session, Spent

STATUS = {"promote": PROMOTE, "keep": KEEP, "inconclusive": INCONCLUSIVE}


@click.command()
@click.argument("files", nargs=-1, required=True, type=PATH, metavar="CANDIDATE BASELINE | PAIRS")
@click.option(
    "--threshold",
    type=Number(0, 1),
    default=0.5,
    show_default=True,
    help="Win rate that the whole interval must be above, or below.",
)
@click.option(
    "--level",
    type=Number(0, 1, min_open=True, max_open=True),
    default=0.95,
    show_default=True,
    help="Confidence of the interval.",
)
@click.option(
    "--min-coverage",
    type=Number(0, 1),
    default=0.95,
    show_default=True,
    help="Share of pairs that must get a verdict.",
)
@click.option(
    "--score",
    type=click.Choice(["choice", "probability"]),
    default="choice",
    show_default=True,
    help="What an item counts: win, half or nothing; or the probability the judge put on the"
    " candidate.",
)
@click.option(
    "--sequential/--fixed",
    default=None,
    help="Stop as soon as the evidence suffices, or judge all pairs and look once. Sequential"
    " where a judge is asked, fixed with --verdicts.",
)
@click.option(
    "--floor",
    type=Number(0),
    metavar="MARGIN",
    help="Promote only where the candidate's mean score on the rubric is not lower than the"
    " baseline's by MARGIN points or more; 0 asks that it be higher. Takes calls of its own, and"
    " only where the win rate is good enough.",
)
@click.option(
    "--floor-protocol",
    metavar="NAME",
    default="pointwise",
    show_default=True,
    help="How the scores are asked for: pointwise, pointwise-direct or prometheus.",
)
@click.option(
    "--labels",
    type=PATH,
    metavar="FILE",
    help="What people preferred in some of the pairs, drawn at random: rows of an id and a label"
    " (candidate, baseline, tie). The win rate is then shown as people would have it, too.",
)
@click.option(
    "--allow-suspicious",
    is_flag=True,
    help="Decide even where responses look like an attempt on the judge: one constant reply, or"
    " orders to the judge in one of twenty or more.",
)
@judging()
def gate(
    *,
    options: Options,
    files: tuple[Path, ...],
    threshold: float,
    level: float,
    min_coverage: float,
    score: Literal["choice", "probability"],
    sequential: bool | None,
    floor: float | None,
    floor_protocol: str,
    labels: Path | None,
    allow_suspicious: bool,
) -> int:
    """Decide whether a candidate may replace a baseline.

    CANDIDATE and BASELINE are files of responses to the same instructions, one a row (JSON Lines,
    JSON, CSV, TSV or Parquet; .gz and .zst too; - is standard input), joined on id, else on the
    instruction. PAIRS is one file with both responses on each row, the candidate's first.

    Each pair is judged twice, once in each order. The candidate is promoted where the whole
    interval of its win rate lies above the threshold, the baseline kept where it lies below.

    Pairs are asked in an order drawn by --seed (0), and no more of them than it takes: after each
    verdict the gate looks whether the evidence suffices. It promotes a candidate that is not above
    the threshold with a chance of at most 5%, or what --level leaves, however often it looks.

    \b
    Examples:
      twopan gate candidate.jsonl baseline.jsonl
      twopan gate new.csv old.csv --judge openai:gpt-4o-mini --report gate.html
      twopan gate pairs.jsonl --rubric faithfulness --dry-run
      twopan gate pairs.jsonl --verdicts verdicts.jsonl --json -
      twopan gate pairs.jsonl --fixed
      twopan gate new.jsonl old.jsonl --labels people.csv
      twopan gate new.jsonl old.jsonl --floor 0.25

    Exit status: 0 promote, 1 keep, 2 bad input, 3 could not finish or coverage too low,
    4 inconclusive, 5 budget reached, 130 interrupted.
    """
    show.ready(options, [*files, *([labels] if labels else [])])
    if sequential is None:
        sequential = options.verdicts is None
    unseeded = sequential and options.limit is None  # then the seed draws the order alone
    data = read(files, replace(options, seed=None) if unseeded else options)
    if labels is not None:
        data = read_labels(labels, data)
    suspicion = screen(data.pairs)
    show.notes([*data.notes(), *suspicion.lines()])
    rules: dict[str, Any] = {
        "blocked": () if allow_suspicious else suspicion.blocks,
        "threshold": threshold,
        "level": level,
        "min_coverage": min_coverage,
        "score": score,
        "sequential": sequential,
        "seed": options.seed or 0,
    }
    from twopan.pipelines.floor import check as check_floor

    scoring: Options | None = None
    if floor is not None:
        scoring = replace(options, protocol=floor_protocol)
        if options.verdicts is not None:
            raise ConfigError("--floor asks a judge for scores, and --verdicts asks nobody")
        rubric = options.the_rubric or load_rubric("helpfulness")
        check_floor(find_protocol(floor_protocol), rubric, floor)
    if options.dry_run:
        show.dry_run(options, data.pairs, at_most=sequential, scoring=scoring)
        return 0
    spent: Spent | None = None
    from twopan.pipelines.gate import gate as run_gate

    if options.verdicts is not None:
        result = recorded(options.verdicts, data, rules)
    else:

        async def work(session: "Session", advance: Advance) -> "Gate":
            each = keeping(session, advance)
            return await run_gate(
                session.jury, data.pairs, workers=session.workers, each=each, **rules
            )

        began, budget = time.monotonic(), options.the_budget
        result, session = judged(options, len(data.pairs), work, budget=budget)
        spent = session.spent()
        if scoring is not None and floor is not None and result.by_rate == "promote":
            held, session = judged(
                in_time(scoring, began),
                len(data.pairs),
                scored(data, floor, rules),
                budget=budget,
                title="the floor",
            )
            spent += session.spent()
            result = replace(result, floor=held)
    deliver(options, result, spent, data, suspicion)
    return STATUS[result.decision] if result.covered else UNFINISHED


def scored(
    data: Pairs, margin: float, rules: dict[str, Any]
) -> "Callable[[Session, Advance], Awaitable[Floor]]":
    from twopan.pipelines import floor

    async def work(session: "Session", advance: Advance) -> "Floor":
        async def each(*_: object) -> None:
            advance()

        return await floor.floor(
            session.jury,
            data.pairs,
            margin=margin,
            level=rules["level"],
            min_coverage=rules["min_coverage"],
            sequential=rules["sequential"],
            seed=rules["seed"],
            workers=session.workers,
            each=each,
        )

    return work


def recorded(path: Path, data: Pairs, rules: dict[str, Any]) -> "Gate":
    from twopan.lines import match, read_lines
    from twopan.pipelines.gate import decide

    result = decide(data.pairs, match(data.pairs, read_lines(path)), **rules)
    if result.unjudged.get("not_recorded") and not (result.covered or rules["sequential"]):
        show.notes(["if these are verdicts of a gate that stopped early, say --sequential"])
    return result


def deliver(
    options: Options, result: "Gate", spent: "Spent | None", data: Pairs, suspicion: Screening
) -> None:
    """Show the result wherever it was asked for."""
    show.gate(result, spent)
    if options.json != "-":
        click.echo(f"{result.decision}: {result.because}")
    try:
        if options.json is not None:
            show.write_json(options.json, {**result.to_dict(), "run": show.plain(spent)})
        if options.report is not None:
            from twopan import report

            notes = [*data.notes(), *suspicion.lines()]
            page = report.render_gate(result, spent, notes=notes, flags=suspicion.details())
            report.write(options.report, page)
            click.echo(f"Report: {options.report}", err=True)
    except ConfigError as error:
        raise TwopanError(f"{error}; the verdicts are kept: run the same command again") from None
