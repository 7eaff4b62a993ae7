"""From files to pairs: what is judged, what is left out by name, and what stops everything."""

import csv
import json
from pathlib import Path

import pytest
from cases.loading import SHARED
from hypothesis import given, settings
from hypothesis import strategies as st

from twopan.datasets import read_pairs, read_pairs_file, read_responses
from twopan.errors import DataError
from twopan.verdict import Choice


@pytest.fixture
def save(tmp_path):
    def save(name: str, rows: list) -> Path:
        path = tmp_path / name
        lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return path

    return save


def row(id=None, prompt="p", response="r", **more):
    return ({} if id is None else {"id": id}) | {"prompt": prompt, "response": response} | more


# One system a file


def test_a_row_becomes_an_item_and_a_response(save):
    rows = [row(7, reference="gold", subset="easy", model="m-1")]
    read = read_responses(save("d.jsonl", rows))
    (answer,) = read.answers
    item, response = answer.item, answer.response
    assert (item.id, item.instruction, item.reference, item.category) == ("7", "p", "gold", "easy")
    assert (response.item_id, response.system, response.text) == ("7", "m-1", "r")
    assert read.has_ids


@pytest.mark.parametrize(
    ("models", "system"),
    [
        (["m", "m"], "m"),
        (["m", "n"], "d"),
        ([None, None], "d"),
        (["You are a helpful\nassistant."] * 2, "d"),
        (["x" * 200] * 2, "d"),
        ([["m"]] * 2, "d"),
    ],
)
def test_the_system_is_named_by_its_column_if_that_is_one_name_and_else_by_the_file(
    save, models, system
):
    path = save("d.v2.jsonl", [row(i, model=m) for i, m in enumerate(models)])
    assert read_responses(path).system == system
    assert read_responses(path, system="mine").answers[0].response.system == "mine"


def test_items_without_ids_get_one_from_their_text(save):
    path = save("d.jsonl", [row(prompt="p"), row(prompt="q")])
    first, second = (answer.item.id for answer in read_responses(path).answers)
    again = read_responses(save("e.jsonl", [row(prompt="q")])).answers[0].item.id
    assert first != second == again


