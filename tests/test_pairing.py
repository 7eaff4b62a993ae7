"""Who meets whom next: against every possible pairing, and over whole tournaments."""

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twopan.stats.battles import count
from twopan.stats.pairing import Batch, Field, Goal, next_batch, pairing, resolved, time_uniform

NONE = Batch(*(np.empty(0, int) for _ in range(3)))
METHODS = ["round-robin", "baseline", "random", "swiss", "active"]


def field(n=6, items=20):
    return Field(np.ones((n, items), dtype=bool))


def played(method, tournament, rounds, *, size=6, seed=0, lost=0.0, **how):
    """Batches with outcomes of systems in the order of their numbers; some have none."""
    rng = np.random.default_rng(seed)
    done, y, batches = NONE, np.empty(0), []
    for _ in range(rounds):
        batch = next_batch(tournament, done, y, method=method, size=size, seed=seed, **how)
        if not len(batch):
            break
        batches.append(batch)
        won = (rng.random(len(batch)) < 1 / (1 + np.exp(batch.a - batch.b))).astype(float)
        won[rng.random(len(batch)) < lost] = np.nan
        done, y = done + batch, np.concatenate([y, won])
    return done, y, batches


def keys(batch):
    return [
        (min(a, b), max(a, b), i)
        for a, b, i in zip(batch.a.tolist(), batch.b.tolist(), batch.item.tolist(), strict=True)
    ]


# --- what holds of every method


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(METHODS),
    st.tuples(st.integers(2, 7), st.integers(1, 6)),
    st.integers(1, 12),
    st.integers(0, 100),
    st.floats(0.3, 1),
)
def test_every_comparison_is_asked_once_and_only_of_who_answered(method, shape, size, seed, full):
    n, items = shape
    answered = np.random.default_rng(seed).random((n, items)) < full
    done, _, batches = played(
        method, Field(answered), 10_000, size=size, seed=seed, lost=0.2, baseline=0
    )
    asked = keys(done)
    assert len(set(asked)) == len(asked)
    assert all(i < j and answered[i, k] and answered[j, k] for i, j, k in asked)
    everything = {
        (i, j, k)
        for i, j in combinations(range(n), 2)
        for k in range(items)
        if answered[i, k] and answered[j, k] and (method != "baseline" or i == 0)
    }
    assert set(asked) == everything, "and it ends when there is nothing left"
    if method != "swiss":
        assert all(len(batch) <= size for batch in batches)


@pytest.mark.parametrize("method", METHODS)
def test_the_same_data_and_seed_are_the_same_batch(method):
    done, y, _ = played(method, field(), 4, baseline=1)
    how = {"method": method, "size": 6, "baseline": 1}
    one, same = (next_batch(field(), done, y, seed=3, **how) for _ in range(2))
    assert keys(one) == keys(same)
    # Taken up where it stopped, it goes on as it would have.
    whole, _, _ = played(method, field(), 8, baseline=1)
    part, y, _ = played(method, field(), 5, baseline=1)
    assert keys(whole)[: len(part)] == keys(part)


@pytest.mark.parametrize("method", METHODS)
def test_first_places_are_shared_evenly(method):
    done, _, _ = played(method, field(6, 40), 40, baseline=1)
    first = np.bincount(done.a, minlength=6)
    games = first + np.bincount(done.b, minlength=6)
    assert (np.abs(first - games / 2) <= 2).all(), (first, games)


@pytest.mark.parametrize("method", ["random", "swiss", "active"])
def test_items_are_used_about_as_often(method):
    done, _, _ = played(method, field(6, 20), 20)
    uses = np.bincount(done.item, minlength=20)
    assert uses.max() - uses.min() <= 2


# --- Swiss


def every_matching(nodes):
    """All pairings; of an odd number one sits out."""
    if len(nodes) % 2:
        for out in nodes:
            yield from every_matching([n for n in nodes if n != out])
        return
    if not nodes:
        yield []
        return
    first, *rest = nodes
    for other in rest:
        for more in every_matching([n for n in rest if n != other]):
            yield [(first, other), *more]


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 8), st.integers(0, 1000))
def test_a_round_is_the_cheapest_of_all_there_could_be(n, seed):
    rng = np.random.default_rng(seed)
    place = rng.permutation(n)
    met = np.triu(rng.integers(0, 3, (n, n)), 1).astype(float)
    met += met.T
    played = met.sum(1)

    def cost(pairs):
        alone = set(range(n)) - {s for pair in pairs for s in pair}
        rest = sum(played.max() - played[s] for s in alone)
        rematches = sum(met[i, j] for i, j in pairs)
        apart = sum(abs(place[i] - place[j]) for i, j in pairs)
        return rest, rematches, apart

    found = pairing(place, met)
    assert len(found) == n // 2
    best = min(map(cost, every_matching(list(range(n)))))
    assert cost(found) == best


