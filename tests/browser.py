"""A real browser that opens a report, and what the report tried to do in it."""

import shutil
from dataclasses import dataclass, field

import pytest

from twopan.report import write

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


@dataclass
class Visit:
    """A page that is open, and everything it did beyond being read."""

    page: object
    requests: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    """Errors of scripts, and whatever the console was told."""

    def was_quiet(self):
        return not (self.requests or self.dialogs or self.complaints)

    @property
    def text(self):
        return self.page.inner_text("body")


@pytest.fixture(scope="module")
def chromium():
    """One browser a module: while it lives, its event loop occupies the thread of the tests."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        pytest.skip(f"no browser here to look at a report with: none of {', '.join(NAMES)}")
    with playwright.sync_playwright() as driver:
        # Without its sandbox it starts for any user, in a container too; the pages are our own.
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def visit(chromium, tmp_path):
    """``visit(html, fragment="#item-3", width=375)`` opens it from a file, as a reader does."""
    contexts = []

    def open_page(html, *, fragment="", width=1280, height=900, **settings):
        file = tmp_path / "report.html"
        write(file, html)
        context = chromium.new_context(viewport={"width": width, "height": height}, **settings)
        contexts.append(context)
        seen = Visit(context.new_page())
        seen.page.on(
            "request",
            lambda r: r.url.startswith((file.as_uri(), "data:")) or seen.requests.append(r.url),
        )
        seen.page.on("dialog", lambda d: (seen.dialogs.append(d.message), d.dismiss()))
        seen.page.on("console", lambda m: seen.complaints.append(m.text))
        seen.page.on("pageerror", lambda e: seen.complaints.append(str(e)))
        seen.page.goto(file.as_uri() + fragment)
        return seen

    yield open_page
    for context in contexts:
        context.close()
