"""The win rate at equal lengths, against other implementations and what must hold of any."""

from pathlib import Path

import numpy as np
import pytest
import statsmodels.api as sm
from cases.loading import cases, every_case
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from twopan.stats.length_control import (
    Gamed,
    Separated,
    alpaca_length_controlled,
    is_large,
    length_controlled,
)
from twopan.stats.logistic import lasso, logistic
from twopan.stats.resampling import Undefined
from twopan.stats.win_rate import NoData


def drawn(seed, items=80, looks=1, soft=False):
    rng = np.random.default_rng(seed)
    a, b = rng.integers(20, 400, items), rng.integers(20, 300, items)
    p = 1 / (1 + np.exp(-0.3 - 1.2 * np.tanh((a - b) / 130) - rng.normal(size=items)))
    p, a, b, item = (np.repeat(c, looks) for c in (p, a, b, np.arange(items)))
    y = np.round(p, 2) if soft else (rng.random(len(p)) < p).astype(float)
    return y, a.astype(float), b.astype(float), item


@pytest.mark.parametrize("soft", [False, True])
def test_agrees_with_a_generalised_linear_model_clustered_by_item(soft):
    y, a, b, item = drawn(1, looks=3, soft=soft)
    found = length_controlled(y, a, b, cluster=item)
    x = np.tanh((a - b) / np.std(a - b, ddof=1))
    theirs = sm.GLM(y, sm.add_constant(x), family=sm.families.Binomial()).fit(
        cov_type="cluster", cov_kwds={"groups": item, "use_correction": False}, tol=1e-12
    )
    assert found.estimate == pytest.approx(1 / (1 + np.exp(-theirs.params[0])), abs=1e-8)
    assert found.effect.estimate == pytest.approx(theirs.params[1], abs=1e-8)
    # G / (G - 2) for two coefficients, where theirs has none.
    assert found.effect.standard_error == pytest.approx(theirs.bse[1] * np.sqrt(80 / 78), rel=1e-6)


@given(st.integers(0, 10_000))
def test_swapping_the_sides_turns_the_rate_and_not_the_effect(seed):
    y, a, b, item = drawn(seed)
    try:
        one, other = length_controlled(y, a, b), length_controlled(1 - y, b, a)
    except Separated:
        return
    assert other.estimate == pytest.approx(1 - one.estimate, abs=1e-8)
    assert other.low == pytest.approx(1 - one.high, abs=1e-8)
    assert other.effect.estimate == pytest.approx(one.effect.estimate, abs=1e-7)
    order = np.random.default_rng(seed).permutation(len(y))
    again = length_controlled(y[order], a[order], b[order])
    assert again.estimate == pytest.approx(one.estimate, abs=1e-10)
    # Every row twice, on the same items, is no more evidence than once.
    twice = length_controlled(*(np.tile(c, 2) for c in (y, a, b)), cluster=np.tile(item, 2))
    assert twice.high - twice.low == pytest.approx(one.high - one.low, rel=0.02)


def test_without_differences_in_length_there_is_nothing_to_control():
    found = length_controlled([1, 0, 1, 1], [5] * 4, [5] * 4)
    assert (found.estimate, found.effect, found.flags) == (0.75, None, ("constant",))
    with pytest.raises(Undefined, match="always longer by the same"):
        length_controlled([1, 0, 1, 1], [6] * 4, [5] * 4)


def test_lengths_that_are_never_about_the_same_are_flagged():
    rng = np.random.default_rng(0)
    longer = rng.normal(3, 1, 200)
    y = (rng.random(200) < 0.6).astype(float)
    assert "extrapolated" in length_controlled(y, longer, np.zeros(200)).flags
    assert "extrapolated" not in length_controlled(y, longer - 3, np.zeros(200)).flags
    with pytest.raises(Undefined):
        length_controlled(y, longer + 20, np.zeros(200))


