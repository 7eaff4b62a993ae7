"""A provider with no model behind it, for tests and for the documentation."""

from collections.abc import Callable

from twopan.providers import Completion, Request


class Scripted:
    """Answers each request with what ``reply`` makes of it, and keeps what it was asked."""

    endpoint = "scripted"

    def __init__(self, reply: Callable[[Request], str | Completion]) -> None:
        self.reply = reply
        self.requests: list[Request] = []

    async def complete(self, request: Request) -> Completion:
        self.requests.append(request)
        reply = self.reply(request)
        return reply if isinstance(reply, Completion) else Completion(text=reply)
