"""Rates, coverage, juries and pairs of looks: what a count may be made to say."""

import pytest
from conftest import make_pairs

from cases.loading import cases
from twopan.jury import judge_pair, majority
from twopan.pipelines.gate import decide
from twopan.stats.resampling import mean
from twopan.stats.win_rate import NoData, sign_test, win_rate
from twopan.verdict import Choice, Comparison, Preference, Unjudged, Verdict

LOOKS = {"A": "aa", "B": "bb", "tie": "tt", "inconsistent": "ab"}
SIDES = {"a": Choice.A, "b": Choice.B, "t": Choice.TIE}


def comparison(looks, judge="j|p|r|s|o|v"):
    first, second = (Preference(choice=SIDES[look], reasoning="") for look in looks)
    return Comparison(judge=judge, a_first=first, b_first=second)


def outcome(number, name):
    if name == "error":
        return Unjudged(item_id=str(number), reason="unreachable")
    vote = comparison(LOOKS[name])
    return Verdict(item_id=str(number), votes=(vote,), choice=vote.choice)


def decided(names, **rules):
    pairs = make_pairs(len(names))
    return decide(pairs, [outcome(n, name) for n, name in enumerate(names)], **rules)


@pytest.mark.parametrize("case", cases("STAT-001", "STAT-003", "STAT-008"))
def test_the_interval_of_a_proportion(case):
    given, expected = case["input"]["args"], case["expected"]
    y = [1] * given["successes"] + [0] * (given["trials"] - given["successes"])
    if not y:
        for estimate in (win_rate, mean):
            with pytest.raises(NoData):
                estimate(y)
        return
    for found in (win_rate(y, level=given["level"]), mean(y, level=given["level"])):
        assert (found.low, found.high) == pytest.approx(expected["ci"], abs=expected["tolerance"])
        assert 0 <= found.low < found.high <= 1


@pytest.mark.parametrize("case", cases("STAT-005"))
def test_three_wins_in_four_promote_nobody(case):
    given, expected = case["input"]["args"], case["expected"]
    names = ["A"] * given["wins_a"] + ["B"] * given["wins_b"] + ["tie"] * given["ties"]
    rule = given["rule"]
    for sequential in (False, True):
        found = decided(
            names, threshold=rule["min_win_rate"], level=rule["level"], sequential=sequential
        )
        assert found.decision == expected["decision"]
    fixed = decided(names, threshold=rule["min_win_rate"], level=rule["level"])
    ends = (fixed.decisive.low, fixed.decisive.high)
    assert ends == pytest.approx(expected["ci"], abs=expected["tolerance"])
    assert fixed.p_value == expected["p_value_two_sided"]
    assert sign_test(given["wins_a"], given["wins_b"]) == fixed.p_value


@pytest.mark.parametrize("case", cases("STAT-006", "STAT-041"))
def test_what_was_compared_is_all_there_and_failures_stand_beside_it(case):
    expected = case["expected"]
    found = decided(case["input"]["args"]["outcomes"])
    told = found.to_dict()
    assert told["judged"] == expected["compared"]
    assert found.decisive.estimate == pytest.approx(expected["win_rate_decisive"])
    if "consistent" in expected:
        assert told["judged"] - told["inconsistent"] == expected["consistent"]
        assert told["inconsistent"] == expected["inconsistent"]
        assert told["consistency"] == pytest.approx(expected["consistency_rate"])
        assert found.half_ties.estimate == pytest.approx(expected["win_rate_half_ties"])
    if "errors" in expected:
        assert sum(told["unjudged"].values()) == expected["errors"]
        assert told["coverage"] == pytest.approx(expected["coverage"], abs=1e-6)
        assert (found.decision, found.covered) == ("inconclusive", False)
        assert found.half_ties.estimate == 1, "a failure is no tie"


@pytest.mark.parametrize("case", cases("STAT-011"))
def test_a_good_rate_on_half_of_the_pairs_passes_nothing(case):
    given = case["input"]["args"]
    judged = round(100 * given["coverage"])
    rule = given["rule"]["min_coverage"]
    names = ["A"] * judged + ["error"] * (100 - judged)
    for sequential in (False, True):
        found = decided(names, min_coverage=rule, sequential=sequential)
        assert (found.decision, found.covered) == ("inconclusive", False)
        assert "were judged" in found.because


@pytest.mark.parametrize("case", cases("STAT-013"))
def test_what_is_on_a_limit_but_for_the_last_digit_is_within_it(case):
    given = case["input"]["args"]
    value, limit = given["value"], given["rule"]["max_mean"]
    # The share of pairs that must be judged is such a limit: exactly so many were.
    names = ["A"] * 3 + ["error"] * 7
    assert value > limit
    assert decided(names, min_coverage=value).covered
    assert decided(names, min_coverage=limit).covered
    assert not decided(["A"] * 2 + ["error"] * 8, min_coverage=limit).covered


@pytest.mark.parametrize("case", cases("STAT-036"))
def test_the_orders_of_a_pair_are_one_observation(case):
    given, expected = case["input"]["args"]["items"], case["expected"]
    found = win_rate([sum(looks) / len(looks) for looks in given])
    assert found.m == expected["n_items"]
    assert found.standard_error == pytest.approx(expected["se_clustered"], abs=1e-6)
    flat = [look for looks in given for look in looks]
    items = [n for n, looks in enumerate(given) for _ in looks]
    assert mean(flat, cluster=items).standard_error == pytest.approx(
        expected["se_clustered"], abs=1e-6
    )
    assert mean(flat).standard_error == pytest.approx(expected["se_naive"], abs=1e-6)


@pytest.mark.parametrize("case", cases("STAT-038"))
def test_an_even_jury_decides_for_nobody(case):
    votes = case["input"]["args"]["votes"]
    for order in (votes, votes[::-1], sorted(votes)):
        jury = [comparison(LOOKS[vote], judge=f"j{n}|p") for n, vote in enumerate(order)]
        assert majority(jury) == Choice.TIE
    assert case["expected"]["decision"] == "tie"


@pytest.mark.anyio
@pytest.mark.parametrize("case", cases("STAT-040"))
async def test_half_a_comparison_is_none(case, judge_that):
    """One order is answered, the other is not readable."""
    given = case["input"]["args"]
    assert (given["first"], given["second"]) == ("A", None)
    judge, _ = judge_that(lambda p: "A" if p.index("GOOD") < p.index("POOR") else "I cannot say.")
    (pair,) = make_pairs(1)
    found = await judge_pair([judge], pair)
    assert isinstance(found, Unjudged)
    result = decide([pair], [found])
    assert (result.wins, result.ties, result.losses) == (0, 0, 0)
    assert sum(result.unjudged.values()) == 1
