r"""Length-controlled win rate: what it would be if both responses were as long.

Judges like what is long, so a win may be a win of length. With the difference of the lengths
:math:`\Delta_k` of an item, squashed so that one enormous response does not weigh most,

.. math:: x_k = \tanh\frac{\Delta_k}{\operatorname{sd}(\Delta)}, \qquad
          \operatorname{logit} P(\text{win}) = \beta_0 + \beta_1 x_k,

:math:`\sigma(\beta_0)` is the win rate at equal lengths, and :math:`\beta_1` what length itself
does. The interval is that of :math:`\beta_0`, clustered by item, with Student's quantile, taken
through :math:`\sigma`.

That is an extrapolation where the responses are never about as long: the model alone then says
what would be, and the result is flagged. Also flagged is a large correction, by AlpacaEval's limit:
more than ten points, and more than a quarter of the way to the end of the scale. Where length
tells wins from losses without error there is no estimate.

:func:`alpaca_length_controlled` is AlpacaEval's own estimator (Dubois et al. 2024): the same length
term, the difficulty of each instruction, an L1 penalty, and two more models, AlpacaEval's baseline
told to be brief or wordy, which hold the effect of length where theirs is. They publish a standard
error of it which is that of the corrected preferences and leaves out that the correction is
estimated; here the interval comes from refits to items drawn again.

References
----------
Dubois, Galambosi, Liang and Hashimoto (2024), Length-controlled AlpacaEval: a simple way to debias
automatic evaluators. arXiv:2404.04475, section 3.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from twopan.stats.columns import Floats, groups, numbers
from twopan.stats.logistic import Separated, lasso, logistic
from twopan.stats.resampling import Estimate, Undefined, mean, student

Flag = Literal["large", "extrapolated", "constant"]
"""The correction is large; the lengths are never about the same; they always are."""

NEAR = 0.25
"""Of a standard deviation: closer than that two responses are about as long."""
FEWEST_NEAR = 5


@dataclass(frozen=True, slots=True)
class LengthControlled:
    estimate: float
    low: float
    high: float
    m: int
    """Items."""
    raw: Estimate
    """The win rate as it is."""
    effect: Estimate | None
    """Log-odds of a win for one unit of x, as from equal lengths to a good deal longer; None where
    the lengths never differ."""
    p_value: float | None
    """Of no effect of length, two-sided."""
    flags: tuple[Flag, ...]
    level: float

    @property
    def gap(self) -> float:
        """What length added to the win rate, from -1 to 1."""
        return self.raw.estimate - self.estimate


def length_controlled(
    y: ArrayLike,
    length_a: ArrayLike,
    length_b: ArrayLike,
    *,
    cluster: ArrayLike | None = None,
    level: float = 0.95,
) -> LengthControlled:
    """The win rate of A at equal lengths.

    Parameters
    ----------
    y : float, shape (m,)
        1 where A wins, 0 where it loses, or anything between.
    length_a, length_b : float, shape (m,)
        Lengths of the responses, in any unit.
    cluster : shape (m,), optional
        Which rows belong together, usually the item. Each its own by default.

    Raises
    ------
    NoData
        If there is no row.
    Separated
        If the longer, or the shorter, response wins wherever lengths differ enough to matter, or
        one side wins everything: the controlled rate would be pure extrapolation.
    Undefined
        If there are fewer than three clusters, which show no spread, or if one side is always
        longer by so much that equal lengths are out of sight.

    Examples
    --------
    A wins more often where it is longer, and is mostly longer:

    >>> found = length_controlled(
    ...     [1, 1, 0, 1, 1, 0, 1, 0, 0, 1] * 5,
    ...     [30, 31, 29, 30, 33, 20, 28, 22, 10, 11] * 5,
    ...     [20, 21, 24, 20, 20, 25, 22, 29, 20, 11] * 5)
    >>> round(found.raw.estimate, 2), round(found.estimate, 2), found.effect.estimate > 0
    (0.6, 0.41, True)
    """
    y, length_a, length_b = numbers(y=y, length_a=length_a, length_b=length_b)
    group, g = groups(cluster, len(y))
    raw = mean(y, cluster=cluster, level=level)
    if g < 3:
        raise Undefined("fewer than three items show no spread around an effect of length")
    longer = length_a - length_b
    spread = float(longer.std(ddof=1))
    if not spread:
        if longer.any():
            raise Undefined("one response is always longer by the same, so equal is out of sight")
        return LengthControlled(
            raw.estimate, raw.low, raw.high, g, raw, None, None, ("constant",), level
        )
    x = np.tanh(longer / spread)
    beta, covariance, _ = logistic(np.column_stack([np.ones_like(x), x]), y, group=group, groups=g)
    t = student(level, g - 2)
    errors = np.sqrt(np.diag(covariance) * (g - 1) / (g - 2))
    low, estimate, high = (_sigmoid(beta[0] + s * t * errors[0]) for s in (-1, 0, 1))
    b, se = float(beta[1]), float(errors[1])
    effect = Estimate(b, b - t * se, b + t * se, g, se, level)
    from scipy.special import stdtr

    p_value = float(2 * stdtr(g - 2, -abs(b / se))) if se else None
    flags: list[Flag] = []
    if is_large(raw.estimate, estimate):
        flags.append("large")
    if (np.abs(longer) <= NEAR * spread).sum() < min(FEWEST_NEAR, len(y) / 4):
        flags.append("extrapolated")
    return LengthControlled(estimate, low, high, g, raw, effect, p_value, tuple(flags), level)


def is_large(raw: float, controlled: float) -> bool:
    """Whether a correction is so large that it may be a failure of the model (AlpacaEval's limit).

    >>> is_large(0.544, 0.365), is_large(0.544, 0.5)
    (True, False)
    """
    return not (min(raw - raw / 4, raw - 0.1) <= controlled <= max(raw + (1 - raw) / 4, raw + 0.1))


@dataclass(frozen=True, slots=True)
class Gamed:
    """The two models that AlpacaEval adds to every fit."""

    x: Floats
    """Shape (rows, 2): length term and instruction difficulty."""
    told: Floats
    """Shape (2,): the sums of preference times each, over the rows."""
    weight: float = 0.1
    """Of a row: 0.2 for two models."""


@dataclass(frozen=True, slots=True)
class AlpacaLengthControlled:
    estimate: float
    low: float | None
    high: float | None
    """None without refits."""
    weights: tuple[float, float, float]
    """Of length, of difficulty, and of the model."""
    m: int
    level: float


def alpaca_length_controlled(
    y: ArrayLike,
    length_model: ArrayLike,
    length_baseline: ArrayLike,
    difficulty: ArrayLike,
    *,
    gamed: Gamed | None = None,
    c: float = 21.54434690031882,
    refits: int = 200,
    seed: int = 0,
    level: float = 0.95,
) -> AlpacaLengthControlled:
    """AlpacaEval's length-controlled win rate of a model over the baseline.

    Parameters
    ----------
    y : float, shape (m,)
        Preferences for the model, from 0 to 1, one an instruction.
    length_model, length_baseline : float, shape (m,)
        In characters.
    difficulty : float, shape (m,)
        AlpacaEval's difficulty of each instruction.
    gamed : Gamed, optional
    c : float
        The inverse strength of the penalty. Theirs is chosen by cross-validation from ten values
        between 1e-4 and 1e4, for most models 2.78 or this.
    refits : int
        Refits to items drawn with replacement, for the interval; 0 for none.

    Raises ValueError where a column is not what it should be.
    """
    y, longer, shorter, difficulty = numbers(
        y=y, length_model=length_model, length_baseline=length_baseline, difficulty=difficulty
    )
    if not ((y >= 0) & (y <= 1)).all():
        raise ValueError("preferences must be numbers between 0 and 1")
    delta = shorter - longer
    spread = float(delta.std(ddof=1)) if len(y) > 1 else 0.0
    x = np.column_stack([np.tanh(delta / (spread or 1.0)), difficulty, np.ones(len(y))])
    start, estimate = _alpaca(x, y, np.ones(len(y)), gamed, c=c, start=None)
    low = high = None
    if refits:
        rng = np.random.default_rng(seed)
        drawn = []
        for _ in range(refits):
            often = np.bincount(rng.integers(len(y), size=len(y)), minlength=len(y)).astype(float)
            held = often > 0
            drawn.append(_alpaca(x[held], y[held], often[held], gamed, c=c, start=start)[1])
        tail = (1 - level) / 2
        low, high = (float(q) for q in np.quantile(drawn, (tail, 1 - tail)))
    b_length, b_difficulty, b_model = (float(b) for b in start)
    return AlpacaLengthControlled(
        estimate, low, high, (b_length, b_difficulty, b_model), len(y), level
    )


def from_weights(weights: ArrayLike, baseline: ArrayLike, difficulty: ArrayLike) -> float:
    """The controlled win rate that published weights of two models stand for, from 0 to 1.

    ``weights`` and ``baseline`` are those of length, difficulty and model, shape (3,);
    ``difficulty`` has shape (m,).

    >>> from_weights([0, 0, 1], [0, 0, 1], [0.3, -2])
    0.5
    """
    _, b, a = np.asarray(weights, float) - np.asarray(baseline, float)
    return float(_sigmoids(a + b * np.asarray(difficulty, float)).mean())


def _alpaca(
    x: Floats, y: Floats, often: Floats, gamed: Gamed | None, *, c: float, start: Floats | None
) -> tuple[Floats, float]:
    told, weight, rows = x.T @ (often * y), often, x
    if gamed is not None:
        others = np.column_stack([gamed.x, np.zeros(len(gamed.x))])
        rows = np.concatenate([x, others])
        weight = np.concatenate([often, np.full(len(others), gamed.weight)])
        told = told + gamed.weight * np.append(gamed.told, 0.0)
    beta = lasso(rows, told, weight, c=c, start=start)
    predicted = _sigmoids(x[:, 1] * beta[1] + beta[2])
    return beta, float((often * predicted).sum() / often.sum())


def _sigmoids(x: Floats) -> Floats:
    return np.asarray((1 + np.tanh(x / 2)) / 2)


def _sigmoid(x: float) -> float:
    return 0.5 * (1 + math.tanh(x / 2))


__all__ = [
    "AlpacaLengthControlled",
    "Gamed",
    "LengthControlled",
    "Separated",
    "alpaca_length_controlled",
    "from_weights",
    "is_large",
    "length_controlled",
]
