"""``twopan meta-evaluate``: which judge, asked in which way, agrees with people?"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from twopan.cli import UNFINISHED, show, tables
from twopan.cli.asking import ask_all, check_all, each_alone
from twopan.cli.options import PATH, Number, Options, judging
from twopan.cli.rated import rated
from twopan.cli.reading import read_labelled
from twopan.cli.running import Advance, keeping
from twopan.data import Pair
from twopan.datasets import Pairs
from twopan.errors import ConfigError, TwopanError
from twopan.formats import FORMATS
from twopan.jury import Outcome, judge_pairs, require_references
from twopan.session import Session

if TYPE_CHECKING:
    from twopan.estimate import Estimate
    from twopan.judge import Judge
    from twopan.pipelines.meta_evaluate import MetaEvaluation
    from twopan.pipelines.trials import Trial


@click.command(name="meta-evaluate")
@click.argument("file", type=PATH, metavar="PAIRS | RATED")
@click.option(
    "--protocol",
    "protocols",
    multiple=True,
    metavar="NAME",
    help="How each judge is asked; repeat it to compare. One of those of `twopan judge`, or, of"
    " recorded verdicts, those to look at, with * for anything.",
)
@click.option(
    "--jury",
    is_flag=True,
    help="Also count what the judges decide together, by majority, under each protocol.",
)
@click.option(
    "--format",
    "form",
    default="pairs",
    show_default=True,
    metavar="NAME",
    help=f"Of PAIRS: {', '.join(FORMATS)}, or module:attribute. Benchmarks are read as published.",
)
@click.option(
    "--label",
    "meanings",
    multiple=True,
    metavar="VALUE=a|b|tie",
    help="What a label means that is not understood, such as --label 0=a --label 1=b.",
)
@click.option(
    "--category",
    "categories",
    multiple=True,
    metavar="NAME",
    help="Only these categories, and what is below them: LLMBar/Adversarial. Repeat it for more.",
)
@click.option(
    "--people",
    multiple=True,
    metavar="COLUMN",
    help="Of responses that people rated with numbers: the column of a person's ratings, or of"
    " lists of them. Repeat it for several people.",
)
@click.option(
    "--scores",
    multiple=True,
    metavar="COLUMN",
    help="A column of scores that some judge gave, to be held against --people. Repeat it.",
)
@click.option(
    "--level",
    type=Number(0, 1, min_open=True, max_open=True),
    default=0.95,
    show_default=True,
    help="Confidence of the intervals.",
)
@click.option(
    "--min-coverage",
    type=Number(0, 1),
    default=0.95,
    show_default=True,
    help="Share of pairs that a judge must have a verdict on for an exit status of 0.",
)
@judging(without=["protocol"])
@click.pass_context
def meta_evaluate(
    ctx: click.Context,
    *,
    options: Options,
    file: Path,
    protocols: tuple[str, ...],
    jury: bool,
    form: str,
    meanings: tuple[str, ...],
    categories: tuple[str, ...],
    people: tuple[str, ...],
    scores: tuple[str, ...],
    level: float,
    min_coverage: float,
) -> int:
    """Measure judges against people.

    PAIRS holds two responses on each row and, in a column label, which one people preferred: a, b
    or tie. Every judge is asked in every protocol, in both orders, and set beside judges that
    understand nothing: the first, the longest, the shortest response. With --verdicts recorded
    verdicts are measured instead, of as many judges as are in the file.

    RATED holds one response on each row, and what people thought of it as numbers in the columns
    named with --people. Judges that score are then asked, and correlated with people.

    \b
    Examples:
      twopan meta-evaluate labelled.jsonl --protocol pairwise --protocol prepair
      twopan meta-evaluate Dataset/LLMBar --format llmbar --judge openai:gpt-4o-mini
      twopan meta-evaluate labelled.jsonl --verdicts verdicts.jsonl --report judges.html
      twopan meta-evaluate labelled.jsonl --limit 50 --seed 1 --dry-run
      twopan meta-evaluate rated.csv --people rater_1 --people rater_2 --protocol pointwise

    Exit status: 0 measured, 2 bad input, 3 could not finish or coverage too low, 5 budget reached,
    130 interrupted.
    """
    show.ready(options, [file])
    named = ctx.get_parameter_source("judge") != ParameterSource.DEFAULT
    if people or scores:
        if form != "pairs" or meanings or categories or jury or options.verdicts or options.report:
            raise ConfigError(
                "--people is for rated responses, which have no --format, --label, --category,"
                " --jury, --verdicts and --report"
            )
        judges = options.judge if named or protocols or not scores else ()
        asked = each_alone(options, judges, protocols or ("pointwise",))
        return rated(options, file, asked, people, scores, level=level, least=min_coverage)
    data = read_labelled(file, options, form=form, meanings=meanings, categories=categories)
    show.notes(data.notes())
    asked = each_alone(options, options.judge, protocols) if options.verdicts is None else []
    from twopan.estimate import estimate
    from twopan.pipelines.meta_evaluate import distinct, juries, meta_evaluate

    once, _ = distinct(data.pairs)
    if options.dry_run and asked:
        show.dry_runs(asked, lambda jury: estimate(jury, once))
        return 0

    async def first(jury: "Sequence[Judge]") -> "Estimate":
        require_references(jury, once)
        return await estimate(jury, once[:1])

    check_all(asked, first)

    if options.verdicts is not None:
        from twopan.pipelines.recorded import read_trials, select

        trials = read_trials(options.verdicts, data.pairs)
        trials = select(trials, options.judge if named else (), protocols)
    else:
        trials = run(asked, data.pairs)
    benches = juries(trials) if jury else []
    if jury and not benches:
        raise ConfigError("--jury needs two judges under one protocol")
    result = meta_evaluate(data.pairs, [*trials, *benches], level=level)
    deliver(options, result, data)
    return 0 if result.coverage >= min_coverage else UNFINISHED


def run(asked: Sequence[Options], pairs: Sequence[Pair]) -> "list[Trial]":
    """What every judge says of every pair; pairs on which several people voted are judged once."""
    from twopan.pipelines.meta_evaluate import distinct

    once, places = distinct(pairs)

    async def work(session: Session, advance: Advance) -> Sequence[Outcome]:
        return await judge_pairs(
            session.jury, once, workers=session.workers, each=keeping(session, advance)
        )

    found = ask_all(asked, len(once), work, what="pairs")
    return [replace(t, outcomes=tuple(t.outcomes[place] for place in places)) for t in found]


def deliver(options: Options, result: "MetaEvaluation", data: Pairs) -> None:
    """Show the result wherever it was asked for."""
    tables.meta_evaluation(result)
    if options.json != "-":
        click.echo(result.because)
    show.unjudged([o for trial in result.trials if not trial.trivial for o in trial.outcomes])
    try:
        if options.json is not None:
            show.write_json(options.json, result.to_dict())
        if options.report is not None:
            from twopan import report

            report.write(options.report, report.render_meta_evaluation(result, notes=data.notes()))
            click.echo(f"Report: {options.report}", err=True)
    except ConfigError as error:
        raise TwopanError(f"{error}; the verdicts are kept: run the same command again") from None
