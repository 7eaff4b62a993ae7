"""A meta-evaluation laid out: which rows stand together, and where each mark of a drawing goes.

Numbers in, coordinates and rows out; nothing is estimated here.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from twopan.jury import Outcome
from twopan.pipelines.meta_evaluate import Difference, MetaEvaluation
from twopan.pipelines.trials import Trial
from twopan.report.listing import Cut, Listing, look_of, packed
from twopan.report.texts import shown
from twopan.stats.calibration import Calibration
from twopan.stats.resampling import Estimate
from twopan.verdict import Choice, Unjudged, Verdict

Parting = Literal["all", "most", "some"]
PARTINGS: dict[Parting, str] = {
    "all": "Every verdict parts from people",
    "most": "Half of them or more",
    "some": "Fewer",
}
MOST_CURVES = 12
"""Reliability curves drawn."""
MOST_VOICES = 8
"""Trials of which a page carries the reasoning; of the others it carries what they said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The trials of one judge, or the trivial judges."""

    judge: str
    trivial: bool
    trials: tuple[int, ...]


def groups(found: MetaEvaluation) -> list[Group]:
    """Judges in the order of their first trial, the trivial ones last; none without cells."""
    by_judge: dict[tuple[bool, str], list[int]] = {}
    for n, trial in enumerate(found.trials):
        if found.cells[n]:
            judge = "No judge at all" if trial.trivial else trial.judge
            by_judge.setdefault((trial.trivial, judge), []).append(n)
    return [
        Group(judge=judge, trivial=trivial, trials=tuple(numbers))
        for (trivial, judge), numbers in sorted(by_judge.items(), key=lambda entry: entry[0][0])
    ]


def row_name(trial: Trial) -> str:
    """Under the name of its judge."""
    return trial.judge if trial.trivial or not trial.protocol else trial.protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """A difference of two trials on an axis from ``-reach`` to ``reach``, 0 in the middle."""

    of: Difference
    points: Estimate
    """Second minus first, from -1 to 1."""
    low: float
    estimate: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Gaps:
    reach: int
    """Points at either end of the axis."""
    rows: tuple[Gap, ...]


def gaps(found: MetaEvaluation) -> Gaps:
    turned = [(d, _turned(d.paired.difference)) for d in found.against_first]
    widest = max((max(-e.low, e.high) for _, e in turned), default=0.05)
    reach = next(r for r in (5, 10, 20, 30, 40, 50, 75, 100) if r >= 100 * widest - 1e-9)

    def at(points: float) -> float:
        return 0.5 + 100 * points / (2 * reach)

    return Gaps(
        reach=reach,
        rows=tuple(
            Gap(of=d, points=e, low=at(e.low), estimate=at(e.estimate), high=at(e.high))
            for d, e in turned
        ),
    )


def _turned(e: Estimate) -> Estimate:
    """The same difference the other way round."""
    return Estimate(-e.estimate, -e.high, -e.low, e.m, e.standard_error, e.level)


def curves(found: MetaEvaluation) -> list[tuple[Trial, Calibration]]:
    """The trials with probabilities, as many as are drawn."""
    told = zip(found.trials, found.calibrations, strict=True)
    return [(trial, curve) for trial, curve in told if curve][:MOST_CURVES]


SAID: tuple[tuple[Choice | None, str], ...] = (
    (Choice.A, "A"),
    (Choice.TIE, "tie"),
    (Choice.B, "B"),
    (None, "nothing"),
)
"""What a judge can say, in the order of the columns of a confusion."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """What people said against what a judge said."""

    trial: Trial
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[tuple[int, float], ...]], ...]
    """What people said, and each count with its share of the row."""


def grids(found: MetaEvaluation) -> list[Grid]:
    return [
        _grid(trial, counts)
        for trial, counts in zip(found.trials, found.confusion, strict=True)
        if not trial.trivial and counts
    ]


def _grid(trial: Trial, counts: Any) -> Grid:
    said = [(key, name) for key, name in SAID if key or any(k[1] is None for k in counts)]
    rows = []
    for label, name in SAID[:3]:
        cells = [counts.get((label, key), 0) for key, _ in said]
        if total := sum(cells):
            rows.append((name, tuple((count, count / total) for count in cells)))
    return Grid(trial=trial, columns=tuple(name for _, name in said), rows=tuple(rows))


# ---- where judges and people part


def listing(found: MetaEvaluation) -> Listing:
    """The pairs on which a judge and people part, those with the most judges first."""
    judges = [n for n, trial in enumerate(found.trials) if not trial.trivial]
    order = list(found.parted)
    sizes = [400] * len(order)
    for n in order:
        pair = found.pairs[n]
        texts = (pair.item.instruction, pair.item.reference or "", pair.a.text, pair.b.text)
        sizes += map(len, texts)
        for judge in judges[:MOST_VOICES]:
            outcome = found.trials[judge].outcomes[n]
            if isinstance(outcome, Verdict):
                sizes += [
                    len(look.reasoning) for v in outcome.votes for look in (v.a_first, v.b_first)
                ]
    systems = {(pair.a.system, pair.b.system) for pair in found.pairs}
    head = {
        "kinds": PARTINGS,
        "systems": [shown(name) for name in systems.pop()] if len(systems) == 1 else ["", ""],
    }
    return packed(head, order, lambda n, cut: _row(found, n, judges, cut), sizes)


def _row(found: MetaEvaluation, n: int, judges: Sequence[int], cut: Cut) -> dict[str, Any]:
    pair = found.pairs[n]
    said = [(found.trials[judge], found.trials[judge].outcomes[n]) for judge in judges]
    given = [o for _, o in said if isinstance(o, Verdict)]
    wrong = sum(o.choice != pair.label for o in given)
    kind: Parting = "all" if wrong == len(given) else "most" if 2 * wrong >= len(given) else "some"
    return {
        "no": n + 1,
        "id": cut(pair.item.id),
        "kind": kind,
        "parted": wrong,
        "category": None if pair.item.category is None else cut(pair.item.category),
        "instruction": cut(pair.item.instruction),
        "reference": None if pair.item.reference is None else cut(pair.item.reference),
        "texts": [cut(pair.a.text), cut(pair.b.text)],
        "lengths": [len(pair.a.text), len(pair.b.text)],
        "systems": [shown(pair.a.system), shown(pair.b.system)],
        "label": pair.label,
        "flags": [],
        "said": [
            _said(trial, outcome, pair.label, cut, voice=place < MOST_VOICES)
            for place, (trial, outcome) in enumerate(said)
        ],
    }


def _said(
    trial: Trial, outcome: Outcome, label: Choice | None, cut: Cut, *, voice: bool
) -> dict[str, Any]:
    told: dict[str, Any] = {"name": shown(trial.name)}
    if isinstance(outcome, Unjudged):
        return told | {"reason": shown(outcome.reason)}
    looks = [look for vote in outcome.votes for look in (vote.a_first, vote.b_first)]
    wrote = voice and any(look.reasoning or look.p_a is not None for look in looks)
    return told | {
        "choice": outcome.choice,
        "right": outcome.choice == label,
        "consistent": outcome.consistent,
        "looks": [
            [look_of(vote.a_first, cut), look_of(vote.b_first, cut)] for vote in outcome.votes
        ]
        if wrote
        else [],
    }
