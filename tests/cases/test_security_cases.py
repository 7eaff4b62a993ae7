"""Security cases that concern files and the command line; others stand with what they concern."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from servers.chat import serve
from test_cli import letter_of

from cases.loading import cases

SRC = Path(__file__).parents[2] / "src"


@pytest.fixture
def twopan(tmp_path):
    """Runs the command in a folder of its own, and tells what it left outside of it."""

    def run(*args, umask=None):
        return subprocess.run(
            [sys.executable, "-m", "twopan", *map(str, args)],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            timeout=60,
            check=False,
            preexec_fn=(lambda: os.umask(umask)) if umask is not None else None,
            env={**os.environ, "XDG_DATA_HOME": str(tmp_path / "data"), "PYTHONPATH": str(SRC)},
        )

    return run


def rows(ids):
    pairs = [
        {"id": i, "instruction": f"Say {n}.", "response_a": f"GOOD {n}", "response_b": f"POOR {n}"}
        for n, i in enumerate(ids)
    ]
    return "".join(json.dumps(pair) + "\n" for pair in pairs)


@pytest.mark.parametrize("case", cases("SECU-018"))
def test_a_config_file_that_is_no_toml_is_refused(case, twopan, tmp_path):
    (tmp_path / "pairs.jsonl").write_text(rows(["1"]))
    levels, width = (case["input"]["gen"]["yaml_alias_bomb"][k] for k in ("levels", "width"))
    lines = ["a0: &a0 [x]"]
    for n in range(1, levels):
        lines.append(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * width)}]")
    (tmp_path / case["input"]["name"]).write_text("\n".join(lines))
    done = twopan("gate", "pairs.jsonl", "--config", case["input"]["name"])
    assert done.returncode == 2
    assert "TOML" in done.stderr


@pytest.mark.parametrize("case", cases("SECU-020"))
def test_no_name_leads_out_of_a_folder(case, twopan, tmp_path):
    """Runs are named by us, so the option does not even exist."""
    (tmp_path / "pairs.jsonl").write_text(rows(["1"]))
    name = case["input"]["argv"][-1]
    done = twopan("gate", "pairs.jsonl", "--name", name)
    assert done.returncode == 2
    assert not (tmp_path / name).resolve().exists()


@pytest.mark.parametrize("case", cases("SECU-021"))
def test_awkward_ids_stay_distinct_and_become_no_files(case, twopan, tmp_path):
    ids = [name for name in case["input"]["values"] if name]
    (tmp_path / "pairs.jsonl").write_text(rows(ids))
    with serve(otherwise=letter_of) as server:
        done = twopan(
            "judge", "pairs.jsonl", "--judge", f"openai:fake@{server.url}", "--ledger", "l.sqlite"
        )
    assert done.returncode == 0, done.stderr
    assert [json.loads(line)["item"] for line in done.stdout.splitlines()] == ids
    left = {path.name.removesuffix("-wal").removesuffix("-shm") for path in tmp_path.iterdir()}
    assert left == {"pairs.jsonl", "l.sqlite"}


@pytest.mark.parametrize("case", cases("SECU-028"))
def test_what_is_kept_is_its_owners_alone(case, twopan, tmp_path):
    (tmp_path / "pairs.jsonl").write_text(rows(["1"]))
    with serve(otherwise=letter_of) as server:
        twopan(
            "gate", "pairs.jsonl", "--judge", f"openai:fake@{server.url}", "--report", "r.html",
            umask=int(case["input"]["umask"], 8),
        )  # fmt: skip
    folder = tmp_path / "data" / "twopan"
    wanted = case["expected"]
    assert stat.S_IMODE(folder.stat().st_mode) == int(wanted["mode_dir"], 8)
    for file in [*folder.iterdir(), tmp_path / "r.html"]:
        assert stat.S_IMODE(file.stat().st_mode) == int(wanted["mode_files"], 8), file
