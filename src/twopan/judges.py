"""From what a person writes to name a judge, ``openai:gpt-4o``, to the model behind it."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any

import msgspec

from twopan.errors import ConfigError
from twopan.names import nearest
from twopan.plugins import find
from twopan.prices import Price
from twopan.protocols import GRADED, WITH_TIE, Protocol
from twopan.protocols.aids import AIDS
from twopan.protocols.likelihood import listening
from twopan.providers import Provider

PROTOCOLS = {
    "pairwise": "twopan.protocols.pairwise:pairwise",
    "pairwise-cot": "twopan.protocols.pairwise:pairwise_cot",
    "prepair": "twopan.protocols.prepair:prepair",
    "prepair-star": "twopan.protocols.prepair:prepair_star",
    "pointwise": "twopan.protocols.pointwise:pointwise",
    "pointwise-direct": "twopan.protocols.pointwise:pointwise_direct",
    "likelihood": "twopan.protocols.likelihood:likelihood",
    "nway": "twopan.protocols.nway:nway",
    "prometheus": "twopan.protocols.prometheus:prometheus",
    "prometheus-pair": "twopan.protocols.prometheus:prometheus_pair",
    "prometheus-prepair": "twopan.protocols.prometheus:prometheus_prepair",
}
ADDITIONS: dict[str, dict[str, Any]] = {
    "tie": {"menu": WITH_TIE},
    "graded": {"menu": GRADED},
    "norules": {"rules": False},
    "odds": {"margin": 0.0},
    "likelihood": {},
    "metrics": {},
    "reference": {},
}
"""What may follow a protocol's name after a ``+``."""
PROVIDERS = {
    "local": "twopan.judges:local",
    "openai": "twopan.judges:openai",
}


def find_protocol(name: str) -> Protocol:
    """A protocol by its name, with what is added to it: ``prepair+metrics``, ``pairwise+tie``."""
    first, *added = name.split("+")
    protocol: Protocol = find("protocol", first, PROTOCOLS)
    if twice := [word for word in added if added.count(word) > 1]:
        raise ConfigError(f"protocol {name!r}: +{twice[0]} is there twice")
    if {"tie", "graded"} <= set(added) or {"odds", "likelihood"} <= set(added):
        raise ConfigError(
            f"protocol {name!r}: of +tie and +graded only one, and of +odds and +likelihood"
        )
    for word in added:
        if word not in ADDITIONS:
            raise ConfigError(
                f"protocol {name!r}: nothing is called {word!r}{nearest(word, ADDITIONS)};"
                f" after a + may stand {', '.join(ADDITIONS)}"
            )
        if protocol.takes is not None and word not in protocol.takes:
            raise ConfigError(
                f"protocol {name!r}: {first} takes no +{word}, which means nothing for how it is"
                f" asked; after a + may stand {', '.join(protocol.takes) or 'nothing'}"
            )
        protocol = replace(protocol, **ADDITIONS[word])
        if word == "likelihood":
            protocol = listening(protocol)
    aids = tuple(word for word in added if word in AIDS)
    return replace(protocol, name=name, aids=aids, prompts=(*protocol.prompts, *aids))


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """One judge: who it is, and how to reach it.

    ``local``, ``local:NAME``, ``local:PATH.gguf``, ``openai:MODEL``, ``openai:MODEL@BASE_URL``, or
    ``module:attribute`` of a provider of one's own.
    """

    kind: str
    model: str
    base_url: str | None = None
    path: str | None = None
    """Weights of one's own; no part of the judge's identity, which is what is in the file."""
    key_env: str | None = None
    """The *name* of the environment variable that holds the key; keys are never written down."""
    concurrency: int = 16
    attempt_timeout: float = 120.0
    """Seconds for one attempt."""
    price: Price | None = None

    @classmethod
    def parse(cls, text: str) -> "Spec":
        kind, _, rest = text.partition(":")
        if kind == "local":
            return local_spec(rest)
        if kind == "openai":
            model, at, url = rest.partition("@")
            if not model or (at and not url):
                raise ConfigError(f"judge {text!r}: write openai:MODEL or openai:MODEL@BASE_URL")
            return cls(kind=kind, model=model, base_url=url or None)
        if not rest:
            raise ConfigError(
                f"no judge {text!r}{nearest(text, PROVIDERS)}; write local, local:NAME,"
                " local:PATH.gguf, openai:MODEL, openai:MODEL@BASE_URL, or a name from the"
                " [judges] of your config file"
            )
        return cls(kind=text, model=rest)

    def protocol(self, *, asked: bool) -> str:
        """How it judges where nobody says how; ``asked``: whether somebody says *what* to ask.

        The embedded judge is better listened to than asked (``docs/embedded-judge.md``).
        """
        if self.kind != "local":
            return "pairwise"
        return "pairwise+odds" if asked else "likelihood"

    def provider(self) -> Provider:
        """Build it. Nothing is loaded and nobody is called yet.

        Raises ConfigError where it cannot be built: no such weights, no key, a bad address.
        """
        made: Provider = find("provider", self.kind, PROVIDERS)(self)
        return made


