"""What a person sees in the terminal, and what a program reads from standard output."""

import json
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from twopan.cli import visible
from twopan.cli.options import Options
from twopan.data import Pair
from twopan.errors import ConfigError
from twopan.ledger import default_path
from twopan.saving import check_writable, replacing
from twopan.verdict import Unjudged

if TYPE_CHECKING:
    from rich.table import Table

    from twopan.estimate import Estimate
    from twopan.judge import Judge
    from twopan.jury import Outcome, Scored
    from twopan.pipelines.gate import Gate
    from twopan.session import Spent
    from twopan.stats.length_control import LengthControlled
    from twopan.stats.powered import Powered
    from twopan.stats.win_rate import WinRate


Rehearse = Callable[[Sequence["Judge"]], Awaitable["Estimate"]]
"""What a run would take, of a jury of rehearsals."""


def notes(lines: Sequence[str]) -> None:
    """What was noticed in the data, before anything is judged."""
    for line in lines:
        click.echo(f"Note: {visible(line)}", err=True)


def ready(options: Options, files: Sequence[Path]) -> None:
    """Find out before anything is paid for what would go wrong at the end.

    Raises ConfigError where an option does not mean anything, or where a result could not be
    written, or would be written over what is read, over the ledger or over another result.
    """
    _ = options.the_budget, options.settings, options.the_rubric
    options.the_prompts.check()
    read = [*files, options.verdicts, options.config, options.prompts]
    taken = {Path(path).resolve(): f"{path} is read" for path in read if path is not None}
    taken[(options.ledger or default_path()).resolve()] = "the ledger is there"
    for name, target in (("--report", options.report), ("--json", options.json)):
        if target is None or (name, target) == ("--json", "-"):
            continue
        if str(target) == "-":
            raise ConfigError(f"{name} needs the name of a file")
        path = Path(target)
        if why := taken.get(path.resolve()):
            raise ConfigError(f"{name} {path}: {why}; name another file")
        check_writable(path)
        taken[path.resolve()] = f"{name} goes there"


def plain(spent: "Spent | None") -> dict[str, Any] | None:
    return None if spent is None else asdict(spent)


def dumps(value: Any, indent: int | None = None) -> str:
    """JSON; on a terminal all in ASCII, so that no character of it can steer the terminal."""
    return json.dumps(
        value, ensure_ascii=sys.stdout.isatty(), allow_nan=False, indent=indent, default=str
    )


def write_json(target: str, value: dict[str, Any]) -> None:
    text = dumps(value, indent=2)
    with lines_to(target) as write:
        write(text)


@contextmanager
def lines_to(target: str) -> Iterator[Callable[[str], None]]:
    """Write lines to standard output (``-``) or to a file that appears whole or not at all."""
    if target == "-":
        yield click.echo
    else:
        with replacing(target) as file:
            yield lambda line: print(line, file=file)


@contextmanager
def working(what: str, total: int) -> Iterator[Callable[[], None]]:
    """A bar on a terminal, elsewhere nothing; call what it gives after each step."""
    if not sys.stderr.isatty():
        yield lambda: None
        return
    from rich import progress
    from rich.console import Console

    with progress.Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda: bar.advance(task)


def gate(result: "Gate", spent: "Spent | None") -> None:
    """The decision and what it rests on, in a table that fits a terminal."""
    from twopan.report.seats import agreed, embedded

    table = _table()
    a, b = (visible(p) for p in (result.pairs[0].a.system, result.pairs[0].b.system))
    table.add_row("candidate, baseline", f"{a}, {b}")
    table.add_row(f"win rate [{result.interval}]", _rate(result.rate))
    table.add_row("  decided only", _rate(result.decisive))
    table.add_row("  ties half", _rate(result.half_ties))
    table.add_row("  by probability", _expected(result))
    table.add_row("  at equal lengths", _controlled(result.length_controlled))
    if result.corrected is not None:
        table.add_row("  as people would have it", _corrected(result.corrected))
    if result.floor is not None:
        table.add_row(f"floor: {result.floor.decision}", result.floor.because)
    table.add_row(
        "outcomes",
        f"{result.wins} won, {result.losses} lost, {result.ties} tied, "
        f"{result.undecided} inconsistent",
    )
    if result.consistency is not None:
        table.add_row("judge", _judge(result))
    judged = f"{len(result.verdicts)} of {len(result.pairs)} pairs"
    if result.spared:
        judged += f" asked; the other {result.spared} were not needed"
    table.add_row("judged", judged)
    if result.unjudged:
        low, high = result.worst_case
        reasons = ", ".join(f"{count} {reason}" for reason, count in result.unjudged.items())
        table.add_row("unjudged", f"{reasons}; had they all gone one way: {low:.1%} or {high:.1%}")
    mean_a, mean_b = result.lengths
    table.add_row("mean length", f"{mean_a:.0f} characters against {mean_b:.0f}")
    for name, rate in result.categories.items():
        table.add_row(f"  {visible(name)}", f"{_rate(rate)}, {_p(result.category_p[name])}")
    if len(result.categories) > 1:
        table.add_row("", f"p: that it is {result.threshold:.0%} there, adjusted by Holm's method")
    table.add_row("signature", visible(result.signature))
    if embedded(result.signature) != "no":
        known = agreed(result.signature)
        told = f"agreed with people on {known}" if known else "was not measured against people"
        table.add_row("caution", f"the embedded judge is no referee: asked like this it {told}")
    _spent(table, spent)
    _print(table)
    unjudged(result.outcomes)


