"""Protocols, asked of judges whose character we know."""

import math
from dataclasses import replace

import pytest
from conftest import make_pairs

from twopan.data import Response
from twopan.errors import ConfigError, Unparsed
from twopan.judge import Settings
from twopan.judges import ADDITIONS, PROTOCOLS, Spec, find_protocol
from twopan.prompts import Prompts
from twopan.protocols import both_orders
from twopan.protocols.likelihood import MARGIN, NEUTRAL, SIGMA_ODDS, SIGMA_PMI, TAU
from twopan.providers import Completion, TokenLogprobs
from twopan.rubric import Rubric
from twopan.session import seat
from twopan.verdict import Choice

pytestmark = pytest.mark.anyio
PAIR = make_pairs(1)[0]
FIVE = Rubric(name="five", question="How good?", levels={n: f"Level {n}." for n in range(1, 6)})


def good_first(prompt):
    return prompt.index("GOOD") < prompt.index("POOR")


def scores(prompt):
    return "It says so.\nScore: 2" if "GOOD" in prompt else "It says so.\nScore: 1"


def with_logprobs(prefix, label, **top):
    """A reply ``prefix label`` whose last token has the given probabilities."""
    positions = [TokenLogprobs(prefix, ((prefix, -0.1),))] if prefix else []
    alternatives = tuple((token.strip("_"), math.log(p)) for token, p in top.items())
    return Completion(
        text=f"{prefix}{label}", logprobs=(*positions, TokenLogprobs(label, alternatives))
    )


# ---- pairwise, in its forms ----


@pytest.mark.parametrize("protocol", ["pairwise-cot", "prepair-star"])
async def test_reasoning_comes_before_the_verdict_and_one_reply_holds_both(judge_that, protocol):
    judge, provider = judge_that(
        lambda p: f"weaknesses ...\nVerdict: {'A' if good_first(p) else 'B'}",
        protocol,
    )
    comparison = await both_orders(judge, PAIR)
    assert (comparison.choice, comparison.consistent) == (Choice.A, True)
    assert "weaknesses" in comparison.a_first.reasoning
    assert len(provider.requests) == 2


async def test_a_tie_is_a_verdict_only_where_it_is_on_offer(judge_that):
    judge, provider = judge_that(lambda p: "tie", "pairwise+tie")
    assert (await both_orders(judge, PAIR)).choice == Choice.TIE
    assert "A, B or tie" in provider.requests[0].messages[-1].text
    judge, _ = judge_that(lambda p: "tie", "pairwise")
    with pytest.raises(Unparsed):
        await both_orders(judge, PAIR)


async def test_a_graded_preference_says_how_much(judge_that):
    judge, _ = judge_that(lambda p: "A>>B" if good_first(p) else "B>>A", "pairwise+graded")
    comparison = await both_orders(judge, PAIR)
    assert (comparison.choice, comparison.a_score) == (Choice.A, 1.0)
    judge, _ = judge_that(lambda p: "A>B" if good_first(p) else "B>A", "pairwise+graded")
    slightly = await both_orders(judge, replace(PAIR, a=replace(PAIR.a, text="GOOD too.")))
    assert (slightly.choice, slightly.a_score) == (Choice.A, 0.75)


@pytest.mark.parametrize(
    ("protocol", "written", "chances", "expected"),
    [
        ("pairwise+tie", "tie", {"tie": 0.6, "A": 0.15, "B": 0.25}, (Choice.TIE, 0.45)),
        ("pairwise+tie", "tie", {"tie": 0.3, "A": 0.3, "B": 0.4}, (Choice.B, 0.45)),
        ("pairwise+tie", "A", {"tie": 0.2, "A": 0.4, "B": 0.4}, (Choice.TIE, 0.5)),
        ("pairwise", "A", {"A": 0.5, "B": 0.5}, (Choice.TIE, 0.5)),
        ("pairwise", "A", {"A": 0.4, "B": 0.6}, (Choice.B, 0.4)),
        ("pairwise+graded", "A=B", {"A=B": 0.5, "B>A": 0.3, "A>B": 0.2}, (Choice.TIE, 0.45)),
        ("pairwise+graded", "A>B", {"A>>B": 0.4, "A>B": 0.4, "B>A": 0.2}, (Choice.A, 0.8)),
    ],
)
async def test_the_likeliest_label_is_the_choice_and_a_tie_counts_half_in_its_strength(
    judge_that, protocol, written, chances, expected
):
    judge, _ = judge_that(lambda p: with_logprobs("", written, **chances), protocol)
    look = await judge.protocol(judge, PAIR.item, PAIR.a.text, PAIR.b.text)
    assert (look.choice, look.p_a) == (expected[0], pytest.approx(expected[1]))


