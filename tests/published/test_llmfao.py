"""LLMFAO (Ustalov 2023): ratings by people and by GPT-3.5 over 59 models, as published."""

import csv

import numpy as np
import pytest

from published.recorded import DATA, needs_data
from twopan.games import read_games, systems_of
from twopan.stats.battles import count
from twopan.stats.bradley_terry import fit
from twopan.stats.elo import average_win_rate, elo
from twopan.stats.leaderboard import matrices

pytestmark = needs_data


def table(name, **where):
    with (DATA / "llmfao" / name).open(encoding="utf-8", newline="") as file:
        return [row for row in csv.DictReader(file) if where.items() <= row.items()]


def battles(name):
    games = read_games(DATA / "llmfao" / name).games
    number = {system: n for n, system in enumerate(systems_of(games))}
    a, b = ([number[getattr(game, side)] for game in games] for side in "ab")
    scores = [game.a_score for game in games]
    return count(a, b, scores, n=len(number), cluster=[g.item for g in games]), list(number)


@pytest.mark.parametrize(
    ("judge", "log"), [("crowd", "crowd-comparisons.csv"), ("gpt3", "gpt3-crowd-comparisons.csv")]
)
def test_r8_the_published_bradley_terry_tables(judge, log):
    counted, systems = battles(log)
    strength = np.exp(fit(counted).theta)
    published = {
        r["model"]: float(r["score"]) for r in table("published_leaderboards.csv", judge=judge)
    }
    assert published.keys() == set(systems)
    expected = [published[system] for system in systems]
    np.testing.assert_allclose(strength / strength.sum(), expected, atol=1e-5)


def test_r8_the_golden_bradley_terry_ratings():
    counted, systems = battles("crowd-comparisons.csv")
    strength = np.exp(fit(counted).theta)
    golden = table("evalica-llmfao-golden.csv", algorithm="bradley_terry")
    expected = {row["item"]: float(row["score"]) for row in golden}
    found = dict(zip(systems, strength / strength.sum(), strict=True))
    assert found == {name: pytest.approx(score, abs=1e-9) for name, score in expected.items()}


def test_r8_golden_elo_average_win_rate_and_counting():
    games = read_games(DATA / "llmfao" / "crowd-comparisons.csv").games
    counted, systems = battles("crowd-comparisons.csv")
    number = {system: n for n, system in enumerate(systems)}
    a, b = ([number[getattr(game, side)] for game in games] for side in "ab")
    y = [game.a_score for game in games]
    scores, met = matrices(counted)
    found = {
        "elo": elo(a, b, y, n=len(systems), k=4, start=1000).ratings,
        "average_win_rate": average_win_rate(scores, met),
        "counting": scores.sum(1),
    }
    for algorithm, ratings in found.items():
        golden = table("evalica-llmfao-golden.csv", algorithm=algorithm)
        expected = {row["item"]: float(row["score"]) for row in golden}
        rated = dict(zip(systems, ratings, strict=True))
        assert rated == pytest.approx(expected, abs=1e-9, rel=1e-12), algorithm
