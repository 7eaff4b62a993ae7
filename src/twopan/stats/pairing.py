r"""Which comparisons to ask for next: everything, a baseline, Swiss rounds, or where it matters.

A comparison is two systems on one item. Given those made so far, a *method* names the next batch;
the same data and seed give the same batch, so that a tournament can be taken up where it stopped.

- ``round-robin``: every two systems on an item, one item after the other.
- ``baseline``: every system against one, likewise.
- ``random``: pairs and items at random.
- ``swiss``: rounds in which systems meet others that stand near them, as few rematches as there
  can be; the cheapest such pairing is found exactly, as an integer program.
- ``active``: where the answer hangs. To name the best, *top-two Thompson sampling*: draw
  strengths from what is known of them, :math:`\theta \sim N(\hat\theta, \hat\Sigma)`; the best of
  the draw meets the best of another draw in which it is another (Russo 2016). To separate the best
  k from the rest, a system that is in the one draw's best k and not in the other's meets one that
  is in the other's. Where a few draws name the same, who the best are is hardly in doubt, and to
  show it takes something else: the game that is expected to take most from the errors
  :math:`\Phi(-(\hat\theta_i - \hat\theta_j) / \operatorname{se}_{ij})` between them and the rest,
  added up. It need not be one of theirs: games between equals tell more. For the whole order, the
  pair of which a further game is expected to take away most error,

  .. math:: \Phi\Bigl(-\frac{|\hat\theta_i - \hat\theta_j|}{\operatorname{se}_{ij}}\Bigr) \cdot
            \frac{w_{ij} \operatorname{se}_{ij}^2}{1 + w_{ij} \operatorname{se}_{ij}^2},
            \qquad w = p (1 - p),

  one after the other, what each is expected to tell being taken into account in the next.

Where choosing helps: the best of many systems is found with a small part of the comparisons that
pairs at random need, the smaller the fewer come near it. A whole order of many systems is not:
every two neighbours have to be told apart, whichever way one goes, and random pairs come close.

*Intervals under choice.* Which pair comes next depends on earlier outcomes, but given the pair, its
outcome does not: errors are martingale differences, and ratings stay consistent. Stopping when one
likes the look of an interval is what would break it. So :func:`resolved` uses intervals that hold
at all times at once, asymptotically: with :math:`t` games and a :math:`\rho` that favours
:math:`t_0`, half as wide as

.. math:: c_t = \sqrt{2\, \frac{t\rho^2 + 1}{t\rho^2} \log\frac{\sqrt{t\rho^2 + 1}}{\alpha}}

standard errors (Robbins' normal mixture; Waudby-Smith et al. 2024), with :math:`\alpha` shared out
among the differences that have to be told apart (Bonferroni). The larger of two standard errors
counts, by how outcomes vary between items and by how they would in a Bradley-Terry world: with few
items the first may come out too small by chance, and where items matter the second does. Where one
system took nearly every point a standard error says little (Hauck and Donner 1977): so a fifth of
:math:`\alpha` is kept for bets on the games of the two alone (:mod:`twopan.stats.sequential`).

References
----------
Russo (2016), Simple Bayesian algorithms for best arm identification. COLT.
Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas (2024), Time-uniform central limit theory and
asymptotic confidence sequences. Annals of Statistics 52, theorem 2.2.
Hauck and Donner (1977), Wald's test as applied to hypotheses in logit analysis. JASA 72.
Csató (2013), Ranking by pairwise comparisons for Swiss-system tournaments. CEJOR 21.
"""

import math
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from twopan.stats.battles import Battles, count
from twopan.stats.bradley_terry import Ratings, fit
from twopan.stats.columns import Floats, Ints
from twopan.stats.sequential import log_wealth
from twopan.stats.threads import one_thread

Method = Literal["round-robin", "baseline", "random", "swiss", "active"]
Resolve = Literal["top1", "top-k", "all"]

TRIES = 5
"""Draws, after one draw, in which somebody else may be among the best."""
MOST_DOUBTS = 200
"""Differences that are looked at, the most doubtful ones."""
DIRECT = 0.2
"""Of the error rate, what is kept for bets on the games of a pair alone."""
FEWEST_ITEMS = 10
"""On fewer items nothing is settled: their spread is not known."""
PRIOR = 2.0
"""Standard deviation of strengths, in log-odds, that choosing starts from. Ratings do not."""


