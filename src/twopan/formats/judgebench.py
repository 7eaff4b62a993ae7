"""JudgeBench: pairs of which one answer is right, on knowledge, reasoning, mathematics and code.

From https://github.com/ScalerLab/JudgeBench, folder data, or the data set ScalerLab/JudgeBench on
Hugging Face; licence MIT. A row of JSON Lines is {"pair_id", "original_id", "source", "question",
"response_model", "response_A", "response_B", "label": "A>B" or "B>A"}.

Tan et al. (2025), JudgeBench: A Benchmark for Evaluating LLM-Based Judges.
"""

from twopan.data import Pair
from twopan.datasets import Pairs, Source
from twopan.fields import text
from twopan.formats import Columns, gather, make_item, make_pair, meaning, needed
from twopan.verdict import Choice

NEEDS = ("pair_id", "source", "question", "response_A", "response_B", "label")
LABELS = {"A>B": Choice.A, "B>A": Choice.B}


def read(path: Source) -> Pairs:
    """The pairs of one file, sides as published; ``source`` is the category. Raises DataError.

    Both responses are by ``response_model``, so the systems are that model's A and B.
    """
    return gather(path, NEEDS, _pair)


def _pair(row: Columns, number: int) -> Pair:
    model = row.get("response_model") or "response"
    a, b = (text(f"response_{side}", row[f"response_{side}"]) for side in "AB")
    return make_pair(
        make_item(
            needed("pair_id", row["pair_id"]),
            needed("source", row["source"]),
            "question",
            row["question"],
        ),
        (f"{model} (A)", a),
        (f"{model} (B)", b),
        meaning("label", row["label"], LABELS),
    )
