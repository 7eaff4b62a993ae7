"""The replayable PARSE cases: a judge's reply under a contract, and what may come of it."""

import pytest

from cases.loading import cases
from twopan.errors import Unparsed, VerdictError
from twopan.protocols.parsing import Contract, read

FORMATS = {"json": "json", "label": "line", "letter": "line", "bracket": "bracket"}
STOPS = {"max_tokens": "length", "refusal": "refusal"}


def contract_of(wanted):
    return Contract(
        format={**FORMATS, "result_tag": "tag"}[wanted["format"]],
        label=wanted.get("label", ""),
        key=wanted.get("key", ""),
        tag=wanted.get("tag", ""),
        menu=tuple(wanted.get("menu", ())),
        low=wanted.get("min"),
        high=wanted.get("max"),
        integer=wanted.get("integer", False),
    )


def reply_of(given):
    """The text and why it ended, as a provider hands them on."""
    if given["kind"] == "anthropic_message":
        blocks = given["content"]
        text = "".join(b["text"] for b in blocks if b["type"] == "text")
        return text, STOPS.get(given.get("stop_reason"), "stop")
    if "text_gen" in given:
        made = given["text_gen"]
        text = made.get("prefix", "") + made["repeat"] * made["times"] + made.get("suffix", "")
    elif "text_unicode_escape" in given:
        text = given["text_unicode_escape"].encode().decode("unicode_escape")
    else:
        text = given["text"] or ""
    return text, given.get("finish_reason") or "stop"


def outcome_of(given):
    contract = contract_of(given["contract"])
    text, finish_reason = reply_of(given)
    try:
        reading = read(contract, text, finish_reason)
    except VerdictError as failure:
        why = failure.why if isinstance(failure, Unparsed) else None
        return {"status": failure.reason, "reason": why, "scored": False}
    return {"status": "ok", "value": reading.value, "flags": reading.flags, "scored": True}


def meets(expected, outcome):
    return all(
        set(wanted) <= set(outcome.get("flags", ()))
        if field == "flags"
        else outcome.get(field) == wanted
        for field, wanted in expected.items()
        if field not in ("any_of", "never", "max_seconds")
    )


@pytest.mark.parametrize("case", cases("completion", "anthropic_message"))
def test_a_reply_is_read_as_the_case_says_or_not_at_all(case):
    expected = case["expected"]
    outcome = outcome_of(case["input"])
    assert any(meets(option, outcome) for option in expected.get("any_of", [expected])), outcome
    assert outcome.get("value", None) not in expected.get("never", [])
