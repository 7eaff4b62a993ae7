"""Verdicts that stand in for a judge: of ours, of another run, of another laboratory.

A file is known by its columns:

    item, a, b, votes, signature                    verdict lines, as ``twopan judge`` writes them
    item, judge, protocol, order, choice            one look a row (:mod:`twopan.looks`)
    subset, idx, judge, strategy, swap, winner      logs of LLMBar's evaluators, likewise

Several judges and protocols may be in one file; each is a trial of its own.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import chain

from twopan.data import Pair
from twopan.datasets import Source
from twopan.errors import ConfigError, DataError, NotRecorded
from twopan.fields import excerpt, name
from twopan.jury import Outcome
from twopan.lines import by_signature, match
from twopan.looks import Look, assemble, look_of, to_looks
from twopan.names import nearest
from twopan.pipelines.cells import given
from twopan.pipelines.trials import Trial, called
from twopan.rows import Row, read_rows, shown
from twopan.verdict import Choice, Unjudged

LINES = {"item", "votes", "signature"}
LOOKS = {"item", "judge", "protocol", "order", "choice"}
LLMBAR = {"subset", "idx", "judge", "strategy", "swap", "winner"}


LLMBAR_CHOICES = {"1": Choice.A, "2": Choice.B, "None": None, None: None}


def read_trials(path: Source, pairs: Sequence[Pair]) -> list[Trial]:
    """What the judges of a file said of these pairs, one judge after the other.

    A pair that a judge has no verdict on is unjudged, ``not_recorded``. A judge that has none on
    any is left out. Raises DataError, one line a problem, where the file cannot be read, or holds
    nothing on these pairs.
    """
    rows = read_rows(path)
    first = next(rows, None)
    columns = set(first.fields) if first else set()
    everything = chain([first] if first else [], rows)
    if columns >= LINES:
        trials = _of_lines(everything, pairs)
    elif columns >= LOOKS:
        trials = _of_looks(to_looks(everything, look_of), pairs)
    elif columns >= LLMBAR:
        trials = _of_looks(to_looks(everything, llmbar_look), pairs)
    else:
        raise DataError(
            f"{shown(str(path))}: has no recorded verdicts; they are verdict lines (columns"
            f" {', '.join(sorted(LINES))}) or looks (columns {', '.join(sorted(LOOKS))}), and here"
            f" are {', '.join(map(shown, sorted(columns))) or 'no rows'}"
        )
    found = [trial for trial in trials if any(map(given, trial.outcomes))]
    if not found:
        raise DataError(f"{shown(str(path))}: none of its verdicts is on any of these pairs")
    judges = list(dict.fromkeys(trial.judge for trial in found))
    return sorted(found, key=lambda trial: judges.index(trial.judge))


def select(trials: Sequence[Trial], judges: Sequence[str], protocols: Sequence[str]) -> list[Trial]:
    """The trials of these judges and protocols, with ``*`` for anything; all where none is named.

    Raises ConfigError for a name that no trial has.
    """
    for kind, patterns in (("judge", judges), ("protocol", protocols)):
        there = list(dict.fromkeys(str(getattr(trial, kind)) for trial in trials))
        for pattern in patterns:
            if not any(fnmatchcase(one, pattern) for one in there):
                raise ConfigError(
                    f"--{kind} {pattern}: not among the recorded ones"
                    f"{nearest(pattern, there)}; they are {', '.join(map(shown, there))}"
                )

    def wanted(name: str, patterns: Sequence[str]) -> bool:
        return not patterns or any(fnmatchcase(name, pattern) for pattern in patterns)

    found = [t for t in trials if wanted(t.judge, judges) and wanted(t.protocol, protocols)]
    if not found:
        raise ConfigError("none of the recorded judges has that protocol")
    return found


def _of_lines(rows: Iterable[Row], pairs: Sequence[Pair]) -> list[Trial]:
    recorded = by_signature(rows)
    names = called(list(recorded))
    return [
        Trial(
            judge=names[signature][0],
            protocol=names[signature][1],
            outcomes=tuple(match(pairs, verdicts)),
            signature=signature,
        )
        for signature, verdicts in recorded.items()
    ]


def _of_looks(looks: Sequence[Look], pairs: Sequence[Pair]) -> list[Trial]:
    compared = Counter(id for id, *_ in {(p.item.id, p.a.system, p.b.system) for p in pairs})

    def of(pair: Pair, said: Mapping[str, Outcome]) -> Outcome:
        known = said.get(f"{pair.item.id}/{pair.a.system}/{pair.b.system}")
        if known is None and compared[pair.item.id] == 1:
            known = said.get(pair.item.id)
        return known or Unjudged(
            item_id=pair.item.id, reason=NotRecorded.reason, detail="no look at this pair"
        )

    return [
        Trial(judge=judge, protocol=protocol, outcomes=tuple(of(pair, said) for pair in pairs))
        for (judge, protocol), said in assemble(looks).items()
    ]


def llmbar_look(row: Row) -> Look | None:
    """A look of one of LLMBar's evaluators. Steps on the way to a verdict are none.

    ``winner`` is the output, 1 or 2, in the numbering of the item; ``swap`` says that the second
    was shown first. Two ratings decide a pair; where one is missing there is no verdict.
    """
    fields = row.fields
    if fields.get("final") is False:
        return None
    names = {
        field: name(field, fields.get(field)) for field in ("subset", "idx", "judge", "strategy")
    }
    if missing := [field for field, value in names.items() if value is None]:
        raise DataError(f"{missing[0]}: is missing")
    swap = fields.get("swap")
    if not isinstance(swap, bool):
        raise DataError(f"swap: {excerpt(swap)} is neither true nor false")
    winner = name("winner", fields.get("winner"))
    if winner not in LLMBAR_CHOICES:
        raise DataError(f"winner: {excerpt(winner)} is none of 1, 2, None")
    rated = "" not in (fields.get("score_1"), fields.get("score_2"))
    return Look(
        item=f"{names['subset']}/{names['idx']}",
        judge=str(names["judge"]),
        protocol=str(names["strategy"]),
        order=Choice.B if swap else Choice.A,
        choice=LLMBAR_CHOICES[winner] if rated else None,
    )
