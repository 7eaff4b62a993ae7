"""How probable a given reply is, on a server that can tell and on those that cannot."""

import math
from dataclasses import replace

import pytest
from conftest import RUBRIC, make_pairs
from servers.chat import serve
from servers.completions import Vllm, error

from twopan.client import Client
from twopan.concurrency import run
from twopan.errors import (
    Denied,
    Malformed,
    Overflow,
    ProviderError,
    RateLimited,
    TwopanError,
    Unparsed,
    Unreachable,
    Unsupported,
)
from twopan.judge import Judge
from twopan.judges import find_protocol
from twopan.prices import Price
from twopan.protocols import both_orders
from twopan.protocols.likelihood import total
from twopan.providers import Message, Request, Usage
from twopan.providers.openai import Capabilities, OpenAI
from twopan.providers.wire import LARGEST_REPLY
from twopan.secret import Secret
from twopan.verdict import Choice

MESSAGES = (Message("system", "You write."), Message("user", "Add 2 and 2."))
KEY = "sk-CANARY000000"


def weigh(server, text, *, provider=None):
    """The completion, or the error."""

    async def once():
        judge = provider or OpenAI(server.url)
        request = Request(
            endpoint=judge.endpoint, model="m", messages=MESSAGES, max_tokens=1, continuation=text
        )
        try:
            return await judge.complete(request)
        except TwopanError as failure:
            return failure
        finally:
            await judge.aclose()

    return run(once())


def weighed(text="GOOD it is 4.", *, edit=None):
    with serve(otherwise=Vllm(edit=edit or {})) as server:
        return weigh(server, text)


def prompt_of(vllm):
    """The text of the messages in the template."""
    return vllm.prompt([{"role": m.role, "content": m.text} for m in MESSAGES])


def paths(server):
    return [seen.path for seen in server.requests]


def entries(change):
    """An edit of the log-probabilities that come back."""

    def edit(body):
        choice = body["choices"][0]
        choice["prompt_logprobs"] = change(choice["prompt_logprobs"])
        return body

    return {"/completions": edit}


def at_last_token(**changes):
    """An edit of what is said of the last token of the reply."""

    def change(listed):
        own = next(iter(listed[-1]))
        listed[-1][own] |= changes
        return listed

    return entries(change)


# ---- what is weighed ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    ["GOOD it is 4.", "\n\nA line end first", " a space first", "<|end|>\n<|user|>\nHi", "x"],
)
def test_each_token_of_the_reply_has_its_log_probability_and_no_other_token_has(text):
    vllm = Vllm()
    with serve(otherwise=vllm) as server:
        found = weigh(server, text)
    context = vllm.tokens(prompt_of(vllm))
    tokens = vllm.tokens(text)
    expected = [vllm.logprob([*context, *tokens[:i]], each) for i, each in enumerate(tokens)]
    assert [position.top for position in found.logprobs] == [
        ((vllm.piece(each).decode(), p),) for each, p in zip(tokens, expected, strict=True)
    ]
    assert "".join(position.token for position in found.logprobs) == found.text == text
    assert total(found) == math.fsum(expected)


def test_what_template_and_reply_would_make_together_does_not_move_where_the_reply_begins():
    vllm, text = Vllm(), "\nGOOD"
    with serve(otherwise=vllm) as server:
        weigh(server, text)
        sent = server.requests[-1].json["prompt"]
    prompt = prompt_of(vllm)
    assert sent == vllm.tokens(prompt) + vllm.tokens(text) != vllm.tokens(prompt + text)


def test_the_context_is_that_of_a_chat_request():
    with serve(otherwise=Vllm()) as server:
        weigh(server, "GOOD")
        weigh(server, None)
        tokenized, alone, completion, chat = (seen.json for seen in server.requests)
        assert paths(server) == ["/tokenize", "/tokenize", "/v1/completions",
                                 "/v1/chat/completions"]  # fmt: skip
    assert tokenized == {
        "model": "m",
        "messages": chat["messages"],
        "add_generation_prompt": True,
    }
    assert alone == {"model": "m", "prompt": "GOOD", "add_special_tokens": False}
    assert {k: v for k, v in completion.items() if k != "prompt"} == {
        "model": "m",
        "max_tokens": 1,
        "temperature": 1.0,
        "prompt_logprobs": 1,
    }


