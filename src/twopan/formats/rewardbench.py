"""RewardBench: a chosen and a rejected response to each prompt, in 23 subsets.

From the data set allenai/reward-bench on Hugging Face, split ``filtered`` (2,985 rows, Parquet);
licence ODC-BY, the subsets under those of their sources. A row is {"prompt", "chosen",
"chosen_model", "rejected", "rejected_model", "subset", "id"}.

The file says which response is the right one by the column it stands in. Were chosen always A, a
judge that always says A would be always right. So a hash of the id and a seed decides which side it
takes: about half of them A, and the same ones on every machine and in every part of the file.

Lambert et al. (2024), RewardBench: Evaluating Reward Models for Language Modeling.
"""

from functools import partial
from hashlib import sha256

from twopan.data import Pair
from twopan.datasets import Pairs, Source
from twopan.fields import name, text
from twopan.formats import Columns, gather, make_item, make_pair, needed
from twopan.verdict import Choice

NEEDS = ("prompt", "chosen", "rejected", "subset", "id")


def read(path: Source, *, seed: int = 0) -> Pairs:
    """The pairs of one file; the subset is the category, and "subset/id" the id.

    The systems are those that wrote the responses, "(chosen)" and "(rejected)" behind them where
    they are the same or not given. Raises DataError.
    """
    return gather(path, NEEDS, partial(_pair, seed))


def side(id: str, seed: int = 0) -> Choice:
    """The side on which the chosen response stands."""
    return Choice.B if sha256(f"{seed}\0{id}".encode()).digest()[0] & 1 else Choice.A


def _pair(seed: int, row: Columns, number: int) -> Pair:
    subset = needed("subset", row["subset"])
    id = f"{subset}/{needed('id', row['id'])}"
    good, poor = ((_system(row, role), text(role, row[role])) for role in ("chosen", "rejected"))
    if good[0] == poor[0]:
        good, poor = (f"{good[0]} (chosen)", good[1]), (f"{poor[0]} (rejected)", poor[1])
    label = side(id, seed)
    a, b = (good, poor) if label == Choice.A else (poor, good)
    return make_pair(make_item(id, subset, "prompt", row["prompt"]), a, b, label)


def _system(row: Columns, role: str) -> str:
    return name(f"{role}_model", row.get(f"{role}_model")) or "unnamed"
