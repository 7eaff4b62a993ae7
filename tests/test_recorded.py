"""Verdicts from files that stand in for judges."""

import json
from dataclasses import replace

import pytest
from conftest import make_pairs

from twopan.errors import ConfigError, DataError
from twopan.lines import to_line
from twopan.pipelines.recorded import read_trials, select
from twopan.pipelines.trials import called
from twopan.verdict import Choice, Comparison, Preference, Unjudged, Verdict

PAIRS = make_pairs(3)
SIGNATURE = "gpt@https://x|pairwise@11|helpfulness@22|temperature=0|both orders|twopan 1"
OTHER = SIGNATURE.replace("helpfulness@22", "correctness@33")


@pytest.fixture
def save(tmp_path):
    def write(rows, name="verdicts.jsonl"):
        path = tmp_path / name
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return path

    return write


def lines(pairs, signature, choice=Choice.A):
    look = Preference(choice=choice, reasoning="")
    vote = Comparison(judge=signature, a_first=look, b_first=look)
    for pair in pairs:
        verdict = Verdict(item_id=pair.item.id, votes=(vote,), choice=choice)
        yield to_line(pair, verdict, signature)


def look(item, order, choice, judge="GPT", protocol="pairwise"):
    return {"item": item, "judge": judge, "protocol": protocol, "order": order, "choice": choice}


def test_one_file_of_verdict_lines_may_hold_several_judges(save):
    path = save([*lines(PAIRS, SIGNATURE), *lines(PAIRS[:1], OTHER, Choice.B)])
    one, other = read_trials(path, PAIRS)
    assert [t.judge for t in (one, other)] == ["gpt", "gpt"]
    assert one.protocol != other.protocol, "two judges may not have one name"
    assert "correctness" in other.protocol
    assert [o.choice for o in one.outcomes] == [Choice.A] * 3
    assert isinstance(other.outcomes[1], Unjudged)
    assert other.outcomes[1].reason == "not_recorded"


def test_a_judge_with_one_name_keeps_it_short():
    assert called([SIGNATURE]) == {SIGNATURE: ("gpt", "pairwise")}
    assert called([f"{SIGNATURE} + {OTHER}"]) == {
        f"{SIGNATURE} + {OTHER}": ("gpt + gpt", "pairwise")
    }


def test_looks_come_together_by_judge_and_protocol(save):
    asked = [look("0", "a", "a"), look("0", "b", "a")]
    path = save([*asked, *(look("1", o, c, protocol="cot") for o, c in (("a", "b"), ("b", None)))])
    one, other = read_trials(path, PAIRS)
    assert (one.name, one.outcomes[0].choice) == ("GPT · pairwise", Choice.A)
    assert (other.name, other.outcomes[1].reason) == ("GPT · cot", "unparsed")
    assert other.outcomes[0].reason == "not_recorded"


def test_where_an_item_has_several_systems_a_look_must_say_which(save):
    pairs = [*make_pairs(1), *make_pairs(1)]
    pairs[1] = replace(pairs[1], b=replace(pairs[1].b, system="third"))
    path = save([look("0", "a", "a"), look("0", "b", "a")])
    with pytest.raises(DataError, match="none of its verdicts is on any of these pairs"):
        read_trials(path, pairs)
    path = save([look("0/candidate/third", o, "a") for o in "ab"])
    (found,) = read_trials(path, pairs)
    assert [isinstance(o, Verdict) for o in found.outcomes] == [False, True]


def test_steps_on_the_way_to_a_verdict_are_none_and_an_unrated_pair_has_none(save):
    def log(idx, swap, winner, **more):
        names = {"subset": "S", "judge": "GPT-4", "strategy": "Rating"}
        return {**names, "idx": idx, "swap": swap, "winner": winner, **more}

    pairs = [replace(p, item=replace(p.item, id=f"S/{p.item.id}")) for p in make_pairs(2)]
    path = save(
        [
            log(0, False, "2", final=False),
            *(log(0, swap, "1", final=True) for swap in (False, True)),
            log(1, False, "1", score_1="", score_2="4"),
            log(1, True, "2"),
        ]
    )
    (found,) = read_trials(path, pairs)
    assert found.outcomes[0].choice == Choice.A
    assert found.outcomes[1].reason == "unparsed"
    with pytest.raises(DataError, match=r"line 1.*winner: '3' is none of 1, 2"):
        read_trials(save([log(0, False, "3")]), pairs)
    with pytest.raises(DataError, match="swap: 'no' is neither true nor false"):
        read_trials(save([log(0, "no", "1")]), pairs)


def test_a_file_of_something_else_is_refused_with_what_it_has(save):
    with pytest.raises(DataError, match=r"has no recorded verdicts.*here are id, text"):
        read_trials(save([{"id": 1, "text": "x"}]), PAIRS)
    with pytest.raises(DataError, match="0 rows"):
        read_trials(save([]), PAIRS)


def test_trials_are_chosen_by_name_or_pattern_and_a_wrong_name_is_said(save):
    rows = [
        look("0", o, "a", judge=j, protocol=p) for o in "ab" for j in "XY" for p in ("cot", "cold")
    ]
    trials = read_trials(save(rows), PAIRS)
    assert {t.name for t in select(trials, ["X"], ["co*"])} == {"X · cot", "X · cold"}
    assert select(trials, [], []) == trials
    with pytest.raises(ConfigError, match=r"--protocol cott: not among the recorded.*cot"):
        select(trials, [], ["cott"])


def test_one_model_at_two_addresses_is_two_judges():
    here, there = SIGNATURE, SIGNATURE.replace("https://x", "https://y")
    names = called([here, there])
    assert names[here] == ("gpt@https://x", "pairwise")
    assert names[there] == ("gpt@https://y", "pairwise")


def test_a_look_that_failed_says_more_than_one_that_nobody_made(save):
    for order in "ab":
        rows = [look("0", order, None), look("1", "a", "a"), look("1", "b", "a")]
        (found,) = read_trials(save(rows), PAIRS)
        assert found.outcomes[0].reason == "unparsed"


def test_a_judge_and_a_protocol_that_do_not_meet_are_said(save):
    rows = [look("0", o, "a", *of) for o in "ab" for of in (("X", "cot"), ("Y", "cold"))]
    with pytest.raises(ConfigError, match="none of the recorded judges has that protocol"):
        select(read_trials(save(rows), PAIRS), ["X"], ["cold"])


def test_a_verdict_line_that_says_two_things_is_refused(save):
    (line,) = lines(PAIRS[:1], SIGNATURE)
    with pytest.raises(DataError, match="a choice, and a reason why there is none"):
        read_trials(save([line | {"unjudged": "refused"}]), PAIRS)


@pytest.mark.parametrize("missing", ["idx", "swap"])
def test_a_log_that_lacks_a_field_further_down_is_said_with_its_line(save, missing):
    row = {"subset": "S", "idx": 0, "judge": "j", "strategy": "s", "swap": False, "winner": "1"}
    lacking = {key: value for key, value in row.items() if key != missing}
    with pytest.raises(DataError, match="line 2"):
        read_trials(save([row, lacking]), PAIRS)


def test_a_number_beyond_all_bounds_is_no_probability(save):
    with pytest.raises(DataError, match="no probability"):
        read_trials(save([look("0", "a", "a") | {"p_a": 10**400}]), PAIRS)
