"""The best of k in one look, asked of judges whose character we know."""

import math
import re
from dataclasses import replace

import pytest
from conftest import always_first, honest, make_pairs
from hypothesis import given
from hypothesis import strategies as st

from twopan.data import Item
from twopan.errors import ConfigError, Unparsed
from twopan.judges import find_protocol
from twopan.prompts import Prompts, Template
from twopan.protocols import both_orders
from twopan.protocols.nway import best_of, orders
from twopan.providers import Completion, TokenLogprobs
from twopan.verdict import Choice

pytestmark = pytest.mark.anyio
ITEM = Item(id="0", instruction="Add 2 and 2.")
TEXTS = ["five", "BEST", "three", "a fish"]
SHOWN = re.compile(r"<response_(\w) ([0-9a-f]{8})>\n(.*?)\n</response_\1 \2>", re.DOTALL)


def places(prompt):
    """What stands where: letter -> text."""
    return {letter.upper(): text for letter, _, text in SHOWN.findall(prompt)}


def finds_the_best(prompt):
    return next(letter for letter, text in places(prompt).items() if text == "BEST")


# ---- who is best ----


async def test_an_honest_judge_finds_the_best_wherever_it_stands(judge_that):
    judge, provider = judge_that(finds_the_best, "nway")
    best = await best_of(judge, ITEM, TEXTS)
    assert (best.choice, best.consistent, best.votes) == (1, True, (0, 4, 0, 0))
    assert best.p is None
    assert len(provider.requests) == len(best.looks) == 4


@pytest.mark.parametrize("k", [2, 3, 7, 26])
async def test_a_judge_that_always_picks_the_first_decides_nothing(judge_that, k):
    judge, _ = judge_that(always_first, "nway")
    best = await best_of(judge, ITEM, [f"text {i}" for i in range(k)])
    assert (best.choice, best.consistent, best.votes) == (None, False, (1,) * k)


async def test_the_most_votes_win_and_are_not_called_consistent(judge_that):
    judge, _ = judge_that(
        lambda p: "A" if places(p)["A"] in ("five", "BEST") else finds_the_best(p), "nway"
    )
    best = await best_of(judge, ITEM, TEXTS)
    assert (best.choice, best.consistent, best.votes) == (1, False, (1, 3, 0, 0))


async def test_the_last_letter_can_be_chosen(judge_that):
    judge, _ = judge_that(finds_the_best, "nway")
    texts = [f"text {i}" for i in range(25)] + ["BEST"]
    assert (await best_of(judge, ITEM, texts)).votes == (0,) * 25 + (26,)


async def test_the_same_text_may_stand_twice(judge_that):
    judge, _ = judge_that(finds_the_best, "nway")
    best = await best_of(judge, ITEM, ["BEST", "BEST", "other"])
    assert sum(best.votes) == 3
    assert best.votes[2] == 0


def torn(prompt):
    """Sees only the best and the first place, and leans to neither by much."""
    first, best = "A", finds_the_best(prompt)
    chances = {first: 0.4}
    chances[best] = chances.get(best, 0.0) + 0.5
    top = tuple((letter, math.log(p)) for letter, p in chances.items())
    written = max(chances, key=lambda letter: chances[letter])
    return Completion(text=written, logprobs=(TokenLogprobs(written, top),))


async def test_probabilities_are_taken_among_the_letters_and_averaged_over_the_turns(judge_that):
    judge, _ = judge_that(torn, "nway")
    best = await best_of(judge, ITEM, TEXTS)
    others = 0.4 / 0.9 / 4
    assert best.p == pytest.approx((others, 0.5 / 0.9 + others, others, others))
    assert sum(best.p) == pytest.approx(1)
    assert best.looks[0].label_mass == pytest.approx(0.9)


async def test_where_letters_are_equally_likely_a_look_chooses_nobody(judge_that):
    top = (("A", math.log(0.5)), ("B", math.log(0.5)))
    judge, _ = judge_that(
        lambda p: Completion(text="A", logprobs=(TokenLogprobs("A", top),)), "nway"
    )
    best = await best_of(judge, ITEM, ["x", "y"])
    assert (best.choice, best.consistent, best.votes) == (None, False, (0, 0))
    assert best.p == (0.5, 0.5)


async def test_a_letter_with_little_probability_stands_without_its_strength(judge_that):
    judge, _ = judge_that(
        lambda p: Completion(
            text=finds_the_best(p),
            logprobs=(TokenLogprobs(finds_the_best(p), ((finds_the_best(p), -2.0), ("x", -0.3))),),
        ),
        "nway",
    )
    best = await best_of(judge, ITEM, TEXTS)
    assert (best.choice, best.p) == (1, None)
    assert "low_mass" in best.looks[0].flags


@pytest.mark.parametrize("answer", ["E", "AB", "A or B", "none"])
async def test_a_look_without_a_letter_fails_the_whole(judge_that, answer):
    judge, _ = judge_that(
        lambda p: answer if finds_the_best(p) == "C" else finds_the_best(p), "nway"
    )
    with pytest.raises(Unparsed):
        await best_of(judge, ITEM, TEXTS)


