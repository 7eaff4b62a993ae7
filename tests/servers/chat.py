"""A server on this machine that speaks the OpenAI chat API and does as it is told.

    with serve({"status": 429}, {"hang_s": 60}) as server:
        provider = OpenAI(server.url)
        ...
        assert "max_tokens" in server.requests[0].json

The replies of the script are given in order; then ``otherwise`` answers, by default a judge whose
verdict is a function of what it is shown.

A reply is a dict. What there is to send: ``json``, ``body`` (text or bytes) or ``sse`` (a list of
events), with ``status`` and ``headers``, in which ``{http_date:+7s}`` is a date 7 s from now.
What goes wrong: ``hang_s`` (silence first), ``drip`` ({bytes, every_s, for_s}: a body that never
ends), ``close: "before_response"``.
"""

import asyncio
import hashlib
import json
import math
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.utils import formatdate
from functools import partial
from typing import Any

from aiohttp import web

Reply = dict[str, Any]


@dataclass(frozen=True)
class Seen:
    """One request, as it arrived."""

    path: str
    headers: dict[str, str]
    json: Any
    connection: int
    """The client's port: equal for requests that shared a connection."""


def completion(text: str | None, finish_reason: str = "stop", **more: Any) -> Reply:
    """A chat completion as OpenAI sends it; ``more`` goes into the body."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text}}
    body = {"choices": [choice | {"finish_reason": finish_reason}], "model": "fake-judge-1"}
    return {"json": body | more}


def fake_judge(seen: Seen) -> Reply:
    """A score from 1 to 5 that depends on the messages alone, with log-probabilities if asked."""
    shown = json.dumps(seen.json["messages"])
    score = str(1 + hashlib.sha256(shown.encode()).digest()[0] % 5)
    tokens = ["Score", ":", f" {score}"]
    usage = {"prompt_tokens": len(shown) // 4, "completion_tokens": len(tokens)}
    reply = completion("".join(tokens), usage=usage)
    if seen.json.get("logprobs"):
        listed = [_listed(token, seen.json.get("top_logprobs", 0)) for token in tokens]
        reply["json"]["choices"][0]["logprobs"] = {"content": listed}
    return reply


def _listed(token: str, count: int) -> dict[str, Any]:
    """Eight tenths for the token written, a twentieth for each of four others."""
    others = [other for other in (" 1", " 2", " 3", " 4", " 5") if other != token][:4]
    top = [(token, 0.8), *((other, 0.05) for other in others)]
    rows = [{"token": name, "logprob": math.log(p)} for name, p in top]
    return rows[0] | {"top_logprobs": rows[:count]}


@dataclass
class Server:
    otherwise: Callable[[Seen], Reply]
    latency_s: float
    clock_skew_s: float
    script: list[Reply]
    requests: list[Seen] = field(default_factory=list)
    completed: int = 0
    """Replies sent to their end."""
    url: str = ""

    @property
    def connections(self) -> int:
        return len({seen.connection for seen in self.requests})

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        raw = await request.read()
        seen = Seen(
            path=request.path_qs,
            headers=dict(request.headers),
            json=json.loads(raw) if raw else None,
            connection=request.transport.get_extra_info("peername")[1],
        )
        reply = self.script[n] if (n := len(self.requests)) < len(self.script) else None
        self.requests.append(seen)
        if reply is None:
            reply = self.otherwise(seen)
        await asyncio.sleep(self.latency_s + reply.get("hang_s", 0))
        if reply.get("close") == "before_response":
            request.transport.close()
            return web.Response()
        response = web.StreamResponse(status=reply.get("status", 200))
        response.headers.update(self._headers(reply))
        if "drip" not in reply:
            body = _body(reply)
            response.content_length = len(body)
            await response.prepare(request)
            await response.write(body)
        else:
            await response.prepare(request)
            drip = reply["drip"]
            for _ in range(int(drip["for_s"] / drip["every_s"])):
                await response.write(drip["bytes"].encode())
                await asyncio.sleep(drip["every_s"])
        await response.write_eof()
        self.completed += 1
        return response

    def _headers(self, reply: Reply) -> dict[str, str]:
        now = time.time() + self.clock_skew_s

        def date(match: re.Match[str]) -> str:
            return formatdate(now + int(match[1]), usegmt=True)

        kind = "text/event-stream" if "sse" in reply else "application/json"
        given = {"Content-Type": kind} | reply.get("headers", {})
        return {name: re.sub(r"\{http_date:([+-]\d+)s\}", date, v) for name, v in given.items()}


def _body(reply: Reply) -> bytes:
    if "json" in reply:
        return json.dumps(reply["json"]).encode()
    body = reply.get("body", "".join(reply.get("sse", [])))
    return body if isinstance(body, bytes) else body.encode()


@contextmanager
def serve(
    *script: Reply,
    otherwise: Callable[[Seen], Reply] = fake_judge,
    latency_s: float = 0.0,
    clock_skew_s: float = 0.0,
) -> Iterator[Server]:
    """The server on a free port of 127.0.0.1, in a thread of its own, until the block ends."""
    server = Server(otherwise, latency_s, clock_skew_s, list(script))
    started, loop = threading.Event(), asyncio.new_event_loop()
    stop = asyncio.Event()

    async def run() -> None:
        handler = web.Server(server.handle, handler_cancellation=True, access_log=None)
        runner = web.ServerRunner(handler, shutdown_timeout=0)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        server.url = "http://127.0.0.1:{1}/v1".format(*runner.addresses[0])
        started.set()
        await stop.wait()
        await runner.cleanup()

    thread = threading.Thread(target=partial(loop.run_until_complete, run()), daemon=True)
    thread.start()
    try:
        if not started.wait(10):
            raise RuntimeError("the server did not start")
        yield server
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(10)
        loop.close()
