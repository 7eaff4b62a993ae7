"""What is said of the embedded judge is what was measured."""

import sys
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture
def measured(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import embedded_judge

    monkeypatch.setattr(embedded_judge, "PAGE", tmp_path / "page.md")
    monkeypatch.setattr(embedded_judge, "AGREEMENT", tmp_path / "agreement.csv")
    monkeypatch.setattr(sys, "argv", ["embedded_judge.py"])
    return embedded_judge


def test_the_page_and_the_figures_in_reports_are_made_from_the_kept_verdicts(measured, tmp_path):
    measured.main()
    for made, kept in (
        ("page.md", "docs/embedded-judge.md"),
        ("agreement.csv", "src/twopan/report/agreement.csv"),
    ):
        assert (tmp_path / made).read_text() == (ROOT / kept).read_text(), (
            f"{kept} is not what was measured: run python benchmarks/embedded_judge.py"
        )


def test_verdicts_are_kept_as_numbers_and_no_text(measured):
    cells = {
        cell
        for path in (measured.ITEMS, measured.VERDICTS)
        for line in path.read_text().splitlines()[1:]
        for cell in line.split(",")
    }
    words = {cell for cell in cells if not cell.replace(".", "").replace("e-", "").isdigit()}
    assert all(len(word) < 40 and " " not in word for word in words)


def test_a_sample_holds_the_smaller_ones(measured):
    pairs = list(measured.kept().pairs)
    samples = [{p.item.id for p in measured.sample(pairs, size)} for size in measured.STEPS]
    assert [len(sample) for sample in samples] == list(measured.STEPS)
    assert all(small < large for small, large in pairwise(samples))
