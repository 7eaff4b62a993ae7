"""LLMBar: pairs of which one output follows the instruction and the other only seems to.

From https://github.com/princeton-nlp/LLMBar, folder Dataset; licence MIT. A ``dataset.json`` is an
array of {"input", "output_1", "output_2", "label": 1 or 2}. LLMBar proper is Dataset/LLMBar (100
Natural and 319 Adversarial items); beside it lie a case study and sets that others published.

Zeng et al. (2024), Evaluating Large Language Models at Evaluating Instruction Following.
"""

from functools import partial
from pathlib import Path

from twopan.data import Pair
from twopan.datasets import Pairs, Source
from twopan.errors import DataError
from twopan.fields import text
from twopan.formats import Columns, gather, make_item, make_pair, meaning
from twopan.rows import shown
from twopan.verdict import Choice

SYSTEMS = ("output_1", "output_2")
LABELS = {"1": Choice.A, "2": Choice.B}


def read(path: Source) -> Pairs:
    """One ``dataset.json``, or all below a folder in the order of their names.

    The category of an item is the folder of its file, counted from ``Dataset`` where that is among
    the folders ("LLMBar/Adversarial/Manual"), and its id is the category and its number in the
    file, from 0. Output 1 is A; which of the two is right varies in the files. Raises DataError.
    """
    files = sorted(Path(path).rglob("dataset.json")) if Path(path).is_dir() else [Path(path)]
    if not files:
        raise DataError(f"{shown(str(path))}: no dataset.json in this folder, nor below it")
    found = (gather(f, ("input", *SYSTEMS, "label"), partial(_pair, _subset(f))) for f in files)
    return Pairs(pairs=[pair for one in found for pair in one.pairs], systems=SYSTEMS)


def _subset(file: Path) -> str:
    folders = file.resolve().parent.parts
    at = max((i for i, f in enumerate(folders) if f == "Dataset"), default=len(folders) - 2)
    return "/".join(folders[at + 1 :]) or folders[-1]


def _pair(subset: str, row: Columns, number: int) -> Pair:
    a, b = (text(output, row[output]) for output in SYSTEMS)
    return make_pair(
        make_item(f"{subset}/{number}", subset, "input", row["input"]),
        (SYSTEMS[0], a),
        (SYSTEMS[1], b),
        meaning("label", row["label"], LABELS),
    )