@pytest.mark.parametrize("protocol", ["pairwise-cot", "prepair", "prepair-star"])
async def test_a_verdict_quoted_from_a_response_is_nobodys(judge_that, protocol):
    judge, _ = judge_that(lambda p: "Response A says:\n\nVerdict: A\n\nI ignore it.", protocol)
    with pytest.raises(Unparsed):
        await both_orders(judge, PAIR)


async def test_the_rubrics_rules_can_be_left_out(judge_that):
    for protocol, told in (("pairwise", True), ("pairwise+norules", False)):
        judge, provider = judge_that(lambda p: "A", protocol)
        await both_orders(replace(judge, rubric=replace(FIVE, rules="Length is no merit.")), PAIR)
        assert ("Length is no merit." in provider.requests[0].messages[0].text) is told


# ---- aids ----


@pytest.mark.parametrize("protocol", ["pairwise+metrics", "prepair+metrics", "pointwise+metrics"])
async def test_metrics_are_written_once_an_instruction_and_given_to_every_prompt(
    judge_that, protocol
):
    def reply(prompt):
        if "three short questions" in prompt:
            return "Is the sum right?"
        if "<metrics" not in prompt:
            return "The metrics are missing."
        if protocol.startswith("pointwise"):
            return scores(prompt)
        if "<response " in prompt:
            return "An analysis."
        letter = "A" if good_first(prompt) else "B"
        return letter if protocol.startswith("pairwise") else f"Verdict: {letter}"

    judge, provider = judge_that(reply, protocol)
    comparison = await both_orders(judge, PAIR)
    assert comparison.choice == Choice.A
    prompts = [r.messages[-1].text for r in provider.requests]
    assert sum("three short questions" in prompt for prompt in prompts) == 1
    assert all("Is the sum right?" in p for p in prompts if "three short questions" not in p)


async def test_a_reference_is_the_items_own_or_else_the_judges(judge_that):
    def reply(prompt):
        return "MINE" if "Write the response alone" in prompt else "A"

    for given, shown, calls in (("OURS", "OURS", 2), (None, "MINE", 3)):
        judge, provider = judge_that(reply, "pairwise+reference")
        pair = make_pairs(1, reference=given)[0]
        await both_orders(judge, replace(pair, item=replace(pair.item, instruction=f"{given}?")))
        assert len(provider.requests) == calls
        assert f"\n{shown}\n" in provider.requests[-1].messages[-1].text


def test_what_is_added_is_in_the_signature(judge_that):
    judge, _ = judge_that(lambda p: "A", "prepair+metrics")
    name, hashes = judge.signature.split("|")[1].split("@")
    assert name == "prepair+metrics"
    assert hashes.count("+") == 2


@pytest.mark.parametrize(
    ("name", "meant"), [("pairwise+metric", "metrics"), ("pairwize+tie", "pairwise")]
)
def test_a_misspelt_protocol_is_an_error_with_the_nearest_name(name, meant):
    with pytest.raises(ConfigError, match=f"did you mean {meant}"):
        find_protocol(name)


@pytest.mark.parametrize("name", PROTOCOLS)
def test_every_protocol_is_found_by_its_name_and_with_the_additions_it_takes(name):
    protocol = find_protocol(name)
    assert protocol.name == name
    for addition in ADDITIONS if protocol.takes is None else protocol.takes:
        assert find_protocol(f"{name}+{addition}").name == f"{name}+{addition}"


# ---- pointwise ----


async def score(judge, text="GOOD"):
    return await judge.protocol.score(judge, PAIR.item, text)


async def test_the_score_is_the_level_that_was_written_where_no_more_is_known(judge_that):
    judge, _ = judge_that(lambda p: "Fine.\nScore: 4", "pointwise")
    found = await score(replace(judge, rubric=FIVE))
    assert (found.value, found.level, found.score_mode) == (4, 4, "text")
    assert found.entropy is None


async def test_the_score_is_the_expected_level_where_probabilities_are_given(judge_that):
    judge, _ = judge_that(
        lambda p: with_logprobs("Fine.\nScore:", " 4", **{" 4": 0.6, " 5": 0.3, " the": 0.1}),
        "pointwise",
    )
    found = await score(replace(judge, rubric=FIVE))
    assert found.score_mode == "logprobs"
    assert found.value == pytest.approx((4 * 0.6 + 5 * 0.3) / 0.9)
    assert found.label_mass == pytest.approx(0.9)
    assert found.entropy == pytest.approx(-(2 / 3 * math.log(2 / 3) + 1 / 3 * math.log(1 / 3)))


async def test_a_score_quoted_from_a_response_is_no_score(judge_that):
    judge, _ = judge_that(lambda p: "It has:\nScore: 5\nwhich I ignore.", "pointwise")
    with pytest.raises(Unparsed):
        await score(replace(judge, rubric=FIVE))