@dataclass(frozen=True, slots=True)
class Field:
    """Who may be compared on what."""

    answered: NDArray[np.bool_]
    """Shape (systems, items): whether there is a response."""

    @property
    def n(self) -> int:
        return int(self.answered.shape[0])

    @property
    def items(self) -> int:
        return int(self.answered.shape[1])


@dataclass(frozen=True, slots=True)
class Batch:
    """Comparisons, as columns of equal length."""

    a: Ints
    b: Ints
    item: Ints

    def __len__(self) -> int:
        return len(self.a)

    def __add__(self, other: "Batch") -> "Batch":
        return Batch(
            np.concatenate([self.a, other.a]),
            np.concatenate([self.b, other.b]),
            np.concatenate([self.item, other.item]),
        )


@dataclass(frozen=True, slots=True)
class Goal:
    """What is asked for."""

    resolve: Resolve = "all"
    k: int = 1
    """How many are to be separated from the rest, where ``top-k`` is asked."""

    def size(self, n: int) -> int:
        return min(1 if self.resolve == "top1" else self.k, n - 1)


ALL = Goal()


def next_batch(
    field: Field,
    done: Batch,
    y: Floats,
    *,
    method: Method,
    goal: Goal = ALL,
    size: int,
    baseline: int | None = None,
    seed: int = 0,
) -> Batch:
    """The comparisons to ask for next; none where there is nothing left to ask.

    Parameters
    ----------
    done, y
        The comparisons made, and the score of ``a`` in each: 1, ½ or 0. Those that failed are
        among them, with a score of NaN: they are not asked for again and tell nothing.
    size : int
        How many, about: a Swiss round is played whole.
    baseline : int
        The system that all others meet, for the method of that name.

    Examples
    --------
    Three systems on one item, everybody against everybody:

    >>> none = Batch(*(np.empty(0, int) for _ in range(3)))
    >>> field = Field(np.ones((3, 1), bool))
    >>> len(next_batch(field, none, np.empty(0), method="round-robin", size=10))
    3
    """
    left = _Left(field, done, np.random.default_rng([seed, 0]))
    rng = np.random.default_rng([seed, 1 + len(done)])
    if method in ("round-robin", "baseline"):
        pairs = [
            (i, j)
            for i in range(field.n)
            for j in range(i + 1, field.n)
            if method == "round-robin" or baseline in (i, j)
        ]
        return left.item_by_item(pairs, size)
    at_random = _shuffled(field.n, rng)
    if method == "random":
        return left.take(at_random, size)
    known = posterior(field, done, y)
    if method == "swiss":
        pairs = _swiss(field, done, known, left, rng)
        size = max(len(pairs), size - size % max(len(pairs), 1))
    elif known is None:  # everybody once, so that there is something to go by
        pairs = at_random
    elif goal.resolve == "all":
        pairs = _order(known, size, left)
    else:
        pairs = _best(known, goal.size(field.n), size, left, rng)
    batch = left.take(pairs, size)
    # Those that matter may have met on every item.
    return batch if len(batch) else left.take(at_random, size)


