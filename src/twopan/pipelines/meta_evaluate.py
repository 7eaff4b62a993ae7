"""Meta-evaluate: which judge, asked in which way, agrees with people?

pairs that people labelled × (judge, protocol) ──► verdicts ──► accuracy ± interval, in each order
                                                           ──► differences on the same pairs
                                                           ──► where the judge and people part

What counts how is said in :mod:`twopan.pipelines.cells`. Beside the judges stand judges that
understand nothing (:mod:`twopan.pipelines.trivial`).

References
----------
Jeong et al. (2024), Prepair: pointwise reasoning enhances pairwise evaluating, Tables 2 to 7.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import accumulate, combinations
from typing import Any

from twopan.data import Pair
from twopan.errors import ConfigError
from twopan.jury import Outcome, Rule, majority
from twopan.pipelines.cells import POLICIES, SIDES, Cell, cell, chosen, given, right
from twopan.pipelines.trials import Trial
from twopan.pipelines.trivial import TRIVIAL
from twopan.stats.calibration import Calibration, calibration
from twopan.stats.paired import Paired, paired_difference
from twopan.stats.resampling import Estimate, mean
from twopan.stats.win_rate import NoData
from twopan.verdict import Choice, Unjudged, Verdict

ALL = "all pairs"
"""What stands for every pair among the categories."""
PER_BIN = 20
"""Pairs in a bin of a reliability curve: with fewer its interval says nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Two trials on the pairs that both were given and people decided."""

    first: int
    second: int
    """Numbers of the trials."""
    pairs: int
    paired: Paired


@dataclass(frozen=True, kw_only=True)
class MetaEvaluation:
    """Trials on the same labelled pairs, the trivial judges last."""

    pairs: tuple[Pair, ...]
    trials: tuple[Trial, ...]
    level: float = 0.95
    unlabelled: int = 0
    """Pairs left out because nobody said which response is better."""

    @cached_property
    def categories(self) -> Mapping[str, tuple[int, ...]]:
        """Category -> numbers of its pairs: all of them, then each category and what it is part of.

        ``LLMBar/Adversarial/Manual`` is part of ``LLMBar/Adversarial``. Where a part is the same
        as the whole, it is not said twice.
        """
        found: dict[str, list[int]] = {}
        for number, pair in enumerate(self.pairs):
            for part in accumulate((pair.item.category or "").split("/"), "{}/{}".format):
                if part:
                    name = f"{ALL} (a category)" if part == ALL else part
                    found.setdefault(name, []).append(number)
        kept = {ALL: tuple(range(len(self.pairs)))}
        for name in sorted(found, key=lambda name: [found[name][0], -len(found[name])]):
            if (numbers := tuple(found[name])) not in kept.values():
                kept[name] = numbers
        return kept

    @cached_property
    def cells(self) -> Sequence[Mapping[str, Cell]]:
        """For each trial: category -> how it did there, where it was asked about a decided pair."""
        return [dict(self._cells(trial)) for trial in self.trials]

    def _cells(self, trial: Trial) -> Iterator[tuple[str, Cell]]:
        for name, numbers in self.categories.items():
            pairs, outcomes = [self.pairs[n] for n in numbers], [trial.outcomes[n] for n in numbers]
            with suppress(NoData):
                yield name, cell(pairs, outcomes, level=self.level)

    @cached_property
    def by_length(self) -> Sequence[Mapping[str, Estimate]]:
        """For each trial: its accuracy where the better response is the longer, and the shorter.

        A judge that likes length is good at the one and bad at the other.
        """
        return [dict(self._by_length(trial)) for trial in self.trials]

    def _by_length(self, trial: Trial) -> Iterator[tuple[str, Estimate]]:
        rows = self._decided(trial)
        for name, sign in (("longer", 1), ("shorter", -1)):
            of = [
                (right(outcome, label), pair.item.id)
                for pair, label, outcome in rows
                if (len(pair.a.text) - len(pair.b.text)) * {Choice.A: 1, Choice.B: -1}[label] * sign
                > 0
            ]
            if of:
                y, items = zip(*of, strict=True)
                yield name, mean(y, cluster=items, level=self.level)

    def _decided(self, trial: Trial) -> list[tuple[Pair, Choice, Outcome]]:
        """What the trial was given of the pairs that people decided."""
        return [
            (pair, pair.label, outcome)
            for pair, outcome in zip(self.pairs, trial.outcomes, strict=True)
            if pair.label in SIDES and given(outcome)
        ]

    @cached_property
    def confusion(self) -> Sequence[Mapping[tuple[Choice, Choice | None], int]]:
        """For each trial: (what people said, what the judge said, None for nothing) -> pairs."""
        return [
            Counter(
                (pair.label, chosen(outcome))
                for pair, outcome in zip(self.pairs, trial.outcomes, strict=True)
                if pair.label and given(outcome)
            )
            for trial in self.trials
        ]

    @cached_property
    def calibrations(self) -> Sequence[Calibration | None]:
        """For each trial: the probabilities it gave a response, against how often people chose it.

        Over pairs that people decided, each seen from both responses. None where the judge gave no
        probabilities.
        """
        return [self._calibration(trial) for trial in self.trials]

    def _calibration(self, trial: Trial) -> Calibration | None:
        told = [
            (outcome.a_score, label == Choice.A, pair.item.id)
            for pair, label, outcome in self._decided(trial)
            if isinstance(outcome, Verdict) and probable(outcome)
        ]
        if not told:
            return None
        # Each pair also as it looks from B, for which response is called A says nothing.
        seen = [*told, *((1 - f, not y, item) for f, y, item in told)]
        f, y, items = zip(*seen, strict=True)
        bins = min(max(len(told) // PER_BIN, 2), 10)
        return calibration(f, y, bins=bins, cluster=items, level=self.level)

    @cached_property
    def differences(self) -> Sequence[Difference]:
        """Each judge's protocols against one another, and the judges under each protocol.

        Of the verdicts, a tie counting half and none counting nothing.
        """
        real = [n for n, trial in enumerate(self.trials) if not trial.trivial]
        pairs = ((i, j) for i, j in combinations(real, 2) if self._related(i, j))
        return [found for i, j in pairs if (found := self._difference(i, j))]

    @property
    def against_first(self) -> Sequence[Difference]:
        """Each trial against the first of its judge, and the first judge of its protocol."""
        lead: dict[tuple[str | None, str | None], int] = {}
        for n, trial in enumerate(self.trials):
            lead.setdefault((trial.judge, None), n)
            lead.setdefault((None, trial.protocol), n)

        def leads(first: int, other: Trial) -> bool:
            return first in (lead[other.judge, None], lead[None, other.protocol])

        return [d for d in self.differences if leads(d.first, self.trials[d.second])]

    def _related(self, i: int, j: int) -> bool:
        one, other = self.trials[i], self.trials[j]
        return one.judge == other.judge or one.protocol == other.protocol

    def _difference(self, i: int, j: int) -> Difference | None:
        one, other = self.trials[i], self.trials[j]
        rows = [
            (right(x, pair.label), right(y, pair.label), pair.item.id)
            for pair, x, y in zip(self.pairs, one.outcomes, other.outcomes, strict=True)
            if pair.label in SIDES and given(x) and given(y)
        ]
        if not rows:
            return None
        first, second, items = zip(*rows, strict=True)
        paired = paired_difference(first, second, cluster=items, level=self.level)
        return Difference(first=i, second=j, pairs=len(rows), paired=paired)

    @cached_property
    def parted(self) -> Sequence[int]:
        """Numbers of the pairs on which a judge and people part, those with the most judges first.

        A tie where people saw a difference is parting too; no verdict is not.
        """
        judges = [trial for trial in self.trials if not trial.trivial]
        misses = [
            sum(chosen(t.outcomes[n]) not in (None, pair.label) for t in judges)
            for n, pair in enumerate(self.pairs)
        ]
        return sorted((n for n, k in enumerate(misses) if k), key=lambda n: -misses[n])

    @property
    def ranked(self) -> Sequence[int]:
        """Numbers of the judges that were asked about the most pairs, the most accurate first.

        Those that were asked about fewer are no rivals: theirs may have been the easy ones.
        """
        real = [n for n, t in enumerate(self.trials) if not t.trivial and self.cells[n]]
        most = max((self.cells[n][ALL].pairs for n in real), default=0)
        whole = [n for n in real if self.cells[n][ALL].pairs == most]
        return sorted(whole, key=lambda n: -self.cells[n][ALL].accuracy.estimate)

    @property
    def best_trivial(self) -> int | None:
        found = [n for n, t in enumerate(self.trials) if t.trivial and self.cells[n]]
        return max(found, key=lambda n: self.cells[n][ALL].accuracy.estimate, default=None)

    def short(self, category: str) -> str:
        """The last part of a category, where that tells it from the others."""
        last = category.rpartition("/")[2]
        same = sum(other.rpartition("/")[2] == last for other in self.categories)
        return last if same == 1 else category

    @property
    def because(self) -> str:
        """What may be said, in a sentence or two, for a person."""
        if not self.ranked:
            return "No judge was asked about a pair that people decided."
        best, *others = self.ranked
        found = self.cells[best][ALL].accuracy
        if not any(isinstance(o, Verdict) for n in self.ranked for o in self.trials[n].outcomes):
            return f"No judge gave a verdict on any of {self.cells[best][ALL].pairs} pairs."
        text = (
            f"{self.trials[best].name} agrees with people on {found.estimate:.1%} of"
            f" {self.cells[best][ALL].pairs} pairs, {100 * found.level:g}% interval {found.low:.1%}"
            f" to {found.high:.1%}"
        )
        if others and (d := self._difference(best, others[0])):
            text += f", the most of {len(self.ranked)}; {self._than(others[0], d)}"
        text += "."
        asked = [n for n, t in enumerate(self.trials) if not t.trivial and self.cells[n]]
        if fewer := len(asked) - len(self.ranked):
            text += f" {fewer} more had fewer pairs to judge, and are not compared with it."
        if self.best_trivial is not None and (d := self._difference(best, self.best_trivial)):
            than = self._than(self.best_trivial, d)
            text += f" It is {than.removeprefix('it is ')}, which understands nothing."
        if len({pair.label for pair in self.pairs} & set(SIDES)) == 1:
            text += (
                " People preferred the same side in every pair, so kappa says nothing, and a judge"
                " that names that side whatever it sees would be right."
            )
        return text

    def _than(self, other: int, d: Difference) -> str:
        e = d.paired.difference
        shown = (
            "better than" if e.low > 0 else "worse than" if e.high < 0 else "not told apart from"
        )
        points = f"{100 * e.estimate:+.1f} points [{100 * e.low:+.1f}, {100 * e.high:+.1f}]"
        return f"it is {shown} {self.trials[other].name} ({points} on {d.pairs} pairs)"

    @property
    def coverage(self) -> float:
        """The share of pairs that the judge with the fewest verdicts has one on."""
        return min(
            sum(isinstance(outcome, Verdict) for outcome in trial.outcomes) / len(self.pairs)
            for trial in self.trials
        )

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values; shares as {"estimate", "low", "high", "m", ...}."""
        return {
            "pairs": len(self.pairs),
            "unlabelled": self.unlabelled,
            "level": self.level,
            "because": self.because,
            "policies": POLICIES,
            "trials": [self._trial(n) for n in range(len(self.trials))],
            "differences": [
                {
                    "first": self.trials[d.first].name,
                    "second": self.trials[d.second].name,
                    "pairs": d.pairs,
                    **asdict(d.paired),
                }
                for d in self.differences
            ],
            "parted": [self.pairs[n].item.id for n in self.parted],
        }

    def _trial(self, n: int) -> dict[str, Any]:
        trial, found = self.trials[n], self.calibrations[n]
        return {
            "judge": trial.judge,
            "protocol": trial.protocol,
            "trivial": trial.trivial,
            "signature": trial.signature,
            "cost": trial.cost and asdict(trial.cost),
            "categories": {name: asdict(of) for name, of in self.cells[n].items()},
            "better_is": {name: asdict(found) for name, found in self.by_length[n].items()},
            "confusion": [
                {"people": said, "judge": judged, "pairs": count}
                for (said, judged), count in sorted(self.confusion[n].items(), key=str)
            ],
            "calibration": found and asdict(found),
        }


