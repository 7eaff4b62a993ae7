"""The report of a meta-evaluation in a real browser, at the width of a desk, a phone and paper."""

import pytest
from browser import chromium, visit
from test_report import PAYLOADS
from test_report_meta import evaluation, in_categories

from twopan.report import render_meta_evaluation
from twopan.report.texts import visible

__all__ = ["chromium", "visit"]  # fixtures

HOSTILE = PAYLOADS | {
    "bidi": "a\u202eDENWP\u2066b",
    "formula": "=cmd|' /C calc'!A0",
    "prototype": "__proto__",
    "long": "unbroken" * 60,
}
LINES = """cell => {
  const range = document.createRange();
  range.selectNodeContents(cell);
  const middles = [...range.getClientRects()].map((box) => (box.top + box.bottom) / 2);
  return 1 + Math.round((Math.max(...middles) - Math.min(...middles)) / 20);
}"""
PAGE_IS_WIDER = "document.documentElement.scrollWidth > document.documentElement.clientWidth"


@pytest.mark.parametrize("payload", HOSTILE.values(), ids=HOSTILE)
def test_text_in_any_place_is_read_and_never_run(visit, payload):
    result = in_categories(
        evaluation(judge=payload, protocol=payload, text=payload), payload, f"{payload} too"
    )
    seen = visit(render_meta_evaluation(result, notes=[payload], title=payload), width=390)
    seen.page.locator(".pair .said summary").first.click()
    assert " ".join(visible(payload).split()) in " ".join(seen.text.split())
    seen.page.mouse.move(200, 300)
    for key in ("Tab", "j", "k"):
        seen.page.keyboard.press(key)
    assert seen.was_quiet(), seen
    assert "PWNED" not in seen.page.title() or seen.page.title().startswith(visible(payload))
    assert not seen.page.evaluate(PAGE_IS_WIDER)


@pytest.mark.parametrize("width", [360, 768, 1280])
def test_no_figure_is_hidden_or_broken_over_lines(visit, width):
    seen = visit(render_meta_evaluation(evaluation()), width=width)
    cells = seen.page.locator(".fine td:not(.drawing)").all()
    assert len(cells) == 7 * 4 + 4, "seven trials and a difference, four figures each"
    assert all(cell.is_visible() for cell in cells)
    assert all(cell.evaluate(LINES) == 1 for cell in cells)


@pytest.mark.parametrize("width", [390, 1280])
def test_what_stands_under_a_table_is_not_printed_over_it(visit, width):
    seen = visit(render_meta_evaluation(in_categories(evaluation(), "X/One", "Y/Two")), width=width)
    ends = seen.page.evaluate(
        """() => [...document.querySelectorAll(".scroll + .aside")].map((aside) => [
             aside.previousElementSibling.getBoundingClientRect().bottom,
             aside.getBoundingClientRect().top])"""
    )
    assert len(ends) == 2
    assert all(bottom <= top for bottom, top in ends)


def test_a_wide_table_is_scrolled_and_the_page_is_not(visit):
    names = [f"category number {n}" for n in range(8)]
    seen = visit(render_meta_evaluation(in_categories(evaluation(), *names)), width=390)
    table = seen.page.locator(".scroll:has(.grid)").first
    assert table.evaluate("node => node.scrollWidth > node.clientWidth")
    assert not seen.page.evaluate(PAGE_IS_WIDER)


def test_on_paper_no_table_hides_behind_a_scrollbar(visit):
    seen = visit(render_meta_evaluation(evaluation()), width=718)
    seen.page.emulate_media(media="print")
    hidden = (
        "nodes => nodes.filter((node) => getComputedStyle(node).overflowX !== 'visible').length"
    )
    assert seen.page.locator(".scroll").evaluate_all(hidden) == 0


def test_without_scripts_everything_but_the_list_is_there(visit):
    result = evaluation()
    seen = visit(render_meta_evaluation(result), java_script_enabled=False)
    assert result.because in seen.text
    assert "The list of pairs needs JavaScript" in seen.text
    assert seen.was_quiet()
