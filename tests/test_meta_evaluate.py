"""Judges held against people, counted by hand."""

import json
from dataclasses import replace

import pytest
from conftest import make_pairs
from hypothesis import given
from hypothesis import strategies as st

from twopan.errors import ConfigError
from twopan.pipelines.cells import cell
from twopan.pipelines.meta_evaluate import ALL, juries, meta_evaluate
from twopan.pipelines.trials import Trial
from twopan.pipelines.trivial import TRIVIAL
from twopan.stats.win_rate import NoData
from twopan.verdict import Choice, Comparison, Preference, Unjudged, Verdict

A, B, TIE = Choice.A, Choice.B, Choice.TIE


def labelled(labels, **fields):
    """Pairs with what people said of them: "ab-", - for a tie, ? for nothing."""
    sides = {"a": A, "b": B, "-": TIE, "?": None}
    pairs = make_pairs(len(labels), **fields)
    return [replace(p, label=sides[x]) for p, x in zip(pairs, labels, strict=True)]


def outcome(word, judge="j", p_a=(None, None)):
    """Both looks: "ab" chose what stood first, "tt" a tie twice; "x" no verdict, "" not asked."""
    if len(word) < 2:
        return Unjudged(item_id="", reason="unparsed" if word else "not_recorded")
    sides = {"a": A, "b": B, "t": TIE}
    a_first, b_first = (
        Preference(choice=sides[x], reasoning="", p_a=p) for x, p in zip(word, p_a, strict=True)
    )
    vote = Comparison(judge=judge, a_first=a_first, b_first=b_first)
    return Verdict(item_id="", votes=(vote,), choice=vote.choice)


def trial(words, judge="j", protocol="p"):
    return Trial(
        judge=judge,
        protocol=protocol,
        outcomes=tuple(outcome("" if w == "_" else w, judge) for w in words.split()),
    )


def test_every_share_of_a_judge_counted_by_hand():
    # right twice; wrong twice; first position twice; a tie; no verdict; people tied
    found = cell(labelled("abaaa-"), [outcome(w) for w in ("aa", "aa", "ab", "tt", "x", "aa")])
    assert (found.pairs, found.tied, dict(found.unjudged)) == (5, 1, {"unparsed": 1})
    assert found.accuracy.estimate == pytest.approx((1 + 0 + 0.5 + 0.5 + 0) / 5)
    assert found.as_given.estimate == pytest.approx((1 + 0 + 1 + 0.5 + 0) / 5)
    assert found.swapped.estimate == pytest.approx((1 + 0 + 0 + 0.5 + 0) / 5)
    assert found.averaged.estimate == pytest.approx(
        (found.as_given.estimate + found.swapped.estimate) / 2
    )
    assert found.both.estimate == pytest.approx(1 / 5)
    assert found.ties.estimate == pytest.approx(2 / 5)
    assert found.consistent.estimate == pytest.approx(3 / 5)
    # Of six looks that chose a side: aa and aa once each the first, ab twice.
    assert found.first_position.estimate == pytest.approx(4 / 6)
    assert {name: (e.estimate, e.m) for name, e in found.policies.items()} == {
        "half": (pytest.approx(2 / 5), 5),
        "wrong": (pytest.approx(1 / 5), 5),
        "decided": (pytest.approx(1 / 2), 2),
        "three-way": (pytest.approx(1 / 6), 6),
    }


def test_a_pair_without_a_verdict_counts_nothing_and_stays_in_the_denominator():
    some = cell(labelled("aaaa"), [outcome(w) for w in ("aa", "aa", "aa", "x")])
    assert (some.accuracy.estimate, some.accuracy.m) == (0.75, 4)
    assert (some.both.estimate, some.consistent.estimate, some.ties.estimate) == (0.75, 0.75, 0)
    none = cell(labelled("ab"), [outcome("x"), outcome("x")])
    assert (none.accuracy.estimate, none.first_position, none.kappa, none.ac1) == (0, None) + (
        None,
    ) * 2


def test_kappa_is_of_judged_pairs_with_ties_and_none_where_it_does_not_exist():
    found = cell(labelled("ab-"), [outcome(w) for w in ("aa", "bb", "tt")])
    assert found.kappa.coefficient.estimate == 1
    constant = cell(labelled("aaa"), [outcome("aa")] * 3)
    assert constant.kappa is None


