"""Where the frozen numbers of ``likelihood`` and ``pairwise+likelihood`` come from.

    python benchmarks/embedded_scales.py VOTES     asks the embedded judge; half an hour
    python benchmarks/embedded_scales.py           fits again from what was kept, in a second

VOTES are the votes of people on MT-Bench as published (lmsys/mt_bench_human_judgments on Hugging
Face, split ``human``, licence CC-BY-4.0), or a file of labelled pairs. Of the first turns those
pairs are taken whose texts differ and have 2,000 characters or fewer together and on which most
voters agree, without vicuna-13b-v1.2, of which FastChat's table of answers has another version;
and of these the 128 with the smallest SHA-256 of their id. Two systems may give the same answer:
the same two texts count once. What is kept are ids, labels, lengths and numbers.

A few likelihoods are far off: a text that copies the instruction is hundreds of nats likelier for
it. So spreads are those of the middle half of the pairs, and tau leaves out what is beyond 150.
"""

import argparse
import csv
import hashlib
import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import embedded_judge
import numpy as np

from twopan.concurrency import run
from twopan.data import Item, Pair
from twopan.datasets import read_pairs_file
from twopan.errors import DataError
from twopan.formats import load
from twopan.ledger import Ledger
from twopan.protocols.likelihood import TAU
from twopan.stats.win_rate import win_rate
from twopan.verdict import Choice, Verdict

KEPT = embedded_judge.HERE / "mtbench.csv"
MODEL = embedded_judge.MODELS[0]
SIZE, LONGEST, FAR = 128, 2000, 150.0
LEFT_OUT = "vicuna-13b-v1.2"


class Row(NamedTuple):
    """One pair of texts, from the side of A."""

    id: str
    label: Choice
    longer: int
    """Characters of A less those of B."""
    odds: float
    """Log-odds of A when asked, the mean of both orders."""
    d: float
    """What the instruction adds to log P of A, less what it adds to that of B; nats."""


class Scales(NamedTuple):
    """What ``likelihood`` and ``pairwise+likelihood`` freeze."""

    tau: float
    """Nats of d that multiply the odds by e, by maximum likelihood; whole."""
    loss: float
    """The mean log loss at tau."""
    odds: float
    """The spread of the log-odds when asked."""
    d: float
    """The spread of d; nats."""


def sample(path: Path) -> list[Pair]:
    """The first turns that are short enough and on which most voters agree: SIZE of them.

    Ids are ``question/system/system``. A tie is a vote like another, and of two labels with as
    many votes none is the pair's.
    """
    try:
        votes = load("mtbench", path).pairs
    except DataError:
        votes = read_pairs_file(path).pairs
    on: dict[str, list[Pair]] = defaultdict(list)
    for vote in votes:
        question, _, turn = vote.item.id.partition("/")
        if turn == "1":
            on[f"{question}/{vote.a.system}/{vote.b.system}"].append(vote)
        elif not turn.isdecimal():
            on[vote.item.id].append(vote)
    found = {}
    for id, same in on.items():
        (label, most), *others = Counter(vote.label for vote in same).most_common()
        texts = (same[0].item.instruction, same[0].a.text, same[0].b.text)
        agreed = not others or others[0][1] < most
        told_apart = texts[1] != texts[2] and LEFT_OUT not in id
        if agreed and told_apart and sum(map(len, texts)) <= LONGEST:
            item = Item(id=id, instruction=texts[0])
            found[id] = Pair(item=item, a=same[0].a, b=same[0].b, label=label)
    drawn = sorted(found, key=lambda id: hashlib.sha256(id.encode()).hexdigest())[:SIZE]
    return [found[id] for id in drawn]


def ask(ledger: Ledger, pairs: list[Pair]) -> None:
    asked, heard = (
        {
            outcome.item_id: outcome.votes[0].log_odds
            for outcome in run(embedded_judge.judged(ledger, MODEL, protocol, pairs))
            if isinstance(outcome, Verdict)
        }
        for protocol in ("pairwise+odds", "likelihood")
    )
    with embedded_judge.table(KEPT, *Row._fields) as write:
        for pair in pairs:
            id, longer = pair.item.id, len(pair.a.text) - len(pair.b.text)
            if id in asked and id in heard:
                d = heard[id] * TAU
                write((id, pair.label, longer, round(asked[id], 4), round(d, 3)))


def kept() -> list[Row]:
    with KEPT.open(encoding="utf-8", newline="") as file:
        return [
            Row(id, Choice(label), int(longer), float(odds), float(d))
            for id, label, longer, odds, d in list(csv.reader(file))[1:]
        ]


def distinct(rows: list[Row]) -> list[Row]:
    def texts(row: Row) -> tuple[object, ...]:
        return row.id.partition("/")[0], abs(row.longer), abs(row.d)

    return list({texts(row): row for row in reversed(rows)}.values())


def spread(x: list[float]) -> float:
    """The standard deviation of the normal distribution with this middle half."""
    low, high = np.percentile(x, (25, 75))
    return float(high - low) / 1.349


def fit(rows: list[Row]) -> Scales:
    """logit P(A is better) = d / tau, without a constant, for sides are arbitrary."""
    near = [row for row in rows if row.label is not Choice.TIE and abs(row.d) <= FAR]
    toward = np.array([row.d if row.label is Choice.A else -row.d for row in near])
    taus = np.arange(5.0, 400.0)
    losses = [np.logaddexp(0, -toward / tau).mean() for tau in taus]
    best = int(np.argmin(losses))
    odds, d = ([getattr(row, name) for row in rows] for name in ("odds", "d"))
    return Scales(taus[best], losses[best], spread(odds), spread(d))


def told(rows: list[Row]) -> Iterator[str]:
    decided = [row for row in rows if row.label is not Choice.TIE]
    yield f"{len(rows)} pairs, {len(decided)} decided"
    for name, of in (("heard", "d"), ("asked", "odds"), ("the longer", "longer")):
        yield f"{name:10} right: {shown(right(decided, of))}"
    tau, loss, odds, d = fit(rows)
    yield f"tau {tau:.0f} nats, log loss {loss:.3f}; of a coin {math.log(2):.3f}"
    yield f"spread: {odds:.3f} log-odds asked, {d:.1f} nats heard"
    for margin in (0, 1, 2, 3, 4, 6, 9, 13):
        three = [said(row.d, margin) is row.label for row in rows]
        yield (
            f"margin {margin:2} nats: right {shown(right(decided, 'd', margin))}, three-way"
            f" {shown(np.array(three, float))}"
        )


def said(x: float, margin: float = 0.0) -> Choice:
    if abs(x) <= margin:
        return Choice.TIE
    return Choice.A if x > 0 else Choice.B


def right(decided: list[Row], of: str, margin: float = 0.0) -> np.ndarray:
    """1 where the sign is people's choice, 0 where it is not, half where it is within margin."""
    choices = [(row.label, said(getattr(row, of), margin)) for row in decided]
    return np.array([0.5 if c is Choice.TIE else float(c is label) for label, c in choices])


def shown(shares: np.ndarray) -> str:
    e = win_rate(shares)
    return f"{e.estimate:.3f} [{e.low:.3f}, {e.high:.3f}]"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("votes", nargs="?", type=Path)
    parser.add_argument("--ledger", type=Path, default=Path("out/embedded-judge.sqlite"))
    options = parser.parse_args()
    if options.votes is not None:
        options.ledger.parent.mkdir(parents=True, exist_ok=True)
        with Ledger(options.ledger) as ledger:
            ask(ledger, sample(options.votes))
    print(*told(distinct(kept())), sep="\n")


if __name__ == "__main__":
    main()
