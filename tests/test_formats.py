"""Published benchmarks load as they are distributed, or say which file, line and field is wrong."""

import json

import pytest

from twopan.datasets import Pairs
from twopan.errors import ConfigError, DataError
from twopan.formats import FORMATS, load, mtbench, rewardbench
from twopan.verdict import Choice


@pytest.fixture
def save(tmp_path):
    def write(name, rows):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith(".jsonl"):
            path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        elif name.endswith(".parquet"):
            import pyarrow as pa
            from pyarrow.parquet import write_table

            write_table(pa.Table.from_pylist(rows), path)
        else:
            path.write_text(json.dumps(rows, indent=2), encoding="utf-8")
        return path

    return write


def llmbar_row(**fields):
    return {"input": "Say hello.", "output_1": "Hello.", "output_2": "No.", "label": 1} | fields


def judgebench_row(**fields):
    row = {"pair_id": "p1", "original_id": 7, "source": "mmlu-pro-law", "question": "Which?"}
    row |= {"response_model": "gpt-4o", "response_A": "It is A.", "response_B": "It is B."}
    return row | {"label": "B>A"} | fields


def rewardbench_row(**fields):
    row = {"prompt": "Add 1 and 1.", "chosen": "2", "chosen_model": "human", "rejected": "3"}
    return row | {"rejected_model": "llama", "subset": "math-prm", "id": 4} | fields


def says(*turns):
    return [
        {"role": ("user", "assistant")[i % 2], "content": said} for i, said in enumerate(turns)
    ]  # fmt: skip


def mtbench_row(**fields):
    row = {"question_id": 81, "model_a": "alpaca", "model_b": "claude", "winner": "model_b"}
    row |= {"judge": "expert_1", "turn": 1}
    row |= {"conversation_a": says("Write.", "A one", "Again.", "A two")}
    return row | {"conversation_b": says("Write.", "B one", "Again.", "B two")} | fields


FILES = {
    "judgebench": ("gpt.jsonl", judgebench_row),
    "llmbar": ("dataset.json", llmbar_row),
    "mtbench": ("human.parquet", mtbench_row),
    "rewardbench": ("filtered.parquet", rewardbench_row),
}


def problem(name, path):
    with pytest.raises(DataError) as error:
        load(name, path)
    return str(error.value)


@pytest.mark.parametrize("name", FILES)
def test_every_format_gives_pairs_with_a_label_and_a_category(save, name):
    file, row = FILES[name]
    found = load(name, save(file, [row()]))
    assert isinstance(found, Pairs)
    (pair,) = found.pairs
    assert pair.label is not None
    assert pair.item.category
    assert pair.a.item_id == pair.b.item_id == pair.item.id
    assert found.systems == (pair.a.system, pair.b.system)


def test_the_general_format_knows_the_usual_names(save):
    rows = [{"prompt": "Add.", "response_a": "2", "response_b": "3", "label": "a"}]
    (pair,) = load("pairs", save("mine.jsonl", rows)).pairs
    assert (pair.a.text, pair.label) == ("2", Choice.A)


def test_a_format_that_does_not_exist_is_answered_with_those_that_do(save):
    with pytest.raises(ConfigError, match=r"'llmbr' \(did you mean llmbar\?\)") as error:
        load("llmbr", save("dataset.json", [llmbar_row()]))
    assert all(name in str(error.value) for name in FORMATS)


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_another_kind_is_told_by_its_columns_in_one_line(save, name):
    path = save("other.jsonl", [{"question": "Why?", "answer": "Because."}] * 3)
    message = problem(name, path)
    assert len(message.splitlines()) == 1
    assert "other.jsonl: line 1: no column " in message
    assert message.endswith("there are question, answer")