@pytest.mark.parametrize(
    ("y", "error"),
    [([], NoData), ([1, 0], Undefined), ([1, 1, 1, 1], Separated), ([2, 0, 1, 0], ValueError)],
)
def test_what_cannot_be_controlled_is_said(y, error):
    with pytest.raises(error):
        length_controlled(y, range(len(y)), [len(y) - i**2 for i in range(len(y))])


def test_the_penalised_fit_is_that_of_another_implementation():
    y, a, b, _ = drawn(4, items=300, soft=True)
    x = np.column_stack([np.tanh((a - b) / 100), np.sin(a), np.ones(len(a))])
    for c in (0.01, 0.1, 2.78, 100.0):
        theirs = LogisticRegression(
            l1_ratio=1.0, C=c, solver="liblinear", fit_intercept=False, tol=1e-10, max_iter=10_000
        ).fit(
            np.tile(x, (2, 1)), np.repeat([1, 0], len(y)), sample_weight=np.concatenate([y, 1 - y])
        )
        ours = lasso(x, x.T @ y, np.ones(len(y)), c=c)
        np.testing.assert_allclose(ours, theirs.coef_[0], atol=2e-4)
    free, *_ = logistic(x, y)
    np.testing.assert_allclose(lasso(x, x.T @ y, np.ones(len(y)), c=1e8), free, atol=1e-5)


def test_rows_known_by_their_sums_take_part_as_if_they_were_there():
    y, a, b, _ = drawn(5, items=200, soft=True)
    difficulty = np.sin(np.arange(200))
    rng = np.random.default_rng(0)
    others, preferred = rng.normal(size=(50, 2)), rng.random(50)
    gamed = Gamed(others, others.T @ preferred, weight=0.1)
    one = alpaca_length_controlled(y, a, b, difficulty, gamed=gamed, refits=0)
    x = np.column_stack([np.tanh((b - a) / np.std(b - a, ddof=1)), difficulty, np.ones(200)])
    rows = np.concatenate([x, np.column_stack([others, np.zeros(50)])])
    scores, weight = np.concatenate([y, preferred]), np.repeat([1.0, 0.1], [200, 50])
    weights = lasso(rows, rows.T @ (weight * scores), weight, c=21.54434690031882)
    np.testing.assert_allclose(one.weights, weights, atol=1e-8)


def test_refits_give_an_interval_around_the_estimate_that_a_seed_repeats():
    y, a, b, _ = drawn(6, items=200, soft=True)
    told = (y, a, b, np.zeros(200))
    one, same = (alpaca_length_controlled(*told, refits=100, seed=3) for _ in range(2))
    assert one == same
    assert one.low < one.estimate < one.high
    assert one.high - one.low == pytest.approx(0.06, abs=0.02)


def test_intervals_hold_as_often_as_they_say(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parent.parent / "benchmarks" / "simulate"))
    import length_control as simulated

    rate, effect, raw, failed = simulated.simulated(
        250, 1, items=100, looks=3, effect=1.0, by=0.5, soft=False
    )
    assert 0.91 < rate < 0.985
    assert 0.91 < effect < 0.985
    assert 0.91 < raw < 0.985
    assert failed == 0


def about(function):
    try:
        found = [c["id"] for c in every_case() if c["input"].get("fn") == function]
    except FileNotFoundError:
        found = ["STAT-"]
    return cases(*found)


@pytest.mark.parametrize("case", about("length_controlled"))
def test_the_case_is_refused_as_it_says(case):
    pairs = case["input"]["args"]["pairs"]
    error = NoData if not pairs else Separated
    columns = ([pair[name] for pair in pairs] for name in ("won", "len_a", "len_b"))
    with pytest.raises(error):
        length_controlled(*columns)


@pytest.mark.parametrize("case", about("length_controlled_check"))
def test_a_large_correction_is_flagged(case):
    args = case["input"]["args"]
    assert is_large(args["raw"], args["controlled"])
