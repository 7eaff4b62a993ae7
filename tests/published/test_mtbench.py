"""MT-Bench (Zheng et al. 2023): how far GPT-4 agrees with experts, and experts with each other."""

import json
from collections import defaultdict
from itertools import combinations
from pathlib import Path

import pytest

from published.recorded import columns, needs_data, rows
from twopan.fields import label
from twopan.formats import load, mtbench
from twopan.pipelines.meta_evaluate import meta_evaluate
from twopan.pipelines.trials import Trial
from twopan.verdict import Choice, Comparison, Preference, Verdict

pytestmark = needs_data

FILE = "human.json"
ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The votes with their conversations, as published: both turns, whichever was voted on.

    The answers of vicuna-13b-v1.2 are not among those at hand; those of v1.3 stand in for them.
    """
    asked = {row["question_id"]: row["turns"] for row in rows("mtbench/questions.jsonl")}
    answers = {
        (question, model): turns
        for question, model, *turns in columns(
            "mtbench/answers.parquet", "question_id", "model", "turn1", "turn2"
        )
    }

    def conversation(question, model):
        said = answers[question, model.replace("v1.2", "v1.3")]
        return [
            {"role": role, "content": content}
            for turn in zip(asked[question], said, strict=True)
            for role, content in zip(("user", "assistant"), turn, strict=True)
        ]

    votes = [
        vote
        | {
            f"conversation_{side}": conversation(vote["question_id"], vote[f"model_{side}"])
            for side in "ab"
        }
        for vote in rows("mtbench/human.jsonl")
    ]
    folder = tmp_path_factory.mktemp("mtbench")
    (folder / FILE).write_text(json.dumps(votes), encoding="utf-8")
    return folder


def by_name(a, b, choice):
    """A choice in the frame of the two names in the order of the alphabet."""
    return choice if a < b else choice.flipped()


@pytest.fixture(scope="module")
def experts(folder):
    """Turn -> (item, systems) -> the experts' choices."""
    votes = {1: defaultdict(list), 2: defaultdict(list)}
    for pair in mtbench.read(folder / FILE, voters=["expert"]).pairs:
        systems = sorted((pair.a.system, pair.b.system))
        choice = by_name(pair.a.system, pair.b.system, pair.label)
        votes[int(pair.item.id[-1])][pair.item.id, *systems].append(choice)
    return votes


@pytest.fixture(scope="module")
def gpt4():
    """(item, systems) -> the verdict. Where its two looks contradict each other it is a tie."""
    verdicts = {}
    for row in rows("mtbench/gpt4_pair.jsonl"):
        a, b, item = row["model_a"], row["model_b"], f"{row['question_id']}/{row['turn']}"
        looks = (label(row["winner"]),) * 2
        if row["winner"] == "tie (inconsistent)":
            looks = (Choice.A, Choice.B)
        first, second = (Preference(choice=by_name(a, b, c), reasoning="") for c in looks)
        vote = Comparison(judge="gpt-4", a_first=first, b_first=second)
        verdict = Verdict(item_id=item, votes=(vote,), choice=vote.choice)
        verdicts[item, *sorted((a, b))] = verdict
    return verdicts


def agreement(pairs, *, ties):
    decided = [(a, b) for a, b in pairs if ties or Choice.TIE not in (a, b)]
    return len(decided), round(100 * sum(a == b for a, b in decided) / len(decided))


@pytest.mark.parametrize(
    ("turn", "ties", "published"),
    [
        (1, True, [(1343, 66), (721, 63)]),
        (1, False, [(859, 85), (479, 81)]),
        (2, True, [(1325, 66), (707, 67)]),
        (2, False, [(864, 85), (474, 82)]),
    ],
)
def test_r2_agreement_with_experts_and_among_them(experts, gpt4, turn, ties, published):
    votes = experts[turn]
    with_gpt4 = [(gpt4[key].choice, vote) for key, of in votes.items() for vote in of]
    among = [two for of in votes.values() for two in combinations(of, 2)]
    assert [agreement(with_gpt4, ties=ties), agreement(among, ties=ties)] == published


