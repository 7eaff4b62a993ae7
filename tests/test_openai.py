import json
import math

import pytest
from servers.chat import completion, serve

from twopan.concurrency import run, together
from twopan.errors import (
    Denied,
    Malformed,
    Overflow,
    RateLimited,
    TwopanError,
    Unreachable,
    Unsupported,
)
from twopan.providers import Message, Request, Usage
from twopan.providers.openai import (
    Capabilities,
    OpenAI,
    prompt_truncated,
    read_logprobs,
)
from twopan.secret import Secret

SCHEMA = {"type": "object", "properties": {"score": {"type": "integer"}}}
FINE = completion("Score: 4")


def ask(server, *prompts, provider=None, **options):
    """One completion, or error, for each prompt; without prompts, for one."""

    async def settled(judge, prompt):
        messages = options.pop("messages", (Message("user", prompt),))
        request = Request(endpoint=judge.endpoint, model="m", messages=messages, **options)
        try:
            return await judge.complete(request)
        except TwopanError as error:
            return error

    async def all_of_them():
        judge = provider or OpenAI(server.url)
        try:
            return [await settled(judge, prompt) for prompt in prompts or ["Which is better?"]]
        finally:
            await judge.aclose()

    outcomes = run(all_of_them())
    return outcomes if prompts else outcomes[0]


def answer(reply, **options):
    with serve(reply) as server:
        return ask(server, **options)


def refusal(message, status=400, **more):
    return {"status": status, "json": {"error": {"message": message, **more}}}


def message_with(**fields):
    return {"json": {"choices": [{"message": fields, "finish_reason": "stop"}]}}


# ---- what is asked -----------------------------------------------------------------------------


def test_a_request_says_what_is_wanted_and_leaves_the_rest_out():
    with serve() as server:
        ask(server)
        assert server.requests[0].json == {
            "model": "m",
            "messages": [{"role": "user", "content": "Which is better?"}],
            "max_tokens": 1024,
            "temperature": 0.0,
            "seed": 0,
        }


def test_log_probabilities_and_a_schema_are_asked_for_where_they_are_wanted():
    with serve() as server:
        ask(server, top_logprobs=5, schema=SCHEMA, sample=3)
        sent = server.requests[0].json
    assert (sent["logprobs"], sent["top_logprobs"], sent["seed"]) == (True, 5, 3)
    assert sent["response_format"]["json_schema"]["schema"] == SCHEMA


def test_the_key_is_a_bearer_token_and_no_part_of_the_endpoint():
    with serve() as server:
        judge = OpenAI(server.url, api_key=Secret("sk-CANARY000000"))
        ask(server, provider=judge)
        assert server.requests[0].headers["Authorization"] == "Bearer sk-CANARY000000"
        assert judge.endpoint == server.url


def test_a_base_url_with_the_whole_path_is_the_same_endpoint():
    assert OpenAI("http://a.test/v1/chat/completions/").endpoint == "http://a.test/v1"


# ---- what is refused is asked for differently, once --------------------------------------------


@pytest.mark.parametrize(
    ("message", "learnt"),
    [
        (
            "Unsupported parameter: 'max_tokens' is not supported with this model."
            " Use 'max_completion_tokens' instead.",
            {"token_field": "max_completion_tokens"},
        ),
        (
            "Unsupported value: 'temperature' does not support 0.0 with this model."
            " Only the default (1) value is supported.",
            {"temperature": False},
        ),
        ("invalid temperature: only 1 is allowed for this model", {"temperature": False}),
        ("Unrecognized request argument supplied: seed", {"seed": False}),
        ("Gaudi doesn't support logprobs. Please remove 'logprobs'/'top_logprobs'.",
         {"logprobs": False}),
        ("You are not allowed to request logprobs from this model", {"logprobs": False}),
        ("Invalid value for 'top_logprobs': must be less than or equal to 5.",
         {"max_top_logprobs": 5}),
        ("Requested sample logprobs of 20, which is greater than max allowed: 8",
         {"max_top_logprobs": 8}),
        ("Cannot request more than 5 logprobs.", {"max_top_logprobs": 5}),
        ("Invalid parameter: 'response_format' of type 'json_schema' is not supported",
         {"json_schema": False}),
        ("System role not supported", {"system_role": False}),
    ],
)  # fmt: skip
@pytest.mark.parametrize("status", [400, 403, 422, 500])
def test_a_refused_part_is_left_out_from_then_on(message, learnt, status):
    wanted = {"top_logprobs": 20, "schema": SCHEMA}
    wanted["messages"] = (Message("system", "You judge."), Message("user", "Which?"))
    with serve(refusal(message, status)) as server:
        judge = OpenAI(server.url)
        assert ask(server, provider=judge, **wanted).text.startswith("Score")
        assert judge.capabilities == {"m": Capabilities(**learnt)}
        ask(server, provider=judge, **wanted)
        assert len(server.requests) == 3