@pytest.mark.parametrize(
    ("name", "fields", "message"),
    [
        ("llmbar", {"label": 0}, "label: 0 is none of 1, 2"),
        ("llmbar", {"label": None}, "label: None is none of 1, 2"),
        ("llmbar", {"label": True}, "label: True is none of 1, 2"),
        ("llmbar", {"label": 1.0}, "label: 1.0 is none of 1, 2"),
        ("llmbar", {"output_2": None}, "output_2: is missing"),
        ("llmbar", {"input": " "}, "input: is empty"),
        ("judgebench", {"label": "A=B"}, "label: 'A=B' is none of A>B, B>A"),
        ("judgebench", {"pair_id": ""}, "pair_id: is missing"),
        ("judgebench", {"question": ["Q"]}, "question: is a list and not text"),
        ("rewardbench", {"rejected": ["a", "b"]}, "rejected: is a list and not text"),
        ("rewardbench", {"subset": None}, "subset: is missing"),
        ("mtbench", {"winner": "tie (inconsistent)"}, "winner: 'tie (inconsistent)' is none of"),
        ("mtbench", {"judge": "gpt4_pair"}, "judge: 'gpt4_pair' is no person: people's votes"),
        ("mtbench", {"judge": ["gpt-4", "pair-v2"]}, "is no person"),
        ("mtbench", {"turn": 3}, "turn: 3 is none of 1, 2"),
        ("mtbench", {"turn": 2, "conversation_b": says("Q", "A")}, "conversation_b: has no 2"),
        ("mtbench", {"conversation_a": says("Other.", "A")}, "the user says something else"),
        ("mtbench", {"conversation_a": says("Q", "A")[::-1]}, "conversation_a[0]: is no message"),
        ("mtbench", {"model_b": "alpaca"}, "model_b: 'alpaca' is also model_a"),
    ],
)
def test_what_is_wrong_is_said_with_line_and_field(save, name, fields, message):
    row = FILES[name][1]
    rows = [row(), row(**fields)]
    found = problem(name, save("some.jsonl", rows))
    assert "some.jsonl: line 2: " in found
    assert message in found


def test_all_that_is_wrong_is_said_at_once_and_the_file_is_refused(save):
    rows = [llmbar_row(label=n) for n in range(3, 28)]
    lines = problem("llmbar", save("dataset.json", [llmbar_row(), *rows])).splitlines()
    assert len(lines) == 21
    assert "row 2: label: 3" in lines[0]
    assert lines[-1] == "and 5 more bad rows"


def test_an_empty_response_is_a_fact_and_no_error(save):
    found = load("judgebench", save("gpt.jsonl", [judgebench_row(response_A="")]))
    assert found.empty == [("p1", Choice.A)]


def test_an_item_comes_once(save):
    rows = [judgebench_row(), judgebench_row(response_A="Something else.")]
    assert "id: 'p1' was already at" in problem("judgebench", save("gpt.jsonl", rows))


def test_an_id_has_one_instruction(save):
    rows = [
        mtbench_row(),
        mtbench_row(conversation_a=says("X", "a"), conversation_b=says("X", "b")),
    ]
    assert "id: '81/1' has another instruction at" in problem("mtbench", save("h.jsonl", rows))


# LLMBar


def test_llmbar_takes_a_file_or_all_below_a_folder_under_the_same_ids(save, tmp_path):
    natural = save("Dataset/LLMBar/Natural/dataset.json", [llmbar_row(), llmbar_row(label=2)])
    save("Dataset/LLMBar/Adversarial/Manual/dataset.json", [llmbar_row()])
    save("Dataset/LLMBar/Natural/evaluators/GPT-4/Vanilla/result.json", [{"not": "it"}])
    ids = [
        "LLMBar/Adversarial/Manual/0",
        "LLMBar/Natural/0",
        "LLMBar/Natural/1",
    ]
    everything = load("llmbar", tmp_path / "Dataset")
    assert [pair.item.id for pair in everything.pairs] == ids
    assert [pair.item.category for pair in everything.pairs] == [i[:-2] for i in ids]
    assert [pair.label for pair in everything.pairs] == ["a", "a", "b"]
    assert load("llmbar", natural).pairs == everything.pairs[1:]


@pytest.mark.parametrize(
    ("folder", "id"),
    [
        ("Manual", "Manual/0"),
        ("Dataset", "Dataset/0"),
        ("Dataset/LLMBar/Dataset/Processed/FairEval", "Processed/FairEval/0"),
    ],
)
def test_llmbar_is_named_after_its_folder_from_the_last_one_called_dataset(save, folder, id):
    (pair,) = load("llmbar", save(f"{folder}/dataset.json", [llmbar_row()])).pairs
    assert pair.item.id == id


def test_llmbar_in_a_folder_without_it_says_so(tmp_path):
    assert "no dataset.json in this folder" in problem("llmbar", tmp_path)


# JudgeBench