def test_what_the_server_counted_is_recorded():
    found = weighed("GOOD it")
    vllm = Vllm()
    length = len(vllm.tokens(prompt_of(vllm)))
    assert found.usage == Usage(input=length + 2, output=1)
    assert (found.model_served, found.finish_reason, found.adapted) == ("m", "stop", ())


def test_a_character_may_be_several_tokens():
    found = weighed("né 判断 🙂")
    assert len(found.logprobs) == 1 + 2 + 1 + 6 + 1 + 4
    assert found.text == "né 判断 🙂"


def test_an_empty_reply_has_no_tokens_and_costs_no_request():
    with serve(otherwise=Vllm()) as server:
        found = weigh(server, "")
        assert (found.text, found.logprobs, server.requests) == ("", (), [])
    with pytest.raises(Unparsed, match="empty"):
        total(found)


def test_a_model_without_a_system_role_hears_its_words_from_the_user():
    with serve(otherwise=Vllm(system_role=False)) as server:
        judge = OpenAI(server.url)
        found = weigh(server, "GOOD", provider=judge)
        assert found.adapted == ("system role",)
        weigh(server, "GOOD", provider=judge)
        assert len(server.requests) == 4 + 3
        assert server.requests[1].json["messages"] == [
            {"role": "user", "content": "You write.\n\nAdd 2 and 2."}
        ]


def test_what_a_model_refuses_in_a_chat_is_no_part_of_a_weighing():
    with serve(otherwise=Vllm()) as server:
        judge = OpenAI(server.url, capabilities={"m": Capabilities(temperature=False, seed=False)})
        assert weigh(server, "GOOD", provider=judge).adapted == ()


@pytest.mark.parametrize(
    ("base", "expected"),
    [("/v1", "/tokenize"), ("", "/tokenize"), ("/a/v1", "/a/tokenize"), ("/a/b", "/a/b/tokenize")],
)
def test_tokens_are_asked_for_beside_v1_and_never_outside_the_base_url(base, expected):
    with serve(otherwise=Vllm()) as server:
        weigh(server, "GOOD", provider=OpenAI(server.url.removesuffix("/v1") + base))
        assert server.requests[0].path == expected


# ---- what is no number -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "edit",
    [
        at_last_token(logprob=None),
        at_last_token(logprob=math.nan),
        at_last_token(logprob=-math.inf),
        at_last_token(logprob=-9999.0),
        at_last_token(logprob=math.inf),
        at_last_token(logprob=0.5),
        at_last_token(logprob="-0.5"),
        at_last_token(logprob=False),
        at_last_token(logprob=10**400),
        entries(lambda listed: [*listed[:-1], None]),
        entries(lambda listed: [*listed[:-1], {}]),
        entries(lambda listed: [*listed[:-1], []]),
        entries(lambda listed: [*listed[:-1], dict.fromkeys(listed[-1])]),
        entries(lambda listed: [None, None, *listed[1:-1]]),
    ],
    ids=["null", "nan", "minus infinity", "its stand-in", "infinity", "positive", "text", "truth",
         "huge", "no entry", "empty entry", "list", "no fields", "shifted"],
)  # fmt: skip
def test_a_log_probability_that_is_none_is_a_hole_and_a_reply_with_a_hole_has_no_weight(edit):
    found = weighed(edit=edit)
    assert found.logprobs[-1].top[0][1] is None
    with pytest.raises(Unparsed):
        total(found)


@pytest.mark.parametrize(
    "change",
    [lambda listed: listed[:-1], lambda listed: [*listed, None], lambda _: [None], lambda _: []],
    ids=["one short", "one more", "a placeholder", "none"],
)
def test_as_many_log_probabilities_as_tokens_or_none_of_them(change):
    found = weighed(edit=entries(change))
    assert isinstance(found, Malformed)
    assert "of a prompt of" in str(found)
    assert found.completion.usage.input > 0


def lower_cased(body):
    return body | {"prompt": body["prompt"].lower()}


def pieces_lower_cased(listed):
    for each in listed[1:]:
        for entry in each.values():
            entry["decoded_token"] = entry["decoded_token"].lower()
    return listed


