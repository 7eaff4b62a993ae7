"""Pairwise: both responses side by side (Zheng et al. 2023, Section 3.1).

    instruction + A + B ──► "A" or "B", and P(A) where the model tells its probabilities

In ``pairwise`` the reply is the verdict and nothing else, so there is nothing in it to search for
a verdict, and nothing that a response could smuggle into it. Where token probabilities are given
the preference is P(A) among the letters, a finer measure than the letter: a judge that wavers
says so. With ``+odds`` the mean log-odds of both orders decide instead of their agreement, which
suits a judge that leans to one position. ``pairwise-cot`` names strengths and weaknesses first,
the verdict on the last line.
"""

from functools import partial

from twopan.data import Item
from twopan.judge import Judge
from twopan.protocols import ASKED, pair_protocol, reading
from twopan.protocols.aids import given
from twopan.protocols.parsing import Contract
from twopan.verdict import Preference


@pair_protocol(prompts=["pairwise"])
async def pairwise(judge: Judge, item: Item, a: str, b: str) -> Preference:
    letter = Contract(
        format="bare", menu=judge.protocol.menu, synonyms=announced(judge.protocol.menu)
    )
    return await judge.ask(
        "pairwise",
        read=partial(reading.preference, letter),
        max_tokens=16,
        top_logprobs=20,
        data={**await given(judge, item), "response_a": a, "response_b": b},
    )


@pair_protocol(prompts=["pairwise_cot"], takes=ASKED)
async def pairwise_cot(judge: Judge, item: Item, a: str, b: str) -> Preference:
    return await judge.ask(
        "pairwise_cot",
        read=partial(reading.preference, reading.verdict_line(judge.protocol.menu)),
        max_tokens=1024,
        data={**await given(judge, item), "response_a": a, "response_b": b},
    )


def announced(menu: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """What judges write who cannot answer without saying that they do: ``Answer: A``."""
    return tuple((f"{word}: {label}", label) for word in ("Answer", "Verdict") for label in menu)
