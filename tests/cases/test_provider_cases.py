"""The replayable cases about providers: scripted replies, and what must come of them.

Waits are recorded and not slept. Deadlines are real but short: one second of a case is
``SECOND`` here, in the server's silences and in the provider's limits alike.
"""

import subprocess
import sys
from dataclasses import dataclass, field
from typing import Any

import pytest
from servers.chat import Seen, serve

from cases.loading import cases
from twopan.client import Client
from twopan.concurrency import run
from twopan.errors import ConfigError, Denied, Outage, Overflow, TwopanError, Unsupported
from twopan.ledger import Ledger
from twopan.prices import Price
from twopan.providers import Completion, Message, Request, Usage
from twopan.providers.openai import (
    Capabilities,
    OpenAI,
    read_logprobs,
    request_body,
)
from twopan.providers.wire import Timeouts
from twopan.secret import Secret

SECOND = 0.01
SCHEMA = {"type": "object", "properties": {"score": {"type": "integer"}}}
WORD = "abc "
"""Taken for one token."""


@dataclass
class Outcome:
    """What came of the last request of a case."""

    completion: Completion | None = None
    error: TwopanError | None = None
    waits: list[float] = field(default_factory=list)
    requests: list[Seen] = field(default_factory=list)
    failed_attempts: list[str] = field(default_factory=list)
    on_record: list[str] = field(default_factory=list)
    capabilities: Capabilities | None = None

    @property
    def name(self) -> str:
        if self.completion is not None:
            kept = {"content_filter": "filtered", "refusal": "refused"}
            return kept.get(self.completion.finish_reason, "ok")
        if isinstance(self.error, Overflow):
            return "prompt_truncated"
        return "fatal" if isinstance(self.error, Denied | Unsupported) else "error"


