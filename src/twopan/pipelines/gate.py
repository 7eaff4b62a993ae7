"""Gate: may the candidate replace the baseline?

items × (candidate, baseline) ──► judge_pairs ──► win rate ± interval ──► promote
                                      ▲                │             ──► keep
                                      └── more wanted? ┘             ──► inconclusive

A sequential gate asks in a drawn order and looks after every verdict; a fixed one judges all pairs
and looks once. What the bounds of the one and the interval of the other promise differs, and the
result says which it holds (``interval``).
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import NormalDist, fmean
from typing import Any, Literal

import numpy as np

from twopan.data import Pair
from twopan.errors import BudgetReached, ConfigError
from twopan.judge import Judge, difference
from twopan.jury import Each, Outcome, Rule, judge_pairs, majority, require_references
from twopan.pipelines.floor import Floor
from twopan.pipelines.stopping import Watch, drawn
from twopan.stats.length_control import LengthControlled, length_controlled
from twopan.stats.logistic import Separated
from twopan.stats.multiplicity import holm
from twopan.stats.pairing import time_uniform
from twopan.stats.powered import Powered, powered
from twopan.stats.resampling import Undefined
from twopan.stats.sequential import Rules, Sequential, confidence_sequence, sequential
from twopan.stats.win_rate import (
    NoData,
    WinRate,
    bounds,
    fewest_decided,
    score_test,
    sign_test,
    win_rate,
)
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
    rules: Rules | None = None
    """Of a sequential gate, whose ``pairs`` are those that were asked, in the order drawn; its
    ``cap`` is how many there were to ask."""
    floor: Floor | None = None
    """The mean scores that a promotion was made subject to."""

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

    @cached_property
    def sequential(self) -> Sequential | None:
        """What the bets say, after the pairs that were asked; None for a fixed gate."""
        if self.rules is None or not self.verdicts:
            return None
        return sequential(list(map(self.worth, self.verdicts)), self.rules, seen=len(self.pairs))

    @property
    def available(self) -> int:
        """Pairs there were to ask."""
        return len(self.pairs) if self.rules is None else self.rules.cap or len(self.pairs)

    @property
    def interval(self) -> str:
        """What the interval of a rate is: of one look, or bounds that hold at all looks."""
        return f"{100 * self.level:g}% {'interval' if self.rules is None else 'bounds'}"

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
        return self._rate([v.a_score for v in self.verdicts], decides=self.score == "probability")

    @cached_property
    def half_ties(self) -> WinRate | None:
        """Each item a win, a loss or a tie, a tie or an inconsistent pair counting half."""
        return self._rate([WORTH[v.choice] for v in self.verdicts], decides=self.score == "choice")

    def worth(self, verdict: Verdict) -> float:
        """What a verdict adds to the rate that decides."""
        return worth(verdict, self.score)

    @cached_property
    def decisive(self) -> WinRate | None:
        """Wins among the items that were decided one way or the other."""
        return self._rate([1.0] * self.wins + [0.0] * self.losses)

    def _rate(self, scores: Sequence[float], *, decides: bool = False) -> WinRate | None:
        try:
            found = win_rate(scores, level=self.level)
        except NoData:
            return None
        if self.rules is None:
            return found
        if decides and self.sequential is not None:
            low, high = self.sequential.low, self.sequential.high
        else:
            ends = confidence_sequence(np.asarray(scores, float), self.level, looks=[found.m])
            low, high = (float(end[-1]) for end in ends)
        return replace(found, low=low, high=high)

    @cached_property
    def length_controlled(self) -> LengthControlled | str:
        """The win rate if both responses were as long; or why there is none."""
        judged = [
            (self.worth(o), len(p.a.text), len(p.b.text))
            for p, o in zip(self.pairs, self.outcomes, strict=True)
            if isinstance(o, Verdict)
        ]
        if not judged:
            return "no item was judged"
        level = self._at_all_looks(len(judged))
        if level == 1:
            return f"{len(judged)} items are too few for bounds that hold at all looks"
        try:
            found = length_controlled(*zip(*judged, strict=True), level=level)
        except (Separated, Undefined) as reason:
            return str(reason)
        return found

    @cached_property
    def corrected(self) -> Powered | str | None:
        """The win rate as people would have it, from their labels on some pairs; or why there is
        none. None where nobody labelled any.

        It presumes that the labelled pairs are a random draw from all.
        """
        told = [
            (pair.label, self.worth(o), pair.item.id)
            for pair, o in zip(self.pairs, self.outcomes, strict=True)
            if isinstance(o, Verdict)
        ]
        labelled = [(WORTH[label], worth, id) for label, worth, id in told if label is not None]
        others = [(worth, id) for label, worth, id in told if label is None]
        if all(pair.label is None for pair in self.pairs):
            return None
        if not labelled or not others:
            return f"people labelled {len(labelled)} of the {len(told)} pairs judged"
        level = self._at_all_looks(len(labelled))
        if level == 1:
            return f"{len(labelled)} labels are too few for bounds that hold at all looks"
        y, f, of = zip(*labelled, strict=True)
        unlabelled, rest = zip(*others, strict=True)
        try:
            return powered(y, f, unlabelled, cluster=of, unlabelled_cluster=rest, level=level)
        except (Undefined, ValueError) as reason:
            return str(reason)

    def _at_all_looks(self, n: int) -> float:
        """The level of one interval at n items, such that intervals at all looks have ours."""
        if self.rules is None:
            return self.level
        return 1 - 2 * NormalDist().cdf(-time_uniform(n, 1 - self.level))

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
    def _by_category(self) -> dict[str, list[float]]:
        scores: dict[str, list[float]] = {}
        for pair, outcome in zip(self.pairs, self.outcomes, strict=True):
            if pair.item.category is not None and isinstance(outcome, Verdict):
                scores.setdefault(pair.item.category, []).append(self.worth(outcome))
        return scores

    @cached_property
    def categories(self) -> dict[str, WinRate]:
        """The rate within each category that has a verdict, in the order of the pairs."""
        rates = {name: self._rate(scores) for name, scores in self._by_category.items()}
        return {name: rate for name, rate in rates.items() if rate is not None}

    @cached_property
    def category_p(self) -> dict[str, float]:
        """Of each category's rate being at the threshold: p-values adjusted by Holm's method.

        With them the chance that *any* category that is at the threshold is called above or below
        it is at most 1 - level, however many there are.
        """
        names = list(self._by_category)
        p = holm([self._p_value(scores) for scores in self._by_category.values()])
        return dict(zip(names, p.tolist(), strict=True))

    def _p_value(self, scores: Sequence[float]) -> float:
        if self.rules is None:
            return score_test(scores, self.threshold, level=self.level)
        found = sequential(scores, replace(self.rules, cap=None))
        return min(1.0, 2 * min(found.p_promote, found.p_keep))

    @property
    def decision(self) -> Decision:
        """What the win rate decides, a promotion being subject to the floor where there is one."""
        if self.floor is None or self.by_rate != "promote":
            return self.by_rate
        told: dict[str, Decision] = {"met": "promote", "broken": "keep"}
        return told.get(self.floor.decision, "inconclusive")

    @property
    def by_rate(self) -> Decision:
        """Promote when the whole interval lies above the threshold, keep when it lies below.

        A sequential gate decides by its bets, with a last look where all pairs were asked.
        """
        if self.rate is None or self.blocked or not self.covered:
            return "inconclusive"
        if self.sequential is not None:
            return self.sequential.decision or "inconclusive"
        if self.too_few:
            return "inconclusive"
        if self.rate.low > self.threshold + TOUCHING:
            return "promote"
        if self.rate.high < self.threshold - TOUCHING:
            return "keep"
        return "inconclusive"

    @property
    def too_few(self) -> bool:
        """So few items were decided that not even all of them on one side would be evidence."""
        if self.sequential is not None and self.sequential.stopped != "end":
            return False
        return self.wins + self.losses < self._fewest

    @property
    def _fewest(self) -> int:
        return fewest_decided(self.level if self.rules is None else self.rules.ending)

    @property
    def covered(self) -> bool:
        """Enough pairs were judged for a decision to rest on."""
        return bool(self.verdicts) and self.coverage >= self.min_coverage - TOUCHING

    @property
    def because(self) -> str:
        """The decision in a sentence or two, for a person."""
        a, b = self.pairs[0].a.system, self.pairs[0].b.system
        if not self.covered or self.rate is None:
            return (
                f"Only {len(self.verdicts)} of {len(self.pairs)} pairs were judged, fewer than the "
                f"{100 * self.min_coverage:g}% that a decision may rest on."
            )
        if self.blocked:
            return f"Not decided, for the data are suspicious: {'; '.join(self.blocked)}."
        rate, goal = self.rate, f"{100 * self.threshold:g}%"
        after = f" after {len(self.pairs)} of {self.available} pairs" if self.rules else ""
        floor = "" if self.floor is None else f" {self.floor.because}"
        return (
            f"The win rate of {a} is {rate.estimate:.1%}{after}, {self.interval} {rate.low:.1%} to "
            f"{rate.high:.1%}{self._so(goal, b)}{floor}"
        )

    def _so(self, goal: str, baseline: str) -> str:
        rest = f" The other {self.spared} pairs were not needed." if self.spared else ""
        if self.too_few:
            return (
                f", but only {self.wins + self.losses} pairs were decided, and with fewer than "
                f"{self._fewest} chance may do the same."
            )
        if self.by_rate == "promote":
            return f": all of it above {goal}.{rest}"
        if self.by_rate == "keep":
            return f": all of it below {goal}, so {baseline} stays.{rest}"
        if self.spared:
            return (
                f": {goal} lies inside, and the other {self.spared} pairs would hardly change "
                "that, so this is not decided."
            )
        return f": {goal} lies inside, so this is not decided."

    @property
    def spared(self) -> int:
        """Pairs that were not needed."""
        return self.available - len(self.pairs)

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
            "sequential": _stopped(self.sequential),
            "interval": self.interval,
            "floor": None if self.floor is None else self.floor.to_dict(),
            "win_rate": _plain(self.rate),
            "win_rate_expected": _plain(self.expected),
            "win_rate_half_ties": _plain(self.half_ties),
            "win_rate_decisive": _plain(self.decisive),
            "win_rate_length_controlled": _controlled(self.length_controlled),
            "win_rate_corrected": _corrected(self.corrected),
            "p_value": self.p_value,
            "worst_case": list(self.worst_case),
            "available": self.available,
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
            "categories": {
                name: {**(_plain(rate) or {}), "p_adjusted": self.category_p[name]}
                for name, rate in self.categories.items()
            },
            "signature": self.signature,
        }


def worth(verdict: Verdict, score: Score) -> float:
    """What a verdict adds to the win rate."""
    return WORTH[verdict.choice] if score == "choice" else verdict.a_score


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


def _stopped(found: Sequential | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "stopped": found.stopped,
        "p_promote": found.p_promote,
        "p_keep": found.p_keep,
        "seed": found.rules.seed,
    }


def _controlled(found: LengthControlled | str) -> dict[str, Any]:
    if isinstance(found, str):
        return {"none": found}
    return {
        "estimate": found.estimate,
        "low": found.low,
        "high": found.high,
        "items": found.m,
        "effect_of_length": None if found.effect is None else found.effect.estimate,
        "p_value": found.p_value,
        "flags": list(found.flags),
    }


def _corrected(found: Powered | str | None) -> dict[str, Any] | None:
    if found is None or isinstance(found, str):
        return None if found is None else {"none": found}
    return {
        "estimate": found.estimate,
        "low": found.low,
        "high": found.high,
        "labelled": found.labelled,
        "weight": found.weight,
        "worth": found.worth,
    }


async def gate(
    jury: Sequence[Judge],
    pairs: Sequence[Pair],
    *,
    threshold: float = 0.5,
    level: float = 0.95,
    min_coverage: float = 0.95,
    score: Score = "choice",
    sequential: bool = True,
    seed: int = 0,
    blocked: Sequence[str] = (),
    rule: Rule = majority,
    workers: int = 16,
    each: Each | None = None,
) -> Gate:
    """Judge pairs, A being the candidate, until the evidence suffices, and decide.

    Parameters
    ----------
    threshold : float in [0, 1]
        The win rate to be above, or below; strictly between 0 and 1 where ``sequential``.
    level : float in (0, 1)
        Confidence of the interval. A sequential gate promotes a candidate that is not above the
        threshold with a chance of at most 1 - level, though it looks after every pair; a fixed one,
        which looks once and has a two-sided interval, with half of that.
    min_coverage : float in [0, 1]
        Share of pairs that must have a verdict; with fewer the gate is inconclusive.
    score : "choice" or "probability"
        Whether an item counts as it was decided, or by the probability put on the candidate.
    sequential : bool
        Whether to stop as soon as the evidence suffices; otherwise every pair is judged.
    seed : int
        Draws the order in which a sequential gate asks.
    blocked : sequence of str
        Reasons not to decide whatever comes out, such as ``screen(pairs).blocks``.
    each
        Awaited for every pair that was judged: its place in the order asked, pair and outcome.

    Raises ConfigError for what the parameters may not be, and where a prompt needs a reference that
    an item lacks.
    """
    require_references(jury, pairs)
    rules = _rules(len(pairs), threshold, level, seed) if sequential else None
    if rules is not None:
        pairs = drawn(pairs, seed, lambda pair: pair.item.id)
    watch = Watch(rules, coverage=min_coverage)
    found: dict[int, Outcome] = {}

    async def seen(place: int, pair: Pair, outcome: Outcome) -> None:
        found[place] = outcome
        watch.add(place, worth(outcome, score) if isinstance(outcome, Verdict) else None)
        if each is not None:
            await each(place, pair, outcome)

    try:
        await judge_pairs(jury, watch.until(pairs), rule=rule, workers=workers, each=seen)
    except BudgetReached:
        if watch.stop is None:
            raise  # else it ended what was no longer needed
    asked = len(pairs) if watch.counted is None else watch.counted
    return _gate(
        pairs[:asked],
        [found[place] for place in range(asked)],
        signature=" + ".join(judge.signature for judge in jury),
        threshold=threshold,
        level=level,
        min_coverage=min_coverage,
        score=score,
        blocked=tuple(blocked),
        rules=rules,
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
    sequential: bool = False,
    seed: int = 0,
    blocked: Sequence[str] = (),
) -> Gate:
    """Decide from verdicts that are there already.

    With ``sequential``, as :func:`gate` would have: the pairs in the order drawn, up to where it
    would have stopped. Raises ConfigError where there is no pair, where verdicts of different
    judges are mixed, and as :func:`gate` does.
    """
    rows = list(zip(pairs, outcomes, strict=True))
    rules = _rules(len(rows), threshold, level, seed) if sequential else None
    if rules is not None:
        rows = drawn(rows, seed, lambda row: row[0].item.id)
        watch = Watch(rules, coverage=min_coverage)
        for place, (_, o) in enumerate(rows):
            watch.add(place, worth(o, score) if isinstance(o, Verdict) else None)
        rows = rows[: watch.counted]
    return _gate(
        [pair for pair, _ in rows],
        [outcome for _, outcome in rows],
        signature=signature,
        threshold=threshold,
        level=level,
        min_coverage=min_coverage,
        score=score,
        blocked=tuple(blocked),
        rules=rules,
    )


def _rules(pairs: int, threshold: float, level: float, seed: int) -> Rules:
    if not 0 < threshold < 1:
        raise ConfigError(
            f"a sequential gate needs a threshold between 0 and 1, and not {threshold:g} itself; a"
            " fixed one (--fixed) may have it"
        )
    return Rules(threshold, level, pairs, seed=seed)


def _gate(
    pairs: Sequence[Pair], outcomes: Sequence[Outcome], *, signature: str, **known: Any
) -> Gate:
    if not pairs:
        raise ConfigError("there are 0 pairs to decide from")
    return Gate(
        pairs=tuple(pairs),
        outcomes=tuple(outcomes),
        signature=common_signature(outcomes) or signature,
        **known,
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
