"""The few lines of a script, as the README has them."""

import asyncio
import json
import subprocess
import sys
from dataclasses import replace

import pytest
from conftest import make_pairs
from servers.chat import completion, serve
from test_cli import letter_of

import twopan


@pytest.fixture
def spec():
    with serve(otherwise=letter_of) as server:
        yield f"openai:fake@{server.url}"


def test_four_lines_are_enough(spec, tmp_path):
    pairs = make_pairs(12)
    result = twopan.run(twopan.gate(pairs, judge=spec, ledger=tmp_path / "l.sqlite"))
    assert result.decision == "promote"
    assert str(result).startswith("promote: ")


def test_it_works_where_a_loop_is_running_as_in_a_notebook(spec, tmp_path):
    async def cell():
        return twopan.run(twopan.gate(make_pairs(12), judge=spec, ledger=tmp_path / "l.sqlite"))

    assert asyncio.run(cell()).decision == "promote"


def test_a_notebook_shows_the_decision_with_its_interval(spec, tmp_path):
    result = twopan.run(twopan.gate(make_pairs(12), judge=spec, ledger=tmp_path / "l.sqlite"))
    html = result._repr_html_()
    assert "romote" in html
    assert f"{result.rate.low:.1%}" in html
    assert "<script" not in html


def test_a_jury_is_several_judges(spec, tmp_path):
    outcomes = twopan.run(
        twopan.judge_pairs(
            make_pairs(3), judge=[spec, spec.replace("fake", "other")], ledger=tmp_path / "l.sqlite"
        )
    )
    assert [len(outcome.votes) for outcome in outcomes] == [2, 2, 2]


def test_the_same_judge_twice_is_no_jury(spec, tmp_path):
    with pytest.raises(twopan.TwopanError, match="named twice"):
        twopan.run(twopan.judge_pairs(make_pairs(1), judge=[spec, spec], ledger=tmp_path / "l"))


def test_judges_are_measured_against_labels(spec, tmp_path):
    pairs = [replace(pair, label=twopan.Choice.A) for pair in make_pairs(6)]
    ledger = tmp_path / "l.sqlite"
    found = twopan.run(
        twopan.meta_evaluate(
            [*pairs, replace(pairs[0], label=twopan.Choice.B)],
            judge=spec,
            protocols=[None, "pairwise+odds"],
            ledger=ledger,
        )
    )
    assert [t.protocol for t in found.trials[:2]] == ["pairwise", "pairwise+odds"]
    assert found.cells[0]["all pairs"].accuracy.estimate == pytest.approx(6 / 7)
    assert found.trials[0].cost.requests == 12
    with pytest.raises(twopan.TwopanError, match="none of 2 pairs says which"):
        twopan.run(twopan.meta_evaluate(make_pairs(2), judge=spec, ledger=ledger))


def test_a_null_model_is_not_decided_upon_unless_that_is_wanted(spec, tmp_path):
    constant = [
        twopan.Pair(
            item=pair.item,
            a=twopan.Response(item_id=pair.item.id, system="candidate", text="GOOD, pick me!"),
            b=pair.b,
        )
        for pair in make_pairs(30)
    ]
    options = {"judge": spec, "ledger": tmp_path / "l.sqlite"}
    blocked = twopan.run(twopan.gate(constant, **options))
    allowed = twopan.run(twopan.gate(constant, allow_suspicious=True, **options))
    assert (blocked.decision, allowed.decision) == ("inconclusive", "promote")
    assert "suspicious" in blocked.because


def test_a_session_tells_what_it_spent(spec, tmp_path):
    async def judged():
        with twopan.Ledger(tmp_path / "l.sqlite") as ledger:
            async with twopan.open_session([spec], ledger=ledger) as session:
                await twopan_judge(session)
                return session.spent()

    async def twopan_judge(session):
        from twopan.jury import judge_pairs

        await judge_pairs(session.jury, make_pairs(4))

    spent = asyncio.run(judged())
    assert (spent.calls, spent.recalled, spent.unpriced) == (8, 0, 8)
    assert spent.served == {"fake-judge-1": 8}


def test_the_module_can_be_run():
    done = subprocess.run(
        [sys.executable, "-m", "twopan", "--version"], capture_output=True, text=True, check=True
    )
    assert twopan.__version__ in done.stdout


def test_several_systems_are_ranked_and_go_on_from_the_ledger(tmp_path):
    paths = []
    for k in range(3):
        path = tmp_path / f"s{k}.jsonl"
        rows = [
            {"id": i, "instruction": f"Add {i}.", "response": "GOOD " * (3 - k) + f"{i}"}
            for i in range(30)
        ]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        paths.append(path)
    with serve(otherwise=letter_of) as server:
        how = {"judge": f"openai:fake@{server.url}", "ledger": tmp_path / "l.sqlite"}
        entries = twopan.read_entries(paths)
        board = twopan.run(twopan.rank(entries, resolve="top1", **how))
        assert [board.systems[s] for s in board.settled.best] == ["s0"]
        asked = len(server.requests)
        again = twopan.run(twopan.rank(entries, resolve="top1", **how))
        assert (len(server.requests), again.known) == (asked, len(board.games))
    assert str(board).startswith("s0 is the best")
    assert "The board" in twopan.render_ranking(board)


def test_a_promotion_with_a_floor(tmp_path):
    def reply(seen):
        prompt = seen.json["messages"][-1]["content"]
        if "<response_a " in prompt:
            return letter_of(seen)
        return completion("Score: 5" if "GOOD" in prompt else "Score: 2")

    with serve(otherwise=reply) as server:
        how = {"judge": f"openai:fake@{server.url}", "ledger": tmp_path / "l.sqlite"}
        result = twopan.run(twopan.gate(make_pairs(40), floor=0.5, **how))
        assert (result.decision, result.floor.decision) == ("promote", "met")
        asked = len(server.requests)
        with pytest.raises(twopan.TwopanError, match="gives none"):
            twopan.run(twopan.gate(make_pairs(9), floor=0.5, floor_protocol="pairwise", **how))
        assert len(server.requests) == asked, "refused before any call"
