r"""How many items an effect needs, and which effect a number of items can show.

A gate promotes where Wilson's lower end is above the threshold :math:`t`, which is where

.. math:: \hat p > c = t + z \sqrt{\frac{d\, t (1 - t)}{m}}

(Wilson's interval is the score test turned round), with the design effect :math:`d` of
:mod:`twopan.stats.win_rate`. Of items a share :math:`h` comes out even, as ties or because the
judge contradicts itself; the rest is won with the chance that makes the win rate :math:`p`. Scores
then have the variance :math:`\sigma^2 = p - h / 4 - p^2`, :math:`d` is about :math:`\sigma^2 / p (1
- p)`, and the power is

.. math:: P(\hat p > c) \approx \Phi\Bigl(\frac{p - c}{\sigma} \sqrt m\Bigr).

So a judge that often contradicts itself does two things: it draws the win rate towards ½, which
costs many items, and it makes scores vary less, which saves a few.

References
----------
Wilson (1927), Probable inference, the law of succession, and statistical inference. JASA 22.
Cohen (1988), Statistical power analysis for the behavioral sciences, chapter 6.
"""

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from twopan.stats.sequential import FUTILE, Rules, Stop, walk
from twopan.stats.win_rate import fewest_decided

MOST = 10_000_000
"""Items beyond which there is no plan."""


class OutOfReach(ValueError):
    """No number of items can show this."""


def power_of(
    items: int, rate: float, *, even: float = 0.0, threshold: float = 0.5, level: float = 0.95
) -> float:
    """The chance that a candidate with this win rate is promoted, all items judged.

    Parameters
    ----------
    rate : float in (0, 1)
        The true win rate, a tie half.
    even : float in [0, 1)
        The share of items that come out as ties or inconsistent.

    Examples
    --------
    Half the candidates that win 60 % are found with 96 items:

    >>> round(power_of(96, 0.6), 1)
    0.5
    """
    sigma, effect = _spread(rate, even)
    z = NormalDist().inv_cdf((1 + level) / 2)
    c = threshold + z * math.sqrt(effect * threshold * (1 - threshold) / items)
    found = NormalDist().cdf((rate - c) / sigma * math.sqrt(items))
    # With fewer wins and losses than this a gate decides nothing.
    fewest = fewest_decided(level)
    from scipy.special import bdtrc

    return float(found * bdtrc(fewest - 1, items, 1 - even)) if items >= fewest else 0.0


def items_needed(
    rate: float,
    *,
    power: float = 0.8,
    even: float = 0.0,
    threshold: float = 0.5,
    level: float = 0.95,
) -> int:
    """The fewest items with which a candidate of this win rate is promoted so often.

    Raises OutOfReach where the rate is not above the threshold.

    >>> items_needed(0.6)
    194
    """
    if rate <= threshold:
        raise OutOfReach(f"a win rate of {rate:.1%} is not above the threshold of {threshold:.1%}")
    low, high = 0, 1
    more = {"even": even, "threshold": threshold, "level": level}
    while power_of(high, rate, **more) < power:
        low, high = high, 2 * high
        if high > MOST:
            raise OutOfReach(f"a win rate of {rate:.1%} needs more than {MOST:,} items")
    while high - low > 1:
        middle = (low + high) // 2
        enough = power_of(middle, rate, **more) >= power
        low, high = (low, middle) if enough else (middle, high)
    return high


def detectable(
    items: int,
    *,
    power: float = 0.8,
    even: float = 0.0,
    threshold: float = 0.5,
    level: float = 0.95,
) -> float | None:
    """The smallest win rate that so many items promote so often; None where none is.

    >>> round(detectable(194), 3)
    0.6
    """
    low, high = threshold, 1 - even / 2
    more = {"even": even, "threshold": threshold, "level": level}
    edge = high - 1e-9
    if edge <= low or power_of(items, edge, **more) < power:
        return None
    for _ in range(60):
        middle = (low + high) / 2
        enough = power_of(items, min(middle, edge), **more) >= power
        low, high = (low, middle) if enough else (middle, high)
    return high


@dataclass(frozen=True, slots=True)
class Expected:
    """What a sequential gate would do, by simulation."""

    promoted: float
    kept: float
    items: float
    """Mean number of items asked before it stops."""
    items_90: int
    """Nine runs in ten stop by then."""
    cap: int


def expect(
    rate: float,
    *,
    cap: int,
    even: float = 0.0,
    threshold: float = 0.5,
    level: float = 0.95,
    futile: float = FUTILE,
    runs: int = 400,
    seed: int = 0,
) -> Expected:
    """Run the sequential gate on data with this win rate.

    >>> found = expect(0.7, cap=500, runs=100)
    >>> found.promoted > 0.9, found.items < 100
    (True, True)
    """
    _spread(rate, even)
    rng = np.random.default_rng(seed)
    won = rate - even / 2
    y = rng.choice([0.0, 0.5, 1.0], p=[1 - won - even, even, won], size=(runs, cap))
    rules = Rules(threshold, level, cap, futile)
    stops = [walk(one, rules) or Stop("inconclusive", "end", cap) for one in y]
    return Expected(
        promoted=sum(stop.decision == "promote" for stop in stops) / runs,
        kept=sum(stop.decision == "keep" for stop in stops) / runs,
        items=float(np.mean([stop.n for stop in stops])),
        items_90=int(np.quantile([stop.n for stop in stops], 0.9, method="inverted_cdf")),
        cap=cap,
    )


def _spread(rate: float, even: float) -> tuple[float, float]:
    """Standard deviation of an item's score, and the design effect."""
    if not (0 < rate < 1 and 0 <= even < 1):
        raise ValueError("rate must lie between 0 and 1, and even from 0 up to below 1")
    if not even / 2 <= rate <= 1 - even / 2:
        raise OutOfReach(
            f"with {even:.0%} of items even the win rate lies between {even / 2:.1%} and"
            f" {1 - even / 2:.1%}; {rate:.1%} does not"
        )
    variance = max(rate - even / 4 - rate**2, 1e-12)
    return math.sqrt(variance), min(1.0, variance / (rate * (1 - rate)))
