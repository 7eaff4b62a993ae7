"""The jury as the page shows it: for each juror its signature in words, and how steady it was."""

import csv
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

from twopan.judge import PARTS
from twopan.pipelines.gate import Gate
from twopan.verdict import Choice, Comparison

Embedded = Literal["no", "measured", "unmeasured"]


@cache
def agreement() -> dict[tuple[str, str], str]:
    """(weights, protocol) -> how far the embedded judge agrees with people, in words.

    ``agreement.csv`` is written by ``benchmarks/embedded_judge.py`` from what was measured.
    """
    text = files(__package__).joinpath("agreement.csv").read_text(encoding="utf-8")
    found: dict[tuple[str, str], list[str]] = {}
    for row in csv.DictReader(text.splitlines()):
        found.setdefault((row["weights"], row["protocol"]), []).append(
            f"{row['accuracy']}% [{row['low']}, {row['high']}] of {row['pairs']} {row['subset']}"
        )
    return {key: f"{' and '.join(parts)} pairs of LLMBar" for key, parts in found.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Seat:
    signature: str
    parts: tuple[tuple[str, str], ...]
    """(name, value) of each part of the signature."""
    embedded: Embedded
    """Whether a model inside this process judged, and whether that model was measured."""
    agreement: str
    """How far, where it was."""
    comparisons: int
    consistent: int
    looks: int
    """Looks that chose one of the responses; those that called a tie are not among them."""
    first: int
    """Of these, how many chose the response shown first."""


def of(gate: Gate) -> tuple[Seat, ...]:
    """One for each juror, in the order in which they vote; where nobody voted, nobody sits."""
    columns = zip(*(verdict.votes for verdict in gate.verdicts), strict=False)
    return tuple(_seat(votes) for votes in columns)


def _seat(votes: tuple[Comparison, ...]) -> Seat:
    signature = votes[0].judge
    looks = [
        (look.choice, first)
        for vote in votes
        for look, first in ((vote.a_first, Choice.A), (vote.b_first, Choice.B))
        if look.choice != Choice.TIE
    ]
    return Seat(
        signature=signature,
        parts=parts(signature),
        embedded=embedded(signature),
        agreement=agreed(signature),
        comparisons=len(votes),
        consistent=sum(vote.consistent for vote in votes),
        looks=len(looks),
        first=sum(choice == first for choice, first in looks),
    )


def parts(signature: str) -> tuple[tuple[str, str], ...]:
    """A signature taken apart; one of another form stays whole.

    >>> parts("m@http://host/v1|prepair@1f+2e|helpful@9c|temperature=0|both orders|twopan 1")[:3]
    (('model', 'm'), ('endpoint', 'http://host/v1'), ('protocol', 'prepair, prompts 1f, 2e'))
    """
    values = signature.split("|")
    if len(values) != len(PARTS):
        return (("signature", signature),)
    named = dict(zip(PARTS, values, strict=True))
    model, _, endpoint = named["model"].partition("@")
    protocol, _, prompts = named["protocol"].partition("@")
    rubric, _, version = named["rubric"].partition("@")
    return (
        ("model", model),
        ("endpoint", endpoint or "not said"),
        ("protocol", f"{protocol}, prompts {prompts.replace('+', ', ')}" if prompts else protocol),
        ("rubric", f"{rubric}, version {version}" if version else rubric),
        ("settings", named["settings"].replace(",", ", ").replace("=", " ")),
        ("orders", named["orders"]),
        ("version", named["version"]),
    )


def embedded(signature: str) -> Embedded:
    if "@gguf:" not in signature.partition("|")[0]:
        return "no"
    return "measured" if agreed(signature) else "unmeasured"


def agreed(signature: str) -> str:
    """What was measured of this model under this protocol; nothing for others.

    The embedded judge is known by its endpoint, a fingerprint of weights: ``gguf:...``.
    """
    model, _, rest = signature.partition("|")
    weights = model.partition("@gguf:")[2].partition(",")[0]
    return agreement().get((weights, rest.partition("@")[0]), "")
