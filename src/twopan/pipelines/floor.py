"""Floor: does the candidate's mean score stay where the baseline's was?

items × (candidate, baseline) ──► score ──► score ──► mean difference ± interval ──► met
                                                          │  margin             ──► broken
                                                          └── inside?           ──► undecided

A candidate may win more pairs than it loses and still be worse where it loses. So a promotion may
be made subject to a mean score on the rubric that is not lower than the baseline's by more than a
margin: met where the whole interval of the difference lies above minus the margin, broken where all
of it lies below. Both responses of an item get a score each, by the same judges, and the items'
differences are what is averaged: what is hard about an item is hard for both.

Since both the win and the floor must be shown, neither's error rate grows by the other's.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean
from typing import Any, Literal

from twopan.concurrency import for_each, together
from twopan.data import Pair
from twopan.errors import BudgetReached, ConfigError, TwopanError
from twopan.judge import Judge, PairProtocol
from twopan.pipelines.stopping import Watch, drawn
from twopan.rubric import Rubric
from twopan.stats.sequential import Rules, Sequential, sequential
from twopan.stats.win_rate import win_rate
from twopan.verdict import Score, Unjudged

Decision = Literal["met", "broken", "undecided"]
Scores = tuple[float, float] | Unjudged
"""Of the candidate and of the baseline, or why there are none."""
Each = Callable[[int, Pair, Scores], Awaitable[None]]
TOUCHING = 1e-9


@dataclass(frozen=True, kw_only=True)
class Floor:
    """A decision on the mean score, in points of the rubric, and all that it rests on."""

    pairs: tuple[Pair, ...]
    outcomes: tuple[Scores, ...]
    signature: str
    margin: float
    """By how much the mean may be lower."""
    span: float
    """From the rubric's lowest level to its highest."""
    level: float
    min_coverage: float
    rules: Rules | None = None

    @cached_property
    def scores(self) -> tuple[tuple[float, float], ...]:
        return tuple(o for o in self.outcomes if not isinstance(o, Unjudged))

    @cached_property
    def unjudged(self) -> dict[str, int]:
        reasons = (o.reason for o in self.outcomes if isinstance(o, Unjudged))
        return dict(Counter(reasons).most_common())

    @property
    def means(self) -> tuple[float, float] | None:
        """Of the candidate and of the baseline, on the items where both have a score."""
        if not self.scores:
            return None
        return fmean(a for a, _ in self.scores), fmean(b for _, b in self.scores)

    @cached_property
    def difference(self) -> tuple[float, float, float] | None:
        """Candidate less baseline, and its interval, or bounds that hold at all looks."""
        if not self.scores:
            return None
        found = self.sequential or win_rate(self._worth, level=self.level)
        estimate, low, high = (
            (end - 0.5) * 2 * self.span for end in (found.estimate, found.low, found.high)
        )
        return estimate, low, high

    @cached_property
    def sequential(self) -> Sequential | None:
        if self.rules is None or not self.scores:
            return None
        return sequential(self._worth, self.rules, seen=len(self.pairs))

    @property
    def _worth(self) -> list[float]:
        return [worth(scores, self.span) for scores in self.scores]

    @property
    def coverage(self) -> float:
        return len(self.scores) / len(self.pairs)

    @property
    def covered(self) -> bool:
        return bool(self.scores) and self.coverage >= self.min_coverage - TOUCHING

    @property
    def decision(self) -> Decision:
        if not self.covered or self.difference is None:
            return "undecided"
        if self.sequential is not None:
            told: dict[str | None, Decision] = {"promote": "met", "keep": "broken"}
            return told.get(self.sequential.decision, "undecided")
        _, low, high = self.difference
        if low > -self.margin + TOUCHING:
            return "met"
        return "broken" if high < -self.margin - TOUCHING else "undecided"

    @property
    def because(self) -> str:
        """The decision in a sentence, for a person."""
        if not self.covered or self.difference is None or self.means is None:
            return (
                f"The floor is undecided: only {len(self.scores)} of {len(self.pairs)} pairs got"
                " two scores."
            )
        (a, b), (estimate, low, high) = self.means, self.difference
        so = {
            "met": "all of it above",
            "broken": "all of it below",
            "undecided": "which does not tell it from",
        }[self.decision]
        kind = "interval" if self.rules is None else "bounds"
        return (
            f"The mean score is {a:.2f} against {b:.2f} on {len(self.scores)} pairs, a difference"
            f" of {estimate:+.2f}, {100 * self.level:g}% {kind} {low:+.2f} to {high:+.2f}: {so} the"
            f" {-self.margin:z.2f} that is allowed."
        )

    def to_dict(self) -> dict[str, Any]:
        a, b = self.means or (None, None)
        estimate, low, high = self.difference or (None, None, None)
        return {
            "decision": self.decision,
            "because": self.because,
            "margin": self.margin,
            "candidate": a,
            "baseline": b,
            "difference": {"estimate": estimate, "low": low, "high": high},
            "pairs": len(self.pairs),
            "judged": len(self.scores),
            "unjudged": self.unjudged,
            "signature": self.signature,
        }


