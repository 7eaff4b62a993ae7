"""N-way: the best of k responses in one look, and every response once in every place.

    A = y2, B = y3, C = y1  ──► "A"    y2
    A = y3, B = y1, C = y2  ──► "C"    y2    ──► votes 0, 2, 1: y2 is best, not consistently
    A = y1, B = y2, C = y3  ──► "C"    y3

A judge that likes the first place does so among k as among two, and to shuffle once, as benchmarks
do (Malik et al. 2025), only makes its liking fall on somebody else. So we turn the responses round:
after k looks each has stood once in each place, and a judge that sees nothing but places has given
each one vote, which is a tie. All pairs in both orders would take k(k-1) looks.

References
----------
Malik, Pyatkin, Land, Morrison, Smith, Hajishirzi and Lambert (2025), RewardBench 2: Advancing
Reward Model Evaluation. arXiv:2506.01937. Generative judges choose the best of four responses.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from random import Random
from statistics import fmean
from string import ascii_uppercase

import msgspec

from twopan.client import Read
from twopan.concurrency import together
from twopan.data import Item
from twopan.errors import ConfigError, Unparsed
from twopan.judge import Judge, T
from twopan.protocols import logprobs, pair_protocol, parsing, reading
from twopan.protocols.aids import given
from twopan.protocols.pairwise import announced
from twopan.protocols.parsing import Contract
from twopan.protocols.reading import LEAST_MASS
from twopan.providers import Completion
from twopan.verdict import Preference


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One look at all responses, in one order. Responses are told by their index, from 0."""

    order: tuple[int, ...]
    """The response at each place: a permutation of 0 to k - 1."""
    choice: int | None
    """The response that was chosen; None where several were equally likely."""
    reasoning: str
    p: tuple[float, ...] | None = None
    """P(response) for each, in order of index; they sum to 1. None without log-probabilities."""
    label_mass: float | None = None
    """How much probability the letters had together; the rest went to other words."""
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Best:
    """What the turns come to. ``votes`` and ``p`` have one entry a response."""

    looks: tuple[Turn, ...]

    @property
    def votes(self) -> tuple[int, ...]:
        """In how many looks each response was chosen."""
        chosen = [look.choice for look in self.looks]
        return tuple(chosen.count(index) for index in range(len(self.looks[0].order)))

    @property
    def choice(self) -> int | None:
        """The response with the most votes; None where two have as many."""
        most = max(self.votes)
        return self.votes.index(most) if self.votes.count(most) == 1 else None

    @property
    def consistent(self) -> bool:
        """Whether one response was chosen in every look."""
        return max(self.votes) == len(self.looks)

    @property
    def p(self) -> tuple[float, ...] | None:
        """The mean of P(response) over the looks; None where a look has none."""
        told = [look.p for look in self.looks if look.p is not None]
        if len(told) < len(self.looks):
            return None
        return tuple(fmean(column) for column in zip(*told, strict=True))


async def best_of(
    judge: Judge, item: Item, texts: Sequence[str], *, rotations: int | None = None, seed: int = 0
) -> Best:
    """Which of 2 to 26 responses is best, in so many looks, from 1 to as many as responses.

    By default there are as many looks as responses, and every place counts alike; fewer are
    cheaper and leave some of the bias in. The seed, the item and the texts alone decide which.
    Raises ConfigError for other numbers, and what a look raises: some of the looks are none.
    """
    k, letters = len(texts), ascii_uppercase
    if not 2 <= k <= len(letters):
        raise ConfigError(f"item {item.id!r}: {k} responses; the best is chosen of 2 to 26")
    if rotations is not None and not 1 <= rotations <= k:
        raise ConfigError(f"{rotations} rotations of {k} responses; ask for 1 to {k}")
    contract = letter_of(tuple(letters[:k]))
    looks = (
        look(judge, item, [texts[i] for i in order], partial(turn, contract, order))
        for order in orders(item, texts, rotations or k, seed)
    )
    return Best(looks=tuple(await together(*looks)))


@pair_protocol(prompts=["nway"], takes=("metrics", "reference", "norules"))
async def nway(judge: Judge, item: Item, a: str, b: str) -> Preference:
    """The best of two: the swap that all pair protocols share is the turn."""
    return await look(judge, item, [a, b], partial(reading.preference, letter_of(("A", "B"))))


async def look(judge: Judge, item: Item, shown: Sequence[str], read: Read[T]) -> T:
    return await judge.ask(
        "nway",
        read=read,
        max_tokens=16,
        top_logprobs=20,
        data={**await given(judge, item), "responses": tuple(shown)},
    )


def orders(item: Item, texts: Sequence[str], rotations: int, seed: int) -> list[tuple[int, ...]]:
    """Rotations of one shuffled order: no two put the same response in the same place."""
    draw = Random(msgspec.json.encode([seed, item.id, item.instruction, *texts]))
    k = len(texts)
    first = draw.sample(range(k), k)
    starts = draw.sample(range(k), rotations)
    return [(*first[start:], *first[:start]) for start in starts]


def letter_of(letters: tuple[str, ...]) -> Contract:
    return Contract(format="bare", menu=letters, synonyms=announced(letters))


def turn(contract: Contract, order: tuple[int, ...], completion: Completion) -> Turn:
    """The letter as the contract reads it, or the likeliest where probabilities are given."""
    found = parsing.read(contract, completion.text, completion.finish_reason)
    place = contract.menu.index(str(found.value))
    start = logprobs.position_of(completion.logprobs, found.span, completion.text)
    written = partial(Turn, order=order, reasoning=completion.text)
    if completion.logprobs is None or start is None:
        return written(choice=order[place], flags=found.flags)
    try:
        letters = logprobs.distribution(
            completion.logprobs, contract.menu, start=start, min_mass=LEAST_MASS
        )
    except Unparsed as error:
        return written(choice=order[place], flags=(*found.flags, error.why))
    by_place = tuple(letters.probabilities.values())
    p = tuple(by_place[order.index(index)] for index in range(len(order)))
    return written(
        choice=p.index(max(p)) if p.count(max(p)) == 1 else None,
        p=p,
        label_mass=letters.mass,
        flags=found.flags,
    )
