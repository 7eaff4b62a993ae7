"""``twopan meta-evaluate``, run as a user runs it: real processes, real files, a real server."""

import json

import pytest
from published.recorded import DATA, needs_data
from servers.chat import completion, serve

ROWS = [
    {
        "id": str(n),
        "instruction": f"Say what is good about {n}.",
        "response_a": f"GOOD {n}." if n % 2 else f"POOR and rather long {n}.",
        "response_b": f"POOR and rather long {n}." if n % 2 else f"GOOD {n}.",
        "label": "a" if n % 2 else "b",
        "category": f"kind/{'odd' if n % 2 else 'even'}",
    }
    for n in range(8)
]


def by_prompt(seen):
    """Right where it is to answer with a letter; where it is to reason, it likes what is long."""
    prompt = seen.json["messages"][-1]["content"]
    good_first = prompt.index("GOOD") < prompt.index("POOR")
    if "Verdict: " in prompt:
        return completion(f"Well.\nVerdict: {'B' if good_first else 'A'}")
    usage = {"prompt_tokens": 100, "completion_tokens": 1}
    return completion("A" if good_first else "B", usage=usage)


@pytest.fixture
def server():
    with serve(otherwise=by_prompt) as server:
        yield server


@pytest.fixture
def save(tmp_path):
    def write(rows, name="labelled.jsonl"):
        path = tmp_path / name
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return path

    return write


def judge(server):
    return "--judge", f"openai:fake@{server.url}"


PROTOCOLS = ("--protocol", "pairwise", "--protocol", "pairwise-cot")


def trials(done):
    return {t["protocol"] or t["judge"]: t for t in json.loads(done.stdout)["trials"]}


def accuracy(trial, category="all pairs"):
    return trial["categories"][category]["accuracy"]["estimate"]


def test_each_protocol_is_measured_and_the_trivial_judges_beside_it(twopan, server, save):
    path = save(ROWS)
    done = twopan("meta-evaluate", path, *judge(server), *PROTOCOLS, "--json", "-", check=0)
    found = trials(done)
    assert (accuracy(found["pairwise"]), accuracy(found["pairwise-cot"])) == (1, 0)
    assert (accuracy(found["shortest"]), accuracy(found["longest"])) == (1, 0)
    assert accuracy(found["pairwise"], "kind/odd") == 1
    assert found["pairwise"]["cost"]["requests"] == 16
    (difference,) = json.loads(done.stdout)["differences"]
    assert (difference["first_only"], difference["second_only"]) == (8, 0)
    assert len(server.requests) == 32
    for words in ("Agreement with people", "Accuracy by category", "no judge at all", "sign test"):
        assert words in done.stderr
    assert max(map(len, done.stderr.splitlines())) <= 80

    again = twopan("meta-evaluate", path, *judge(server), *PROTOCOLS, "--json", "-", check=0)
    assert again.stdout == done.stdout, "what was bought once costs and counts the same"
    assert len(server.requests) == 32


def test_a_dry_run_counts_every_protocol_and_asks_nobody(twopan, server, save):
    protocols = (*PROTOCOLS, "--protocol", "prepair", "--protocol", "pairwise+odds")
    args = ("meta-evaluate", save(ROWS), *judge(server), *protocols, "--dry-run", "--json", "-")
    found = json.loads(twopan(*args, check=0).stdout)
    # What pairwise asks, pairwise+odds recalls.
    assert [run["calls"] for run in found["runs"]] == [16, 16, 32, 0]
    assert not server.requests


def test_one_budget_is_for_all_protocols_together(twopan, server, save):
    args = ("meta-evaluate", save(ROWS), *judge(server), *PROTOCOLS, "--budget", "20calls")
    done = twopan(*args, check=5)
    assert len(server.requests) == 20
    assert "run the same command again" in done.stderr
    twopan(*args, check=0)
    assert len(server.requests) == 32


