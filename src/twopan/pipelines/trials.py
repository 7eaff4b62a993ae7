"""Trials: one judge asked in one way, what it said, what that took, and what to call it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from twopan.client import Meter
from twopan.judge import PARTS
from twopan.jury import Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What the judgements of a trial took, whether they were bought now or recalled."""

    judgements: int
    requests: int
    """Different questions put to the model, for all judgements together."""
    input_tokens: int
    output_tokens: int
    usd: float | None
    """At the prices of now; None where the model has none."""

    @classmethod
    def of(cls, used: Meter, judgements: int) -> "Cost":
        return cls(
            judgements=judgements,
            requests=used.calls,
            input_tokens=used.input_tokens,
            output_tokens=used.output_tokens,
            usd=None if used.unpriced else used.cost_usd,
        )


T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Asked(Generic[T]):
    """One judge asked in one way, and what it said of every pair, or of every response."""

    judge: str
    protocol: str
    outcomes: tuple[T, ...]
    signature: str = ""
    cost: Cost | None = None
    """None where the verdicts are somebody else's."""
    trivial: bool = False

    @property
    def name(self) -> str:
        return f"{self.judge} · {self.protocol}" if self.protocol else self.judge


Trial = Asked[Outcome]


def trials(done: Sequence[tuple[str, Sequence[T], Cost]]) -> list[Asked[T]]:
    """Trials of what judges, told by their signatures, answered."""
    names = called([signature for signature, *_ in done])
    return [
        Asked(
            judge=names[signature][0],
            protocol=names[signature][1],
            outcomes=tuple(outcomes),
            signature=signature,
            cost=cost,
        )
        for signature, outcomes, cost in done
    ]


def called(signatures: Sequence[str]) -> Mapping[str, tuple[str, str]]:
    """What to call the judge and the protocol behind each signature, no two the same.

    The model and the name of the protocol. Where two would be the same, a judge has its endpoint
    added if that differs, and else a protocol the parts in which the signatures do.
    """
    short = {signature: _short(signature) for signature in signatures}
    full = {signature: _short(signature, "|")[0] for signature in signatures}
    endpoints: dict[str, set[str]] = {}
    for signature, (judge, _) in short.items():
        endpoints.setdefault(judge, set()).add(full[signature])
    names = {
        signature: (full[signature] if len(endpoints[judge]) > 1 else judge, protocol)
        for signature, (judge, protocol) in short.items()
    }
    often = Counter(names.values())
    return {
        signature: (judge, protocol)
        if often[judge, protocol] == 1
        else (judge, f"{protocol} ({_apart(signature, [s for s in names if names[s] == both])})")
        for signature, both in names.items()
        for judge, protocol in [both]
    }


def _short(signature: str, until: str = "@") -> tuple[str, str]:
    """Judge and protocol, without what identifies them beyond their names."""
    jurors = [juror.split("|") for juror in signature.split(" + ")]
    judges = " + ".join(juror[0].partition(until)[0] for juror in jurors)
    protocols = dict.fromkeys(juror[1].partition("@")[0] for juror in jurors if len(juror) > 1)
    return judges, " + ".join(protocols)


def _apart(signature: str, others: Sequence[str]) -> str:
    """The parts of a signature in which it differs from others of the same name."""
    columns = list(zip(*(other.split("|") for other in others), strict=False))
    mine = signature.split("|")
    return (
        ", ".join(
            part
            for number, part in enumerate(mine[: len(PARTS)])
            if number < len(columns) and len(set(columns[number])) > 1
        )
        or f"{others.index(signature) + 1}"
    )
