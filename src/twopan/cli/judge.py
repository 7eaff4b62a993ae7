"""``twopan judge``: one verdict line a pair."""

from pathlib import Path

import click

from twopan.cli import UNFINISHED, show
from twopan.cli.options import PATH, Options, judging
from twopan.cli.reading import read
from twopan.cli.running import Advance, judged, keeping
from twopan.data import Pair
from twopan.errors import Interrupted
from twopan.jury import Outcome, judge_pairs
from twopan.lines import to_line
from twopan.session import Session
from twopan.verdict import Verdict


@click.command()
@click.argument("files", nargs=-1, required=True, type=PATH, metavar="PAIRS | A B")
@judging(without=["verdicts", "report"])
def judge(options: Options, files: tuple[Path, ...]) -> int:
    """Judge pairs of responses, one verdict line each.

    PAIRS is a file with both responses on each row; or name two files of responses, which are
    joined. The verdict lines come in the order of the pairs, on standard output or to --json.

    \b
    Examples:
      twopan judge pairs.jsonl > verdicts.jsonl
      twopan judge new.jsonl old.jsonl --protocol prepair --judge openai:gpt-4o-mini
      twopan gate pairs.jsonl --verdicts verdicts.jsonl

    Exit status: 0 every pair has a verdict, 2 bad input, 3 some have none or it could not finish,
    5 budget reached, 130 interrupted.
    """
    show.ready(options, files)
    data = read(files, options)
    show.notes(data.notes())
    if options.dry_run:
        show.dry_run(options, data.pairs)
        return 0
    waiting: dict[int, str] = {}
    printed = 0
    unread = False
    with show.lines_to(options.json or "-") as write:

        async def work(session: Session, advance: Advance) -> list[Outcome]:
            keep = keeping(session, advance)

            async def keep_and_print(place: int, pair: Pair, outcome: Outcome) -> None:
                nonlocal printed, unread
                await keep(place, pair, outcome)
                line = to_line(pair, outcome, session.signature)
                waiting[place] = show.dumps(line)
                while printed in waiting and not unread:
                    try:
                        write(waiting.pop(printed))
                    except BrokenPipeError:
                        # Whoever read us has gone; what is under way is still finished and kept.
                        unread = True
                        session.interrupt()
                    printed += 1

            return await judge_pairs(
                session.jury, data.pairs, workers=session.workers, each=keep_and_print
            )

        try:
            outcomes, session = judged(options, len(data.pairs), work)
        except Interrupted:
            if unread:
                raise BrokenPipeError from None
            raise
    show.judged(outcomes, session.spent())
    return 0 if all(isinstance(outcome, Verdict) for outcome in outcomes) else UNFINISHED
