"""The replayable LOGP cases: token log-probabilities under a scale, and what may come of them."""

import pytest

from cases.loading import cases
from twopan.errors import Unparsed
from twopan.protocols.logprobs import distribution, method_counts, weighed
from twopan.providers import TokenLogprobs
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
    scores = {
        row["id"]: weighed(
            positions_of(row["positions"]), given["contract"]["scale"], float(row["text"]),
            min_mass=given["contract"]["min_mass"],
        )
        for row in given["rows"]
    }  # fmt: skip
    for row in expected["rows"]:
        score = scores[row["id"]]
        assert score.method == row["method"]
        assert score.value == pytest.approx(row.get("expected_score", score.value), abs=1e-9)
    assert method_counts(scores.values()) == expected["summary_must_report"]["method_counts"]