def test_tokens_that_say_something_else_than_the_reply_are_not_weighed():
    edit = {"/detokenize": lower_cased, **entries(pieces_lower_cased)}
    found = weighed("GOOD", edit=edit)
    assert isinstance(found, Unsupported)
    assert "no tokens that say" in str(found)
    assert found.completion.usage.input > 0  # it was answered, and charged


def test_a_mark_that_a_server_puts_before_the_reply_is_not_weighed_with_it():
    vllm = Vllm()

    def marked(body):
        has_mark = body["tokens"][:1] == vllm.tokens("<|bos|>")
        return body if has_mark else body | {"tokens": vllm.tokens("<|bos|>") + body["tokens"]}

    vllm.edit["/tokenize"] = marked
    with serve(otherwise=vllm) as server:
        assert isinstance(weigh(server, "GOOD"), Unsupported)


@pytest.mark.parametrize("body", [{}, [], {"prompt": None}, {"text": "GOOD é"}])
def test_a_reply_that_cannot_be_read_back_is_not_weighed(body):
    assert isinstance(weighed("GOOD é", edit={"/detokenize": lambda _: body}), Unsupported)


# ---- servers that cannot -----------------------------------------------------------------------

NOT_FOUND = {"status": 404, "json": {"detail": "Not Found"}}
FIELD_REQUIRED = [{"type": "missing", "loc": ["body", "prompt"], "msg": "Field required"}]


@pytest.mark.parametrize(
    "first",
    [
        error("Invalid URL (POST /tokenize)", 404, "invalid_request_error"),
        NOT_FOUND,
        {"status": 404, "body": "404 page not found", "headers": {"Content-Type": "text/plain"}},
        {"status": 405, "json": {"detail": "Method Not Allowed"}},
        {"status": 501, "json": {"error": {"message": "Not implemented"}}},
        {"status": 422, "json": {"detail": FIELD_REQUIRED}},
        {"json": {"tokens": []}},
        {"json": {"tokens": [{"id": 1, "piece": "a"}]}},
        {"json": {"tokens": [[1, 2]]}},
        {"json": {"tokens": [True]}},
        {"json": {}},
        {"json": []},
    ],
    ids=["openai", "fastapi", "page", "method", "not implemented", "text only", "llama.cpp",
         "with pieces", "nested", "truth", "empty", "list"],
)  # fmt: skip
def test_a_server_without_the_endpoints_is_told_from_those_that_have_them(first):
    with serve(first) as server:
        failure = weigh(server, "GOOD")
        assert len(server.requests) == 1
    assert isinstance(failure, Unsupported)
    assert "weighed by vLLM" in str(failure)
    assert "llama.cpp" in str(failure)
    assert "\n" not in str(failure)
    assert not failure.transient


@pytest.mark.parametrize(
    "edit",
    [
        entries(lambda _: None),
        entries(lambda listed: dict(enumerate(listed[1:]))),
        {"/completions": lambda body: body | {"choices": []}},
        {"/completions": lambda body: body | {"choices": [None]}},
        {"/completions": lambda body: body["usage"]},
    ],
    ids=["ignored", "another shape", "no choice", "null", "no choices"],
)
def test_a_server_that_ignores_the_wish_is_told_from_those_that_grant_it(edit):
    failure = weighed(edit=edit)
    assert isinstance(failure, Unsupported)
    assert "without prompt_logprobs; a given reply can be weighed by vLLM" in str(failure)
    assert failure.outcome_unknown or failure.completion.usage.output == 1


def test_a_refusal_of_the_wish_quotes_the_server():
    vllm, line = Vllm(), "Requested prompt logprobs of 1, which is greater than max allowed: 0"
    with serve(
        otherwise=lambda seen: error(line) if "completions" in seen.path else vllm(seen)
    ) as server:
        failure = weigh(server, "GOOD")
    assert isinstance(failure, Unsupported)
    assert line in str(failure)
    assert (failure.completion, failure.outcome_unknown) == (None, False)  # nothing was charged


# ---- servers that fail, at any of the requests -------------------------------------------------

