import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import settings

from twopan.client import Client
from twopan.data import Item, Pair, Response
from twopan.judge import Judge
from twopan.judges import find_protocol
from twopan.ledger import Ledger
from twopan.providers.scripted import Scripted
from twopan.rubric import Rubric

ROOT = Path(__file__).parent.parent
# How long an example takes is a matter of the machine, and no property of the code.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")
RUBRIC = Rubric(
    name="test", question="Which is right?", rules="", levels={1: "It is wrong.", 2: "It is right."}
)


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture
def ledger():
    with Ledger() as ledger:
        yield ledger


@pytest.fixture
def judge_that(ledger):
    """A judge whose replies are ``reply(prompt)``, and the provider that saw its requests."""

    def make(reply, protocol="pairwise", **client):
        provider = Scripted(lambda request: reply(request.messages[-1].text))
        run = ledger.begin([], {}, [])
        judge = Judge(
            model="scripted",
            protocol=find_protocol(protocol),
            rubric=RUBRIC,
            client=Client(provider, ledger, run=run, **client),
        )
        return judge, provider

    return make


def make_pairs(n, **fields):
    """Pairs in which the candidate's text is "GOOD i." and the baseline's "POOR i."."""
    return [
        Pair(
            item=Item(id=str(i), instruction=f"Add {i} and {i}.", **fields),
            a=Response(item_id=str(i), system="candidate", text=f"GOOD {i}."),
            b=Response(item_id=str(i), system="baseline", text=f"POOR {i}."),
        )
        for i in range(n)
    ]


def honest(prompt):
    """Prefers what is good, wherever it stands."""
    return "A" if prompt.index("GOOD") < prompt.index("POOR") else "B"


def always_first(prompt):
    return "A"


@pytest.fixture
def env(tmp_path):
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("TWOPAN", "OPENAI"))}
    return kept | {
        "XDG_DATA_HOME": str(tmp_path / "data"),
        "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT / "src"), kept.get("PYTHONPATH")])),
    }


@pytest.fixture
def twopan(tmp_path, env):
    """The command, in a process of its own."""

    def run(*args, check=None, **changes):
        done = subprocess.run(
            [sys.executable, "-m", "twopan", *map(str, args)],
            capture_output=True, encoding="utf-8", timeout=120, check=False,
            **{"cwd": tmp_path, **changes, "env": env | changes.get("env", {})},
        )  # fmt: skip
        assert "Traceback" not in done.stderr, done.stderr
        if check is not None:
            assert done.returncode == check, (done.returncode, done.stdout, done.stderr)
        return done

    return run
