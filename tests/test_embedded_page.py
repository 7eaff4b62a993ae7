"""What is said of the embedded judge is what was measured."""

import sys
from itertools import pairwise
from pathlib import Path

import pytest

from twopan.protocols.likelihood import MARGIN, SIGMA_ODDS, SIGMA_PMI, TAU
from twopan.verdict import Choice, Comparison, Preference, Unjudged, Verdict

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


def test_the_scales_of_likelihood_are_those_of_the_kept_votes(measured):
    import embedded_scales

    scales = embedded_scales.fit(embedded_scales.distinct(embedded_scales.kept()))
    assert (scales.tau, round(scales.odds, 2), round(scales.d, 1)) == (TAU, SIGMA_ODDS, SIGMA_PMI)
    assert MARGIN == 2 / TAU


@pytest.fixture
def measuring(measured, monkeypatch, tmp_path):
    """The kept files in a folder of their own, and a judge that answers at once."""
    for name in ("ITEMS", "VERDICTS", "SIGNATURES"):
        kept = getattr(measured, name)
        (tmp_path / kept.name).write_text(kept.read_text())
        monkeypatch.setattr(measured, name, tmp_path / kept.name)
    measured.asked, measured.answered, measured.signed = [], {}, {}

    async def judged(ledger, model, protocol, pairs, *, offline=False):
        if not offline:
            measured.asked += [(model, protocol, pair.item.id) for pair in pairs]
            measured.answered |= {(model, protocol, pair.item.id): None for pair in pairs}
        look = Preference(choice=Choice.TIE, reasoning="")
        vote = Comparison(judge=model, a_first=look, b_first=look)
        return [
            Verdict(item_id=pair.item.id, votes=(vote,), choice=Choice.TIE)
            if (model, protocol, pair.item.id) in measured.answered
            else Unjudged(item_id=pair.item.id, reason="not_recorded")
            for pair in pairs
        ]

    before = {key: row[0] for key, row in measured.rows(measured.SIGNATURES, 2).items()}

    async def signature(ledger, model, protocol):
        key = (model, protocol)
        return measured.signed.get(key) or before.get(key) or f"{model}|{protocol}"

    monkeypatch.setattr(measured, "judged", judged)
    monkeypatch.setattr(measured, "signature", signature)
    return measured


def test_measuring_goes_on_from_what_was_kept(measuring, monkeypatch):
    pairs = list(measuring.kept().pairs)
    before = measuring.rows(measuring.VERDICTS)
    few = {pair.item.id for pair in measuring.sample(pairs, 64)}
    lost = {key for key in before if key[1] == "pairwise" and key[2] in few}
    lines = measuring.VERDICTS.read_text().splitlines(keepends=True)
    held = [line for line in lines if tuple(line.split(",")[:3]) not in lost]
    measuring.VERDICTS.write_text("".join(held))
    model = measuring.MODELS[0]
    monkeypatch.setattr(measuring, "plan", lambda: iter([(model, "pairwise", 128)]))
    measuring.ask(None, pairs)
    assert set(measuring.asked) == {key for key in lost if key[0] == model}
    after = measuring.rows(measuring.VERDICTS)
    assert {key: row for key, row in after.items() if key not in measuring.answered} == {
        key: row for key, row in before.items() if key not in lost
    }
    assert all(after[key][1] == "tie" for key in measuring.answered)


def test_verdicts_of_another_judge_are_not_added_to_those_that_were_kept(measuring):
    pairs = list(measuring.kept().pairs)
    before = measuring.VERDICTS.read_text()
    measuring.signed = {(measuring.MODELS[0], "pairwise"): "another build"}
    with pytest.raises(SystemExit, match=r"(?s)pairwise was measured as.*another build"):
        measuring.collect(None, pairs)
    assert measuring.VERDICTS.read_text() == before


def test_a_sample_that_was_not_finished_is_not_counted(measured):
    pairs = list(measured.kept().pairs)
    small, large = ([pair.item.id for pair in measured.sample(pairs, n)] for n in (64, 128))
    last = next(id for id in large if id not in small)
    said = {id: Unjudged(item_id=id, reason="refused") for id in large}
    assert set(measured.whole(said, pairs)) == set(large)
    del said[last]
    assert set(measured.whole(said, pairs)) == set(small)
    del said[small[0]]
    assert not measured.whole(said, pairs)