def test_a_field_that_fastapi_names_by_its_path_is_left_out():
    detail = [{"type": "extra_forbidden", "loc": ["body", "seed"],
               "msg": "Extra inputs are not permitted"}]  # fmt: skip
    with serve({"status": 422, "json": {"detail": detail}}) as server:
        assert ask(server).text.startswith("Score")
        assert "seed" not in server.requests[1].json


def test_a_gateway_that_quotes_the_server_behind_it_is_understood():
    raw = json.dumps({"error": {"message": "Unsupported parameter: 'seed'"}})
    quoting = refusal("Provider returned error", metadata={"raw": raw})
    with serve(quoting) as server:
        assert ask(server).text.startswith("Score")


def test_structured_output_steps_down_one_level_at_a_time():
    no_schema = refusal("response_format json_schema is not supported")
    no_object = refusal("'response_format.type' must be 'json_schema' or 'text'")
    with serve(no_schema, no_object) as server:
        assert ask(server, schema=SCHEMA).text.startswith("Score")
        forms = [seen.json.get("response_format", {}).get("type") for seen in server.requests]
    assert forms == ["json_schema", "json_object", None]


def test_without_a_system_role_the_user_message_carries_the_words():
    with serve(refusal("System role not supported")) as server:
        ask(server, messages=(Message("system", "You judge."), Message("user", "Which?")))
        sent = server.requests[1].json["messages"]
    assert sent == [{"role": "user", "content": "You judge.\n\nWhich?"}]


def test_log_probabilities_are_asked_for_up_to_the_limit():
    with serve(refusal("top_logprobs must be between 0 and 5")) as server:
        ask(server, top_logprobs=20)
        assert [seen.json["top_logprobs"] for seen in server.requests] == [20, 5]


@pytest.mark.parametrize(
    ("learnt", "changed"),
    [
        ({}, ()),
        ({"token_field": "max_completion_tokens"}, ()),  # the same under another name
        ({"temperature": False}, ("temperature",)),
        ({"seed": False, "logprobs": False}, ("seed", "logprobs")),
        ({"max_top_logprobs": 5}, ("top_logprobs",)),
        ({"json_schema": False}, ("schema",)),
        ({"json_schema": False, "json_object": False}, ("schema",)),
        ({"system_role": False}, ("system role",)),
    ],
)
def test_a_completion_names_the_parts_of_the_request_that_were_not_met(learnt, changed):
    wanted = {"top_logprobs": 20, "schema": SCHEMA}
    wanted["messages"] = (Message("system", "You judge."), Message("user", "Which?"))
    with serve() as server:
        judge = OpenAI(server.url, capabilities={"m": Capabilities(**learnt)})
        assert ask(server, provider=judge, **wanted).adapted == changed


def test_the_reply_after_a_refusal_says_what_was_left_out():
    message = "'temperature' does not support 0.0 with this model. Only the default (1) is."
    with serve(refusal(message)) as server:
        assert ask(server).adapted == ("temperature",)


def test_what_the_request_never_wanted_is_not_missed():
    nothing = Capabilities(system_role=False, logprobs=False, json_schema=False)
    with serve() as server:
        assert ask(server, provider=OpenAI(server.url, capabilities={"m": nothing})).adapted == ()


def test_a_refusal_that_does_not_go_away_is_reported_and_not_repeated_for_ever():
    with serve(
        otherwise=lambda _: refusal("Unsupported: max_tokens, max_completion_tokens")
    ) as server:
        assert isinstance(ask(server), Unsupported)
        assert len(server.requests) <= 4


def test_a_limit_on_tokens_is_not_taken_for_an_unknown_field():
    message = "max_tokens is too large: 8192. This model supports at most 4096 completion tokens"
    with serve(refusal(message)) as server:
        judge = OpenAI(server.url)
        assert isinstance(ask(server, provider=judge), Unsupported)
        assert judge.capabilities == {}


def test_what_was_learnt_earlier_need_not_be_learnt_again():
    known = {"m": Capabilities(token_field="max_completion_tokens")}
    with serve() as server:
        ask(server, provider=OpenAI(server.url, capabilities=known))
        assert server.requests[0].json["max_completion_tokens"] == 1024


