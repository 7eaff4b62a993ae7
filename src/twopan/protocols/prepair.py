"""PRePair: Pointwise Reasoning within a Pairwise evaluation (Jeong et al. 2024, Figure 2).

    instruction + A ──► reason ──► analysis of A ─┐
                                                  ├──► decide ──► A or B
    instruction + B ──► reason ──► analysis of B ─┘

Side by side, a fluent wrong answer outshines a plain right one, even to a judge that can
name what is wrong with it. So each response is first analysed by a judge that cannot see
the other; only then are the two compared, analyses in hand.

An analysis depends on one response alone, and the ledger recalls it in every later
comparison: both orders of a pair cost four calls, and a round robin of n responses costs
n analyses and n(n-1) decisions.

PRePair* is the paper's ablation: the same steps in one reply of a judge that sees both.
"""

from functools import partial

from twopan.concurrency import together
from twopan.data import Item
from twopan.judge import Judge
from twopan.protocols import ASKED, pair_protocol, reading
from twopan.protocols.aids import given
from twopan.verdict import Preference


@pair_protocol(prompts=["prepair_reason", "prepair_decide"], takes=ASKED)
async def prepair(judge: Judge, item: Item, a: str, b: str) -> Preference:
    analysis_a, analysis_b = await together(reason(judge, item, a), reason(judge, item, b))
    return await judge.ask(
        "prepair_decide",
        read=partial(reading.preference, reading.verdict_line(judge.protocol.menu)),
        max_tokens=1024,
        data={
            **await given(judge, item),
            "response_a": a,
            "analysis_a": analysis_a,
            "response_b": b,
            "analysis_b": analysis_b,
        },
    )


async def reason(judge: Judge, item: Item, response: str) -> str:
    """Analyse one response on its own."""
    return await judge.ask(
        "prepair_reason",
        read=reading.prose,
        max_tokens=1024,
        data={**await given(judge, item), "response": response},
    )


@pair_protocol(prompts=["prepair_star"], takes=ASKED)
async def prepair_star(judge: Judge, item: Item, a: str, b: str) -> Preference:
    return await judge.ask(
        "prepair_star",
        read=partial(reading.preference, reading.verdict_line(judge.protocol.menu)),
        max_tokens=2048,
        data={**await given(judge, item), "response_a": a, "response_b": b},
    )
