"""A meta-evaluation in tables that fit a terminal. Shares are in percent, [low, high] below."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from twopan.cli import visible

if TYPE_CHECKING:
    from twopan.pipelines.history import Moves
    from twopan.pipelines.meta_evaluate import MetaEvaluation
    from twopan.pipelines.rank import Ranking
    from twopan.pipelines.rated import RatedEvaluation
    from twopan.pipelines.trials import Asked
    from twopan.session import Spent
    from twopan.stats.leaderboard import Standing
    from twopan.stats.length_control import LengthControlled
    from twopan.stats.resampling import Estimate

TRIVIAL = "no judge at all"
"""Above the judges that understand nothing."""


def meta_evaluation(found: "MetaEvaluation") -> None:
    from twopan.pipelines.cells import POLICIES
    from twopan.pipelines.meta_evaluate import ALL

    # A judge that was asked about nothing that people decided has no cells.
    measured = [n for n, cells in enumerate(found.cells) if cells]
    overall = [(found.trials[n], found.cells[n][ALL]) for n in measured]
    level = f"{100 * found.level:g}%"
    draw(
        f"Agreement with people, {level} intervals; a tie counts half, no verdict nothing",
        ("accuracy", "n", "as given", "swapped", "averaged", "both", "kappa", "AC1"),
        (
            (
                trial,
                ranged(cell.accuracy),
                str(cell.pairs),
                *map(percent, (cell.as_given, cell.swapped, cell.averaged, cell.both)),
                *(f"{a.coefficient.estimate:.2f}" if a else "none" for a in (cell.kappa, cell.ac1)),
            )
            for trial, cell in overall
        ),
    )
    if len(found.categories) > 1:
        names = list(found.categories)
        draw(
            "Accuracy by category",
            [f"{found.short(name)}\n{len(found.categories[name])}" for name in names],
            (
                (trial, *(ranged(cells[n].accuracy) if n in cells else "" for n in names))
                for trial, cells in ((found.trials[n], found.cells[n]) for n in measured)
            ),
        )
    draw(
        "The judges: ties, the two orders, where the better response is longer or shorter",
        ("ties", "consistent", "chose first", "longer", "shorter", "unjudged"),
        (
            (
                trial,
                percent(cell.ties),
                percent(cell.consistent),
                percent(cell.first_position),
                *(percent(lengths.get(side)) for side in ("longer", "shorter")),
                "\n".join(f"{n} {reason}" for reason, n in cell.unjudged.items()) or "0",
            )
            for (trial, cell), lengths in zip(
                overall, (found.by_length[n] for n in measured), strict=True
            )
        ),
    )
    if any(cell.tied or cell.ties.estimate for trial, cell in overall if not trial.trivial):
        draw(
            "Were ties counted otherwise",
            list(POLICIES),
            (
                (trial, *(counted(cell.policies.get(policy)) for policy in POLICIES))
                for trial, cell in overall
            ),
        )
    differences(found)
    costs([trial for trial in found.trials if trial.cost])


def rated_evaluation(found: "RatedEvaluation") -> None:
    from twopan.pipelines.rated import METHODS, score_modes, unjudged

    level = f"{100 * found.level:g}%"
    for where, by in (
        ("item", "over responses"),
        ("within items", "within items, averaged"),
        ("system", "of the means of systems"),
    ):
        draw(
            f"Correlation with people {by}, {level} intervals",
            (*(method.capitalize() for method in METHODS), "n"),
            (
                (trial, *(signed(by_level[where].get(m)) for m in METHODS), str(n.m))
                for trial, by_level in zip(found.trials, found.correlations, strict=True)
                if (n := next(iter(by_level[where].values()), None))
            ),
        )
    if not any(by for by_level in found.correlations for by in by_level.values()):
        click.echo(
            "There is nothing to correlate: a scoring is constant, or there is one item.", err=True
        )
    draw(
        "The scores",
        ("scored", "unjudged", "score by"),
        (
            (
                trial,
                str(len(found.rows) - sum(unjudged(trial).values())),
                "\n".join(f"{n} {reason}" for reason, n in unjudged(trial).items()) or "0",
                ", ".join(score_modes(trial)) or "none",
            )
            for trial in found.trials
            if not trial.trivial
        ),
    )
    draw(
        f"How far people agree among themselves, {level} intervals",
        ("alpha", "n"),
        (
            (f"Krippendorff's alpha, {metric}", signed(e), str(e.m))
            for metric, e in found.alpha.items()
        ),
    )
    costs([trial for trial in found.trials if trial.cost])


def signed(e: "Estimate | None") -> str:
    return "none" if e is None else f"{e.estimate:.3f}\n[{e.low:.2f}, {e.high:.2f}]"


def ranking(found: "Ranking", spent: "Spent | None", moves: "Moves | None") -> None:
    """The leaderboard, what moved, and what it rests on."""
    if found.board is not None:
        heads = ("rank", "rating", "win rate", "equal lengths", "games", "consistent", "unjudged")
        lines = [_standing(found, s) for s in found.board.standings]
        told = [k for k in range(len(heads)) if any(line[k + 1] for line in lines)]
        draw(
            f"Leaderboard, {100 * found.level:g}% intervals; a rank is shared where neither is"
            " surely better",
            [heads[k] for k in told],
            [(line[0], *(line[k + 1] for k in told)) for line in lines],
        )
    if moves is not None:
        draw(
            f"Since {moves.since[:16].replace('T', ' ')}, in points; intervals hold all together",
            ("before", "after", "change", "more than noise"),
            [
                (
                    move.system,
                    f"{move.before:+.0f}",
                    f"{move.after:+.0f}",
                    f"{move.change:+.0f} [{move.low:+.0f}, {move.high:+.0f}]",
                    "yes" if move.real else "no",
                )
                for move in moves.moves
            ],
        )
    from twopan.cli.show import facts

    facts(_facts(found, moves), spent)


def _standing(found: "Ranking", s: "Standing") -> tuple[str, ...]:
    name = found.systems[s.system]
    rank = f"{s.rank}" if s.rank == s.worst_rank else f"{s.rank} to {s.worst_rank}"
    rating = "none"
    if s.rating is not None and s.interval is not None:
        rating = f"{s.rating:.0f}\n[{s.interval[0]:.0f}, {s.interval[1]:.0f}]"
    even, same = found.length_controlled.get(name), found.consistency[name]
    return (
        name,
        rank,
        rating,
        "none" if s.win_rate is None else ranged(s.win_rate),
        "" if even is None else "none" if isinstance(even, str) else _between(even),
        str(s.games),
        "" if same is None else f"{same:.0%}",
        str(found.lost[name] or ""),
    )


def _between(e: "LengthControlled") -> str:
    return f"{100 * e.estimate:.1f}\n[{100 * e.low:.0f}, {100 * e.high:.0f}]"


def _facts(found: "Ranking", moves: "Moves | None") -> "Iterator[tuple[str, str]]":
    of = f" of {found.available:,}" if found.available is not None else ""
    yield "comparisons", f"{len(found.games):,}{of}, {found.known:,} of them known before"
    if found.unjudged:
        yield "unjudged", ", ".join(f"{n} {reason}" for reason, n in found.unjudged.items())
    if found.board is not None:
        from twopan.report.ranking import FLAGS

        for s in found.board.standings:
            if s.flag:
                yield "note", f"{found.systems[s.system]} is {FLAGS[s.flag]}"
    circles = found.transitivity
    if circles is not None and circles.systems.circular:
        chance = f"; p = {circles.p_systems:.3f}" if circles.p_systems is not None else ""
        yield "circles", f"{circles.systems.circular} of three systems beat one another{chance}"
        for cycle in circles.cycles[:3]:
            names = [found.systems[s] for s in (*cycle, cycle[0])]
            yield "", " beats ".join(names)
    if moves is not None and (moves.new or moves.gone):
        if moves.new:
            yield "new", ", ".join(moves.new)
        if moves.gone:
            yield "gone", ", ".join(moves.gone)
    if found.signature:
        yield "signature", found.signature


def differences(found: "MetaEvaluation", most: int = 20) -> None:
    """Each trial against the first of its judge, and against the first judge of its protocol."""
    rows = []
    for d in found.against_first:
        lead, trial, e = found.trials[d.first], found.trials[d.second], d.paired.difference
        low, high = -100 * e.high, -100 * e.low
        rows.append(
            (
                f"{trial.name} − {lead.name}",
                f"{0 - 100 * e.estimate:+.1f} [{low:+.0f}, {high:+.0f}]",
                f"{d.paired.second_only}:{d.paired.first_only}",
                "< 0.0001" if d.paired.p_value < 0.0001 else f"{d.paired.p_value:.4f}",
                str(d.pairs),
            )
        )
    more = f"; {len(rows) - most} more with --json" if len(rows) > most else ""
    draw(
        f"Differences on the same pairs, in points; p of an exact sign test{more}",
        ("difference", "better on", "p", "n"),
        rows[:most],
    )


def costs(trials: "Sequence[Asked[Any]]") -> None:
    draw(
        "Cost of a judgement, at the prices of now",
        ("calls", "tokens in", "tokens out", "US dollars"),
        (
            (
                trial,
                f"{c.requests / c.judgements:.2f}",
                f"{c.input_tokens / c.judgements:.0f}",
                f"{c.output_tokens / c.judgements:.0f}",
                "unknown" if c.usd is None else f"{c.usd / c.judgements:.6f}",
            )
            for trial in trials
            if (c := trial.cost)
        ),
    )


def draw(title: str, heads: Sequence[str], rows: "Iterable[Sequence[Asked[Any] | str]]") -> None:
    """A table on standard error, in several where it is too wide; nothing without rows.

    The first cell of a row is a trial or a text. Trials stand under the name of their judge.
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table

    console = Console(stderr=True, markup=False, highlight=False, emoji=False)
    lines = [*_lines(rows)]
    if not lines:
        return
    first = min(max(len(line[0]) for line in lines), 36)
    columns = list(zip(heads, *(line[1:] for line in lines if len(line) > 1), strict=True))
    widths = [3 + max(len(part) for cell in c for part in cell.split("\n")) for c in columns]
    start = 0
    while start < len(heads):
        stop = start + 1
        while stop < len(heads) and first + sum(widths[start : stop + 1]) + 1 <= console.width:
            stop += 1
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title=title, title_justify="left")
        table.title_style = "bold"
        table.add_column(overflow="fold", min_width=min(first, 24), max_width=36)
        for head in heads[start:stop]:
            table.add_column(visible(head), justify="right", no_wrap=True)
        for name, *cells in lines:
            table.add_row(visible(name), *map(visible, cells[start:stop]))
        console.print(table)
        start = stop


def _lines(rows: "Iterable[Sequence[Asked[Any] | str]]") -> "Iterator[list[str]]":
    judge = None
    for first, *cells in rows:
        texts = [str(cell) for cell in cells]
        if isinstance(first, str):
            yield [first, *texts]
        elif not first.protocol and not first.trivial:
            yield [first.judge, *texts]
        elif first.trivial:
            if judge is not TRIVIAL:
                judge = TRIVIAL
                yield [TRIVIAL]
            yield [f"  {first.judge}", *texts]
        else:
            if first.judge != judge:
                judge = first.judge
                yield [judge]
            yield [f"  {first.protocol}", *texts]


def ranged(e: "Estimate") -> str:
    """
    >>> from twopan.stats.resampling import Estimate
    >>> ranged(Estimate(0.685, 0.59, 0.767, 100, None))
    '68.5\\n[59, 77]'
    """
    return f"{100 * e.estimate:.1f}\n[{100 * e.low:.0f}, {100 * e.high:.0f}]"


def percent(e: "Estimate | None") -> str:
    return "none" if e is None else f"{100 * e.estimate:.1f}"


def counted(e: "Estimate | None") -> str:
    return "none" if e is None else f"{100 * e.estimate:.1f}\nof {e.m}"
