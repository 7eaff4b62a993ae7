"""One look, two looks, a jury: what changes when the responses swap places, and what does not."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twopan.verdict import Choice, Comparison, Preference, Verdict

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
