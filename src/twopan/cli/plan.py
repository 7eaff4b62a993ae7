"""``twopan plan``: how many items and calls an effect takes, before anything is paid for."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from twopan.cli import show, tables, visible
from twopan.cli.options import PATH, Number, Options, judging
from twopan.cli.reading import read
from twopan.errors import ConfigError

if TYPE_CHECKING:
    from twopan.estimate import Estimate
    from twopan.jury import Outcome
    from twopan.pipelines.plan import Needs, Plan

SHARE = Number(0, 1, min_open=True, max_open=True)


@click.command()
@click.argument("files", nargs=-1, type=PATH, metavar="[CANDIDATE BASELINE | PAIRS]")
@click.option(
    "--rate",
    "rates",
    multiple=True,
    type=SHARE,
    metavar="RATE",
    help="A true win rate to be shown, a tie counting half; may be repeated (default 0.55, 0.6,"
    " 0.65, 0.7 and 0.8).",
)
@click.option("--threshold", type=SHARE, default=0.5, show_default=True, help="As of the gate.")
@click.option("--level", type=SHARE, default=0.95, show_default=True, help="As of the gate.")
@click.option(
    "--power",
    type=SHARE,
    default=0.8,
    show_default=True,
    help="How often such a candidate is to be promoted.",
)
@click.option(
    "--even",
    type=Number(0, 1, max_open=True),
    metavar="SHARE",
    help="Share of pairs that come out even, as ties or because the judge contradicts itself"
    " (default: as in --verdicts, else 0.3).",
)
@click.option(
    "--items",
    type=click.IntRange(1),
    metavar="N",
    help="How many items there are (default: the pairs in the files).",
)
@judging(without=["report", "budget", "deadline", "timeout", "concurrency", "offline", "dry_run"])
def plan(
    *,
    options: Options,
    files: tuple[Path, ...],
    rates: tuple[float, ...],
    threshold: float,
    level: float,
    power: float,
    even: float | None,
    items: int | None,
) -> int:
    """Say how many items and calls it takes to show an effect, and what it costs.

    Nobody is called. With files of pairs, as for the gate, the calls and the cost of judging such
    pairs are rehearsed. With --verdicts, a pilot's verdict lines on those pairs, the share of pairs
    that come out even is the pilot's.

    \b
    Examples:
      twopan plan
      twopan plan --rate 0.6 --power 0.9 --even 0.2
      twopan plan new.jsonl old.jsonl --judge openai:gpt-4o-mini --protocol prepair
      twopan plan pairs.jsonl --verdicts pilot.jsonl

    Exit status: 0 planned, 2 bad input.
    """
    if low := [rate for rate in rates if rate <= threshold]:
        raise ConfigError(f"--rate {low[0]:g}: is not above the --threshold of {threshold:g}")
    show.ready(options, files)
    each: Estimate | None = None
    pilot: Sequence[Outcome] = ()
    if files:
        from twopan.estimate import estimate
        from twopan.lines import match, read_lines

        data = read(files, options)
        show.notes(data.notes())
        items = items or len(data.pairs) + data.left
        each = show.rehearsed(options, lambda jury: estimate(jury, data.pairs), set(), fresh=True)
        if options.verdicts is not None:
            pilot = match(data.pairs, read_lines(options.verdicts))
    elif options.verdicts is not None:
        raise ConfigError("--verdicts: name the files of the pairs, too")
    from twopan.pipelines.plan import RATES, Plan
    from twopan.pipelines.plan import plan as planned

    asked = rates or tuple(rate for rate in RATES if rate > threshold)
    with show.working("simulating", len(asked)) as advance:
        found: Plan = planned(
            rates=asked,
            threshold=threshold,
            level=level,
            power=power,
            even=even,
            pilot=pilot,
            items=items,
            each=each,
            advance=advance,
        )
    if options.json is not None:
        show.write_json(options.json, found.to_dict())
    _draw(found, options)
    return 0


def _draw(found: "Plan", options: Options) -> None:
    def say(line: str) -> None:
        click.echo(line, err=options.json == "-")

    told = "assumed" if found.observed is None else f"seen in {found.observed} pairs of the pilot"
    say(
        f"To promote with a chance of {found.power:.0%} at {100 * found.level:g}% confidence,"
        f" threshold {100 * found.threshold:g}%;\n{found.even:.0%} of pairs come out even ({told})."
    )
    if found.seen is not None:
        say(
            f"The pilot's win rate is {found.seen.estimate:.1%} [{found.seen.low:.1%},"
            f" {found.seen.high:.1%}]."
        )
    rows = [(f"{needs.rate:.1%}", *_row(found, needs)) for needs in found.needs]
    heads = ("all asked", "mean", "nine in ten", "promoted", "calls", "cost")
    tables.draw("Items, where all are asked and where asking stops in time", heads, rows)
    say("All but the first column are of a gate that stops when the evidence suffices.")
    for why in (needs.why for needs in found.needs if needs.why):
        say(f"{why[:1].upper()}{why[1:]}.")
    if found.available is not None:
        least = "none" if found.smallest is None else f"{found.smallest:.1%} or more"
        say(f"{found.available} items, all asked, show a win rate of: {least}.")
    if found.each is None:
        say("Name files of pairs to know the calls and the cost.")
    else:
        say(f"Judge: {visible(', '.join(options.judge))}, asked from the start.")


def _row(found: "Plan", needs: "Needs") -> Sequence[str]:
    if needs.fixed is None or needs.sequential is None:
        return ("none", *[""] * 5)
    mean = needs.sequential.items
    calls, cost = found.calls(mean), found.cost(mean)
    money = "" if calls is None else "no price" if cost is None else _money(cost)
    return (
        f"{needs.fixed:,}",
        f"{mean:,.0f}",
        f"{needs.sequential.items_90:,} of {needs.sequential.cap:,}",
        f"{needs.sequential.promoted:.0%}",
        "" if calls is None else f"{calls:,.0f}",
        money,
    )


def _money(cost: tuple[float, float]) -> str:
    return "$0" if cost == (0, 0) else f"${cost[0]:,.2f} to {cost[1]:,.2f}"
