"""Aids: what a judge writes for itself before it judges (Zeng et al. 2024, Section 3).

    instruction ──► metrics ───► criteria for exactly this instruction ─┐
    instruction ──► reference ─► a response of the judge's own ─────────┴──► into every prompt

An aid depends on the instruction alone. It is written once, and the ledger recalls it for every
response, pair, order and system. ``prepair+metrics`` is PRePair with self-generated metrics.
"""

from collections.abc import Mapping

from twopan.data import Item
from twopan.judge import Judge
from twopan.protocols import reading

AIDS = ("metrics", "reference")


async def given(judge: Judge, item: Item) -> Mapping[str, str | None]:
    """What every prompt is told of an item. An item's own reference goes before the judge's."""
    told = {"instruction": item.instruction, "reference": item.reference}
    for aid in judge.protocol.aids:
        if told.get(aid) is None:
            told[aid] = await judge.ask(
                aid, read=reading.prose, max_tokens=1024, data={"instruction": item.instruction}
            )
    return told
