"""How a judge comes to a verdict. A protocol is one async function; it sees texts, never names."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from twopan.concurrency import together
from twopan.data import Item, Pair
from twopan.judge import Judge
from twopan.verdict import Comparison, Preference

Look = Callable[[Judge, Item, str, str], Awaitable[Preference]]


@dataclass(frozen=True, slots=True)
class Protocol:
    """An async function together with its name and the prompts it speaks with."""

    name: str
    prompts: tuple[str, ...]
    look: Look

    async def __call__(self, judge: Judge, item: Item, a: str, b: str) -> Preference:
        return await self.look(judge, item, a, b)


def pair_protocol(*, prompts: Sequence[str]) -> Callable[[Look], Protocol]:
    """Make a pair protocol of an async function ``(judge, item, a, b) -> Preference``."""
    return lambda look: Protocol(look.__name__.replace("_", "-"), tuple(prompts), look)


async def both_orders(judge: Judge, pair: Pair) -> Comparison:
    """Look twice, with the responses swapped, so that position cancels out.

    Raises where one of the looks has no verdict: half a comparison is none.
    """
    a, b = pair.a.text, pair.b.text
    a_first, b_first = await together(
        judge.protocol(judge, pair.item, a, b), judge.protocol(judge, pair.item, b, a)
    )
    return Comparison(judge=judge.signature, a_first=a_first, b_first=b_first.flipped())