def test_requests_under_way_together_learn_together():
    def picky(seen):
        if "max_tokens" in seen.json:
            return refusal("Unsupported parameter: 'max_tokens'")
        return refusal("Unsupported parameter: 'seed'") if "seed" in seen.json else FINE

    async def five(url):
        judge = OpenAI(url)
        request = Request(endpoint=url, model="m", messages=(Message("user", "?"),))
        try:
            return await together(*(judge.complete(request) for _ in range(5))), judge.capabilities
        finally:
            await judge.aclose()

    with serve(otherwise=picky) as server:
        answers, learnt = run(five(server.url))
    assert {each.text for each in answers} == {"Score: 4"}
    assert learnt == {"m": Capabilities(token_field="max_completion_tokens", seed=False)}


# ---- what an error means -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (refusal("rate limit", 429), RateLimited),
        (refusal("Rate limit reached for tokens per min", 400), RateLimited),
        (refusal("You exceeded your current quota", 429, code="insufficient_quota"), Denied),
        (refusal("You exceeded your current quota, check your billing details", 429), Denied),
        (refusal("You exceeded your current quota. Please retry in 34.07s.", 429), RateLimited),
        (refusal("Your credit balance is too low", 400), Denied),
        (refusal("Insufficient Balance", 402), Denied),
        (refusal("Incorrect API key provided", 401), Denied),
        (refusal("API key not valid. Please pass a valid API key.", 400), Denied),
        (refusal("Country not supported", 403), Denied),
        (refusal("The model `m` does not exist", 404, code="model_not_found"), Denied),
        (refusal("model 'm' not found, try pulling it first", 404), Denied),
        ({"status": 404, "body": "404 page not found"}, Denied),
        (refusal("the request exceeds the available context size", 500), Overflow),
        (refusal("too long", 400, code="context_length_exceeded"), Overflow),
        (refusal("This model's maximum context length is 4096 tokens, however max_tokens", 400),
         Overflow),
        ({"status": 413, "body": "<h1>Request Entity Too Large</h1>"}, Overflow),
        ({"status": 408}, Unreachable),
        ({"status": 409}, Unreachable),
        ({"status": 425}, Unreachable),
        ({"status": 500, "body": "oops"}, Unreachable),
        ({"status": 502, "body": "<html>Bad Gateway</html>"}, Unreachable),
        (refusal("Loading model", 503), Unreachable),
        (refusal("Overloaded", 529, type="overloaded_error"), Unreachable),
        (refusal("stop must be a list", 400), Unsupported),
        ({"status": 501}, Unsupported),
        ({"json": {"error": {"message": "Overloaded", "type": "overloaded_error"}}}, Unreachable),
        ({"json": {"error": {"message": "slow down", "code": 429}}}, RateLimited),
        ({"json": {"error": {"message": "no such key", "code": 401}}}, Denied),
        ({"json": {"error": "something odd"}}, Malformed),
        ({"json": {"object": "error", "message": "bad", "code": 500}}, Unreachable),
        ({"json": [{"error": {"message": "bad key", "status": "UNAUTHENTICATED"}}],
          "status": 401}, Denied),
        ({"json": {"choices": [{"error": {"code": 502, "message": "upstream"}}]}}, Unreachable),
    ],
)  # fmt: skip
def test_an_error_is_classified_by_its_words_as_well_as_its_status(reply, kind):
    error = answer(reply)
    assert type(error) is kind
    assert "\n" not in str(error)
    assert str(error).startswith("127.0.0.1:")


def test_a_server_in_trouble_says_when_to_come_back():
    assert answer(refusal("busy", 503) | {"headers": {"Retry-After": "7"}}).retry_after == 7


# ---- what is answered --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "meant"),
    [("stop", "stop"), (None, "stop"), ("eos", "stop"), ("length", "length"),
     ("MAX_TOKENS", "length"), ("content_filter", "content_filter"), ("refusal", "refusal")],
)  # fmt: skip
def test_a_finish_reason_keeps_its_meaning(given, meant):
    assert answer(completion("Score: 4", given)).finish_reason == meant


@pytest.mark.parametrize("given", ["error", "abort", "insufficient_system_resource"])
def test_an_answer_that_the_server_broke_off_is_malformed(given):
    assert isinstance(answer(completion("Score:", given)), Malformed)


@pytest.mark.parametrize(
    "body",
    [
        {"choices": []},
        {"choices": None},
        {},
        {"choices": [{}]},
        {"choices": ["4"]},
        {"choices": [{"message": {"content": None}, "finish_reason": "stop"}]},
        {"choices": [{"message": {"content": 4}, "finish_reason": "stop"}]},
        {"choices": [{"message": None, "finish_reason": "stop"}]},
        [],
        "Score: 4",
        4,
        None,
    ],
)
def test_a_body_without_an_answer_is_malformed_and_perhaps_paid(body):
    error = answer({"json": body})
    assert isinstance(error, Malformed)
    assert error.outcome_unknown
    assert error.completion is None


