"""Weighing a given reply on a server: its tokens go behind those of the prompt, and are read.

    messages ──► /tokenize, in the chat template ──► context ─┐
    reply ─────► /tokenize, by itself ─────────────► tokens ──┴──► completions, prompt_logprobs

The context is the one that a chat request with the same messages has. It and the reply are turned
into tokens apart and joined as numbers, as the embedded judge does: no token spans the two, and
where the reply begins is counted and not searched for. Log-probabilities are those of the reply
alone, and only where its tokens say what it says.

This is the API of vLLM: ``/tokenize`` and ``/detokenize`` beside ``/v1``, and ``prompt_logprobs``.
Completions with ``echo`` are not enough without them, for nothing tells what the chat template
makes of the messages. llama.cpp's server does, and gives a prompt no log-probabilities in any
release, with ``echo`` or without (ggml-org/llama.cpp, issue 27174).
"""

from collections.abc import MutableMapping, Sequence
from typing import Any

import msgspec
from yarl import URL

from twopan.errors import Malformed, Overflow, ProviderError, Unsupported
from twopan.providers import Completion, Request, TokenLogprobs, Usage
from twopan.providers.faults import Fault
from twopan.providers.openai import (
    Capabilities,
    adapted,
    lessons,
    read_reply,
    request_body,
    with_charge,
)
from twopan.providers.wire import Reply, Wire

WHO_CAN = (
    "a given reply can be weighed by vLLM and by the embedded judge; OpenAI and llama.cpp's server"
    " tell how probable their own words were, and no others"
)
IMPOSSIBLE = -9999.0
"""Written for minus infinity, which JSON does not have."""


async def weigh(
    wire: Wire, request: Request, capabilities: MutableMapping[str, Capabilities]
) -> Completion:
    """A completion that holds ``request.continuation``, and how probable each token of it was.

    In natural logarithms, at temperature 1; a token without a usable one has None. A reply that is
    empty has no tokens, and no server is asked.

    Raises Unsupported where the server does not offer it, or has no tokens that say what the reply
    says; else what a chat request raises.
    """
    text = request.continuation
    if not text:
        return Completion(text="", logprobs=())
    context = await _context(wire, request, capabilities)
    alone = {"model": request.model, "prompt": text, "add_special_tokens": False}
    tokens = _tokens(wire, await wire.post(_beside(wire, "tokenize"), alone))
    body = {
        "model": request.model,
        "prompt": [*context, *tokens],
        "max_tokens": 1,  # there must be one
        "temperature": 1.0,  # which early versions applied to the prompt too
        "prompt_logprobs": 1,
    }
    reply = await wire.post("completions", body)
    changed = adapted(request, capabilities.get(request.model, Capabilities()))
    heard = read_reply(reply, request, tuple(part for part in changed if part == "system role"))
    try:
        if reply.fault:
            raise _refusal(reply.fault)
        positions = _positions(wire, reply.data, len(context), tokens)
        pieces = "".join(position.token for position in positions)
        if pieces != text and await _said(wire, request.model, tokens) != text:
            raise Unsupported(f"{wire.host} has no tokens that say what this reply says")
    except (ProviderError, Overflow) as error:
        if reply.fault and heard.usage == Usage():
            raise
        raise with_charge(error, heard) from None
    return msgspec.structs.replace(heard, text=text, finish_reason="stop", logprobs=positions)


async def _context(
    wire: Wire, request: Request, capabilities: MutableMapping[str, Capabilities]
) -> list[int]:
    """The messages in the model's chat template, up to where its reply begins."""
    can = capabilities.get(request.model, Capabilities())
    messages = request_body(request, can)["messages"]
    body = {"model": request.model, "messages": messages, "add_generation_prompt": True}
    reply = await wire.post(_beside(wire, "tokenize"), body)
    if reply.fault and ("system_role", False) in lessons(reply.fault, body):
        now = capabilities.get(request.model, can)
        capabilities[request.model] = msgspec.structs.replace(now, system_role=False)
        return await _context(wire, request, capabilities)
    return _tokens(wire, reply)


def _beside(wire: Wire, name: str) -> str:
    """The path of what stands beside ``/v1`` and not below it."""
    return f"../{name}" if URL(wire.endpoint).name == "v1" else name


def _tokens(wire: Wire, reply: Reply) -> list[int]:
    if reply.fault:
        raise _refusal(reply.fault)
    tokens = reply.data.get("tokens") if isinstance(reply.data, dict) else None
    if not isinstance(tokens, list) or not all(type(token) is int for token in tokens):
        raise Unsupported(f"{wire.host} answered /tokenize without token numbers; {WHO_CAN}")
    if not tokens:  # so llama.cpp, which looks for another field
        raise Unsupported(f"{wire.host} found no tokens in what is to be weighed; {WHO_CAN}")
    return tokens


async def _said(wire: Wire, model: str, tokens: Sequence[int]) -> Any:
    """The text of the tokens together: one may hold but a part of a character."""
    reply = await wire.post(_beside(wire, "detokenize"), {"model": model, "tokens": tokens})
    if reply.fault:
        raise _refusal(reply.fault)
    return reply.data.get("prompt") if isinstance(reply.data, dict) else None


def _refusal(fault: Fault) -> ProviderError | Overflow:
    """What a fault means here: an address that a server does not know, others do."""
    error = fault.error()
    unknown = fault.status in (404, 405) and "model" not in fault.words
    if unknown or isinstance(error, Unsupported):
        return Unsupported(f"{error}; {WHO_CAN}")
    return error


def _positions(
    wire: Wire, data: Any, start: int, tokens: Sequence[int]
) -> tuple[TokenLogprobs, ...]:
    """The log-probabilities of the tokens, which begin at ``start`` in the prompt."""
    match data:
        case {"choices": [{"prompt_logprobs": list(listed)}, *_]}:
            pass
        case _:
            raise Unsupported(f"{wire.host} answered without prompt_logprobs; {WHO_CAN}")
    if len(listed) != start + len(tokens):
        raise Malformed(
            f"{wire.host} gave log-probabilities for {len(listed)} tokens of a prompt of"
            f" {start + len(tokens)}"
        )
    return tuple(map(_position, tokens, listed[start:]))


def _position(token: int, alternatives: Any) -> TokenLogprobs:
    """One token of the prompt, found by its number among what might have stood there."""
    found = alternatives.get(str(token)) if isinstance(alternatives, dict) else None
    found = found if isinstance(found, dict) else {}
    piece = found.get("decoded_token")
    piece = piece if isinstance(piece, str) else f"token_id:{token}"
    return TokenLogprobs(piece, ((piece, _logprob(found.get("logprob"))),))


def _logprob(value: Any) -> float | None:
    """None for whatever is no logarithm of a probability above zero, NaN among it."""
    is_one = type(value) in (int, float) and IMPOSSIBLE < value <= 0
    return float(value) if is_one else None