@pytest.mark.parametrize("n", [6, 7])
def test_nobody_meets_anybody_again_before_all_have_met(n):
    done, _, batches = played("swiss", field(n, 30), n if n % 2 else n - 1, size=1)
    met = Counter((min(a, b), max(a, b)) for a, b in zip(done.a, done.b, strict=True))
    assert len(batches) == (n if n % 2 else n - 1)
    assert all(len(batch) == n // 2 for batch in batches)
    # Meeting those near by may leave at the end some who have not met: a few, never many.
    assert max(met.values()) <= 2
    assert len(met) >= 0.8 * n * (n - 1) / 2


def test_of_an_odd_number_everybody_sits_out_in_turn():
    done, _, batches = played("swiss", field(7, 60), 14, size=1)
    games = np.bincount(done.a, minlength=7) + np.bincount(done.b, minlength=7)
    assert games.max() - games.min() <= 1
    assert all(len(set(batch.a) | set(batch.b)) == 6 for batch in batches)


def test_those_that_stand_near_meet_before_those_that_do_not():
    """Eleven rounds until all have met: in the first of them one meets neighbours."""
    _, _, batches = played("swiss", field(12, 200), 66, size=1)
    apart = [np.abs(batch.a - batch.b).mean() for batch in batches[22:]]
    cycles = np.array(apart).reshape(-1, 11)
    assert cycles[:, :4].mean() < 0.7 * cycles[:, -4:].mean()


# --- active


def test_the_best_is_looked_for_among_the_best():
    done, _, _ = played("active", field(12, 100), 60, goal=Goal("top1"))
    games = np.bincount(done.a, minlength=12) + np.bincount(done.b, minlength=12)
    assert games[:3].sum() > 2 * games[6:9].sum()


def test_the_best_few_are_told_from_the_rest_at_the_edge():
    done, _, _ = played("active", field(12, 100), 60, goal=Goal("top-k", 6))
    games = np.bincount(done.a, minlength=12) + np.bincount(done.b, minlength=12)
    assert games[4:8].sum() > games[[0, 1, 10, 11]].sum()


def test_for_the_order_those_that_are_close_meet():
    done, _, _ = played("active", field(12, 100), 80)
    late = np.abs(done.a - done.b)[len(done) // 2 :]
    assert late.mean() < 3


def test_failures_tell_nothing_and_do_not_come_again():
    done, y, _ = played("active", field(), 5, lost=0.4)
    batch = next_batch(field(), done, y, method="active", size=6)
    assert not set(keys(batch)) & set(keys(done))
    nothing = np.full(len(done), np.nan)
    assert len(next_batch(field(), done, nothing, method="active", size=6)) == 6


# --- when it is settled


def rounds(*points, items=60):
    """Games of 0, 1, 2 and 3, each pair on every item, the lower number taking such a share."""
    a, b = zip(*combinations(range(4), 2), strict=True)
    y = np.array([np.arange(items) < items * share for share in points], float)
    return count(
        np.repeat(a, items), np.repeat(b, items), y.ravel(), n=4, cluster=[*range(items)] * 6
    )


def test_how_many_differences_matter():
    clear = rounds(0.8, 0.9, 0.95, 0.8, 0.9, 0.8, items=200)
    of = [resolved(clear, goal) for goal in (Goal(), Goal("top1"), Goal("top-k", 2))]
    assert [(f.done, f.separated, f.wanted, f.best) for f in of] == [
        (True, 3, 3, (0, 1, 2, 3)),
        (True, 3, 3, (0,)),
        (True, 4, 4, (0, 1)),
    ]
    even = resolved(rounds(0.5, 0.5, 0.95, 0.5, 0.95, 0.95), Goal("top1"))
    assert (even.done, even.separated, even.wanted) == (False, 1, 3)


def test_who_took_every_point_is_told_apart_though_a_standard_error_cannot():
    found = resolved(rounds(1, 1, 1, 0.5, 0.5, 0.5, items=30), Goal("top1"))
    assert (found.done, found.best) == (True, (0,))
    assert not resolved(rounds(1, 1, 1, 0.5, 0.5, 0.5, items=9), Goal("top1")).done


def test_the_critical_value_is_robbins_mixture():
    """Its defining equation: the mixture's boundary is crossed with a chance of alpha."""
    rng = np.random.default_rng(0)
    alpha, horizon, runs = 0.1, 2000, 2000
    t = np.arange(1, horizon + 1)
    bound = np.array([time_uniform(n, alpha, tuned=200) for n in t]) * np.sqrt(t)
    walks = np.cumsum(rng.standard_normal((runs, horizon)), axis=1)
    crossed = (np.abs(walks) > bound).any(1).mean()
    assert crossed <= alpha
    assert crossed > 0.3 * alpha, "the horizon is finite, so it is not all of it"


@pytest.mark.parametrize("goal", [Goal(), Goal("top1")])
def test_equals_are_seldom_told_apart_however_often_one_looks(goal):
    """Four equal systems, items with effects; looked at after every batch."""
    wrong = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        effects = rng.normal(0, 0.7, (4, 60))
        done, y = NONE, np.empty(0)
        for _ in range(30):
            batch = next_batch(field(4, 60), done, y, method="active", goal=goal, size=8, seed=seed)
            gap = effects[batch.a, batch.item] - effects[batch.b, batch.item]
            done = done + batch
            y = np.concatenate([y, rng.random(len(gap)) < 1 / (1 + np.exp(-gap))])
            if resolved(count(done.a, done.b, y, n=4, cluster=done.item), goal).done:
                wrong += 1
                break
    assert wrong <= 6
