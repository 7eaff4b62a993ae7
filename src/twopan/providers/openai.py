"""Anything that speaks the OpenAI chat API: OpenAI, Azure, vLLM, Ollama, llama.cpp, gateways.

They agree on the shape and differ in what they accept. We ask for everything the request wants;
a server that refuses a part says which, and from then on it is asked without:

    max_tokens ──► max_completion_tokens            logprobs ──► fewer ──► none
    json_schema ──► json_object ──► plain text      temperature, seed, system role ──► left out
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any, Literal

import msgspec

from twopan.errors import Malformed, Overflow, ProviderError, RateLimited
from twopan.providers import Completion, FinishReason, Request, TokenLogprobs, Usage
from twopan.providers.faults import Fault
from twopan.providers.wire import Reply, Timeouts, Wire, checked_url
from twopan.secret import Secret
from twopan.tokens import fewest


class Capabilities(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one model at one endpoint accepts, as far as its refusals have told."""

    token_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    temperature: bool = True
    seed: bool = True
    system_role: bool = True
    logprobs: bool = True
    max_top_logprobs: int | None = None
    """None: no limit is known."""
    json_schema: bool = True
    json_object: bool = True


Lesson = tuple[str, Any]
"""A field of Capabilities and what it should be."""


class OpenAI:
    """Chat completions, one POST each, not streamed.

    Parameters
    ----------
    base_url : str
        Up to and without ``/chat/completions``.
    api_key : Secret, optional
        Sent as a bearer token, to Azure as ``api-key``.
    capabilities : mapping of model name to Capabilities, optional
        What an earlier run has learnt; ``.capabilities`` is the same with what this one learns.

    Raises ConfigError for a base URL that could not be used or would give a key away.
    """

    def __init__(
        self,
        base_url: str = "https://api.openai.com/v1",
        *,
        api_key: Secret | None = None,
        timeouts: Timeouts | None = None,
        proxy: str | None = None,
        capabilities: Mapping[str, Capabilities] | None = None,
    ) -> None:
        secrets = (api_key,) if api_key else ()
        url = checked_url(base_url, secrets)
        headers = {}
        if api_key and (url.host or "").endswith(".azure.com"):
            headers["api-key"] = api_key.reveal()
        elif api_key:
            headers["Authorization"] = f"Bearer {api_key.reveal()}"
        self._wire = Wire(
            str(url.with_path(url.path.removesuffix("/chat/completions"), keep_query=True)),
            headers=headers,
            secrets=secrets,
            timeouts=timeouts,
            proxy=proxy,
        )
        self.capabilities: dict[str, Capabilities] = dict(capabilities or {})

    @property
    def endpoint(self) -> str:
        return self._wire.endpoint

    async def aclose(self) -> None:
        await self._wire.aclose()

    async def complete(self, request: Request) -> Completion:
        """Answer a request, asking once more for each part of it that the server refuses.

        Raises a ProviderError, or Overflow where the prompt did not fit the model's context.
        """
        if request.continuation is not None:
            from twopan.providers.weighing import weigh  # which reads replies as we do here

            return await weigh(self._wire, request, self.capabilities)
        learnt: set[Lesson] = set()
        while True:
            can = self.capabilities.get(request.model, Capabilities())
            body = request_body(request, can)
            reply = await self._wire.post("chat/completions", body)
            heard = read_reply(reply, request, adapted(request, can))
            fault = reply.fault or self._fault_inside(reply)
            if fault is None or _was_filtered(reply.data):
                return self._checked(heard, reply, request)
            if fault.filtered:
                return msgspec.structs.replace(heard, text="", finish_reason="content_filter")
            error = fault.error()
            if not reply.fault or heard.usage != Usage():
                raise with_charge(error, heard)  # asking again is for those who keep the accounts
            new = [lesson for lesson in lessons(fault, body) if lesson not in learnt]
            if not new or isinstance(error, Overflow | RateLimited):
                raise error
            learnt.add(new[0])
            now = self.capabilities.get(request.model, can)  # others may have learnt meanwhile
            self.capabilities[request.model] = msgspec.structs.replace(now, **dict(new[:1]))

    def _fault_inside(self, reply: Reply) -> Fault | None:
        """Some gateways report an error as a choice."""
        choice = _first_choice(reply.data)
        if not choice or not choice.get("error"):
            return None
        return self._wire.fault(reply.status, reply.headers, choice)

    def _checked(self, heard: Completion, reply: Reply, request: Request) -> Completion:
        """What was heard, if it is an answer to the whole of the request."""
        choice, host = _first_choice(reply.data), self._wire.host
        if choice is None:
            raise with_charge(Malformed(f"{host} answered without any choice"), heard)
        finish, (text, _) = _finish_reason(choice), _text(choice, request)
        if finish is None or (text is None and finish == "stop" and not _thought(choice)):
            reason = self._wire.shown(str(choice.get("finish_reason")))
            line = f"{host} answered without text (finish_reason {reason})"
            raise with_charge(Malformed(line), heard)
        counted = heard.usage.input
        least = sum(fewest(message.text) for message in request.messages)
        if finish in ("stop", "length") and counted and prompt_truncated(counted, least):
            line = (
                f"{host} counted {counted} tokens in a prompt of at least {least}: the judge did"
                " not see the whole prompt; give the server a larger context"
            )
            raise with_charge(Overflow(line), heard)
        return heard


