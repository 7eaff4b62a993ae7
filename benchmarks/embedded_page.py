"""The page about the embedded judge: tables from what was measured, words from words.md."""

import csv
from dataclasses import replace

import embedded_judge
import embedded_scales
import numpy as np

from twopan.pipelines.meta_evaluate import ALL, MetaEvaluation
from twopan.stats.resampling import Estimate
from twopan.stats.win_rate import win_rate
from twopan.verdict import Choice, Comparison, Preference, Unjudged

WORDS, WHEEL = embedded_judge.HERE / "words.md", embedded_judge.HERE / "wheel.csv"
SUBSETS = (
    ("all", ALL),
    ("Natural", "LLMBar/Natural"),
    ("Adversarial", "LLMBar/Adversarial"),
    *((name, f"LLMBar/Adversarial/{name}") for name in ("GPTInst", "GPTOut", "Manual", "Neighbor")),
)


def page(found: MetaEvaluation) -> str:
    """words.md with ``{{ accuracy }}`` and the other tables filled in."""
    text = WORDS.read_text(encoding="utf-8")
    for name, table in (
        ("accuracy", accuracy(found)),
        ("orders", orders(found)),
        ("differences", differences(found)),
        ("builds", builds(found)),
        ("seconds", seconds()),
        ("scales", scales()),
    ):
        text = text.replace(f"{{{{ {name} }}}}", table)
    return text


def accuracy(found: MetaEvaluation) -> str:
    rows = []
    for trial, cells in zip(found.trials, found.cells, strict=True):
        if trial.judge == "most markdown":
            continue  # the texts that it counts in are not kept
        shares = [f"{share(cells[key].accuracy)}" if key in cells else "" for _, key in SUBSETS]
        rows.append([trial.name, str(cells[ALL].pairs), *shares])
    return table(["judge · protocol", "pairs", *(name for name, _ in SUBSETS)], rows)


def orders(found: MetaEvaluation) -> str:
    rows = []
    for trial, cells, lengths in zip(found.trials, found.cells, found.by_length, strict=True):
        if not trial.trivial:
            cell = cells[ALL]
            unjudged = sum(n for why, n in cell.unjudged.items() if why != "not_recorded")
            parts = (cell.both, cell.consistent, cell.first_position, cell.ties)
            sides = (lengths.get("longer"), lengths.get("shorter"))
            rows.append([trial.name, *map(share, (*parts, *sides)), str(unjudged)])
    heads = ["both right", "consistent", "chose first", "ties", "better is longer", "is shorter"]
    return table(["judge · protocol", *heads, "unjudged"], rows)


def differences(found: MetaEvaluation) -> str:
    rows = []
    for d in found.against_first:
        e = d.paired.difference
        rows.append(
            [
                f"{found.trials[d.second].name} − {found.trials[d.first].name}",
                f"{-100 * e.estimate:+.1f} [{-100 * e.high:+.0f}, {-100 * e.low:+.0f}]",
                f"{d.paired.p_value:.2g}" if d.paired.p_value >= 1e-12 else "< 1e-12",
                str(d.pairs),
            ]
        )
    return table(["", "points", "p (McNemar)", "pairs"], rows)


def builds(found: MetaEvaluation) -> str:
    """The installed wheel beside the build that judged everything, by their looks alone."""
    labels = {pair.item.id: pair.label for pair in found.pairs}
    here = {
        (trial.judge, trial.protocol, outcome.item_id): outcome.votes[0]
        for trial in found.trials
        for outcome in trial.outcomes
        if not isinstance(outcome, Unjudged)
    }
    both: dict[str, list[tuple[float, float, bool]]] = {}
    for key, (a_first, _, b_first, _) in embedded_judge.rows(WHEEL).items():
        _, protocol, item = key
        there = Comparison(judge="", a_first=chose(a_first), b_first=chose(b_first))
        ours = replace(here[key], margin=None)
        rights = (right(there.choice, labels[item]), right(ours.choice, labels[item]))
        same = (a_first, b_first) == (ours.a_first.choice, ours.b_first.choice)
        both.setdefault(protocol, []).append((*rights, same))
    heads = ["protocol", "pairs", "same two verdicts", "wheel right", "this build right"]
    rows = []
    for protocol, seen in both.items():
        wheel, ours, same = zip(*seen, strict=True)
        rights = (share(win_rate(np.array(of))) for of in (wheel, ours))
        rows.append([protocol, str(len(seen)), str(sum(same)), *rights])
    return table(heads, rows)


def chose(choice: str) -> Preference:
    return Preference(choice=Choice(choice), reasoning="")


def right(choice: Choice, label: Choice | None) -> float:
    return 0.5 if choice is Choice.TIE else float(choice is label)


def seconds() -> str:
    with embedded_judge.SECONDS.open(encoding="utf-8", newline="") as file:
        rows = [[f"{judge} · {of}", taken] for judge, of, _, taken in list(csv.reader(file))[1:]]
    return table(["judge · protocol", "seconds"], rows)


def scales() -> str:
    rows = embedded_scales.distinct(embedded_scales.kept())
    return "\n".join(f"    {line}" for line in embedded_scales.told(rows))


def share(e: Estimate | None) -> str:
    return "" if e is None else f"{100 * e.estimate:.1f} [{100 * e.low:.0f}, {100 * e.high:.0f}]"


def table(heads: list[str], rows: list[list[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
