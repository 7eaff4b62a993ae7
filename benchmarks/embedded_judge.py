"""How far the embedded judge agrees with people on LLMBar: asked, kept as numbers, written up.

    make meta-evaluate LLMBAR=Dataset/LLMBar     asks; hours, and goes on where it was stopped
    python benchmarks/embedded_judge.py          writes docs/embedded-judge.md again, in seconds

LLMBar comes from its authors' repository (github.com/princeton-nlp/LLMBar, folder Dataset/LLMBar,
licence MIT), or as one file of pairs with the categories LLMBar/Natural and so on. What is kept
beside this file are labels, lengths and verdicts, and no texts.
"""

import argparse
import csv
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from twopan.cli.options import Options
from twopan.cli.reading import chosen
from twopan.concurrency import run
from twopan.data import Item, Pair, Response
from twopan.datasets import read_pairs_file
from twopan.formats import load
from twopan.judges import find_protocol
from twopan.jury import Outcome, judge_pairs
from twopan.ledger import Ledger
from twopan.pipelines.meta_evaluate import MetaEvaluation, meta_evaluate
from twopan.pipelines.trials import Trial
from twopan.rubric import load as load_rubric
from twopan.session import open_session
from twopan.verdict import Choice, Comparison, Preference, Unjudged, Verdict
from twopan.weights import catalogue

HERE = Path(__file__).parent / "embedded"
PAGE = Path(__file__).parent.parent / "docs" / "embedded-judge.md"
AGREEMENT = Path(__file__).parent.parent / "src" / "twopan" / "report" / "agreement.csv"
ITEMS, VERDICTS, SECONDS = HERE / "items.csv", HERE / "verdicts.csv", HERE / "seconds.csv"

MODELS = ("qwen2.5-coder-1.5b", "qwen2.5-coder-0.5b")
ONE_PASS = ("likelihood", "pairwise", "pointwise-direct")
DERIVED = ("pairwise+odds", "pairwise+likelihood")
"""Made of the same answers, so they cost nothing more."""
GENERATING = ("pairwise-cot", "prepair", "prepair-star", "pairwise+metrics")
SAMPLE, SEED = 64, 1
"""The generating protocols take minutes a pair; they are tried on a sample."""
RUBRIC = "instruction_following"
"""What LLMBar's people were asked."""
STEPS = (64, 128, 256, 419)
"""A sample of one size holds the smaller ones, so wherever it stops all protocols have the same."""


def plan() -> Iterator[tuple[str, str, int]]:
    """(model, protocol, pairs), the most telling first."""
    for pairs in STEPS:
        for protocol in ONE_PASS:
            yield MODELS[0], protocol, pairs
    for protocol in GENERATING:
        yield MODELS[0], protocol, SAMPLE
    for pairs in STEPS:
        for protocol in ONE_PASS:
            yield MODELS[1], protocol, pairs


def read(path: Path) -> list[Pair]:
    pairs = (load("llmbar", path) if path.is_dir() else read_pairs_file(path)).pairs
    found = [pair for pair in pairs if (pair.item.category or "").startswith("LLMBar/")]
    if len(found) != STEPS[-1]:
        sys.exit(f"{path}: LLMBar has {STEPS[-1]} pairs, and here are {len(found)}")
    return found


def sample(pairs: list[Pair], size: int) -> list[Pair]:
    drawn = {"limit": size, "seed": SEED}
    options = Options(**{name: drawn.get(name) for name in Options.__dataclass_fields__})  # type: ignore[arg-type]
    return chosen(pairs, options, lambda pair: pair.item.id)


async def judged(
    ledger: Ledger, model: str, protocol: str, pairs: list[Pair], *, offline: bool = False
) -> list[Outcome]:
    """The verdicts on these pairs; with ``offline`` those that the ledger's answers give."""
    async with open_session(
        [f"local:{model}"],
        ledger=ledger,
        protocol=protocol,
        rubric=load_rubric(RUBRIC) if find_protocol(protocol).asks else None,
        offline=offline,
    ) as session:
        each = None if offline else session.keep
        return await judge_pairs(session.jury, pairs, workers=session.workers, each=each)


