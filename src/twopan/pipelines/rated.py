"""Rated: do a judge's scores rise and fall with what people thought?

responses that people rated × (judge, protocol) ──► scores ──► correlation at three levels
                                                          ──► how far people agree themselves

A judge is held against the mean of the people who rated a response. *Item level* ("turn level"
for dialogues) asks whether it tells good responses from bad ones, *within items* whether it tells
the better of several responses to one instruction, *system level* whether it orders systems. A
response without a score takes no part in a correlation, which has no place for it; how many there
are stands beside every one.

References
----------
Zhong et al. (2022), Towards a unified multi-dimensional evaluator for text generation.
Deutsch, Dror and Roth (2021), A statistical analysis of summarization evaluation metrics.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from statistics import fmean
from typing import Any

from twopan.errors import NotRecorded
from twopan.jury import Scored
from twopan.pipelines.trials import Asked
from twopan.rated import Rated
from twopan.stats.correlation import (
    Method,
    correlation,
    grouped_correlation,
    system_correlation,
)
from twopan.stats.reliability import krippendorff_alpha
from twopan.stats.resampling import Estimate, Undefined
from twopan.stats.win_rate import NoData
from twopan.verdict import Score, Unjudged

METHODS: tuple[Method, ...] = ("pearson", "spearman", "kendall")
LEVELS = ("item", "within items", "system")


ScoredTrial = Asked[Scored]


def unjudged(trial: ScoredTrial) -> dict[str, int]:
    """How many responses have no score, by reason."""
    return dict(Counter(o.reason for o in trial.outcomes if isinstance(o, Unjudged)))


def score_modes(trial: ScoredTrial) -> dict[str, int]:
    return dict(Counter(o.score_mode for o in trial.outcomes if isinstance(o, Score)))


@dataclass(frozen=True, kw_only=True)
class RatedEvaluation:
    rows: tuple[Rated, ...]
    trials: tuple[ScoredTrial, ...]
    level: float = 0.95
    unrated: int = 0
    """Responses left out because nobody rated them."""

    @cached_property
    def correlations(self) -> Sequence[Mapping[str, Mapping[str, Estimate]]]:
        """For each trial: level -> method -> coefficient, where there is one."""
        return [{level: dict(self._at(level, trial)) for level in LEVELS} for trial in self.trials]

    def _at(self, level: str, trial: ScoredTrial) -> list[tuple[str, Estimate]]:
        told = [
            (o.value, opinion(row), row.item.id, row.response.system)
            for row, o in zip(self.rows, trial.outcomes, strict=True)
            if isinstance(o, Score)
        ]
        if not told:
            return []
        x, y, items, systems = (list(column) for column in zip(*told, strict=True))
        compute: Mapping[str, Callable[[Method], Estimate]] = {
            "item": lambda m: correlation(x, y, m, cluster=items, level=self.level),
            "within items": lambda m: (
                grouped_correlation(x, y, items, m, level=self.level).coefficient
            ),
            "system": lambda m: system_correlation(x, y, systems, m, level=self.level),
        }
        found: list[tuple[str, Estimate]] = []
        for method in METHODS:
            # Undefined where there is one system, one response an item, or nothing that varies.
            with suppress(Undefined, NoData):
                found.append((method, compute[level](method)))
        return found

    @cached_property
    def alpha(self) -> Mapping[str, Estimate]:
        """Krippendorff's alpha among people, by metric; nothing where no two rated a response."""
        most = max(len(row.people) for row in self.rows)
        table = [[*row.people, *[None] * (most - len(row.people))] for row in self.rows]
        items = [row.item.id for row in self.rows]
        found = {}
        for metric in ("interval", "ordinal"):
            with suppress(Undefined, NoData):
                found[metric] = krippendorff_alpha(table, metric, cluster=items, level=self.level)  # type: ignore[arg-type]
        return found

    def coverage_of(self, first: int) -> float:
        """The share of responses that has a score, of the worst of so many trials."""
        shares = [1 - sum(unjudged(t).values()) / len(self.rows) for t in self.trials[:first]]
        return min(shares, default=1.0)

    def to_dict(self) -> dict[str, Any]:
        return {
            "responses": len(self.rows),
            "unrated": self.unrated,
            "items": len({row.item.id for row in self.rows}),
            "systems": len({row.response.system for row in self.rows}),
            "level": self.level,
            "alpha": {metric: asdict(e) for metric, e in self.alpha.items()},
            "trials": [
                {
                    "judge": trial.judge,
                    "protocol": trial.protocol,
                    "trivial": trial.trivial,
                    "signature": trial.signature,
                    "scored": len(self.rows) - sum(unjudged(trial).values()),
                    "unjudged": unjudged(trial),
                    "score_modes": score_modes(trial),
                    "cost": trial.cost and asdict(trial.cost),
                    "correlations": {
                        level: {method: asdict(e) for method, e in by.items()}
                        for level, by in found.items()
                    },
                }
                for trial, found in zip(self.trials, self.correlations, strict=True)
            ],
        }


def rated_evaluation(
    rows: Sequence[Rated], trials: Sequence[ScoredTrial], *, level: float = 0.95
) -> RatedEvaluation:
    """Put trials side by side, and mere length beside them.

    ``trials`` have their outcomes in the order of ``rows``. Responses that nobody rated are left
    out, and counted.
    """
    kept = [n for n, row in enumerate(rows) if any(r is not None for r in row.people)]
    chosen = tuple(rows[n] for n in kept)
    found = [replace(trial, outcomes=tuple(trial.outcomes[n] for n in kept)) for trial in trials]
    return RatedEvaluation(
        rows=chosen,
        trials=(*found, length(chosen)),
        level=level,
        unrated=len(rows) - len(chosen),
    )


def opinion(row: Rated) -> float:
    """The mean of the people who rated it."""
    return fmean(rating for rating in row.people if rating is not None)


def length(rows: Sequence[Rated]) -> ScoredTrial:
    """Characters: a judge that understands nothing."""
    scores = (Score(value=float(len(row.response.text)), score_mode="text") for row in rows)
    return ScoredTrial(judge="length", protocol="", outcomes=tuple(scores), trivial=True)


def recorded(rows: Sequence[Rated], column: str) -> ScoredTrial:
    """Scores that a judge gave already."""
    return ScoredTrial(
        judge=column,
        protocol="",
        outcomes=tuple(
            Unjudged(item_id=row.item.id, reason=NotRecorded.reason)
            if (value := row.scores[column]) is None
            else Score(value=value, score_mode="text")
            for row in rows
        ),
    )