def probable(verdict: Verdict) -> bool:
    """Whether the judge told how sure it was, in every look."""
    return all(
        look.p_a is not None for vote in verdict.votes for look in (vote.a_first, vote.b_first)
    )


def meta_evaluate(
    pairs: Iterable[Pair], trials: Sequence[Trial], *, level: float = 0.95, trivial: bool = True
) -> MetaEvaluation:
    """Put trials side by side, and the trivial judges beside them.

    Parameters
    ----------
    pairs
        Those without a label are left out, and counted.
    trials
        Their outcomes in the order of ``pairs``, one each.

    Raises
    ------
    ConfigError
        Where nobody said of any two responses which is better.
    """
    pairs = tuple(pairs)
    labelled_only(pairs)
    labelled = [n for n, pair in enumerate(pairs) if pair.label is not None]
    kept = tuple(pairs[n] for n in labelled)
    return MetaEvaluation(
        pairs=kept,
        trials=(
            *(replace(t, outcomes=tuple(t.outcomes[n] for n in labelled)) for t in trials),
            *(trivial_trials(kept) if trivial else ()),
        ),
        level=level,
        unlabelled=len(pairs) - len(kept),
    )


def labelled_only(pairs: Sequence[Pair]) -> list[Pair]:
    """The pairs of which people said something. Raises ConfigError where they decided none."""
    found = [pair for pair in pairs if pair.label is not None]
    if any(pair.label in SIDES for pair in found):
        return found
    if found:
        raise ConfigError(
            f"people called all {len(found)} pairs a tie, so no judge can be right or wrong"
        )
    raise ConfigError(
        f"none of {len(pairs)} pairs says which response people preferred, so there is nothing"
        " to hold a judge against: add a column label with a, b or tie, or say which column it"
        " is, as in --map label=COLUMN"
    )


