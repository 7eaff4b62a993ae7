"""Log-probabilities: variants add, strangers stay out, what is not known is said to be so."""

import math
import random

import pytest

from twopan.errors import ConfigError, Unparsed
from twopan.protocols.logprobs import distribution, position_of, preference
from twopan.providers import TokenLogprobs

FIVE = ["1", "2", "3", "4", "5"]
TEN = [str(n) for n in range(1, 11)]


def position(token, top):
    return TokenLogprobs(token, tuple((name, math.log(p)) for name, p in top.items()))


def why(positions, labels=FIVE, **options):
    with pytest.raises(Unparsed) as failure:
        distribution(positions, labels, **options)
    return failure.value.why


@pytest.mark.parametrize(
    "variants",
    [["5", " 5", "▁5", "Ġ5", "5\n", "<0x35>", "bytes:\\x35", "５"]],
)
def test_spellings_of_one_label_add(variants):
    top = dict.fromkeys(variants, 0.1) | {"4": 0.2}
    found = distribution([position("5", top)], FIVE)
    assert found.probabilities["5"] == pytest.approx(0.8)
    assert found.mass == pytest.approx(1)


@pytest.mark.parametrize("stranger", ["5.", "50", "5th", "²", "five", "-5", "5/", ""])
def test_a_token_that_is_more_or_less_than_a_label_is_none(stranger):
    found = distribution([position("4", {"4": 0.6, stranger: 0.4})], FIVE)
    assert found.expected == pytest.approx(4)
    assert found.mass == pytest.approx(0.6)


def test_letters_keep_their_case_and_words_do_not():
    found = distribution(
        [position("A", {"A": 0.4, "a": 0.2, "Tie": 0.2, "B": 0.1})], ["A", "B", "tie"]
    )
    assert found.mass == pytest.approx(0.7)
    assert found.probabilities["tie"] == pytest.approx(0.2 / 0.7)


def test_the_expected_score_is_that_of_the_normalised_distribution():
    found = distribution([position("4", {"4": 0.4, "5": 0.3, "The": 0.3})], FIVE)
    assert found.expected == pytest.approx((4 * 0.4 + 5 * 0.3) / 0.7)
    assert sum(found.probabilities.values()) == pytest.approx(1)
    assert found.missing == ("1", "2", "3")


def test_entropy_is_nought_when_sure_and_log_n_when_not():
    assert distribution([position("4", {"4": 1.0})], FIVE).entropy == 0
    even = dict.fromkeys(FIVE, 0.2)
    assert distribution([position("4", even)], FIVE).entropy == pytest.approx(math.log(5))


def test_a_label_of_two_tokens_is_their_product():
    positions = [position("1", {"1": 0.6, "9": 0.4}), position("0", {"0": 0.9, "\n": 0.1})]
    found = distribution(positions, TEN)
    assert found.probabilities["10"] == pytest.approx(0.54)
    assert found.probabilities["1"] == pytest.approx(0.06)
    assert found.undecided == {}
    assert found.bounds == pytest.approx((found.expected, found.expected))


def test_a_word_is_followed_through_all_its_tokens():
    positions = [
        position("ir", {"ir": 0.8, "relevant": 0.2}),
        position("rel", {"rel": 0.5, "respons": 0.5}),
        position("evant", {"evant": 1.0}),
    ]
    found = distribution(positions, ["relevant", "irrelevant"])
    assert found.probabilities["irrelevant"] == pytest.approx(0.4 / 0.6)
    assert found.mass == pytest.approx(0.6)


def test_a_beginning_that_was_not_written_is_undecided_and_bounds_the_score():
    found = distribution([position("9", {"9": 0.8, "1": 0.2})], TEN)
    assert found.probabilities["9"] == pytest.approx(1)
    assert found.mass == pytest.approx(0.8)
    assert found.undecided == {"1": pytest.approx(0.2)}
    assert found.bounds == pytest.approx((9 * 0.8 + 1 * 0.2, 9 * 0.8 + 10 * 0.2))


def test_a_majority_that_is_undecided_is_no_score():
    assert why([position("1", {"1": 0.6, "9": 0.4})], TEN) == "low_mass"


def test_a_majority_that_the_undecided_could_overturn_is_no_score():
    assert why([position("9", {"9": 0.6, "1": 0.4})], TEN) == "low_mass"


