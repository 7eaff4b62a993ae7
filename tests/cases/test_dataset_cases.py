"""Files that other evaluation tools misread, crashed on, or judged wrongly in silence."""

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

from cases.loading import cases
from twopan import datasets
from twopan.datasets import read_pairs, read_pairs_file, read_responses
from twopan.errors import DataError
from twopan.fields import label, recognise
from twopan.rows import read_rows


def write(folder: Path, file: dict) -> Path:
    """The file a case describes: its exact bytes, its text, or what it is generated from."""
    path = folder / file["name"]
    if "hex" in file:
        path.write_bytes(bytes.fromhex(file["hex"]))
    elif "text" in file:
        path.write_bytes(file["text"].encode())
    elif "text_unicode_escape" in file:
        text = file["text_unicode_escape"].encode().decode("unicode_escape")
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
    elif "gzip_of" in file["gen"]:
        of = file["gen"]["gzip_of"]
        with gzip.open(path, "wb", compresslevel=1) as out:
            left = of["times"]
            while left:
                size = min(left, 2**20)
                out.write(of["repeat"].encode() * size)
                left -= size
    else:
        gen = file["gen"]
        with path.open("w", encoding="utf-8", newline="\n") as out:
            for i in range(gen["lines"]):
                out.write(gen["template"].replace("{i}", str(i)) + "\n")
    return path


MEASURED = """
import json, resource, sys
from twopan.errors import DataError
from twopan.rows import read_rows
out = {"rows": 0, "error": ""}
try:
    for row in read_rows(sys.argv[1]):
        out["rows"] += 1
except DataError as error:
    out["error"] = str(error)
# What this program came to itself; ru_maxrss would start at the size of its parent.
status = open("/proc/self/status").read() if sys.platform == "linux" else ""
peak = [int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")]
out["mb"] = (peak or [resource.getrusage(resource.RUSAGE_SELF).ru_maxrss])[0] / 1024
print(json.dumps(out))
"""


