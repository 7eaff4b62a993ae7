"""The report in a real browser: it runs nothing it was given, asks for nothing, and can be read."""

import re

import pytest
from browser import chromium, visit
from reports import HARMLESS, page, result, spent
from test_report import PAYLOADS

from twopan.report import listing, notebook, render_gate
from twopan.report.texts import visible

__all__ = ["chromium", "visit"]  # fixtures


@pytest.mark.parametrize("payload", PAYLOADS.values(), ids=PAYLOADS)
def test_text_in_any_place_is_read_and_never_run(visit, payload):
    seen = visit(page(**dict.fromkeys(HARMLESS, payload)))
    assert seen.was_quiet(), seen
    assert "PWNED" not in seen.page.title() or seen.page.title().startswith(visible(payload))
    assert " ".join(visible(payload).split()) in " ".join(seen.text.split())
    # Pages that run what they should not often do so once they are touched.
    seen.page.mouse.move(300, 300)
    seen.page.keyboard.press("Tab")
    seen.page.keyboard.press("j")
    assert seen.was_quiet(), seen


@pytest.mark.parametrize("payload", ["<b>", "__proto__", "constructor"])
def test_names_that_mean_something_to_a_script_are_names(visit, payload):
    seen = visit(page(category=payload, item_id=payload, reason=payload))
    assert seen.was_quiet(), seen
    assert seen.page.locator(".pair").count() == 5


def test_the_policy_stops_what_the_page_did_not_bring(visit):
    """So that the tests above do not rest on escaping alone: here it is broken on purpose."""
    broken = page().replace("</main>", "<script>document.title='PWNED'</script></main>")
    broken = broken.replace("</main>", "<img src='http://attacker.test/p.png'></main>")
    seen = visit(broken)
    assert "PWNED" not in seen.page.title()
    blocked = [c for c in seen.complaints if "Content Security Policy" in c]
    assert len(blocked) == len(seen.complaints) == 2


def shown_numbers(seen):
    return [link.inner_text() for link in seen.page.locator(".pair h3 a").all()]


def press(seen, keys):
    for key in keys:
        seen.page.keyboard.press(key)


def test_pairs_are_filtered_by_outcome(visit):
    seen = visit(page("iABt?A"))
    seen.page.get_by_role("button", name="A preferred 2").click()
    assert shown_numbers(seen) == ["2", "6"]
    seen.page.get_by_role("button", name="Unjudged 1").click()
    assert shown_numbers(seen) == ["5"]
    assert "1 of 6 pairs" in seen.page.locator("#found").inner_text()


def test_pairs_are_found_by_what_is_said_in_them(visit):
    made = result("AAA", ids=["alpha", "beta", "gamma"])
    seen = visit(render_gate(made))
    press(seen, ["/", *"BETA"])
    seen.page.locator("#item-1").wait_for(state="detached")
    assert shown_numbers(seen) == ["2"]
    press(seen, ["Escape"])
    assert shown_numbers(seen) == ["1", "2", "3"]


def test_pairs_are_ordered_by_how_certain_the_judge_was(visit):
    seen = visit(page("AiB?"))
    seen.page.locator("#order").select_option("certain")
    assert shown_numbers(seen) == ["2", "1", "3", "4"]
    seen.page.locator("#order").select_option("margin")
    assert shown_numbers(seen) == ["1", "3", "2", "4"]


def test_keys_move_from_pair_to_pair(visit):
    seen = visit(page("AAA"))
    press(seen, "jjk")
    assert seen.page.evaluate("document.activeElement.id") == "item-1"
    press(seen, "?")
    assert seen.page.locator("#help").is_visible()
    press(seen, ["Escape"])
    assert not seen.page.locator("#help").is_visible()


def test_a_link_leads_to_a_pair_far_down_the_list(visit):
    seen = visit(page("A" * 300), fragment="#item-280")
    assert seen.page.evaluate("document.activeElement.id") == "item-280"
    assert seen.page.locator("#item-280").is_visible()


def test_a_mark_in_a_drawing_leads_to_its_pair_whatever_is_filtered(visit):
    seen = visit(page("AB"))
    seen.page.get_by_role("button", name="A preferred 1").click()
    seen.page.locator("svg a[href='#item-2']").first.click()
    assert seen.page.evaluate("document.activeElement.id") == "item-2"


def test_the_list_grows_as_it_is_read(visit):
    seen = visit(page("A" * 300))
    assert seen.page.locator(".pair").count() < 300
    for _ in range(12):
        seen.page.locator(".pair").last.scroll_into_view_if_needed()
    seen.page.locator("#item-300").wait_for(state="attached")


def test_both_looks_stand_side_by_side_with_what_was_said(visit):
    seen = visit(page("i", reasoning="Because of brevity."))
    looks = seen.page.locator(".look").all_inner_texts()
    assert re.fullmatch(r"(?s)A shown first\s+chose A\s.*Because of brevity\.", looks[0])
    assert re.fullmatch(r"(?s)B shown first\s+chose B\s.*Because of brevity\.", looks[1])


@pytest.mark.parametrize("width", [360, 768, 1280])
def test_nothing_sticks_out_to_the_side(visit, width):
    long = "unbroken" * 60
    seen = visit(page(**dict.fromkeys(HARMLESS, long)), width=width)
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= width


def test_light_and_dark_follow_the_system_and_the_button(visit):
    def paper(seen):
        return seen.page.evaluate("getComputedStyle(document.body).backgroundColor")

    light, dark = (paper(visit(page(), color_scheme=scheme)) for scheme in ("light", "dark"))
    assert light != dark
    seen = visit(page(), color_scheme="dark")
    seen.page.locator("#theme").click()
    assert paper(seen) == light
    seen.page.locator("#theme").click()
    assert paper(seen) == dark


def test_without_scripts_the_summary_is_there_and_says_what_is_missing(visit):
    made = result("AAAA")
    seen = visit(render_gate(made, spent()), java_script_enabled=False)
    assert made.because in seen.text
    assert "The list of pairs needs JavaScript" in seen.text
    assert not seen.page.locator("#tools").is_visible()


def test_on_paper_texts_are_whole_and_controls_are_gone(visit):
    seen = visit(page(response="line\n" * 100))
    seen.page.emulate_media(media="print")
    assert not seen.page.locator("#tools").is_visible()
    block = seen.page.locator(".side .quote").first
    assert block.evaluate("node => node.scrollHeight <= node.clientHeight")


def test_escapes_are_set_apart_from_the_text(visit):
    seen = visit(page(response="a\u202eb"))
    assert seen.page.locator(".side .esc").first.inner_text() == "⟨U+202E⟩"


def test_a_page_that_leaves_pairs_out_still_opens(visit, monkeypatch):
    monkeypatch.setattr(listing, "ROOM", 30_000)
    seen = visit(page("A" * 500 + "i"), fragment="#item-501")
    assert seen.was_quiet(), seen
    assert "Not all pairs are in this page" in seen.text
    assert seen.page.locator("#item-501").is_visible()


def test_a_notebook_shows_the_decision(visit):
    made = result("A" * 20, candidate="<b>x</b>")
    seen = visit(f"<!doctype html><meta charset=utf-8>{notebook(made)}")
    assert "Promote" in seen.text
    assert "<b>x</b>" in seen.text
    assert seen.was_quiet()
