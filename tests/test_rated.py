"""Responses that people rated, and judges that score them."""

import json
import math

import pytest
from conftest import make_pairs
from published.recorded import DATA, needs_data
from servers.chat import completion, serve

from twopan.data import Response
from twopan.errors import ConfigError, DataError
from twopan.jury import score_responses
from twopan.pipelines.rated import ScoredTrial, rated_evaluation
from twopan.providers import Completion, TokenLogprobs
from twopan.rated import Rated, read_rated
from twopan.verdict import Score, Unjudged


def rows_of(ratings, systems="xy"):
    """A response of each system to each item: ``ratings[item][system]`` is what people said."""
    return [
        Rated(
            item=pair.item,
            response=Response(item_id=pair.item.id, system=system, text="t" * (n + 1)),
            people=tuple(people),
            scores={},
        )
        for n, (pair, of) in enumerate(zip(make_pairs(len(ratings)), ratings, strict=True))
        for system, people in zip(systems, of, strict=True)
    ]


def scored(*values):
    return ScoredTrial(
        judge="j",
        protocol="p",
        outcomes=tuple(
            Unjudged(item_id="", reason="unparsed")
            if value is None
            else Score(value=value, score_mode="text")
            for value in values
        ),
    )


def test_a_judge_is_held_against_the_mean_of_those_who_rated():
    rows = rows_of([[(1, 3), (4, 4)], [(5, None), (1, 2)], [(2, 2), (5, 3)]])
    # Means 2, 4, 5, 1.5, 2, 4: the judge gives twice that, and a scale is no matter.
    found = rated_evaluation(rows, [scored(4, 8, 10, 3, 4, 8)]).correlations[0]
    assert found["item"]["pearson"].estimate == pytest.approx(1)
    assert found["item"]["pearson"].m == 3, "responses to one item are one cluster"
    assert found["within items"]["kendall"].estimate == pytest.approx(1)
    assert found["system"]["spearman"].estimate == pytest.approx(1)


def test_a_response_without_a_score_takes_no_part_and_is_counted():
    rows = rows_of([[(1,), (2,)], [(3,), (4,)], [(5,), (6,)]])
    result = rated_evaluation(rows, [scored(1, 2, 3, 4, 5, None)])
    (trial, _) = result.to_dict()["trials"]
    assert (trial["scored"], trial["unjudged"]) == (5, {"unparsed": 1})
    assert result.coverage_of(1) == pytest.approx(5 / 6)
    assert result.correlations[0]["item"]["pearson"].estimate == pytest.approx(1)


def test_what_nobody_rated_is_left_out_and_counted():
    rows = rows_of([[(1,), (2,)], [(3,), (None,)], [(5,), (6,)]])
    result = rated_evaluation(rows, [scored(1, 2, 3, 4, 5, 6)])
    assert (len(result.rows), result.unrated) == (5, 1)


def test_where_there_is_nothing_to_correlate_nothing_is_said():
    rows = rows_of([[(1,)], [(2,)], [(3,)]], systems="x")
    found = rated_evaluation(rows, [scored(7, 7, 7)]).correlations[0]
    assert found == {"item": {}, "within items": {}, "system": {}}


def test_length_stands_beside_every_judge():
    rows = rows_of([[(1,), (1,)], [(2,), (2,)], [(3,), (3,)]])
    result = rated_evaluation(rows, [scored(3, 3, 2, 2, 1, 1)])
    assert [t.name for t in result.trials] == ["j · p", "length"]
    assert result.correlations[1]["item"]["spearman"].estimate == pytest.approx(1)


def test_people_are_held_against_each_other():
    rows = rows_of([[(1, 1), (2, 2)], [(3, 3), (4, 4)], [(5, 4), (1, 2)]])
    alpha = rated_evaluation(rows, [scored(*range(6))]).alpha
    assert set(alpha) == {"interval", "ordinal"}
    assert 0.8 < alpha["interval"].estimate < 1
    assert not rated_evaluation(rows_of([[(1,), (2,)]] * 2), [scored(*range(4))]).alpha


# ---- asked ----


@pytest.mark.anyio
async def test_every_response_has_a_score_or_a_reason_in_its_place(judge_that):
    judge, provider = judge_that(
        lambda p: "Score: 2" if "GOOD" in p else "I will not say.", "pointwise"
    )
    answers = [(p.item, r) for p in make_pairs(2) for r in (p.a, p.b)]
    found = await score_responses(judge, answers)
    assert [getattr(o, "value", None) for o in found] == [2, None, 2, None]
    assert found[1].reason == "unparsed"
    await score_responses(judge, answers)
    assert len(provider.requests) == 4, "what was asked is recalled"


