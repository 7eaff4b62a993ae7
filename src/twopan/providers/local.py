"""The embedded judge: a GGUF model in this process, one question at a time.

The same request has the same answer, bit for bit, whatever was asked in between: one slot, no
state kept from call to call. What is judged cannot speak as the chat template does: the template's
markers and the texts between them are turned into tokens separately, and in the texts
"<|im_end|>" is ten characters and not the end of a turn.
"""

import asyncio
import codecs
import hashlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import anyio

from twopan import weights
from twopan.errors import ConfigError, Overflow, Unsupported
from twopan.providers import Completion, FinishReason, Message, Request, TokenLogprobs, Usage

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from twopan.providers.llama import Llama

T = TypeVar("T")


class Local:
    """A :class:`~twopan.providers.Provider` that needs no key and no network.

    Nothing is loaded before the first call, so a run that the ledger answers does without.
    Calls wait for one another in a thread of their own. One that is cancelled stops within about
    a second, wherever it is.

    ``request.schema`` is enforced, by a grammar. ``request.top_logprobs`` are those of the model
    itself at temperature 1: neither the temperature nor the schema is in them.
    """

    free = True
    deterministic = True

    def __init__(
        self, path: str | Path, *, context: int = 4096, threads: int | None = None
    ) -> None:
        """``context``: tokens of prompt and reply together. ``threads``: the physical cores, or
        fewer where other work should have some; it changes no answer.

        Raises ConfigError where the file is not there or not a GGUF model, or where the runtime
        is not installed.
        """
        from twopan.providers import llama

        self.path, self.context, self.threads = Path(path), context, threads
        llama.check(self.path)
        self._runtime = llama.identity()
        self._thread = ThreadPoolExecutor(1, "embedded judge")
        self._llama: Llama | None = None

    @cached_property
    def _sha256(self) -> str:
        return weights.digest(self.path)

    @cached_property
    def name(self) -> str:
        """What the catalogue calls these weights, else the name of the file."""
        known = {model.sha256: model.name for model in weights.catalogue().values()}
        return known.get(self._sha256, self.path.name)

    @cached_property
    def endpoint(self) -> str:
        """The fingerprint: weights, runtime, and settings that can change an answer. No paths."""
        weights, context = self._sha256[:16], self.context
        return f"gguf:{weights}|{self._runtime}|n_ctx {context}|no prefix reuse"

    async def complete(self, request: Request) -> Completion:
        """Raises Overflow where the prompt leaves no room for a reply; nothing is cut off it."""
        return await self._alone(lambda llama: self._complete(llama, request))

    async def loglikelihood(self, context: str | Sequence[Message], text: str) -> tuple[float, ...]:
        """log P of each token of ``text`` (natural logarithm), given the context and those before.

        A context of messages is put in the chat template, and the text is the reply to it.
        Raises Overflow where both together are longer than the model's context.
        """
        return await self._alone(lambda llama: self._loglikelihood(llama, context, text))

    async def aclose(self) -> None:
        """Give the memory back. A later call would load the model again."""
        await asyncio.wrap_future(self._thread.submit(self._unload))

    async def _alone(self, work: Callable[["Llama"], T]) -> T:
        """Do the work in our one thread, and leave only when the thread is free again."""
        from twopan.providers import llama

        stop = llama.Stop()

        def turn() -> T:
            if self._llama is None:
                self._llama = llama.Llama(
                    self.path, context=self.context, threads=self.threads, stop=stop
                )
            self._llama.begin(stop)
            return work(self._llama)

        future = self._thread.submit(turn)
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            stop.set()
            if not future.cancel():  # it has begun, and now ends early
                with anyio.CancelScope(shield=True), suppress(Exception):
                    await asyncio.wrap_future(future)
            raise

    def _unload(self) -> None:
        if self._llama is not None:
            self._llama.close()
            self._llama = None

    def _complete(self, llama: "Llama", request: Request) -> Completion:
        if request.continuation is not None:
            return self._weigh(llama, request.messages, request.continuation)
        prompt = prompt_tokens(llama, request.messages)
        room = self.context - len(prompt)
        if room < 1:
            raise Overflow(
                f"the prompt is {len(prompt)} tokens and must be fewer than the context of "
                f"{self.context}; give the judge a larger context"
            )
        written: list[int] = []
        positions: list[TokenLogprobs] = []
        finish: FinishReason = "length"
        choose = chooser(prompt, request)
        grammar = llama.grammar(request.schema) if request.schema is not None else None
        try:
            unread = prompt
            while len(written) < min(request.max_tokens, room):
                (logits,) = llama.read(unread)
                token = choose(logits if grammar is None else grammar.allow(logits))
                if llama.ends(token):
                    finish = "stop"
                    break
                if grammar is not None:
                    grammar.accept(token)
                written.append(token)
                if request.top_logprobs:
                    top = best(log_softmax(logits), request.top_logprobs)
                    alternatives = tuple((shown(llama, t), p) for t, p in top)
                    positions.append(TokenLogprobs(shown(llama, token), alternatives))
                unread = [token]
        finally:
            if grammar is not None:
                grammar.close()
        return Completion(
            text=text_of(b"".join(map(llama.piece, written))),
            finish_reason=finish,
            usage=Usage(input=len(prompt), output=len(written)),
            logprobs=tuple(positions) if request.top_logprobs else None,
            model_served=self.name,
        )

    def _weigh(self, llama: "Llama", context: Sequence[Message], text: str) -> Completion:
        """A completion that holds a given reply, and how probable each token of it was."""
        tokens = plain_tokens(llama, text)
        logprobs = self._loglikelihood(llama, context, text)
        return Completion(
            text=text,
            usage=Usage(input=len(prompt_tokens(llama, context)) + len(tokens)),
            logprobs=tuple(
                TokenLogprobs(piece, ((piece, p),))
                for piece, p in zip((shown(llama, t) for t in tokens), logprobs, strict=True)
            ),
            model_served=self.name,
        )

    def _loglikelihood(
        self, llama: "Llama", context: str | Sequence[Message], text: str
    ) -> tuple[float, ...]:
        given = (
            llama.start() + plain_tokens(llama, context)
            if isinstance(context, str)
            else prompt_tokens(llama, context)
        ) or [llama.void()]
        scored = plain_tokens(llama, text)
        if not scored:
            return ()
        # The last token is predicted and never read.
        if (length := len(given) + len(scored) - 1) > self.context:
            raise Overflow(
                f"context and text are {length} tokens, and the model's context is "
                f"{self.context}; give the judge a larger context"
            )
        rows = llama.read(given + scored[:-1], rows=len(scored))
        return tuple(
            float(log_softmax(logits)[token]) for logits, token in zip(rows, scored, strict=True)
        )


