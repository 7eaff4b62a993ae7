"""Planning: as many items as it takes, by formula, by enumeration and by simulation."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import binom

from twopan.stats.power import OutOfReach, detectable, expect, items_needed, power_of
from twopan.stats.win_rate import win_rate


@pytest.mark.parametrize("items", [30, 100, 250])
@pytest.mark.parametrize("rate", [0.55, 0.6, 0.75])
def test_power_is_that_of_the_gates_own_interval_by_enumeration(items, rate):
    promoted = [k for k in range(items + 1) if win_rate([1.0] * k + [0.0] * (items - k)).low > 0.5]
    exact = binom.sf(min(promoted) - 1, items, rate)
    assert power_of(items, rate) == pytest.approx(exact, abs=0.06)


def test_power_with_ties_is_that_of_the_gates_own_interval_by_simulation():
    rng = np.random.default_rng(0)
    y = rng.choice([0.0, 0.5, 1.0], p=[0.2, 0.4, 0.4], size=(1500, 120))
    simulated = np.mean([win_rate(one).low > 0.5 for one in y])
    assert power_of(120, 0.6, even=0.4) == pytest.approx(simulated, abs=0.04)


def test_items_and_effect_are_each_others_inverse():
    for rate, even in ((0.6, 0.0), (0.55, 0.3), (0.8, 0.2)):
        n = items_needed(rate, even=even)
        assert power_of(n, rate, even=even) >= 0.8 > power_of(n - 1, rate, even=even)
        assert detectable(n, even=even) == pytest.approx(rate, abs=0.01)


@given(st.floats(0.52, 0.9), st.floats(0, 0.5), st.integers(20, 2000))
def test_more_items_and_larger_effects_are_found_more_often(rate, even, items):
    assume(rate < 1 - even / 2 - 0.02)
    assert power_of(items + 20, rate, even=even) >= power_of(items, rate, even=even) - 1e-9
    assert power_of(items, rate + 0.01, even=even) >= power_of(items, rate, even=even) - 1e-9


def test_what_cannot_be_shown_is_said():
    with pytest.raises(OutOfReach, match="not above the threshold"):
        items_needed(0.5)
    with pytest.raises(OutOfReach, match=r"between 30\.0% and 70\.0%"):
        power_of(100, 0.8, even=0.6)
    assert detectable(4) is None
    assert detectable(50, even=0.99) is None


def test_a_sequential_gate_asks_less_where_the_effect_is_large():
    found = expect(0.7, cap=500, runs=150)
    assert found.promoted > 0.97
    assert found.items < items_needed(0.7, power=0.97)
    assert found.items <= found.items_90 <= 500
    none = expect(0.5, cap=300, runs=150)
    assert none.promoted < 0.1
    assert none.items < 200
