"""The replayable LOGP cases: token log-probabilities under a scale, and what may come of them."""

from collections import Counter

import pytest

from cases.loading import cases
from twopan.errors import Unparsed
from twopan.protocols.logprobs import distribution
from twopan.protocols.parsing import Contract
from twopan.protocols.pointwise import score
from twopan.providers import Completion, TokenLogprobs
from twopan.providers.openai import read_logprobs


def positions_of(given):
    if given is None:
        return None
    return [
        TokenLogprobs(
            at["token"], tuple((t["token"], t["logprob"]) for t in at["top_logprobs"])
        )
        for at in given
    ]  # fmt: skip


def outcome_of(positions, contract):
    try:
        found = distribution(positions, contract["scale"], min_mass=contract["min_mass"])
    except Unparsed as failure:
        nothing = {"mass": 0} if failure.why == "no_score_mass" else {}
        return {"status": "unscored", "reason": failure.why, **nothing}
    outcome = {
        "status": "ok",
        "mass": found.mass,
        "probs": {
            label: p for label, p in found.probabilities.items() if label not in found.missing
        },
        "missing_labels": list(found.missing),
    }
    if all(label.isdigit() for label in contract["scale"]):
        outcome["expected_score"] = found.expected
    return outcome


def meets(expected, outcome):
    ignored = ("any_of", "tolerance", "never_value")
    wanted = {field: value for field, value in expected.items() if field not in ignored}
    near = {
        field: pytest.approx(value, abs=1e-9)
        if field in ("mass", "probs", "expected_score")
        else value
        for field, value in wanted.items()
    }
    return near == {field: outcome.get(field) for field in near}


@pytest.mark.parametrize("case", cases("logprobs", but=("http", "request_shape", "logprobs_run")))
def test_a_distribution_is_as_the_case_says_or_named_as_none(case):
    given, expected = case["input"], case["expected"]
    if given["kind"] == "logprobs_raw":
        positions = read_logprobs(given["logprobs"])
    else:
        positions = positions_of(given["positions"])
    outcome = outcome_of(positions, given["contract"])
    options = expected.get("any_of", [expected])
    assert any(meets(option, outcome) for option in options), outcome
    assert outcome.get("expected_score") != pytest.approx(expected.get("never_value", -1))


@pytest.mark.parametrize("case", cases("logprobs_run"))
def test_a_change_of_method_within_a_run_is_counted(case):
    given, expected = case["input"], case["expected"]
    levels = [int(label) for label in given["contract"]["scale"]]
    contract = Contract(format="bare", low=min(levels), high=max(levels), integer=True)
    scores = {}
    for row in given["rows"]:
        positions = positions_of(row["positions"])
        scores[row["id"]] = score(
            contract,
            levels,
            Completion(text=row["text"], logprobs=None if positions is None else tuple(positions)),
        )
    for row in expected["rows"]:
        found = scores[row["id"]]
        assert found.score_mode == row["method"]
        assert found.value == pytest.approx(row.get("expected_score", found.value), abs=1e-9)
    counts = Counter(found.score_mode for found in scores.values())
    assert counts == expected["summary_must_report"]["method_counts"]
