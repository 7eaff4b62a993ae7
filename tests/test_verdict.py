"""One look, two looks, a jury: what changes when the responses swap places, and what does not."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twopan.verdict import SUREST, Choice, Comparison, Preference, Verdict, log_odds, probability

choices = st.sampled_from(Choice)
preferences = st.builds(
    Preference,
    choice=choices,
    reasoning=st.text(),
    p_a=st.none() | st.integers(0, 1024).map(lambda k: k / 1024),
    label_mass=st.none() | st.floats(0, 1),
    flags=st.lists(st.text()).map(tuple),
)
comparisons = st.builds(Comparison, judge=st.just("j"), a_first=preferences, b_first=preferences)


def looks(a_first, b_first):
    return Comparison(
        judge="j",
        a_first=Preference(choice=Choice(a_first), reasoning=""),
        b_first=Preference(choice=Choice(b_first), reasoning=""),
    )


def test_a_win_is_one_a_tie_half_a_loss_nothing():
    scores = [
        Preference(choice=choice, reasoning="").a_score
        for choice in (Choice.A, Choice.TIE, Choice.B)
    ]
    assert scores == [1, 0.5, 0]


def test_a_probability_says_more_than_the_letter():
    assert Preference(choice=Choice.A, reasoning="", p_a=0.6).a_score == 0.6
    assert Preference(choice=Choice.A, reasoning="", p_a=0.0).a_score == 0.0


@given(preferences)
def test_to_flip_is_to_swap_names_and_twice_is_not_at_all(preference):
    flipped = preference.flipped()
    assert flipped.a_score == 1 - preference.a_score
    assert (flipped.choice == Choice.TIE) == (preference.choice == Choice.TIE)
    assert flipped.flipped() == preference
    # All that is said of the look itself stays.
    assert replace(flipped, choice=preference.choice, p_a=preference.p_a) == preference


@pytest.mark.parametrize(
    ("a_first", "b_first", "choice", "consistent"),
    [
        ("a", "a", "a", True),
        ("b", "b", "b", True),
        ("tie", "tie", "tie", True),
        ("a", "b", "tie", False),  # picked the first position twice
        ("b", "a", "tie", False),  # picked the second position twice
        ("a", "tie", "tie", False),
        ("tie", "b", "tie", False),
    ],
)
def test_only_a_response_that_is_picked_twice_wins(a_first, b_first, choice, consistent):
    comparison = looks(a_first, b_first)
    assert (comparison.choice, comparison.consistent) == (choice, consistent)


def test_half_a_win_is_not_lost_with_the_consistency():
    assert looks("a", "tie").a_score == 0.75
    assert looks("a", "b").a_score == 0.5


@given(comparisons)
def test_a_comparison_does_not_depend_on_which_response_is_called_a(comparison):
    swapped = Comparison(
        judge="j", a_first=comparison.b_first.flipped(), b_first=comparison.a_first.flipped()
    )
    assert swapped.choice == comparison.choice.flipped()
    assert swapped.consistent == comparison.consistent
    assert swapped.a_score == pytest.approx(1 - comparison.a_score)


@given(st.lists(comparisons, min_size=1))
def test_a_jury_is_consistent_where_all_of_it_is_and_its_score_lies_among_the_votes(votes):
    verdict = Verdict(item_id="q", votes=tuple(votes), choice=Choice.TIE)
    assert verdict.consistent == (not [v for v in votes if v.a_first.choice != v.b_first.choice])
    scores = [vote.a_score for vote in votes]
    assert min(scores) - 1e-12 <= verdict.a_score <= max(scores) + 1e-12


def test_one_judge_is_a_jury_of_one():
    vote = looks("a", "tie")
    verdict = Verdict(item_id="q", votes=(vote,), choice=vote.choice)
    assert (verdict.a_score, verdict.consistent) == (0.75, False)


# ---- decided by the mean log-odds ----


def seen(a_first, b_first, margin=0.0):
    """Two looks with these probabilities for A, and the letter that each leans to."""
    return Comparison(
        judge="j",
        a_first=Preference(
            choice=Choice.A if a_first > 0.5 else Choice.B, reasoning="", p_a=a_first
        ),
        b_first=Preference(
            choice=Choice.A if b_first > 0.5 else Choice.B, reasoning="", p_a=b_first
        ),
        margin=margin,
    )


def test_where_the_odds_decide_a_leaning_to_one_position_cancels():
    # Twice the first position, yet surer of A when A stood there.
    leaning = seen(0.9, 0.3)
    assert (leaning.consistent, leaning.choice) == (False, Choice.A)
    assert replace(leaning, margin=None).choice == Choice.TIE
    assert leaning.log_odds == pytest.approx((math.log(9) + math.log(3 / 7)) / 2)
    assert leaning.a_score == pytest.approx(1 / (1 + math.exp(-leaning.log_odds)))


@pytest.mark.parametrize(("margin", "choice"), [(0.6, "a"), (0.7, "tie")])
def test_within_the_margin_is_a_tie(margin, choice):
    assert seen(0.9, 0.3, margin).choice == choice  # log-odds of 0.675


def test_exactly_even_odds_are_a_tie_and_no_side():
    assert seen(0.75, 0.25).choice == Choice.TIE


def test_a_judge_that_gives_no_probabilities_decides_by_odds_as_by_agreement():
    for a_first in "ab":
        for b_first in "ab":
            plain = looks(a_first, b_first)
            assert replace(plain, margin=0.0).choice == plain.choice


@given(comparisons, st.floats(0, 5))
def test_the_odds_too_are_the_same_whichever_response_is_called_a(comparison, margin):
    comparison = replace(comparison, margin=margin)
    flipped = replace(
        comparison,
        a_first=comparison.b_first.flipped(),
        b_first=comparison.a_first.flipped(),
    )
    assert flipped.choice == comparison.choice.flipped()
    assert flipped.a_score == pytest.approx(1 - comparison.a_score)


def test_sums_of_floats_that_are_even_but_for_rounding_are_a_tie():
    assert seen(0.9, 0.1).choice == Choice.TIE
    assert seen(0.7, 0.3).choice == Choice.TIE


def test_certainty_is_bounded_so_that_one_look_cannot_be_infinitely_sure():
    assert 0 < seen(1.0, 0.5).a_score < 1
    assert log_odds(1.0) == -log_odds(0.0) == SUREST


@given(st.floats(-13, 13))
def test_odds_and_probability_are_each_others_inverse(x):
    assert log_odds(probability(x)) == pytest.approx(x, abs=1e-8)
