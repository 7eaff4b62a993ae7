"""The command line, run as a user runs it: real processes, real files, a real server."""

import json
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from servers.chat import completion, serve

ROOT = Path(__file__).parent.parent
CANDIDATE, BASELINE = (str(ROOT / "examples" / f"{n}.jsonl") for n in ("candidate", "baseline"))


def letter_of(seen):
    """An honest judge: it prefers GOOD; where neither is, the one whose text is longer."""
    prompt = seen.json["messages"][-1]["content"]
    a, b = (prompt.partition(f"<response_{x} ")[2].partition("</response_")[0] for x in "ab")
    letter = "A" if ("GOOD" in a, len(a)) > ("GOOD" in b, len(b)) else "B"
    return completion(letter, usage={"prompt_tokens": len(prompt) // 4, "completion_tokens": 1})


@pytest.fixture
def pairs_file(tmp_path):
    def make(n=20, name="pairs.jsonl"):
        path = tmp_path / name
        rows = [
            {
                "id": str(i),
                "instruction": f"Say what is good about {i}.",
                "response_a": f"GOOD {i}.",
                "response_b": f"POOR and rather long {i}.",
            }
            for i in range(n)
        ]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return path

    return make


@pytest.fixture
def server():
    with serve(otherwise=letter_of) as server:
        yield server


def judge(server):
    return "--judge", f"openai:fake@{server.url}"


def attempts(ledger):
    with sqlite3.connect(ledger) as db:
        return dict(db.execute("select outcome, count(*) from attempts group by 1").fetchall())


# ---- gate ----


def test_a_better_candidate_is_promoted_with_status_0(twopan, pairs_file, server, tmp_path):
    args = ["gate", pairs_file(), *judge(server), "--fixed", "--report", "r.html"]
    done = twopan(*args, "--json", "r.json", check=0)
    assert done.stdout.startswith("promote: ")
    result = json.loads((tmp_path / "r.json").read_text())
    assert (result["decision"], result["wins"], result["run"]["calls"]) == ("promote", 20, 40)
    assert "<!doctype html>" in (tmp_path / "r.html").read_text(encoding="utf-8").lower()


def test_no_more_is_asked_than_the_decision_takes(twopan, pairs_file, server, tmp_path):
    """Nine wins in a row are evidence; as many pairs more were under way as run at once."""
    args = ["gate", pairs_file(200), *judge(server), "--concurrency", 4, "--report", "r.html"]
    done = twopan(*args, "--json", "r.json", check=0)
    assert "after 9 of 200 pairs" in done.stdout
    assert "The other 191 pairs were not needed." in done.stdout
    result = json.loads((tmp_path / "r.json").read_text())
    assert (result["decision"], result["pairs"], result["available"]) == ("promote", 9, 200)
    assert result["sequential"]["stopped"] == "evidence"
    assert 18 <= len(server.requests) <= 2 * (9 + 4)
    assert "9 of 200 pairs were asked" in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_a_stopped_gate_goes_on_to_the_same_decision(twopan, pairs_file, server):
    args = ["gate", pairs_file(200), *judge(server), "--concurrency", 1, "--seed", 7]
    twopan(*args, "--budget", "10calls", check=5)
    asked = len(server.requests)
    again = json.loads(twopan(*args, "--json", "-", check=0).stdout)
    assert asked == 10
    assert len(server.requests) == 18
    assert (again["pairs"], again["sequential"]["seed"]) == (9, 7)


def test_a_sequential_gate_may_be_replayed_from_its_verdicts(twopan, pairs_file, server, tmp_path):
    path = pairs_file(40)
    live = json.loads(twopan("gate", path, *judge(server), "--json", "-", check=0).stdout)
    (run,) = twopan("ledger", "runs", "--json", check=0).stdout.splitlines()
    lines = twopan("ledger", "export", json.loads(run)["run"], check=0).stdout
    (tmp_path / "v.jsonl").write_text(lines)
    recorded = ["gate", path, "--verdicts", "v.jsonl", "--json", "-"]
    again = json.loads(twopan(*recorded, "--sequential", check=0).stdout)
    for result in (live, again):
        del result["run"]
    assert again == live
    fixed = twopan(*recorded, check=3)
    assert "a gate that stopped early, say --sequential" in fixed.stderr


def test_a_dry_run_says_that_a_sequential_gate_may_take_less(twopan, pairs_file, server):
    args = ["gate", pairs_file(), *judge(server), "--dry-run"]
    assert "if it never stops early" in twopan(*args, check=0).stderr
    assert "early" not in twopan(*args, "--fixed", check=0).stderr
    assert not server.requests


def test_a_worse_candidate_keeps_the_baseline_with_status_1(twopan, tmp_path, server):
    rows = [
        {
            "id": str(i),
            "instruction": "Say.",
            "response_a": f"POOR {i}.",
            "response_b": f"GOOD {i}.",
        }
        for i in range(20)
    ]
    (tmp_path / "p.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert twopan("gate", "p.jsonl", *judge(server), check=1).stdout.startswith("keep: ")


def test_too_little_evidence_is_inconclusive_with_status_4(twopan, pairs_file, server):
    done = twopan("gate", pairs_file(3), *judge(server), check=4)
    assert done.stdout.startswith("inconclusive: ")


def test_too_few_verdicts_could_not_finish_with_status_3(twopan, pairs_file):
    with serve(otherwise=lambda seen: completion("Both are nice.")) as server:
        done = twopan("gate", pairs_file(5), *judge(server), check=3)
    assert "0 of 5 pairs were judged" in done.stdout
    assert "unparsed" in done.stderr


def test_a_second_run_is_served_from_the_ledger_from_anywhere(twopan, pairs_file, server, tmp_path):
    path = pairs_file()
    args = ["gate", path, *judge(server), "--fixed"]
    twopan(*args, check=0)
    asked = len(server.requests)
    (tmp_path / "elsewhere").mkdir()
    done = twopan(*args, "--json", "-", cwd=tmp_path / "elsewhere")
    run = json.loads(done.stdout)["run"]
    assert (len(server.requests), run["calls"], run["recalled"]) == (asked, 0, 40)
    assert "ledger.sqlite" in done.stderr


def test_a_changed_rubric_is_another_judge_and_mixes_with_nothing(twopan, pairs_file, server):
    path = pairs_file(5)
    one = json.loads(twopan("gate", path, *judge(server), "--json", "-").stdout)
    other = json.loads(
        twopan("gate", path, *judge(server), "--rubric", "conciseness", "--json", "-").stdout
    )
    assert one["signature"] != other["signature"]
    assert other["run"]["recalled"] == 0


def test_json_on_standard_output_is_json_and_nothing_else(twopan, pairs_file, server):
    done = twopan("gate", pairs_file(), *judge(server), "--json", "-")
    json.loads(done.stdout, parse_constant=lambda c: pytest.fail(f"{c} is not JSON"))


def test_two_files_are_joined_and_what_is_left_over_is_listed(twopan, server, tmp_path):
    for name, ids in (("a", "123"), ("b", "234")):
        rows = [{"id": i, "prompt": "Say.", "response": f"{name} {i}"} for i in ids]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    done = twopan("gate", "a.jsonl", "b.jsonl", *judge(server), "--json", "-")
    result = json.loads(done.stdout)
    assert (result["pairs"], result["candidate"], result["baseline"]) == (2, "a", "b")
    assert done.stderr.count("have no partner") == 2


def test_the_output_may_be_read_by_head(pairs_file, server, env, tmp_path):
    command = (
        f"{sys.executable} -m twopan judge {pairs_file(200)} {' '.join(judge(server))} | head -1"
    )
    done = subprocess.run(
        command, shell=True, capture_output=True, text=True, cwd=tmp_path, env=env, timeout=120,
        check=False,
    )  # fmt: skip
    json.loads(done.stdout)
    assert "Traceback" not in done.stderr
    assert "BrokenPipe" not in done.stderr


def test_text_is_utf8_whatever_the_locale_says(twopan, server, tmp_path):
    row = {"id": "1", "instruction": "é你", "response_a": "✅ GOOD", "response_b": "😀"}
    (tmp_path / "d.jsonl").write_text(json.dumps(row, ensure_ascii=False), encoding="utf-8")
    done = twopan(
        "judge", "d.jsonl", *judge(server), env={"LC_ALL": "C", "PYTHONUTF8": "0"}, check=0
    )
    assert json.loads(done.stdout)["choice"] == "a"
    assert "é你" in server.requests[0].json["messages"][-1]["content"]


def test_standard_input_is_a_file_called_dash(twopan, pairs_file, server):
    text = pairs_file(8).read_text()
    done = twopan("gate", "-", *judge(server), "--json", "-", input=text)
    assert json.loads(done.stdout)["pairs"] == 8


# ---- judge, verdict lines ----


def test_verdict_lines_come_in_the_order_of_the_pairs_at_any_concurrency(twopan, pairs_file):
    path, lines = pairs_file(30), []
    for concurrency in (1, 16):
        with serve(otherwise=letter_of, latency_s=0.002) as server:
            done = twopan(
                "judge", path, "--judge", f"openai:fake@{server.url}", "--concurrency", concurrency,
                "--ledger", f"{concurrency}.sqlite", check=0,
            )  # fmt: skip
            lines.append(done.stdout.replace(server.url, "URL"))
    assert lines[0] == lines[1]
    assert [json.loads(line)["item"] for line in lines[0].splitlines()] == [
        str(i) for i in range(30)
    ]


def test_recorded_verdicts_stand_in_for_a_judge(twopan, pairs_file, server, tmp_path):
    path = pairs_file()
    (tmp_path / "v.jsonl").write_text(twopan("judge", path, *judge(server), check=0).stdout)
    asked = len(server.requests)
    done = twopan("gate", path, "--verdicts", "v.jsonl", check=0)
    assert done.stdout.startswith("promote: ")
    assert len(server.requests) == asked


def test_a_verdict_on_other_texts_is_none_on_these(twopan, pairs_file, server, tmp_path):
    path = pairs_file()
    (tmp_path / "v.jsonl").write_text(twopan("judge", path, *judge(server), check=0).stdout)
    path.write_text(path.read_text().replace("POOR", "BETTER"))
    done = twopan("gate", path, "--verdicts", "v.jsonl", "--json", "-", check=3)
    assert json.loads(done.stdout)["unjudged"] == {"not_recorded": 20}


def test_a_verdict_line_that_contradicts_its_votes_is_refused(twopan, pairs_file, server, tmp_path):
    path = pairs_file(2)
    lines = twopan("judge", path, *judge(server), check=0).stdout
    for edited, said in (
        (lines.replace('"choice": "a", "a_score"', '"choice": "b", "a_score"'), "votes say"),
        (lines.replace('"p_a": null', '"p_a": 7'), "<= 1"),
    ):
        (tmp_path / "v.jsonl").write_text(edited)
        assert said in twopan("gate", path, "--verdicts", "v.jsonl", check=2).stderr


def test_a_pair_without_a_recorded_verdict_is_unjudged(twopan, pairs_file, server, tmp_path):
    path = pairs_file()
    lines = twopan("judge", path, *judge(server), check=0).stdout.splitlines()
    (tmp_path / "v.jsonl").write_text("\n".join(lines[:10]))
    done = twopan("gate", path, "--verdicts", "v.jsonl", "--json", "-", check=3)
    assert json.loads(done.stdout)["unjudged"] == {"not_recorded": 10}


# ---- before anything is paid ----


def test_a_dry_run_says_what_it_would_take_and_calls_nobody(twopan, pairs_file, server):
    done = twopan("gate", pairs_file(100), *judge(server), "--dry-run", "--json", "-", check=0)
    told = json.loads(done.stdout)
    assert (told["pairs"], told["calls"], told["recalled"]) == (100, 200, 0)
    assert told["cost_usd"] is None
    assert "no price" in done.stderr
    assert server.requests == []


def test_a_dry_run_knows_what_the_ledger_holds_and_what_prepair_shares(twopan, pairs_file, server):
    path = pairs_file(4)
    told = json.loads(
        twopan(
            "gate", path, *judge(server), "--protocol", "prepair", "--dry-run", "--json", "-"
        ).stdout
    )
    assert told["calls"] == 16
    twopan("gate", path, *judge(server))
    told = json.loads(twopan("gate", path, *judge(server), "--dry-run", "--json", "-").stdout)
    assert (told["calls"], told["recalled"]) == (0, 8)


WRONG = [
    (["gate", "absent.jsonl"], ["absent.jsonl"]),
    (["gate", "empty.jsonl"], ["empty.jsonl", "0 rows"]),
    (["gate", "broken.jsonl"], ["broken.jsonl: line 2"]),
    (["gate", "columns.jsonl"], ["response_a", "frage"]),
    (["gate", "twice.jsonl"], ["twice.jsonl: line 2", "id"]),
    (["gate", "pairs.jsonl", "--treshold", "0.5"], ["--threshold"]),
    (["gate", "pairs.jsonl", "--threshold", "7"], ["threshold"]),
    (["gat", "pairs.jsonl"], ["did you mean gate"]),
    (["gate", "pairs.jsonl", "--config", "misspelt.toml"], ["treshold", "threshold"]),
    (["gate", "pairs.jsonl", "--config", "c.yaml"], ["c.yaml", "TOML"]),
    (["gate", "pairs.jsonl", "--config", "key.toml"], ["key_env"]),
    (["gate", "pairs.jsonl", "--judge", "opnai:x"], ["openai"]),
    (["gate", "pairs.jsonl", "--judge", "openai:x"], ["OPENAI_API_KEY"]),
    (["gate", "pairs.jsonl", "--judge", "local:nothing"], ["qwen2.5-coder-1.5b"]),
    (["gate", "pairs.jsonl", "--judge", "local:no.gguf"], ["no.gguf"]),
    (["gate", "pairs.jsonl", "--rubric", "helpfullness"], ["did you mean helpfulness"]),
    (["gate", "pairs.jsonl", "--protocol", "pairwize"], ["did you mean pairwise"]),
    (["gate", "pairs.jsonl", "--prompts", "nowhere"], ["nowhere"]),
    (["gate", "pairs.jsonl", "--budget", "lots"], ["--budget"]),
    (["gate", "pairs.jsonl", "--map", "instrction=x"], ["instruction"]),
    (["gate", "pairs.jsonl", "--report", "/proc/x/r.html"], ["/proc/x/r.html"]),
    (["gate", "pairs.jsonl", "--ledger", "/proc/x/l.sqlite"], ["/proc/x/l.sqlite"]),
    (["gate", "pairs.jsonl", "--judge", "openai:x@http://h/v1?key=sk-CANARY00000000"], ["key"]),
    (["gate", "a", "b", "c"], ["two files"]),
    (["judge", "pairs.jsonl", "--verdicts", "v"], ["--verdicts"]),
    (["gate", "pairs.jsonl", "--config", "slots.toml", "--judge", "mine"], ["concurrency", "1"]),
    (["gate", "pairs.jsonl", "--samples", "3"], ["--temperature"]),
    (["gate", "pairs.jsonl", "--report", "pairs.jsonl"], ["pairs.jsonl is read"]),
    (["gate", "pairs.jsonl", "--json", "l", "--ledger", "l"], ["the ledger is there"]),
    (["gate", "pairs.jsonl", "--json", "x", "--report", "x"], ["--report goes there"]),
    (["gate", "pairs.jsonl", "--report", "-"], ["name of a file"]),
    (["gate", "pairs.jsonl", "--threshold", "nan"], ["finite"]),
    (["gate", "pairs.jsonl", "--dry-run", "--budget", "2,50"], ["--budget"]),
    (["gate", "pairs.jsonl", "--config", "five.toml"], ["report must be text"]),
    (["gate", "semicolons.csv"], ["separated by ';'"]),
    (["ledger", "runs"], ["no ledger"]),
    (["rubrics", "helpfulnes"], ["did you mean helpfulness"]),
]


@pytest.mark.parametrize(("args", "said"), WRONG, ids=[" ".join(args) for args, _ in WRONG])
def test_bad_input_gets_one_clear_line_and_status_2(twopan, pairs_file, tmp_path, args, said):
    pairs_file(2)
    row = json.dumps({"id": "1", "instruction": "i", "response_a": "a", "response_b": "b"})
    files = {
        "empty.jsonl": "",
        "broken.jsonl": f"{row}\n{{\n",
        "columns.jsonl": json.dumps({"frage": "x"}),
        "twice.jsonl": f"{row}\n{row}\n",
        "misspelt.toml": "treshold = 0.5\n",
        "five.toml": "report = 5\n",
        "semicolons.csv": "\ufeffid;instruction;response_a;response_b\n1;i;a;b\n",
        "slots.toml": '[judges.mine]\nprovider = "openai:m"\nconcurrency = 0\n',
        "c.yaml": "judge: {model: m}\nswap_ordr: true\n",
        "key.toml": '[judges.mine]\nprovider = "openai"\nmodel = "m"\napi_key = "sk-CANARY000"\n',
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    if "key.toml" in args:
        args = [*args, "--judge", "mine"]
    done = twopan(*args, check=2)
    for word in said:
        assert word in done.stderr, done.stderr
    assert "CANARY" not in done.stderr + done.stdout
    assert done.stdout == ""


def test_a_server_that_is_not_there_ends_the_run_with_status_3(twopan, pairs_file):
    done = twopan("gate", pairs_file(5), "--judge", "openai:x@http://127.0.0.1:9/v1", check=3)
    assert "127.0.0.1" in done.stderr


def test_a_key_that_is_refused_ends_the_run_at_once_and_is_shown_nowhere(
    twopan, pairs_file, tmp_path
):
    key = "sk-CANARY0000000000000000"
    refusal = {"status": 401, "json": {"error": {"message": f"Incorrect API key: {key}"}}}
    with serve(otherwise=lambda seen: refusal) as server:
        done = twopan(
            "gate", pairs_file(50), *judge(server), "--key-env", "MY_KEY", "--report", "r.html",
            env={"MY_KEY": key}, check=3,
        )  # fmt: skip
        assert server.requests[0].headers["Authorization"] == f"Bearer {key}"
        assert len(server.requests) <= 32  # of 100: those under way, and their successors
    assert "CANARY" not in done.stdout + done.stderr
    for file in tmp_path.rglob("*"):
        if file.is_file():
            assert b"CANARY" not in file.read_bytes(), file


def test_a_key_for_openai_is_not_sent_to_anybody_else(twopan, pairs_file, server):
    twopan("gate", pairs_file(1), *judge(server), env={"OPENAI_API_KEY": "sk-CANARY00000000"})
    assert all("Authorization" not in seen.headers for seen in server.requests)


# ---- stopping and going on ----


def start(env, tmp_path, *args):
    return subprocess.Popen(
        [sys.executable, "-m", "twopan", *map(str, args)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path, env=env,
    )  # fmt: skip


def wait_for(condition, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_leaves_a_run_that_goes_on_where_it_stopped(
    twopan, pairs_file, env, tmp_path, number
):
    path = pairs_file(100)
    with serve(otherwise=letter_of, latency_s=0.05) as server:
        args = ["gate", path, *judge(server), "--fixed", "--ledger", "l.sqlite"]
        args += ["--concurrency", 4]
        process = start(env, tmp_path, *args)
        wait_for(lambda: len(server.requests) > 40)
        process.send_signal(number)
        _, said = process.communicate(timeout=60)
        assert process.returncode == 130, said
        assert "run the same command again" in said
        assert "twopan gate" in said
        assert "Traceback" not in said
        assert attempts(tmp_path / "l.sqlite").keys() == {"answered"}
        done = twopan(*args, "--json", "-", check=0)
        assert len(server.requests) == 200
    assert json.loads(done.stdout)["wins"] == 100


def test_after_kill_9_nothing_acknowledged_is_lost_and_little_is_asked_again(
    twopan, pairs_file, env, tmp_path
):
    path, asked_before = pairs_file(60), 0
    with serve(otherwise=letter_of, latency_s=0.02) as server:
        args = ["gate", path, *judge(server), "--fixed", "--ledger", "l.sqlite"]
        args += ["--concurrency", 4]
        for target in (20, 50, 80):
            process = start(env, tmp_path, *args)
            wait_for(lambda goal=target: len(server.requests) > goal)
            process.kill()
            process.communicate(timeout=60)
            with sqlite3.connect(tmp_path / "l.sqlite") as db:
                answered = db.execute("select count(*) from replies").fetchone()[0]
            assert answered >= asked_before
            asked_before = answered
        done = twopan(*args, "--json", "-", check=0)
        calls = len(server.requests)
    assert calls <= 120 + 3 * 4
    outcomes = attempts(tmp_path / "l.sqlite")
    assert outcomes["answered"] == 120
    assert outcomes.get("unknown", 0) >= calls - 120
    with serve(otherwise=letter_of) as fresh:
        whole = twopan(
            "gate", path, *judge(fresh), "--fixed", "--ledger", "whole.sqlite", "--json", "-",
            check=0,
        )  # fmt: skip
    ours, theirs = json.loads(done.stdout), json.loads(whole.stdout)
    for result in (ours, theirs):
        del result["run"], result["signature"]
    assert ours == theirs


def test_a_budget_stops_with_status_5_and_the_rest_is_done_later(
    twopan, pairs_file, server, tmp_path
):
    args = ["gate", pairs_file(20), *judge(server), "--fixed", "--ledger", "l.sqlite"]
    done = twopan(*args, "--budget", "10calls", check=5)
    assert "10 calls" in done.stderr
    assert "run the same command again" in done.stderr
    assert len(server.requests) == 10
    twopan(*args, check=0)
    assert len(server.requests) == 40


def test_offline_without_a_ledger_nothing_is_judged(twopan, pairs_file, server):
    twopan("gate", pairs_file(3), *judge(server), "--offline", check=3)
    assert server.requests == []


def test_a_result_that_cannot_be_written_at_the_end_is_still_said(twopan, pairs_file, tmp_path):
    """The folder goes while the judge is at work."""
    (tmp_path / "gone").mkdir()

    def and_then(seen):
        if (tmp_path / "gone").exists():
            (tmp_path / "gone").rmdir()
        return letter_of(seen)

    with serve(otherwise=and_then) as server:
        done = twopan("gate", pairs_file(), *judge(server), "--report", "gone/r.html", check=3)
    assert done.stdout.startswith("promote: ")
    assert "the verdicts are kept" in done.stderr


def test_nobody_listening_to_what_is_said_changes_no_decision(pairs_file, server, env, tmp_path):
    command = f"{sys.executable} -m twopan gate {pairs_file()} {' '.join(judge(server))} 2>&-"
    done = subprocess.run(
        command, shell=True, stdout=subprocess.PIPE, text=True, cwd=tmp_path, env=env, timeout=60,
        check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout[:8]) == (0, "promote:")


# ---- ledger ----


def test_the_ledger_can_be_read_exported_and_verified(twopan, pairs_file, server, tmp_path):
    path = pairs_file(5)
    lines = twopan("judge", path, *judge(server), check=0).stdout
    run = json.loads(twopan("ledger", "runs", "--json", check=0).stdout)
    assert run["win_rate"] == 1.0
    assert (run["state"], run["pairs"], run["judged"]) == ("finished", 5, 5)
    assert twopan("ledger", "export", run["run"], check=0).stdout == lines
    shown = json.loads(twopan("ledger", "show", run["run"], check=0).stdout)
    config = shown["config"]
    assert (config["protocol"], config["rubric"]) == ("pairwise", "helpfulness")
    assert shown["command"][0] == "twopan"
    key = sqlite3.connect(tmp_path / "data" / "twopan" / "ledger.sqlite").execute(
        "select key from calls limit 1"
    ).fetchone()[0]  # fmt: skip
    call = json.loads(twopan("ledger", "show", key[:12], check=0).stdout)
    assert call["replies"][0]["text"] in ("A", "B")
    assert "all whole" in twopan("ledger", "verify", check=0).stdout
    assert json.loads(twopan("ledger", "cost", "--json", check=0).stdout)["answered"] == 10
    twopan("ledger", "vacuum", check=0)


def test_a_report_can_be_made_again_for_nothing(twopan, pairs_file, server, tmp_path):
    path = pairs_file(5)
    twopan("gate", path, *judge(server))
    asked = len(server.requests)
    twopan("gate", path, *judge(server), "--offline", "--report", "later.html")
    assert (tmp_path / "later.html").is_file()
    assert len(server.requests) == asked


@pytest.mark.parametrize(
    "verb", [[], ["gate"], ["judge"], ["rank"], ["plan"], ["ledger"], ["models"], ["rubrics"]]
)
def test_every_verb_explains_itself_with_an_example(twopan, verb):
    assert "twopan " in twopan(*verb, "--help", check=0).stdout.partition("xample")[2]
