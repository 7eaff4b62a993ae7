"""Tournaments on a full round robin that was judged for real: how much of it they need.

    python benchmarks/tournament.py qlora/gpt4_pairwise_both_orders.parquet

Takes the verdicts of GPT-4 published with QLoRA (Dettmers et al. 2023), on every ordered pair of 8
systems (80 Vicuna questions) and of 7 (953 OpenAssistant questions), and plays tournaments in which
a comparison is looked up instead of asked. As shares of the full round robin, means over 20 seeds
and in brackets the 90th percentile: *order*, the comparisons from which on all systems stand as in
the full round robin; *sure order*, from which on no two stand the wrong way round that the full
round robin tells apart at 95 %; *best*, from which on its leader leads; *settled*, after which the
tournament itself stops, the best being settled at 95 % whenever one looks; and how often *rightly*.
"""

import asyncio
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from twopan.data import Item
from twopan.entries import Entries
from twopan.errors import Unparsed
from twopan.pipelines.rank import Ranking, comparisons, rank
from twopan.stats.columns import Floats
from twopan.stats.pairing import Goal, Method
from twopan.verdict import Choice, Preference

SEEDS = 20
METHODS: tuple[Method, ...] = ("random", "swiss", "active")
HEADS = ("questions", "round robin", "method", "order", "sure order", "best", "settled", "rightly")
CHOICES = {1: Choice.A, 2: Choice.B, 3: Choice.TIE}


class Replay:
    """A judge that says again what was said of two systems on an item; texts are their names."""

    prompts, aids, margin, name = (), (), None, "replay"
    signature = "recorded"

    def __init__(self, said: dict[tuple[str, str, str], int]) -> None:
        self.said, self.protocol = said, self

    async def __call__(self, judge: "Replay", item: Item, a: str, b: str) -> Preference:
        choice = CHOICES.get(self.said[item.id, a, b])
        if choice is None:
            raise Unparsed("no_verdict", "the reply held none")
        return Preference(choice=choice, reasoning="")


def recorded(path: Path, bench: str) -> tuple[Replay, Entries]:
    from pyarrow.parquet import read_table

    names = ["question_id", "model_1", "model_2", "score"]
    table = read_table(path, columns=names, filters=[("bench", "==", bench)])
    rows = list(zip(*(table.column(name).to_pylist() for name in names), strict=True))
    said = {(str(q), a, b): score for q, a, b, score in rows}
    systems = sorted({a for _, a, _ in said})
    items = [item for item in sorted({q for q, _, _ in said})
             if all((item, a, b) in said for a in systems for b in systems if a != b)]  # fmt: skip
    return Replay(said), Entries(
        systems=tuple(systems),
        items=tuple(Item(id=item, instruction=item) for item in items),
        texts={(s, i): name for s, name in enumerate(systems) for i in range(len(items))},
        joined_on="id",
    )


def played(judge: Replay, entries: Entries, method: Method, goal: Goal, **how: Any) -> Ranking:
    """Looked at two hundred times on its way, or a little more."""
    step = max(16, len(comparisons(entries)) // 200)
    return asyncio.run(
        rank([judge], entries, method=method, goal=goal, workers=step, **how)  # type: ignore[list-item]
    )


def since(right: Sequence[bool]) -> int | None:
    """The first step from which on it is right; None where not even the last is."""
    wrong = [n for n, there in enumerate(right) if not there]
    first = wrong[-1] + 1 if wrong else 0
    return None if first == len(right) else first


def rows(path: Path, bench: str, seeds: int) -> Iterator[tuple[str, ...]]:
    judge, entries = recorded(path, bench)
    everything = played(judge, entries, "round-robin", Goal())
    assert everything.board is not None
    available, surely = len(everything.games), everything.board.surely
    truth = np.argsort(-everything.path[-1].theta).tolist()

    def share(found: Ranking, right: Callable[[Floats], bool]) -> float:
        step = since([right(step.theta) for step in found.path])
        return 1.0 if step is None else found.path[step].games / available

    for method in METHODS:
        found: dict[str, list[float]] = {name: [] for name in ("order", "sure", "best", "settled")}
        rightly = 0
        for seed in range(seeds):
            # With so much confidence asked for, nothing is settled before the end.
            whole = played(judge, entries, method, Goal(), seed=seed, level=1 - 1e-12)
            top = played(judge, entries, method, Goal("top1"), seed=seed, level=1 - 1e-12)
            asked = played(judge, entries, method, Goal("top1"), seed=seed)
            found["order"].append(share(whole, lambda t: np.argsort(-t).tolist() == truth))
            found["sure"].append(share(whole, lambda t: not (surely & (t[:, None] < t)).any()))
            found["best"].append(share(top, lambda t: int(np.argmax(t)) == truth[0]))
            found["settled"].append(len(asked.games) / available)
            rightly += asked.stopped == "settled" and asked.settled.best == (truth[0],)  # type: ignore[union-attr]
        cells = (f"{np.mean(of):.1%} [{np.quantile(of, 0.9):.1%}]" for of in found.values())
        yield bench, f"{available:,}", method, *cells, f"{rightly} of {seeds}"


def main() -> None:
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    seeds = int(sys.argv[2]) if len(sys.argv) > 2 else SEEDS
    print("| " + " | ".join(HEADS) + " |\n" + "| --- " * len(HEADS) + "|")
    for bench in ("vicuna", "oa"):
        for row in rows(Path(sys.argv[1]), bench, seeds):
            print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main()
