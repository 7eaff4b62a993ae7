"""Comparisons until a question is answered: the best of 20 systems, and their whole order.

The best is 52 Elo points ahead of the second. In the *even* world the others are evenly spaced down
to 400 below the best; in the *scattered* one they are as normal deviates fall (110 points), so that
few are near it; in the *crowded* one eight are within 40 points of the second. Systems are better
on some of 500 items than on others (standard deviation .5 in log-odds), the judge leans to the
first position (.4) and looks twice, so that some pairs come out even. *Best*: the comparisons after
which the best system is rated first in 95 % of tournaments, and again at the next look. *Order*:
those after which Kendall's tau with the true order is .9 in the mean. *Against random* is what it
saves over pairs at random, which play in the same worlds, as a factor. 150 tournaments each.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from scipy.stats import kendalltau

from twopan.stats.battles import count
from twopan.stats.bradley_terry import fit
from twopan.stats.pairing import Batch, Field, Goal, Method, next_batch

TITLE = "Pairing"
HEADS = ("question", "world", "method", "comparisons", "against random")
N, ITEMS = 20, 500
SCATTERED = np.sort(np.random.default_rng(4).normal(0, 110, N - 1))[::-1]
WORLDS = {
    "even": np.concatenate([[0.0], np.linspace(-52, -400, N - 1)]),
    "scattered": np.concatenate([[0.0], SCATTERED - SCATTERED[0] - 52]),
    "crowded": np.concatenate([[0.0], np.linspace(-52, -92, 8), np.linspace(-120, -400, N - 9)]),
}
QUIRK, LEAN = 0.5, 0.4
TOURNAMENTS = 150
STEPS = {"active": 16, "random": 40, "swiss": 40, "round-robin": 190, "baseline": 190}
FIELD = Field(np.ones((N, ITEMS), bool))


def rows(runs: int, seed: int) -> Iterator[tuple[str, ...]]:
    tournaments = max(5, min(TOURNAMENTS, runs))
    for world in WORLDS:
        yield from against_random("best", world, ("random", "swiss", "active"), tournaments, seed)
    methods = ("random", "round-robin", "baseline", "swiss", "active")
    yield from against_random("order", "even", methods, tournaments // 3 + 2, seed)


def against_random(
    question: str, world: str, methods: Sequence[Method], tournaments: int, seed: int
) -> Iterator[tuple[str, ...]]:
    goal, random = Goal("top1") if question == "best" else Goal(), None
    for method in methods:
        worlds = [World(seed + k, WORLDS[world], method, goal) for k in range(tournaments)]
        needed = comparisons(question, worlds)
        random = random or needed
        yield question, world, method, f"{needed:,}", f"{random / needed:.1f}"


def comparisons(question: str, worlds: "Sequence[World]") -> int:
    """The first step after which the question is answered, and is so at the next."""
    step = STEPS[worlds[0].method]
    enough = 0
    while enough < 2 and worlds[0].made < 20_000:
        for world in worlds:
            world.play(step)
        rated = [world.rated() for world in worlds]
        if question == "best":
            answered = np.mean([np.argmax(theta) == 0 for theta in rated]) >= 0.95
        else:
            taus = [kendalltau(theta, worlds[0].theta).statistic for theta in rated]
            answered = np.mean(taus) >= 0.9
        enough = enough + 1 if answered else 0
    return worlds[0].made - step


class World:
    """A tournament."""

    def __init__(self, seed: int, elo: np.ndarray, method: Method, goal: Goal) -> None:
        self.rng = np.random.default_rng(seed)
        self.seed, self.method, self.goal = seed, method, goal
        self.theta = elo * np.log(10) / 400
        self.eta = self.theta[:, None] + QUIRK * self.rng.normal(size=(N, ITEMS))
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