def test_verdict_lines_of_several_runs_stand_in_for_the_judges(twopan, server, save):
    path = save(ROWS)
    lines = ""
    for protocol in ("pairwise", "pairwise-cot"):
        lines += twopan("judge", path, *judge(server), "--protocol", protocol, check=0).stdout
    verdicts = path.with_name("verdicts.jsonl")
    verdicts.write_text(lines)
    asked = len(server.requests)
    done = twopan("meta-evaluate", path, "--verdicts", verdicts, "--json", "-", check=0)
    found = trials(done)
    assert (accuracy(found["pairwise"]), accuracy(found["pairwise-cot"])) == (1, 0)
    assert len(server.requests) == asked
    one = ("--protocol", "*-cot")
    done = twopan("meta-evaluate", path, "--verdicts", verdicts, *one, "--json", "-", check=0)
    assert [t["protocol"] for t in json.loads(done.stdout)["trials"] if t["protocol"]] == [
        "pairwise-cot"
    ]
    done = twopan("meta-evaluate", path, "--verdicts", verdicts, "--judge", "nobody", check=2)
    assert "--judge nobody: not among the recorded ones; they are fake" in done.stderr


def test_people_who_voted_on_the_same_pair_are_counted_and_it_is_judged_once(
    twopan,
    server,
    save,
    tmp_path,
):
    def vote(winner):
        said = [{"role": "user", "content": "Say what is good."}]
        return {
            "question_id": 81, "model_a": "x", "model_b": "y", "turn": 1, "judge": "expert_1",
            "winner": winner,
            "conversation_a": [*said, {"role": "assistant", "content": "GOOD one."}],
            "conversation_b": [*said, {"role": "assistant", "content": "POOR one."}],
        }  # fmt: skip

    path = save([vote("model_a"), vote("model_a"), vote("model_b"), vote("tie")], "human.jsonl")
    args = ("meta-evaluate", path, "--format", "mtbench", *judge(server))
    found = trials(twopan(*args, "--json", "-", check=0))["pairwise"]
    assert len(server.requests) == 2
    cell = found["categories"]["all pairs"]
    assert (cell["pairs"], cell["tied"]) == (3, 1)
    assert cell["accuracy"]["estimate"] == pytest.approx(2 / 3)
    assert cell["accuracy"]["m"] == 1, "votes on one item are one cluster"


def test_only_some_categories_are_judged_where_only_some_are_asked_for(twopan, server, save):
    args = ("meta-evaluate", save(ROWS), *judge(server))
    twopan(*args, "--category", "kind/odd", check=0)
    assert len(server.requests) == 8
    done = twopan(*args, "--category", "kind/od", check=2)
    assert "--category kind/od: no pair is of it" in done.stderr
    assert "kind/odd" in done.stderr


@pytest.mark.parametrize(
    ("rows", "args", "says"),
    [
        ([{**ROWS[0], "label": None}], (), "none of 1 pairs says which response people preferred"),
        ([{**ROWS[0], "label": "0"}], (), "say what each means, as in --label 0=a"),
        ([{**ROWS[0], "label": "0"}], ("--label", "0=first"), "write --label VALUE=a, b or tie"),
        (ROWS, ("--format", "lmbar"), "llmbar"),
        (ROWS, (*PROTOCOLS, "--protocol", "prepare"), "prepair"),
        (ROWS, ("--level", "1"), "--level"),
    ],
)
def test_what_is_wrong_is_said_before_anybody_is_asked(twopan, server, save, rows, args, says):  # noqa: PLR0917
    done = twopan("meta-evaluate", save(rows), *judge(server), *args, check=2)
    assert says in done.stderr
    assert not server.requests


def test_labels_of_ones_own_are_given_a_meaning(twopan, server, save):
    rows = [{**row, "label": {"a": 0, "b": 1}[row["label"]]} for row in ROWS]
    args = ("meta-evaluate", save(rows), *judge(server), "--json", "-")
    done = twopan(*args, "--label", "0=a", "--label", "1=b", check=0)
    assert accuracy(trials(done)["pairwise"]) == 1


def test_a_judge_that_leaves_many_pairs_unjudged_is_measured_and_the_run_is_no_success(
    twopan,
    save,
):
    with serve(otherwise=lambda seen: completion("I cannot say.")) as server:
        args = ("meta-evaluate", save(ROWS), *judge(server), "--json", "-")
        done = twopan(*args, check=3)
    cell = trials(done)["pairwise"]["categories"]["all pairs"]
    assert cell["unjudged"] == {"unparsed": 8}
    assert cell["accuracy"]["estimate"] == 0
    assert "8 unparsed" in done.stderr


