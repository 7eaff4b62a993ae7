"""Prometheus 2: evaluators that were trained on one prompt (Kim et al. 2024, Appendices I and J).

    instruction + response + rubric (+ reference) ──► feedback [RESULT] 1 to 5    prometheus
    instruction + A + B + criterion (+ reference) ──► feedback [RESULT] A or B    prometheus-pair

The prompts are those that the models prometheus-eval/prometheus-7b-v2.0 and -8x7b-v2.0 were trained
on. What is judged stands in them without fences, as the models have always seen it, so a response
may try to write on in the prompt's name. What it makes a judge *repeat* decides nothing: only a
[RESULT] that ends the reply counts. A rubric's rules are told as part of its criterion.

``prometheus-prepair`` is PRePair with these models (Jeong et al. 2024, Section 5.3.2): each
response is graded alone, and both feedbacks, without their scores, stand beside the responses when
the two are compared. The section does not say how that was worded; ours is the prompt of
``prometheus-pair`` with a section more for each response. The gradings are those of ``prometheus``,
and the ledger recalls them: both orders of a pair cost four calls, or two after ``prometheus``.

References
----------
Kim, Suk, Longpre, Lin, Shin, Welleck, Neubig, Lee, Lee and Seo (2024), Prometheus 2: An Open Source
Language Model Specialized in Evaluating Other Language Models. EMNLP. arXiv:2405.01535.
"""

import re
from functools import partial

from twopan.concurrency import together
from twopan.data import Item
from twopan.errors import ConfigError, Unparsed
from twopan.judge import Judge
from twopan.protocols import TWO, pair_protocol, parsing, point_protocol, reading
from twopan.protocols.aids import given
from twopan.protocols.parsing import Contract
from twopan.protocols.pointwise import scored
from twopan.providers import Completion
from twopan.verdict import Preference, Score

RESULT = "[RESULT]"
GRADE = Contract(format="tag", tag=RESULT, low=1, high=5, integer=True, final=True)
LETTER = Contract(format="tag", tag=RESULT, menu=TWO, final=True)
FRAME = re.compile(rf"\A\s*(?:Feedback:)?\s*|\s*{re.escape(RESULT)}\W*\Z|\s+\Z", re.IGNORECASE)
MOST_TOKENS = 1024
TAKES = ("reference", "norules")
ABSOLUTE = ("prometheus_absolute", "prometheus_absolute_wo_ref")
RELATIVE = ("prometheus_relative", "prometheus_relative_wo_ref")
PREPAIR = ("prometheus_prepair", "prometheus_prepair_wo_ref")


@point_protocol(prompts=ABSOLUTE, takes=TAKES)
async def prometheus(judge: Judge, item: Item, response: str) -> Score:
    prompt = either(ABSOLUTE, judge, item)
    return await scored(
        judge, item, response, prompt, GRADE, max_tokens=MOST_TOKENS, rubric=levels(judge)
    )


@pair_protocol(prompts=RELATIVE, takes=TAKES)
async def prometheus_pair(judge: Judge, item: Item, a: str, b: str) -> Preference:
    return await decide(judge, item, RELATIVE, response_a=a, response_b=b)


@pair_protocol(prompts=(*ABSOLUTE, *PREPAIR), takes=TAKES)
async def prometheus_prepair(judge: Judge, item: Item, a: str, b: str) -> Preference:
    of_a, of_b = await together(analysis(judge, item, a), analysis(judge, item, b))
    return await decide(
        judge, item, PREPAIR, response_a=a, analysis_a=of_a, response_b=b, analysis_b=of_b
    )


async def decide(judge: Judge, item: Item, prompts: tuple[str, str], **texts: str) -> Preference:
    return await judge.ask(
        either(prompts, judge, item),
        read=partial(reading.preference, LETTER),
        max_tokens=MOST_TOKENS,
        top_logprobs=20,
        data={**await given(judge, item), **texts, "rubric": criterion(judge)},
    )


async def analysis(judge: Judge, item: Item, response: str) -> str:
    """The feedback of a grading, which is the same call as that of ``prometheus``."""
    return await judge.ask(
        either(ABSOLUTE, judge, item),
        read=feedback,
        max_tokens=MOST_TOKENS,
        top_logprobs=20,
        data={**await given(judge, item), "response": response, "rubric": levels(judge)},
    )


def feedback(completion: Completion) -> str:
    """What was written before the score; the score itself is no part of an analysis."""
    grade = parsing.read(GRADE, completion.text, completion.finish_reason)
    said = FRAME.sub("", parsing.without_reasoning(completion.text[: grade.span[0]]))
    if not said:
        raise Unparsed("empty_content", "the judge gave a score and no feedback")
    return said


def either(prompts: tuple[str, str], judge: Judge, item: Item) -> str:
    """Of two prompts the one with a place for the reference answer, where there is to be one."""
    there = item.reference is not None or "reference" in judge.protocol.aids
    return prompts[0] if there else prompts[1]


def criterion(judge: Judge) -> str:
    rules = judge.rubric.rules if judge.protocol.rules else ""
    return f"{judge.rubric.question.strip()} {rules.strip()}".strip()


def levels(judge: Judge) -> str:
    """The rubric in the form of the models' training data: the criterion, then five scores.

    Raises ConfigError where the rubric has other levels, for the prompt speaks of 1 to 5.
    """
    anchors = judge.rubric.levels
    if sorted(anchors) != [1, 2, 3, 4, 5]:
        raise ConfigError(
            f"rubric {judge.rubric.name!r} has the levels {', '.join(map(str, sorted(anchors)))};"
            f" {judge.protocol.name} was trained on 1 to 5 and needs a rubric with these"
        )
    scores = [f"Score {level}: {anchors[level].strip()}" for level in sorted(anchors)]
    return "\n".join([f"[{criterion(judge)}]", *scores])
