"""How a judge comes to a verdict. A protocol is one async function; it sees texts, never names.

A pair protocol looks at two responses and prefers one; a point protocol looks at one and scores
it. ``by_points`` makes a pair protocol of a point protocol, so that all stand in the same tables.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from twopan.concurrency import together
from twopan.data import Item, Pair
from twopan.errors import Unparsed
from twopan.judge import Judge
from twopan.verdict import Choice, Comparison, Preference, Score

Look = Callable[[Judge, Item, str, str], Awaitable[Preference]]
Scoring = Callable[[Judge, Item, str], Awaitable[Score]]

ASKED = ("metrics", "reference", "tie", "graded", "norules")
"""Additions for a protocol whose verdict is a word, however it is come by."""
SCORED = ("metrics", "reference", "norules")
TWO = ("A", "B")
WITH_TIE = ("A", "B", "tie")
GRADED = ("A>>B", "A>B", "A=B", "B>A", "B>>A")


@dataclass(frozen=True, slots=True, kw_only=True)
class Protocol:
    """A look at a pair, with its name, the prompts it speaks with and what it puts on offer."""

    name: str
    prompts: tuple[str, ...]
    look: Look
    menu: tuple[str, ...] = TWO
    """The verdicts on offer."""
    aids: tuple[str, ...] = ()
    """What the judge writes for itself first; see :mod:`twopan.protocols.aids`."""
    rules: bool = True
    """Whether the judge is told the rubric's rules."""
    score: Scoring | None = None
    """How it scores a single response, where it does."""
    margin: float | None = None
    """The mean log-odds within which both orders together are a tie; None where the two looks must
    agree."""
    asks: bool = True
    """Whether it puts the rubric's question to the judge; where not, a rubric changes nothing."""
    takes: tuple[str, ...] | None = None
    """The additions that may follow its name after a ``+``; None where any may."""

    async def __call__(self, judge: Judge, item: Item, a: str, b: str) -> Preference:
        return await self.look(judge, item, a, b)


def pair_protocol(
    *, prompts: Sequence[str], takes: tuple[str, ...] | None = None
) -> Callable[[Look], Protocol]:
    """Make a protocol of an async function ``(judge, item, a, b) -> Preference``."""
    return lambda look: Protocol(name=named(look), prompts=tuple(prompts), look=look, takes=takes)


def point_protocol(
    *, prompts: Sequence[str], takes: tuple[str, ...] | None = None
) -> Callable[[Scoring], Protocol]:
    """Make a protocol of an async function ``(judge, item, response) -> Score``."""
    return lambda score: Protocol(
        name=named(score), prompts=tuple(prompts), look=by_points(score), score=score, takes=takes
    )


def named(function: Callable[..., object]) -> str:
    return function.__name__.replace("_", "-")


def by_points(score: Scoring) -> Look:
    """Let a judge that scores decide pairs: the higher score wins, equal scores are a tie.

    Each response is seen alone, so both orders ask the same two questions, and the second order
    is answered by the ledger.
    """

    async def look(judge: Judge, item: Item, a: str, b: str) -> Preference:
        of_a, of_b = await together(score(judge, item, a), score(judge, item, b))
        if of_a.score_mode != of_b.score_mode:
            raise Unparsed(
                "mixed_modes",
                f"scores by {of_a.score_mode} and by {of_b.score_mode} do not compare",
            )
        order = (of_a.value > of_b.value) - (of_a.value < of_b.value)
        return Preference(
            choice={1: Choice.A, 0: Choice.TIE, -1: Choice.B}[order],
            reasoning="\n\n".join(
                f"[{name}: {of.value:g}] {of.reasoning}" for name, of in (("A", of_a), ("B", of_b))
            ),
            flags=(*of_a.flags, *of_b.flags),
        )

    return look


async def both_orders(judge: Judge, pair: Pair) -> Comparison:
    """Look twice, with the responses swapped, so that position cancels out.

    Raises where one of the looks has no verdict: half a comparison is none.
    """
    a, b = pair.a.text, pair.b.text
    a_first, b_first = await together(
        judge.protocol(judge, pair.item, a, b), judge.protocol(judge, pair.item, b, a)
    )
    if judge.protocol.margin is not None and (a_first.p_a is None) != (b_first.p_a is None):
        raise Unparsed("mixed_modes", "the odds of a probability and of a word do not add up")
    return Comparison(
        judge=judge.signature,
        a_first=a_first,
        b_first=b_first.flipped(),
        margin=judge.protocol.margin,
    )
