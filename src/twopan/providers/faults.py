"""What a server means when it does not answer: read from the words as much as from the status.

    429 "insufficient_quota"     never recovers      Denied
    429 anything else            later               RateLimited
    400 "context_length ..."     this prompt only    Overflow
    403 "... logprobs ..."       ask for less        the provider adapts, and remembers
    200 {"error": "overloaded"}  later               Unreachable

Shared by the providers that speak HTTP.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from twopan.errors import (
    Denied,
    Malformed,
    Overflow,
    ProviderError,
    RateLimited,
    Unreachable,
    Unsupported,
)

LONGEST_WAIT_S = 600.0
"""A server that asks for more than this is not waited for: we come back as if it had not asked,
and a run that is refused again and again ends soon instead of hanging for an hour."""

GATEWAY_TIMEOUT = 504, 524
"""A gateway that hung up while the server behind it may still have been answering."""

NO_QUOTA = re.compile(
    r"insufficient[_ ](?:quota|balance|credits?|funds)|billing_|credit balance|payment.required"
)
MAYBE_NO_QUOTA = re.compile(r"exceeded your current quota")
OVERFLOW = re.compile(
    r"context[_ ](?:length|window|size)|maximum context|prompt is too long|request_too_large"
    r"|input is too long|too many (?:input|prompt) tokens|reduce the length of|string_above_max"
)
FILTERED = re.compile(
    r"content_?filter|content_policy|responsibleai|content management policy"
    r"|data_inspection_failed|was flagged|moderation"
)
NO_KEY = re.compile(r"api[_ ]?key|authenticat|unauthori[sz]ed|permission_|permission.denied")
NO_MODEL = re.compile(
    r"model_not_found|not_found_error|(?:unknown|invalid|no such) model"
    r"|model\b.*\b(?:not (?:exist|found)|isn't available|decommissioned)"
)
TOO_FAST = re.compile(r"rate.?limit|too many requests|throttl|resource_exhausted")
TROUBLE = re.compile(
    r"overloaded|unavailable|server_error|internal.(?:server.)?error|api_error|time.?d?.?out"
    r"|try again|bad gateway"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """An answer that is no completion, as far as the body and the headers tell."""

    host: str
    status: int
    says: str
    """The server's own message on one line, without keys: fit to be shown."""
    words: str
    """Message, type, code and parameter in lower case, as sent: to be searched, never shown."""
    retry_after: float | None = None
    """Seconds."""

    @property
    def filtered(self) -> bool:
        """A content filter stopped the prompt or the answer."""
        return self.status in (200, 400, 403, 422, 451) and bool(FILTERED.search(self.words))

    def error(self) -> ProviderError | Overflow:  # noqa: PLR0911 -- a list of cases
        """The exception it comes to, where the request cannot be adapted. First match wins."""
        status, words, wait = self.status, self.words, self.retry_after
        line = f"{self.host} answered {status}: {self.says or 'nothing more'}"
        if NO_QUOTA.search(words) or (wait is None and MAYBE_NO_QUOTA.search(words)):
            return Denied(f"{line} (no quota is left)")
        if status == 429:
            return RateLimited(line, retry_after=wait)
        if status == 413 or OVERFLOW.search(words):
            return Overflow(f"{line} (prompt and answer do not fit the model's context)")
        if status in (401, 402, 403, 404, 405, 407, 410):
            return Denied(line)
        if status in (408, 409, 425) or (status >= 500 and status != 501):
            lost = status in GATEWAY_TIMEOUT
            return Unreachable(line, retry_after=wait, outcome_unknown=lost)
        # What is left says 200 or 400 and means anything.
        if NO_KEY.search(words) or NO_MODEL.search(words):
            return Denied(line)
        if TOO_FAST.search(words):
            return RateLimited(line, retry_after=wait)
        if TROUBLE.search(words):
            return Unreachable(line, retry_after=wait)
        return Unsupported(line) if status >= 400 or "invalid_request" in words else Malformed(line)