def ask(ledger: Ledger, pairs: list[Pair]) -> None:
    """Ask whatever has not been kept or answered, writing down what there is after each step."""
    for model, protocol, size in plan():
        began = time.monotonic()
        known = {id for judge, of, id in rows() if (judge, of) == (model, protocol)}
        new = [pair for pair in sample(pairs, size) if pair.item.id not in known]
        run(judged(ledger, model, protocol, new))
        collect(ledger, pairs)
        print(f"{model} {protocol} {size} pairs: {time.monotonic() - began:.0f} s", flush=True)


def collect(ledger: Ledger, pairs: list[Pair]) -> None:
    """Write down labels, lengths and verdicts: those of the ledger, and those that were kept."""
    HERE.mkdir(exist_ok=True)
    old = rows()
    with ITEMS.open("w", encoding="utf-8", newline="") as file:
        write = csv.writer(file, lineterminator="\n").writerow
        write(("item", "label", "length_a", "length_b"))
        for pair in pairs:
            write((pair.item.id, pair.label, len(pair.a.text), len(pair.b.text)))
    with VERDICTS.open("w", encoding="utf-8", newline="") as file:
        write = csv.writer(file, lineterminator="\n").writerow
        write(("judge", "protocol", "item", "margin", "a_first", "p", "b_first", "p", "unjudged"))
        for model in MODELS:
            for protocol in (*ONE_PASS, *DERIVED, *GENERATING):
                for outcome in run(judged(ledger, model, protocol, pairs, offline=True)):
                    key = (model, protocol, outcome.item_id)
                    if isinstance(outcome, Verdict):
                        write((*key, *numbers(outcome.votes[0]), ""))
                    elif outcome.reason != "not_recorded":
                        write((*key, "", "", "", "", "", outcome.reason))
                    elif key in old:
                        write((*key, *old[key]))


def clock(pairs: list[Pair]) -> None:
    """Write down how long a pair takes, both orders, when nothing else runs; loading left out."""
    with SECONDS.open("w", encoding="utf-8", newline="") as file, TemporaryDirectory() as folder:
        write = csv.writer(file, lineterminator="\n").writerow
        write(("judge", "protocol", "pairs", "seconds"))
        for model in MODELS:
            for protocol in ONE_PASS:
                with Ledger(Path(folder) / f"{model}-{protocol}.sqlite") as ledger:
                    began, ended = run(timed(ledger, model, protocol, pairs))
                write((model, protocol, len(pairs), round((ended - began) / len(pairs), 1)))


async def timed(
    ledger: Ledger, model: str, protocol: str, pairs: list[Pair]
) -> tuple[float, float]:
    """When the model was loaded, and when all pairs were judged."""
    rubric = load_rubric(RUBRIC) if find_protocol(protocol).asks else None
    specs = [f"local:{model}"]
    async with open_session(specs, ledger=ledger, protocol=protocol, rubric=rubric) as session:
        item = Item(id="warm", instruction="Say hello.")
        a, b = (Response(item_id="warm", system=name, text=name) for name in "ab")
        await judge_pairs(session.jury, [Pair(item=item, a=a, b=b)], workers=1)
        began = time.monotonic()
        await judge_pairs(session.jury, pairs, workers=session.workers)
        return began, time.monotonic()


def rows() -> dict[tuple[str, str, str], list[str]]:
    """The verdicts that were kept: by judge, protocol and item."""
    if not VERDICTS.exists():
        return {}
    with VERDICTS.open(encoding="utf-8", newline="") as file:
        return {
            (judge, protocol, id): row for judge, protocol, id, *row in list(csv.reader(file))[1:]
        }


def numbers(vote: Comparison) -> Iterable[Any]:
    yield "" if vote.margin is None else vote.margin
    for look in (vote.a_first, vote.b_first):
        yield look.choice
        yield "" if look.p_a is None else round(look.p_a, 6)