def with_charge(error: ProviderError | Overflow, heard: Completion) -> ProviderError | Overflow:
    """The error, with what was charged for; that is unknown where the server states no tokens."""
    if heard.usage != Usage():
        error.completion = heard
    elif isinstance(error, ProviderError):
        error.outcome_unknown = True
    return error


# ---- asking ------------------------------------------------------------------------------------


def request_body(request: Request, can: Capabilities) -> dict[str, Any]:
    """What is sent. Options that are not wanted are left out, never null."""
    messages: list[dict[str, str]]
    messages = [{"role": message.role, "content": message.text} for message in request.messages]
    if not can.system_role:
        messages = _system_inside(messages)
    body: dict[str, Any] = {
        "model": request.model,
        "messages": messages,
        can.token_field: request.max_tokens,
    }
    if can.temperature:
        body["temperature"] = request.temperature
    if can.seed:
        body["seed"] = request.sample
    if request.top_logprobs and can.logprobs:
        body["logprobs"] = True
        limit = can.max_top_logprobs or request.top_logprobs
        body["top_logprobs"] = min(request.top_logprobs, limit)
    if request.schema is not None and can.json_schema:
        schema = {"name": "verdict", "schema": request.schema, "strict": True}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    elif request.schema is not None and can.json_object:
        body["response_format"] = {"type": "json_object"}
    return body


def _system_inside(messages: Sequence[dict[str, str]]) -> list[dict[str, str]]:
    """The same words, with those of the system at the head of the first other message."""
    system = [m["content"] for m in messages if m["role"] == "system"]
    first, *rest = [m for m in messages if m["role"] != "system"] or [{"role": "user"}]
    head = [*system, first["content"]] if "content" in first else system
    return [{"role": first["role"], "content": "\n\n".join(head)}, *rest]


def adapted(request: Request, can: Capabilities) -> tuple[str, ...]:
    """The parts of a request that the model does not get as they were asked for."""
    wanted = request.top_logprobs
    roles = {message.role for message in request.messages}
    changed = {
        "temperature": not can.temperature,
        "seed": not can.seed,
        "system role": not can.system_role and "system" in roles,
        "logprobs": wanted > 0 and not can.logprobs,
        "top_logprobs": can.logprobs and wanted > (can.max_top_logprobs or wanted),
        "schema": request.schema is not None and not can.json_schema,
    }
    return tuple(part for part, was in changed.items() if was)


UNSUPPORTED = re.compile(
    r"unsupported|n(?:o|')t support|not (?:allowed|permitted|available|enabled|implemented)"
    r"|unrecogni[sz]ed|unknown|unexpected|extra|only (?:the default|1\b)|must be 1\b(?![.\d])"
    r"|no longer|deprecated|instead"
)
TOO_MUCH = re.compile(r"too (?:large|big|many)|larger|greater|exceed|at most|maximum")
LOGPROBS_LIMIT = re.compile(
    r"(?:at most|less than or equal to|<=|up to|between \d+ and|more than|max(?:imum)?\b\D{0,30})"
    r"\s*(\d{1,4})\b"
)
FORMAT = r"response_format|json_schema|json_object|json.?mode|structured.?output|grammar|\bschema\b"