def test_votes_on_one_item_are_one_cluster():
    votes = [replace(p, item=make_pairs(1)[0].item) for p in labelled("aab")]
    found = cell(votes, [outcome("aa")] * 3)
    assert (found.pairs, found.accuracy.m) == (3, 1)


def test_where_people_decided_nothing_there_is_nothing_to_be_right_about():
    with pytest.raises(NoData):
        cell(labelled("--"), [outcome("aa")] * 2)


def close(one, other):
    """The same estimate and interval, in whatever order they were added up."""
    if one is None or other is None:
        return one is other
    return (one.estimate, one.low, one.high) == pytest.approx(
        (other.estimate, other.low, other.high)
    )


sides = st.sampled_from(["aa", "bb", "ab", "ba", "tt", "at", "x"])


@given(st.lists(st.tuples(st.sampled_from("ab-"), sides), min_size=1, max_size=30))
def test_calling_the_responses_by_each_others_names_changes_no_share(rows):
    if not any(label in "ab" for label, _ in rows):
        return
    turned = str.maketrans("ab", "ba")
    labels, words = zip(*rows, strict=True)
    found = cell(labelled(labels), [outcome(w) for w in words])
    swapped = cell(
        labelled([x.translate(turned) for x in labels]),
        [outcome(w.translate(turned)[::-1]) for w in words],
    )
    for name in ("accuracy", "averaged", "both", "ties", "consistent", "first_position"):
        assert close(getattr(found, name), getattr(swapped, name)), name
    assert close(found.as_given, swapped.swapped)
    assert 0 <= found.both.estimate <= found.averaged.estimate <= 1


def test_trivial_judges_stand_beside_every_other_and_do_what_they_are_called():
    pairs = labelled("ab")
    result = meta_evaluate(pairs, [trial("aa bb")])
    assert [t.name for t in result.trials] == ["j · p", *TRIVIAL]
    found = {
        t.name: cells["all pairs"] for t, cells in zip(result.trials, result.cells, strict=True)
    }
    assert found["first"].first_position.estimate == 1
    assert (found["first"].both.estimate, found["first"].accuracy.estimate) == (0, 0.5)
    assert found["constant tie"].ties.estimate == 1
    longer = replace(pairs[0], a=replace(pairs[0].a, text="a much longer text"))
    assert TRIVIAL["longest"](longer).choice == A
    assert TRIVIAL["shortest"](longer).choice == B
    assert TRIVIAL["longest"](replace(longer, b=longer.a)).choice == TIE
    plain = replace(longer, b=replace(longer.b, text="1. **One**\n- `two`"))
    assert TRIVIAL["most markdown"](plain).choice == B


def test_categories_add_up_by_their_paths_and_none_is_said_twice():
    names = ["X/Natural", "X/Bad/One", "X/Bad/Two", "X/Bad/Two"]
    pairs = [
        replace(p, item=replace(p.item, category=name))
        for p, name in zip(labelled("aaaa"), names, strict=True)
    ]
    result = meta_evaluate(pairs, [trial("aa aa bb bb")])
    assert dict(result.categories) == {
        "all pairs": (0, 1, 2, 3),
        "X/Natural": (0,),
        "X/Bad": (1, 2, 3),
        "X/Bad/One": (1,),
        "X/Bad/Two": (2, 3),
    }
    accuracy = {name: of.accuracy.estimate for name, of in result.cells[0].items()}
    assert accuracy == pytest.approx(
        {"all pairs": 0.5, "X/Natural": 1, "X/Bad": 1 / 3, "X/Bad/One": 1, "X/Bad/Two": 0}
    )


def test_what_a_judge_was_never_asked_is_counted_and_not_held_against_it():
    pairs = [
        replace(p, item=replace(p.item, category=name))
        for p, name in zip(labelled("aa"), "XY", strict=True)
    ]
    result = meta_evaluate(pairs, [trial("aa _")], trivial=False)
    assert "Y" not in result.cells[0]
    assert result.cells[0]["X"].accuracy.estimate == 1
    found = result.cells[0]["all pairs"]
    assert (found.accuracy.estimate, found.pairs) == (1, 1)
    assert dict(found.unjudged) == {"not_recorded": 1}


