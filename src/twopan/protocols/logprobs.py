"""From the log-probabilities of tokens to a distribution over the labels on offer.

    P(label) = Σ over the spellings of the label of P(token), divided by the mass on all labels

A judge that writes "4" and was torn between 4 and 5 says so here: the expected score Σ i·P(i)
(Liu et al. 2023, G-Eval, Section 2) and P(A) are finer than the label written. The division is not
in the published formula, and without it a confident 4.56 is reported as 3.65. A token is a label
only if it is exactly the label, white space aside: "5." and "50" are not 5. A label of several
tokens is the product along the path that was written, P(10) = P(1)·P(0|1); where the path was
not written only a bound is known, and it is stated.
"""

import math
import re
import unicodedata
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from twopan.errors import ConfigError, Unparsed
from twopan.protocols.parsing import CHOICES
from twopan.providers import TokenLogprobs

_TOO_MUCH = 0.01
"""How far above 1 the probabilities of one position may add up, for rounding."""
_REACH = 32
"""Tokens that a label, and white space before it, may take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution:
    """How a judge's belief is spread over the labels."""

    probabilities: Mapping[str, float]
    """One entry a label, in the order of the labels; they sum to 1."""
    mass: float
    """What the labels had together before they were made to sum to 1."""
    missing: tuple[str, ...]
    """Labels that were not reported: less probable than those that were, not impossible."""
    undecided: Mapping[str, float]
    """Mass on beginnings, such as "1" of 1 and 10, whose continuation was not reported. It is
    in neither ``mass`` nor ``probabilities``."""

    @property
    def expected(self) -> float:
        """Σ i·P(i) over labels that are numbers. Raises ConfigError over others."""
        return sum(value * self.probabilities[label] for label, value in self._values().items())

    @property
    def bounds(self) -> tuple[float, float]:
        """What ``expected`` would be if the undecided mass went as low, or as high, as it can."""
        values = self._values()
        ends = []
        for extreme in (min, max):
            total, weight = self.expected * self.mass, self.mass
            for begun, mass in self.undecided.items():
                total += mass * extreme(v for label, v in values.items() if label.startswith(begun))
                weight += mass
            ends.append(total / weight)
        return ends[0], ends[1]

    @property
    def entropy(self) -> float:
        """In nats: 0 for a judge that is sure, ln(number of labels) for one that has no idea."""
        return -sum(p * math.log(p) for p in self.probabilities.values() if p > 0)

    def _values(self) -> dict[str, float]:
        try:
            return {label: float(label) for label in self.probabilities}
        except ValueError:
            raise ConfigError("only labels that are numbers have an expected score") from None


def distribution(
    positions: Sequence[TokenLogprobs] | None,
    labels: Sequence[str],
    *,
    start: int = 0,
    min_mass: float = 0.5,
) -> Distribution:
    """The distribution over ``labels`` at the position ``start`` of a completion.

    Raises Unparsed: ``logprobs_missing``, ``bad_logprob`` (a hole, or more than certainty),
    ``no_score_mass`` where no label was reported, ``low_mass`` where the labels have less than
    ``min_mass`` even if all that is undecided went against them.

    >>> torn = TokenLogprobs("4", (("4", math.log(0.6)), (" 5", math.log(0.4))))
    >>> round(distribution([torn], ["1", "2", "3", "4", "5"]).expected, 6)
    4.4
    """
    if not positions or not 0 <= start < len(positions):
        raise Unparsed("logprobs_missing", "the reply came without log-probabilities")
    walk = _Walk(positions[start : start + _REACH], labels)
    walk.step(0, "", 1.0)
    mass, undecided = math.fsum(walk.found.values()), math.fsum(walk.undecided.values())
    if mass <= 0:
        raise Unparsed("no_score_mass", f"none of {', '.join(labels)} was among the likely tokens")
    if mass - undecided < min_mass:
        raise Unparsed("low_mass", f"the labels have {mass:.2f} of the probability for certain")
    return Distribution(
        probabilities={label: walk.found.get(label, 0.0) / mass for label in labels},
        mass=mass,
        missing=tuple(label for label in labels if label not in walk.found),
        undecided=dict(walk.undecided),
    )


def preference(found: Distribution) -> float:
    """P(A), a tie counting half: a number in [0, 1] for a menu that chooses between two."""
    shares = {"a": 1.0, "tie": 0.5, "b": 0.0}
    try:
        return math.fsum(
            p * shares[CHOICES[label.casefold()]] for label, p in found.probabilities.items()
        )
    except KeyError as label:
        raise ConfigError(f"the label {label} does not choose between two responses") from None


