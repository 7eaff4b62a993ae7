"""PRePair, asked of judges whose character we know."""

import pytest
from conftest import make_pairs

from twopan.concurrency import together
from twopan.data import Pair, Response
from twopan.errors import Refused, Truncated
from twopan.protocols import both_orders
from twopan.providers import Completion
from twopan.verdict import Choice

pytestmark = pytest.mark.anyio
PAIR = make_pairs(1)[0]


def deciding(prompt):
    return "<analysis_a" in prompt


def honest(prompt):
    if not deciding(prompt):
        return "An analysis."
    return "Verdict: A" if prompt.index("GOOD") < prompt.index("POOR") else "Verdict: B"


async def test_an_honest_judge_says_the_same_both_ways(judge_that):
    judge, _ = judge_that(honest, "prepair")
    comparison = await both_orders(judge, PAIR)
    assert (comparison.choice, comparison.consistent) == (Choice.A, True)


async def test_each_response_is_analysed_once_and_never_beside_the_other(judge_that):
    judge, provider = judge_that(honest, "prepair")
    await both_orders(judge, PAIR)
    prompts = [request.messages[-1].text for request in provider.requests]
    analyses = [prompt for prompt in prompts if not deciding(prompt)]
    assert len(prompts) == 4
    assert sorted(("GOOD" in p, "POOR" in p) for p in analyses) == [(False, True), (True, False)]


async def test_a_round_robin_of_n_costs_n_analyses_and_two_decisions_a_pair(judge_that):
    judge, provider = judge_that(lambda p: "Verdict: A" if deciding(p) else "Fine.", "prepair")
    texts = [Response(item_id="0", system=s, text=f"text of {s}") for s in "abcde"]
    pairs = [Pair(item=PAIR.item, a=x, b=y) for i, x in enumerate(texts) for y in texts[:i]]
    await together(*(both_orders(judge, pair) for pair in pairs))
    n = len(texts)
    assert len(provider.requests) == n + n * (n - 1)


async def test_the_analyses_reach_the_decision(judge_that):
    judge, provider = judge_that(
        lambda p: "Verdict: tie" if deciding(p) else f"About {'good' if 'GOOD' in p else 'poor'}.",
        "prepair+tie",
    )
    comparison = await both_orders(judge, PAIR)
    assert (comparison.choice, comparison.consistent) == (Choice.TIE, True)
    decisions = [p for r in provider.requests if deciding(p := r.messages[-1].text)]
    assert all("About good." in p and "About poor." in p for p in decisions)


@pytest.mark.parametrize(("reason", "error"), [("length", Truncated), ("refusal", Refused)])
async def test_an_analysis_that_was_not_finished_is_not_decided_upon(judge_that, reason, error):
    judge, provider = judge_that(
        lambda p: honest(p) if deciding(p) else Completion(text="It st", finish_reason=reason),
        "prepair",
    )
    with pytest.raises(error):
        await both_orders(judge, PAIR)
    assert not any(deciding(r.messages[-1].text) for r in provider.requests)


async def test_what_a_reasoning_model_thinks_is_no_part_of_its_analysis(judge_that):
    judge, provider = judge_that(
        lambda p: honest(p) if deciding(p) else "<think>SECRET</think>It is fine.", "prepair"
    )
    await both_orders(judge, PAIR)
    decisions = [p for r in provider.requests if deciding(p := r.messages[-1].text)]
    assert all("SECRET" not in p and "It is fine." in p for p in decisions)
