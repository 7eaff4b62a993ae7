"""Weigh every answer in both pans: LLM-as-a-judge evaluation you can gate a release on."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from twopan.api import gate as gate
    from twopan.api import judge_pairs as judge_pairs
    from twopan.api import meta_evaluate as meta_evaluate
    from twopan.api import rank as rank
    from twopan.client import Budget as Budget
    from twopan.concurrency import run as run
    from twopan.data import Item as Item
    from twopan.data import Pair as Pair
    from twopan.data import Response as Response
    from twopan.datasets import read_labels as read_labels
    from twopan.datasets import read_pairs as read_pairs
    from twopan.datasets import read_pairs_file as read_pairs_file
    from twopan.entries import Entries as Entries
    from twopan.entries import read_entries as read_entries
    from twopan.errors import TwopanError as TwopanError
    from twopan.judge import Judge as Judge
    from twopan.judges import Spec as Spec
    from twopan.ledger import Ledger as Ledger
    from twopan.pipelines.gate import Gate as Gate
    from twopan.pipelines.meta_evaluate import MetaEvaluation as MetaEvaluation
    from twopan.pipelines.plan import Plan as Plan
    from twopan.pipelines.plan import plan as plan
    from twopan.pipelines.rank import Ranking as Ranking
    from twopan.protocols.nway import Best as Best
    from twopan.protocols.nway import best_of as best_of
    from twopan.report import render_gate as render_gate
    from twopan.report import render_ranking as render_ranking
    from twopan.rubric import Rubric as Rubric
    from twopan.session import open_session as open_session
    from twopan.verdict import Choice as Choice
    from twopan.verdict import Comparison as Comparison
    from twopan.verdict import Preference as Preference
    from twopan.verdict import Unjudged as Unjudged
    from twopan.verdict import Verdict as Verdict

# What is public, and where it lives. A name is imported when it is first used, so that
# `import twopan` costs nothing.
_HOME = {
    "gate": "api", "judge_pairs": "api", "meta_evaluate": "api", "rank": "api",
    "Budget": "client", "run": "concurrency",
    "Item": "data", "Pair": "data", "Response": "data",
    "read_labels": "datasets", "read_pairs": "datasets", "read_pairs_file": "datasets",
    "Entries": "entries", "read_entries": "entries", "TwopanError": "errors",
    "MetaEvaluation": "pipelines.meta_evaluate", "plan": "pipelines.plan", "Plan": "pipelines.plan",
    "Ranking": "pipelines.rank", "best_of": "protocols.nway", "Best": "protocols.nway",
    "Judge": "judge", "Spec": "judges", "Ledger": "ledger", "Gate": "pipelines.gate",
    "render_gate": "report", "render_ranking": "report", "Rubric": "rubric",
    "open_session": "session",
    "Choice": "verdict", "Comparison": "verdict", "Preference": "verdict",
    "Unjudged": "verdict", "Verdict": "verdict",
}  # fmt: skip

__all__ = ["__version__", *_HOME]  # noqa: PLE0604 (the names are strings; the linter cannot see it)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'twopan' has no attribute {name!r}")
    value = getattr(import_module(f"twopan.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