def judged(outcomes: "Sequence[Outcome]", spent: "Spent") -> None:
    table = _table()
    reasons = Counter(o.reason for o in outcomes if isinstance(o, Unjudged))
    table.add_row("judged", f"{len(outcomes) - sum(reasons.values())} of {len(outcomes)} pairs")
    for reason, count in reasons.most_common():
        table.add_row(f"  {reason}", str(count))
    _spent(table, spent)
    _print(table)
    unjudged(outcomes)


def unjudged(outcomes: "Sequence[Outcome | Scored]") -> None:
    """The three commonest things that happened instead of a verdict."""
    from twopan.report.texts import mask

    found = Counter(o.detail[:300] for o in outcomes if isinstance(o, Unjudged) and o.detail)
    for detail, count in found.most_common(3):
        click.echo(f"  {count} unjudged: {visible(mask(detail))}", err=True)
    if rest := sum(found.values()) - sum(count for _, count in found.most_common(3)):
        click.echo(f"  and {rest} more for other reasons", err=True)


def facts(rows: Iterable[tuple[str, str]], spent: "Spent | None") -> None:
    """What a result rests on, and what it cost."""
    table = _table()
    for name, value in rows:
        table.add_row(name, visible(value))
    _spent(table, spent)
    _print(table)


def _judge(result: "Gate") -> str:
    text = f"consistent in {result.consistency:.1%} of comparisons"
    if result.first_position is not None:
        text += f"; chose the first response in {result.first_position:.1%} of looks"
    return text


def _expected(result: "Gate") -> str:
    match result.methods:
        case {"logprobs": _, "text": written}:
            return f"{_rate(result.expected)} ({written} looks without token probabilities)"
        case {"text": _}:
            return "none: the judge gives no token probabilities"
    return _rate(result.expected)


def _controlled(found: "LengthControlled | str") -> str:
    if isinstance(found, str):
        return f"none: {found}"
    flags = f" (caution: {', '.join(found.flags)})" if found.flags else ""
    return f"{found.estimate:.1%} [{found.low:.1%}, {found.high:.1%}], n = {found.m}{flags}"


def _corrected(found: "Powered | str") -> str:
    if isinstance(found, str):
        return f"none: {found}"
    return (
        f"{found.estimate:.1%} [{found.low:.1%}, {found.high:.1%}], from {found.labelled} labels,"
        f" which the judge makes worth {found.labelled * found.worth:.0f}"
    )


def _p(value: float) -> str:
    return "p < 0.001" if value < 0.001 else f"p = {value:.3f}"


def _rate(rate: "WinRate | None") -> str:
    if rate is None:
        return "none: nothing to estimate from"
    return f"{rate.estimate:.1%} [{rate.low:.1%}, {rate.high:.1%}], n = {rate.m}"


def _spent(table: "Table", spent: "Spent | None") -> None:
    if spent is None:
        return
    table.add_row("calls", f"{spent.calls} made, {spent.recalled} recalled from the ledger")
    cached = f" ({spent.cached_tokens:,} cached)" if spent.cached_tokens else ""
    table.add_row("tokens", f"{spent.input_tokens:,} in{cached}, {spent.output_tokens:,} out")
    cost = f"${spent.cost_usd:.4f}"
    if spent.unpriced:
        cost += f" and {spent.unpriced} calls of unknown price"
    if spent.unknown:
        cost += f", {spent.unknown} calls of unknown outcome, which may be charged"
    table.add_row("cost", cost)
    if spent.adapted:
        parts = ", ".join(f"{part} ({count})" for part, count in spent.adapted.items())
        table.add_row("did without", f"{parts}: the model refused them")
    if served := ", ".join(f"{visible(name)} ({count})" for name, count in spent.served.items()):
        table.add_row("answered by", served)
    table.add_row("ledger", f"{spent.ledger}, run {spent.run}")