def test_judges_are_compared_on_the_pairs_that_both_were_given():
    result = meta_evaluate(
        labelled("aaaaa"),
        [
            trial("aa aa aa x _"),
            trial("bb bb aa aa aa", protocol="q"),
            trial("aa aa aa aa aa", judge="other", protocol="r"),
        ],
    )
    (found,) = result.differences  # the third shares neither judge nor protocol
    assert (found.first, found.second, found.pairs) == (0, 1, 4)
    assert (found.paired.first_only, found.paired.second_only) == (2, 1)
    assert found.paired.difference.estimate == pytest.approx(0.25)
    assert found.paired.p_value == 1


def test_length_is_told_apart_from_being_right():
    pairs = labelled("aabb")
    pairs[0] = replace(pairs[0], a=replace(pairs[0].a, text="longer than B"))
    pairs[3] = replace(pairs[3], a=replace(pairs[3].a, text="longer than B"))
    result = meta_evaluate(pairs, [trial("aa aa aa aa")])
    # Of the two others both responses are equally long.
    assert {k: (e.estimate, e.m) for k, e in result.by_length[0].items()} == {
        "longer": (1, 1),
        "shorter": (0, 1),
    }
    longest = [t.name for t in result.trials].index("longest")
    assert {k: e.estimate for k, e in result.by_length[longest].items()} == {
        "longer": 1,
        "shorter": 0,
    }


def test_probabilities_are_held_against_labels_where_they_were_given():
    pairs = labelled("aabb-")
    told = [outcome("aa", p_a=(0.8, 0.6)), outcome("aa", p_a=(0.9, 0.9))]
    told += [outcome("bb", p_a=(0.1, 0.3)), outcome("aa"), outcome("tt", p_a=(0.5, 0.5))]
    result = meta_evaluate(pairs, [Trial(judge="j", protocol="p", outcomes=tuple(told))])
    found = result.calibrations[0]
    # The fourth told none, and the fifth has no right side; each is seen from both responses.
    assert sum(b.n for b in found.bins) == 2 * 3
    assert found.brier.estimate == pytest.approx((0.3**2 + 0.1**2 + 0.2**2) / 3)
    assert result.calibrations[1] is None


def test_the_confusion_keeps_the_silent_apart():
    result = meta_evaluate(labelled("ab-a"), [trial("aa aa aa x")], trivial=False)
    assert dict(result.confusion[0]) == {(A, A): 1, (B, A): 1, (TIE, A): 1, (A, None): 1}


def test_where_judges_and_people_part_most_comes_first():
    result = meta_evaluate(
        labelled("aaa"), [trial("aa ab bb"), trial("aa aa bb", protocol="q")], trivial=True
    )
    assert list(result.parted) == [2, 1]
    assert result.to_dict()["parted"] == ["2", "1"]


def test_pairs_that_nobody_labelled_are_left_out_and_counted():
    result = meta_evaluate(labelled("a?b"), [trial("aa aa bb")])
    assert (len(result.pairs), result.unlabelled, len(result.trials[0].outcomes)) == (2, 1, 2)
    assert result.cells[0]["all pairs"].accuracy.estimate == 1
    with pytest.raises(ConfigError, match="none of 2 pairs says which"):
        meta_evaluate(labelled("??"), [trial("aa aa")])
    with pytest.raises(ConfigError, match="called all 1 pairs a tie"):
        meta_evaluate(labelled("?-"), [trial("aa aa")])


def test_a_jury_decides_by_majority_and_a_missing_juror_leaves_it_incomplete():
    bench = [trial("aa aa bb", "x"), trial("aa bb x", "y"), trial("bb bb bb", "z")]
    (jury,) = juries([*bench, trial("aa aa aa", "x", "alone")])
    assert (jury.name, [getattr(o, "choice", o) for o in jury.outcomes][:2]) == (
        "x + y + z · p",
        [A, B],
    )
    assert isinstance(jury.outcomes[2], Unjudged)


