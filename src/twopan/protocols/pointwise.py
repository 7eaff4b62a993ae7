"""Pointwise: one response on a rubric (Liu et al. 2023, Section 2; Kim et al. 2023).

    instruction + response + what each level means ──► reasoning ──► level i, and P(i)

The score is the expected level Σ i·P(i) where the model tells its token probabilities, which
smooths out the coin toss between neighbouring levels; else the mean of several seeded samples
where those were asked for; else the level as written. ``score_mode`` says which.
``pointwise-direct`` asks for the level alone.
"""

from functools import partial
from statistics import fmean

from twopan.concurrency import together
from twopan.data import Item
from twopan.errors import Unparsed
from twopan.judge import Judge
from twopan.protocols import SCORED, logprobs, parsing, point_protocol
from twopan.protocols.aids import given
from twopan.protocols.parsing import Contract
from twopan.protocols.reading import LEAST_MASS
from twopan.providers import Completion
from twopan.verdict import Score


@point_protocol(prompts=["pointwise"], takes=SCORED)
async def pointwise(judge: Judge, item: Item, response: str) -> Score:
    levels = sorted(judge.rubric.levels)
    line = Contract(
        format="line", label="Score", low=levels[0], high=levels[-1], integer=True, final=True
    )
    return await scored(judge, item, response, "pointwise", line, max_tokens=1024)


@point_protocol(prompts=["pointwise_direct"], takes=SCORED)
async def pointwise_direct(judge: Judge, item: Item, response: str) -> Score:
    levels = sorted(judge.rubric.levels)
    number = Contract(format="bare", low=levels[0], high=levels[-1], integer=True)
    return await scored(judge, item, response, "pointwise_direct", number, max_tokens=16)


async def scored(
    judge: Judge,
    item: Item,
    response: str,
    prompt: str,
    contract: Contract,
    *,
    max_tokens: int,
    rubric: str | None = None,
) -> Score:
    """Ask once, or as many times as samples are wanted, and put the answers together.

    ``rubric`` is for prompts that want the whole of it in a form of their own.
    """
    data = {**await given(judge, item), "response": response, "rubric": rubric}
    draws = await together(
        *(
            judge.ask(
                prompt,
                read=partial(score, contract, sorted(judge.rubric.levels)),
                max_tokens=max_tokens,
                top_logprobs=20,
                sample=sample,
                data=data,
            )
            for sample in range(judge.settings.samples)
        )
    )
    if len(draws) == 1:
        return draws[0]
    written = [draw.level for draw in draws if draw.level is not None]
    return Score(
        value=fmean(written),
        score_mode="samples",
        reasoning="\n\n".join(draw.reasoning for draw in draws),
    )


def score(contract: Contract, levels: list[int], completion: Completion) -> Score:
    """The level that was written, or the expected one where its token probabilities are given."""
    reading = parsing.read(contract, completion.text, completion.finish_reason)
    level = int(reading.value)
    if level not in levels:
        raise Unparsed("off_menu", f"the rubric has no level {level}")
    written = Score(
        value=level,
        score_mode="text",
        reasoning=completion.text,
        level=level,
        flags=reading.flags,
    )
    start = logprobs.position_of(completion.logprobs, reading.span, completion.text)
    if completion.logprobs is None or start is None:
        return written
    # Too little probability on the levels is a failure here: the level that was written and an
    # expected level are different quantities, and a run should hold one of them.
    found = logprobs.distribution(
        completion.logprobs, [str(level) for level in levels], start=start, min_mass=LEAST_MASS
    )
    return Score(
        value=found.expected,
        score_mode="logprobs",
        reasoning=completion.text,
        level=level,
        distribution={int(label): p for label, p in found.probabilities.items()},
        label_mass=found.mass,
        flags=reading.flags,
    )