def prompt_tokens(llama: "Llama", messages: Sequence[Message]) -> list[int]:
    """The messages in the model's chat template, up to where its reply begins."""
    frame = llama.frame([message.role for message in messages])
    if frame is None:  # a template without a system role: what it says leads the user's turn
        messages = merged(messages)
        frame = llama.frame([message.role for message in messages])
    if frame is None:
        roles = ", ".join(message.role for message in messages)
        raise Unsupported(f"the model's chat template has no place for all of: {roles}")
    tokens = llama.tokens(frame[0], markers=True)
    if tokens[:1] != (start := llama.start()):
        tokens = start + tokens
    for message, after in zip(messages, frame[1:], strict=True):
        tokens += plain_tokens(llama, message.text) + llama.tokens(after, markers=True)
    return tokens


def plain_tokens(llama: "Llama", text: str) -> list[int]:
    """Text that may say anything and be nothing but text."""
    try:
        tokens = llama.tokens(text)
    except UnicodeEncodeError as error:
        raise Unsupported(f"half of a surrogate pair is not text: {error}") from None
    if any(map(llama.is_marker, tokens)):
        raise ConfigError("this model's vocabulary makes turn boundaries of plain text: unsafe")
    return tokens


def merged(messages: Sequence[Message]) -> list[Message]:
    """Without system messages: each leads the turn after it."""
    turns: list[Message] = []
    waiting: list[str] = []
    for message in messages:
        if message.role == "system":
            waiting.append(message.text)
        else:
            turns.append(Message(message.role, "\n\n".join([*waiting, message.text])))
            waiting = []
    return turns + [Message("user", text) for text in waiting]


def chooser(prompt: Sequence[int], request: Request) -> Callable[["NDArray[Any]"], int]:
    """From logits to a token: the most probable, or a draw that the request decides."""
    import numpy as np

    if request.temperature <= 0:
        return lambda logits: int(np.argmax(logits))
    seed = hashlib.sha256(repr((list(prompt), request.sample)).encode()).digest()
    random = np.random.default_rng(int.from_bytes(seed))

    def draw(logits: "NDArray[Any]") -> int:
        cumulative = np.exp(log_softmax(logits / request.temperature)).cumsum()
        return int(np.searchsorted(cumulative, random.random() * cumulative[-1], side="right"))

    return draw


def log_softmax(logits: "NDArray[Any]") -> "NDArray[Any]":
    """Natural-log probabilities, in double precision.

    >>> import numpy as np
    >>> np.exp(log_softmax(np.array([0.0, 0.0, -np.inf]))).tolist()
    [0.5, 0.5, 0.0]
    """
    import numpy as np

    shifted = logits.astype(np.float64) - logits.max()
    return np.asarray(shifted - np.log(np.exp(shifted).sum()))


def best(logprobs: "NDArray[Any]", count: int) -> list[tuple[int, float]]:
    """The most probable tokens and their log-probabilities; equals in order of their numbers."""
    import numpy as np

    order = np.argsort(-logprobs, kind="stable")[:count]
    return [(int(token), float(logprobs[token])) for token in order]


def shown(llama: "Llama", token: int) -> str:
    """A token as text; bytes that are no whole character as \\xe2, so that they stay apart."""
    return llama.piece(token).decode(errors="backslashreplace")


def text_of(data: bytes) -> str:
    """What the bytes say; a character that ends after them is left out, not guessed.

    >>> text_of("né".encode()[:2])
    'n'
    """
    return codecs.getincrementaldecoder("utf-8")("replace").decode(data)
