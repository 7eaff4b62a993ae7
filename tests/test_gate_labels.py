"""The gate's win rate as people would have it, from their labels on some of the pairs."""

import json
from dataclasses import replace

import pytest
from conftest import make_pairs
from test_gate import decided, outcomes

from twopan.datasets import Pairs, read_labels, read_pairs_file
from twopan.errors import DataError
from twopan.lines import to_line
from twopan.pipelines.gate import decide
from twopan.report import render_gate
from twopan.stats.powered import powered
from twopan.verdict import Choice

SAID = "A" * 30 + "B" * 10
"""What the judge says of forty pairs, over and over; people give every second A to B."""


def labelled(n, every=4):
    """Pairs, every few of them with a label."""
    pairs = make_pairs(n)
    letters = (SAID * (n // 40 + 1))[:n]
    for at in range(0, n, every):
        people = Choice.B if letters[at] == "B" or at // every % 2 else Choice.A
        pairs[at] = replace(pairs[at], label=people)
    return pairs, outcomes(letters)


def test_labels_set_right_a_judge_that_is_too_kind_to_the_candidate():
    result = decide(*labelled(400))
    found = result.corrected
    told = [(p.label, o.choice) for p, o in zip(result.pairs, result.outcomes, strict=True)]
    worth = {Choice.A: 1, Choice.B: 0}
    theirs = powered(
        [worth[label] for label, _ in told if label],
        [worth[choice] for label, choice in told if label],
        [worth[choice] for label, choice in told if not label],
    )
    assert (found.estimate, found.low, found.high) == pytest.approx(
        (theirs.estimate, theirs.low, theirs.high)
    )
    assert result.rate.low > 0.65
    assert found.high < 0.55
    assert result.decision == "promote", "it stands beside the rate that decides"
    assert result.to_dict()["win_rate_corrected"]["labelled"] == 100
    assert "As people would have it" in render_gate(result)
    assert "from 100 labels" in render_gate(result)


def test_bounds_at_all_looks_are_wider():
    pairs, verdicts = labelled(400)
    stopped = decide(pairs, verdicts, sequential=True, threshold=0.74)
    fixed = decide(stopped.pairs, stopped.outcomes)
    assert stopped.corrected.estimate == pytest.approx(fixed.corrected.estimate)
    assert stopped.corrected.low < fixed.corrected.low
    assert stopped.corrected.high > fixed.corrected.high


def test_without_labels_there_is_none_and_nothing_is_said():
    result = decided("AB" * 20)
    assert result.corrected is None
    assert result.to_dict()["win_rate_corrected"] is None
    assert "As people" not in render_gate(result)


@pytest.mark.parametrize(
    ("n", "every", "why"),
    [(36, 4, "people labelled 9 items; 10 is the least"), (40, 1, "people labelled 40 of the 40")],
)
def test_where_there_is_none_it_is_said_why(n, every, why):
    result = decide(*labelled(n, every))
    assert why in result.corrected
    assert why in result.to_dict()["win_rate_corrected"]["none"]
    assert why in render_gate(result)


# The file


def written(tmp_path, *rows, name="people.jsonl"):
    path = tmp_path / name
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def found():
    return Pairs(pairs=make_pairs(4), systems=("candidate", "baseline"))


def test_labels_are_sides_or_names(found, tmp_path):
    said = ["candidate", "Baseline", "tie", "model_b"]
    path = written(tmp_path, *({"id": str(n), "label": s} for n, s in enumerate(said)))
    pairs = read_labels(path, found).pairs
    assert [p.label for p in pairs] == [Choice.A, Choice.B, Choice.TIE, Choice.B]


def test_some_pairs_have_none_and_labels_of_others_are_counted(found, tmp_path):
    path = written(tmp_path, {"id": 2, "winner": "a"}, {"id": 9, "winner": "a"})
    labels = read_labels(path, found)
    assert [p.label for p in labels.pairs] == [None, None, Choice.A, None]
    assert "1 labels are of no pair here, and were left out" in labels.notes()


def test_what_a_label_file_gets_wrong_is_named(found, tmp_path):
    for rows, said in [
        ([{"id": 1, "label": "a"}, {"id": 1, "label": "b"}], "people.jsonl: line 2: id: '1' was"),
        ([{"id": 1, "label": "better"}], "people.jsonl: line 1: label: 'better' is none of"),
        ([{"id": 1, "label": 0}], "line 1: label: 0 is none of"),
        ([{"id": 1, "label": None}], "line 1: label"),
        ([{"label": "a"}], "line 1: id: is missing"),
        ([{"id": 1, "verdict": "a"}], "label"),
        ([{"id": 7, "label": "a"}], "none of its 1 ids is the id of a pair"),
    ]:
        with pytest.raises(DataError) as error:
            read_labels(written(tmp_path, *rows), found)
        assert said in str(error.value), rows


def test_the_command_shows_what_people_would_say(twopan, tmp_path):
    pairs, verdicts = labelled(400)
    texts = [
        {"id": p.item.id, "instruction": p.item.instruction, "candidate": p.a.text,
         "baseline": p.b.text}
        for p in pairs
    ]  # fmt: skip
    labels = written(
        tmp_path, *({"id": p.item.id, "label": str(p.label)} for p in pairs if p.label)
    )
    file = written(tmp_path, *texts, name="pairs.jsonl")
    lines = [
        to_line(pair, outcome, outcome.votes[0].judge)
        for pair, outcome in zip(read_pairs_file(file).pairs, verdicts, strict=True)
    ]
    done = twopan(
        "gate", file, "--labels", labels, "--verdicts",
        written(tmp_path, *lines, name="verdicts.jsonl"), "--json", "-", check=0,
    )  # fmt: skip
    assert json.loads(done.stdout)["win_rate_corrected"]["labelled"] == 100
    assert "as people would have it" in done.stderr
    assert "from 100 labels" in " ".join(done.stderr.split())
    bad = written(tmp_path, {"id": 1, "label": "better"})
    told = twopan("gate", file, "--labels", bad, check=2)
    assert "people.jsonl: line 1: label" in told.stderr
