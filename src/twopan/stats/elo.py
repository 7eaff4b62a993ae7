r"""Elo ratings: after each game both players move by how surprising its result was.

.. math:: E_a = \frac{1}{1 + 10^{(R_b - R_a) / s}}, \qquad R_a \mathrel{+}= K (y - E_a), \quad
          R_b \mathrel{-}= K (y - E_a)

with the score :math:`y` of :math:`a` (1, ½, 0) and the scale :math:`s = 400`. Ratings depend on the
order of the games, which for systems that do not learn means nothing; so games are played in many
random orders and the ratings averaged, and how much they move from order to order is said beside
them. That spread is no standard error: it tells nothing of what other items would have given.

An Elo number means nothing outside its pool: 1050 is "a little better than what it met", in an
easy pool as in a hard one. Only differences within a pool can be read, and for those
:mod:`twopan.stats.bradley_terry` is the better estimate, with an interval.

References
----------
Elo (1978), The rating of chessplayers, past and present.
Boubdir, Kim, Ermis, Hooker and Fadaee (2023), Elo uncovered: robustness and best practices in
language model evaluation. arXiv:2311.17295.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from twopan.stats.battles import checked
from twopan.stats.columns import Floats

RELATIVE = "an Elo rating compares systems of one pool, and says nothing of how good any is"


@dataclass(frozen=True, slots=True)
class Elo:
    ratings: Floats
    """Shape (n,): the mean over the orders."""
    spread: Floats | None
    """Shape (n,): standard deviation from order to order; None of a single one."""
    orders: int


def elo(
    a: ArrayLike,
    b: ArrayLike,
    y: ArrayLike,
    *,
    n: int,
    k: float = 32.0,
    start: float = 1000.0,
    scale: float = 400.0,
    orders: int = 1,
    seed: int = 0,
) -> Elo:
    """Rate n systems by their games.

    Parameters
    ----------
    a, b : int, shape (m,)
        The two systems of each game, numbered from 0.
    y : float, shape (m,)
        The score of ``a``: 1, ½ or 0, or anything between.
    k : float
        The most points a game moves.
    orders : int
        1 takes the games in the order given; more, so many random orders.

    Raises NoData and ValueError as :func:`twopan.stats.battles.count` does.

    Examples
    --------
    A win over an equal is worth half of K:

    >>> elo([0], [1], [1], n=2).ratings.tolist()
    [1016.0, 984.0]
    """
    first, second, scores = checked(a, b, y, n)
    m = len(scores)
    rng = np.random.default_rng(seed)
    turn = (
        np.arange(m)[None, :]
        if orders == 1
        else rng.permuted(np.tile(np.arange(m), (orders, 1)), axis=1)
    )
    ratings = np.full((orders, n), float(start))
    each = np.arange(orders)
    for game in turn.T:  # one game of every order at a time
        i, j = first[game], second[game]
        expected = 1 / (1 + 10 ** ((ratings[each, j] - ratings[each, i]) / scale))
        moved = k * (scores[game] - expected)
        ratings[each, i] += moved
        ratings[each, j] -= moved
    return Elo(ratings.mean(0), ratings.std(0, ddof=1) if orders > 1 else None, orders)


def average_win_rate(scores: Floats, games: Floats) -> Floats:
    """The mean, over the opponents a system met, of its win rate against each; shape (n,).

    Points and games of the row against the column, shape (n, n), each system having met one. It is
    not a share of games: an opponent met once counts as much as one met often.

    >>> average_win_rate(np.array([[0.0, 3.0], [1.0, 0.0]]), np.array([[0.0, 4.0], [4.0, 0.0]]))
    array([0.75, 0.25])
    """
    met = games > 0
    rates = np.divide(scores, games, out=np.zeros_like(scores), where=met)
    return np.asarray(rates.sum(1) / met.sum(1))
