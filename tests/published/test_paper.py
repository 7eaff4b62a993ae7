"""The PRePair paper: its totals follow from its parts, and its gain from its table."""

import csv
from statistics import fmean

from published.recorded import DATA, needs_data
from twopan.stats.win_rate import win_rate

pytestmark = needs_data

SIZES = {
    "AlpacaEval-Easy": 100,
    "AlpacaEval-Hard": 95,
    "AlpacaEval-Length": 95,
    "MTBench-Easy": 28,
    "MTBench-Med": 40,
}
"""Items of RewardBench's filtered Chat subsets."""


def table(number):
    """Judge -> method -> data set -> accuracy in percent."""
    found = {}
    with (DATA / "paper/published_tables.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["table"] == f"table{number}" and row["accuracy"]:
                methods = found.setdefault(row["judge"], {}).setdefault(row["method"], {})
                methods[row["dataset"]] = float(row["accuracy"])
    return found


def test_r14_totals_of_table_7_from_its_subsets():
    checked = 0
    for methods in table(7).values():
        for accuracies in methods.values():
            scores = []
            for subset, n in SIZES.items():
                hits = round(accuracies[subset] * n / 100)
                assert abs(100 * hits / n - accuracies[subset]) < 0.006, "no whole number of hits"
                scores += [1.0] * hits + [0.0] * (n - hits)
            total = win_rate(scores)
            assert total.m == 358
            assert round(100 * total.estimate, 2) == accuracies["Total"]
            checked += 1
    assert checked == 8


def test_r14_mean_relative_gain_of_prepair_over_pairwise_in_table_2():
    adversarial = "LLMBar-Adversarial"
    gains = [
        methods["PRePair"][adversarial] / methods["Pairwise"][adversarial] - 1
        for methods in table(2).values()
    ]
    assert len(gains) == 6
    assert round(100 * fmean(gains), 2) == 24.49