@pytest.mark.parametrize(("label", "better"), [("A>B", "a"), ("B>A", "b")])
def test_judgebench_keeps_its_sides_and_says_which_is_right(save, label, better):
    (pair,) = load("judgebench", save("gpt.jsonl", [judgebench_row(label=label)])).pairs
    assert (pair.a.text, pair.b.text, pair.label) == ("It is A.", "It is B.", better)
    assert (pair.a.system, pair.b.system) == ("gpt-4o (A)", "gpt-4o (B)")
    assert pair.item.category == "mmlu-pro-law"


# RewardBench


def rewards(save, n, **options):
    rows = [rewardbench_row(id=i) for i in range(n)]
    return rewardbench.read(save("filtered.jsonl", rows), **options).pairs


def test_rewardbench_puts_the_chosen_response_on_either_side_and_labels_it(save):
    pairs = rewards(save, 400)
    assert 160 < sum(pair.label == Choice.A for pair in pairs) < 240
    for pair in pairs:
        chosen, rejected = (pair.a, pair.b) if pair.label == Choice.A else (pair.b, pair.a)
        assert (chosen.text, chosen.system) == ("2", "human")
        assert (rejected.text, rejected.system) == ("3", "llama")


def test_rewardbench_sides_depend_on_id_and_seed_alone(save):
    whole, part = rewards(save, 40), rewards(save, 20)
    assert whole[:20] == part
    assert rewards(save, 40, seed=1) != whole
    # Kept verdicts name A and B: were this to change, they would speak of the other response.
    assert [rewardbench.side(f"math-prm/{n}").value for n in range(8)] == list("baabbaab")


def test_rewardbench_tells_apart_two_responses_by_the_same_author(save):
    rows = [rewardbench_row(rejected_model="human"), rewardbench_row(id=5, rejected_model=None)]
    same, unnamed = load("rewardbench", save("f.jsonl", rows)).pairs
    assert {same.a.system, same.b.system} == {"human (chosen)", "human (rejected)"}
    assert {unnamed.a.system, unnamed.b.system} == {"human", "unnamed"}


def test_rewardbench_numbers_of_two_subsets_do_not_clash(save):
    rows = [rewardbench_row(), rewardbench_row(subset="hep-go", prompt="Sort.")]
    pairs = load("rewardbench", save("f.jsonl", rows)).pairs
    assert [pair.item.id for pair in pairs] == ["math-prm/4", "hep-go/4"]


# MT-Bench


def test_mtbench_shows_of_a_conversation_what_was_voted_on(save):
    rows = [mtbench_row(), mtbench_row(turn=2, winner="tie")]
    first, second = load("mtbench", save("human.parquet", rows)).pairs
    assert (first.item.id, first.item.instruction, first.a.text) == ("81/1", "Write.", "A one")
    assert second.item.id == "81/2"
    assert second.item.instruction == "Turn 1:\nWrite.\n\nTurn 2:\nAgain."
    assert second.b.text == "Turn 1:\nB one\n\nTurn 2:\nB two"
    assert (first.label, second.label) == (Choice.B, Choice.TIE)


def test_mtbench_keeps_every_vote_of_an_item_that_they_share(save):
    rows = [mtbench_row(judge=f"expert_{n}", winner=f"model_{w}") for n, w in enumerate("aab")]
    pairs = load("mtbench", save("h.jsonl", rows)).pairs
    assert [pair.label for pair in pairs] == ["a", "a", "b"]
    assert {pair.item.id for pair in pairs} == {"81/1"}


def test_mtbench_votes_can_be_chosen_by_turn_and_voter(save):
    path = save("h.jsonl", [mtbench_row(), mtbench_row(judge="author_0"), mtbench_row(turn=2)])
    assert len(mtbench.read(path).pairs) == 3
    assert len(mtbench.read(path, turns=[1]).pairs) == 2
    assert len(mtbench.read(path, turns=[1], voters=["expert"]).pairs) == 1


@pytest.mark.parametrize(
    ("question", "category"), [(81, "writing"), (160, "humanities"), (161, None), (80, None)]
)
def test_mtbench_categories_follow_from_the_number_of_the_question(save, question, category):
    (pair,) = load("mtbench", save("h.jsonl", [mtbench_row(question_id=question)])).pairs
    assert pair.item.category == category