def test_a_blank_token_before_the_label_is_passed_through():
    positions = [position("▁", {"▁": 0.9, "The": 0.1}), position("5", {"5": 0.5, "4": 0.5})]
    found = distribution(positions, FIVE)
    assert found.expected == pytest.approx(4.5)
    assert found.mass == pytest.approx(0.9)


def test_what_is_not_a_distribution_is_named():
    assert why(None) == "logprobs_missing"
    assert why([]) == "logprobs_missing"
    assert why([TokenLogprobs("4", ())]) == "logprobs_missing"
    assert why([position("4", {"4": 0.9})], start=1) == "logprobs_missing"
    assert why([position("I", {"I": 0.7, "The": 0.2})]) == "no_score_mass"
    assert why([position("4", {"4": 0.4, "The": 0.5})]) == "low_mass"
    assert why([TokenLogprobs("4", (("4", -0.2), ("3", None)))]) == "bad_logprob"
    assert why([TokenLogprobs("4", (("4", -0.2), ("3", math.nan)))]) == "bad_logprob"
    assert why([TokenLogprobs("4", (("4", 0.8),))]) == "bad_logprob"
    assert why([position("4", {"4": 0.8, "5": 0.8})]) == "bad_logprob"


def test_an_entry_listed_twice_counts_once():
    listed = (("4", math.log(0.6)), ("4", math.log(0.6)), ("5", math.log(0.4)))
    assert distribution([TokenLogprobs("4", listed)], FIVE).mass == pytest.approx(1)


def test_minus_infinity_is_the_probability_nought():
    found = distribution([TokenLogprobs("4", (("4", -0.1), ("5", -math.inf)))], FIVE)
    assert found.probabilities["5"] == 0
    assert found.expected == 4


def test_a_preference_counts_a_tie_half():
    found = distribution([position("A", {"A": 0.5, "B": 0.3, "tie": 0.2})], ["A", "B", "tie"])
    assert preference(found) == pytest.approx(0.6)
    numbered = distribution([position("2", {"1": 0.25, "2": 0.75})], ["1", "2"])
    assert preference(numbered) == pytest.approx(0.25)


def test_only_fitting_labels_have_a_score_or_a_preference():
    grades = distribution([position("C", {"C": 1.0})], ["C", "P", "I"])
    with pytest.raises(ConfigError):
        grades.expected  # noqa: B018
    with pytest.raises(ConfigError):
        preference(grades)


def test_probabilities_shared_over_spellings_and_paths_are_conserved():
    rng = random.Random(3)
    for _ in range(200):
        truth = [rng.random() for _ in TEN]
        truth = [p / sum(truth) for p in truth]
        one, ten = truth[0], truth[9]
        first = {"1": one + ten}
        for label, p in zip(TEN[1:9], truth[1:9], strict=True):
            share = rng.random()
            first |= {label: p * share, f" {label}": p * (1 - share)}
        then = {"0": ten / (one + ten), "\n": one / (one + ten)}
        found = distribution([position("1", first), position("0", then)], TEN)
        assert found.mass == pytest.approx(1)
        assert list(found.probabilities.values()) == pytest.approx(truth)


# ---- where the value stands ----


def spelled(*tokens):
    return [TokenLogprobs(token, ((token, 0.0),)) for token in tokens]


@pytest.mark.parametrize(
    ("tokens", "text", "value", "index"),
    [
        (["Score", ":", " ", "4"], "Score: 4", "4", 3),
        (["Verdict", ":", " A"], "Verdict: A", "A", 2),
        (["▁Verdict", ":", "▁A"], "Verdict: A", "A", 2),  # the text lacks the first space
        (["Ver", "dict", ":", "ĠB", "<|im_end|>"], "Verdict: B", "B", 3),
        (["�", "�", " so", " [[", "B", "]]"], "👍 so [[B]]", "B", 4),
        (["Final", ":", "\n", "<0x42>"], "Final:\nB", "B", 3),
    ],
)
def test_the_token_of_a_value_is_found(tokens, text, value, index):
    begin = text.rindex(value)
    assert position_of(spelled(*tokens), (begin, begin + len(value)), text) == index


def test_tokens_that_spell_another_text_are_not_laid_along_it():
    assert position_of(spelled("Something", " else"), (9, 10), "Verdict: A") is None
    assert position_of(None, (0, 1)) is None
    assert position_of(spelled("A"), (5, 6)) is None
