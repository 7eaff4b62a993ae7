"""Pairwise: both responses side by side, one letter for an answer (Zheng et al. 2023, Section 3.1).

    instruction + A + B ──► "A" or "B", and P(A) where the model tells its probabilities

The reply is the verdict and nothing else, so there is nothing in it to search for a verdict, and
nothing that a response could smuggle into it. Where token probabilities are given the preference
is P(A) among the letters, a finer measure than the letter: a judge that wavers says so.
"""

from functools import partial

from twopan.data import Item
from twopan.judge import Judge
from twopan.protocols import pair_protocol, parsing, reading
from twopan.verdict import Preference

LETTER = parsing.Contract(format="bare", menu=("A", "B"))


@pair_protocol(prompts=["pairwise"])
async def pairwise(judge: Judge, item: Item, a: str, b: str) -> Preference:
    return await judge.ask(
        "pairwise",
        read=partial(reading.preference, LETTER),
        max_tokens=16,
        top_logprobs=20,
        data={
            "instruction": item.instruction,
            "reference": item.reference,
            "response_a": a,
            "response_b": b,
        },
    )
