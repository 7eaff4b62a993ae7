"""What a reader sees of a reply: no invisible characters, digits of any script, no reasoning."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from twopan.errors import Unparsed
from twopan.protocols.contract import Reading

# Default-ignorable code points, and the whole tag block: they print as nothing.
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]"
)
_OVERRIDES = frozenset("\u202d\u202e")
"""Bidirectional overrides make 12 print as 21."""


@dataclass(frozen=True, slots=True)
class Page:
    """A text as it looks, and where each of its characters came from."""

    text: str
    raw: str
    where: Sequence[int]
    """One entry a character of ``text``: its index in ``raw``; and one for the end."""
    begins: int = 0
    """Where in ``raw`` the part that is read begins."""
    flags: tuple[str, ...] = ()

    @classmethod
    def of(cls, raw: str) -> "Page":
        text = _without_end_tokens(raw)
        where: Sequence[int] = range(len(text) + 1)
        if not raw.isascii():
            if _INVISIBLE.search(raw):
                where = [i for i, c in enumerate(text) if not _INVISIBLE.match(c)]
                text, end = "".join([text[i] for i in where]), len(text)
                where.append(end)
            text = plain(text)
        return cls(text=text, raw=raw, where=where)

    def part(self, start: int, end: int) -> "Page":
        if (start, end) == (0, len(self.text)):
            return self
        return Page(
            text=self.text[start:end],
            raw=self.raw,
            where=self.where[start : end + 1],
            begins=self.where[start - 1] + 1 if start else 0,
            flags=("reasoning_stripped",),
        )

    def original(self, found: Reading, marker: tuple[int, int]) -> Reading:
        """A reading, and the span of its marker, in terms of the raw text."""
        start, end = found.span
        span = (self.where[start], self.where[end - 1] + 1)
        before = self.where[marker[0] - 1] + 1 if marker[0] else self.begins
        region = self.raw[before : self.where[marker[1]]]
        flags = [*self.flags, *found.flags]
        if any(self.raw[self.where[i]] != self.text[i] for i in range(start, end)):
            flags.append("normalised")
        if _INVISIBLE.search(region):
            flags.append("invisible_removed")
            if end - start > 1 and not _OVERRIDES.isdisjoint(region):
                raise Unparsed("ambiguous", "characters around the verdict reverse its order")
        return Reading(value=found.value, flags=tuple(dict.fromkeys(flags)), span=span)


_END_TOKENS = (
    "</s>", "<eos>", "<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|end_of_text|>", "<|end|>",
    "<end_of_turn>", "<|return|>", "<｜end▁of▁sentence｜>",
)  # fmt: skip


def _without_end_tokens(raw: str) -> str:
    """A reply without the sign that it is over, where a local server lets it through."""
    for _ in range(3):
        body = raw.rstrip()
        token = next((t for t in _END_TOKENS if body.endswith(t)), None)
        if token is None:
            break
        raw = body.removesuffix(token)
    return raw


def plain(text: str) -> str:
    """Decimal digits of any script, and full-width signs, as ASCII; as many characters as before.

    Compatibility normalisation would do more, and too much: it makes 5² read 52.
    """
    return text if text.isascii() else "".join([_sign(c) for c in text])


@lru_cache(maxsize=4096)
def _sign(character: str) -> str:
    if character.isascii():
        return character
    if (digit := unicodedata.decimal(character, None)) is not None:
        return str(digit)
    return chr(ord(character) - 0xFEE0) if "\uff01" <= character <= "\uff5e" else character


# ---- reasoning ----

_THOUGHT = (
    "think|thinking|thought|thoughts|reasoning|reasoning_content|reflection|scratchpad|analysis"
    "|internal_monologue|chain_of_thought|cot|seed:think|antml:thinking|antThinking"
)
_OPEN = re.compile(
    rf"<(?P<name>{_THOUGHT})\s?>|\[THINK\]|◁think▷|<\|begin_of_thought\|>|<\|START_THINKING\|>"
    r"|<\|channel\|>(?:analysis|commentary)<\|message\|>|<\|channel>thought",
    re.IGNORECASE,
)
CLOSE = re.compile(
    rf"</(?P<name>{_THOUGHT})\s?>|\[/THINK\]|◁/think▷|<\|end_of_thought\|>|<\|END_THINKING\|>"
    r"|<\|channel\|>final<\|message\|>|<channel\|>",
    re.IGNORECASE,
)


def without_reasoning(text: str) -> str:
    """A reply as it was written, its reasoning aside."""
    start, end = answer(text, tag="", answers=())
    return text[start:end]


def answer(text: str, *, tag: str, answers: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """From the last closing tag up to a block that never closes.

    A closing tag inside one of the ``answers``, spans that hold a verdict, is talk about tags and
    ends nothing. ``tag`` is the contract's own, which holds the verdict whatever its name.
    """
    tag = tag.strip("<>").casefold()

    def theirs(match: re.Match[str]) -> bool:
        return not tag or (match["name"] or "").casefold() != tag

    closers = [
        m for m in CLOSE.finditer(text)
        if theirs(m) and not any(a < m.start() < b for a, b in answers)
    ]  # fmt: skip
    start = closers[-1].end() if closers else 0
    for opener in _OPEN.finditer(text, start):
        # In the middle of a line it is talk about tags.
        if theirs(opener) and not words_before(text, opener.start(), start):
            return start, opener.start()
    return start, len(text)


def words_before(text: str, position: int, floor: int = 0) -> str:
    """What stands before a position on its line, as far as one looks back."""
    floor = max(floor, position - _LOOK_BACK)
    return text[max(text.rfind("\n", floor, position) + 1, floor) : position].lstrip()


_LOOK_BACK = 200