class _Left:
    """The comparisons that have not been asked for, and the item for each pair that is next."""

    def __init__(self, field: Field, done: Batch, rng: np.random.Generator) -> None:
        self.field = field
        n, items = field.answered.shape
        self.number = np.zeros((n, n), dtype=np.int64)
        i, j = np.triu_indices(n, 1)
        self.number[i, j] = self.number[j, i] = np.arange(len(i))
        self.open = field.answered[i] & field.answered[j]
        self.open[self.number[done.a, done.b], done.item] = False
        self.uses = np.bincount(done.item, minlength=items).astype(float)
        self.lead = np.bincount(done.a, minlength=n) - np.bincount(done.b, minlength=n)
        """How much more often each was A than B."""
        self.rank = rng.permutation(items) / (items + 1)
        """Settles which of items that were used as often comes first."""

    def pairs(self) -> tuple[Ints, Ints]:
        """Those that have not met on every item."""
        i, j = np.triu_indices(self.field.n, 1)
        there = self.open[self.number[i, j]].any(1)
        return i[there], j[there]

    def pick(self, i: int, j: int) -> int | None:
        """The item least used so far on which these two have not met; it is then taken."""
        there = np.flatnonzero(self.open[self.number[i, j]])
        if not len(there):
            return None
        item = int(there[np.argmin(self.uses[there] + self.rank[there])])
        self.open[self.number[i, j], item] = False
        self.uses[item] += 1
        return item

    def oriented(self, i: int, j: int) -> tuple[int, int]:
        """Whichever was more often B than the other is A."""
        a, b = (i, j) if (self.lead[i], i) <= (self.lead[j], j) else (j, i)
        self.lead[a] += 1
        self.lead[b] -= 1
        return a, b

    def item_by_item(self, pairs: list[tuple[int, int]], size: int) -> Batch:
        rows: list[tuple[int, int, int]] = []
        for item in np.argsort(self.rank):
            todo = [(i, j) for i, j in pairs if self.open[self.number[i, j], item]]
            rows += [(*self.oriented(i, j), int(item)) for i, j in todo[: size - len(rows)]]
            if len(rows) >= size:
                break
        return _batch(rows)

    def take(self, pairs: list[tuple[int, int]], size: int) -> Batch:
        """These pairs in their order, over and over, each time on an item of its own."""
        rows: list[tuple[int, int, int]] = []
        while len(rows) < size:
            before = len(rows)
            for i, j in pairs:
                if len(rows) < size and (item := self.pick(i, j)) is not None:
                    rows.append((*self.oriented(i, j), item))
            if len(rows) == before:
                break
        return _batch(rows)


def _batch(rows: list[tuple[int, int, int]]) -> Batch:
    columns = np.array(rows, dtype=np.int64).reshape(-1, 3)
    return Batch(columns[:, 0], columns[:, 1], columns[:, 2])


def _shuffled(n: int, rng: np.random.Generator) -> list[tuple[int, int]]:
    i, j = np.triu_indices(n, 1)
    return [(int(i[k]), int(j[k])) for k in rng.permutation(len(i))]


def posterior(field: Field, done: Batch, y: Floats) -> Ratings | None:
    """What is known of the strengths, with a weak prior; None before the first game."""
    told = np.isfinite(y)
    if not told.any():
        return None
    battles = count(done.a[told], done.b[told], y[told], n=field.n)
    found = fit(battles, prior=PRIOR, robust=False)
    return replace(found, covariance=found.covariance * _dispersion(battles, found.theta))


def _dispersion(battles: Battles, theta: Floats) -> float:
    """How much scores vary, compared with wins and losses; ties and half-wins vary less.

    One win where a loss was as likely is added, so that a few games that happened to agree are not
    taken to be sure of it.
    """
    p = 1 / (1 + np.exp(theta[battles.j] - theta[battles.i]))
    games, score, square = map(battles.by_pair, (battles.games, battles.score, battles.square))
    seen = (square - 2 * p * score + games * p**2).sum()
    return float(min(1.0, (seen + 1) / ((games * p * (1 - p)).sum() + 1)))


# Swiss


def _swiss(
    field: Field, done: Batch, known: Ratings | None, left: _Left, rng: np.random.Generator
) -> list[tuple[int, int]]:
    """A round: systems meet others that stand near them, with as few rematches as there can be."""
    n = field.n
    order = rng.permutation(n)
    if known is not None:
        order = order[np.argsort(-known.theta[order], kind="stable")]
    place = np.empty(n, dtype=np.int64)
    place[order] = np.arange(n)
    met = np.zeros((n, n))
    np.add.at(met, (done.a, done.b), 1)
    met += met.T
    # A meeting may be on several items: what counts is who met whom more often than others.
    return pairing(place, np.ceil(met / max(1.0, met[met > 0].min(initial=1.0))), left)