def worth(scores: tuple[float, float], span: float) -> float:
    """The difference of two scores, on 0 to 1.

    >>> worth((5, 1), 4), worth((3, 3), 4), worth((1, 5), 4)
    (1.0, 0.5, 0.0)
    """
    return min(max(0.5 + (scores[0] - scores[1]) / (2 * span), 0.0), 1.0)


def check(protocol: PairProtocol, rubric: Rubric, margin: float) -> float:
    """The span of the rubric. Raises ConfigError where no such floor can be held."""
    if getattr(protocol, "score", None) is None or not protocol.asks:
        raise ConfigError(
            f"a floor needs scores on the rubric, and {protocol.name} gives none: use pointwise,"
            " pointwise-direct or prometheus"
        )
    levels = sorted(rubric.levels)
    span = float(levels[-1] - levels[0])
    if not 0 <= margin < span:
        raise ConfigError(f"the floor's margin must be from 0 to less than {span:g}, the rubric's")
    return span


async def floor(
    jury: Sequence[Judge],
    pairs: Sequence[Pair],
    *,
    margin: float,
    level: float = 0.95,
    min_coverage: float = 0.95,
    sequential: bool = True,
    seed: int = 0,
    workers: int = 16,
    each: Each | None = None,
) -> Floor:
    """Score both responses of each pair, A being the candidate's, until the floor is decided.

    Parameters
    ----------
    jury
        Judges whose protocol scores single responses on the rubric; of several the mean counts.
    margin : float
        In points of the rubric: 0 to be sure that the candidate's mean is higher, more to be sure
        that it is not lower by more than so much.
    each
        Awaited with place, pair and scores as soon as there are some; places count from 0 in the
        order of ``pairs``.

    The rest is as in :func:`twopan.pipelines.gate.gate`, the order of the items too. Raises
    ConfigError where the judges give no such scores, and the first failure that ends the run.
    """
    (span,) = {check(judge.protocol, judge.rubric, margin) for judge in jury}
    places = list(range(len(pairs)))
    rules = None
    if sequential:
        threshold = (span - margin) / (2 * span)
        rules = Rules(threshold, level, len(pairs), seed=seed, decided=False)
        places = drawn(places, seed, lambda place: pairs[place].item.id)
    watch = Watch(rules, coverage=min_coverage)
    found: dict[int, Scores] = {}

    async def work(numbered: tuple[int, int]) -> None:
        position, place = numbered
        scores = found[position] = await both(jury, pairs[place])
        watch.add(position, None if isinstance(scores, Unjudged) else worth(scores, span))
        if each is not None:
            await each(place, pairs[place], scores)

    try:
        await for_each(watch.until(enumerate(places)), work, workers=workers)
    except BudgetReached:
        if watch.stop is None:
            raise  # else it ended what was no longer needed
    asked = len(places) if watch.counted is None else watch.counted
    return Floor(
        pairs=tuple(pairs[place] for place in places[:asked]),
        outcomes=tuple(found[position] for position in range(asked)),
        signature=" + ".join(judge.signature for judge in jury),
        margin=margin,
        span=span,
        level=level,
        min_coverage=min_coverage,
        rules=rules,
    )


async def both(jury: Sequence[Judge], pair: Pair) -> Scores:
    """The mean score of each response; of a pair that some judge scored in two ways, none."""
    try:
        told: Sequence[Score] = await together(
            *(
                judge.protocol.score(judge, pair.item, text)  # type: ignore[attr-defined]
                for judge in jury
                for text in (pair.a.text, pair.b.text)
            )
        )
    except TwopanError as error:
        if error.ends_the_run:
            raise
        return Unjudged(item_id=pair.item.id, reason=error.reason, detail=str(error))
    of_a, of_b = told[::2], told[1::2]
    if any(a.score_mode != b.score_mode for a, b in zip(of_a, of_b, strict=True)):
        detail = "one score by token probabilities and one as written, which do not compare"
        return Unjudged(item_id=pair.item.id, reason="unparsed", detail=detail)
    return fmean(score.value for score in of_a), fmean(score.value for score in of_b)
