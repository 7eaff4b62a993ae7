"""Results to make reports of: small ones with a text of one's choice in every place for text."""

from twopan.data import Item, Pair, Response
from twopan.pipelines.gate import decide
from twopan.report import render_gate
from twopan.session import Spent
from twopan.verdict import Choice, Comparison, Preference, Unjudged, Verdict

HARMLESS = {
    "item_id": "item",
    "instruction": "Which planet is closest to the Sun?",
    "reference": "Mercury",
    "response": "Mercury.",
    "other_response": "It is Mercury, the smallest of the eight.",
    "candidate": "assistant-v2",
    "baseline": "assistant-v1",
    "category": "facts",
    "reasoning": "Both are right, and the first says so at once.",
    "look_flag": "coerced",
    "signature": "judge-large",
    "reason": "unparsed",
    "detail": "no verdict in the reply",
    "served": "judge-large-2026-01-10",
    "ledger": "ledger.db",
    "note": "12 pairs were left out.",
    "flag": "invisible characters in the candidate",
    "title": "Weekly gate",
}
"""Every place of a page where a text from outside can stand."""

LOOKS = {"A": "aa", "B": "bb", "t": ("tie", "tie"), "i": "ab"}
KINDS = "iABt?"


def outcome(letter, item_id, /, *, judges=1, p=None, **texts):
    """A and B decided, t a tie, i inconsistent, ? unjudged."""
    words = HARMLESS | texts
    if letter == "?":
        return Unjudged(item_id=item_id, reason=words["reason"], detail=words["detail"])
    first, second = (
        Preference(
            choice=Choice(choice),
            reasoning=words["reasoning"],
            p_a=p,
            flags=(words["look_flag"],),
        )
        for choice in LOOKS[letter]
    )
    vote = Comparison(judge=words["signature"], a_first=first, b_first=second)
    return Verdict(item_id=item_id, votes=(vote,) * judges, choice=vote.choice)


def pair(item_id, /, **texts):
    words = HARMLESS | texts
    item = Item(
        id=item_id,
        instruction=words["instruction"],
        reference=words["reference"],
        category=words["category"],
    )
    return Pair(
        item=item,
        a=Response(item_id=item_id, system=words["candidate"], text=words["response"]),
        b=Response(item_id=item_id, system=words["baseline"], text=words["other_response"]),
    )


def result(letters=KINDS, *, judges=1, ids=None, rules=None, **texts):
    """One pair a letter; the rest is harmless unless said otherwise."""
    ids = ids or [f"{texts.get('item_id', 'item')}-{n}" for n, _ in enumerate(letters, 1)]
    return decide(
        [pair(i, **texts) for i in ids],
        [outcome(c, i, judges=judges, **texts) for c, i in zip(letters, ids, strict=True)],
        **(rules or {}),
    )


def spent(**values):
    known = {
        "run": "r-01",
        "ledger": "ledger.db",
        "calls": 10,
        "attempts": 11,
        "recalled": 120,
        "input_tokens": 5000,
        "cached_tokens": 100,
        "output_tokens": 700,
        "cost_usd": 0.0123,
        "unpriced": 0,
        "unknown": 0,
        "seconds": 75.0,
        "served": {"judge-large-2026-01-10": 10},
    }
    return Spent(**known | values)


def page(letters=KINDS, **texts):
    """A whole page with these texts in their places."""
    words = HARMLESS | texts
    made = result(letters, **texts)
    return render_gate(
        made,
        spent(served={words["served"]: 10}, ledger=words["ledger"]),
        notes=[words["note"]],
        flags={made.pairs[0].item.id: [words["flag"]]},
        title=words["title"],
    )
