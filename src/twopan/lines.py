"""Verdict lines: how a verdict is written down, one JSON object a line, and read again.

    {"item", "texts", "a", "b", "choice": "a"|"b"|"tie"|null, "a_score": 0..1|null,
     "consistent": bool|null, "unjudged": reason|null, "detail": str, "votes": [...], "signature"}

A vote is {"judge", "margin", "choice", "consistent", "a_score", "a_first": look, "b_first": look};
its margin is null unless the mean log-odds decide. A look is {"choice", "p_a", "grade",
"label_mass", "flags", "reasoning"}, in the frame of the pair: A is A.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec

from twopan.data import Pair
from twopan.errors import DataError
from twopan.jury import Outcome, majority
from twopan.rows import Row, read_rows
from twopan.verdict import Choice, Comparison, Preference, Unjudged, Verdict


def to_line(pair: Pair, outcome: Outcome, signature: str) -> dict[str, Any]:
    verdict, unjudged = (outcome, None) if isinstance(outcome, Verdict) else (None, outcome)
    return {
        "item": pair.item.id,
        "texts": fingerprint(pair),
        "a": pair.a.system,
        "b": pair.b.system,
        "choice": verdict.choice.value if verdict else None,
        "a_score": round(verdict.a_score, 9) if verdict else None,
        "consistent": verdict.consistent if verdict else None,
        "unjudged": unjudged.reason if unjudged else None,
        "detail": unjudged.detail if unjudged else "",
        "votes": [_vote(vote) for vote in verdict.votes] if verdict else [],
        "signature": signature,
    }


def fingerprint(pair: Pair) -> str:
    """Of what was judged, so that a verdict is never taken for one on other texts."""
    told = [pair.item.instruction, pair.item.reference, pair.a.text, pair.b.text]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()[:12]


def _vote(vote: Comparison) -> dict[str, Any]:
    return {
        "judge": vote.judge,
        "margin": vote.margin,
        "choice": vote.choice.value,
        "consistent": vote.consistent,
        "a_score": round(vote.a_score, 9),
        "a_first": _look(vote.a_first),
        "b_first": _look(vote.b_first),
    }


def _look(look: Preference) -> dict[str, Any]:
    return {
        "choice": look.choice.value,
        "p_a": look.p_a,
        "grade": look.grade,
        "label_mass": look.label_mass,
        "flags": list(look.flags),
        "reasoning": look.reasoning,
    }


Share = Annotated[float, msgspec.Meta(ge=0, le=1)]


class _Look(msgspec.Struct):
    choice: Choice
    p_a: Share | None = None
    grade: Share | None = None
    label_mass: float | None = None
    flags: tuple[str, ...] = ()
    reasoning: str = ""

    def read(self) -> Preference:
        return Preference(**msgspec.structs.asdict(self))


class _Vote(msgspec.Struct):
    judge: str
    a_first: _Look
    b_first: _Look
    margin: Annotated[float, msgspec.Meta(ge=0)] | None = None


class _Line(msgspec.Struct):
    item: str
    a: str
    b: str
    choice: Choice | None
    signature: str
    texts: str | None = None
    unjudged: str | None = None
    detail: str = ""
    votes: tuple[_Vote, ...] = ()

    def read(self) -> Outcome:
        if self.choice is None:
            return Unjudged(
                item_id=self.item, reason=self.unjudged or "no_verdict", detail=self.detail
            )
        votes = tuple(
            Comparison(
                judge=v.judge, a_first=v.a_first.read(), b_first=v.b_first.read(), margin=v.margin
            )
            for v in self.votes
        )
        return Verdict(item_id=self.item, votes=votes, choice=self.choice)


Recorded = Mapping[tuple[str, str, str], tuple[Outcome, str | None]]
"""Verdicts by (item, a, b), each with the fingerprint of what was judged, where it is known."""


def read_lines(path: str | Path) -> Recorded:
    """The recorded verdicts of one judge or jury.

    Raises DataError, one line a problem, where a line is not a verdict line or a pair has two.
    """
    return gather(read_rows(path), by=lambda _: "").get("", {})


def by_signature(rows: Iterable[Row]) -> Mapping[str, Recorded]:
    """The recorded verdicts of several judges, told apart by their signatures; errors as above."""
    return gather(rows, by=lambda line: line.signature)


def gather(rows: Iterable[Row], by: Callable[[_Line], str]) -> Mapping[str, Recorded]:
    found: dict[str, dict[tuple[str, str, str], tuple[Outcome, str | None]]] = {}
    wrong: list[str] = []
    for row in rows:
        try:
            line = msgspec.convert(dict(row.fields), _Line)
            outcome = line.read()
            if isinstance(outcome, Verdict) and line.unjudged is not None:
                raise msgspec.ValidationError("it has a choice, and a reason why there is none")
            if isinstance(outcome, Verdict) and (
                not outcome.votes or outcome.choice != majority(outcome.votes)
            ):
                raise msgspec.ValidationError("its choice is not what its votes say")
        except msgspec.ValidationError as error:
            wrong.append(f"{row.place}: not a verdict line: {error}")
            continue
        of, key = found.setdefault(by(line), {}), (line.item, line.a, line.b)
        if key in of:
            wrong.append(f"{row.place}: item: a second verdict on {line.item!r}")
        of[key] = (outcome, line.texts)
    if wrong:
        raise DataError("\n".join(wrong[:20]))
    return found


def latest(lines: Iterable[str]) -> Recorded:
    """The last verdict on each pair, of lines we wrote; those without a verdict are passed over."""
    read = (msgspec.json.decode(line, type=_Line) for line in lines)
    return {
        (line.item, line.a, line.b): (line.read(), line.texts)
        for line in read
        if line.choice is not None
    }


def match(pairs: Sequence[Pair], recorded: Recorded) -> list[Outcome]:
    """The recorded verdict on each pair; one without is unjudged, and counted as such."""
    return [_known(pair, recorded) for pair in pairs]


def _known(pair: Pair, recorded: Recorded) -> Outcome:
    why = "no verdict line for this pair"
    if known := recorded.get((pair.item.id, pair.a.system, pair.b.system)):
        outcome, texts = known
        if texts in (None, fingerprint(pair)):
            return outcome
        why = "the verdict line was made on other texts"
    return Unjudged(item_id=pair.item.id, reason="not_recorded", detail=why)
