"""What a model is to us: a request goes in, a completion comes out."""

import hashlib
from typing import Any, Literal, Protocol

import msgspec

Role = Literal["system", "user", "assistant"]
FinishReason = Literal["stop", "length", "refusal", "content_filter"]


class Message(msgspec.Struct, frozen=True):
    role: Role
    text: str


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that can change the answer, and nothing that cannot.

    A field added later must have a default that means "as before": defaults are left out of
    the key, so the calls that a ledger already holds keep theirs.
    """

    endpoint: str
    """Who answers: a base URL, or the fingerprint of the weights and runtime. Never a key."""
    model: str
    messages: tuple[Message, ...]
    temperature: float = 0.0
    max_tokens: int = 1024
    top_logprobs: int = 0
    """How many alternatives to report at each position; 0 asks for no log-probabilities."""
    schema: dict[str, Any] | None = None
    """JSON schema the reply must satisfy, where the provider can enforce one."""
    continuation: str | None = None
    """A reply to weigh instead of writing one: the completion's ``logprobs`` are those of this
    text, a token each. None for an ordinary request."""
    sample: int = 0
    """Tells repeated draws of one request apart; also the seed."""

    def __post_init__(self) -> None:
        # 1 and 1.0 ask for the same, and have the same key.
        msgspec.structs.force_setattr(self, "temperature", float(self.temperature))

    @property
    def texts(self) -> tuple[str, ...]:
        """All that is read, and paid for as input."""
        return (*(message.text for message in self.messages), self.continuation or "")

    @property
    def key(self) -> str:
        """SHA-256 of the canonical JSON: the identity of the call, in every ledger."""
        # Compared by value: msgspec's own omit_defaults goes by identity for numbers.
        told = {
            field.name: value
            for field in msgspec.structs.fields(self)
            if (value := getattr(self, field.name)) != field.default
        }
        return hashlib.sha256(msgspec.json.encode(told, order="deterministic")).hexdigest()


class Usage(msgspec.Struct, frozen=True, omit_defaults=True):
    """Tokens as the provider counted them."""

    input: int = 0
    cached_input: int = 0
    """Of ``input``, those the provider had kept from before."""
    output: int = 0


class TokenLogprobs(msgspec.Struct, frozen=True):
    """One position of a completion: the token written there and what else might have been."""

    token: str
    top: tuple[tuple[str, float | None], ...]
    """Pairs of token and natural-log probability, as the provider sent them, best first."""


class Completion(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What came back. An answer that stopped for a bad reason is still a completion."""

    text: str
    finish_reason: FinishReason = "stop"
    usage: Usage = Usage()
    logprobs: tuple[TokenLogprobs, ...] | None = None
    """One entry a token of ``text``, or None where the provider gave none."""
    model_served: str | None = None
    """What the provider says answered, where it says."""
    request_id: str | None = None
    adapted: tuple[str, ...] = ()
    """Parts of the request that the model refused, and that were left out or changed."""
    reasoning: str | None = None
    """What a reasoning model thought, where that arrives apart from the answer."""


class Provider(Protocol):
    """The whole interface a provider implements.

    ``endpoint`` goes into the key of every request. ``complete`` returns a completion or raises
    a :class:`twopan.errors.ProviderError`; what it raises decides whether we try again.
    A provider that holds a connection or a model also has ``async aclose()``. One may also have
    ``free = True``, where a call that is cut short has cost nothing, and ``deterministic = True``,
    where equal requests get equal completions.
    """

    @property
    def endpoint(self) -> str: ...

    async def complete(self, request: Request) -> Completion: ...
