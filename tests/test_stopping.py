"""Where a sequential gate stops: the same place whatever the order in which answers come."""

import random
from dataclasses import replace

import pytest
from conftest import honest, make_pairs
from hypothesis import given
from hypothesis import strategies as st
from test_gate import outcomes

from twopan.client import Budget
from twopan.errors import BudgetReached, ConfigError
from twopan.pipelines.gate import decide, gate
from twopan.pipelines.stopping import Watch, drawn
from twopan.stats.length_control import length_controlled
from twopan.stats.sequential import Rules, walk
from twopan.verdict import Verdict

SCORES = st.lists(st.sampled_from([0.0, 0.5, 1.0, 1.0, None]), min_size=1, max_size=120)


def by_id(pairs):
    return drawn(pairs, 0, lambda pair: pair.item.id)


def decided(text, **rules):
    """The letters in the order in which they are asked."""
    pairs = by_id(make_pairs(len(text)))
    return decide(pairs, outcomes(text), sequential=True, **rules)


# ---- the order


@given(st.sets(st.text(min_size=1), min_size=2, max_size=30), st.integers(), st.randoms())
def test_the_order_depends_on_ids_and_seed_alone(ids, seed, rng):
    ids = sorted(ids)
    order = drawn(ids, seed, str)
    shuffled = list(ids)
    rng.shuffle(shuffled)
    assert drawn(shuffled, seed, str) == order
    assert drawn(ids[1:], seed, str) == [id for id in order if id != ids[0]]


def test_another_seed_draws_another_order():
    ids = list(map(str, range(50)))
    assert len({tuple(drawn(ids, seed, str)) for seed in range(20)}) == 20


# ---- where it stops


@given(SCORES, st.randoms(use_true_random=False), st.floats(0, 1))
def test_it_stops_where_a_walk_through_the_prefix_does_in_whatever_order_outcomes_come(
    scores, rng, coverage
):
    rules = Rules(cap=len(scores))
    order = list(range(len(scores)))
    rng.shuffle(order)
    watch = Watch(rules, coverage=coverage)
    for place in order:
        watch.add(place, scores[place])
    known = [(n, y) for n, y in enumerate(scores, 1) if y is not None]
    stop = walk(
        [y for _, y in known], rules, seen=[n for n, _ in known], asked=len(scores),
        coverage=coverage,
    )  # fmt: skip
    assert watch.stop == stop
    if watch.counted is not None:
        assert watch.counted == known[stop.n - 1][0]


def test_without_rules_it_never_stops():
    watch = Watch(None)
    for place in range(50):
        watch.add(place, 1.0)
    assert list(watch.until("abc")) == ["a", "b", "c"]
    assert watch.counted is None


# ---- the gate


@pytest.mark.anyio
async def test_a_clear_candidate_is_promoted_with_a_small_part_of_the_calls(judge_that):
    judge, provider = judge_that(honest)
    result = await gate([judge], make_pairs(500), workers=4)
    assert (result.decision, len(result.pairs), result.available) == ("promote", 9, 500)
    # What was under way when it stopped is paid for, and no more.
    assert 18 <= len(provider.requests) <= 2 * (9 + 4)
    assert "after 9 of 500 pairs" in result.because
    assert "491 pairs were not needed" in result.because


@pytest.mark.anyio
@pytest.mark.parametrize("workers", [1, 3, 16])
async def test_how_many_are_under_way_does_not_change_where_it_stops(judge_that, workers):
    def mostly(prompt):
        said = honest(prompt)
        return said if int(prompt.split("Add ")[1].split()[0]) % 4 else "AB"[said == "A"]

    judge, _ = judge_that(mostly)
    result = await gate([judge], make_pairs(400), workers=workers)
    fixed = await gate([judge], make_pairs(400), sequential=False, workers=workers)
    again = decide(fixed.pairs, fixed.outcomes, sequential=True)
    assert (again.pairs, again.rate) == (result.pairs, result.rate)
    assert [p.item.id for p in result.pairs] == [p.item.id for p in by_id(fixed.pairs)][
        : len(result.pairs)
    ]
    assert result.decision == fixed.decision == "promote"
    assert len(result.pairs) < 100


@pytest.mark.anyio
async def test_a_budget_that_ends_what_is_no_longer_needed_ends_nothing(judge_that):
    judge, _ = judge_that(honest, budget=Budget(calls=19), concurrency=1)
    assert (await gate([judge], make_pairs(500), workers=2)).decision == "promote"
    judge, _ = judge_that(lambda p: honest(p) + " ", budget=Budget(calls=9), concurrency=1)
    with pytest.raises(BudgetReached):
        await gate([judge], [*make_pairs(600)[500:]], workers=2)


def test_equals_are_given_up_on_before_the_end():
    rng = random.Random(3)
    result = decided("".join(rng.choice("AB") for _ in range(500)))
    assert (result.decision, result.sequential.stopped) == ("inconclusive", "futility")
    assert len(result.pairs) < 400
    assert "would hardly change that" in result.because