def position_of(
    positions: Sequence[TokenLogprobs] | None, span: tuple[int, int], text: str | None = None
) -> int | None:
    """The index of the token that covers the beginning of a span of the completion.

    With the ``text`` of the completion it is checked that the tokens spell it up to the span, or
    from the span on: some tokenizers begin with a space that the text has not, or cut a
    character in several tokens. None where the tokens cannot be laid along the text.
    """
    if not positions:
        return None
    tokens = [_visible(position.token) for position in positions]
    spelled = "".join(tokens)
    begin, end = span
    offset = 0
    if text is not None and spelled[:end] != text[:end]:
        tail = text[begin:]
        offset = len(spelled) - len(text)
        if not spelled.endswith(tail):
            return None
    target = begin + offset
    if not 0 <= target < len(spelled):
        return None
    for index, token in enumerate(tokens):
        if target < len(token):
            return index
        target -= len(token)
    return None


# ---- tokens ----

_BYTE = re.compile(r"<0x([0-9A-Fa-f]{2})>")
_BYTES = re.compile(r"bytes:((?:\\x[0-9A-Fa-f]{2})+)")
_SPACES = str.maketrans({"▁": " ", "Ġ": " ", "Ċ": "\n", "ĉ": "\t", "č": "\r", "\u00a0": " "})
_SPECIAL = re.compile(r"<\|[^|]*\|>|</s>|<(?:eos|end_of_turn)>|<\uff5c[^\uff5c]*\uff5c>")
_ENDS = frozenset("\"'*_`)]}:;!|/")
"""Signs after which a label cannot go on. A full stop is not one: 1.5 is not 1."""


def _visible(token: str) -> str:
    """The text of a token, whatever way its tokenizer writes spaces and bytes."""
    if byte := _BYTE.fullmatch(token):
        return chr(int(byte[1], 16))
    if raw := _BYTES.fullmatch(token):
        return bytes.fromhex(raw[1].replace("\\x", "")).decode("utf-8", "replace")
    if _SPECIAL.fullmatch(token):
        return ""
    return token.translate(_SPACES)


def _digits(word: str) -> str:
    """Decimal digits of any script as ASCII; superscripts are none."""
    if word.isascii():
        return word
    return "".join(str(unicodedata.decimal(c, c)) for c in word)


def _ended(token: str) -> bool:
    """Whether a label is over when this token follows it."""
    said = _visible(token)
    return not said or said[0].isspace() or said[0] in _ENDS


def _folded(label: str) -> str:
    """Case is ignored, but not of letters: "a" may begin any sentence, "Tie" is only the label."""
    return label.casefold() if len(label) > 1 else label


class _Walk:
    """Follows the tokens that were written, as far as a label may still go on."""

    def __init__(self, positions: Sequence[TokenLogprobs], labels: Sequence[str]) -> None:
        self.positions, self.labels = positions, labels
        self.exact = len({_folded(label) for label in labels}) < len(labels)
        self.keys = {self._key(label): label for label in labels}
        self.found: defaultdict[str, float] = defaultdict(float)
        self.undecided: defaultdict[str, float] = defaultdict(float)

    def _key(self, word: str) -> str:
        return word if self.exact else _folded(word)

    def step(self, index: int, begun: str, weight: float) -> None:
        """Share ``weight``, the probability of having written ``begun``, among what follows."""
        position = self.positions[index]
        for token, p in _probabilities(position).items():
            if begun and _ended(token):
                self._settle(begun, weight * p)
                continue
            said = _digits(_visible(token))
            word = begun + (said if begun else said.lstrip())
            whole = word.rstrip()
            if (whole and whole != word) or not self._goes_on(whole):
                self._settle(whole, weight * p)
            elif token == position.token and index + 1 < len(self.positions):
                self.step(index + 1, whole, weight * p)
            elif whole:
                self.undecided[whole] += weight * p

    def _settle(self, word: str, p: float) -> None:
        label = self.keys.get(self._key(word))
        if label is not None:
            self.found[label] += p

    def _goes_on(self, word: str) -> bool:
        begun = word if self.exact else word.casefold()
        return not begun or any(len(k) > len(begun) and k.startswith(begun) for k in self.keys)


def _probabilities(position: TokenLogprobs) -> dict[str, float]:
    """Tokens and probabilities, an entry that is listed twice counting once."""
    listed: dict[str, float] = {}
    for token, logprob in dict.fromkeys(position.top):
        if logprob is None or math.isnan(logprob) or logprob > _TOO_MUCH:
            raise Unparsed("bad_logprob", f"token {token!r} has log-probability {logprob}")
        listed[token] = listed.get(token, 0.0) + math.exp(logprob)
    if not listed:
        raise Unparsed("logprobs_missing", "a position came without alternatives")
    if math.fsum(listed.values()) > 1 + _TOO_MUCH:
        raise Unparsed("bad_logprob", "the probabilities of a position add up to more than 1")
    return listed