@pytest.mark.parametrize(
    ("turn", "three_way", "decided"), [(1, (1343, 66), (859, 85)), (2, (1325, 66), (864, 85))]
)
def test_r2_comes_out_of_a_meta_evaluation_as_two_policies(folder, gpt4, turn, three_way, decided):
    """Setups S1 and S2 are ``three-way`` and ``decided``; votes on a question are one cluster."""
    pairs = [
        pair
        for pair in mtbench.read(folder / FILE, voters=["expert"], turns=[turn]).pairs
        if (pair.item.id, *sorted((pair.a.system, pair.b.system))) in gpt4
    ]
    outcomes = []
    for pair in pairs:
        verdict = gpt4[pair.item.id, *sorted((pair.a.system, pair.b.system))]
        if pair.a.system > pair.b.system:
            (vote,) = verdict.votes
            turned = Comparison(
                judge=vote.judge, a_first=vote.b_first.flipped(), b_first=vote.a_first.flipped()
            )
            verdict = Verdict(item_id=pair.item.id, votes=(turned,), choice=turned.choice)
        outcomes.append(verdict)
    trial = Trial(judge="gpt-4", protocol="pairwise", outcomes=tuple(outcomes))
    result = meta_evaluate(pairs, [trial])
    counts = result.confusion[0]
    assert sum(counts.values()) == three_way[0]
    assert sum(n for two, n in counts.items() if Choice.TIE not in two) == decided[0]
    found = result.cells[0]["all pairs"].policies
    assert round(100 * found["three-way"].estimate) == three_way[1]
    assert round(100 * found["decided"].estimate) == decided[1]
    assert found["three-way"].m == 80, "a question is a cluster"


def test_gpt4_contradicts_itself_on_380_of_2400_pairs(gpt4):
    assert sum(not verdict.consistent for verdict in gpt4.values()) == 380
    assert sum(verdict.choice == Choice.TIE for verdict in gpt4.values()) == 600


def test_every_vote_is_a_pair_and_a_question_and_turn_is_an_item(folder):
    found = load("mtbench", folder / FILE).pairs
    assert len(found) == 3355
    assert len({pair.item.id for pair in found}) == 160
    of = {row["question_id"]: row["category"] for row in rows("mtbench/questions.jsonl")}
    assert {pair.item.id.partition("/")[0]: pair.item.category for pair in found} == {
        str(question): category for question, category in of.items()
    }


def test_the_1131_votes_of_the_prepair_paper_are_those_on_first_turns_without_vicuna(folder):
    """Its Table 3 rests on 885 votes of experts and 246 of the authors, ties among them."""
    voted = {}
    for voter in ("expert", "author"):
        pairs = mtbench.read(folder / FILE, turns=[1], voters=[voter]).pairs
        voted[voter] = [
            (pair.item.id, pair.a.system, pair.b.system, pair.label)
            for pair in pairs
            if "vicuna-13b-v1.2" not in (pair.a.system, pair.b.system)
        ]
    assert [len(votes) for votes in voted.values()] == [885, 246]
    paper = [
        (f"{row['question_id']}/1", row["model_a"], row["model_b"], label(row["winner"]))
        for row in rows("mtbench/prepair_first_turn_1131.jsonl")
    ]
    assert sorted(voted["expert"] + voted["author"]) == sorted(paper)


def test_the_scales_of_likelihood_come_from_these_pairs(folder, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import embedded_scales

    kept = {row.id: (row.label, row.longer) for row in embedded_scales.kept()}
    assert kept == {
        pair.item.id: (pair.label, len(pair.a.text) - len(pair.b.text))
        for pair in embedded_scales.sample(folder / FILE)
    }