def complaint(data: Any, text: str) -> tuple[str, str, int | None]:
    """Message, what else identifies the problem, and the status the body names, if it does.

    Reads the shapes of OpenAI, Azure, Google, Anthropic, FastAPI, vLLM, Ollama and OpenRouter,
    and where there is no JSON, the text of the page.
    """
    if isinstance(data, list) and data:
        data = data[0]
    if not isinstance(data, dict):
        tags = r"<(style|script).*?(?:</\1>|$)|<[^>]*>"
        return re.sub(tags, " ", text, flags=re.S | re.I), "", None
    error = data.get("error") or data.get("detail") or data
    if isinstance(error, list):  # FastAPI: one entry a field, with the path to it
        error = {"message": "; ".join(map(_field, error))}
    if not isinstance(error, dict):
        return str(error), str(data.get("message") or ""), None
    code = error.get("code")
    inner, meta = error.get("innererror"), error.get("metadata")
    named = [error.get("type"), code, error.get("param"), error.get("status"), data.get("type")]
    named += [inner.get("code")] if isinstance(inner, dict) else []
    message = str(error.get("message") or error.get("msg") or error.get("detail") or "")
    if isinstance(meta, dict) and meta.get("raw"):  # a gateway quotes the server behind it
        message = f"{message}: {meta['raw']}"
    status = int(str(code)) if re.fullmatch(r"[45]\d\d", str(code)) else None
    return message, " ".join(str(name) for name in named if name is not None), status


def _field(entry: Any) -> str:
    if not isinstance(entry, dict):
        return str(entry)
    where = entry.get("loc")
    path = ".".join(map(str, where)) if isinstance(where, list) else ""
    return f"{path}: {entry.get('msg', '')}"


def retry_after(headers: Mapping[str, str], message: str = "") -> float | None:
    """How many seconds the server asks us to wait, or None where it does not say anything usable.

    ``headers`` have lower-case names. In this order: ``retry-after-ms``; ``retry-after`` as
    seconds, with a unit, or as a date, which is measured against the server's own ``date`` and
    not against our clock; the longest ``x-ratelimit-reset-*`` whose allowance is used up;
    "try again in 1.2s" in the message. Zero, negative, infinite and unreadable values are
    ignored, and so is anything longer than ``LONGEST_WAIT_S``.
    """
    resets = (
        duration(value)
        for name, value in headers.items()
        if name.startswith("x-ratelimit-reset")
        and headers.get(name.replace("reset", "remaining"), "0").strip() in ("", "0")
    )
    asked = ASKED.search(message.lower())
    return (
        duration(headers.get("retry-after-ms", ""), bare="ms")
        or duration(headers.get("retry-after", ""))
        or _until(headers.get("retry-after", ""), headers.get("date", ""))
        or max((wait for wait in resets if wait), default=None)
        or (duration(asked[1]) if asked else None)
    )


ASKED = re.compile(r"(?:try again|retry) (?:in|after) (\d[\d.]*\s?[a-z]+(?:\d[\d.]*[a-z]+)*)")
UNIT_S = {"ms": 0.001, "milli": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
PART = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*(?:(ms|milli|s|m|h|d)[a-z]*)?\s*", re.ASCII)


def duration(text: str, bare: str = "s") -> float | None:
    """Seconds in "20", "1.2s", "500ms" or "6m0s"; a bare number has the unit ``bare``.

    >>> duration("6m0s"), duration("500ms"), duration("-5")
    (360.0, 0.5, None)
    """
    text = text.strip().lower()
    parts = PART.findall(text)
    alone = len(parts) == 1
    if len(text) > 40 or PART.sub("", text) or not all(unit or alone for _, unit in parts):
        return None
    return _usable(sum(float(number) * UNIT_S[unit or bare] for number, unit in parts))


def _until(date: str, now: str) -> float | None:
    try:
        until = _utc(parsedate_to_datetime(date))
    except (ValueError, TypeError):
        return None
    try:
        since = _utc(parsedate_to_datetime(now))
    except (ValueError, TypeError):
        since = datetime.now(UTC)
    return _usable((until - since).total_seconds())


def _utc(moment: datetime) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _usable(seconds: float) -> float | None:
    return seconds if 0 < seconds <= LONGEST_WAIT_S else None