def local_spec(name: str = "") -> Spec:
    from twopan import weights

    path = name if name.endswith(".gguf") else None
    # The endpoint tells weights apart by what is in them; what the file is called changes nothing.
    model = "gguf" if path else name or weights.DEFAULT
    # Free of charge, one judgement at a time, and slow on a small machine.
    price = Price(input=0.0, output=0.0)
    return Spec(
        kind="local", model=model, path=path, concurrency=1, attempt_timeout=1800.0, price=price
    )


def local(spec: Spec) -> Provider:
    from twopan import weights
    from twopan.providers import llama
    from twopan.providers.local import Local

    llama.identity()  # whether the runtime is there, before a gigabyte is fetched for it
    return Local(weights.resolve(f"local:{spec.path or spec.model}"))


def openai(spec: Spec) -> Provider:
    from twopan.providers.openai import OpenAI
    from twopan.secret import Secret

    name = spec.key_env or "OPENAI_API_KEY"
    key = os.environ.get(name)
    if not key and (spec.key_env or not spec.base_url):
        raise ConfigError(f"judge openai:{spec.model} needs a key: set {name} in the environment")
    secret = Secret(key) if key and (spec.key_env or not spec.base_url) else None
    return OpenAI(spec.base_url, api_key=secret) if spec.base_url else OpenAI(api_key=secret)


class _Prices(msgspec.Struct, forbid_unknown_fields=True):
    input: float
    output: float
    cached_input: float | None = None


class _Judge(msgspec.Struct, forbid_unknown_fields=True):
    provider: str
    model: str = ""
    base_url: str | None = None
    key_env: str | None = None
    concurrency: Annotated[int, msgspec.Meta(ge=1)] | None = None
    attempt_timeout: Annotated[float, msgspec.Meta(gt=0)] | None = None
    price: _Prices | None = None


def from_config(name: str, table: Mapping[str, Any]) -> Spec:
    """A judge from ``[judges.NAME]`` of a config file. Raises ConfigError naming the bad entry."""
    if "api_key" in table or "key" in table:
        raise ConfigError(
            f"[judges.{name}]: a key is named and never written down: put it into an environment"
            ' variable and say key_env = "ITS_NAME"'
        )
    try:
        raw = msgspec.convert(dict(table), _Judge)
    except msgspec.ValidationError as error:
        hint = next(
            (
                nearest(key, _Judge.__struct_fields__)
                for key in table
                if key not in _Judge.__struct_fields__
            ),
            "",
        )
        raise ConfigError(f"[judges.{name}]: {error}{hint}") from None
    base = Spec.parse(f"{raw.provider}:{raw.model}" if raw.model else raw.provider)
    given = {
        "base_url": raw.base_url,
        "key_env": raw.key_env,
        "concurrency": raw.concurrency,
        "attempt_timeout": raw.attempt_timeout,
        "price": Price(**msgspec.structs.asdict(raw.price)) if raw.price else None,
    }
    known: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    return replace(base, **known)