PAID = {"prompt_tokens": 900, "completion_tokens": 40}


@pytest.mark.parametrize(
    ("choices", "text", "finish"),
    [
        ([], "", "stop"),
        ([{"message": {"content": None}, "finish_reason": "stop"}], "", "stop"),
        ([{"message": {"content": "Score:"}, "finish_reason": "error"}], "Score:", "length"),
        ([{"text": "Score:", "error": {"code": 502, "message": "no"}}], "Score:", "length"),
        ([{"message": "?", "error": {"code": 400, "message": "unsupported seed"}}], "", "length"),
    ],
)
def test_what_was_charged_for_an_answer_of_no_use_is_on_the_error(choices, text, finish):
    body = {"choices": choices, "usage": PAID, "model": "judge-1"}
    with serve({"json": body, "headers": {"X-Request-Id": "req_1"}}) as server:
        error = ask(server)
        assert len(server.requests) == 1
    assert isinstance(error, TwopanError)
    assert not error.outcome_unknown
    paid = error.completion
    assert paid.usage == Usage(input=900, output=40)
    assert (paid.text, paid.model_served, paid.request_id) == (text, "judge-1", "req_1")
    assert paid.finish_reason == finish


def test_a_choice_that_failed_and_states_no_tokens_is_perhaps_paid():
    failed = {"choices": [{"error": {"code": 502, "message": "upstream"}}]}
    assert answer({"json": failed}).outcome_unknown


@pytest.mark.parametrize(
    ("reply", "perhaps"),
    [(refusal("busy", 503), False), (refusal("slow down", 429), False),
     ({"status": 504, "body": "<h1>Gateway Time-out</h1>"}, True), ({"status": 524}, True)],
)  # fmt: skip
def test_an_error_is_unpaid_unless_a_gateway_lost_patience(reply, perhaps):
    error = answer(reply)
    assert error.outcome_unknown is perhaps
    assert error.completion is None


def test_an_empty_answer_is_an_answer():
    assert answer(completion("")).text == ""
    assert answer(completion(None, "length")).finish_reason == "length"


def test_a_refusal_is_told_apart_from_an_answer():
    refused = answer(message_with(content=None, refusal="I cannot judge this."))
    assert (refused.finish_reason, refused.text) == ("refusal", "I cannot judge this.")
    parts = [{"type": "refusal", "refusal": "No."}]
    assert answer(message_with(content=parts)).finish_reason == "refusal"


@pytest.mark.parametrize(
    "reply",
    [
        completion(None, "content_filter"),
        completion("", "content_filter") | {"status": 400},
        refusal("The response was filtered", 400, code="content_filter"),
        refusal("filtered", 400, innererror={"code": "ResponsibleAIPolicyViolation"}),
        refusal("Your input was flagged", 403),
        {"json": {"choices": [{"error": {"code": "stopped"}, "finish_reason": "content_filter"}]}},
    ],
)
def test_a_filter_is_a_completion_without_text(reply):
    filtered = answer(reply)
    assert (filtered.finish_reason, filtered.text) == ("content_filter", "")


def test_reasoning_is_kept_apart_from_the_answer():
    for name in ("reasoning_content", "reasoning"):
        told = answer(message_with(content="[[A]]", **{name: "B looks longer"}))
        assert (told.text, told.reasoning) == ("[[A]]", "B looks longer")
    parts = [{"type": "thinking", "text": "B?"}, {"type": "text", "text": "[["},
             {"type": "text", "text": "A]]"}]  # fmt: skip
    assert answer(message_with(content=parts)).text == "[[A]]"


def test_a_tool_call_is_the_answer_only_where_a_schema_was_asked_for():
    call = {"function": {"name": "grade", "arguments": '{"score": 4}'}}
    asked = answer(message_with(content=None, tool_calls=[call]), schema=SCHEMA)
    assert (asked.text, asked.finish_reason) == ('{"score": 4}', "stop")
    assert isinstance(answer(message_with(content=None, tool_calls=[call])), Malformed)
    for strange in ([call, call], ["grade"], [{"function": "grade"}], call):
        none = answer(message_with(content=None, tool_calls=strange), schema=SCHEMA)
        assert isinstance(none, Malformed)


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ({"prompt_tokens": 10, "completion_tokens": 3}, Usage(input=10, output=3)),
        (
            {"prompt_tokens": 10, "prompt_tokens_details": {"cached_tokens": 8}},
            Usage(input=10, cached_input=8),
        ),
        ({"total_tokens": 26}, Usage(input=26)),
        ({"prompt_tokens": None, "completion_tokens": "3"}, Usage()),
        ({"prompt_tokens": -1, "completion_tokens": True}, Usage()),
        (None, Usage()),
        ([], Usage()),
    ],
)
def test_usage_is_read_and_never_guessed(given, meant):
    assert answer(completion("4", usage=given)).usage == meant


