"""The report of a meta-evaluation: what it says, and what it does not let in."""

import json
import re
from dataclasses import replace

import pytest
from browser import chromium, visit  # noqa: F401
from conftest import make_pairs

from twopan.pipelines.meta_evaluate import meta_evaluate
from twopan.pipelines.trials import Cost, Trial
from twopan.report import judges, render_meta_evaluation
from twopan.verdict import Choice, Comparison, Preference, Unjudged, Verdict

HOSTILE = [
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(1)>",
    "\u202etxt.exe",
    '"><svg onload=alert(1)>',
    "{{ 7*7 }}{% raw %}",
]


def said(pair, word, reasoning="Because.", p_a=(None, None)):
    if word == "x":
        return Unjudged(item_id=pair.item.id, reason="unparsed", detail=reasoning)
    sides = {"a": Choice.A, "b": Choice.B, "t": Choice.TIE}
    looks = [
        Preference(choice=sides[side], reasoning=reasoning, p_a=p)
        for side, p in zip(word, p_a, strict=True)
    ]
    vote = Comparison(judge="j", a_first=looks[0], b_first=looks[1])
    return Verdict(item_id=pair.item.id, votes=(vote,), choice=vote.choice)


def evaluation(n=8, judge="gpt", protocol="pairwise", text=None, words=("aa", "bb", "ab", "x")):
    """People prefer A everywhere; the first trial says these words in turn, the second is right."""
    pairs = [replace(p, label=Choice.A) for p in make_pairs(n, category=text or "X/One")]
    if text:
        pairs = [
            replace(
                p,
                item=replace(p.item, id=f"{text}{p.item.id}", instruction=text),
                a=replace(p.a, text=text, system=text),
            )
            for p in pairs
        ]
    wrote = text or "Because."
    trials = [
        Trial(
            judge=judge,
            protocol=protocol,
            outcomes=tuple(said(p, words[i % len(words)], wrote) for i, p in enumerate(pairs)),
            cost=Cost(judgements=n, requests=2 * n, input_tokens=10 * n, output_tokens=n, usd=0.5),
        ),
        Trial(
            judge=judge,
            protocol=f"{protocol}+odds",
            outcomes=tuple(said(p, "aa", wrote, (0.9, 0.6)) for p in pairs),
        ),
    ]
    return meta_evaluate(pairs, trials)


def data_of(page):
    return json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1])


def test_the_page_says_what_the_result_says():
    result = evaluation()
    page = re.sub(r"<[^>]+>", "", render_meta_evaluation(result, notes=["2 rows were left out"]))
    cell = result.cells[0]["all pairs"]
    assert f"{cell.accuracy.estimate:.1%}" in page
    assert f"[{cell.accuracy.low:.1%}, {cell.accuracy.high:.1%}]" in page
    assert "2 unparsed" in page
    assert "2 rows were left out" in page
    assert "No judge at all" in page
    assert "Calibration" in page, "the second trial told probabilities"
    assert result.because.partition(",")[0].split(" agrees")[1] in page


def test_the_same_result_is_the_same_page():
    assert render_meta_evaluation(evaluation()) == render_meta_evaluation(evaluation())


def test_the_list_holds_the_pairs_on_which_they_part_and_what_each_said():
    rows = data_of(render_meta_evaluation(evaluation()))["rows"]
    # Of eight, two are right, two unjudged; the other four are wrong or undecided.
    assert [row["no"] for row in rows] == [2, 3, 6, 7]
    assert [row["parted"] for row in rows] == [1] * 4
    first = rows[0]["said"]
    assert [(s["name"], s["choice"], s["right"]) for s in first] == [
        ("gpt · pairwise", "b", False),
        ("gpt · pairwise+odds", "a", True),
    ]
    assert first[0]["looks"][0][0]["reasoning"] == "Because."


def test_a_difference_is_drawn_the_way_it_is_said():
    found = judges.gaps(evaluation())
    (gap,) = found.rows
    # The second was right on six more of eight, two of them by half: on the right of the middle.
    assert gap.points.estimate == pytest.approx((8 - 3) / 8)
    assert 0.5 < gap.low < gap.estimate < gap.high <= 1
    assert found.reach >= 100 * gap.points.high


def test_a_row_of_a_confusion_adds_up():
    grid, _ = judges.grids(evaluation())
    assert grid.columns == ("A", "tie", "B", "nothing")
    ((people, cells),) = grid.rows
    assert (people, [count for count, _ in cells]) == ("A", [2, 2, 2, 2])
    assert sum(share for _, share in cells) == pytest.approx(1)


