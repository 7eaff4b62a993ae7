"""Several judges, one verdict: the rules by which votes are counted."""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence

from twopan.concurrency import for_each, together
from twopan.data import Item, Pair, Response
from twopan.errors import ConfigError, TwopanError, Unparsed
from twopan.judge import Judge
from twopan.protocols import both_orders
from twopan.verdict import Choice, Comparison, Score, Unjudged, Verdict

Rule = Callable[[Sequence[Comparison]], Choice]
Outcome = Verdict | Unjudged
Scored = Score | Unjudged
WITHOUT_REFERENCE = "_wo_ref"
"""Ends the name of a prompt that stands in where an item has no reference."""
Each = Callable[[int, Pair, Outcome], Awaitable[None]]


def majority(votes: Sequence[Comparison]) -> Choice:
    """More than half of the jury, or a tie."""
    choice, count = Counter(vote.choice for vote in votes).most_common(1)[0]
    return choice if count > len(votes) / 2 else Choice.TIE


def unanimous(votes: Sequence[Comparison]) -> Choice:
    """All of the jury, or a tie."""
    return votes[0].choice if len({vote.choice for vote in votes}) == 1 else Choice.TIE


async def judge_pair(jury: Sequence[Judge], pair: Pair, rule: Rule = majority) -> Outcome:
    """One verdict. A jury with a missing juror is incomplete, and not a smaller jury."""
    try:
        votes = await together(*(both_orders(judge, pair) for judge in jury))
    except TwopanError as error:
        if error.ends_the_run:
            raise
        return Unjudged(item_id=pair.item.id, reason=error.reason, detail=str(error))
    return Verdict(item_id=pair.item.id, votes=tuple(votes), choice=rule(votes))


async def score_responses(
    judge: Judge,
    answers: Sequence[tuple[Item, Response]],
    *,
    workers: int = 16,
    each: Callable[[int, Scored], Awaitable[None]] | None = None,
) -> list[Scored]:
    """A score of every response, or why there is none: as many as responses, in their order.

    Scores of one judge are all come by in one way: those of a rarer ``score_mode`` are unparsed.
    ``each`` is awaited with the place and the outcome of a response as soon as it has one. Raises
    ConfigError where the judge's protocol scores no single response, and the first failure that
    ends the run.
    """
    score = getattr(judge.protocol, "score", None)
    if score is None:
        raise ConfigError(
            f"protocol {judge.protocol.name} compares two responses, and scores none: use"
            " pointwise, pointwise-direct, prometheus or likelihood"
        )
    outcomes: dict[int, Scored] = {}

    async def work(numbered: tuple[int, tuple[Item, Response]]) -> None:
        index, (item, response) = numbered
        try:
            outcomes[index] = await score(judge, item, response.text)
        except TwopanError as error:
            if error.ends_the_run:
                raise
            outcomes[index] = Unjudged(item_id=item.id, reason=error.reason, detail=str(error))
        if each is not None:
            await each(index, outcomes[index])

    await for_each(enumerate(answers), work, workers=workers)
    found = [outcomes[index] for index in sorted(outcomes)]
    return of_one_mode([item for item, _ in answers], found)


def of_one_mode(items: Sequence[Item], outcomes: Sequence[Scored]) -> list[Scored]:
    modes = Counter(o.score_mode for o in outcomes if isinstance(o, Score)).most_common()
    if len(modes) < 2:
        return list(outcomes)
    mode = modes[0][0]
    return [
        Unjudged(
            item_id=item.id,
            reason=Unparsed.reason,
            detail=f"a score by {o.score_mode}, which does not compare with those by {mode}",
        )
        if isinstance(o, Score) and o.score_mode != mode
        else o
        for item, o in zip(items, outcomes, strict=True)
    ]


async def judge_pairs(
    jury: Sequence[Judge],
    pairs: Iterable[Pair],
    *,
    rule: Rule = majority,
    workers: int = 16,
    each: Each | None = None,
) -> list[Outcome]:
    """Judge every pair, and account for every pair: as many come back as went in, in their order.

    ``each`` is awaited with the place of every pair, the pair and its outcome as soon as it is
    judged, in whatever order that happens. Raises the first failure that ends the run; what was
    judged before has been given to ``each``.
    """
    if isinstance(pairs, Sequence):
        require_references(jury, pairs)
    outcomes: dict[int, Outcome] = {}

    async def work(numbered: tuple[int, Pair]) -> None:
        index, pair = numbered
        outcomes[index] = outcome = await judge_pair(jury, pair, rule)
        if each is not None:
            await each(index, pair, outcome)

    await for_each(enumerate(pairs), work, workers=workers)
    return [outcomes[index] for index in sorted(outcomes)]


def require_references(jury: Sequence[Judge], pairs: Sequence[Pair]) -> None:
    """Raise ConfigError, before anything is paid for, where a prompt needs what an item lacks."""
    wanting = [
        name
        for judge in jury
        for name in judge.protocol.prompts
        if "reference" not in judge.protocol.aids
        and f"{name}{WITHOUT_REFERENCE}" not in judge.protocol.prompts
        and "reference" in (t := judge.prompts.load(name)).data - t.optional
    ]
    lacking = [pair.item.id for pair in pairs if pair.item.reference is None]
    if wanting and lacking:
        raise ConfigError(
            f"prompt {wanting[0]!r} needs a reference, and {len(lacking)} of {len(pairs)} items"
            f" have none, such as {lacking[0]!r}; with {{{{ reference? }}}} they may"
        )