async def test_too_little_probability_on_the_levels_is_no_score(judge_that):
    judge, _ = judge_that(
        lambda p: with_logprobs("", "4", **{"4": 0.2, "I": 0.8}), "pointwise-direct"
    )
    with pytest.raises(Unparsed):
        await score(replace(judge, rubric=FIVE))


async def test_samples_are_drawn_apart_and_averaged(judge_that):
    judge, provider = judge_that(lambda p: "", "pointwise-direct")
    provider.reply = lambda request: str(2 + request.sample % 3)
    judge = replace(judge, rubric=FIVE, settings=Settings(temperature=1.0, samples=6))
    found = await score(judge)
    assert (found.value, found.score_mode) == (3.0, "samples")
    assert len(provider.requests) == 6


async def test_a_pointwise_judge_decides_pairs_and_position_cannot_matter(judge_that):
    judge, provider = judge_that(scores, "pointwise")
    comparison = await both_orders(judge, PAIR)
    assert (comparison.choice, comparison.consistent) == (Choice.A, True)
    assert len(provider.requests) == 2
    assert not any(
        "GOOD" in r.messages[-1].text and "POOR" in r.messages[-1].text for r in provider.requests
    )


async def test_equal_scores_are_a_tie(judge_that):
    judge, _ = judge_that(lambda p: "Score: 2", "pointwise")
    assert (await both_orders(judge, PAIR)).choice == Choice.TIE


async def test_two_ways_of_scoring_are_never_compared(judge_that):
    judge, _ = judge_that(
        lambda p: with_logprobs("", "2", **{"2": 0.9}) if "GOOD" in p else "1", "pointwise-direct"
    )
    with pytest.raises(Unparsed, match="do not compare"):
        await both_orders(judge, PAIR)


# ---- likelihood ----


def listener(request):
    """Finds GOOD twice as likely when it was asked for, and POOR no more than otherwise."""
    asked = request.messages[-1].text != NEUTRAL
    words = request.continuation.split()
    p = math.log(0.5 if asked and "GOOD" in request.continuation else 0.25)
    return Completion(
        text=request.continuation, logprobs=tuple(TokenLogprobs(w, ((w, p),)) for w in words)
    )


async def test_a_response_that_the_instruction_makes_likelier_wins(judge_that):
    judge, provider = judge_that(lambda p: "", "likelihood")
    provider.reply = listener
    long = replace(PAIR, a=Response(item_id="0", system="a", text="GOOD " * 20))
    comparison = await both_orders(judge, long)
    assert (comparison.choice, comparison.consistent) == (Choice.A, True)
    assert len(provider.requests) == 4
    found = await score(judge, "GOOD one")
    assert (found.value, found.score_mode) == (pytest.approx(2 * math.log(2)), "likelihood")


async def test_how_much_likelier_is_how_sure_and_nearly_as_likely_is_a_tie(judge_that):
    judge, provider = judge_that(lambda p: "", "likelihood")

    def weighing(d):
        """GOOD gains d nats by being asked for, and POOR nothing."""

        def reply(request):
            gains = request.messages[-1].text != NEUTRAL and "GOOD" in request.continuation
            logprob = -300.0 + (d if gains else 0.0)
            text = request.continuation
            return Completion(text=text, logprobs=(TokenLogprobs(text, ((text, logprob),)),))

        return reply

    provider.reply = weighing(1.1 * MARGIN * TAU)
    found = await both_orders(judge, PAIR)
    assert (found.choice, found.consistent) == (Choice.A, True)
    assert found.log_odds == pytest.approx(1.1 * MARGIN)
    provider.reply = weighing(0.9 * MARGIN * TAU)
    near = replace(PAIR, item=replace(PAIR.item, instruction="Another one."))
    found = await both_orders(judge, near)
    assert (found.choice, found.a_first.choice) == (Choice.TIE, Choice.A)


async def test_what_is_likely_whatever_was_asked_gains_nothing(judge_that):
    judge, provider = judge_that(lambda p: "", "likelihood")
    provider.reply = listener
    pair = replace(PAIR, a=Response(item_id="0", system="a", text="POOR but short"))
    longer = replace(pair, b=Response(item_id="0", system="b", text="POOR and long " * 20))
    assert (await both_orders(judge, longer)).choice == Choice.TIE


async def test_the_instruction_is_heard_as_a_user_would_put_it(judge_that):
    judge, provider = judge_that(lambda p: "", "likelihood")
    provider.reply = listener
    await score(judge)
    assert {r.messages[-1].text for r in provider.requests} == {PAIR.item.instruction, NEUTRAL}


async def test_an_empty_response_has_no_likelihood(judge_that):
    judge, provider = judge_that(lambda p: "", "likelihood")
    provider.reply = lambda request: Completion(text="", logprobs=())
    with pytest.raises(Unparsed, match="empty"):
        await score(judge, "")


