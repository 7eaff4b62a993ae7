"""The architecture, as a test: a module imports only from the layers below its own."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SRC = ROOT / "src" / "twopan"
LAYERS = [
    {"errors", "names", "stats", "verdict"},
    {"concurrency", "data", "plugins", "rows", "saving", "secret", "tokens", "weights"},
    {"fields", "providers", "screen"},
    {"datasets", "prices", "prompts", "rubric"},
    {"entries", "formats", "ledger", "rated"},
    {"client"},
    {"judge"},
    {"protocols"},
    {"judges"},
    {"jury"},
    {"lines", "looks", "estimate"},
    {"games"},
    {"session"},
    {"pipelines"},
    {"api", "report"},
    {"cli"},
]
DEPTH = {name: depth for depth, layer in enumerate(LAYERS) for name in layer}
EXCEPTIONS = {
    ("pipelines", "report"): "a result shows itself in a notebook, and borrows the page for it",
}
MODULES = sorted(path for path in SRC.rglob("*.py") if path.name != "__main__.py")


def name_of(path):
    return path.relative_to(SRC).parts[0].removesuffix(".py")


def imports(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("twopan."):
            yield node.module.split(".")[1]
        elif isinstance(node, ast.ImportFrom) and node.module == "twopan":
            yield from (alias.name for alias in node.names if alias.name in DEPTH)


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(SRC)))
def test_imports_point_downwards(path):
    own = name_of(path)
    for other in set(imports(path)) - {own}:
        allowed = own == "__init__" or DEPTH[other] < DEPTH[own] or (own, other) in EXCEPTIONS
        assert allowed, f"{own} imports {other}"


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(SRC)))
def test_a_module_begins_with_the_one_idea_it_holds(path):
    doc = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    assert doc, "no docstring"
    assert doc.splitlines()[0].rstrip().endswith((".", "?", ":")), doc.splitlines()[0]


def test_importing_twopan_imports_nothing_heavy():
    heavy = "numpy scipy aiohttp jinja2 pyarrow rich xllamacpp anyio msgspec asyncio"
    code = f"import sys, twopan; print(*(m for m in '{heavy}'.split() if m in sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.split() == []


def test_every_public_name_can_be_had():
    import twopan

    for name in twopan.__all__:
        assert getattr(twopan, name) is not None


RUNS = "pickle|marshal|shelve|joblib|yaml|litellm"
FORBIDDEN = rf"\b({RUNS}|eval|exec)\b\s*[.(]|^\s*(import|from)\s+({RUNS})\b"


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(SRC)))
def test_nothing_that_is_read_can_run(path):
    """No pickle, no eval, no loader that builds objects of its own choosing."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        assert not re.search(FORBIDDEN, line), f"{path.name}:{number}: {line.strip()}"


def test_no_secret_lies_among_the_files():
    tracked = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if tracked.returncode:
        pytest.skip("not a git checkout")
    shapes = re.compile(rb"(sk-|ghp_|AKIA)(?!\w*CANARY)\w{16,}")
    for name in filter(None, tracked.stdout.split("\0")):
        file = ROOT / name
        if file.is_file():
            assert not shapes.search(file.read_bytes()), name