def distinct(pairs: Sequence[Pair]) -> tuple[list[Pair], list[int]]:
    """Each pair once, however many people voted on it; and where in these each of ``pairs`` is."""
    keys = [(p.item.id, p.a.system, p.b.system, p.a.text, p.b.text) for p in pairs]
    place = {key: n for n, key in enumerate(dict.fromkeys(keys))}
    once = {place[key]: pair for key, pair in zip(reversed(keys), reversed(pairs), strict=True)}
    return [once[n] for n in range(len(place))], [place[key] for key in keys]


def juries(trials: Sequence[Trial], rule: Rule = majority) -> list[Trial]:
    """What the judges of each protocol decide together, where it has more than one.

    A jury with a missing juror is incomplete, and not a smaller jury.
    """
    benches: dict[str, list[Trial]] = {}
    for trial in trials:
        benches.setdefault(trial.protocol, []).append(trial)
    return [
        Trial(
            judge=" + ".join(trial.judge for trial in bench),
            protocol=protocol,
            outcomes=tuple(
                seated(said, rule) for said in zip(*(t.outcomes for t in bench), strict=True)
            ),
            signature=" + ".join(trial.signature for trial in bench),
        )
        for protocol, bench in benches.items()
        if len(bench) > 1
    ]


def seated(outcomes: Sequence[Outcome], rule: Rule) -> Outcome:
    missing = [o for o in outcomes if isinstance(o, Unjudged)]
    if missing:
        # A juror that failed says more than one that was never asked.
        return next((o for o in missing if given(o)), missing[0])
    votes = tuple(vote for o in outcomes if isinstance(o, Verdict) for vote in o.votes)
    return Verdict(item_id=outcomes[0].item_id, votes=votes, choice=rule(votes))


def trivial_trials(pairs: Sequence[Pair]) -> Iterator[Trial]:
    for name, judge in TRIVIAL.items():
        votes = [judge(pair) for pair in pairs]
        outcomes = [
            Verdict(item_id=pair.item.id, votes=(vote,), choice=vote.choice)
            for pair, vote in zip(pairs, votes, strict=True)
        ]
        yield Trial(judge=name, protocol="", outcomes=tuple(outcomes), trivial=True)
