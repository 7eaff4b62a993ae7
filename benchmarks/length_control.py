"""How long a length-controlled win rate with its interval takes, on 805 items.

python benchmarks/length_control.py
"""

import time

import numpy as np

from twopan.stats.length_control import alpaca_length_controlled, length_controlled


def main() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.lognormal(7, 0.5, 805), rng.lognormal(7, 0.5, 805)
    difficulty = rng.normal(size=805)
    y = 1 / (1 + np.exp(-0.3 - np.tanh((a - b) / 800) - difficulty - rng.normal(size=805)))
    columns = (y, a, b, difficulty)
    for name, work in (
        ("AlpacaEval's, 200 refits", lambda: alpaca_length_controlled(*columns)),
        ("AlpacaEval's, the estimate", lambda: alpaca_length_controlled(*columns, refits=0)),
        ("plain, with its interval", lambda: length_controlled(y, a, b)),
    ):
        taken = []
        for _ in range(5):
            began = time.perf_counter()
            work()
            taken.append(time.perf_counter() - began)
        print(f"{name:28} {1000 * min(taken):8.1f} ms")


if __name__ == "__main__":
    main()
