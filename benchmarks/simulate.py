"""Simulations that the statistics must pass: coverage, error rates, judge calls saved.

    python benchmarks/simulate.py              all of them: prints, and writes docs/simulations.md
    python benchmarks/simulate.py win_rate     one of them, printed
    python benchmarks/simulate.py --runs 50    a quick look, printed

Each file in ``simulate/`` is one topic: TITLE, a docstring that says what was simulated, HEADS and
``rows(runs, seed)``, which yields a row of the table at a time.
"""

import argparse
import importlib
import inspect
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent / "simulate"
PAGE = Path(__file__).parent.parent / "docs" / "simulations.md"
RUNS = 2000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    topics = sorted(path.stem for path in HERE.glob("[a-z]*.py"))
    parser.add_argument("topics", nargs="*", metavar="TOPIC", help=", ".join(topics))
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if unknown := set(options.topics) - set(topics):
        parser.error(f"no such topic: {', '.join(sorted(unknown))}; there are {', '.join(topics)}")
    sys.path.insert(0, str(HERE))
    page = [
        "# Simulations\n\nWhat the statistics promise, tried on data whose truth is known.\n"
        "Made by\n\n    make simulate\n"
    ]
    for topic in options.topics or topics:
        section = told(topic, options.runs, options.seed)
        print(section, flush=True)
        page.append(section)
    if not options.topics and options.runs >= RUNS:
        PAGE.write_text("\n".join(page), encoding="utf-8")
        print(f"wrote {PAGE}")


def told(topic: str, runs: int, seed: int) -> str:
    """A topic's section of the page: what was simulated, and the table."""
    module = importlib.import_module(topic)
    began = time.monotonic()
    rows = [[*map(str, row)] for row in module.rows(runs, seed)]
    print(f"{topic}: {time.monotonic() - began:.0f} s", file=sys.stderr)
    lines = [[*module.HEADS], ["---"] * len(module.HEADS), *rows]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"## {module.TITLE}\n\n{inspect.getdoc(module)}\n\n{table}\n"


if __name__ == "__main__":
    main()
