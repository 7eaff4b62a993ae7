"""Comparisons until a question is answered: the best of 20 systems, and their whole order.

The best is 52 Elo points ahead of the second, eight are within 40 points of that, and the others
evenly spaced down to 400 below the best. Systems are better on some of 500 items than on others
(standard deviation .5 in log-odds), the judge leans to the first position (.4) and looks twice, so
that some pairs come out even. *Best*: the comparisons after which the best system is rated first in
95 % of tournaments. *Order*: those after which Kendall's tau with the true order is .9 in the mean.
*Against random* is the factor that it saves over pairs at random, which play the same tournaments.
60 tournaments each, stepped as far as needed.
"""

from collections.abc import Iterator

import numpy as np
from scipy.stats import kendalltau

from twopan.stats.battles import count
from twopan.stats.bradley_terry import fit
from twopan.stats.pairing import Batch, Field, Goal, next_batch

TITLE = "Pairing"
HEADS = ("question", "method", "comparisons", "against random")
N, ITEMS = 20, 500
ELO = np.concatenate([[0.0], np.linspace(-52, -92, 8), np.linspace(-120, -400, N - 9)])
THETA = ELO * np.log(10) / 400
QUIRK, LEAN = 0.5, 0.4
TOURNAMENTS = 60
FIELD = Field(np.ones((N, ITEMS), bool))


def rows(runs: int, seed: int) -> Iterator[tuple[str, ...]]:
    tournaments = max(5, min(TOURNAMENTS, runs))
    best = Goal("top1")
    for question, methods in (
        ("best", (("random", None), ("round-robin", None), ("swiss", None), ("active", best))),
        ("order", (("random", None), ("round-robin", None), ("baseline", None), ("swiss", None),
                   ("active", Goal()))),
    ):  # fmt: skip
        random = None
        for method, goal in methods:
            needed = comparisons(question, method, goal or Goal(), tournaments, seed)
            random = random or needed
            yield question, method, f"{needed:,}", f"{random / needed:.1f}"


def comparisons(question: str, method: str, goal: Goal, tournaments: int, seed: int) -> int:
    """The first step after which the question is answered, and stays so for one step more."""
    worlds = [World(seed + number, method, goal) for number in range(tournaments)]
    step = 40 if method == "active" else 190 if method in ("random", "swiss") else 380
    enough = 0
    while enough < 2 and worlds[0].made < 20_000:
        for world in worlds:
            world.play(step)
        rated = [world.rated() for world in worlds]
        if question == "best":
            answered = np.mean([np.argmax(theta) == 0 for theta in rated]) >= 0.95
        else:
            taus = [kendalltau(theta, THETA).statistic for theta in rated]
            answered = np.mean(taus) >= 0.9
        enough = enough + 1 if answered else 0
    return worlds[0].made - (enough - 1) * step


class World:
    """A tournament."""

    def __init__(self, seed: int, method: str, goal: Goal) -> None:
        self.rng = np.random.default_rng(seed)
        self.seed, self.method, self.goal = seed, method, goal
        self.eta = THETA[:, None] + QUIRK * self.rng.normal(size=(N, ITEMS))
        self.done, self.y = Batch(*(np.empty(0, int) for _ in range(3))), np.empty(0)

    @property
    def made(self) -> int:
        return len(self.done)

    def play(self, size: int) -> None:
        batch = next_batch(
            FIELD, self.done, self.y, method=self.method, goal=self.goal, size=size,
            baseline=N // 2, seed=self.seed,
        )  # fmt: skip
        gap = self.eta[batch.a, batch.item] - self.eta[batch.b, batch.item]
        looks = [
            self.rng.random(len(gap)) < 1 / (1 + np.exp(-(gap + lean))) for lean in (LEAN, -LEAN)
        ]
        self.done = self.done + batch
        self.y = np.concatenate([self.y, np.mean(looks, 0)])

    def rated(self) -> np.ndarray:
        counted = count(self.done.a, self.done.b, self.y, n=N)
        return fit(counted, prior=5.0, robust=False).theta