class Watched(OpenAI):
    """Keeps the kinds of its errors: on record is what they cost, which may be unknown."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.failures: list[str] = []

    async def complete(self, request: Request) -> Completion:
        try:
            return await super().complete(request)
        except TwopanError as error:
            self.failures.append(error.reason)
            raise


def replay(given: dict[str, Any]) -> Outcome:
    """Play the script of an ``http`` case to a client, and say what happened."""
    outcome = Outcome()
    config, wanted = given.get("config", {}), given.get("request", {})
    limits = Timeouts(
        connect=5.0,
        read=config.get("read_timeout_s", 30) * SECOND,
        total=config.get("total_timeout_s", 60) * SECOND,
    )
    known = Capabilities(json_schema=wanted.get("response_format", {}).get("type") != "json_object")
    prompt = WORD * given.get("estimated_prompt_tokens", 5)
    structured = "response_format" in wanted or "tool_choice" in wanted

    async def sleep(seconds: float) -> None:
        outcome.waits.append(seconds)

    async def ask(url: str, ledger: Ledger) -> None:
        judge = Watched(url, timeouts=limits, capabilities={"m": known})
        number = ledger.begin([], {}, [])
        attempts = config.get("max_attempts", 6)
        client = Client(judge, ledger, run=number, attempts=attempts, sleep=sleep)
        request = Request(
            endpoint=url,
            model="m",
            messages=(Message("user", prompt),),
            top_logprobs=5,
            schema=SCHEMA if structured else None,
        )
        try:
            for sample in range(2 if given.get("reuse_connection") else 1):
                again = Request(**{**as_dict(request), "sample": sample})
                outcome.completion = await client.complete(again, lambda completion: completion)
        except TwopanError as error:
            # Many failures in a row end a run; what they were is the cause.
            outcome.error = error.__cause__ if isinstance(error, Outage) else error
        finally:
            await judge.aclose()
        outcome.capabilities = judge.capabilities["m"]
        outcome.failed_attempts = judge.failures
        outcome.on_record = [row["outcome"] for row in ledger.query("select outcome from attempts")]

    script = [scaled(reply) for reply in given["responses"]]
    skew = given.get("local_clock_skew_s", 0)
    with Ledger() as ledger, serve(*script, clock_skew_s=-skew) as server:
        run(ask(server.url, ledger))
        outcome.requests = list(server.requests)
    return outcome


def as_dict(request: Request) -> dict[str, Any]:
    return {name: getattr(request, name) for name in request.__struct_fields__}


def scaled(reply: dict[str, Any]) -> dict[str, Any]:
    drip = reply.get("drip")
    slow = {"hang_s": reply["hang_s"] * SECOND} if "hang_s" in reply else {}
    if drip:
        slow["drip"] = {**drip, **{k: drip[k] * SECOND for k in ("every_s", "for_s")}}
    return reply | slow


def within(value: float, bounds: dict[str, float]) -> bool:
    return bounds.get("min", 0) <= value <= bounds.get("max", float("inf"))


def learnt(seen: Outcome, wanted: dict[str, Any]) -> bool:
    return all(getattr(seen.capabilities, name) == value for name, value in wanted.items())


def is_kind(seen: Outcome, wanted: str) -> bool:
    if wanted in ("quota", "auth"):
        return isinstance(seen.error, Denied) and (wanted == "auth" or wanted in str(seen.error))
    return seen.error.reason == wanted


CHECKS = {
    "outcome": lambda seen, wanted: seen.name == wanted,
    "kind": is_kind,
    "first_attempt_kind": lambda seen, wanted: seen.failed_attempts[0] == wanted,
    "calls": lambda seen, wanted: len(seen.requests) == wanted,
    "calls_max": lambda seen, wanted: len(seen.requests) <= wanted,
    "calls_per_run_max": lambda seen, wanted: len(seen.requests) <= wanted,
    "retries_as_transient": lambda seen, wanted: len(seen.waits) == wanted,
    "wait_s": lambda seen, bounds: within(sum(seen.waits), bounds),
    "backoff_added_s": lambda seen, bounds: within(sum(seen.waits), bounds),
    "capability_recorded": learnt,
    "adaptation_remembered": lambda seen, _: seen.capabilities != Capabilities(),
    "second_request": lambda seen, wanted: (
        set(wanted.get("has", ())) <= seen.requests[1].json.keys()
        and not set(wanted.get("lacks", ())) & seen.requests[1].json.keys()
    ),
    "score": lambda seen, wanted: f'"score": {wanted}' in seen.completion.text,
    "method": lambda seen, wanted: (
        wanted == ("text" if seen.completion.logprobs is None else "logprobs")
    ),
    "message_contains": lambda seen, words: all(word in str(seen.error) for word in words),
    "cost_recorded": lambda seen, _: seen.completion.usage.input > 0,
    "no_traceback": lambda seen, _: isinstance(seen.error, TwopanError),
    "followed": lambda seen, wanted: (len(seen.requests) > 1) is wanted,
    "authorization_sent_to": lambda seen, _: len(seen.requests) == 1,
}
ELSEWHERE = {
    "verdict_state",  # the jury's: nothing without a completion is scored
    "exit_code",  # the command line's
    "elapsed_s",  # held by the deadlines, which are scaled; a hang fails the test
}


@pytest.mark.parametrize("case", cases("http", but=("PROV-008",)))
def test_scripted_replies_come_to_what_is_expected(case):
    seen = replay(case["input"])
    expected = case["expected"]
    assert expected.keys() <= CHECKS.keys() | ELSEWHERE, "an expectation that nothing checks"
    for name in expected.keys() - ELSEWHERE:
        assert CHECKS[name](seen, expected[name]), f"{name}: {seen}"


def test_an_adaptation_is_made_once_for_a_whole_run():
    refused = {"status": 400, "json": {"error": {"message": "Unsupported parameter: max_tokens"}}}
    twice = replay({"responses": [refused], "reuse_connection": True})
    assert ["max_tokens" in seen.json for seen in twice.requests] == [True, False, False]


@pytest.mark.parametrize("case", cases("PROV-023"))
def test_every_request_that_a_server_saw_is_on_record(case):
    seen = replay(case["input"])
    assert len(seen.requests) == len(seen.on_record) == 3
    assert seen.on_record == ["answered", "unknown", "answered"]


@pytest.mark.parametrize("case", cases("PROV-008"))
def test_an_error_inside_a_stream_is_never_an_answer(case):
    """The same stream, met by a provider that never asks for one."""
    stream = case["input"]["responses"][0]
    seen = replay({"responses": [stream]})
    assert seen.failed_attempts == ["malformed_response"]
    assert seen.name == "ok"


@pytest.mark.parametrize("case", cases("request_shape"))
def test_optional_fields_are_left_out_and_never_null(case):
    request = Request(endpoint="e", model="m", messages=(), top_logprobs=0)
    body = request_body(request, Capabilities())
    assert not set(case["expected"]["request_must_not_contain_null"]) & body.keys()
    assert None not in body.values()


@pytest.mark.parametrize("case", cases("logprobs_raw"))
def test_log_probabilities_in_the_older_shape_are_read(case):
    given = case["input"]["logprobs"]
    (at,) = read_logprobs(given)
    assert (at.token, dict(at.top)) == (given["tokens"][0], given["top_logprobs"][0])


@pytest.mark.parametrize("case", cases("cost"))
def test_cached_tokens_are_charged_once_and_at_their_price(case):
    usage, price = case["input"]["usage"], Price(**case["input"]["prices_per_million"])
    counted = Usage(
        input=usage["prompt_tokens"],
        cached_input=usage.get("cached_prompt_tokens", 0),
        output=usage["completion_tokens"],
    )
    assert price.cost(counted) == pytest.approx(case["expected"]["cost"])


@pytest.mark.parametrize("case", cases("PROV-028"))
def test_every_model_that_says_it_answered_is_known(case):
    given = case["input"]

    async def served(server):
        judge = OpenAI(server.url)
        with Ledger() as ledger:
            client = Client(judge, ledger, run=ledger.begin([], {}, []))
            for sample in range(len(given["models_served"])):
                request = Request(
                    endpoint=server.url,
                    model=given["requested"],
                    messages=(Message("user", "?"),),
                    sample=sample,
                )
                await client.complete(request, lambda completion: completion)
        await judge.aclose()
        return client.served

    choices = [{"message": {"content": "4"}}]
    script = [{"json": {"choices": choices, "model": m}} for m in given["models_served"]]
    with serve(*script) as server:
        assert sorted(run(served(server))) == case["expected"]["report_must_list"]


@pytest.mark.parametrize("case", cases("SECU-025"))
def test_a_key_in_the_url_is_refused_and_shown_nowhere(case, tmp_path):
    url = case["input"]["base_url"]
    with pytest.raises(ConfigError):
        OpenAI(url)
    program = (
        "import logging, sys; logging.basicConfig(level=0)\n"
        "from twopan.providers.openai import OpenAI\n"
        "OpenAI(sys.argv[1])"
    )
    shown = subprocess.run(
        [sys.executable, "-X", "dev", "-c", program, url],
        capture_output=True, check=False, cwd=tmp_path, text=True,
    )  # fmt: skip
    assert "ConfigError" in shown.stderr
    assert "CANARY" not in shown.stdout + shown.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("case", cases("SECU-026"))
def test_a_key_is_in_no_ledger_and_another_key_finds_the_same_replies(case, tmp_path):
    (first,) = case["input"]["env"].values()
    path = tmp_path / "ledger.sqlite"

    async def ask(server, key):
        judge = OpenAI(server.url, api_key=Secret(key))
        with Ledger(path) as ledger:
            client = Client(judge, ledger, run=ledger.begin([], {}, []))
            request = Request(
                endpoint=judge.endpoint, model="m", messages=(Message("user", "Which is better?"),)
            )
            await client.complete(request, lambda completion: completion)
        await judge.aclose()

    with serve() as server:
        run(ask(server, first))
        run(ask(server, "sk-another-key"))
        assert len(server.requests) == 1
    assert not any(first.encode() in file.read_bytes() for file in tmp_path.iterdir())
