"""The report of a ranking in a real browser."""

from dataclasses import replace

import numpy as np
import pytest
from browser import chromium, visit
from test_rank import games
from test_report_meta_browser import HOSTILE, PAGE_IS_WIDER

from twopan.games import Games
from twopan.pipelines import history
from twopan.pipelines.rank import Step, rank_games
from twopan.report import render_ranking
from twopan.report.texts import visible

__all__ = ["chromium", "visit"]  # fixtures


def ranking(names=("s0", "s1", "s2"), **changes):
    """A ranking with all there is to draw."""
    named = dict(zip(("s0", "s1", "s2"), names, strict=True))
    played = [replace(g, a=named[g.a], b=named[g.b]) for g in games(items=60).games]
    found = rank_games(
        Games(games=tuple(played)),
        lengths={(name, str(i)): 50 + 7 * i % 40 for name in names for i in range(60)},
    )
    path = tuple(
        Step(games=n, theta=np.array([0.5, 0.0, -0.5]) * n / 60, separated=n // 30, wanted=2,
             done=False)
        for n in range(10, 70, 10)
    )  # fmt: skip
    return replace(found, path=path, **changes)


@pytest.mark.parametrize("payload", HOSTILE.values(), ids=HOSTILE)
def test_text_in_any_place_is_read_and_never_run(visit, payload):
    found = ranking((payload, f"{payload} too", "s2"), signature=payload, baseline=payload)
    then = history.entry(ranking((payload, f"{payload} too", "gone")), payload)
    moves = history.moved(then, history.entry(found, "now"))
    page = render_ranking(found, notes=[payload], title=payload, moves=moves)
    seen = visit(page, width=390)
    assert " ".join(visible(payload).split()) in " ".join(seen.text.split())
    seen.page.mouse.move(200, 300)
    seen.page.keyboard.press("Tab")
    assert seen.was_quiet(), seen
    assert not seen.page.evaluate(PAGE_IS_WIDER)


def test_everything_is_drawn_and_the_theme_turns(visit):
    seen = visit(render_ranking(ranking()), width=1280)
    assert seen.page.locator(".standings tbody tr").count() == 3
    assert seen.page.locator(".standings .whisker").count() == 3
    assert seen.page.locator(".heat td").count() == 9
    assert seen.page.locator(".tournament polyline").count() == 4
    paper = "getComputedStyle(document.body).backgroundColor"
    light = seen.page.evaluate(paper)
    seen.page.locator("#theme").click()
    seen.page.locator("#theme").click()
    assert seen.page.evaluate(paper) != light
    assert seen.was_quiet(), seen


def test_the_same_ranking_is_the_same_page():
    assert render_ranking(ranking()) == render_ranking(ranking())