def test_pairs_without_a_label_are_said_and_not_paid_for(twopan, server, save):
    rows = [{**row, "label": row["label"] if n > 5 else None} for n, row in enumerate(ROWS)]
    done = twopan("meta-evaluate", save(rows), *judge(server), "--limit", "2", check=0)
    assert "6 pairs without a label were left out" in done.stderr
    assert len(server.requests) == 4


def test_what_is_wrong_with_the_last_judge_is_said_before_the_first_is_paid(twopan, server, save):
    path = save([{key: value for key, value in row.items() if key != "reference"} for row in ROWS])
    nobody = ("--judge", "openai:gpt-none")
    for args, says in (
        ((*judge(server), *nobody), "OPENAI_API_KEY"),
        ((*judge(server), *judge(server)), "is named twice"),
        ((*judge(server), "--protocol", "pairwise", "--protocol", "pairwise"), "is named twice"),
        ((*judge(server), "--jury"), "two judges under one protocol"),
    ):
        done = twopan("meta-evaluate", path, *args)
        assert done.returncode == 2, done.stderr
        assert says in done.stderr
    assert len(server.requests) <= 16, "only --jury is found out afterwards"


def test_a_record_that_covers_too_little_is_no_success(twopan, server, save):
    path = save(ROWS)
    lines = twopan("judge", path, *judge(server), "--limit", "3", check=0).stdout
    verdicts = path.with_name("three.jsonl")
    verdicts.write_text(lines)
    done = twopan("meta-evaluate", path, "--verdicts", verdicts, check=3)
    assert "of 3 pairs" in done.stdout
    assert "5 not_recorded" in done.stderr
    twopan("meta-evaluate", path, "--verdicts", verdicts, "--min-coverage", "0.3", check=0)


def test_a_sample_of_votes_is_a_sample_of_votes(twopan, server, save):
    rows = [
        {**ROWS[0], "id": f"q{n // 10}", "model_a": f"x{n % 10}", "model_b": "y"} for n in range(40)
    ]
    args = ("meta-evaluate", save(rows), *judge(server), "--limit", "10", "--seed", "1")
    found = json.loads(twopan(*args, "--json", "-", check=0).stdout)
    assert found["trials"][0]["categories"]["all pairs"]["accuracy"]["m"] > 2


def test_a_seed_draws_nothing_without_a_limit(twopan, server, save):
    done = twopan("meta-evaluate", save(ROWS), *judge(server), "--seed", "1", check=2)
    assert "--limit" in done.stderr
    assert not server.requests


def test_labels_that_are_true_or_false_are_given_a_meaning(twopan, server, save):
    rows = [{**row, "label": row["label"] == "a"} for row in ROWS]
    args = ("meta-evaluate", save(rows), *judge(server), "--json", "-")
    done = twopan(*args, "--label", "true=a", "--label", "false=b", check=0)
    assert accuracy(trials(done)["pairwise"]) == 1


@needs_data
def test_recorded_verdicts_of_a_hundred_thousand_looks_are_measured_from_one_command(twopan):
    """ChatGPT on LLMBar: comparing helps on Natural and harms on Adversarial (Jeong et al.)."""
    folder = DATA / "llmbar"
    done = twopan(
        "meta-evaluate", folder / "items.jsonl", "--category", "LLMBar",
        "--verdicts", folder / "judgments.parquet", "--judge", "GPT-4", "--judge", "ChatGPT",
        "--json", "-", check=0,
    )  # fmt: skip
    found = {(t["judge"], t["protocol"]): t for t in json.loads(done.stdout)["trials"]}
    assert len(found) == 27 + 5

    def percent(judge, protocol, category):
        return round(100 * accuracy(found[judge, protocol], f"LLMBar/{category}"), 1)

    assert percent("ChatGPT", "Rating", "Adversarial") == 42.6
    assert percent("ChatGPT", "Vanilla", "Adversarial") == 27.0
    assert percent("ChatGPT", "Rating", "Natural") == 68.5
    assert percent("ChatGPT", "Vanilla", "Natural") == 81.5
    assert percent("GPT-4", "Vanilla", "Adversarial") == 81.0
    assert percent("shortest", "", "Adversarial") == 82.0, "what a ruler gets right"