def lessons(fault: Fault, body: Mapping[str, Any]) -> list[Lesson]:
    """What a refusal teaches about the model, in the order in which it names what was sent."""
    words = fault.words
    unsupported = bool(UNSUPPORTED.search(words))
    no_such_field = unsupported and not TOO_MUCH.search(words)
    limit = LOGPROBS_LIMIT.search(words)
    fewer = int(limit[1]) if limit and 0 < int(limit[1]) < body.get("top_logprobs", 0) else None
    if fault.status in (401, 402, 408, 409, 425):
        return []
    if fault.status >= 500 and not (unsupported or fewer):
        return []  # a server in trouble may name anything
    form = body.get("response_format", {}).get("type")
    roles = {message["role"] for message in body["messages"]}
    table: list[tuple[str, bool, Lesson]] = [
        (
            r"\bmax_tokens\b",
            "max_tokens" in body and no_such_field,
            ("token_field", "max_completion_tokens"),
        ),
        (
            r"\bmax_completion_tokens\b",
            "max_completion_tokens" in body and no_such_field,
            ("token_field", "max_tokens"),
        ),
        (r"\btemperature\b", "temperature" in body and unsupported, ("temperature", False)),
        (r"\bseed\b", "seed" in body and unsupported, ("seed", False)),
        (r"\bsystem\b|developer", "system" in roles and unsupported, ("system_role", False)),
        (
            r"log.?prob",
            "logprobs" in body,
            ("max_top_logprobs", fewer) if fewer else ("logprobs", False),
        ),
        (FORMAT, form == "json_schema", ("json_schema", False)),
        (FORMAT, form == "json_object", ("json_object", False)),
    ]
    found = [
        (named.start(), lesson)
        for pattern, sent, lesson in table
        if sent and (named := re.search(pattern, words))
    ]
    return [lesson for _, lesson in sorted(found, key=itemgetter(0))]


# ---- reading -----------------------------------------------------------------------------------


def read_reply(reply: Reply, request: Request, changed: tuple[str, ...]) -> Completion:
    """What there is to read in a reply, a broken one too: text, tokens, who answered."""
    data = reply.data if isinstance(reply.data, dict) else {}
    choice = _first_choice(data) or {}
    text, refused = _text(choice, request)
    model, thought = data.get("model"), _thought(choice)
    return Completion(
        text=text or "",
        finish_reason="refusal" if refused else _finish_reason(choice) or "length",
        usage=read_usage(data.get("usage")),
        logprobs=read_logprobs(choice.get("logprobs")),
        model_served=model if isinstance(model, str) else None,
        request_id=_request_id(reply),
        adapted=changed,
        reasoning=thought if isinstance(thought, str) else None,
    )


def _message(choice: Mapping[str, Any]) -> dict[str, Any]:
    message = choice.get("message")
    return message if isinstance(message, dict) else {"content": choice.get("text")}


def _thought(choice: Mapping[str, Any]) -> Any:
    message = _message(choice)
    return message.get("reasoning_content") or message.get("reasoning")


FINISH: dict[str, FinishReason | None] = {
    "length": "length",
    "max_tokens": "length",
    "content_filter": "content_filter",
    "safety": "content_filter",
    "refusal": "refusal",
    "error": None,
    "abort": None,
    "cancelled": None,
    "insufficient_system_resource": None,
}
"""None: the server broke off. Any other word (stop, eos, tool_calls, ...) is a normal end."""


def _finish_reason(choice: Mapping[str, Any]) -> FinishReason | None:
    otherwise: FinishReason | None = None if choice.get("error") else "stop"
    return FINISH.get(str(choice.get("finish_reason")).lower(), otherwise)


def _first_choice(data: Any) -> dict[str, Any] | None:
    choices = data.get("choices") if isinstance(data, dict) else None
    first = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(first, dict):
        return None
    is_one = isinstance(first.get("message"), dict) or isinstance(first.get("text"), str)
    return first if is_one or first.get("error") else None


