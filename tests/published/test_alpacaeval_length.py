"""AlpacaEval 2 (Dubois et al. 2024): win rates, raw and length-controlled, as published."""

import csv
import json
from collections import defaultdict

import numpy as np
import pytest

from published.recorded import DATA, columns, needs_data
from twopan.stats.length_control import Gamed, alpaca_length_controlled, from_weights
from twopan.stats.win_rate import win_rate

pytestmark = needs_data

FILE = "alpacaeval/weighted_gpt4_turbo_annotations.parquet"
BASELINE = "gpt4_1106_preview"
NOT_THEIRS = {"dbrx-instruct", "NullModel", "llama-2-70b-chat-hf", "platolm-7b"}
"""The published weights of these do not give the published rate."""


def table(name):
    with (DATA / "alpacaeval" / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def leaderboard():
    return {row[""]: row for row in table("weighted_alpaca_eval_gpt4_turbo_leaderboard.csv")}


@pytest.fixture(scope="module")
def difficulty():
    return np.array(
        [float(r["instruction_difficulty"]) for r in table("instruction_difficulty_recovered.csv")]
    )


@pytest.fixture(scope="module")
def preferences():
    """Model -> rows (position, preference, length of the baseline's, of the model's)."""
    found = defaultdict(list)
    for model, pos, pref, len1, len2 in columns(FILE, "model", "pos", "pref", "len1", "len2"):
        if pref is not None and np.isfinite(pref):
            found[model].append((pos, 0.5 if pref == 0 else pref - 1, len1, len2))
    return {model: np.array(rows, float) for model, rows in found.items()}


def test_r4_raw_win_rates_and_their_standard_errors(leaderboard, preferences):
    checked = 0
    for model, rows in preferences.items():
        if model not in leaderboard:
            continue
        published, found = leaderboard[model], win_rate(rows[:, 1])
        assert 100 * found.estimate == pytest.approx(float(published["win_rate"]), abs=1e-8)
        error = float(published["standard_error"])
        assert 100 * found.standard_error == pytest.approx(error, abs=1e-8)
        assert (rows[:, 1] > 0.5).sum() == int(float(published["n_wins"]))
        checked += 1
    assert checked == 57


def test_r6_controlled_win_rates_from_published_weights(leaderboard, difficulty):
    weights = {
        name: [float(value) for value in row.values()]
        for row in table("lc_v1_weights_baseline_gpt4_1106_preview.csv")
        if (name := row.pop(""))
    }
    off = {
        model: abs(
            100 * from_weights(told, weights[BASELINE], difficulty)
            - float(leaderboard[model]["length_controlled_winrate"])
        )
        for model, told in weights.items()
        if model in leaderboard and leaderboard[model]["length_controlled_winrate"]
    }
    assert len(off) == 199
    assert {model for model, by in off.items() if by > 0.01} <= NOT_THEIRS


def test_r7_controlled_win_rates_refitted_from_the_annotations(preferences, difficulty):
    features = columns(
        "alpacaeval/gamed_features.parquet", "tanh_std_delta_len", "instruction_difficulty"
    )
    sums = json.loads((DATA / "alpacaeval" / "gamed_sufficient_statistics.json").read_text())
    gamed = Gamed(
        x=np.array(list(features)),
        told=np.array(
            [
                sums["sum_pref_times_tanh_std_delta_len"],
                sums["sum_pref_times_instruction_difficulty"],
            ]
        ),
        weight=sums["row_weight"],
    )
    off = []
    for row in table("lc_refit_check.csv"):
        rows = preferences[row["model"]]
        found = alpaca_length_controlled(
            rows[:, 1], rows[:, 3], rows[:, 2], difficulty[rows[:, 0].astype(int)],
            gamed=gamed, c=float(row["C_inferred"]), refits=0,
        )  # fmt: skip
        off.append(abs(100 * found.estimate - float(row["published_lc"])))
    assert len(off) == 56
    assert max(off) < 0.15
    assert np.median(off) < 0.01
