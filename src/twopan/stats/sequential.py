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

*The last look*: where there are only so many items, a fifth of the error rate is kept for a test
after the last of them, Wilson's interval on all. So the bets need :math:`K_n \ge 1 / .8\alpha`,
which takes a few items more, and a data set that is soon at its end is not wasted: on 16 items bets
alone seldom suffice where the test does.

*Futility*: where the future, drawn from a Pólya urn of what was seen, would hardly lead to a
promotion before the end, and not likely to the opposite either, asking on is a waste. To stop for
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
from functools import lru_cache
from statistics import NormalDist
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from twopan.stats.columns import Floats, Ints, numbers
from twopan.stats.win_rate import Z95, NoData, fewest_decided, win_rate

SHARES = np.arange(1, 100) / 100
"""γ."""
LOG_WEIGHTS = np.log((1 - SHARES) / (1 - SHARES).sum())
LAST = 0.2
"""Of the error rate, what is kept for the last look."""
FUTILE = 0.02
"""A chance to be promoted that is smaller is not waited for,"""
LIKELY = 0.5
"""unless that to be kept out is larger than this: a candidate that is worse is to be called so."""
EVERY = 10
"""After so many items futility is considered, and again after as many more."""
FUTURES = 1000

Decided = Literal["promote", "keep", "inconclusive"]
Stopped = Literal["evidence", "futility", "end"]


@dataclass(frozen=True, slots=True)
class Rules:
    """What is asked, and how sure one wants to be."""

    threshold: float = 0.5
    level: float = 0.95
    cap: int | None = None
    """How many items there are; None where there is no end of them."""
    futile: float = FUTILE
    seed: int = 0
    decided: bool = True
    """Whether, at the end, scores of ½ are no evidence, however many they are."""

    def __post_init__(self) -> None:
        if not (0 < self.threshold < 1 and 0 < self.level < 1):
            raise ValueError("threshold and level must lie between 0 and 1")

    @property
    def betting(self) -> float:
        """The level of the bounds that hold at every look."""
        return 1 - (1 - self.level) * (1 - (LAST if self.cap is not None else 0))

    @property
    def goal(self) -> float:
        """The logarithm of the wealth that is evidence."""
        return -math.log1p(-self.betting)

    @property
    def ending(self) -> float:
        """The level of the interval of the last look, which is two-sided."""
        return 1 - 2 * LAST * (1 - self.level)


@dataclass(frozen=True, slots=True)
class Stop:
    decision: Decided
    stopped: Stopped
    n: int
    """After how many scores."""


@dataclass(frozen=True, slots=True)
class Sequential:
    """What may be decided after the outcomes so far."""

    decision: Decided | None
    """None where it is worth going on."""
    stopped: Stopped | None
    """Why there is a decision: evidence, futility, or because all items have been asked."""
    estimate: float
    """The mean so far. After a stop it leans a little to the side that was decided for."""
    low: float
    high: float
    """Bounds that hold at all times at once, each with ``level``."""
    m: int
    """Items so far."""
    p_promote: float
    """The p-value, valid whenever one stops, of a win rate that is not above the threshold."""
    p_keep: float
    """Of one that is not below."""
    chance: float | None
    """Predicted, of a promotion before the end; None without an end or once decided."""
    rules: Rules


def sequential(y: ArrayLike, rules: Rules | None = None, *, seen: int | None = None) -> Sequential:
    """Look at the outcomes so far.

    Parameters
    ----------
    y : float, shape (m,)
        Scores in [0, 1], one an item, in the order that was drawn.
    rules : Rules, optional
        A candidate that is not above the threshold is promoted with a chance of at most
        1 - level, however often one looks; one that is not below it is kept out as rarely.
    seen : int, optional
        Items asked so far, those without an outcome among them; m by default.

    Raises
    ------
    NoData
        If there is no score.
    ValueError
        If a score is not a number between 0 and 1.

    Examples
    --------
    Nine wins in a row are evidence enough, and eight are not:

    >>> of = Rules(cap=500)
    >>> sequential([1] * 9, of).decision, sequential([1] * 8, of).decision
    ('promote', None)
    """
    y, rules = _scores(y), rules or Rules()
    seen = len(y) if seen is None else seen
    up, down = log_wealth(y, rules.threshold), log_wealth(1 - y, 1 - rules.threshold)
    low, high = (float(end[-1]) for end in confidence_sequence(y, rules.betting, looks=[len(y)]))
    decision: Decided | None = _first(up, down, rules.goal)[0]
    stopped: Stopped | None = "evidence" if decision else None
    chance = None
    if decision is None and rules.cap is not None:
        chance, worse = chances(y, rules, rules.cap - seen)
        if seen >= rules.cap:
            decision, stopped, chance = at_the_end(y, rules), "end", None
            last = win_rate(y, level=rules.ending)
            low, high = max(low, last.low), min(high, last.high)
        elif futile(chance, worse, rules):
            decision, stopped = "inconclusive", "futility"
    return Sequential(
        decision=decision,
        stopped=stopped,
        estimate=float(y.mean()),
        low=low,
        high=high,
        m=len(y),
        p_promote=float(min(1.0, np.exp(-up.max()))),
        p_keep=float(min(1.0, np.exp(-down.max()))),
        chance=chance,
        rules=rules,
    )


