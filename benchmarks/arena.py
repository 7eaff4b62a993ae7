"""Ratings of an arena, against what others take: 130 systems, 1.7 million battles, 60,000 items.

    python benchmarks/arena.py [--fastchat rating_systems.py] [--battles 1700000]

Others are measured where they are installed (evalica, arena-rank, glum) or at hand (FastChat's
rating_systems.py, from fastchat/serve/monitor in its repository). All begin with a table of names
and end with ratings, on the same battles in the same process; the least of three runs counts, or
the only one where it takes more than ten seconds. *Off* is the largest distance from the maximum of
the likelihood, in points of Elo. Run it on a machine that does nothing else.
"""

import argparse
import contextlib
import importlib.util
import io
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from twopan.stats.battles import Battles, count
from twopan.stats.bootstrap import bootstrap
from twopan.stats.bradley_terry import ELO, bradley_terry, fit

SYSTEMS, ITEMS, COVARIATES = 130, 60_000, 5


class Arena:
    """Battles as a table of names, with five covariates."""

    def __init__(self, battles: int, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        theta = rng.normal(0, 0.8, SYSTEMS)
        weight = rng.dirichlet(np.full(SYSTEMS, 2.0))
        self.a = rng.choice(SYSTEMS, battles, p=weight)
        self.b = (self.a + rng.integers(1, SYSTEMS, battles)) % SYSTEMS
        self.item = rng.integers(0, ITEMS, battles)
        self.x = rng.normal(size=(battles, COVARIATES))
        quirk = rng.normal(0, 0.7, (SYSTEMS, ITEMS // 20))
        eta = theta[self.a] - theta[self.b] + self.x @ np.linspace(0.3, -0.1, COVARIATES)
        eta += quirk[self.a, self.item // 20] - quirk[self.b, self.item // 20]
        u = rng.random(battles)
        p = 1 / (1 + np.exp(-eta))
        self.y = np.where(u < 0.8 * p, 1.0, np.where(u < 0.8 * p + 0.2, 0.5, 0.0))
        self.names = np.array([f"system-{n:03}" for n in range(SYSTEMS)])

    def frame(self) -> Any:
        import pandas as pd

        winner = np.select([self.y == 1, self.y == 0], ["model_a", "model_b"], "tie")
        return pd.DataFrame(
            {"model_a": self.names[self.a], "model_b": self.names[self.b], "winner": winner}
        )


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    least, found = np.inf, None
    for _ in range(3):
        began = time.perf_counter()
        with contextlib.redirect_stderr(io.StringIO()):
            found = work()
        least = min(least, time.perf_counter() - began)
        if least > 10:
            break
    return least, found


def indexed(frame: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Names as numbers, as anybody has to make them."""
    import pandas as pd

    codes, _ = pd.factorize(pd.concat([frame["model_a"], frame["model_b"]]), sort=True)
    a, b = np.split(codes, 2)
    winner = frame["winner"]
    y = np.full(len(frame), 0.5)
    y[(winner == "model_a").to_numpy()] = 1.0
    y[(winner == "model_b").to_numpy()] = 0.0
    return a, b, y


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--battles", type=int, default=1_700_000)
    parser.add_argument("--fastchat", type=Path)
    parser.add_argument("--refits", type=int, default=100)
    options = parser.parse_args()
    arena = Arena(options.battles)
    frame = arena.frame()
    truth = fit(count(arena.a, arena.b, arena.y, n=SYSTEMS), robust=False).theta
    rivals = available(options.fastchat)

    print(f"| {options.battles:,} battles | seconds | times as long | off |")
    print("| --- | --- | --- | --- |")
    ours = row("twopan, clustered intervals", lambda: clustered(frame, arena.item), truth)
    row("twopan, ratings alone", lambda: ratings(frame), truth, ours)
    for name, rival in rivals.items():
        if "fit" in rival:
            row(f"{name}, ratings alone", lambda rival=rival: rival["fit"](frame), truth, ours)

    battles = count(*indexed(frame), n=SYSTEMS)
    print(f"| **{options.refits} refits** | | | |")
    refits = row("twopan", lambda: refitted(battles, options.refits), None)
    for name, rival in rivals.items():
        if "refit" in rival:
            row(name, lambda r=rival: r["refit"](frame, options.refits), None, refits)

    print(f"| **{COVARIATES} covariates** | | | |")
    numbered = indexed(frame)
    more = row("twopan", lambda: controlled(numbered, arena.x), None)
    for name, rival in rivals.items():
        if "covariates" in rival:
            row(name, lambda r=rival: r["covariates"](numbered, arena.x), None, more)

    print("| **growth** | | | |")
    for part in (10, 3, 1):
        n = options.battles // part
        some = frame.iloc[:n]
        row(f"twopan, {n:,} battles", lambda s=some, n=n: clustered(s, arena.item[:n]), None)


def row(name: str, work: Callable[[], Any], truth: Any, ours: float | None = None) -> float:
    try:
        seconds, found = timed(work)
    except (MemoryError, ImportError) as error:
        print(f"| {name} | none: {error} | | |", flush=True)
        return np.inf
    off = "" if truth is None or found is None else f"{ELO * np.abs(found - truth).max():.2g}"
    times = "" if ours is None else f"{seconds / ours:.1f}"
    print(f"| {name} | {seconds:.2f} | {times} | {off} |", flush=True)
    return seconds


# ours


def ratings(frame: Any) -> np.ndarray:
    return fit(count(*indexed(frame), n=SYSTEMS), robust=False).theta


def clustered(frame: Any, item: np.ndarray) -> np.ndarray:
    return fit(count(*indexed(frame), n=SYSTEMS, cluster=item)).theta


def refitted(battles: Battles, draws: int) -> None:
    bootstrap(battles, draws=draws)


def controlled(numbered: tuple[np.ndarray, ...], x: np.ndarray) -> None:
    bradley_terry(*numbered, n=SYSTEMS, covariates=x)


# theirs: log-odds that sum to zero, in the order of the names


def centred(theta: Any) -> np.ndarray:
    theta = np.asarray(theta, float)
    return theta - theta.mean()


def available(fastchat: Path | None) -> dict[str, dict[str, Callable[..., Any]]]:
    found: dict[str, dict[str, Callable[..., Any]]] = {}
    if fastchat is not None:
        spec = importlib.util.spec_from_file_location("rating_systems", fastchat)
        assert spec is not None
        assert spec.loader is not None
        theirs = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(theirs)
        sys.modules["rating_systems"] = theirs
        found["FastChat"] = {
            "fit": lambda f: centred(
                theirs.compute_bt(f).sort_index().to_numpy() * np.log(10) / 400
            ),
            "refit": theirs.compute_bootstrap_bt,
            "covariates": lambda numbered, x: theirs.fit_contextual_bt(
                np.column_stack(numbered[:2]), x, numbered[2], range(SYSTEMS)
            ),
        }
    if importlib.util.find_spec("evalica"):
        found["evalica"] = {"fit": by_evalica}
    if importlib.util.find_spec("arena_rank"):
        found["arena-rank"] = {"fit": by_arena_rank}
    if importlib.util.find_spec("glum"):
        found["glum"] = {"covariates": by_glum}
    return found


def by_evalica(frame: Any) -> np.ndarray:
    import evalica

    winners = frame["winner"].map(
        {"model_a": evalica.Winner.X, "model_b": evalica.Winner.Y, "tie": evalica.Winner.Draw}
    )
    found = evalica.bradley_terry(frame["model_a"], frame["model_b"], winners, limit=1000)
    return centred(np.log(found.scores.sort_index().to_numpy()))


def by_arena_rank(frame: Any) -> np.ndarray:
    from arena_rank.models.bradley_terry import BradleyTerry
    from arena_rank.utils.data_utils import PairDataset

    data = PairDataset.from_pandas(frame)
    found = BradleyTerry(n_competitors=len(data.competitors)).compute_ratings_and_cis(data)
    order = np.argsort(data.competitors)
    return centred(np.asarray(found["ratings"])[order] * np.log(10) / 400)


def by_glum(numbered: tuple[np.ndarray, ...], x: np.ndarray) -> None:
    from glum import GeneralizedLinearRegressor
    from scipy.sparse import csc_matrix, hstack

    a, b, y = numbered
    m = np.arange(len(y))
    ones = np.ones(len(y))
    design = csc_matrix((ones, (m, a)), shape=(len(y), SYSTEMS)) - csc_matrix(
        (ones, (m, b)), shape=(len(y), SYSTEMS)
    )
    # Without the first system, whose strength is 0.
    GeneralizedLinearRegressor(family="binomial", alpha=0, fit_intercept=False).fit(
        hstack([design[:, 1:], csc_matrix(x)], format="csc"), y
    )


if __name__ == "__main__":
    main()