def kept() -> MetaEvaluation:
    """What was written down, counted. Texts are blanks of the right length."""
    with ITEMS.open(encoding="utf-8", newline="") as file:
        pairs = [
            Pair(
                item=Item(id=id, instruction="", category=id.rpartition("/")[0]),
                a=Response(item_id=id, system="output_1", text=" " * int(a)),
                b=Response(item_id=id, system="output_2", text=" " * int(b)),
                label=Choice(label),
            )
            for id, label, a, b in list(csv.reader(file))[1:]
        ]
    found: dict[tuple[str, str], dict[str, Outcome]] = {}
    for (judge, protocol, id), row in rows().items():
        found.setdefault((judge, protocol), {})[id] = outcome(judge, id, *row)
    found = {asked: whole(said, pairs) for asked, said in found.items()}
    absent = "not_recorded"
    trials = [
        Trial(
            judge=judge,
            protocol=protocol,
            outcomes=tuple(
                said.get(pair.item.id, Unjudged(item_id=pair.item.id, reason=absent))
                for pair in pairs
            ),
        )
        for (judge, protocol), said in found.items()
        if said
    ]
    return meta_evaluate(pairs, trials)


def whole(said: dict[str, Outcome], pairs: list[Pair]) -> dict[str, Outcome]:
    """The largest random sample that is complete; what was asked beyond it, in order, is none."""
    samples = ({pair.item.id for pair in sample(pairs, size)} for size in reversed(STEPS))
    ids = next((ids for ids in samples if ids <= said.keys()), set())
    return {id: outcome for id, outcome in said.items() if id in ids}


def outcome(judge: str, id: str, margin: str, *looks_and_reason: str) -> Outcome:
    *looks, reason = looks_and_reason
    if reason:
        return Unjudged(item_id=id, reason=reason)
    a_first, b_first = (
        Preference(choice=Choice(choice), reasoning="", p_a=float(p) if p else None)
        for choice, p in (looks[:2], looks[2:])
    )
    vote = Comparison(
        judge=judge, a_first=a_first, b_first=b_first, margin=float(margin) if margin else None
    )
    return Verdict(item_id=id, votes=(vote,), choice=vote.choice)


def tell(found: MetaEvaluation) -> None:
    """Write what a report may say of the embedded judge: where a whole sample was asked."""
    with AGREEMENT.open("w", encoding="utf-8", newline="") as file:
        write = csv.writer(file, lineterminator="\n").writerow
        write(("weights", "protocol", "subset", "accuracy", "low", "high", "pairs"))
        for trial, cells in zip(found.trials, found.cells, strict=True):
            if trial.trivial or cells["all pairs"].pairs < STEPS[0]:
                continue
            digest = catalogue()[trial.judge].sha256[:16]
            for subset in ("Natural", "Adversarial"):
                of = cells[f"LLMBar/{subset}"]
                e = of.accuracy
                shares = (f"{100 * x:.0f}" for x in (e.estimate, e.low, e.high))
                write((digest, trial.protocol, subset.lower(), *shares, of.pairs))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("llmbar", nargs="?", type=Path, help="Dataset/LLMBar, or a file of pairs")
    parser.add_argument("--ledger", type=Path, default=Path("out/embedded-judge.sqlite"))
    parser.add_argument("--collect", action="store_true", help="ask nobody; write what is there")
    parser.add_argument("--clock", action="store_true", help="only time eight pairs a protocol")
    options = parser.parse_args()
    if options.llmbar is not None:
        pairs = read(options.llmbar)
        if options.clock:
            clock(sample(pairs, 8))
            return
        options.ledger.parent.mkdir(parents=True, exist_ok=True)
        with Ledger(options.ledger) as ledger:
            if not options.collect:
                ask(ledger, pairs)
            collect(ledger, pairs)
    from embedded_page import page

    found = kept()
    tell(found)
    PAGE.write_text(page(found), encoding="utf-8")
    print(f"wrote {PAGE}")


if __name__ == "__main__":
    main()