@pytest.mark.anyio
async def test_scores_that_were_come_by_in_the_rarer_way_are_none(judge_that):
    judge, provider = judge_that(lambda p: "", "pointwise-direct")

    def reply(request):
        told = TokenLogprobs("2", (("2", math.log(0.9)), ("1", math.log(0.1))))
        plain = "POOR 0" in request.messages[-1].text
        return "1" if plain else Completion(text="2", logprobs=(told,))

    provider.reply = reply
    found = await score_responses(judge, [(p.item, r) for p in make_pairs(2) for r in (p.a, p.b)])
    assert [getattr(o, "score_mode", None) for o in found] == ["logprobs", None, *["logprobs"] * 2]
    assert "does not compare" in found[1].detail


@pytest.mark.anyio
async def test_a_protocol_that_compares_scores_nothing(judge_that):
    judge, _ = judge_that(lambda p: "A", "pairwise")
    with pytest.raises(ConfigError, match="pairwise compares two responses, and scores none"):
        await score_responses(judge, [])


# ---- read ----


@pytest.fixture
def save(tmp_path):
    def write(*rows):
        path = tmp_path / "rated.jsonl"
        path.write_text("".join(json.dumps({"instruction": "i", **row}) + "\n" for row in rows))
        return path

    return write


def test_ratings_of_one_person_a_column_or_of_all_in_a_list(save):
    path = save(
        {"response": "x", "r1": 4, "r2": "", "all": [1, 2, 3]},
        {"response": "y", "r1": "4.5", "r2": 2, "all": [None, 2, 2]},
    )
    rows = read_rated(path, people=["r1", "r2"]).rows
    assert [row.people for row in rows] == [(4, None), (4.5, 2)]
    rows = read_rated(path, people=["all"], scores=["r1"]).rows
    assert [(row.people, row.scores) for row in rows] == [
        ((1, 2, 3), {"r1": 4}),
        ((None, 2, 2), {"r1": 4.5}),
    ]


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ({"r": "good"}, "line 1: r: 'good' is not a number"),
        ({"r": True}, "line 1: r: True is not a number"),
        ({"r": "nan"}, "line 1: r: 'nan' is not a number"),
        ({"r": [1, "x"]}, r"line 1: r\[1\]: 'x' is not a number"),
        ({"r": None}, "nobody rated any of 1 responses"),
        ({"q": 3}, "no column r"),
    ],
)
def test_what_is_no_rating_is_said_with_its_place(save, row, says):
    with pytest.raises(DataError, match=says):
        read_rated(save({"response": "x", **row}), people=["r"])


def test_a_column_has_one_meaning(save):
    path = save({"response": "x", "r": 1})
    for people, scores in ((["r", "r"], []), (["r"], ["r"]), (["response"], []), ([], [])):
        with pytest.raises(ConfigError):
            read_rated(path, people=people, scores=scores)


# ---- from the command line ----


def test_judges_that_score_are_correlated_with_people(twopan, tmp_path):
    rows = [
        {"instruction": f"i{n}", "response": "x" * k, "system": f"s{k}", "human": k, "ours": -k}
        for n in range(3)
        for k in (1, 3, 5)
    ]
    path = tmp_path / "rated.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))

    def by_length(seen):
        prompt = seen.json["messages"][-1]["content"]
        return completion(f"Well.\nScore: {prompt.count('x' * 3) + 1 + prompt.count('x' * 5)}")

    with serve(otherwise=by_length) as server:
        args = ("meta-evaluate", path, "--people", "human", "--json", "-")
        asked = ("--judge", f"openai:fake@{server.url}", "--protocol", "pointwise")
        found = json.loads(twopan(*args, *asked, "--scores", "ours", check=0).stdout)
        assert len(server.requests) == 9
        dry = twopan(*args, *asked, "--dry-run", check=0)
        assert json.loads(dry.stdout)["runs"][0]["recalled"] == 9
        assert twopan(*args, *asked[:2], "--protocol", "pairwise", check=2).stdout == ""
    ours, given, length = found["trials"]
    assert ours["protocol"] == "pointwise"
    assert ours["correlations"]["item"]["spearman"]["estimate"] == pytest.approx(1)
    assert given["correlations"]["item"]["pearson"]["estimate"] == pytest.approx(-1)
    assert length["trivial"]
    assert found["systems"] == 3


@needs_data
@pytest.mark.parametrize(
    ("dimension", "pearson", "spearman"),
    [
        ("naturalness", 0.444, 0.514),
        ("coherence", 0.595, 0.613),
        ("engagingness", 0.557, 0.605),
        ("groundedness", 0.536, 0.575),
    ],
)
def test_r11_the_published_correlations_come_out_of_the_command(
    twopan, dimension, pearson, spearman
):
    done = twopan(
        "meta-evaluate", DATA / "topicalchat" / "topical_chat_unieval.parquet",
        "--map", "instruction=context", "--people", f"human_{dimension}",
        "--scores", f"unieval_{dimension}", "--json", "-", check=0,
    )  # fmt: skip
    found = json.loads(done.stdout)["trials"][0]["correlations"]["item"]
    assert round(found["pearson"]["estimate"], 3) == pearson
    assert round(found["spearman"]["estimate"], 3) == spearman