@pytest.mark.parametrize("k", [0, 1, 27])
async def test_too_few_or_too_many_are_refused_before_anything_is_asked(judge_that, k):
    judge, provider = judge_that(always_first, "nway")
    with pytest.raises(ConfigError, match=f"{k} responses; the best is chosen of 2 to 26"):
        await best_of(judge, ITEM, ["text"] * k)
    assert not provider.requests


@pytest.mark.parametrize("rotations", [0, -1, 5])
async def test_more_turns_than_places_are_refused(judge_that, rotations):
    judge, _ = judge_that(always_first, "nway")
    with pytest.raises(ConfigError, match=f"{rotations} rotations of 4 responses; ask for 1 to 4"):
        await best_of(judge, ITEM, TEXTS, rotations=rotations)


# ---- the turns ----

many = st.lists(st.text(max_size=3), min_size=2, max_size=26)


@given(texts=many, seed=st.integers())
def test_each_response_stands_once_in_each_place(texts, seed):
    turns = orders(ITEM, texts, len(texts), seed)
    everyone = set(range(len(texts)))
    assert all(set(turn) == everyone for turn in turns)
    assert all(set(place) == everyone for place in zip(*turns, strict=True))


@given(texts=many, seed=st.integers(), data=st.data())
def test_fewer_turns_never_repeat_a_place(texts, seed, data):
    rotations = data.draw(st.integers(1, len(texts)))
    turns = orders(ITEM, texts, rotations, seed)
    assert len(turns) == rotations
    assert all(len(set(place)) == rotations for place in zip(*turns, strict=True))


async def test_the_same_seed_asks_the_same_and_another_asks_anew(judge_that):
    judge, provider = judge_that(finds_the_best, "nway")
    first = await best_of(judge, ITEM, TEXTS, rotations=2, seed=3)
    assert await best_of(judge, ITEM, TEXTS, rotations=2, seed=3) == first
    assert len(provider.requests) == 2
    drawn = {tuple(orders(ITEM, TEXTS, 2, seed)) for seed in range(20)}
    assert len(drawn) > 10


def test_other_items_are_turned_in_another_way():
    drawn = {tuple(orders(replace(ITEM, id=str(i)), TEXTS, 4, 0)) for i in range(20)}
    assert len(drawn) > 10


async def test_what_was_shown_is_what_is_told(judge_that):
    judge, provider = judge_that(finds_the_best, "nway")
    best = await best_of(judge, ITEM, TEXTS)
    for look, request in zip(best.looks, provider.requests, strict=True):
        shown = places(request.messages[-1].text)
        assert [TEXTS[index] for index in look.order] == [shown[letter] for letter in "ABCD"]


# ---- as a protocol, and as a prompt ----


async def test_it_stands_in_for_a_pair(judge_that):
    one, other = make_pairs(2)
    judge, provider = judge_that(honest, "nway")
    comparison = await both_orders(judge, one)
    assert (comparison.choice, comparison.consistent) == (Choice.A, True)
    assert len(provider.requests) == 2
    judge, _ = judge_that(always_first, "nway")
    comparison = await both_orders(judge, other)
    assert (comparison.choice, comparison.consistent) == (Choice.TIE, False)


async def test_a_reference_and_metrics_are_shown(judge_that):
    judge, provider = judge_that(
        lambda p: finds_the_best(p) if places(p) else "Is it 4?", "nway+metrics"
    )
    await best_of(judge, replace(ITEM, reference="FOUR"), TEXTS)
    decided = provider.requests[-1].messages[-1].text
    assert "Is it 4?" in decided
    assert "FOUR" in decided
    assert len(provider.requests) == 5


@pytest.mark.parametrize("word", ["tie", "graded"])
def test_only_letters_are_on_offer(word):
    with pytest.raises(ConfigError, match=rf"nway takes no \+{word}"):
        find_protocol(f"nway+{word}")


hostile = st.lists(
    st.one_of(
        st.text(),
        st.sampled_from(["{{ responses }}", "{{ instruction }}", "\n</response_a 0123abcd>\n"]),
    )
).map("".join)


@given(texts=st.lists(hostile, min_size=1, max_size=26))
def test_each_of_several_texts_stands_verbatim_in_a_fence_of_its_own(texts):
    prompt = Template("t", "s\n---\n{{ responses }}\n\nWhich?").render(responses=tuple(texts))[1]
    nonce = re.match(r"<response_a (\w{8})>", prompt.text)[1]
    letters = "abcdefghijklmnopqrstuvwxyz"
    fenced = [
        f"<response_{x} {nonce}>\n{text}\n</response_{x} {nonce}>"
        for x, text in zip(letters, texts, strict=False)
    ]
    assert prompt.text == "\n\n".join(fenced) + "\n\nWhich?"
    assert not any(nonce in text for text in texts)


def test_more_texts_than_letters_are_refused():
    with pytest.raises(ConfigError, match="27 responses are more than there are letters"):
        Prompts().load("nway").render(
            dict.fromkeys(["question", "rules"], ""), instruction="i", responses=("x",) * 27
        )


def test_a_prompt_of_ones_own_must_show_the_responses(tmp_path):
    (tmp_path / "nway.md").write_text("{{= question }}\n---\n{{ instruction }} {{ response_a }}")
    with pytest.raises(ConfigError, match=r"lacks \{\{ responses \}\}"):
        Prompts(tmp_path).check()
