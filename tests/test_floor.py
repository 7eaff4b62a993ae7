"""The floor: a promotion subject to a mean score that is not lower."""

import json
import random
from dataclasses import replace

import numpy as np
import pytest
from conftest import make_pairs
from servers.chat import completion, serve
from test_gate import outcomes

from twopan import rubric
from twopan.client import Budget
from twopan.errors import BudgetReached, ConfigError
from twopan.judges import find_protocol
from twopan.pipelines.floor import Floor, check, floor, worth
from twopan.pipelines.gate import Gate, decide
from twopan.report import render_gate
from twopan.stats.win_rate import win_rate
from twopan.verdict import Unjudged

pytestmark = pytest.mark.anyio
HELPFUL = rubric.load("helpfulness")


@pytest.fixture
def scorer(judge_that):
    """A judge that scores single responses on a rubric of five levels."""

    def make(reply, **client):
        judge, provider = judge_that(reply, "pointwise-direct", **client)
        return replace(judge, rubric=HELPFUL), provider

    return make


def says(of_good, of_poor):
    """A judge that scores good and poor responses like this."""
    return lambda prompt: str(of_good if "GOOD" in prompt else of_poor)


async def test_a_mean_that_is_not_lower_is_met_soon(scorer):
    judge, provider = scorer(says(5, 3))
    found = await floor([judge], make_pairs(300), margin=0.25, workers=2)
    assert (found.decision, found.means) == ("met", (5.0, 3.0))
    assert len(found.pairs) < 30
    assert len(provider.requests) <= 2 * (len(found.pairs) + 2)
    estimate, low, high = found.difference
    assert -0.25 < low < estimate == 2.0 <= high <= 4
    assert "mean score is 5.00 against 3.00" in found.because


async def test_a_mean_that_is_lower_is_broken(scorer):
    judge, _ = scorer(says(2, 4))
    for sequential in (True, False):
        found = await floor([judge], make_pairs(60), margin=0.5, sequential=sequential)
        assert found.decision == "broken"
        assert found.difference[2] < -0.5


async def test_equal_scores_are_stable_and_not_better(scorer):
    """However often the two are equal, that one is better is not shown."""
    judge, _ = scorer(says(4, 4))
    stable = await floor([judge], make_pairs(400), margin=0.5, sequential=False)
    better = await floor([judge], make_pairs(400), margin=0.0, sequential=False)
    assert (stable.decision, better.decision) == ("met", "undecided")
    assert (await floor([judge], make_pairs(400), margin=0.5)).decision == "met"
    few = await floor([judge], make_pairs(5), margin=0.5)
    assert few.decision == "undecided", "five items show little, though all are equal"


async def test_a_fixed_floor_is_the_interval_of_the_mean_difference(scorer):
    rng = random.Random(0)
    told = {f"{word} {n}.": rng.randint(1, 5) for n in range(80) for word in ("GOOD", "POOR")}
    judge, _ = scorer(lambda prompt: str(next(s for text, s in told.items() if text in prompt)))
    found = await floor([judge], make_pairs(80), margin=1, sequential=False)
    d = np.array([told[f"GOOD {n}."] - told[f"POOR {n}."] for n in range(80)])
    assert found.difference[0] == pytest.approx(d.mean())
    theirs = win_rate((d + 4) / 8)
    assert found.difference[1:] == pytest.approx(((theirs.low - 0.5) * 8, (theirs.high - 0.5) * 8))


async def test_a_missing_score_is_no_score_and_delays_it(scorer):
    judge, _ = scorer(lambda p: "Hm." if "GOOD 3" in p else says(5, 3)(p))
    found = await floor([judge], make_pairs(30), margin=0.5, sequential=False)
    assert found.unjudged == {"unparsed": 1}
    assert len(found.scores) == 29
    silent, _ = scorer(lambda p: "Hm." if "POOR" in p else "5")
    nothing = await floor([silent], make_pairs(110)[100:], margin=0.5)
    assert (nothing.decision, nothing.means, nothing.difference) == ("undecided", None, None)
    assert "only 0 of 10 pairs got two scores" in nothing.because
    assert nothing.to_dict()["candidate"] is None


async def test_of_a_jury_the_mean_counts(scorer):
    one, _ = scorer(says(5, 1))
    other, _ = scorer(lambda p: says(3, 3)(p) + "\n")
    found = await floor([one, other], make_pairs(20), margin=0.5)
    assert found.means == (4.0, 2.0)


async def test_a_budget_that_ends_what_is_no_longer_needed_ends_nothing(scorer):
    judge, _ = scorer(says(5, 1), budget=Budget(calls=30), concurrency=1)
    assert (await floor([judge], make_pairs(500), margin=1, workers=2)).decision == "met"
    judge, _ = scorer(lambda p: says(5, 1)(p) + " ", budget=Budget(calls=3), concurrency=1)
    with pytest.raises(BudgetReached):
        await floor([judge], make_pairs(600)[500:], margin=1, workers=2)


def test_what_gives_no_scores_holds_no_floor():
    for name in ("pairwise", "prepair", "likelihood"):
        with pytest.raises(ConfigError, match=f"{name} gives none"):
            check(find_protocol(name), HELPFUL, 0.5)
    for margin in (-0.1, 4.0, 5.0):
        with pytest.raises(ConfigError, match="from 0 to less than 4"):
            check(find_protocol("pointwise"), HELPFUL, margin)
    assert check(find_protocol("prometheus"), HELPFUL, 0.5) == 4