def walk(
    y: ArrayLike,
    rules: Rules,
    *,
    seen: ArrayLike | None = None,
    asked: int | None = None,
    coverage: float = 0.0,
) -> Stop | None:
    """Where one who looks after every item stops; None where it is worth going on.

    Parameters
    ----------
    y : float, shape (m,)
    seen : int, shape (m,), optional
        How many items had been asked when each score came, itself among them, where some of those
        asked got none.
    asked : int, optional
        How many have been asked by now.
    coverage : float in [0, 1]
        Nowhere is stopped, but at the end, where a smaller share of those asked has a score.

    >>> walk([1] * 20, Rules(cap=500))
    Stop(decision='promote', stopped='evidence', n=9)
    """
    y = _scores(y) if np.size(y) else np.empty(0)
    position = np.arange(1, len(y) + 1) if seen is None else np.asarray(seen, dtype=np.int64)
    enough = np.arange(1, len(y) + 1) >= coverage * position - 1e-9
    up, down = log_wealth(y, rules.threshold), log_wealth(1 - y, 1 - rules.threshold)
    decision, at = _first(up, down, rules.goal)
    later = np.flatnonzero(enough[at:])
    evidence = at + int(later[0]) + 1 if decision and len(later) else len(y) + 1
    if rules.cap is not None and rules.futile > 0:
        for n in range(EVERY, min(evidence, len(y) + 1), EVERY):
            left = int(rules.cap - position[n - 1])
            if left > 0 and enough[n - 1] and futile(*chances(y[:n], rules, left), rules):
                return Stop("inconclusive", "futility", n)
    if decision and evidence <= len(y):
        return Stop(decision, "evidence", evidence)
    if rules.cap is not None and (len(y) if asked is None else asked) >= rules.cap:
        found = at_the_end(y, rules) if decision is None else decision
        return Stop(found, "end", len(y))
    return None


def at_the_end(y: Floats, rules: Rules) -> Decided:
    """What the test after the last item says."""
    even = rules.decided * np.sum(np.abs(y - 0.5) < 1e-9)
    if len(y) - even < fewest_decided(rules.ending):
        return "inconclusive"
    found = win_rate(y, level=rules.ending)
    if found.low > rules.threshold:
        return "promote"
    return "keep" if found.high < rules.threshold else "inconclusive"


def futile(chance: float, worse: float, rules: Rules) -> bool:
    return chance < rules.futile and worse <= LIKELY


def _scores(y: ArrayLike) -> Floats:
    if not np.size(y):
        raise NoData("no item was judged, so there is nothing to decide from")
    (y,) = numbers(y=y)
    if not ((y >= 0) & (y <= 1)).all():
        raise ValueError("scores must be numbers between 0 and 1")
    return y


def _first(up: Floats, down: Floats, goal: float) -> tuple[Literal["promote", "keep"] | None, int]:
    """Which side had evidence first, and the place of the item that completed it."""
    first = {
        side: int(np.argmax(wealth >= goal))
        for side, wealth in (("promote", up), ("keep", down))
        if (wealth >= goal).any()
    }
    if not first:
        return None, 0
    side = min(first, key=lambda name: first[name])
    return ("promote" if side == "promote" else "keep"), first[side]


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
    y: Floats, level: float = 0.95, *, looks: ArrayLike | None = None
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


def chances(y: Floats, rules: Rules, left: int) -> tuple[float, float]:
    """How often futures of ``left`` items like those seen end in evidence for, and against.

    One loss, one tie and one win are added to what was seen, so that nothing is taken for granted
    after a few items.
    """
    if left <= 0:
        return 0.0, 0.0
    values, often = np.unique(np.round(y, 12), return_counts=True)
    return _chances(tuple(values.tolist()), tuple(often.tolist()), rules, left)


@lru_cache(maxsize=20_000)
def _chances(
    known: tuple[float, ...], often: tuple[int, ...], rules: Rules, left: int
) -> tuple[float, float]:
    urn = np.array([0.0, 0.5, 1.0])
    values, code = np.unique(np.concatenate([known, urn]), return_inverse=True)
    seen = np.bincount(code, [*often, 0, 0, 0]).astype(np.int64)
    rng = np.random.default_rng([rules.seed, sum(often)])
    padded = seen + np.bincount(code[len(known) :], minlength=len(values))
    whole = seen + rng.multinomial(left, rng.dirichlet(padded, FUTURES))
    ends = []
    for worth, t in ((values, rules.threshold), (1 - values, 1 - rules.threshold)):
        gains = whole @ np.log1p(SHARES * (worth[:, None] / t - 1)) + LOG_WEIGHTS
        top = gains.max(1)
        wealth = top + np.log(np.exp(gains - top[:, None]).sum(1))
        found = (wealth >= rules.goal) | (_lower_ends(whole, worth, rules.ending) > t)
        ends.append(float(found.mean()))
    return ends[0], ends[1]


def _lower_ends(often: Ints, values: Floats, level: float) -> Floats:
    """Wilson's, as :func:`win_rate` has it, of many data sets: counts, shape (sets, values)."""
    z = NormalDist().inv_cdf((1 + level) / 2)
    pad = (z / Z95) ** 2
    m = often.sum(1)
    p, total = often @ values / m, m + 2 * pad
    centre = (often @ values + pad) / total
    squares = (often * (values - centre[:, None]) ** 2).sum(1) + pad * (
        centre**2 + (1 - centre) ** 2
    )
    n = m / np.minimum(1.0, squares / (total - 1) / (centre * (1 - centre)))
    half_width = z * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    return np.asarray((p + z**2 / (2 * n) - half_width) / (1 + z**2 / n))
