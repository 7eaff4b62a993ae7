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
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
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
from twopan.saving import replacing
from twopan.session import Session, open_session
from twopan.verdict import Choice, Comparison, Preference, Unjudged, Verdict
from twopan.weights import catalogue

HERE = Path(__file__).parent / "embedded"
PAGE = Path(__file__).parent.parent / "docs" / "embedded-judge.md"
AGREEMENT = Path(__file__).parent.parent / "src" / "twopan" / "report" / "agreement.csv"
ITEMS, VERDICTS, SECONDS = HERE / "items.csv", HERE / "verdicts.csv", HERE / "seconds.csv"
SIGNATURES = HERE / "signatures.csv"

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


def session(
    ledger: Ledger, model: str, protocol: str, *, offline: bool = False
) -> AbstractAsyncContextManager[Session]:
    rubric = load_rubric(RUBRIC) if find_protocol(protocol).asks else None
    specs = [f"local:{model}"]
    return open_session(specs, ledger=ledger, protocol=protocol, rubric=rubric, offline=offline)


async def judged(
    ledger: Ledger, model: str, protocol: str, pairs: list[Pair], *, offline: bool = False
) -> list[Outcome]:
    """The verdicts on these pairs; with ``offline`` those that the ledger's answers give."""
    async with session(ledger, model, protocol, offline=offline) as opened:
        each = None if offline else opened.keep
        return await judge_pairs(opened.jury, pairs, workers=opened.workers, each=each)


async def signature(ledger: Ledger, model: str, protocol: str) -> str:
    """All that decides what this judge answers, but for the version of twopan."""
    async with session(ledger, model, protocol, offline=True) as opened:
        return opened.jury[0].signature.rpartition("|")[0]


def ask(ledger: Ledger, pairs: list[Pair]) -> None:
    """Ask whatever has not been kept or answered, writing down what there is after each step."""
    for model, protocol, size in plan():
        began = time.monotonic()
        known = {id for judge, of, id in rows(VERDICTS) if (judge, of) == (model, protocol)}
        new = [pair for pair in sample(pairs, size) if pair.item.id not in known]
        run(judged(ledger, model, protocol, new))
        collect(ledger, pairs)
        print(f"{model} {protocol} {size} pairs: {time.monotonic() - began:.0f} s", flush=True)


def same_judges(ledger: Ledger) -> dict[tuple[str, str], str]:
    """Signatures by judge and protocol. Ends the program where kept verdicts have others."""
    kept = {(judge, protocol): row[0] for (judge, protocol), row in rows(SIGNATURES, 2).items()}
    asked = [(model, of) for model in MODELS for of in (*ONE_PASS, *DERIVED, *GENERATING)]
    now = {(model, of): run(signature(ledger, model, of)) for model, of in asked}
    for key, said in kept.items():
        if now.get(key) != said:
            sys.exit(
                f"{VERDICTS}: {' · '.join(key)} was measured as\n  {said}\nand this is\n"
                f"  {now.get(key)}\nVerdicts of two judges are not pooled: to measure this one,"
                f" move that file and {SIGNATURES.name} elsewhere"
            )
    return now


def collect(ledger: Ledger, pairs: list[Pair]) -> None:
    """Write down labels, lengths and verdicts: those of the ledger, and those that were kept."""
    HERE.mkdir(exist_ok=True)
    signatures = same_judges(ledger)
    old = rows(VERDICTS)
    with table(ITEMS, "item", "label", "length_a", "length_b") as write:
        for pair in pairs:
            write((pair.item.id, pair.label, len(pair.a.text), len(pair.b.text)))
    heads = ("judge", "protocol", "item", "margin", "a_first", "p", "b_first", "p", "unjudged")
    written = set()
    with table(VERDICTS, *heads) as write:
        for model, protocol in signatures:
            for outcome in run(judged(ledger, model, protocol, pairs, offline=True)):
                key = (model, protocol, outcome.item_id)
                if isinstance(outcome, Verdict):
                    row = [*numbers(outcome.votes[0]), ""]
                elif outcome.reason != "not_recorded":
                    row = ["", "", "", "", "", outcome.reason]
                elif key in old:
                    row = old[key]
                else:
                    continue
                write((*key, *row))
                written.add((model, protocol))
    with table(SIGNATURES, "judge", "protocol", "signature") as write:
        for key, said in signatures.items():
            if key in written:
                write((*key, said))


def clock(pairs: list[Pair]) -> None:
    """Write down how long a pair takes, both orders, when nothing else runs; loading left out."""
    with (
        table(SECONDS, "judge", "protocol", "pairs", "seconds") as write,
        TemporaryDirectory() as folder,
    ):
        for model in MODELS:
            for protocol in ONE_PASS:
                with Ledger(Path(folder) / f"{model}-{protocol}.sqlite") as ledger:
                    began, ended = run(timed(ledger, model, protocol, pairs))
                write((model, protocol, len(pairs), round((ended - began) / len(pairs), 1)))


async def timed(
    ledger: Ledger, model: str, protocol: str, pairs: list[Pair]
) -> tuple[float, float]:
    """When the model was loaded, and when all pairs were judged."""
    async with session(ledger, model, protocol) as opened:
        item = Item(id="warm", instruction="Say hello.")
        a, b = (Response(item_id="warm", system=name, text=name) for name in "ab")
        await judge_pairs(opened.jury, [Pair(item=item, a=a, b=b)], workers=1)
        began = time.monotonic()
        await judge_pairs(opened.jury, pairs, workers=opened.workers)
        return began, time.monotonic()


@contextmanager
def table(path: Path, *heads: str) -> Iterator[Callable[[Iterable[Any]], object]]:
    """A CSV file that appears whole or not at all; gives what writes a row."""
    with replacing(path) as file:
        write = csv.writer(file, lineterminator="\n").writerow
        write(heads)
        yield write
    path.chmod(0o644)  # it holds no texts, and what is installed from here is for everybody


def rows(path: Path, key: int = 3) -> dict[tuple[str, ...], list[str]]:
    """What was kept there, by the first columns: judge, protocol and item."""
    if not path.exists():
        return {}
    with path.open(encoding="utf-8", newline="") as file:
        return {tuple(row[:key]): row[key:] for row in list(csv.reader(file))[1:]}


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
    for (judge, protocol, id), row in rows(VERDICTS).items():
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
    heads = ("weights", "protocol", "subset", "accuracy", "low", "high", "pairs")
    with table(AGREEMENT, *heads) as write:
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
