"""The pairs as the page carries them: all where they fit, else those to look at first."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from twopan.data import Pair
from twopan.jury import Outcome
from twopan.pipelines.gate import Gate
from twopan.report.charts import KINDS, Kind, kind, shuffled
from twopan.report.texts import mask, shown, visible
from twopan.verdict import Preference, Verdict

ROOM = 8_000_000
"""Bytes of pairs in one page: a browser reads so many in well under a second."""
LONGEST = (20_000, 6_000, 1_500)
"""Characters of one text: the first limit at which everything fits, else the last."""

FIRST: tuple[Kind, ...] = ("unjudged", "inconsistent", "tie")
"""What a reader can learn most from; taken in this order, before a sample of the rest."""

_UNSAFE = "<>&'=`\u2028\u2029"
"""What could end a script element, open a tag or an attribute, or break a line of JavaScript."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    json: str
    """An object for ``JSON.parse``, safe inside a script element."""
    carried: tuple[int, ...]
    """Numbers of the pairs that are in it, from 1, in the order of the data."""
    shortened: int
    """How many texts were cut."""
    limit: int
    """Characters after which a text is cut."""


def of(gate: Gate, flags: Mapping[str, Sequence[str]]) -> Listing:
    kinds = [kind(outcome) for outcome in gate.outcomes]
    urgency = {k: place for place, k in enumerate(FIRST)}
    order = sorted(
        range(len(gate.pairs)), key=lambda i: (urgency.get(kinds[i], len(FIRST)), shuffled(i))
    )
    head = {
        "kinds": KINDS,
        "systems": [shown(gate.pairs[0].a.system), shown(gate.pairs[0].b.system)],
    }
    return packed(
        head,
        order,
        lambda i, cut: _row(i + 1, gate.pairs[i], gate.outcomes[i], flags, cut),
        _sizes(gate),
    )


def packed(
    head: Mapping[str, Any],
    order: Sequence[int],
    row: "Callable[[int, Cut], dict[str, Any]]",
    sizes: Sequence[int],
) -> Listing:
    """As many rows as there is room for, taken in this order and carried in that of the data.

    ``sizes`` are the lengths of all texts, from which the limit of a single one is found.
    """
    limit = next((n for n in LONGEST if sum(min(s, n) for s in sizes) <= ROOM), LONGEST[-1])
    cut = Cut(limit)
    rows: dict[int, str] = {}
    room = ROOM
    for i in order:
        made = safe_json(row(i, cut))
        room -= len(made.encode())
        if room < 0 and rows:
            break
        rows[i] = made
    carried = sorted(rows)
    body = ",\n".join(rows[i] for i in carried)
    return Listing(
        json=f'{safe_json(head)[:-1]},"rows":[{body}]}}',
        carried=tuple(i + 1 for i in carried),
        shortened=cut.times,
        limit=limit,
    )


def safe_json(value: Any) -> str:
    r"""JSON in which no character means anything to HTML.

    >>> safe_json(["</script>"])
    '["\\u003c/script\\u003e"]'
    """
    text = msgspec.json.encode(value).decode()
    for character in _UNSAFE:
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


class Cut:
    """Makes a text fit to be shown, cuts it where it is too long, and counts how often it did."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.times = 0

    def __call__(self, text: str) -> str:
        text = mask(text)  # before the cut, which could leave a part of a key
        if len(text) <= self.limit:
            return visible(text)
        self.times += 1
        return f"{visible(text[: self.limit])}\n[… {len(text) - self.limit:,} more characters]"


def _row(
    number: int, pair: Pair, outcome: Outcome, flags: Mapping[str, Sequence[str]], cut: Cut
) -> dict[str, Any]:
    row: dict[str, Any] = {
        "no": number,
        "id": cut(pair.item.id),
        "kind": kind(outcome),
        "category": None if pair.item.category is None else cut(pair.item.category),
        "instruction": cut(pair.item.instruction),
        "reference": None if pair.item.reference is None else cut(pair.item.reference),
        "texts": [cut(pair.a.text), cut(pair.b.text)],
        "lengths": [len(pair.a.text), len(pair.b.text)],
        "label": pair.label,
        "flags": [shown(flag) for flag in flags.get(pair.item.id, ())],
    }
    if isinstance(outcome, Verdict):
        row["score"] = round(outcome.a_score, 4)
        row["votes"] = [
            {
                "judge": shown(vote.judge.partition("|")[0]),
                "consistent": vote.consistent,
                "looks": [look_of(vote.a_first, cut), look_of(vote.b_first, cut)],
            }
            for vote in outcome.votes
        ]
    else:
        row["reason"] = shown(outcome.reason)
        row["detail"] = cut(outcome.detail)
    return row


def look_of(look: Preference, cut: Cut) -> dict[str, Any]:
    return {
        "choice": look.choice,
        "p_a": None if look.p_a is None else round(look.p_a, 4),
        "mass": None if look.label_mass is None else round(look.label_mass, 4),
        "flags": [shown(flag) for flag in look.flags],
        "reasoning": cut(look.reasoning),
    }


def _sizes(gate: Gate) -> list[int]:
    """Characters of every text; whatever else a row holds comes to some 400 bytes."""
    sizes = [400] * len(gate.pairs)
    for pair, outcome in zip(gate.pairs, gate.outcomes, strict=True):
        texts = [pair.item.instruction, pair.item.reference or "", pair.a.text, pair.b.text]
        if isinstance(outcome, Verdict):
            looks = [look for vote in outcome.votes for look in (vote.a_first, vote.b_first)]
            texts += [look.reasoning for look in looks]
        sizes += map(len, texts)
    return sizes