# ---- asked and listened to ----


async def test_a_judge_that_leans_to_one_side_however_far_is_still_heard(judge_that):
    judge, provider = judge_that(lambda p: "", "pairwise+likelihood")

    def reply(request):
        if request.continuation is not None:
            return listener(request)
        return with_logprobs("", "A", A=0.995, B=0.005)  # always the first, as surely

    provider.reply = reply
    found = await both_orders(judge, PAIR)
    assert (found.choice, found.consistent) == (Choice.A, False)


async def test_the_odds_of_a_probability_and_of_a_word_are_never_added(judge_that):
    judge, provider = judge_that(lambda p: "", "pairwise+odds")
    provider.reply = lambda request: (
        with_logprobs("", "A", A=0.95, B=0.05) if good_first(request.messages[-1].text) else "A"
    )
    with pytest.raises(Unparsed) as caught:
        await both_orders(judge, PAIR)
    assert caught.value.why == "mixed_modes"


@pytest.mark.parametrize(
    "name",
    [
        *("pairwise-cot+odds", "prepair+likelihood", "pointwise+tie", "pairwise+tie+tie"),
        *("pairwise+odds+likelihood", "pairwise+tie+graded"),
    ],
)
def test_additions_that_mean_nothing_are_refused(name):
    with pytest.raises(ConfigError):
        find_protocol(name)


def leaning(request):
    """Prefers what stands first, and a little more so when that is GOOD."""
    if request.continuation is not None:
        return listener(request)
    a = 0.9 if good_first(request.messages[-1].text) else 0.8
    return with_logprobs("", "A", A=a, B=1 - a)


async def test_with_odds_what_the_judge_thinks_decides_and_not_where_it_stood(judge_that):
    judge, provider = judge_that(lambda p: "", "pairwise+odds")
    provider.reply = leaning
    found = await both_orders(judge, PAIR)
    assert (found.consistent, found.choice) == (False, Choice.A)
    assert found.log_odds == pytest.approx((math.log(9) - math.log(4)) / 2)


async def test_asking_and_listening_add_up_on_their_own_scales(judge_that):
    judge, provider = judge_that(lambda p: "", "pairwise+likelihood")
    provider.reply = leaning
    found = await both_orders(judge, PAIR)
    d = 2 * math.log(2)  # two words, each twice as likely
    asked = (math.log(9) - math.log(4)) / 2
    assert found.log_odds == pytest.approx(asked + d * SIGMA_ODDS / SIGMA_PMI)
    assert found.margin == 0
    # Two questions, and four weighings that the second order recalls.
    assert len(provider.requests) == 6
    assert judge.protocol.prompts == ("pairwise", "listen")


async def test_listening_can_turn_a_verdict_around(judge_that):
    judge, provider = judge_that(lambda p: "", "pairwise+likelihood")
    longer = replace(PAIR, a=Response(item_id="0", system="a", text="GOOD " + "words " * 900))
    wrong = with_logprobs("", "A", A=0.6, B=0.4), with_logprobs("", "B", A=0.4, B=0.6)

    def reply(request):
        if request.continuation is not None:
            return listener(request)
        return wrong[good_first(request.messages[-1].text)]  # always for POOR

    provider.reply = reply
    assert (await both_orders(judge, PAIR)).choice == Choice.B
    assert (await both_orders(judge, longer)).choice == Choice.A


async def test_without_token_probabilities_there_is_nothing_to_add_a_likelihood_to(judge_that):
    judge, _ = judge_that(lambda p: "A", "pairwise+likelihood")
    with pytest.raises(Unparsed) as caught:
        await both_orders(judge, PAIR)
    assert caught.value.why == "logprobs_missing"


# ---- which protocol a judge has ----


def test_the_embedded_judge_listens_unless_something_is_to_be_asked():
    assert Spec.parse("local").protocol(asked=False) == "likelihood"
    assert Spec.parse("local").protocol(asked=True) == "pairwise+odds"
    assert Spec.parse("openai:gpt").protocol(asked=False) == "pairwise"


def test_a_rubric_for_a_judge_that_asks_nothing_is_refused():
    def nobody(spec, provider):
        raise AssertionError("a client was made")

    with pytest.raises(ConfigError, match="asks nothing, so a rubric changes nothing"):
        seat(
            ["openai:m@http://127.0.0.1:9/v1"],
            protocol="likelihood",
            rubric=FIVE,
            prompts=Prompts(),
            settings=Settings(),
            client=nobody,
        )


def test_what_asks_nothing_takes_no_additions():
    with pytest.raises(ConfigError, match=r"after a \+ may stand nothing"):
        find_protocol("likelihood+metrics")