def test_who_answered_is_kept():
    reply = completion("4", model="judge-2026-01-10") | {"headers": {"X-Request-Id": "req_1"}}
    told = answer(reply)
    assert (told.model_served, told.request_id) == ("judge-2026-01-10", "req_1")


# ---- log-probabilities -------------------------------------------------------------------------


def test_log_probabilities_arrive_as_they_were_sent():
    with serve() as server:
        told = ask(server, top_logprobs=2)
    written = told.logprobs[-1]
    assert "".join(at.token for at in told.logprobs) == told.text
    assert written.top[0] == (written.token, pytest.approx(math.log(0.8)))
    assert len(written.top) == 2


def test_the_older_shape_is_read_too():
    old = {"tokens": ["4"], "token_logprobs": [-0.22], "top_logprobs": [{"5": -1.61, "4": -0.22}]}
    (at,) = read_logprobs(old)
    assert (at.token, at.top) == ("4", (("4", -0.22), ("5", -1.61)))
    (bare,) = read_logprobs(old | {"top_logprobs": None})
    assert bare.top == (("4", -0.22),)


@pytest.mark.parametrize(
    "given",
    [None, [], {}, {"content": None}, {"content": []}, {"content": [{}]}, {"content": ["4"]},
     {"tokens": ["4"], "token_logprobs": []}, "0.5", {"tokens": [], "token_logprobs": []}],
)  # fmt: skip
def test_log_probabilities_that_are_missing_or_strange_are_none_and_the_text_stands(given):
    body = {"choices": [{"message": {"content": "4"}, "logprobs": given}]}
    told = answer({"json": body}, top_logprobs=5)
    assert (told.text, told.logprobs) == ("4", None)


@pytest.mark.parametrize(
    ("sent", "kept"),
    [("null", None), ("NaN", None), ("Infinity", None), ('"-1"', None), ("-Infinity", -9999.0)],
)
def test_a_hole_among_log_probabilities_stays_a_hole(sent, kept):
    at = f'{{"token": "4", "top_logprobs": [{{"token": "4", "logprob": {sent}}}]}}'
    body = f'{{"choices": [{{"message": {{"content": "4"}}, "logprobs": {{"content": [{at}]}}}}]}}'
    assert answer({"body": body}, top_logprobs=5).logprobs[0].top == (("4", kept),)


# ---- was the whole prompt seen? ----------------------------------------------------------------

PROSE = "The committee weighed both answers twice and found the second one a little clearer. " * 99


def test_a_prompt_that_was_cut_is_an_overflow():
    cut = completion("[[A]]", usage={"prompt_tokens": 600, "completion_tokens": 4})
    with serve(cut) as server:
        (error,) = ask(server, PROSE)
    assert isinstance(error, Overflow)
    assert "context" in str(error)
    assert (error.completion.text, error.completion.usage.input) == ("[[A]]", 600)


def test_a_count_that_is_missing_or_plausible_is_no_alarm():
    whole = [{"prompt_tokens": 1500}, {"total_tokens": 1600}, {}]
    with serve(*(completion("[[A]]", usage=usage) for usage in whole)) as server:
        assert {each.text for each in ask(server, PROSE, PROSE, PROSE)} == {"[[A]]"}


@pytest.mark.parametrize(
    ("text", "counted"),
    [("\n        x = 1" * 1000, 5000), ("判断" * 4000, 4500), (" " * 40_000 + "=" * 40_000, 600)],
)
def test_code_chinese_and_ruled_lines_are_not_taken_for_more_tokens_than_they_are(text, counted):
    with serve(completion("[[A]]", usage={"prompt_tokens": counted})) as server:
        (told,) = ask(server, text)
    assert told.text == "[[A]]"


@pytest.mark.parametrize(
    ("counted", "least", "cut"),
    [(4096, 8900, True), (8192, 8900, True), (8899, 8900, True), (8900, 8900, False),
     (4096, 3900, True), (4097, 3900, False), (4096, 3200, False), (100, 400, False)],
)  # fmt: skip
def test_a_count_below_the_least_or_of_exactly_a_window_gives_the_cut_away(counted, least, cut):
    assert prompt_truncated(counted, least) is cut
