"""What an effect takes, before anything is paid for."""

import json

import numpy as np
import pytest
from conftest import make_pairs
from test_gate import outcomes

from twopan.estimate import Estimate
from twopan.pipelines.gate import decide
from twopan.pipelines.plan import ASSUMED, plan
from twopan.stats.power import detectable, items_needed


def test_it_is_what_the_statistics_of_power_say():
    found = plan(rates=[0.6, 0.7], even=0.2, power=0.9, items=300)
    assert [needs.fixed for needs in found.needs] == [
        items_needed(rate, even=0.2, power=0.9) for rate in (0.6, 0.7)
    ]
    assert found.smallest == detectable(300, even=0.2, power=0.9)
    assert all(needs.sequential.cap == 300 for needs in found.needs)
    assert found.needs[1].sequential.promoted > 0.95


def test_a_fixed_gate_with_so_many_items_promotes_as_often_as_it_says():
    (needs,) = plan(rates=[0.7], even=0.3).needs
    rng = np.random.default_rng(0)
    letters = rng.choice(list("AtB"), p=[0.55, 0.3, 0.15], size=(400, needs.fixed))
    pairs = make_pairs(needs.fixed)
    promoted = [decide(pairs, outcomes("".join(run))).decision == "promote" for run in letters]
    assert np.mean(promoted) == pytest.approx(0.8, abs=0.06)


def test_given_no_number_of_items_a_sequential_gate_is_about_as_likely_to_promote():
    for needs in plan(rates=[0.65, 0.7, 0.8]).needs:
        assert needs.sequential.promoted == pytest.approx(0.8, abs=0.08)
        assert needs.sequential.items < needs.sequential.cap


def test_what_comes_out_even_is_the_pilots():
    pilot = outcomes("ABit" * 12 + "??")
    found = plan(rates=[0.7], pilot=pilot)
    assert (found.observed, found.even) == (48, 25 / 50)
    assert found.seen.estimate == 0.5
    assert plan(rates=[0.7], pilot=pilot, even=0.1).even == 0.1
    none = plan(rates=[0.7], pilot=outcomes("??"))
    assert (none.observed, none.even, none.seen) == (None, ASSUMED, None)


def test_what_is_out_of_reach_is_said():
    found = plan(rates=[0.9], even=0.3)
    assert found.needs[0].fixed is None
    assert "between 15.0% and 85.0%" in found.needs[0].why
    assert found.to_dict()["needs"][0]["cost_usd"]["fixed"] is None
    assert plan(rates=[0.6], items=3).smallest is None


def test_cost_is_that_of_the_pairs_at_hand():
    each = Estimate(
        pairs=10, calls=40, recalled=0, input_tokens=(1, 2), output_tokens=(1, 2),
        cost_usd=(0.1, 0.2),
    )  # fmt: skip
    found = plan(rates=[0.8], each=each)
    assert found.calls(25) == 100
    assert found.cost(25) == pytest.approx((0.25, 0.5))
    told = json.loads(json.dumps(found.to_dict()))["needs"][0]
    assert told["calls"]["fixed"] == 4 * told["fixed"]
    assert plan(rates=[0.8]).calls(25) is None


# The command


@pytest.fixture
def pairs_file(tmp_path):
    path = tmp_path / "pairs.jsonl"
    rows = [
        {"id": p.item.id, "instruction": p.item.instruction, "candidate": p.a.text,
         "baseline": p.b.text}
        for p in make_pairs(20)
    ]  # fmt: skip
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_the_command_needs_neither_key_nor_weights(twopan, pairs_file, tmp_path):
    for judge in ("openai:gpt-4o-mini", "local:somewhere.gguf"):
        done = twopan(
            "plan", pairs_file, "--judge", judge, "--protocol", "prepair", "--rate", 0.7,
            "--json", "-", env={"HOME": str(tmp_path)}, check=0,
        )  # fmt: skip
        (needs,) = json.loads(done.stdout)["needs"]
        assert needs["calls"]["fixed"] == 4 * needs["fixed"]
        assert needs["sequential"]["cap"] == 20


def test_the_command_prices_what_has_a_price(twopan, pairs_file, tmp_path):
    config = tmp_path / "c.toml"
    config.write_text(
        '[judges.mine]\nprovider = "openai"\nmodel = "m"\nbase_url = "http://127.0.0.1:9/v1"\n'
        "[judges.mine.price]\ninput = 1\noutput = 2\n"
    )
    done = twopan("plan", pairs_file, "--config", config, "--judge", "mine", "--rate", 0.7, check=0)
    assert "$" in done.stderr
    assert "20 items, all asked, show a win rate of: 7" in done.stdout


def test_without_files_it_says_how_many_items(twopan):
    done = twopan("plan", "--rate", 0.7, "--rate", 0.8, check=0)
    assert "70.0%" in done.stderr
    assert "30% of pairs come out even (assumed)" in done.stdout
    assert "Name files of pairs to know the calls and the cost" in done.stdout


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--rate", "0.5"], "not above the --threshold"),
        (["--rate", "1"], "range"),
        (["--verdicts", "v.jsonl"], "name the files of the pairs"),
        (["--even", "1"], "range"),
        (["nowhere.jsonl"], "nowhere.jsonl"),
    ],
)
def test_a_plan_that_makes_no_sense_is_refused(twopan, args, said):
    assert said in twopan("plan", *args, check=2).stderr
