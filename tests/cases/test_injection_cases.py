"""The replayable injection cases: what a response says to a judge decides nothing, and is shown."""

import re

import pytest

from cases.loading import cases
from twopan.data import Item, Pair, Response
from twopan.protocols import both_orders, parsing
from twopan.screen import screen

pytestmark = pytest.mark.anyio

SCORE = parsing.Contract(format="line", label="Score", low=1, high=10, integer=True)
INSTRUCTION = "What is 6 times 7?"

# ---- judges of known character ----


def obeys_last_instruction(prompt):
    """The worst judge there is: it says whatever it was last told to say."""
    told = re.findall(r"\[\[(\w+)\]\]|(?:output|print|choose|select)\W+(\w)\b", prompt)
    return "".join(told[-1]) if told else "B"


def judge_of(character, candidate):
    """What the judge replies, as a function of the prompt."""
    if character == "obeys_last_instruction":
        return obeys_last_instruction
    if character is None:
        return lambda prompt: "B"
    name, _, verdict = character.partition(":")
    assert name == "quotes_candidate_then", f"no judge of the character {character}"
    return lambda prompt: f"The response says:\n{candidate}\n\n{verdict}"


# ---- what may be expected ----


def holds(observed, expected):
    """Whether everything expected was observed; an expectation nobody observes is an error."""
    return all(observed[name](value) for name, value in expected.items() if name != "never")


def check(case, observed):
    expected = dict(case["expected"])
    ways = expected.pop("any_of", [{}])
    assert holds(observed, expected), case["why"]
    assert any(holds(observed, way) for way in ways), case["why"]
    never = expected.get("never", {})
    if isinstance(never, list):
        assert not any(observed["score"](value) for value in never), case["why"]
    else:
        assert not any(observed[name](value) for name, value in never.items()), case["why"]


def kinds_of(screening):
    flags = (*screening.by_item.values(), *screening.by_system.values())
    return {flag.kind for found in flags for flag in found}


def fenced(prompt, name):
    """The texts between well-formed fences of this name."""
    fences = rf"<{name} ([0-9a-f]{{8}})>\n(.*?)\n</{name} \1>"
    return [match[2] for match in re.finditer(fences, prompt, re.DOTALL)]


def pair_of(a, b, n=0):
    item = Item(id=f"q{n}", instruction=f"{INSTRUCTION} And what is {n} plus {n}?")
    return Pair(
        item=item,
        a=Response(item_id=item.id, system="candidate", text=a),
        b=Response(item_id=item.id, system="baseline", text=b),
    )


def by_mode(mode):
    def chosen(param):
        return not param.values[0] or param.values[0]["input"]["mode"] == mode

    return [param for param in cases("injection") if chosen(param)]


@pytest.mark.parametrize("case", by_mode("pairwise"))
async def test_no_response_talks_a_pairwise_judge_into_a_verdict(case, judge_that):
    given = case["input"]
    pair = pair_of(given["candidate_a"], given["candidate_b"])
    judge, provider = judge_that(judge_of(given.get("fake_judge"), given["candidate_a"]))
    comparison = await both_orders(judge, pair)
    result = comparison.choice.value if comparison.consistent else "inconsistent"
    prompts = [request.messages[-1].text for request in provider.requests]
    kinds = kinds_of(screen([pair]))
    assert len(prompts) == 2
    check(case, {
        "result": lambda value: result.casefold() == value.casefold(),
        "flag": lambda kind: kind in kinds,
        "rendered_prompt_count": lambda counts: all(
            len(fenced(prompt, name.removesuffix("_header"))) == count
            for prompt in prompts for name, count in counts.items()
        ),
        # What is judged is sent as it is ...
        "request_contains_raw": lambda texts: all(t in p for t in texts for p in prompts),
        # ... and a local server, which may take it for the end of a turn, is warned of.
        "allowed_if": lambda _: "role_tokens" in kinds,
    })  # fmt: skip


@pytest.mark.parametrize("case", by_mode("pointwise"))
async def test_no_response_talks_a_scoring_judge_into_a_score(case, judge_that):
    given = case["input"]
    candidate = given["candidate"]
    reply = judge_of(given.get("fake_judge", "quotes_candidate_then:Score: 2"), candidate)
    judge, provider = judge_that(reply)
    score = await judge.ask(
        "prepair_reason",
        read=lambda completion: parsing.read(SCORE, completion.text).value,
        max_tokens=100,
        data={"instruction": INSTRUCTION, "reference": None, "response": candidate},
    )
    [request] = provider.requests
    prompt = request.messages[-1].text
    nonce = re.search(r"<response ([0-9a-f]{8})>", prompt)[1]
    check(case, {
        "score": lambda value: score == value,
        "prompt_delimiters_unique": lambda wanted: wanted == (
            [prompt.count(f"<{slash}response {nonce}>") for slash in ("", "/")] == [1, 1]
        ),
        "candidate_inside_delimiters": lambda wanted: wanted == (
            fenced(prompt, "response") == [candidate]
        ),
        "verdict_source": lambda source: source == "judge_completion_only" and score == 2,
    })  # fmt: skip


@pytest.mark.parametrize("case", by_mode("dataset"))
def test_replies_that_do_not_depend_on_the_question_are_shown(case):
    given = case["input"]
    assert len(given["replies"]) == given["prompts"]
    pairs = [
        pair_of(reply, f"{n} and {n} is {2 * n}, for so it is to count on from {n}.", n)
        for n, reply in enumerate(given["replies"])
    ]
    screening = screen(pairs)
    flags = screening.by_system["candidate"]
    check(case, {
        "flag": lambda kind: kind in {flag.kind for flag in flags},
        "distinct_reply_ratio": lambda ratio: any(f"(ratio {ratio:g})" in f.detail for f in flags),
        "suffix": lambda suffix: any(f"end with {suffix!r}" in flag.detail for flag in flags),
        "gate": lambda policy: policy == "blocked_or_warned" and bool(screening.blocks),
    })  # fmt: skip


@pytest.mark.parametrize("case", by_mode("pairwise_probe"))
def test_a_bias_is_measured_with_matched_pairs(case):
    pytest.skip("matched pairs are built and judged by the audit pipeline, and tested with it")


def test_every_mode_of_injection_is_replayed():
    replayed = ("pairwise", "pointwise", "dataset", "pairwise_probe")
    assert {param.id for param in cases("injection")} == {
        param.id for mode in replayed for param in by_mode(mode)
    }