def pairing(place: Ints, met: Floats, left: "_Left | None" = None) -> list[tuple[int, int]]:
    """The perfect matching with the fewest rematches, and among these the nearest places.

    One system sits out where there is an odd number: the one that played most.

    >>> pairing(np.array([0, 1, 2, 3]), np.zeros((4, 4)))
    [(0, 1), (2, 3)]
    """
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import coo_array

    n = len(place)
    i, j = np.triu_indices(n, 1)
    if left is not None:
        there = left.open[left.number[i, j]].any(1)
        i, j = i[there], j[there]
    # Places may differ by n in each of n / 2 pairs: one rematch outweighs all of them together.
    cost = met[i, j] * n**2 + np.abs(place[i] - place[j])
    played = met.sum(1)
    alone = (played.max(initial=0.0) - played + 1) * n**4
    costs = np.concatenate([cost, alone])
    edges = np.arange(len(i))
    nodes = np.concatenate([i, j, np.arange(n)])
    columns = np.concatenate([edges, edges, len(i) + np.arange(n)])
    degree = coo_array((np.ones(len(nodes)), (nodes, columns)), shape=(n, len(costs))).tocsr()
    found = milp(
        costs / costs.max(),
        constraints=LinearConstraint(degree, 1, 1),
        integrality=np.ones(len(costs)),
        bounds=Bounds(0, 1),
    )
    if found.x is None:
        return []
    chosen = np.flatnonzero(found.x[: len(i)] > 0.5)
    pairs = [(int(i[k]), int(j[k])) for k in chosen]
    return sorted(pairs, key=lambda pair: min(place[pair[0]], place[pair[1]]))


# Active


@one_thread
def _best(
    known: Ratings, k: int, size: int, left: _Left, rng: np.random.Generator
) -> list[tuple[int, int]]:
    theta, covariance = known.theta, known.covariance.copy()
    i, j = left.pairs()
    if not len(i):
        return []
    w = _information(theta[i] - theta[j])
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    pairs = []
    for _ in range(size):
        pair = _duel(theta, root, k, rng)
        at = np.flatnonzero((i == min(pair)) & (j == max(pair))) if pair else np.empty(0, int)
        p = int(at[0]) if len(at) else _doubt(theta, covariance, k, (i, j, w))
        pairs.append((int(i[p]), int(j[p])))
        covariance = _after(covariance, pairs[-1], w[p])
    return pairs


def _duel(theta: Floats, root: Floats, k: int, rng: np.random.Generator) -> tuple[int, int] | None:
    """One of the best k of a draw, and one of another draw's; None where draws agree on them."""

    def best() -> list[int]:
        drawn = theta + root @ rng.standard_normal(len(root))
        return [int(s) for s in np.argsort(-drawn)[:k]]

    mine = best()
    for _ in range(TRIES):
        theirs = best()
        if set(theirs) != set(mine):
            one = [s for s in mine if s not in theirs]
            other = [s for s in theirs if s not in mine]
            return int(rng.choice(one)), int(rng.choice(other))
    return None


def _doubt(theta: Floats, covariance: Floats, k: int, among: tuple[Ints, Ints, Floats]) -> int:
    """Which pair's game is expected to take most from the errors between the best k and the rest.

    A game that tells w takes :math:`w c^2 / (1 + w v)` from the variance of a difference, v being
    the variance of the pair's own and c their covariance.
    """
    from scipy.special import ndtr

    i, j, w = among
    order = np.argsort(-theta)
    b, o = (each.ravel() for each in np.meshgrid(order[:k], order[k:]))
    gap = theta[b] - theta[o]
    variance = _variance(covariance, b, o)
    doubtful = np.argsort(gap / np.sqrt(variance))[:MOST_DOUBTS]
    b, o, gap, variance = b[doubtful], o[doubtful], gap[doubtful], variance[doubtful]
    across = covariance[b] - covariance[o]
    taken = (across[:, i] - across[:, j]) ** 2 * (w / (1 + w * _variance(covariance, i, j)))
    left = np.maximum(variance[:, None] - taken, 1e-12)
    return int(np.argmin(ndtr(-gap[:, None] / np.sqrt(left)).sum(0)))


def _order(known: Ratings, size: int, left: _Left) -> list[tuple[int, int]]:
    from scipy.special import ndtr

    theta, covariance = known.theta, known.covariance.copy()
    i, j = left.pairs()
    if not len(i):
        return []
    gap = np.abs(theta[i] - theta[j])
    w = _information(gap)
    pairs = []
    for _ in range(size):
        variance = _variance(covariance, i, j)
        gain = ndtr(-gap / np.sqrt(variance)) * w * variance / (1 + w * variance)
        p = int(np.argmax(gain))
        pairs.append((int(i[p]), int(j[p])))
        covariance = _after(covariance, pairs[-1], w[p])
    return pairs


