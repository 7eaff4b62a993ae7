r"""Decide as soon as the evidence suffices, looking as often as one likes.

Bet against the claim that the win rate :math:`\mu` is at most the threshold :math:`t`. With the
outcomes :math:`y_1, y_2, \dots \in [0, 1]`, one an item in an order drawn beforehand, a bettor who
stakes the share :math:`\gamma` each time owns

.. math:: K_n(\gamma) = \prod_{k=1}^n \Bigl(1 + \gamma \bigl(\tfrac{y_k}{t} - 1\bigr)\Bigr),
          \qquad K_n = \sum_\gamma w_\gamma K_n(\gamma).

Where the claim is true nobody gets rich: :math:`K_n` is then a supermartingale that starts at 1,
and the chance that it *ever* reaches :math:`1/\alpha` is at most :math:`\alpha` (Ville 1939). So it
may be looked at after every item, the data may be stopped whenever one likes, and the error rate
holds. The bets are spread over all shares with weights :math:`w_\gamma \propto 1 - \gamma`, which
favours small differences. A tie at :math:`t = ½` wins and loses nothing.

Betting against every other threshold too gives bounds: the *confidence sequence* holds all
:math:`m` against which nobody ever owned :math:`1/\alpha` (Waudby-Smith and Ramdas 2024). Its lower
end is above :math:`t` exactly when the wealth against :math:`t` has been there. Each end holds with
the stated level at all times at once; :math:`1/K` is a p-value that may be looked at as often.

What is bounded is the mean over the population that the items are a sample of. The order of items
must have nothing to do with their outcomes: draw it, and do not take them as they come in.

*Futility*: where the future, drawn from a Pólya urn of what was seen, would hardly lead to a
promotion before the cap, and not likely to the opposite either, asking on is a waste. To stop for
that promotes nobody, so it may be done or not done without touching the error rate.

References
----------
Ville (1939), Étude critique de la notion de collectif. Robbins (1970), Statistical methods related
to the law of the iterated logarithm. Ann. Math. Stat. 41.
Waudby-Smith and Ramdas (2024), Estimating means of bounded random variables by betting. JRSS B 86,
sections 4 and 5. Ramdas, Grünwald, Vovk and Shafer (2023), Game-theoretic statistics and safe
anytime-valid inference. Statistical Science 38.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from twopan.stats.columns import Floats, numbers
from twopan.stats.win_rate import NoData

SHARES = np.arange(1, 100) / 100
"""γ."""
LOG_WEIGHTS = np.log((1 - SHARES) / (1 - SHARES).sum())
FUTILE = 0.02
"""A chance to be promoted that is smaller is not waited for,"""
LIKELY = 0.5
"""unless that to be kept out is larger than this: a candidate that is worse is to be called so."""
FUTURES = 1000

Stopped = Literal["evidence", "futility", "cap"]


@dataclass(frozen=True, slots=True)
class Sequential:
    """What may be decided after the outcomes so far."""

    decision: Literal["promote", "keep", "inconclusive"] | None
    """None where it is worth going on."""
    stopped: Stopped | None
    """Why there is a decision."""
    estimate: float
    """The mean so far. After a stop it leans a little to the side that was decided for."""
    low: float
    high: float
    """Bounds that hold at all times at once, each with ``level``."""
    m: int
    """Items so far."""
    decided_at: int | None
    """After how many of them the evidence sufficed, where it did."""
    p_promote: float
    """The p-value, valid whenever one stops, of a win rate that is not above the threshold."""
    p_keep: float
    """Of one that is not below."""
    chance: float | None
    """Predicted, of a promotion before the cap; None without a cap or once decided."""
    threshold: float
    level: float
    cap: int | None


def sequential(
    y: ArrayLike,
    *,
    threshold: float = 0.5,
    level: float = 0.95,
    cap: int | None = None,
    futile: float = FUTILE,
    seed: int = 0,
) -> Sequential:
    """Look at the outcomes so far.

    Parameters
    ----------
    y : float, shape (m,)
        Scores in [0, 1], one an item, in the order that was drawn.
    threshold : float in (0, 1)
    level : float in (0, 1)
        A candidate that is not above the threshold is promoted with a chance of at most
        1 - level, however often one looks; one that is not below it is kept out as rarely.
    cap : int, optional
        How many items there are at most.
    futile : float
        With a smaller predicted chance of a promotion before the cap, the data are inconclusive;
        0 goes on to the end.

    Raises
    ------
    NoData
        If there is no score.
    ValueError
        If a score is not a number between 0 and 1, or the threshold or level is at an end.

    Examples
    --------
    Eight wins in a row are evidence enough, and seven are not:

    >>> sequential([1] * 8, cap=500).decision, sequential([1] * 7, cap=500).decision
    ('promote', None)
    """
    if not np.size(y):
        raise NoData("no item was judged, so there is nothing to decide from")
    (y,) = numbers(y=y)
    if not ((y >= 0) & (y <= 1)).all():
        raise ValueError("scores must be numbers between 0 and 1")
    if not (0 < threshold < 1 and 0 < level < 1):
        raise ValueError("threshold and level must lie between 0 and 1")
    goal = -math.log1p(-level)
    up, down = log_wealth(y, threshold), log_wealth(1 - y, 1 - threshold)
    first_up, first_down = _first(up >= goal), _first(down >= goal)
    low, high = confidence_sequence(y, level=level, looks=[len(y)])
    decision: Literal["promote", "keep", "inconclusive"] | None = None
    stopped: Stopped | None = None
    chance = None
    if first_up or first_down:
        decided_at = min(first for first in (first_up, first_down) if first)
        decision, stopped = "promote" if decided_at == first_up else "keep", "evidence"
    else:
        decided_at = None
        if cap is not None:
            chance, worse = chances(y, threshold, goal, cap - len(y), seed)
            if len(y) >= cap:
                decision, stopped = "inconclusive", "cap"
            elif chance < futile and worse <= LIKELY:
                decision, stopped = "inconclusive", "futility"
    return Sequential(
        decision=decision,
        stopped=stopped,
        estimate=float(y.mean()),
        low=float(low[-1]),
        high=float(high[-1]),
        m=len(y),
        decided_at=decided_at,
        p_promote=float(min(1.0, np.exp(-up.max()))),
        p_keep=float(min(1.0, np.exp(-down.max()))),
        chance=chance,
        threshold=threshold,
        level=level,
        cap=cap,
    )


def log_wealth(y: Floats, threshold: float) -> Floats:
    """log K_n against a win rate of at most the threshold, after each outcome; shape (m,).

    >>> float(np.exp(log_wealth(np.array([0.5, 0.5]), 0.5))[-1].round(6))
    1.0
    """
    gains = np.log1p(SHARES * (y[:, None] / threshold - 1))
    owned = np.cumsum(gains, 0) + LOG_WEIGHTS
    top = owned.max(1)
    return np.asarray(top + np.log(np.exp(owned - top[:, None]).sum(1)))


def confidence_sequence(
    y: Floats, *, level: float = 0.95, looks: ArrayLike | None = None
) -> tuple[Floats, Floats]:
    """Lower and upper ends at these looks, numbers of items in order; after every item by default.

    An end never goes back: what was once excluded stays so.
    """
    at = np.arange(1, len(y) + 1) if looks is None else np.asarray(looks, dtype=np.int64)
    values, code = np.unique(np.round(y, 12), return_inverse=True)
    often = np.zeros((len(y) + 1, len(values)))
    often[np.arange(1, len(y) + 1), code] = 1
    often = np.cumsum(often, 0)
    # Every item counts as a look, where there are few values and so little to compute.
    every = np.arange(1, len(y) + 1) if len(values) <= 5 else at
    goal = -math.log1p(-level)
    low = np.maximum.accumulate(_end(often[every], values, goal))
    high = 1 - np.maximum.accumulate(_end(often[every][:, ::-1], 1 - values[::-1], goal))
    of = np.searchsorted(every, at)
    return low[of], high[of]


def _end(often: Floats, values: Floats, goal: float) -> Floats:
    """The largest mean that is bet against with success, by halving; 0 where there is none."""
    low, high = np.zeros(len(often)), np.ones(len(often))
    with np.errstate(divide="ignore"):
        for _ in range(40):
            m = (low + high) / 2
            gains = np.log1p(SHARES * (values[:, None] / m[:, None, None] - 1))
            owned = np.einsum("nv,nvg->ng", often, gains) + LOG_WEIGHTS
            top = owned.max(1)
            excluded = top + np.log(np.exp(owned - top[:, None]).sum(1)) >= goal
            low, high = np.where(excluded, m, low), np.where(excluded, high, m)
    return low


def chances(y: Floats, threshold: float, goal: float, left: int, seed: int) -> tuple[float, float]:
    """How often futures of ``left`` items like those seen end in evidence for, and against.

    One loss, one tie and one win are added to what was seen, so that nothing is taken for granted
    after a few items.
    """
    if left <= 0:
        return 0.0, 0.0
    urn = np.array([0.0, 0.5, 1.0])
    values, seen = np.unique(np.concatenate([y, urn]), return_counts=True)
    rng = np.random.default_rng([seed, len(y)])
    future = rng.multinomial(left, rng.dirichlet(seen, FUTURES))
    all_of_them = seen - np.isin(values, urn) + future
    ends = []
    for worth, t in ((values, threshold), (1 - values, 1 - threshold)):
        gains = all_of_them @ np.log1p(SHARES * (worth[:, None] / t - 1)) + LOG_WEIGHTS
        top = gains.max(1)
        wealth = top + np.log(np.exp(gains - top[:, None]).sum(1))
        ends.append(float((wealth >= goal).mean()))
    return ends[0], ends[1]


def _first(reached: np.ndarray) -> int | None:
    """The number of items after which it was first so, or None."""
    return int(np.argmax(reached)) + 1 if reached.any() else None