def test_a_worse_candidate_is_kept_out():
    result = decided("B" * 60)
    assert (result.decision, len(result.pairs)) == ("keep", 9)
    assert result.because.endswith("so baseline stays. The other 51 pairs were not needed.")


def test_at_the_end_a_last_look_decides_what_the_bets_do_not():
    text = "A" * 12 + "BBtt"
    result = decided("".join(random.Random(1).sample(text, len(text))))
    assert (result.decision, result.sequential.stopped) == ("promote", "end")
    assert result.rate.low > 0.5


def test_few_decided_pairs_decide_nothing_at_the_end():
    result = decided("A" * 5 + "t" * 10)
    assert (result.decision, result.too_few) == ("inconclusive", True)
    assert "only 5 pairs were decided" in result.because


def test_pairs_without_a_verdict_are_no_evidence_and_delay_it():
    assert len(decided("?" + "A" * 99).pairs) == 20  # 19 of 20 is the coverage that is needed
    assert decided("?" * 20 + "A" * 80).decision == "inconclusive"
    assert not decided("?" * 20 + "A" * 80).covered


def test_no_verdict_at_all_is_inconclusive():
    result = decided("????")
    assert (result.decision, result.rate, result.sequential) == ("inconclusive", None, None)
    assert result.to_dict()["sequential"] is None


def test_what_is_suspicious_is_not_decided_upon():
    assert decided("A" * 60, blocked=["constant"]).decision == "inconclusive"


@pytest.mark.parametrize("threshold", [0, 1])
def test_a_threshold_at_an_end_is_refused_before_any_call(threshold):
    with pytest.raises(ConfigError, match=r"a fixed one \(--fixed\) may have it"):
        decided("AAA", threshold=threshold)


@given(st.text("ABti?", min_size=1, max_size=60), st.sampled_from(["choice", "probability"]))
def test_decision_bounds_and_sentence_agree(text, score):
    result = decided(text, score=score)
    if result.rate is None or not result.covered:
        assert result.decision == "inconclusive"
        return
    above, below = result.rate.low > 0.5, result.rate.high < 0.5
    if result.decision == "promote":
        assert above
        assert "all of it above" in result.because
    elif result.decision == "keep":
        assert below
        assert "all of it below" in result.because
    else:
        assert result.too_few or not (above or below)
    assert result.rate is (result.half_ties if score == "choice" else result.expected)
    for rate in (result.decisive, result.expected, *result.categories.values()):
        assert rate is None or rate.low <= rate.estimate <= rate.high


def test_categories_are_tested_together():
    letters = "A" * 30 + "AB" * 15
    pairs = [
        *make_pairs(30, category="sums"),
        *make_pairs(60, category="rest")[30:],
    ]
    result = decide(pairs, outcomes(letters))
    alone = decide(pairs[:30], outcomes(letters[:30]))
    assert result.category_p["sums"] == pytest.approx(2 * alone.category_p["sums"])
    assert result.category_p["sums"] < 0.01
    assert result.category_p["rest"] == 1.0
    assert result.to_dict()["categories"]["sums"]["p_adjusted"] == result.category_p["sums"]


def sized(lengths):
    """Pairs in the order in which they are asked, with texts as long as that."""
    return [
        replace(pair, a=replace(pair.a, text="a" * a), b=replace(pair.b, text="b" * b))
        for pair, (a, b) in zip(by_id(make_pairs(len(lengths))), lengths, strict=True)
    ]


def test_the_rate_at_equal_lengths_stands_beside_the_raw_one():
    """The candidate wins where it is longer, which it mostly is."""
    longer, shorter = (300, 200), (200, 300)
    lengths = [longer, longer, shorter, (250, 255), (250, 240)] * 12
    letters = "AAABBABABAABBAB" * 4
    alone = decide(sized(lengths), outcomes(letters))
    found = alone.length_controlled
    y = [v.a_score for v in alone.verdicts]
    assert found == length_controlled(y, *zip(*lengths, strict=True))
    assert found.estimate != alone.rate.estimate
    assert found.low < found.estimate < found.high
    assert alone.to_dict()["win_rate_length_controlled"]["estimate"] == found.estimate
    watched = decide(sized(lengths), outcomes(letters), sequential=True).length_controlled
    assert watched.high - watched.low > found.high - found.low  # for it holds at all looks


def test_where_there_is_no_rate_at_equal_lengths_it_is_said_why():
    one = decide(sized([(300, 200), (200, 300)] * 20), outcomes("AB" * 20))
    assert "tells wins from losses" in one.length_controlled
    assert "none" in one.to_dict()["win_rate_length_controlled"]
    assert decide(sized([(9, 9)] * 3), outcomes("???")).length_controlled == "no item was judged"


def test_every_verdict_that_decides_is_one_of_the_prefix():
    result = decided("A" * 100)
    assert all(isinstance(o, Verdict) for o in result.outcomes)
    assert [o.item_id for o in result.outcomes] == [str(n) for n in range(9)]
