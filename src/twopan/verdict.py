"""What a judge says, and what we make of it: one look, two looks, several judges."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from statistics import fmean
from typing import Literal


class Choice(StrEnum):
    """Which of two responses is better."""

    A = "a"
    B = "b"
    TIE = "tie"

    def flipped(self) -> "Choice":
        return {Choice.A: Choice.B, Choice.B: Choice.A}.get(self, self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Preference:
    """One look at a pair, in one order."""

    choice: Choice
    reasoning: str
    p_a: float | None = None
    """Probability the judge put on A, where the provider gave log-probabilities; a tie is half."""
    grade: float | None = None
    """How much better, where degrees were on offer: from 0, B by far, to 1, A by far."""
    label_mass: float | None = None
    """How much probability the labels on offer had together; the rest went to other words."""
    flags: tuple[str, ...] = ()
    """What had to be done to read the verdict: coerced, repaired, reasoning_stripped, ..."""

    @property
    def a_score(self) -> float:
        """How strongly A is preferred: 1 is a win, ½ a tie, 0 a loss."""
        if self.p_a is not None:
            return self.p_a
        if self.grade is not None:
            return self.grade
        return {Choice.A: 1.0, Choice.TIE: 0.5, Choice.B: 0.0}[self.choice]

    def flipped(self) -> "Preference":
        """The same preference with A and B renamed."""
        return replace(
            self,
            choice=self.choice.flipped(),
            p_a=None if self.p_a is None else 1 - self.p_a,
            grade=None if self.grade is None else 1 - self.grade,
        )


ScoreMode = Literal["logprobs", "samples", "text", "likelihood"]
"""How a score was come by. Scores of different modes do not compare."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """What a judge gave one response."""

    value: float
    """On the rubric's scale; a log-likelihood ratio, in nats, where the mode is likelihood."""
    score_mode: ScoreMode
    """``logprobs``: the expected level, Σ i·P(i); ``samples``: the mean of several written levels;
    ``text``: the level as written."""
    reasoning: str = ""
    level: int | None = None
    """The level as written, where one was."""
    distribution: Mapping[int, float] | None = None
    """P(level), where token probabilities were given."""
    label_mass: float | None = None
    """How much probability the levels had together before they were made to sum to 1."""
    flags: tuple[str, ...] = ()

    @property
    def entropy(self) -> float | None:
        """Of the distribution, in nats: 0 for a judge that is sure."""
        if self.distribution is None:
            return None
        return -sum(p * math.log(p) for p in self.distribution.values() if p > 0)


SUREST = 14.0
"""No judge is taken to be surer than this of either side: a millionth, in log-odds."""
EVEN = 1e-9
"""Log-odds closer than this are equal; sums of floats are not exact."""


def log_odds(p: float) -> float:
    """ln(p / (1 - p)), in nats, from -SUREST to SUREST.

    >>> log_odds(0.5), round(log_odds(0.9), 3), log_odds(0.0)
    (0.0, 2.197, -14.0)
    """
    if p in (0.0, 1.0):
        return SUREST * (2 * p - 1)
    return min(max(math.log(p) - math.log1p(-p), -SUREST), SUREST)


def probability(log_odds: float) -> float:
    """The inverse: 1 / (1 + exp(-log_odds)).

    >>> probability(0.0), probability(-800.0)
    (0.5, 0.0)
    """
    return 0.5 * (1 + math.tanh(log_odds / 2))


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two looks by one judge, A shown first and then B shown first; A is A in both.

    A judge that picks the same *position* twice has told us about itself and not about
    the responses, so only a *response* picked twice wins (Zheng et al. 2023).
    """

    judge: str
    a_first: Preference
    b_first: Preference
    margin: float | None = None
    """Where it is given, not agreement decides but the mean log-odds: within it lies a tie.

    A judge that leans to one position adds to the log-odds in the one order what it takes away in
    the other, so that in the mean its leaning cancels and what it thinks of the responses stays.
    """

    @property
    def consistent(self) -> bool:
        return self.a_first.choice == self.b_first.choice

    @property
    def choice(self) -> Choice:
        if self.margin is None:
            return self.a_first.choice if self.consistent else Choice.TIE
        if abs(self.log_odds) <= self.margin + EVEN:
            return Choice.TIE
        return Choice.A if self.log_odds > 0 else Choice.B

    @property
    def log_odds(self) -> float:
        """For A, the mean of both looks, in nats."""
        return fmean((log_odds(self.a_first.a_score), log_odds(self.b_first.a_score)))

    @property
    def a_score(self) -> float:
        if self.margin is None:
            return fmean((self.a_first.a_score, self.b_first.a_score))
        return probability(self.log_odds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What the jury makes of one pair. A single judge is a jury of one."""

    item_id: str
    votes: tuple[Comparison, ...]
    choice: Choice

    @property
    def a_score(self) -> float:
        return fmean(vote.a_score for vote in self.votes)

    @property
    def consistent(self) -> bool:
        """Every judge chose the same response in both orders."""
        return all(vote.consistent for vote in self.votes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unjudged:
    """A pair that got no verdict. Never a tie, never a zero: it is counted and shown as itself."""

    item_id: str
    reason: str
    """One word, the ``reason`` of the exception: unparsed, refused, truncated, unreachable, ..."""
    detail: str = ""
    """What happened, for a person."""