# The promotion


def held(decision):
    low, high = {"met": (5, 3), "broken": (1, 4), "undecided": (3, 3)}[decision]
    pairs = make_pairs(40)
    scores = (
        [(float(low), float(high))] * 40
        if decision != "undecided"
        else [(float(n % 5 + 1), float((n + 2) % 5 + 1)) for n in range(40)]
    )
    return Floor(
        pairs=tuple(pairs), outcomes=tuple(scores), signature="s", margin=0.25, span=4.0,
        level=0.95, min_coverage=0.95,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("letters", "floor_says", "decision"),
    [
        ("A" * 40, "met", "promote"),
        ("A" * 40, "broken", "keep"),
        ("A" * 40, "undecided", "inconclusive"),
        ("B" * 40, "met", "keep"),
        ("AB" * 20, "met", "inconclusive"),
    ],
)
def test_a_promotion_needs_both(letters, floor_says, decision):
    result = replace(decide(make_pairs(40), outcomes(letters)), floor=held(floor_says))
    assert result.floor.decision == floor_says
    assert result.decision == decision
    assert result.to_dict()["floor"]["decision"] == floor_says
    assert "mean score is" in result.because
    page = render_gate(result)
    assert "<dt>Floor</dt>" in page
    assert isinstance(result, Gate)


def test_a_difference_is_on_the_scale_that_bets_are_made_on():
    assert [worth((a, b), 4) for a, b in ((5, 1), (4, 2), (3, 3), (1, 5))] == [1, 0.75, 0.5, 0]


def test_unjudged_pairs_count_against_coverage():
    known = held("met")
    gone = [Unjudged(item_id=str(n), reason="refused") for n in range(10)]
    few = replace(known, outcomes=(*known.outcomes[10:], *gone))
    assert (few.decision, few.unjudged) == ("undecided", {"refused": 10})


# The command


def answers(score):
    """Prefers GOOD in pairs; scores single responses."""

    def reply(seen):
        prompt = seen.json["messages"][-1]["content"]
        if "<response_a " not in prompt:
            return completion(f"Score: {score['GOOD' if 'GOOD' in prompt else 'POOR']}")
        return completion("A" if prompt.index("GOOD") < prompt.index("POOR") else "B")

    return reply


@pytest.fixture
def pairs_file(tmp_path):
    path = tmp_path / "pairs.jsonl"
    rows = [
        {"id": p.item.id, "instruction": p.item.instruction, "candidate": p.a.text,
         "baseline": p.b.text}
        for p in make_pairs(80)
    ]  # fmt: skip
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize(("good", "status", "said"), [(5, 0, "met"), (1, 1, "broken")])
def test_the_command_scores_only_where_the_win_rate_suffices(
    twopan, pairs_file, good, status, said
):
    with serve(otherwise=answers({"GOOD": good, "POOR": 3})) as server:
        args = ["gate", pairs_file, "--judge", f"openai:fake@{server.url}", "--floor", 0.5]
        args += ["--concurrency", 1]
        told = twopan(*args, "--dry-run", check=0)
        assert "then the floor" in told.stderr
        assert not server.requests
        done = twopan(*args, "--json", "-", check=status)
        result = json.loads(done.stdout)
        assert result["floor"]["decision"] == said
        assert f"floor: {said}" in done.stderr
        asked = len(server.requests)
        assert result["run"]["calls"] == asked < 160
        again = json.loads(twopan(*args, "--json", "-", check=status).stdout)
        assert (len(server.requests), again["floor"]) == (asked, result["floor"])


def test_a_worse_candidate_is_not_scored(twopan, pairs_file):
    swapped = pairs_file.with_name("swapped.jsonl")
    rows = [json.loads(line) for line in pairs_file.read_text().splitlines()]
    lines = [{**r, "candidate": r["baseline"], "baseline": r["candidate"]} for r in rows]
    swapped.write_text("".join(json.dumps(row) + "\n" for row in lines))
    with serve(otherwise=answers({"GOOD": 5, "POOR": 3})) as server:
        url = f"openai:fake@{server.url}"
        done = twopan("gate", swapped, "--judge", url, "--floor", 0.5, "--json", "-", check=1)
        assert json.loads(done.stdout)["floor"] is None
        assert all("<response_a " in r.json["messages"][-1]["content"] for r in server.requests)


def test_both_share_one_budget(twopan, pairs_file):
    with serve(otherwise=answers({"GOOD": 5, "POOR": 3})) as server:
        args = ["gate", pairs_file, "--judge", f"openai:fake@{server.url}", "--floor", 0.5]
        args += ["--concurrency", 1, "--json", "-"]
        twopan(*args, "--budget", "20calls", check=5)
        assert len(server.requests) == 20
        twopan(*args, check=0)


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--floor", "4"], "from 0 to less than 4"),
        (["--floor", "-1"], "-1"),
        (["--floor", "nan"], "not a finite number"),
        (["--floor", "0.5", "--floor-protocol", "pairwise"], "pairwise gives none"),
        (["--floor", "0.5", "--floor-protocol", "pointwize"], "pointwise"),
        (["--floor", "0.5", "--verdicts", "v.jsonl"], "--verdicts asks nobody"),
    ],
)
def test_a_floor_that_cannot_be_held_is_refused_before_any_call(twopan, pairs_file, args, said):
    done = twopan(
        "gate", pairs_file, "--judge", "openai:fake@http://127.0.0.1:9/v1", *args, check=2
    )
    assert said in done.stderr