def dry_run(
    options: Options,
    data: Sequence[Pair],
    *,
    at_most: bool = False,
    scoring: Options | None = None,
) -> None:
    """Calls, tokens and cost, without a call; ``at_most`` where a run may stop before the end.

    With ``scoring``, both responses of each pair are scored, too, where the win rate suffices.
    """
    from twopan.estimate import estimate, estimate_scores

    found = rehearsed(options, lambda jury: estimate(jury, data), set())
    most = ", if it never stops early" if at_most else ""
    table = _table()
    table.add_row("pairs", f"{found.pairs}{most}")
    table.add_row("calls", f"{found.calls} to make{most}, {found.recalled} in the ledger already")
    table.add_row("tokens in", "{:,} to {:,}".format(*found.input_tokens))
    table.add_row("tokens out", "{:,} to {:,}".format(*found.output_tokens))
    table.add_row("cost", _money(found))
    floor = None
    if scoring is not None:
        each = [(pair.item, response) for pair in data for response in (pair.a, pair.b)]
        floor = rehearsed(scoring, lambda jury: estimate_scores(jury, each), set())
        tokens = "{:,} to {:,} tokens in".format(*floor.input_tokens)
        told = f"{floor.calls} calls to make{most}, {floor.recalled} recalled"
        table.add_row("then the floor", f"{told}; {tokens}; {_money(floor)}")
    table.add_row("ledger", str(options.ledger or default_path()))
    _print(table)
    if options.json is not None:
        more = {} if floor is None else {"floor": asdict(floor)}
        write_json(options.json, asdict(found) | more)


def estimated(options: Options, found: "Estimate", *, of: int) -> None:
    """What all of so many comparisons would take; ``found`` is of them, or of a sample."""
    scale = of / max(found.pairs, 1)
    about = "" if scale == 1 else "about "
    table = _table()
    table.add_row("comparisons", f"{of:,}, if it is never settled before")
    calls, recalled = (round(scale * n) for n in (found.calls, found.recalled))
    table.add_row("calls", f"{about}{calls:,} to make, {recalled:,} in the ledger already")
    low, high = (round(scale * n) for n in found.input_tokens)
    table.add_row("tokens in", f"{about}{low:,} to {high:,}")
    low, high = (round(scale * n) for n in found.output_tokens)
    table.add_row("tokens out", f"{about}{low:,} to {high:,}")
    money = None
    if found.cost_usd is not None:
        money = (scale * found.cost_usd[0], scale * found.cost_usd[1])
    scaled = replace(found, cost_usd=money)
    table.add_row("cost", f"{about}{_money(scaled)}")
    table.add_row("ledger", str(options.ledger or default_path()))
    _print(table)
    if options.json is not None:
        told = {"comparisons": of, "calls": calls, "recalled": recalled, "cost_usd": money}
        write_json(options.json, told)


def dry_runs(asked: Sequence[Options], rehearse: Rehearse) -> None:
    """The same for one run after the other; what an earlier one asks, a later one recalls."""
    known: set[str] = set()
    found = [(options, rehearsed(options, rehearse, known)) for options in asked]
    table = _table()
    for options, one in found:
        name = " ".join(filter(None, (options.protocol, *options.judge)))
        tokens = "{:,} to {:,} tokens in".format(*one.input_tokens)
        table.add_row(
            visible(name), f"{one.calls} calls, {one.recalled} recalled; {tokens}; {_money(one)}"
        )
    table.add_row("calls", f"{sum(one.calls for _, one in found)} to make")
    table.add_row("ledger", str(asked[0].ledger or default_path()))
    _print(table)
    if asked[0].json is not None:
        runs = [{"judge": o.judge, "protocol": o.protocol, **asdict(one)} for o, one in found]
        write_json(asked[0].json, {"runs": runs})


def rehearsed(
    options: Options,
    rehearse: Rehearse,
    known: set[str],
    *,
    fresh: bool = False,
) -> "Estimate":
    """What judging would take. ``known`` holds the keys asked before, and is added to.

    ``fresh`` is as if the ledger held nothing yet, and needs neither key nor weights.
    """
    from twopan.concurrency import run
    from twopan.estimate import Nobody, Rehearsal
    from twopan.ledger import Ledger
    from twopan.session import seat

    path = options.ledger or default_path()
    there = path.is_file() and not fresh
    with Ledger(path, read_only=True) if there else Ledger() as ledger:
        jury = seat(
            options.specs,
            protocol=options.protocol,
            rubric=options.the_rubric,
            prompts=options.the_prompts,
            settings=options.settings,
            client=lambda spec: Rehearsal(
                Nobody() if fresh else spec.provider(), ledger, price=spec.price, asked=known
            ),
        )

        async def rehearsal() -> "Estimate":
            return await rehearse(jury)

        return run(rehearsal())


def _money(found: "Estimate") -> str:
    if found.cost_usd is None:
        return "unknown cost: the model has no price (give one in the config file)"
    return "${:.4f} to ${:.4f}".format(*found.cost_usd)


def _table() -> "Table":
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE, show_header=False, pad_edge=False)
    table.add_column(style="bold", no_wrap=True, max_width=28, overflow="ellipsis")
    table.add_column(overflow="fold")
    return table


def _print(table: "Table") -> None:
    from rich.console import Console

    Console(stderr=True, markup=False, highlight=False, emoji=False).print(table)