def test_the_last_turn_of_a_conversation_is_the_response(save):
    user, bot = {"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}
    (answer,) = read_responses(save("d.jsonl", [{"messages": [user, bot]}])).answers
    assert (answer.item.instruction, answer.response.text) == ("Hi", "Hello")
    (answer,) = read_responses(save("d.jsonl", [{"messages": [user], "output": "Yo"}])).answers
    assert (answer.item.instruction, answer.response.text) == ("Hi", "Yo")
    for rows, what in (
        ([{"messages": [user]}], "response: is missing"),
        ([{"messages": [user, bot], "output": "Yo"}], "ends with an answer"),
    ):
        with pytest.raises(DataError, match=what):
            read_responses(save("d.jsonl", rows))


def test_an_id_that_comes_twice_names_both_lines(save):
    path = save("d.jsonl", [row("x", "p"), row("y", "q"), row("x", "r")])
    with pytest.raises(DataError, match=r"line 3: id: 'x' was already at .*line 1"):
        read_responses(path)
    read = read_responses(path, on_bad="skip")
    assert [a.item.id for a in read.answers] == ["x", "y"]
    assert [problem.place.line for problem in read.bad] == [3]


def test_without_ids_an_instruction_that_comes_twice_names_both_lines(save):
    with pytest.raises(DataError, match=r"line 2: instruction: 'p' was already at .*line 1"):
        read_responses(save("d.jsonl", [row(), row()]))


def test_one_number_and_its_digits_are_one_id(save):
    with pytest.raises(DataError, match=r"id: '1' was already"):
        read_responses(save("d.jsonl", [row(1), row("1", "q")]))


def test_all_rows_have_an_id_or_none_has(save):
    with pytest.raises(DataError, match="line 2: id: is missing here"):
        read_responses(save("d.jsonl", [row(1), row(prompt="q")]))
    with pytest.raises(DataError, match="line 2: id: is given here"):
        read_responses(save("d.jsonl", [row(), row(1, prompt="q")]))


def test_everything_that_is_wrong_is_said_at_once(save):
    rows = [row(1), "{", row(2, response=5), row(3, prompt=" "), row(1.5), row(" ")]
    with pytest.raises(DataError) as error:
        read_responses(save("d.jsonl", rows))
    lines = str(error.value).splitlines()
    assert [line.partition("d.jsonl: ")[2].partition(":")[0] for line in lines] == [
        f"line {n}" for n in (2, 3, 4, 5, 6)
    ]


def test_twenty_problems_are_shown_and_the_rest_are_counted(save):
    rows = [row(0), *(row(i, response=i) for i in range(1, 48))]
    with pytest.raises(DataError) as error:
        read_responses(save("d.jsonl", rows))
    lines = str(error.value).splitlines()
    assert len(lines) == 21
    assert lines[-1] == "and 27 more bad rows"


def test_skipping_everything_is_still_an_error(save):
    with pytest.raises(DataError, match="line 1: response: is a number"):
        read_responses(save("d.jsonl", [row(1, response=5)]), on_bad="skip")


def test_columns_nobody_knows_are_an_error_about_the_file_said_once(save):
    rows = [{"id": i, "a": "x", "b": "y"} for i in range(3)]
    with pytest.raises(DataError) as error:
        read_responses(save("d.jsonl", rows))
    assert len(str(error.value).splitlines()) == 1
    mapping = {"instruction": "a", "response": "b"}
    assert len(read_responses(save("d.jsonl", rows), mapping=mapping).answers) == 3


def test_a_mapping_must_name_a_field_and_a_column_that_exist(save):
    path = save("d.jsonl", [row(1), row(2, topic="x")])
    assert read_responses(path, mapping={"category": "topic"}).answers[1].item.category == "x"
    for mapping, what in (
        ({"respons": "response"}, "no field respons "),
        ({"response": "respnse"}, r"no column respnse \(did you mean response"),
        ({"category": "topc"}, r"no column topc \(did you mean topic"),
    ):
        with pytest.raises(DataError, match=what):
            read_responses(path, mapping=mapping)


def test_an_optional_column_may_be_there_for_some_rows_only(save):
    rows = [row(1, "p"), row(2, "q", reference="g"), row(3, "r", reference=None)]
    answers = read_responses(save("d.jsonl", rows)).answers
    assert [a.item.reference for a in answers] == [None, "g", None]


# Joined


def test_files_with_ids_are_joined_on_them_in_the_candidates_order(save):
    a = save("new.jsonl", [row(2, "q", "a2"), row(1, "p", "a1"), row(3, "r", "a3")])
    b = save("old.jsonl", [row(1, "p", "b1"), row(2, "q", "b2"), row(4, "s", "b4")])
    read = read_pairs(a, b)
    assert [(p.item.id, p.a.text, p.b.text) for p in read.pairs] == [
        ("2", "a2", "b2"),
        ("1", "a1", "b1"),
    ]
    assert read.systems == ("new", "old")
    assert read.joined_on == "id"
    assert [(id, place.line) for id, place in read.unmatched_a] == [("3", 3)]
    assert [(id, place.line) for id, place in read.unmatched_b] == [("4", 3)]
    assert {(p.a.system, p.b.system) for p in read.pairs} == {("new", "old")}
    assert "1 rows of a have no partner: 3" in "\n".join(read.notes())


@pytest.mark.parametrize("ids", [(None, None), ("x", None), (None, "x")])
def test_files_are_joined_on_the_instruction_where_an_id_is_lacking(save, ids):
    read = read_pairs(
        save("a.jsonl", [row(ids[0], "p", "a1")]), save("b.jsonl", [row(ids[1], "p", "b1")])
    )
    assert read.joined_on == "instruction"
    (pair,) = read.pairs
    assert pair.item.id == pair.a.item_id == pair.b.item_id
    assert pair.item.id == ("x" if any(ids) else pair.item.id)


def test_one_id_with_two_texts_is_not_one_item(save):
    a = save("a.jsonl", [row(1, "p"), row(2, "q")])
    b = save("b.jsonl", [row(1, "p"), row(2, "Q")])
    with pytest.raises(DataError, match=r"a\.jsonl: line 2: instruction: id '2' has another"):
        read_pairs(a, b)
    read = read_pairs(a, b, on_bad="skip")
    assert len(read.pairs) == len(read.bad) == 1
    assert not read.unmatched_a


def test_two_references_for_one_item_are_an_error_and_one_serves_both(save):
    a = save("a.jsonl", [row(1, reference="g")])
    with pytest.raises(DataError, match="reference: id '1' has another"):
        read_pairs(a, save("b.jsonl", [row(1, reference="h")]))
    (pair,) = read_pairs(save("b.jsonl", [row(1)]), a).pairs
    assert pair.item.reference == "g"


def test_repeated_instructions_are_refused_where_they_are_what_joins(save):
    a, b = save("a.jsonl", [row(1), row(2)]), save("b.jsonl", [row()])
    assert len(read_pairs(a, a).pairs) == 2
    with pytest.raises(DataError, match=r"line 2: instruction: 'p' was already at .*line 1"):
        read_pairs(a, b)


@pytest.mark.parametrize(
    ("a", "b", "hint"),
    [
        (row("A-1", "p"), row("a-1 ", "p"), "1 would if blanks, case"),
        (row(None, "Say  hi"), row(None, "say hi"), "1 would if blanks, case"),
        (row(None, "caf\u00e9"), row(None, "cafe\u0301"), "1 would if blanks, case"),
        (row(1, "p"), row(2, "p"), "1 instructions are the same"),
        (row(1, "p"), row(2, "q"), "by id$"),
    ],
)
def test_nothing_in_common_is_an_error_with_a_hint(save, a, b, hint):
    with pytest.raises(DataError, match=f"0 of 1 matched.*{hint}"):
        read_pairs(save("a.jsonl", [a]), save("b.jsonl", [b]))


def test_two_systems_of_one_name_are_told_apart(save):
    path = save("a.jsonl", [row(1, model="m")])
    assert read_pairs(path, path).systems == ("m (candidate)", "m (baseline)")


def test_each_file_may_have_its_own_mapping(save):
    a, b = save("a.jsonl", [{"q": "p", "x": "1"}]), save("b.jsonl", [{"prompt": "p", "y": "2"}])
    mapping = {"instruction": "q", "response": "x"}
    (pair,) = read_pairs(a, b, mapping=mapping, baseline_mapping={"response": "y"}).pairs
    assert (pair.a.text, pair.b.text) == ("1", "2")


def test_a_limit_keeps_the_first_pairs_and_says_how_many_it_left_out(save):
    path = save("a.jsonl", [row(i) for i in range(5)])
    read = read_pairs(path, path, limit=2)
    assert [p.item.id for p in read.pairs] == ["0", "1"]
    assert read.left == 3
    assert "3 more pairs were left out by the limit" in read.notes()


def test_standard_input_is_one_file():
    with pytest.raises(DataError, match="only one"):
        read_pairs("-", "-")


# Both in one file


def pair(id=None, a="x", b="y", **more):
    return ({} if id is None else {"id": id}) | {"prompt": "p", "output_1": a, "output_2": b} | more


@pytest.mark.parametrize(
    "names",
    [
        ("response_a", "response_b"),
        ("output_1", "output_2"),
        ("answer_a", "answer_b"),
        ("response1", "response2"),
        ("completion_1", "completion_2"),
        ("candidate", "baseline"),
        ("a", "b"),
    ],
)
def test_the_sides_are_recognised(save, names):
    rows = [{"prompt": "p", names[0]: "x", names[1]: "y"}]
    (read,) = read_pairs_file(save("d.jsonl", rows)).pairs
    assert (read.a.text, read.b.text, read.label) == ("x", "y", None)


def test_the_chosen_response_was_preferred(save):
    rows = [{"prompt": "p", "chosen": "x", "rejected": "y"}]
    (read,) = read_pairs_file(save("d.jsonl", rows)).pairs
    assert (read.a.text, read.b.text, read.label) == ("x", "y", Choice.A)


def test_labels_are_read_and_a_missing_one_stays_missing(save):
    rows = [pair(i, winner=w) for i, w in enumerate(["model_a", "2", "tie", None, ""])]
    read = read_pairs_file(save("d.jsonl", rows))
    assert [p.label for p in read.pairs] == [Choice.A, Choice.B, Choice.TIE, None, None]


def test_labels_may_name_the_systems(save):
    rows = [pair(0, model_a="m", model_b="n", winner="n")]
    read = read_pairs_file(save("d.jsonl", rows))
    assert read.pairs[0].label is Choice.B
    assert read.systems == ("m", "n")


@pytest.mark.parametrize("on_bad", ["refuse", "skip"])
def test_zero_and_one_are_never_guessed_even_when_bad_rows_are_skipped(save, on_bad):
    path = save("d.jsonl", [pair(0, label=1), pair(1, label=0)])
    with pytest.raises(DataError, match=r"line 2: label: 0 .* found are 0, 1: .* --label 0=a"):
        read_pairs_file(path, on_bad=on_bad)
    read = read_pairs_file(path, meanings={"0": "a", "1": "b"})
    assert [p.label for p in read.pairs] == [Choice.B, Choice.A]


def test_an_item_may_come_again_with_other_systems_and_the_same_instruction(save):
    rows = [pair(1, model_a="m", model_b="n"), pair(1, model_a="m", model_b="o")]
    read = read_pairs_file(save("d.jsonl", rows))
    assert len(read.pairs) == 2
    assert read.systems == ("a", "b")
    with pytest.raises(DataError, match=r"line 3: id: '1' was already at .*line 1"):
        read_pairs_file(save("d.jsonl", [*rows, rows[0]]))
    other = rows[0] | {"prompt": "q", "model_b": "z"}
    with pytest.raises(DataError, match=r"line 3: instruction: id '1' has another one at .*line 1"):
        read_pairs_file(save("d.jsonl", [*rows, other]))


def test_empty_responses_are_flagged_and_kept(save):
    read = read_pairs_file(save("d.jsonl", [pair(1, a=""), pair(2, b="\u200b "), pair(3)]))
    assert len(read.pairs) == 3
    assert read.empty == [("1", Choice.A), ("2", Choice.B)]
    assert "2 responses are empty: 1 (a), 2 (b)" in read.notes()


def test_both_sides_can_be_mapped(save):
    rows = [{"prompt": "p", "left": "x", "right": "y"}]
    with pytest.raises(DataError, match="--map response_a=COLUMN --map response_b=COLUMN"):
        read_pairs_file(save("d.jsonl", rows))
    mapping = {"response_a": "right", "response_b": "left"}
    (read,) = read_pairs_file(save("d.jsonl", rows), mapping=mapping).pairs
    assert (read.a.text, read.b.text) == ("y", "x")


def test_llmbar_is_read_as_it_is_published():
    path = SHARED / "data" / "llmbar" / "items.jsonl"
    if not path.exists():
        pytest.skip(f"the published items are not beside this checkout: {path.name}")
    read = read_pairs_file(path)
    published = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert [(p.item.id, p.a.text, p.b.text, p.label) for p in read.pairs] == [
        (r["id"], r["output_1"], r["output_2"], {1: Choice.A, 2: Choice.B}[r["label"]])
        for r in published
    ]
    assert {p.item.category for p in read.pairs} == {r["subset"] for r in published}


# Properties

values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(0, 3),
    st.floats(),
    st.text(max_size=3),
    st.lists(st.fixed_dictionaries({"role": st.just("user"), "content": st.text(max_size=2)})),
)
columns = st.sampled_from(
    ["id", "prompt", "instruction", "messages", "response", "output", "label", "model", "a", "b"]
)
lines = st.one_of(
    st.dictionaries(columns, values, max_size=6).map(json.dumps), st.text('{}[]",:0 a', max_size=6)
)


