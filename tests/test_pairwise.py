"""Pairwise in both orders, asked of judges whose character we know."""

import math

import pytest
from conftest import always_first, honest, make_pairs

from twopan.errors import Unparsed
from twopan.protocols import both_orders
from twopan.providers import Completion, TokenLogprobs
from twopan.verdict import Choice

pytestmark = pytest.mark.anyio
PAIR = make_pairs(1)[0]


def sure(letter, p):
    """A reply of one letter, written with probability p."""
    other = "B" if letter == "A" else "A"
    top = ((letter, math.log(p)), (other, math.log(0.98 - p)), ("The", math.log(0.02)))
    return Completion(text=letter, logprobs=(TokenLogprobs(letter, top),))


async def test_an_honest_judge_says_the_same_both_ways(judge_that):
    judge, _ = judge_that(honest)
    comparison = await both_orders(judge, PAIR)
    assert (comparison.choice, comparison.consistent) == (Choice.A, True)


async def test_a_judge_that_always_picks_the_first_decides_nothing(judge_that):
    judge, _ = judge_that(always_first)
    comparison = await both_orders(judge, PAIR)
    assert (comparison.choice, comparison.consistent) == (Choice.TIE, False)
    assert comparison.a_score == 0.5


async def test_probabilities_are_taken_among_the_letters_and_averaged_over_the_orders(judge_that):
    judge, _ = judge_that(lambda prompt: sure(honest(prompt), 0.735))
    comparison = await both_orders(judge, PAIR)
    assert comparison.a_first.p_a == pytest.approx(0.75)
    assert comparison.b_first.p_a == pytest.approx(0.75)
    assert comparison.a_first.label_mass == pytest.approx(0.98)
    assert comparison.a_score == pytest.approx(0.75)


async def test_position_cancels_out_of_the_probabilities(judge_that):
    """Wherever it stands, this judge adds to the first; the mean of the looks does not."""
    judge, _ = judge_that(lambda p: sure("A", 0.9 if honest(p) == "A" else 0.6))
    comparison = await both_orders(judge, PAIR)
    assert not comparison.consistent
    assert comparison.a_score == pytest.approx((0.9 / 0.98 + 1 - 0.6 / 0.98) / 2)


async def test_a_letter_with_little_probability_stands_without_its_strength(judge_that):
    judge, _ = judge_that(
        lambda p: Completion(
            text=honest(p),
            logprobs=(TokenLogprobs(honest(p), ((honest(p), -2.0), ("The", -0.3))),),
        )
    )
    comparison = await both_orders(judge, PAIR)
    assert comparison.choice == Choice.A
    assert comparison.a_first.p_a is None
    assert "low_mass" in comparison.a_first.flags


async def test_the_judge_never_learns_whose_response_it_reads(judge_that):
    judge, provider = judge_that(honest)
    await both_orders(judge, PAIR)
    seen = " ".join(m.text for r in provider.requests for m in r.messages)
    assert "candidate" not in seen
    assert "baseline" not in seen


async def test_the_category_is_never_shown_and_the_reference_is(judge_that):
    judge, provider = judge_that(honest)
    pair = make_pairs(1, category="sums", reference="the known answer")[0]
    await both_orders(judge, pair)
    seen = " ".join(m.text for r in provider.requests for m in r.messages)
    assert "sums" not in seen
    assert "the known answer" in seen


async def test_no_verdict_is_an_error_and_not_a_tie(judge_that):
    judge, _ = judge_that(lambda prompt: "They are both lovely.")
    with pytest.raises(Unparsed):
        await both_orders(judge, PAIR)


async def test_half_a_comparison_is_none(judge_that):
    """The other look is still made and kept, for the two are sent together."""
    judge, provider = judge_that(lambda p: "A" if honest(p) == "A" else "Hm, hard to say.")
    with pytest.raises(Unparsed):
        await both_orders(judge, PAIR)
    assert len(provider.requests) == 2


@pytest.mark.parametrize("words", ["Answer: {}", "answer: {}.", "**Verdict: {}**"])
async def test_a_judge_may_say_that_it_answers(judge_that, words):
    judge, _ = judge_that(lambda p: words.format(honest(p)))
    assert (await both_orders(judge, PAIR)).choice == Choice.A
