"""The documentation says what is so."""

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("examples/*.md")]


def test_the_page_of_help_texts_is_what_the_program_prints():
    spec = importlib.util.spec_from_file_location("make_cli", ROOT / "docs" / "make_cli.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    kept = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    assert kept == module.page(), "run `make docs`"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_files_that_are_named_exist(page):
    text = page.read_text(encoding="utf-8")
    for name in re.findall(r"(?:src/twopan|tests|examples|docs)/[\w/]+\.\w+", text):
        assert (ROOT / name).exists(), name


def test_every_module_stands_in_the_architecture():
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    for path in (ROOT / "src" / "twopan").glob("*.py"):
        assert path.name in text or path.name.startswith("__main__"), path.name


def test_options_that_the_readme_shows_exist():
    shown = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    for option in re.findall(r"--[a-z-]{3,}", (ROOT / "README.md").read_text(encoding="utf-8")):
        assert option in shown, option