def test_one_judge_alone_that_said_nothing_is_a_page_too():
    pairs = [replace(p, label=Choice.A) for p in make_pairs(2)]
    result = meta_evaluate(
        pairs, [Trial(judge="j", protocol="p", outcomes=tuple(said(p, "x") for p in pairs))]
    )
    page = render_meta_evaluation(result)
    assert "No judge gave a verdict on any of 2 pairs" in page
    assert data_of(page)["rows"] == []


def in_categories(result, *names):
    """The same result on pairs that are in these categories in turn."""
    pairs = [
        replace(p, item=replace(p.item, category=names[n % len(names)]))
        for n, p in enumerate(result.pairs)
    ]
    return replace(result, pairs=tuple(pairs))


def test_every_accuracy_is_drawn_beside_what_the_best_trivial_judge_reaches():
    result = evaluation()
    page = render_meta_evaluation(result)
    reached = result.cells[result.best_trivial]["all pairs"].accuracy.estimate
    bars = re.findall(r'x1="([\d.]+)%"[^>]* class="bar-to-pass"', page)
    assert bars == [f"{100 * reached:.2f}"] * len(result.trials)
    assert f"{reached:.1%}, which" in page


def test_a_category_under_its_last_name_keeps_its_whole_name_beside_it():
    page = render_meta_evaluation(in_categories(evaluation(), "X/One", 'X/"Two"'))
    assert re.search(r'<th scope="col" title="X/One"><bdi>One</bdi>', page)
    assert 'title="X/&#34;Two&#34;"' in page


def test_a_minus_is_a_minus_everywhere_and_nothing_is_less_than_nothing():
    result = evaluation()
    page = render_meta_evaluation(result)
    text = re.sub(r"(?s)<style>.*?</style>|<script.*?</script>|<[^>]+>", "", page)
    text = text.replace(result.because, "")
    assert "\N{MINUS SIGN}0." in text, "to name a tie always is to agree less than by chance"
    assert not re.search(r"(?<![\w.])-\d", text)
    assert "\N{MINUS SIGN}0.00" not in text


def test_what_a_page_leaves_out_of_curves_and_of_words_is_said(monkeypatch):
    monkeypatch.setattr(judges, "MOST_CURVES", 1)
    monkeypatch.setattr(judges, "MOST_VOICES", 1)
    whole = evaluation()
    wrong, sure, *_ = whole.trials
    unasked = [Unjudged(item_id=p.item.id, reason="not_recorded") for p in whole.pairs[:4]]
    less = replace(sure, protocol="less", outcomes=(*unasked, *sure.outcomes[4:]))
    page = render_meta_evaluation(meta_evaluate(whole.pairs, [wrong, sure, less]))
    assert page.count('<figure class="curve">') == 1
    assert "Drawn are the first 1 of 2 that told probabilities." in page
    assert "carried for the first 1 of the 3 above." in page


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_that_was_judged_becomes_markup(text):
    page = render_meta_evaluation(evaluation(judge=text, protocol=text, text=text), notes=[text])
    assert page.count("<script") == 2
    assert "<img" not in page
    assert "\u202e" not in page
    assert "onload=alert" not in re.sub(r"&[a-z]+;|&#\d+;", "", page) or "<svg onload" not in page


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("text", HOSTILE[:3])
def test_a_browser_reads_it_and_does_nothing_else(visit, text, width):  # noqa: F811
    page = render_meta_evaluation(evaluation(judge=text, text=text), notes=[text])
    seen = visit(page, width=width)
    seen.page.wait_for_selector(".pair")
    assert seen.was_quiet(), (seen.requests, seen.dialogs, seen.complaints)
    wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert seen.page.evaluate(wide) <= 0, "the page itself is never scrolled sideways"


def test_a_reader_filters_the_pairs_and_opens_what_was_written(visit):  # noqa: F811
    seen = visit(render_meta_evaluation(evaluation()))
    assert seen.page.locator(".pair").count() == 4
    assert "people preferred A" in seen.text
    seen.page.locator(".pair .said summary").first.click()
    assert "Because." in seen.page.locator(".pair").first.inner_text()
    seen.page.locator("#search").fill("GOOD 1.")
    seen.page.locator("#found", has_text="1 of 4 pairs").wait_for()
    assert seen.page.locator(".pair").count() == 1
    assert seen.was_quiet()
