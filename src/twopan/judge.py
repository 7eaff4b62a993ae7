"""A judge is a model with fixed settings. Change anything and it is another judge."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

import msgspec

from twopan import __version__
from twopan.client import Client, Read
from twopan.data import Item
from twopan.prompts import Data, Prompts
from twopan.providers import Request
from twopan.rubric import Rubric
from twopan.verdict import Preference

T = TypeVar("T")


class PairProtocol(Protocol):
    """How a judge comes to a preference between two texts, in one look.

    It is called with the judge, the item and the two texts, never with anyone's name.
    """

    @property
    def name(self) -> str: ...

    @property
    def prompts(self) -> tuple[str, ...]:
        """The prompts it uses, by file name; their texts are part of the signature."""

    @property
    def menu(self) -> tuple[str, ...]:
        """The verdicts it puts on offer."""

    @property
    def aids(self) -> tuple[str, ...]:
        """What the judge is to write for itself first."""

    @property
    def rules(self) -> bool:
        """Whether the judge is told the rubric's rules."""

    @property
    def margin(self) -> float | None:
        """The mean log-odds within which both orders are a tie; None where they must agree."""

    @property
    def asks(self) -> bool:
        """Whether the judge is asked anything, so that a rubric makes a difference."""

    async def __call__(self, judge: "Judge", item: Item, a: str, b: str) -> Preference: ...


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What the caller may set and what changes answers."""

    temperature: float = 0.0
    samples: int = 1
    """How often a pointwise judge is asked; with more than one it gives the mean."""
    max_tokens: int | None = None
    """Most tokens of one reply. None leaves it to the protocol; a model that reasons at length
    before it answers needs more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    model: str
    protocol: PairProtocol
    rubric: Rubric
    client: Client = field(repr=False, compare=False)
    settings: Settings = field(default_factory=Settings)
    prompts: Prompts = field(default_factory=Prompts)

    @property
    def signature(self) -> str:
        """All that decides what this judge answers. Verdicts that differ in it are never pooled.

        ``model|protocol@hash|rubric@hash|settings|orders|version``, the model with the endpoint
        that serves it, the protocol with the hash of its prompts.
        """
        texts = [self.prompts.load(name).hash for name in self.protocol.prompts]
        settings = ",".join(
            f"{name}={value:g}"
            for name, value in msgspec.structs.asdict(self.settings).items()
            if value is not None
        )
        return "|".join(
            (
                f"{self.model}@{self.client.provider.endpoint.replace('|', ',')}",
                f"{self.protocol.name}@{'+'.join(texts)}",
                f"{self.rubric.name}@{self.rubric.version}",
                settings,
                "both orders",
                f"twopan {__version__}",
            )
        )

    @property
    def words(self) -> dict[str, str]:
        """Our own words and the rubric's, which prompts take in as they are."""
        return {
            "question": self.rubric.question,
            "rules": self.rubric.rules if self.protocol.rules else "",
            "levels": self.rubric.anchors,
            "scale": f"{min(self.rubric.levels)} to {max(self.rubric.levels)}",
            "options": offered(self.protocol.menu),
            "form": "the letter" if self.protocol.menu == ("A", "B") else "one of these",
        }

    async def ask(
        self,
        prompt: str,
        *,
        read: Read[T],
        max_tokens: int,
        top_logprobs: int = 0,
        sample: int = 0,
        continuation: str | None = None,
        data: Mapping[str, Data | None],
    ) -> T:
        """Put one prompt to the model, and return what ``read`` makes of its reply.

        ``sample`` tells draws of the same prompt apart. With a ``continuation`` the model writes
        nothing, and is asked how probable that would have been as its reply.

        Raises what ``read`` raises, and ProviderError where no reply came.
        """
        request = Request(
            endpoint=self.client.provider.endpoint,
            model=self.model,
            messages=self.prompts.load(prompt).render(self.words, **data),
            temperature=self.settings.temperature,
            max_tokens=self.settings.max_tokens or max_tokens,
            top_logprobs=top_logprobs,
            sample=sample,
            continuation=continuation,
        )
        return await self.client.complete(request, read)


def offered(menu: Sequence[str]) -> str:
    """A menu in words: ``A or B``; ``A, B or tie``."""
    meanings = {"A>>B": "A is much better", "A>B": "A is better", "A=B": "they are equal"}
    meanings |= {"B>A": "B is better", "B>>A": "B is much better"}
    words = [f"{word} ({meanings[word]})" if word in meanings else word for word in menu]
    return f"{', '.join(words[:-1])} or {words[-1]}"


PARTS = ("model", "protocol", "rubric", "settings", "orders", "version")


def difference(one: str, other: str) -> list[str]:
    """Names of the parts in which two signatures differ."""
    parts = zip(PARTS, one.split("|"), other.split("|"), strict=False)
    return [name for name, a, b in parts if a != b] or ([] if one == other else ["form"])
