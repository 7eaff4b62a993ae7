"""The replayable failure cases of reports, in a real browser where the case is about one."""

import csv
import io
import re

import pytest
from browser import chromium, visit
from reports import page, pair, result, spent

from cases.loading import cases
from twopan.jury import Outcome
from twopan.pipelines.gate import decide
from twopan.report import render_gate, write
from twopan.report.table import COLUMNS, cell, original, write_csv

__all__ = ["chromium", "visit"]  # fixtures

PLACES = {
    "response": ["response"],
    "model_name": ["candidate", "signature", "served"],
    "judge_reason": ["reasoning"],
    "prompt": ["instruction"],
}
"""Our name for where the case puts its text."""


def text_of(given):
    if (escaped := given.get("text_unicode_escape")) is not None:
        return escaped.encode().decode("unicode_escape")
    return given["text"]


@pytest.mark.parametrize("case", cases("report", but=("report_data", "report_size", "csv_export")))
def test_a_text_in_a_report(case, visit, tmp_path):
    text, expected = text_of(case["input"]), case["expected"]
    html = page(**dict.fromkeys(PLACES[case["input"]["field"]], text))
    seen = visit(html)
    body = seen.text

    assert seen.was_quiet(), seen
    for met in expected:
        assert met in KNOWN, f"this test does not know what {met} asks for"
    assert seen.page.title() != expected.get("browser_title_not")
    for pattern in as_list(expected.get("html_lacks_regex")):
        assert not re.search(pattern, html)
    for part in expected.get("html_lacks", []):
        assert part not in html
    for part in as_list(expected.get("shows")):
        assert part in body
    if expected.get("text_visible"):
        assert text in body
    if expected.get("visible_marker"):
        assert "⟨U+202E⟩" in body
        assert text not in html
    if expected.get("bidi_isolated"):
        assert seen.page.locator("bdi:has-text('TSEB')").count()
    if expected.get("page_renders"):
        assert seen.page.locator(".pair").count() == 5
    write(tmp_path / "again.html", html)
    (tmp_path / "again.html").read_bytes().decode("utf-8")  # or it raises


KNOWN = {
    "browser_title_not",
    "html_lacks_regex",
    "html_lacks",
    "shows",
    "text_visible",
    "expanded",  # what is visible as it was written has not been expanded
    "visible_marker",
    "bidi_isolated",
    "page_renders",
    "network_requests_on_open",  # none is allowed in any case
    "file_written",
    "utf8_valid",
    "ledger_policy",  # where the ledger is documented
}


def as_list(value):
    return [] if value is None else [value] if isinstance(value, str) else value


@pytest.mark.parametrize("case", cases("report_data"))
def test_a_report_names_who_answered(case, visit):
    given = case["input"]["value"]
    html = render_gate(
        result(signature=given["judge_requested"]),
        spent(
            served=dict.fromkeys(given["judge_served"], 10),
            recalled=given["cached_rows"],
            run=given["cache_run_ids"][0],
        ),
    )
    body = visit(html).text
    for part in case["expected"]["shows"]:
        assert part in body


@pytest.mark.parametrize("case", cases("report_size"))
def test_a_report_of_very_many_rows_opens(case, visit):
    rows, length = case["input"]["rows"], case["input"]["reply_chars"]
    few = result("AABiBt?A" * 50)
    filler = "word " * (length // 5)
    pairs = [
        pair(str(n), response=f"{n} {filler}"[:length], other_response=f"{n} not {filler}"[:length])
        for n in range(rows)
    ]
    outcomes: list[Outcome] = [few.outcomes[n % len(few.outcomes)] for n in range(rows)]
    html = render_gate(decide(pairs, outcomes))
    assert len(html.encode()) <= case["expected"]["html_bytes_max"]
    seen = visit(html)
    assert seen.was_quiet(), seen
    assert seen.page.locator(".pair").first.is_visible()
    assert "Everything is in the ledger and in the JSON lines" in seen.text


def written(cells):
    """Each cell as the detail of a verdict line, written and read again."""
    file = io.StringIO(newline="")
    write_csv(file, [{"item": "x", "detail": text, "votes": []} for text in cells])
    file.seek(0)
    return [row[COLUMNS.index("detail")] for row in csv.reader(file, strict=True)][1:]


@pytest.mark.parametrize("case", cases("csv_export"))
def test_cells_of_a_spreadsheet(case):
    cells, expected = case["input"]["cells"], case["expected"]
    read = written(cells)
    assert read == [cell(text) for text in cells]
    assert [original(text) for text in read] == cells
    if prefix := expected.get("each_cell_starts_with"):
        assert all(text.startswith(prefix) for text in read)
    if expected.get("parses_back_equal"):
        assert read == cells