def _was_filtered(data: Any) -> bool:
    """A completion that was filtered, whatever the status: some servers send it with 400."""
    choice = _first_choice(data)
    return choice is not None and _finish_reason(choice) == "content_filter"


def _text(choice: Mapping[str, Any], request: Request) -> tuple[str | None, bool]:
    """What the model said, and whether that is a refusal. None: nothing is there to read."""
    message = _message(choice)
    refusal, content = message.get("refusal"), message.get("content")
    if isinstance(content, list):  # in parts, of which reasoning is one kind and refusal another
        parts = [part for part in content if isinstance(part, dict)]
        refusal = refusal or "".join(str(part.get("refusal") or "") for part in parts)
        content = "".join(p["text"] for p in parts if isinstance(p.get("text"), str)
                          and p.get("type") in (None, "text", "output_text"))  # fmt: skip
    if isinstance(refusal, str) and refusal:
        return (content if content and isinstance(content, str) else refusal), True
    match message.get("tool_calls") or [{"function": message.get("function_call")}]:
        # A gateway may enforce a schema by a tool; then its arguments are the answer.
        case [{"function": {"arguments": arguments}}] if arguments and request.schema is not None:
            return arguments if isinstance(arguments, str) else json.dumps(arguments), False
    return content if isinstance(content, str) else None, False


def read_usage(usage: Any) -> Usage:
    """Tokens; what is missing or no count is 0."""
    usage = usage if isinstance(usage, dict) else {}
    details = usage.get("prompt_tokens_details")
    kept = details.get("cached_tokens") if isinstance(details, dict) else None
    output, total = _count(usage.get("completion_tokens")), _count(usage.get("total_tokens"))
    whole = _count(usage.get("prompt_tokens")) or max(0, total - output)
    cached = _count(kept) or _count(usage.get("prompt_cache_hit_tokens"))
    return Usage(input=max(whole, cached), cached_input=cached, output=output)


def _count(value: Any) -> int:
    return value if type(value) is int and value > 0 else 0


def read_logprobs(given: Any) -> tuple[TokenLogprobs, ...] | None:
    """Log-probabilities in the shape of chat or of the older completions; None in any other."""
    if not isinstance(given, dict):
        return None
    try:
        if isinstance(given.get("tokens"), list):
            tops = given.get("top_logprobs") or [None] * len(given["tokens"])
            rows = zip(given["tokens"], given["token_logprobs"], tops, strict=True)
            old = [(token, logprob, list((top or {}).items())) for token, logprob, top in rows]
            return tuple(_position(*each) for each in old) or None
        new = [
            (at["token"], at.get("logprob"), [(t["token"], t.get("logprob")) for t in listed])
            for at in given["content"]
            for listed in [at.get("top_logprobs") or []]
        ]
        return tuple(_position(*each) for each in new) or None
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def _position(token: str, logprob: Any, top: Sequence[tuple[str, Any]]) -> TokenLogprobs:
    listed = [(str(name), _logprob(value)) for name, value in top or [(token, logprob)]]
    holes_last = sorted(listed, key=lambda pair: math.inf if pair[1] is None else -pair[1])
    return TokenLogprobs(token=str(token), top=tuple(holes_last))


def _logprob(value: Any) -> float | None:
    """None for a hole: null, NaN, or no number. Minus infinity is the customary -9999."""
    if not isinstance(value, int | float) or math.isnan(value) or value == math.inf:
        return None
    return max(float(value), -9999.0)


def _request_id(reply: Reply) -> str | None:
    names = ("x-request-id", "request-id", "apim-request-id")
    return next((reply.headers[name] for name in names if name in reply.headers), None)


# ---- was the whole prompt seen? ----------------------------------------------------------------


def prompt_truncated(counted: int, least: int) -> bool:
    """Whether a server that counted so many tokens in a prompt of ``least`` or more cut it.

    It did where it counted fewer; and where it counted exactly a usual window and fewer than
    five for four words, which is the least in English. Prompts of under 500 tokens fit anywhere
    and are not suspected.
    """
    if least < 500:
        return False
    a_window = counted >= 2048 and counted.bit_count() == 1
    return counted < least or (a_window and counted < least * 5 / 4)