@settings(max_examples=300)
@given(
    st.lists(lines, max_size=6),
    st.sampled_from([read_responses, read_pairs_file]),
    st.sampled_from([{}, {"response": "a"}, {"instruction": "b"}, {"response_a": "output"}]),
)
def test_every_row_is_kept_or_listed_whatever_is_in_the_file(
    tmp_path_factory, content, read, mapping
):
    path = tmp_path_factory.mktemp("d") / "d.jsonl"
    path.write_text("\n".join(content), encoding="utf-8", newline="")
    try:
        got = read(path, mapping=mapping, on_bad="skip")
    except DataError:
        return
    rows = [line for line in "\n".join(content).split("\n") if line.strip()]
    kept = got.answers if read is read_responses else got.pairs
    assert len(kept) + len(got.bad) == len(rows)


@settings(max_examples=100)
@given(
    st.lists(st.integers(0, 9), min_size=1, unique=True),
    st.lists(st.integers(0, 9), min_size=1, unique=True),
    st.booleans(),
)
def test_a_join_pairs_what_is_common_and_lists_what_is_not(tmp_path_factory, a, b, with_ids):
    folder = tmp_path_factory.mktemp("d")
    for name, ids in (("a.csv", a), ("b.csv", b)):
        with (folder / name).open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["id" if with_ids else "note", "prompt", "response"])
            writer.writerows([i, f"p{i}", f"{name}{i}"] for i in ids)
    if not set(a) & set(b):
        with pytest.raises(DataError, match=f"0 of {len(a)} matched"):
            read_pairs(folder / "a.csv", folder / "b.csv")
        return
    read = read_pairs(folder / "a.csv", folder / "b.csv")
    assert [p.item.instruction for p in read.pairs] == [f"p{i}" for i in a if i in b]
    assert len(read.unmatched_a) + len(read.pairs) == len(a)
    assert len(read.unmatched_b) + len(read.pairs) == len(b)