def test_a_jury_is_seen_as_one_judge_in_either_order():
    bench = [trial("aa ab ab", "x"), trial("ab aa ba", "y"), trial("bb ab aa", "z")]
    (jury,) = juries(bench)
    found = cell(labelled("aaa"), jury.outcomes)
    # In order: a b, a b, a b of most; the verdicts are ties, for most votes are.
    assert found.as_given.estimate == 1
    assert found.swapped.estimate == pytest.approx(1 / 3)
    assert found.both.estimate == pytest.approx(1 / 3)
    assert found.consistent.estimate == pytest.approx(1 / 3)


def test_a_juror_that_failed_says_more_than_one_that_was_never_asked():
    for words in (("x", "_"), ("_", "x")):
        (jury,) = juries([trial(words[0], "x"), trial(words[1], "y")])
        assert jury.outcomes[0].reason == "unparsed"


def test_a_category_of_ones_own_never_stands_for_all_pairs():
    names = [ALL, "other", "other"]
    pairs = [
        replace(p, item=replace(p.item, category=name))
        for p, name in zip(labelled("aaa"), names, strict=True)
    ]
    result = meta_evaluate(pairs, [trial("aa bb bb")])
    assert len(result.categories[ALL]) == 3
    assert result.cells[0][ALL].accuracy.estimate == pytest.approx(1 / 3)
    assert "33.3% of 3 pairs" in result.because


def test_the_best_is_sought_among_judges_with_the_same_pairs():
    few = trial("aa _ _ _", "few")
    poor, good = trial("bb bb aa aa", "poor"), trial("aa aa aa bb", "good")
    result = meta_evaluate(labelled("aaaa"), [few, poor, good])
    assert [result.trials[n].judge for n in result.ranked] == ["good", "poor"]
    assert result.because.startswith("good · p agrees with people on 75.0% of 4 pairs")
    assert "1 more had fewer pairs" in result.because


def test_it_is_said_where_one_side_is_always_right_and_where_nobody_answered():
    assert "the same side in every pair" in meta_evaluate(labelled("aa"), [trial("aa bb")]).because
    assert "same side" not in meta_evaluate(labelled("ab"), [trial("aa bb")]).because
    silent = meta_evaluate(labelled("ab"), [trial("x x")])
    assert silent.because == "No judge gave a verdict on any of 2 pairs."


def test_ac1_does_not_jump_with_a_single_tie():
    without = cell(labelled("ab" * 20), [outcome("aa" if n % 4 < 2 else "bb") for n in range(40)])
    words = ["aa" if n % 4 < 2 else "bb" for n in range(39)] + ["tt"]
    with_one = cell(labelled("ab" * 20), [outcome(w) for w in words])
    first, second = (c.ac1.coefficient.estimate for c in (without, with_one))
    assert abs(first - second) < 0.05


def test_every_interval_takes_votes_on_an_item_for_one_cluster():
    items = make_pairs(4)
    votes = [replace(p, item=items[n // 5].item) for n, p in enumerate(labelled("ab" * 10))]
    told = tuple(outcome("aa", p_a=(0.8, 0.7)) for _ in votes)
    votes = [replace(p, a=replace(p.a, text="longer " * (1 + n % 2))) for n, p in enumerate(votes)]
    other = Trial(judge="j", protocol="q", outcomes=tuple(outcome("bb") for _ in votes))
    result = meta_evaluate(votes, [Trial(judge="j", protocol="p", outcomes=told), other])
    found = result.cells[0][ALL]
    for e in (found.accuracy, found.first_position, found.both, found.policies["three-way"]):
        assert e.m == 4
    assert found.ac1.coefficient.m == 4
    assert result.calibrations[0].brier.m == 4
    assert result.differences[0].paired.difference.m == 4
    assert {e.m for e in result.by_length[0].values()} == {4}


def test_all_of_it_is_plain_json():
    pairs = labelled("ab-", category="X")
    told = tuple(outcome("aa", p_a=(0.8, 0.6)) for _ in pairs)
    result = meta_evaluate(pairs, [Trial(judge="j", protocol="p", outcomes=told), trial("x x x")])
    known = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert known["trials"][0]["categories"]["all pairs"]["accuracy"]["m"] == 2
    assert known["trials"][0]["calibration"]["brier"]["estimate"] > 0
    assert known["policies"]["half"].startswith("a tie counts half")
