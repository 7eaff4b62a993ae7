"""What several systems answered to the same items."""

import json

import pytest

from twopan.entries import read_entries
from twopan.errors import DataError


@pytest.fixture
def save(tmp_path):
    def write(name, rows):
        path = tmp_path / name
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return path

    return write


def answers(*items, **more):
    return [{"id": i, "instruction": f"ask {i}", "response": f"reply {i}", **more} for i in items]


def test_each_file_is_a_system_and_items_are_joined(save):
    files = [
        save("x.jsonl", answers(1, 2)),
        save("y.jsonl", answers(2, 1)),
        save("z.jsonl", answers(2)),
    ]
    found = read_entries(files)
    assert found.systems == ("x", "y", "z")
    assert [item.id for item in found.items] == ["1", "2"]
    assert found.holes == {"z": 1}
    pair = found.pair(0, 2, 1)
    assert (pair.item.id, pair.a.system, pair.b.system) == ("2", "x", "z")
    with pytest.raises(KeyError):
        found.pair(0, 2, 0)


def test_one_file_may_hold_several_systems(save):
    rows = [*answers(1, 2, model="m1"), *answers(1, 2, model="m2"), *answers(2, model="m3")]
    found = read_entries([save("all.jsonl", rows)])
    assert found.systems == ("m1", "m2", "m3")
    assert len(found.texts) == 5


def test_system_prompts_are_no_names_of_systems(save):
    long = [{**row, "system": f"You are {n}.\nBe brief."} for n, row in enumerate(answers(1, 2))]
    found = read_entries([save("x.jsonl", long), save("y.jsonl", answers(1, 2))])
    assert found.systems == ("x", "y")


def test_two_files_of_one_system_are_told_apart_by_their_files(save):
    files = [save(name, answers(1, model="gpt")) for name in ("old.jsonl", "new.jsonl")]
    assert read_entries(files).systems == ("gpt (old.jsonl)", "gpt (new.jsonl)")


def test_without_ids_items_are_joined_on_the_instruction(save):
    bare = [{"instruction": "Same?", "response": "yes"}]
    found = read_entries([save("x.jsonl", bare), save("y.jsonl", [{**bare[0], "id": "7"}])])
    assert (found.joined_on, len(found.items)) == ("instruction", 1)


def test_an_item_that_one_system_answered_is_left_out_and_said(save):
    found = read_entries([save("x.jsonl", answers(1, 2)), save("y.jsonl", answers(1))])
    assert (len(found.items), found.alone) == (1, 1)
    assert "1 items that only one system answered were left out" in found.notes()


def test_taking_some_items_keeps_their_answers(save):
    found = read_entries([save("x.jsonl", answers(1, 2, 3)), save("y.jsonl", answers(1, 2, 3))])
    some = found.taking([2, 0])
    assert [some.pair(0, 1, n).a.text for n in (0, 1)] == ["reply 3", "reply 1"]
    assert some.left == 1


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([answers(1)], "needs two systems or more"),
        ([answers(1), answers(2)], "no item was answered by two"),
        ([answers(1), [{**answers(1)[0], "instruction": "another"}]], "another instruction"),
        ([[*answers(1, model="m"), *answers(1, model="m")], answers(1)], "was already at"),
    ],
)
def test_what_cannot_be_ranked_is_said_before_anything_is_judged(save, rows, says):
    files = [save(f"f{n}.jsonl", one) for n, one in enumerate(rows)]
    with pytest.raises(DataError, match=says):
        read_entries(files)
