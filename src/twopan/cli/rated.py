"""``twopan meta-evaluate`` on responses that people rated with numbers."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from twopan.cli import UNFINISHED, show, tables
from twopan.cli.asking import ask_all, check_all
from twopan.cli.options import Options
from twopan.cli.reading import chosen
from twopan.cli.running import Advance
from twopan.errors import ConfigError, TwopanError
from twopan.jury import Scored, score_responses
from twopan.rated import read_rated
from twopan.session import Session


def rated(
    options: Options,
    file: Path,
    asked: Sequence[Options],
    people: Sequence[str],
    scores: Sequence[str],
    *,
    level: float,
    least: float,
) -> int:
    """Correlate scores with what people thought; ``least`` is the coverage for a success."""
    from twopan.pipelines.rated import rated_evaluation, recorded

    found = read_rated(
        file, people=people, scores=scores, mapping=options.mapping, on_bad=options.on_bad
    )
    known = [row for row in found.rows if any(rating is not None for rating in row.people)]
    rows = chosen(known, options, lambda row: row.item.id)
    show.notes(replace(found, rows=rows, unrated=len(found.rows) - len(known)).notes())
    answers = [(row.item, row.response) for row in rows]
    from twopan.estimate import estimate_scores

    if options.dry_run and asked:
        show.dry_runs(asked, lambda jury: estimate_scores(jury, answers))
        return 0

    check_all(asked, lambda jury: estimate_scores(jury, answers[:1]))

    async def work(session: Session, advance: Advance) -> list[Scored]:
        async def each(place: int, outcome: Scored) -> None:
            advance()

        (judge,) = session.jury
        return await score_responses(judge, answers, workers=session.workers, each=each)

    trials = ask_all(asked, len(rows), work, what="responses")
    given = [recorded(rows, column) for column in scores]
    result = rated_evaluation(rows, [*trials, *given], level=level)
    tables.rated_evaluation(result)
    show.unjudged([outcome for trial in trials for outcome in trial.outcomes])
    try:
        if options.json is not None:
            show.write_json(options.json, result.to_dict())
    except ConfigError as error:
        raise TwopanError(f"{error}; the scores are kept: run the same command again") from None
    return 0 if result.coverage_of(len(trials)) >= least else UNFINISHED
