"""Columns by any of their usual names, and values only as far as they have one meaning."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twopan.errors import DataError
from twopan.fields import (
    NAMES,
    check_columns,
    check_mapping,
    check_needed,
    conversation,
    derived_id,
    is_blank,
    label,
    name,
    recognise,
    text,
)
from twopan.verdict import Choice


@pytest.mark.parametrize(("field", "column"), [(f, c) for f, names in NAMES.items() for c in names])
def test_every_accepted_name_is_recognised_in_any_case(field, column):
    assert recognise([f" {column.title()} ", "other"], [field], {}) == {
        field: f" {column.title()} "
    }


def test_no_column_name_stands_for_two_fields():
    for fields in (
        ("id", "instruction", "response", "reference", "category", "system"),
        ("id", "instruction", "response_a", "response_b", "system_a", "system_b", "label"),
    ):
        columns = [column for field in fields for column in NAMES[field]]
        assert len(columns) == len(set(columns))


def test_the_canonical_name_wins_and_without_it_two_claims_are_an_error():
    assert recognise(["answer", "response"], ["response"], {}) == {"response": "response"}
    with pytest.raises(DataError, match=r"answer and output .* --map response=answer"):
        recognise(["answer", "output"], ["response"], {})


def test_half_of_an_alpaca_task_is_never_taken_for_the_whole():
    columns = ["instruction", "input", "output"]
    with pytest.raises(DataError, match="instruction and input may both be the instruction"):
        recognise(columns, ["instruction"], {})
    chosen = recognise(columns, ["instruction"], {"instruction": "instruction"})
    assert chosen == {"instruction": "instruction"}


def test_a_mapped_column_serves_no_other_field():
    chosen = recognise(["input", "answer"], ["instruction", "response"], {"response": "input"})
    assert chosen == {"response": "input"}


def test_what_is_missing_is_explained_with_names_columns_and_the_flag():
    with pytest.raises(DataError) as error:
        check_needed(["instruction", "response"], {}, ["id", "promt", "reply"], {})
    for word in ("prompt", "response", "(did you mean promt?)", "id, promt, reply", "--map"):
        assert word in str(error.value)


def test_a_mapping_is_checked_on_both_sides_with_the_nearest_name():
    with pytest.raises(DataError, match=r"no field respnse \(did you mean response\?\)"):
        check_mapping({"respnse": "x"}, ["instruction", "response"])
    with pytest.raises(DataError, match=r"no column anwser \(did you mean answer\?\).*id, answer"):
        check_columns({"response": "anwser"}, ["id", "answer"])


def test_messages_may_hold_the_response_too():
    check_needed(["instruction", "response"], {"instruction": "messages"}, ["messages"], {})


@given(st.integers())
def test_a_whole_number_is_the_same_id_as_its_digits(n):
    assert name("id", n) == name("id", str(n)) == str(n)


@pytest.mark.parametrize("value", [1.0, 1.5, True, [], {}])
def test_an_id_is_text_or_a_whole_number(value):
    with pytest.raises(DataError, match=r"^id: is "):
        name("id", value)


@pytest.mark.parametrize("value", [5, 1.5, None, True, [], {}])
def test_a_response_is_text(value):
    with pytest.raises(DataError, match=r"^response: is "):
        text("response", value)


def test_derived_ids_depend_on_the_text_alone():
    assert derived_id("Say hi") == derived_id("Say hi") != derived_id("Say hi ")


@pytest.mark.parametrize("string", ["", " \n\t", "\u200b\u2060\ufeff\u00ad ", "\u3164\u2800\ufe0f"])
def test_what_cannot_be_seen_is_blank(string):
    assert is_blank(string)
    assert not is_blank(f"{string}.")


# Conversations


def turn(role, content):
    return {"role": role, "content": content}


def test_one_user_message_is_its_bare_text_and_more_are_a_transcript():
    assert conversation("m", [turn("user", "Hi")]) == ("Hi", None)
    turns = [turn("system", "Be kind."), turn("user", "Hi")]
    assert conversation("m", turns) == ("System: Be kind.\n\nUser: Hi", None)
    turns = [turn("user", "Hi"), turn("assistant", "Hello"), turn("user", "Bye")]
    assert conversation("m", turns) == ("User: Hi\n\nAssistant: Hello\n\nUser: Bye", None)


def test_the_last_answer_is_the_response_and_no_part_of_the_instruction():
    assert conversation("m", [turn("user", "Hi"), turn("assistant", "Yo")]) == ("Hi", "Yo")


def test_text_parts_are_joined_and_other_parts_are_refused():
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    assert conversation("m", [turn("user", parts)]) == ("ab", None)
    with pytest.raises(DataError, match=r"m\[0\]: has a part that is not text"):
        conversation("m", [turn("user", [*parts, {"type": "image_url", "image_url": {}}])])


@pytest.mark.parametrize(
    "value", [[], "x", {}, [1], [{}], [turn("bot", "x")], [turn(["user"], "x")]]
)
def test_what_is_no_conversation_is_refused(value):
    with pytest.raises(DataError, match=r"^m"):
        conversation("m", value)


def test_a_tool_call_without_text_is_refused():
    with pytest.raises(DataError, match=r"m\[0\]\.content: is missing"):
        conversation("m", [turn("assistant", None)])


# Labels


@pytest.mark.parametrize(
    ("value", "choice"),
    [
        *((v, Choice.A) for v in (1, 1.0, "1", "a", "A ", "model_a", "Model A", "output_1")),
        *((v, Choice.B) for v in (2, 2.0, "2", "b", "B", "model_b", "response-b", "assistant_b")),
        *((v, Choice.TIE) for v in ("tie", "Tie", "tie (bothbad)", "both_bad", "draw")),
    ],
    ids=repr,
)
def test_labels_are_read_however_they_are_written(value, choice):
    assert label(value) is choice


@pytest.mark.parametrize(
    "value", [0, "0", 3, -1, 1.5, True, None, "", "c", "gpt-4", [1], "ab"], ids=repr
)
def test_a_label_with_no_one_meaning_is_an_error_that_shows_it(value):
    with pytest.raises(DataError) as error:
        label(value)
    assert repr(value) in str(error.value)


def test_systems_may_be_named():
    assert label("gpt-4", systems=("llama", "gpt-4")) is Choice.B
    with pytest.raises(DataError):
        label("gpt-4", systems=("gpt-4", "gpt-4"))


def test_a_system_called_a_on_side_b_is_no_guess():
    with pytest.raises(DataError):
        label("a", systems=("b", "a"))


def test_given_meanings_replace_all_others():
    assert label(0, meanings={"0": "a", "1": "b"}) is Choice.A
    assert label(1, meanings={"0": "a", "1": "b"}) is Choice.B
    with pytest.raises(DataError, match="'a' was given no meaning"):
        label("a", meanings={"0": "a", "1": "b"})
