"""Gate: may the candidate replace the baseline?

items × (candidate, baseline) ──► judge_pairs ──► win rate ± interval ──► promote
                                                                     ──► keep
                                                                     ──► inconclusive
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean
from typing import Any, Literal

from twopan.data import Pair
from twopan.errors import ConfigError
from twopan.judge import Judge, difference
from twopan.jury import Each, Outcome, Rule, judge_pairs, majority
from twopan.stats.win_rate import NoData, WinRate, bounds, fewest_decided, sign_test, win_rate
from twopan.verdict import Choice, Unjudged, Verdict

Decision = Literal["promote", "keep", "inconclusive"]
Score = Literal["choice", "probability"]
"""What an item is worth: win, half or nothing, or the probability the judge put on A."""

WORTH = {Choice.A: 1.0, Choice.TIE: 0.5, Choice.B: 0.0}

TOUCHING = 1e-9
"""Closer than this to a threshold is on it; sums of floats are not exact."""


@dataclass(frozen=True, kw_only=True)
class Gate:
    """A decision and all that it rests on. A is the candidate, B the baseline.

    Every rate rests on the items that were judged; how many were not, and why, stands beside it.
    """

    pairs: tuple[Pair, ...]
    outcomes: tuple[Outcome, ...]
    signature: str
    threshold: float
    level: float
    min_coverage: float
    score: Score = "choice"
    blocked: tuple[str, ...] = ()
    """Why no decision may rest on these data, whatever the numbers say."""

    @cached_property
    def verdicts(self) -> tuple[Verdict, ...]:
        return tuple(o for o in self.outcomes if isinstance(o, Verdict))

    @cached_property
    def unjudged(self) -> dict[str, int]:
        """How many pairs got no verdict, by reason."""
        reasons = (o.reason for o in self.outcomes if isinstance(o, Unjudged))
        return dict(Counter(reasons).most_common())

    @property
    def coverage(self) -> float:
        return len(self.verdicts) / len(self.pairs)

    @property
    def rate(self) -> WinRate | None:
        """The rate that decides: ``half_ties``, or ``expected`` where that was asked for."""
        return self.half_ties if self.score == "choice" else self.expected

    @cached_property
    def expected(self) -> WinRate | None:
        """The mean a_score: the probability that the judge put on the candidate, where it told.

        It uses more of what the judge said. But its scale is the judge's own: one that is never
        sure stays near ½ however often it is right, so a threshold on it means something else
        for each judge. That is why it does not decide unless asked to.
        """
        return self._rate([v.a_score for v in self.verdicts])

    @cached_property
    def half_ties(self) -> WinRate | None:
        """Each item a win, a loss or a tie, a tie or an inconsistent pair counting half."""
        return self._rate([WORTH[v.choice] for v in self.verdicts])

    def worth(self, verdict: Verdict) -> float:
        """What a verdict adds to the rate that decides."""
        return WORTH[verdict.choice] if self.score == "choice" else verdict.a_score

    @cached_property
    def decisive(self) -> WinRate | None:
        """Wins among the items that were decided one way or the other."""
        return self._rate([1.0] * self.wins + [0.0] * self.losses)

    def _rate(self, scores: Sequence[float]) -> WinRate | None:
        try:
            return win_rate(scores, level=self.level)
        except NoData:
            return None

    @cached_property
    def wins(self) -> int:
        return sum(v.choice == Choice.A for v in self.verdicts)

    @cached_property
    def losses(self) -> int:
        return sum(v.choice == Choice.B for v in self.verdicts)

    @cached_property
    def inconsistent(self) -> int:
        """Items on which some judge changed its mind with the order."""
        return sum(not v.consistent for v in self.verdicts)

    @property
    def ties(self) -> int:
        """Items called a tie, the inconsistent ones apart."""
        return len(self.verdicts) - self.wins - self.losses - self.undecided

    @property
    def undecided(self) -> int:
        """Of the inconsistent items, those that came out as a tie for it."""
        return sum(not v.consistent and v.choice == Choice.TIE for v in self.verdicts)

    @property
    def consistency(self) -> float | None:
        """Share of single comparisons in which the same response was chosen in both orders."""
        votes = [vote.consistent for v in self.verdicts for vote in v.votes]
        return fmean(votes) if votes else None

    @property
    def first_position(self) -> float | None:
        """Share of looks that chose the response shown first; ½ where position does not matter."""
        looks = [
            choice == first
            for v in self.verdicts
            for vote in v.votes
            for choice, first in (
                (vote.a_first.choice, Choice.A),
                (vote.b_first.choice, Choice.B),
            )
            if choice != Choice.TIE
        ]
        return fmean(looks) if looks else None

    @property
    def methods(self) -> dict[str, int]:
        """Looks whose strength comes from token probabilities, and from the written verdict.

        A mean of both is a mean of two different things; ``expected`` is to be read with this.
        """
        told = Counter(
            "text" if look.p_a is None else "logprobs"
            for v in self.verdicts
            for vote in v.votes
            for look in (vote.a_first, vote.b_first)
        )
        return dict(told.most_common())

    @property
    def p_value(self) -> float:
        """Exact sign test on the decided items."""
        return sign_test(self.wins, self.losses)

    @property
    def worst_case(self) -> tuple[float, float]:
        """The rate if every unjudged pair had gone to the baseline, and to the candidate."""
        total = sum(self.worth(v) for v in self.verdicts)
        return bounds(total, len(self.verdicts), len(self.pairs) - len(self.verdicts))

    @property
    def lengths(self) -> tuple[float, float]:
        """Mean characters of the candidate's and of the baseline's responses."""
        return (
            fmean(len(p.a.text) for p in self.pairs),
            fmean(len(p.b.text) for p in self.pairs),
        )

    @cached_property
    def categories(self) -> dict[str, WinRate]:
        """The rate within each category that has a verdict, in the order of the data."""
        scores: dict[str, list[float]] = {}
        for pair, outcome in zip(self.pairs, self.outcomes, strict=True):
            if pair.item.category is not None and isinstance(outcome, Verdict):
                scores.setdefault(pair.item.category, []).append(self.worth(outcome))
        return {name: win_rate(y, level=self.level) for name, y in scores.items()}

    @property
    def decision(self) -> Decision:
        """Promote when the whole interval lies above the threshold, keep when it lies below."""
        if self.rate is None or self.blocked or not self.covered or self.too_few:
            return "inconclusive"
        if self.rate.low > self.threshold + TOUCHING:
            return "promote"
        if self.rate.high < self.threshold - TOUCHING:
            return "keep"
        return "inconclusive"

    @property
    def too_few(self) -> bool:
        """So few items were decided that not even all of them on one side would be evidence."""
        return self.wins + self.losses < fewest_decided(self.level)

    @property
    def covered(self) -> bool:
        """Enough pairs were judged for a decision to rest on."""
        return bool(self.verdicts) and self.coverage >= self.min_coverage - TOUCHING

    @property
    def because(self) -> str:
        """The decision in one sentence, for a person."""
        a, b = self.pairs[0].a.system, self.pairs[0].b.system
        if not self.covered or self.rate is None:
            return (
                f"Only {len(self.verdicts)} of {len(self.pairs)} pairs were judged, fewer than the "
                f"{100 * self.min_coverage:g}% that a decision may rest on."
            )
        if self.blocked:
            return f"Not decided, for the data are suspicious: {'; '.join(self.blocked)}."
        rate, goal = self.rate, f"{100 * self.threshold:g}%"
        interval = (
            f"{rate.estimate:.1%}, {100 * rate.level:g}% interval {rate.low:.1%} to {rate.high:.1%}"
        )
        if self.too_few:
            return (
                f"The win rate of {a} is {interval}, but only {self.wins + self.losses} pairs were "
                f"decided, and with fewer than {fewest_decided(self.level)} chance may do the same."
            )
        if self.decision == "promote":
            return f"The win rate of {a} is {interval}: all of it above {goal}."
        if self.decision == "keep":
            return f"The win rate of {a} is {interval}: all of it below {goal}, so {b} stays."
        return f"The win rate of {a} is {interval}: {goal} lies inside, so this is not decided."

    def _repr_html_(self) -> str:
        """How a notebook shows it."""
        from twopan.report import notebook

        return notebook(self)

    def __str__(self) -> str:
        """How a terminal shows it."""
        return f"{self.decision}: {self.because}"

    def to_dict(self) -> dict[str, Any]:
        """Everything above as plain JSON values; a rate that does not exist is null, never NaN."""
        return {
            "decision": self.decision,
            "because": self.because,
            "candidate": self.pairs[0].a.system,
            "baseline": self.pairs[0].b.system,
            "blocked": list(self.blocked),
            "threshold": self.threshold,
            "score": self.score,
            "win_rate": _plain(self.rate),
            "win_rate_expected": _plain(self.expected),
            "win_rate_half_ties": _plain(self.half_ties),
            "win_rate_decisive": _plain(self.decisive),
            "p_value": self.p_value,
            "worst_case": list(self.worst_case),
            "pairs": len(self.pairs),
            "judged": len(self.verdicts),
            "coverage": self.coverage,
            "min_coverage": self.min_coverage,
            "wins": self.wins,
            "losses": self.losses,
            "ties": self.ties,
            "inconsistent": self.inconsistent,
            "unjudged": self.unjudged,
            "consistency": self.consistency,
            "first_position": self.first_position,
            "methods": self.methods,
            "mean_length": dict(zip(("candidate", "baseline"), self.lengths, strict=True)),
            "categories": {name: _plain(rate) for name, rate in self.categories.items()},
            "signature": self.signature,
        }


def _plain(rate: WinRate | None) -> dict[str, Any] | None:
    if rate is None:
        return None
    return {
        "estimate": rate.estimate,
        "low": rate.low,
        "high": rate.high,
        "items": rate.m,
        "standard_error": rate.standard_error,
        "level": rate.level,
    }


async def gate(
    jury: Sequence[Judge],
    pairs: Sequence[Pair],
    *,
    threshold: float = 0.5,
    level: float = 0.95,
    min_coverage: float = 0.95,
    score: Score = "choice",
    blocked: Sequence[str] = (),
    rule: Rule = majority,
    workers: int = 16,
    each: Each | None = None,
) -> Gate:
    """Judge every pair, A being the candidate, and decide.

    Parameters
    ----------
    threshold : float in [0, 1]
        The win rate to be above, or below.
    level : float in (0, 1)
        Confidence of the interval.
    min_coverage : float in [0, 1]
        Share of pairs that must have a verdict; with fewer the gate is inconclusive.
    score : "choice" or "probability"
        Whether an item counts as it was decided, or by the probability put on the candidate.
    blocked : sequence of str
        Reasons not to decide whatever comes out, such as ``screen(pairs).blocks``.
    """
    outcomes = await judge_pairs(jury, pairs, rule=rule, workers=workers, each=each)
    return decide(
        pairs,
        outcomes,
        signature=" + ".join(judge.signature for judge in jury),
        threshold=threshold,
        level=level,
        min_coverage=min_coverage,
        score=score,
        blocked=blocked,
    )


def decide(
    pairs: Sequence[Pair],
    outcomes: Sequence[Outcome],
    *,
    signature: str = "",
    threshold: float = 0.5,
    level: float = 0.95,
    min_coverage: float = 0.95,
    score: Score = "choice",
    blocked: Sequence[str] = (),
) -> Gate:
    """Decide from verdicts that are there already.

    Raises ConfigError where there is no pair, or where verdicts of different judges are mixed.
    """
    if not pairs:
        raise ConfigError("there are 0 pairs to decide from")
    return Gate(
        pairs=tuple(pairs),
        outcomes=tuple(outcomes),
        signature=common_signature(outcomes) or signature,
        threshold=threshold,
        level=level,
        min_coverage=min_coverage,
        score=score,
        blocked=tuple(blocked),
    )


def common_signature(outcomes: Sequence[Outcome]) -> str:
    """The signature of the jury behind all verdicts. Raises ConfigError where there are two."""
    juries = dict.fromkeys(
        tuple(vote.judge for vote in o.votes) for o in outcomes if isinstance(o, Verdict)
    )
    if len(juries) > 1:
        one, other, *_ = juries
        parts = {p for a, b in zip(one, other, strict=False) for p in difference(a, b)}
        raise ConfigError(
            "verdicts of different judges are not pooled; they differ in "
            + (", ".join(sorted(parts)) or "how many judges sat")
        )
    return " + ".join(next(iter(juries), ()))