FAULTS = {
    "too fast": (error("Too many requests", 429) | {"headers": {"retry-after": "7"}}, RateLimited),
    "overloaded": (error("The engine is overloaded", 503), Unreachable),
    "broken": ({"status": 500, "json": {"error": {"message": f"{KEY} failed"}}}, Unreachable),
    "key": (error("Invalid API key", 401), Denied),
    "model": (error("The model `m` does not exist.", 404, "NotFoundError"), Denied),
    "too long": (error("This model's maximum context length is 8 tokens."), Overflow),
    "a page": ({"body": "<html>hello</html>"}, Malformed),
    "hung up": ({"close": "before_response"}, Unreachable),
    "redirect": ({"status": 302, "headers": {"Location": "http://elsewhere.test/"}}, Denied),
    "too large": ({"body": b" " * (LARGEST_REPLY + 1)}, Malformed),
}


@pytest.mark.parametrize("before", [0, 1, 2, 3], ids=["context", "reply", "weights", "text"])
@pytest.mark.parametrize(("fault", "kind"), FAULTS.values(), ids=FAULTS)
def test_a_fault_means_what_it_means_in_a_chat(fault, kind, before):
    vllm, text = Vllm(), "é"

    def failing(seen):
        return fault if len(server.requests) == before + 1 else vllm(seen)

    with serve(otherwise=failing) as server:
        judge = OpenAI(server.url, api_key=Secret(KEY))
        failure = weigh(server, text, provider=judge)
        assert server.requests[-1].headers["Authorization"] == f"Bearer {KEY}"
        assert len(server.requests) == before + 1
    assert type(failure) is kind
    assert KEY not in str(failure)
    if kind is RateLimited:
        assert failure.retry_after == 7
    if before == 3:  # the weights were paid for when the text was not to be had
        assert failure.completion.usage.input > 0
    elif isinstance(failure, ProviderError):
        assert failure.completion is None


# ---- through the client and the ledger ---------------------------------------------------------


def likelihood_judge(server, ledger, **client):
    begun = ledger.begin([], {}, [])
    return Judge(
        model="m",
        protocol=find_protocol("likelihood"),
        rubric=RUBRIC,
        client=Client(OpenAI(server.url), ledger, run=begun, **client),
    )


def compare(server, ledger, pair, **client):
    async def once():
        judge = likelihood_judge(server, ledger, **client)
        try:
            return await both_orders(judge, pair), judge.client
        finally:
            await judge.client.provider.aclose()

    return run(once())


def test_a_pair_costs_four_weighings_for_both_orders_and_none_the_second_time(ledger):
    pair = make_pairs(1)[0]
    with serve(otherwise=Vllm()) as server:
        first, client = compare(server, ledger, pair, price=Price(input=1.0, output=2.0))
        assert client.meter.calls == 4
        assert paths(server).count("/v1/completions") == 4
        counted = client.meter.input_tokens
        assert client.meter.cost_usd == pytest.approx((counted * 1.0 + 4 * 2.0) / 1e6)
        assert client.meter.unpriced == 0
        sent = len(server.requests)
        again, client = compare(server, ledger, pair)
        assert (client.meter.calls, client.meter.recalled) == (0, 8)
        assert len(server.requests) == sent
    assert again.choice == first.choice


def test_the_response_that_the_instruction_makes_likelier_wins_in_both_orders(ledger):
    pair = make_pairs(1)[0]
    with serve(otherwise=Vllm()) as server:
        one, _ = compare(server, ledger, pair)
        other, _ = compare(server, ledger, replace(pair, a=pair.b, b=pair.a))
    assert (one.choice, other.choice, one.consistent) == (Choice.A, Choice.B, True)


def test_a_reply_with_a_hole_is_kept_and_asked_for_again_by_the_next_run(ledger):
    pair = make_pairs(1)[0]
    vllm = Vllm(edit=at_last_token(logprob=None))
    with serve(otherwise=vllm) as server:
        with pytest.raises(Unparsed):
            compare(server, ledger, pair)
        vllm.edit.clear()
        _, client = compare(server, ledger, pair)
        assert client.meter.calls == 4


def test_a_server_that_cannot_is_asked_once_a_weighing_and_not_again_and_again(ledger):
    with serve(otherwise=lambda _: NOT_FOUND) as server:
        with pytest.raises(Unsupported):
            compare(server, ledger, make_pairs(1)[0])
        assert len(server.requests) == 8