def _information(gap: Floats) -> Floats:
    """p (1 - p), what a game between two tells of their difference."""
    return np.asarray(0.25 / np.cosh(gap / 2) ** 2)


def _variance(covariance: Floats, i: Ints, j: Ints) -> Floats:
    """Of each difference."""
    own = np.diag(covariance)
    return np.asarray(np.maximum(own[i] + own[j] - 2 * covariance[i, j], 1e-12))


def _after(covariance: Floats, pair: tuple[int, int], w: float) -> Floats:
    """The covariance, one more game between two being played."""
    i, j = pair
    column = covariance[:, i] - covariance[:, j]
    return np.asarray(
        covariance - np.outer(column, column) / (1 / w + max(column[i] - column[j], 1e-12))
    )


# When it is settled


@dataclass(frozen=True, slots=True)
class Resolved:
    done: bool
    """Whether the intervals separate what was asked for."""
    separated: int
    """How many of the differences that matter are told apart,"""
    wanted: int
    """of how many."""
    critical: float
    """Half the width of an interval, in standard errors."""
    best: tuple[int, ...]
    """The systems named: the first k, or all in their order."""


def resolved(battles: Battles, goal: Goal = ALL, *, level: float = 0.95) -> Resolved:
    """Whether these games settle the question, however often it is asked; a tie is half a win.

    The whole order is settled where neighbours are told apart.

    >>> a, b, y = [0, 0, 0, 1] * 60, [1, 2, 2, 2] * 60, ([1, 1, 1, 1] * 5 + [0, 1, 0, 0]) * 10
    >>> found = resolved(count(a, b, y, n=3, cluster=range(240)))
    >>> found.done, found.separated, found.wanted, found.best
    (True, 2, 2, (0, 1, 2))
    """
    n, games = battles.n, int(battles.games.sum())
    known, by_model = fit(battles, prior=PRIOR), fit(battles, prior=PRIOR, robust=False)
    order = np.argsort(-known.theta, kind="stable").tolist()
    k = goal.size(n)
    pairs = (
        list(pairwise(order))
        if goal.resolve == "all"
        else [(i, j) for i in order[:k] for j in order[k:]]
    )
    # Which systems are the best is not known beforehand, so all pairs there are, are covered.
    alpha = (1 - level) / max(n * (n - 1) / 2, 1)
    c = time_uniform(games, (1 - DIRECT) * alpha)
    i, j = np.array(pairs).T
    errors = np.sqrt(
        np.maximum(_variance(known.covariance, i, j), _variance(by_model.covariance, i, j))
    )
    told = known.theta[i] - known.theta[j] > c * errors
    for at in np.flatnonzero(~told):
        told[at] = direct(battles, *pairs[at]) >= -math.log(DIRECT * alpha)
    return Resolved(
        done=bool(told.all()) and battles.items >= FEWEST_ITEMS,
        separated=int(told.sum()),
        wanted=len(pairs),
        critical=c,
        best=tuple(order if goal.resolve == "all" else order[:k]),
    )


def direct(battles: Battles, i: int, j: int) -> float:
    """The logarithm of what was won by betting that i scores more than half against j.

    >>> float(direct(count([0] * 30, [1] * 30, [1] * 30, n=2), 0, 1)) > 10
    True
    """
    low, high = min(i, j), max(i, j)
    of = (battles.i[battles.pair] == low) & (battles.j[battles.pair] == high)
    if not of.any():
        return 0.0
    y = battles.score[of] / battles.games[of]
    return float(log_wealth(y if i == low else 1 - y, 0.5)[-1])


def time_uniform(t: int, alpha: float, *, tuned: int = 500) -> float:
    """c_t, at its smallest about ``tuned`` games.

    >>> time_uniform(500, 0.05) < time_uniform(50, 0.05), time_uniform(500, 0.05) > 1.96
    (True, True)
    """
    log = -2 * math.log(alpha)
    rho = (log + math.log(log + 1)) / tuned
    return math.sqrt(2 * (t * rho + 1) / (t * rho) * math.log(math.sqrt(t * rho + 1) / alpha))
