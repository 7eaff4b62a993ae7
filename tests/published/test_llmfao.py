"""LLMFAO (Ustalov 2023): ratings by people and by GPT-3.5 over 59 models, as published."""

import csv

import numpy as np
import pytest

from published.recorded import DATA, needs_data
from twopan.games import read_games, systems_of
from twopan.stats.battles import count
from twopan.stats.bradley_terry import fit

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