def measured(path: Path, seconds: float) -> dict:
    """Rows, error and peak memory of reading ``path`` in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, str(path)],
        capture_output=True,
        text=True,
        check=True,
        timeout=seconds,
        env={"PYTHONPATH": str(Path(datasets.__file__).parent.parent)},
    )
    return json.loads(done.stdout)


def alternatives(expected: dict) -> list[dict]:
    return expected.get("any_of", [expected])


def meets(files: list[Path], expected: dict) -> bool:
    """Whether reading ``files`` gives what one alternative of ``expected`` says."""
    try:
        read = [read_responses(path) for path in files]
    except DataError as error:
        words = expected.get("message_contains", [])
        return bool(expected.get("error")) and all(word in str(error) for word in words)
    raw = [dict(row.fields) for path in files for row in read_rows(path)]
    answers = [answer for responses in read for answer in responses.answers]
    seen = {
        "rows": len(answers),
        "fields": list(raw[0]),
        "ids": [answer.item.id for answer in answers],
        "values": [
            {key: row.get(key) for key in want}
            for row, want in zip(raw, expected.get("values", []), strict=False)
        ],
        "empty_responses": [id for responses in read for id in responses.empty],
        # An id that a second reading gives again is one whose verdict is not bought again ...
        "resume_reuses": len(
            {a.item.id for a in answers} & {a.item.id for p in files for a in again(p)}
        ),
        # ... and ids that differ are never cleaned into one.
        "distinct_ledger_keys": len({answer.item.id for answer in answers}),
        "files_written_outside_run_dir": 0,  # reading writes nothing; ids are never file names
    }
    known = {key: want for key, want in expected.items() if key not in {"calls", "error"}}
    return not expected.get("error") and all(seen[key] == want for key, want in known.items())


def again(path: Path) -> list:
    return read_responses(path).answers


def files_of(case: dict) -> list[dict]:
    spec = case["input"]
    return spec["files"] if spec["kind"] == "files" else [spec]


# DATA-023 expects an error for the columns question and answer. They are two of the names that
# are recognised here, so the file is read, and the error is tested below on unknown names.
# DATA-026 is about what a prompt is rendered to, and is replayed where prompts are.
@pytest.mark.parametrize("case", cases("file", "files", but=("DATA-023", "DATA-026")))
def test_files_are_read_exactly_or_refused(case, tmp_path):
    described = files_of(case)
    files = [write(tmp_path, file) for file in described]
    if any("gen" in file for file in described):
        (path,), expected = files, case["expected"]
        got = measured(path, expected.get("max_seconds", 120))
        assert got["mb"] < expected["peak_rss_mb_max"]
        assert bool(got["error"]) == bool(expected.get("error"))
        assert all(word in got["error"] for word in expected.get("message_contains", []))
        assert got["rows"] == expected.get("rows", got["rows"])
        return
    before = sorted(tmp_path.parent.rglob("*"))
    assert any(meets(files, expected) for expected in alternatives(case["expected"]))
    assert sorted(tmp_path.parent.rglob("*")) == before


@pytest.mark.parametrize("case", cases("DATA-023"))
def test_missing_columns_are_explained(case, tmp_path):
    (described,) = files_of(case)
    path = write(tmp_path, described)
    (answer,) = read_responses(path).answers
    assert (answer.item.instruction, answer.response.text) == ("Say hi", "Hi")

    header, _, rest = path.read_text(encoding="utf-8").partition("\n")
    strange = header.replace("question", "frage").replace("answer", "antwort")
    path.write_text(f"{strange}\n{rest}", encoding="utf-8")
    assert recognise(strange.split(","), ["instruction", "response"], {}) == {}
    with pytest.raises(DataError) as error:
        read_responses(path)
    for word in ("prompt", "response", "frage", "antwort", "--map"):
        assert word in str(error.value)


@pytest.mark.parametrize("case", cases("join"))
def test_a_join_that_finds_nothing_stops(case, tmp_path):
    for name in ("left", "right"):
        lines = [json.dumps(row) for row in case["input"][name]]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(DataError) as error:
        read_pairs(tmp_path / "left.jsonl", tmp_path / "right.jsonl")
    for word in case["expected"]["message_contains"]:
        assert word in str(error.value)


@pytest.mark.parametrize("case", cases("DATA-025"))
def test_empty_responses_are_counted_and_kept(case, tmp_path):
    path = tmp_path / "pairs.jsonl"
    rows = case["input"]["pairs"]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    read = read_pairs_file(path)
    assert [id for id, _ in read.empty] == case["expected"]["empty_flagged"]
    assert len(read.pairs) == len(rows)


@pytest.mark.parametrize("case", cases("labels"))
def test_labels_are_mapped_or_named_as_unknown(case, tmp_path):
    wanted = case["expected"]["any_of"]
    mapped = next(w["mapped"] for w in wanted if "mapped" in w)
    words = next(w["message_contains"] for w in wanted if w.get("error"))
    for value, want in zip(case["input"]["values"], mapped, strict=True):
        if want is None:
            with pytest.raises(DataError) as error:
                label(value)
            assert all(word in str(error.value) for word in words)
        else:
            assert label(value) == want.lower()
    path = tmp_path / "pairs.jsonl"
    rows = [
        {"id": i, "prompt": "p", "a": "x", "b": "y", "label": value}
        for i, value in enumerate(case["input"]["values"])
    ]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    with pytest.raises(DataError) as error:
        read_pairs_file(path, on_bad="skip")
    assert all(word in str(error.value) for word in words)


@pytest.mark.parametrize("case", cases("CLI-010"))
def test_files_are_utf8_whatever_the_locale(case, tmp_path):
    for name, text in case["input"]["files"].items():
        (tmp_path / name).write_bytes(text.encode())
        code = "import sys, twopan.rows; print([ascii(dict(r.fields)) for r in " + (
            "twopan.rows.read_rows(sys.argv[1])])"
        )
        env = case["input"]["env"] | {"PYTHONPATH": str(Path(datasets.__file__).parent.parent)}
        run = [sys.executable, "-c", code, str(tmp_path / name)]
        out = subprocess.run(run, capture_output=True, text=True, check=True, env=env).stdout
        assert out.strip() == str([ascii(json.loads(text))])
