"""Looks that others recorded come together by the rules that our own verdicts obey."""

import json

import pytest

from twopan.errors import DataError
from twopan.jury import Outcome
from twopan.looks import ASSUMED, Look, assemble, read_looks
from twopan.verdict import Choice, Unjudged, Verdict

A, B, TIE = Choice.A, Choice.B, Choice.TIE


def look(order, choice, item="1", **fields):
    names = {"judge": "gpt", "protocol": "pairwise"} | fields
    return Look(item=item, order=order, choice=choice, **names)


def outcome_of(*looks, **options) -> Outcome:
    return assemble(looks, **options)["gpt", "pairwise"]["1"]


@pytest.fixture
def save(tmp_path):
    def write(rows, name="looks.jsonl"):
        path = tmp_path / name
        if name.endswith(".csv"):
            path.write_text("\n".join(rows), encoding="utf-8")
        else:
            path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return path

    return write


def row(**fields):
    return {"item": "1", "judge": "gpt", "protocol": "p", "order": "a", "choice": "a"} | fields


@pytest.mark.parametrize(
    ("a_first", "b_first", "choice", "consistent", "a_score"),
    [
        (A, A, A, True, 1.0),
        (B, B, B, True, 0.0),
        (TIE, TIE, TIE, True, 0.5),
        (A, B, TIE, False, 0.5),
        (A, TIE, TIE, False, 0.75),
    ],
)
def test_two_looks_are_a_comparison(a_first, b_first, choice, consistent, a_score):
    found = outcome_of(look(B, b_first), look(A, a_first))  # in whatever order they come
    assert isinstance(found, Verdict)
    assert (found.choice, found.consistent, found.a_score) == (choice, consistent, a_score)
    (vote,) = found.votes
    assert (vote.a_first.choice, vote.b_first.choice) == (a_first, b_first)
    assert vote.judge == "gpt|pairwise"


@pytest.mark.parametrize(
    ("looks", "reason", "detail"),
    [
        ([look(A, A)], "not_recorded", "the look with b shown first is not recorded"),
        ([look(B, A)], "not_recorded", "the look with a shown first is not recorded"),
        ([look(A, A), look(B, None)], "unparsed", "the look with b shown first gave no verdict"),
        ([look(B, None), look(A, None, unjudged="refused")], "refused", "with a shown first"),
    ],
)
def test_half_a_comparison_is_none_and_says_which_half_is_missing(looks, reason, detail):
    found = outcome_of(*looks)
    assert isinstance(found, Unjudged)
    assert found.reason == reason
    assert detail in found.detail


def test_a_lone_look_counts_as_consistent_only_where_that_is_asked_for_and_is_marked():
    found = outcome_of(look(B, B, p_a=0.2), look(A, None), lone="consistent")
    assert (found.choice, found.consistent, found.a_score) == (B, True, 0.2)
    (vote,) = found.votes
    assert ASSUMED in vote.a_first.flags
    assert ASSUMED not in vote.b_first.flags


def test_nothing_is_made_of_two_looks_without_a_verdict():
    assert isinstance(outcome_of(look(A, None), look(B, None), lone="consistent"), Unjudged)


def test_judges_and_protocols_are_kept_apart():
    looks = [
        look(order, A, item=item, judge=judge, protocol=protocol)
        for judge, protocol in (("x", "p"), ("y", "p"), ("x", "q"))
        for item in ("1", "2")
        for order in (A, B)
    ]
    found = assemble(looks)
    assert list(found) == [("x", "p"), ("y", "p"), ("x", "q")]
    assert all(list(outcomes) == ["1", "2"] for outcomes in found.values())


def test_the_same_look_twice_is_refused_for_the_better_one_might_be_picked():
    with pytest.raises(DataError, match="item: '1' has two looks of gpt, pairwise, with a shown"):
        assemble([look(A, A), look(A, B), look(B, A)])


def test_rows_in_the_frame_of_the_positions_are_turned_into_that_of_the_item(save):
    rows = [row(choice="a", p_a=0.9), row(order="b", choice="a", p_a=0.9)]
    first, second = read_looks(save(rows), frame="position")
    assert (first.choice, first.p_a, first.position) == (A, 0.9, A)
    assert (second.choice, second.position) == (B, A)
    assert second.p_a == pytest.approx(0.1)
    same = read_looks(save(rows))
    assert [look.choice for look in same] == [A, A]
    assert [look.position for look in same] == [A, B]


def test_no_choice_is_no_tie_in_any_spelling(save):
    rows = [row(choice=None), row(choice="", order="b", unjudged="refused"), row(choice="tie")]
    looks = read_looks(save(rows))
    assert [(look.choice, look.unjudged) for look in looks[:2]] == [
        (None, "unparsed"),
        (None, "refused"),
    ]
    assert looks[2].choice == TIE
    assert looks[0].position is None


def test_tables_of_text_are_read_as_well(save):
    path = save(
        ["item,judge,protocol,order,choice,p_a", "7,gpt,p,A,model_b,0.25", "7,gpt,p,2,,"],
        "looks.csv",
    )
    first, second = read_looks(path)
    assert (first.item, first.order, first.choice, first.p_a) == ("7", A, B, 0.25)
    assert (second.order, second.choice, second.p_a) == (B, None, None)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"item": None}, "item: is missing"),
        ({"protocol": ""}, "protocol: is missing"),
        ({"order": "tie"}, "order: is the response shown first, a or b"),
        ({"order": None}, "order: None is none of a, b"),
        ({"choice": "C"}, "choice: 'C' is none of a, b, tie"),
        ({"choice": -1}, "choice: -1 is none of a, b, tie"),
        ({"p_a": 1.5}, "p_a: 1.5 is no probability from 0 to 1"),
        ({"p_a": "high"}, "p_a: 'high' is no probability"),
        ({"unjudged": "refused"}, "unjudged: is given, and a choice too"),
    ],
)
def test_what_is_wrong_is_said_with_line_and_field(save, fields, message):
    with pytest.raises(DataError) as error:
        read_looks(save([row(), row(**fields)]))
    (line,) = str(error.value).splitlines()
    assert "looks.jsonl: line 2: " in line
    assert message in line
