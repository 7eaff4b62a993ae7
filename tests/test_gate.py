"""The gate, on judges whose character we know."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import always_first, honest, make_pairs

from twopan import prompts
from twopan.client import Budget
from twopan.errors import BudgetReached, ConfigError
from twopan.jury import judge_pairs, majority, unanimous
from twopan.pipelines.gate import decide, gate
from twopan.verdict import Choice, Comparison, Preference, Unjudged, Verdict

pytestmark = pytest.mark.anyio


def verdict(item, first, second, judge="j|p@1|r@1|s|both|v"):
    """A verdict from the choices of the two looks, A being A in both."""
    looks = [Preference(choice=Choice(c), reasoning="") for c in (first, second)]
    vote = Comparison(judge=judge, a_first=looks[0], b_first=looks[1])
    return Verdict(item_id=str(item), votes=(vote,), choice=vote.choice)


def outcomes(text):
    """One outcome a letter: A and B decided, t a tie, i inconsistent, ? unjudged."""
    looks = {"A": "aa", "B": "bb", "i": "ab"}
    return [
        Unjudged(item_id=str(n), reason="unparsed")
        if c == "?"
        else verdict(n, *(looks[c] if c != "t" else ("tie", "tie")))
        for n, c in enumerate(text)
    ]


def decided(text, **rules):
    return decide(make_pairs(len(text)), outcomes(text), **rules)


async def test_a_better_candidate_is_promoted(judge_that):
    judge, _ = judge_that(honest)
    assert (await gate([judge], make_pairs(20))).decision == "promote"


async def test_a_worse_candidate_is_not(judge_that):
    judge, _ = judge_that(lambda p: "B" if honest(p) == "A" else "A")
    assert (await gate([judge], make_pairs(20))).decision == "keep"


async def test_three_wins_are_not_enough(judge_that):
    judge, _ = judge_that(honest)
    assert (await gate([judge], make_pairs(3))).decision == "inconclusive"


async def test_a_biased_judge_cannot_promote_anything(judge_that):
    judge, _ = judge_that(always_first)
    result = await gate([judge], make_pairs(200))
    assert result.decision == "inconclusive"
    assert (result.consistency, result.first_position) == (0.0, 1.0)


async def test_a_pair_without_a_verdict_is_counted_and_not_scored(judge_that):
    judge, _ = judge_that(lambda p: "Hm." if "GOOD 3." in p else honest(p))
    result = await gate([judge], make_pairs(40), sequential=False)
    assert result.rate.m == 39
    assert result.unjudged == {"unparsed": 1}
    assert result.worst_case == (39 / 40, 1.0)


async def test_a_verdict_comes_back_for_every_pair_in_their_order(judge_that):
    judge, _ = judge_that(honest)
    pairs = make_pairs(50)
    found = await judge_pairs([judge], pairs, workers=7)
    assert [o.item_id for o in found] == [p.item.id for p in pairs]


def test_too_few_verdicts_decide_nothing_however_clear_they_are():
    result = decided("A" * 60 + "?" * 40)
    assert (result.decision, result.covered) == ("inconclusive", False)
    assert "60 of 100" in result.because


def test_no_verdict_at_all_is_inconclusive_and_has_no_rate():
    result = decided("????")
    assert (result.decision, result.rate, result.consistency) == ("inconclusive", None, None)
    json.dumps(result.to_dict(), allow_nan=False)


def test_inconsistent_pairs_stay_in_every_count():
    result = decided("AAAAAABB" + "i" * 12)
    assert (result.wins, result.losses, result.inconsistent) == (6, 2, 12)
    assert result.consistency == pytest.approx(0.4)
    assert result.decisive.estimate == 0.75
    assert result.half_ties.estimate == pytest.approx(0.6)


def test_a_tie_the_judge_called_is_not_an_inconsistency():
    result = decided("AtB")
    assert (result.ties, result.undecided, result.consistency) == (1, 0, 1.0)


def test_the_threshold_has_to_be_passed_and_not_met():
    assert decided("AAAB", threshold=0.6).decision == "inconclusive"
    assert decided("AAAB", threshold=0.6).p_value == 0.625
    rate = decided("A" * 30 + "B" * 10).rate
    assert decided("A" * 30 + "B" * 10, threshold=rate.low).decision == "inconclusive"


def test_probabilities_decide_only_where_asked_to():
    """This judge is always right and never sure."""
    found = [
        replace(
            v,
            votes=tuple(
                replace(
                    c, a_first=replace(c.a_first, p_a=0.51), b_first=replace(c.b_first, p_a=0.51)
                )
                for c in v.votes
            ),
        )
        for v in outcomes("A" * 20)
    ]
    by_choice = decide(make_pairs(20), found)
    by_probability = decide(make_pairs(20), found, score="probability")
    assert (by_choice.rate.estimate, by_choice.decision) == (1.0, "promote")
    assert by_probability.rate.estimate == pytest.approx(0.51)
    assert by_probability.decision == "inconclusive"


def test_two_ways_of_scoring_are_never_mixed_in_silence():
    sure = verdict(0, "a", "a")
    told = replace(sure.votes[0], a_first=replace(sure.votes[0].a_first, p_a=0.9))
    result = decide(make_pairs(1), [replace(sure, votes=(told,))])
    assert result.methods == {"logprobs": 1, "text": 1}


def test_verdicts_of_different_judges_are_not_pooled():
    mixed = [verdict(0, "a", "a"), verdict(1, "a", "a", judge="j|p@1|r@2|s|both|v")]
    with pytest.raises(ConfigError, match="differ in rubric"):
        decide(make_pairs(2), mixed)


def test_each_category_has_its_own_interval():
    pairs = make_pairs(4, category="x")
    pairs[3] = make_pairs(4, category="y")[3]
    result = decide(pairs, outcomes("AABB"))
    assert {name: (r.estimate, r.m) for name, r in result.categories.items()} == {
        "x": (pytest.approx(2 / 3), 3),
        "y": (0.0, 1),
    }


def test_no_pairs_prove_nothing():
    with pytest.raises(ConfigError, match="0 pairs"):
        decide([], [])


async def test_a_prompt_that_needs_a_reference_is_found_out_before_any_call(judge_that, tmp_path):
    shipped = (Path(prompts.__file__).parent / "pairwise.md").read_text(encoding="utf-8")
    (tmp_path / "pairwise.md").write_text(shipped.replace("reference?", "reference"))
    judge, provider = judge_that(honest)
    judge = replace(judge, prompts=prompts.Prompts(tmp_path))
    pairs = [*make_pairs(3, reference="known"), make_pairs(4)[3]]
    with pytest.raises(ConfigError, match="1 of 4 items"):
        await gate([judge], pairs)
    assert provider.requests == []


@pytest.mark.parametrize(("text", "decision"), [("AAAAA", "inconclusive"), ("AAAAAA", "promote")])
def test_what_a_coin_may_do_is_not_decided_upon(text, decision):
    """Five heads in five come once in 32 tosses, and as many tails; six are less than 5 %."""
    result = decided(text + "t" * 30)
    assert result.decision == decision
    if decision == "inconclusive":
        assert "only 5 pairs were decided" in result.because


def test_percentages_are_not_rounded_into_something_else():
    result = decided("A" * 30 + "B" * 30, threshold=0.555, level=0.999)
    assert "99.9% interval" in result.because
    assert "55.5%" in result.because


async def test_a_budget_that_ends_in_the_second_look_is_not_taken_for_a_bad_pair(judge_that):
    """The first look of the last pair cannot be read; the second is not made."""
    judge, _ = judge_that(
        lambda p: "Hm." if "GOOD 19." in p and honest(p) == "A" else honest(p),
        budget=Budget(calls=39),
        concurrency=1,
    )
    with pytest.raises(BudgetReached):
        await gate([judge], make_pairs(20), workers=1, sequential=False)


@pytest.mark.parametrize(
    ("rule", "votes", "choice"),
    [
        (majority, "aab", Choice.A),
        (majority, "ab", Choice.TIE),
        (majority, "aabb", Choice.TIE),
        (majority, "abt", Choice.TIE),
        (unanimous, "aab", Choice.TIE),
        (unanimous, "bbb", Choice.B),
    ],
)
def test_a_jury_counts_its_votes(rule, votes, choice):
    words = {"a": "a", "b": "b", "t": "tie"}
    assert rule([verdict(0, words[v], words[v]).votes[0] for v in votes]) == choice
