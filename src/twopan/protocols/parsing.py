"""From what a judge wrote to what it decided, or the reason why that cannot be told.

    text ──► what a reader sees ──► after the reasoning ──► markers ──► the one that decides
             invisible characters    <think>…</think> never   Verdict: A     alone on the last line,
             gone, any digits ASCII  holds a verdict          [[A]] {…} …    else all must agree

A contract says which form a verdict has and which words or numbers are on offer. Anything else
is no verdict: nothing is clamped, rescaled, rounded or searched for elsewhere. Repairs are made
only where a single reading exists, and are flagged. Every step is linear in the text.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache
from math import isfinite
from typing import Literal

from twopan.errors import ConfigError, Filtered, Refused, Truncated, Unparsed
from twopan.protocols import loose_json
from twopan.providers import FinishReason
from twopan.verdict import Choice

Format = Literal["line", "bracket", "json", "tag", "bare", "sentence"]

LONGEST = 128_000
"""Characters of an answer, without its reasoning, beyond which it is not read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contract:
    """What the judge was asked to write.

    ``line``      ``Verdict: A`` where ``label`` is "Verdict"; ``Score: 4``; ``GRADE: C``
    ``bracket``   ``[[A]]``, ``Rating: [[7.5]]`` where ``label`` is "Rating"
    ``json``      an object with the verdict at ``key``
    ``tag``       ``<verdict>A</verdict>`` where ``tag`` is "verdict"; ``[RESULT] 4`` for "[RESULT]"
    ``bare``      the reply, its last line or its first is the verdict and nothing else
    ``sentence``  ``Therefore, Output (a) is better.``

    On offer is a ``menu`` of words, or the numbers from ``low`` to ``high``, both included.
    """

    format: Format
    label: str = ""
    key: str = ""
    tag: str = ""
    menu: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    integer: bool = False
    synonyms: tuple[tuple[str, str], ...] = ()
    """Further spellings of menu entries, as pairs of (spelling, entry); case is ignored."""

    def __post_init__(self) -> None:
        needs = {"line": self.label, "json": self.key, "tag": self.tag}.get(self.format, "-")
        if not needs:
            raise ConfigError(f"a {self.format} contract needs its label, key or tag")
        if bool(self.menu) == (self.low is not None and self.high is not None):
            raise ConfigError("a contract offers either a menu or the numbers from low to high")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A verdict that was on offer."""

    value: str | float | int
    """A menu entry as the contract spells it; an int on integer contracts, else a float."""
    flags: tuple[str, ...]
    """Of reasoning_stripped, repaired, coerced, normalised, invisible_removed."""
    span: tuple[int, int]
    """Where the value stands in the text as it was given."""


PAIRWISE = Contract(format="line", label="Verdict", menu=("A", "B", "tie"))

CHOICES = {
    "a": Choice.A, "a>>b": Choice.A, "a>b": Choice.A, "1": Choice.A,
    "b": Choice.B, "b>>a": Choice.B, "b>a": Choice.B, "2": Choice.B,
    "c": Choice.TIE, "a=b": Choice.TIE, "3": Choice.TIE, "tie": Choice.TIE, "tied": Choice.TIE,
    "equal": Choice.TIE, "draw": Choice.TIE,
}  # fmt: skip


def choice(
    text: str, contract: Contract = PAIRWISE, finish_reason: FinishReason = "stop"
) -> Choice:
    """Which of two responses the judge prefers.

    >>> choice("Verdict: A would be hasty. [...]\\n\\n**Verdict: B**")
    <Choice.B: 'b'>
    """
    return chosen(read(contract, text, finish_reason))


def chosen(reading: Reading) -> Choice:
    """What a reading of a pairwise contract says about A and B.

    Raises Unparsed where the menu was not pairwise.
    """
    try:
        return CHOICES[str(reading.value).casefold()]
    except KeyError:
        raise Unparsed("off_menu", f"{reading.value!r} does not choose between two") from None


def read(contract: Contract, text: str, finish_reason: FinishReason = "stop") -> Reading:
    """The verdict in a judge's reply.

    Raises Refused, Filtered, Truncated, or Unparsed whose ``why`` is one of: empty_content,
    no_verdict, missing_value, ambiguous, malformed, off_menu, out_of_range, wrong_denominator,
    fraction_on_integer, not_a_number, not_finite, too_long.

    >>> read(Contract(format="line", label="Score", low=1, high=5, integer=True), "Score: 4/5")
    Reading(value=4, flags=('coerced',), span=(7, 8))
    """
    if finish_reason == "refusal":
        raise Refused("the provider reports a refusal")
    if finish_reason == "content_filter":
        raise Filtered("the provider's content filter took the answer away")
    cut = finish_reason == "length"
    page = _without_reasoning(contract, _Page.of(text), cut)
    if not page.text.strip():
        if cut:
            raise Truncated("the answer ended before it began; allow more tokens")
        raise Unparsed("empty_content", "the reply holds no answer")
    if len(page.text) > LONGEST:
        raise Unparsed("too_long", f"an answer of {len(page.text)} characters is not a verdict")
    markers = _FINDERS[contract.format](contract, page.text, cut)
    return page.original(_decide(contract, markers, page.text, cut))


# ---- what a reader sees ----

# Default-ignorable code points, and the whole tag block: they print as nothing.
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]"
)
_OVERRIDES = frozenset("\u202d\u202e")
"""Bidirectional overrides make 12 print as 21."""


@dataclass(frozen=True, slots=True)
class _Page:
    """A text as it looks, and where each of its characters came from."""

    text: str
    raw: str
    where: Sequence[int]
    """One entry a character of ``text``: its index in ``raw``; and one for the end."""
    begins: int = 0
    """Where in ``raw`` the part that is read begins."""
    flags: tuple[str, ...] = ()

    @classmethod
    def of(cls, raw: str) -> "_Page":
        text = _without_end_tokens(raw)
        where: Sequence[int] = range(len(text) + 1)
        if not raw.isascii():
            if _INVISIBLE.search(raw):
                where = [i for i, c in enumerate(text) if not _INVISIBLE.match(c)]
                text, end = "".join([text[i] for i in where]), len(text)
                where.append(end)
            text = "".join([_plain(c) for c in text])
        return cls(text=text, raw=raw, where=where)

    def part(self, start: int, end: int) -> "_Page":
        if (start, end) == (0, len(self.text)):
            return self
        return _Page(
            text=self.text[start:end],
            raw=self.raw,
            where=self.where[start : end + 1],
            begins=self.where[start - 1] + 1 if start else 0,
            flags=("reasoning_stripped",),
        )

    def original(self, marker: "_Marker") -> Reading:
        """The marker's reading with its place and flags in terms of the raw text."""
        found = marker.outcome
        assert isinstance(found, Reading)
        start, end = found.span
        span = (self.where[start], self.where[end - 1] + 1)
        before = self.where[marker.start - 1] + 1 if marker.start else self.begins
        region = self.raw[before : self.where[marker.end]]
        flags = [*self.flags, *found.flags]
        if any(self.raw[self.where[i]] != self.text[i] for i in range(start, end)):
            flags.append("normalised")
        if _INVISIBLE.search(region):
            flags.append("invisible_removed")
            if end - start > 1 and not _OVERRIDES.isdisjoint(region):
                raise Unparsed("ambiguous", "characters around the verdict reverse its order")
        return Reading(value=found.value, flags=tuple(dict.fromkeys(flags)), span=span)


_END_TOKENS = (
    "</s>", "<eos>", "<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|end_of_text|>", "<|end|>",
    "<end_of_turn>", "<|return|>", "<｜end▁of▁sentence｜>",
)  # fmt: skip


def _without_end_tokens(raw: str) -> str:
    """A reply without the sign that it is over, where a local server lets it through."""
    for _ in range(3):
        body = raw.rstrip()
        token = next((t for t in _END_TOKENS if body.endswith(t)), None)
        if token is None:
            break
        raw = body.removesuffix(token)
    return raw


@lru_cache(maxsize=4096)
def _plain(character: str) -> str:
    """The ASCII form of a decimal digit of any script and of a full-width sign, else itself.

    Compatibility normalisation would do more, and too much: it makes 5² read 52.
    """
    if character.isascii():
        return character
    if (digit := unicodedata.decimal(character, None)) is not None:
        return str(digit)
    return chr(ord(character) - 0xFEE0) if "\uff01" <= character <= "\uff5e" else character


# ---- reasoning ----

_THOUGHT = (
    "think|thinking|thought|thoughts|reasoning|reasoning_content|reflection|scratchpad|analysis"
    "|internal_monologue|chain_of_thought|cot|seed:think|antml:thinking|antThinking"
)
_OPEN = re.compile(
    rf"<(?P<name>{_THOUGHT})\s?>|\[THINK\]|◁think▷|<\|begin_of_thought\|>|<\|START_THINKING\|>"
    r"|<\|channel\|>(?:analysis|commentary)<\|message\|>|<\|channel>thought",
    re.IGNORECASE,
)
_CLOSE = re.compile(
    rf"</(?P<name>{_THOUGHT})\s?>|\[/THINK\]|◁/think▷|<\|end_of_thought\|>|<\|END_THINKING\|>"
    r"|<\|channel\|>final<\|message\|>|<channel\|>",
    re.IGNORECASE,
)


def without_reasoning(text: str) -> str:
    """A reply as it was written, its reasoning aside."""
    start, end = _answer(text, tag="", objects=())
    return text[start:end]


def _without_reasoning(contract: Contract, page: _Page, cut: bool) -> _Page:
    objects: Sequence[loose_json.Object] = ()
    if contract.format == "json" and _CLOSE.search(page.text):
        found = loose_json.scan(page.text).objects
        objects = [o for o in found if _members(contract, page.text, o)[0]]
    start, end = _answer(page.text, tag=contract.tag, objects=objects)
    if cut and end < len(page.text):
        raise Truncated("the answer ended within the reasoning; allow more tokens")
    return page.part(start, end)


def _answer(text: str, *, tag: str, objects: Sequence[loose_json.Object]) -> tuple[int, int]:
    """From the last closing tag up to a block that never closes.

    A closing tag inside an object that holds a verdict is talk about tags and ends nothing.
    ``tag`` is the contract's own, which holds the verdict whatever its name.
    """
    tag = tag.strip("<>").casefold()

    def theirs(match: re.Match[str]) -> bool:
        return not tag or (match["name"] or "").casefold() != tag

    closers = [
        m for m in _CLOSE.finditer(text)
        if theirs(m) and not any(o.start < m.start() < o.end for o in objects)
    ]  # fmt: skip
    start = closers[-1].end() if closers else 0
    for opener in _OPEN.finditer(text, start):
        # In the middle of a line it is talk about tags.
        if theirs(opener) and not _before(text, opener.start(), start):
            return start, opener.start()
    return start, len(text)


def _before(text: str, position: int, floor: int = 0) -> str:
    """What stands before a position on its line, as far as one looks back."""
    floor = max(floor, position - _LOOK_BACK)
    return text[max(text.rfind("\n", floor, position) + 1, floor) : position].lstrip()


_LOOK_BACK = 200


# ---- markers ----


@dataclass(frozen=True, slots=True)
class _Marker:
    """One place that looks like a verdict."""

    start: int
    end: int
    outcome: Reading | Unparsed
    firm: bool = True
    """Whether it may decide; a mere mention may only contradict."""
    alone: bool = False
    """Whether nothing else stands on its lines."""
    closed: bool = True
    """Whether more text could not have changed it."""


_DRESS = re.compile(r"[\s*_`~\"'“”‘’«»>|#•-]*+(?:(?<=```)\w++\s*+)?")
_AFTER = re.compile(r"[\s*_`~\"'“”‘’«»|.!)\]}]*+")
_REFUSES = re.compile(
    r"\W*(?:i\b|we\b|(?:i'?m )?(?:very |so |truly )?sorry|(?:my )?apologies|unfortunately|as an? )"
    r".*?(?:\bcan(?:'t|not| not)|\bwon't|\bwill not|\b(?:un|not )(?:able|willing|comfortable)"
    r"|\bdecline)\b(?:\W+\w+){0,5}?\W+(?:help|assist|evaluat|judg|rat(?:e|ing)\b|grad(?:e|ing)\b"
    r"|scor|compar|compl|provid|continu|fulfil|answer|engag|participat|process|discuss|review"
    r"|assess|respond|support|decline|do (?:this|that|so)|with (?:this|that))"
    r"|\W*i(?: must|'ll have to| have to)?(?: respectfully)? decline\b"
    r"|\W*(?:很?抱歉|对不起|申し訳|lo siento|(?:je suis )?désolé|(?:es )?tut mir leid|извините)",
    re.IGNORECASE,
)


def _decide(contract: Contract, markers: Sequence[_Marker], text: str, cut: bool) -> _Marker:
    """A marker alone on the last line decides; otherwise all must agree.

    Of a reply that was cut only finished markers alone on their lines count: in the middle of
    a line it was still thinking aloud.
    """
    if cut:
        markers = [m for m in markers if m.alone and m.closed]
        if not any(m.firm for m in markers):
            raise Truncated("the answer ended before the verdict; allow more tokens")
    firm = [m for m in markers if m.firm]
    if not firm:
        return _whole_reply(contract, text)
    last = markers[-1]
    if last.firm and last.alone and _AFTER.fullmatch(text, last.end):
        return _settled(last)
    values = {m.outcome.value for m in markers if isinstance(m.outcome, Reading)}
    if len(values) > 1 or (values and any(isinstance(m.outcome, Unparsed) for m in firm)):
        raise Unparsed("ambiguous", "the reply holds different verdicts and no final line")
    return _settled(firm[-1])


def _settled(marker: _Marker) -> _Marker:
    if isinstance(marker.outcome, Unparsed):
        raise marker.outcome
    return marker


def _whole_reply(contract: Contract, text: str) -> _Marker:
    """No marker: a reply that is the bare value has one reading all the same; else why not."""
    start = len(text) - len(text.lstrip(" \t\r\n*_`"))
    end = len(text.rstrip(" \t\r\n*_`."))
    if end - start <= _WIDEST:
        try:
            found = _value(contract, text, start, end, exact=True)
        except Unparsed:
            pass
        else:
            found = replace(found, flags=(*found.flags, "coerced"))
            return _Marker(start, end, found)
    if _REFUSES.match(text[:300].replace("’", "'")):
        raise Refused(f"the judge declined: {text.strip()[:120]!r}")
    raise Unparsed("no_verdict", f"no verdict at the end of {text.strip()[-120:]!r}")


_LEAD = frozenset(
    ["so", "thus", "therefore", "hence", "and", "my", "our", "the", "final", "overall", "total"]
)
_NAMES = frozenset(
    {"verdict", "answer", "decision", "rating", "score", "judgment", "judgement", "grade"}
    | {"choice", "conclusion", "result", "winner", "is"}
)
_SENTENCE_END = re.compile(r"[.!?:;)\]>|]\s")
_NOT = re.compile(r"(?:\bnot|n['’]t|\bnever|\bthan|\bneither|\bnor|\binstead of)\W{0,4}\Z", re.I)


def _anchored(before: str) -> bool:
    """Whether a label after these words of its line opens a statement of its own."""
    clause = _SENTENCE_END.split(before)[-1]
    return all(w.casefold() in _LEAD for w in re.findall(r"\w+", clause.split("**")[-1]))


def _lines(contract: Contract, text: str, cut: bool) -> list[_Marker]:
    """``Verdict: A``, also in bold, as a heading with the verdict below, or as a table row."""
    markers = []
    for match in _few(_label(contract.label).finditer(text)):
        before = _before(text, match.start())
        stop = text.find("\n", match.end())
        stop = len(text) if stop < 0 else stop
        start, exact, sign = match.end(), False, match["sign"]
        dressed = _opens_line(before)
        if sign == "|":
            stop = min(stop, text.find("|", start) % (len(text) + 1))
        if not text[start:stop].strip(" \t\r*_`#-:"):
            # Nothing more on the line: the verdict is all of the next one.
            start, stop = _next_line(text, stop)
            exact = True
        elif not sign:
            continue
        try:
            outcome: Reading | Unparsed = _value(contract, text, start, stop, exact=exact)
        except Unparsed as failure:
            if not sign:
                continue
            outcome = Unparsed("missing_value", str(failure)) if exact else failure
        firm = _anchored(before)
        if firm or isinstance(outcome, Reading):
            markers.append(
                _Marker(
                    match.start(), stop, outcome,
                    firm=firm,
                    alone=firm and (dressed or not _SENTENCE_END.search(before)),
                    closed=stop < len(text),
                )
            )  # fmt: skip
    return markers


@lru_cache(maxsize=256)
def _label(label: str) -> re.Pattern[str]:
    """The label as whole words, perhaps a remark such as (1-5), and what sets off its value."""
    words = r"\s+".join(map(re.escape, label.split()))
    return re.compile(
        rf"(?<![\w-]){words}(?!\w)[ \t*_`\"'”’]*+"
        r"(?:[(\[][^()\[\]\n]{0,40}[)\]][ \t*_`\"'”’]*+)?(?P<sign>[:=|]|->|→)?",
        re.IGNORECASE,
    )


def _next_line(text: str, start: int) -> tuple[int, int]:
    """The next line that says anything."""
    skip = _NOTHING.match(text, start)
    start = skip.end() if skip else start
    stop = text.find("\n", start)
    return start, len(text) if stop < 0 else stop


_NOTHING = re.compile(r"[\s*_`>]*+")
_MANY = 500


def _few(matches: Iterable[re.Match[str]]) -> Iterator[re.Match[str]]:
    """The matches, unless there are so many that no reading could be told from another."""
    for count, match in enumerate(matches):
        if count == _MANY:
            raise Unparsed("ambiguous", f"more than {_MANY} places look like a verdict")
        yield match


_BRACKET = re.compile(r"\\?\[\\?\[([^\[\]\n]{0,80}?)\\?\]\\?\]")
_WIDEST = 80


def _brackets(contract: Contract, text: str, cut: bool) -> list[_Marker]:
    """``[[A]]``, wherever it stands."""
    markers = []
    for match in _few(_BRACKET.finditer(text)):
        before = _before(text, match.start())
        markers.append(
            _Marker(
                match.start(), match.end(),
                _outcome(contract, text, match.start(1), match.end(1)),
                firm=not _NOT.search(before[-24:]),
                alone=_leads_in(contract, before) and _ends_line(text, match.end()),
            )
        )  # fmt: skip
    return markers


def _opens_line(before: str) -> bool:
    return _DRESS.fullmatch(before) is not None


def _leads_in(contract: Contract, before: str) -> bool:
    """Whether a marker after these words still has its line to itself: ``Final verdict: [[A]]``."""
    words = re.findall(r"\w+", before.casefold())
    if not words:
        return _opens_line(before)
    named = before.rstrip(" \t*_`").endswith(":") or words[-1] == "is"
    return named and _LEAD.union(_NAMES, contract.label.casefold().split()).issuperset(words)


def _ends_line(text: str, position: int) -> bool:
    after = _AFTER.match(text, position)
    end = after.end() if after else position
    return end == len(text) or "\n" in text[position:end]


def _tags(contract: Contract, text: str, cut: bool) -> list[_Marker]:
    """``<verdict>A</verdict>``, or a lone tag such as ``[RESULT]`` with its value after it."""
    if not contract.tag.strip("<>").replace("_", "").replace("-", "").isalnum():
        return _lone_tags(contract, text)
    name = re.escape(contract.tag.strip("<>"))
    tags = list(_few(re.finditer(rf"<(/?){name}\s?>", text, re.IGNORECASE)))
    markers = []
    for opener, closer in zip(tags, [*tags[1:], None], strict=False):
        if opener[1]:
            continue
        closed = closer is not None and bool(closer[1])
        start, (_, line_end) = opener.end(), _next_line(text, opener.end())
        stop = closer.start() if closer and closed else line_end
        end = closer.end() if closer and closed else line_end
        outcome = _outcome(contract, text, start, stop)
        if not closed and isinstance(outcome, Reading):
            outcome = replace(outcome, flags=(*outcome.flags, "repaired"))
        before = _before(text, opener.start())
        markers.append(
            _Marker(
                opener.start(), end, outcome,
                firm=not _NOT.search(before[-24:]),
                alone=_leads_in(contract, before) and _ends_line(text, end),
                closed=closed,
            )
        )  # fmt: skip
    return markers


def _lone_tags(contract: Contract, text: str) -> list[_Marker]:
    markers = []
    pattern = re.compile(re.escape(contract.tag) + r"[ \t*_`]*+:?", re.IGNORECASE)
    for match in _few(pattern.finditer(text)):
        start, stop = _next_line(text, match.end())
        before = _before(text, match.start())
        try:
            outcome: Reading | Unparsed = _value(contract, text, start, stop)
        except Unparsed as failure:
            outcome = failure
        markers.append(
            _Marker(
                match.start(), stop, outcome,
                firm=not _NOT.search(before[-24:]),
                alone=_leads_in(contract, before),
                closed=stop < len(text),
            )
        )  # fmt: skip
    return markers


def _objects(contract: Contract, text: str, cut: bool) -> list[_Marker]:
    """Objects that have the key."""
    scan = loose_json.scan(text)
    markers = []
    for found in scan.objects:
        members, inner, coerced = _members(contract, text, found)
        if not members:
            continue
        outcomes = [_member(contract, text, m) for m in members]
        outcome = outcomes[0]
        if any(_said(o) != _said(outcome) for o in outcomes):
            outcome = Unparsed("ambiguous", f"the key {contract.key!r} has different values")
        if isinstance(outcome, Reading):
            repaired = found.repaired or inner.repaired
            flags = outcome.flags + ("repaired",) * repaired + ("coerced",) * coerced
            outcome = replace(outcome, flags=flags)
        alone = _opens_line(_before(text, found.start).strip("[ ")) and _ends_line(text, found.end)
        closed = text[found.end - 1] == "}"
        markers.append(_Marker(found.start, found.end, outcome, alone=alone, closed=closed))
    if scan.unclosed and cut:
        raise Truncated("the answer ended within its JSON object; allow more tokens")
    if scan.unclosed or scan.broken:
        last = markers[-1] if markers else None
        if not last or scan.unclosed or not (last.alone and _AFTER.fullmatch(text, last.end)):
            raise Unparsed("malformed", "an object of the reply is not JSON, even with good will")
    if scan.objects and not markers and not cut:
        raise Unparsed("missing_value", f"no {contract.key!r} in the object of the reply")
    return markers


def _said(outcome: Reading | Unparsed) -> object:
    return outcome.value if isinstance(outcome, Reading) else outcome.why


def _members(
    contract: Contract, text: str, found: loose_json.Object
) -> tuple[list[loose_json.Member], loose_json.Object, bool]:
    """The members under the key, the object that has them, and whether that took good will."""
    inner = loose_json.unwrapped(text, found)
    key = contract.key.casefold()
    if any(m.key.strip().casefold() == key for m in found.members):
        inner = found
    members = [m for m in inner.members if m.key.strip().casefold() == key]
    return members, inner, inner is not found or any(m.key != contract.key for m in members)


def _member(contract: Contract, text: str, member: loose_json.Member) -> Reading | Unparsed:
    lexeme = text[member.start : member.end]
    numeric = not contract.menu
    if member.kind == "nested" or (numeric and lexeme.casefold() in ("true", "false")):
        return Unparsed("not_a_number" if numeric else "off_menu", f"{lexeme[:40]} is no verdict")
    if member.kind == "string" and "\\" in lexeme and (said := loose_json.string(lexeme)) != lexeme:
        plain = "".join([_plain(c) for c in said])
        found = _outcome(contract, plain, 0, len(plain))
        if isinstance(found, Reading):
            flags = found.flags + ("normalised",) * (plain != said)
            found = replace(found, flags=flags, span=(member.start, member.end))
    else:
        found = _outcome(contract, text, member.start, member.end)
    if numeric and member.kind == "string" and isinstance(found, Reading):
        found = replace(found, flags=(*found.flags, "coerced"))
    return found


def _bare(contract: Contract, text: str, cut: bool) -> list[_Marker]:
    """The first line and the last, where they are a value and nothing else."""
    markers = []
    body = text.rstrip(" \t\r\n*_`~")
    first = _next_line(text, 0)
    last = (body.rfind("\n") + 1, len(body))
    for start, stop in sorted({(first[0], min(first[1], len(body))), last}):
        try:
            outcome = _value(contract, text, start, stop, exact=True)
        except Unparsed as failure:
            whole = start == first[0] and stop == len(body)
            if whole and failure.why not in ("not_a_number", "off_menu"):
                raise
            continue
        markers.append(_Marker(start, stop, outcome, alone=True, closed="\n" in text[stop:]))
    return markers


def _sentences(contract: Contract, text: str, cut: bool) -> list[_Marker]:
    """``Output (a) is better``; the last sentence of the reply stands for the last line."""
    markers = []
    previous = 0
    for match in _few(_phrases(contract).winner.finditer(text)):
        begins = max(text.rfind(c, previous, match.start()) for c in ".!?\n") + 1
        clause = text[max(begins, match.start() - 200) : match.start()]
        last = (
            not cut
            and begins >= previous
            and len(text) - match.end() <= _LONG_SENTENCE
            and _LAST_CLAUSE.fullmatch(text, match.end()) is not None
        )
        value = _phrases(contract).entry(match["word"])
        markers.append(
            _Marker(
                match.start(), len(text) if last else match.end(),
                Reading(value=value, flags=("coerced",), span=match.span("word")),
                firm=not _HEDGE.search(clause) and not _ONLY_IF.match(text, match.end()),
                alone=last,
                closed=match.end() < len(text),
            )
        )  # fmt: skip
        previous = match.end()
    return markers


_LONG_SENTENCE = 400
_LAST_CLAUSE = re.compile(r"[^.!?\n]*+[\s.!\"'*”’)]*+")
_ONLY_IF = re.compile(r"\W*(?:only\s+)?(?:if|when|unless|in terms)\b", re.IGNORECASE)
_HEDGE = re.compile(
    r"\b(?:not|never|neither|nor|if|whether|cannot|unless|although|though|agree|claims?|says?)\b"
    r"|n['’]t\b", re.IGNORECASE,
)  # fmt: skip

_FINDERS: dict[Format, Callable[[Contract, str, bool], list[_Marker]]] = {
    "line": _lines,
    "bracket": _brackets,
    "json": _objects,
    "tag": _tags,
    "bare": _bare,
    "sentence": _sentences,
}

# ---- values ----

_SLOT = 4000
"""Characters of a line, from its label on, that are read; an endless remark is no remark."""
_OPENS = re.compile(r"[\s*_`\"'“”‘’«(\[$]*+")
_OPENS_EXACT = re.compile(r"[\s*_`(]*+")
_CLOSES = re.compile(r"[\s*_`~\"'”’»)\]$]*+")
_STOPS = re.compile(r"[\s*_`~\"'”’»)\]$]*+[.!]?[\s*_`~\"'”’»)\]$|\\]*+")
_REMARK = re.compile(
    r"(?:[.,;:!(\[—–]|-\s|(?:because|since|as|due to)\b)[\s*_`~\"'“”‘’(\[]*+", re.IGNORECASE
)
_HESITATES = re.compile(r"(?:and|or|nor|to|vs|versus|maybe|perhaps|possibly|if|not)\b|\.", re.I)
_RETRACTS = re.compile(r"\b(?:wait|actually|correction|rather|on second thought)\b", re.I)
_ABSENT = frozenset(["", "n/a", "na", "n.a", "null", "none", "nil", "-", "–", "—", "?", "..."])
_NUMBER = re.compile(r"[+−-]?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_NUMBER_WORDS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
)  # fmt: skip
_ANY_NUMBER = re.compile(rf"{_NUMBER.pattern}|(?:{'|'.join(_NUMBER_WORDS)})\b", re.IGNORECASE)
_OUT_OF = re.compile(r"[\s*_`]*+(?:/|\bout\s+of\b|\bof\b)[\s*_`]*+([0-9]+(?:\.[0-9]+)?)", re.I)
_UNIT = re.compile(r"(?:\s*+%|[\s-]?(?:stars?|points?|pts?|marks?)\b)", re.I)


def _outcome(contract: Contract, text: str, start: int, stop: int) -> Reading | Unparsed:
    """A slot that holds the value and nothing else."""
    try:
        return _value(contract, text, start, stop, exact=True)
    except Unparsed as failure:
        return failure


def _value(contract: Contract, text: str, start: int, stop: int, *, exact: bool = False) -> Reading:
    """The value that opens a slot; unless ``exact``, a remark set off from it may follow."""
    slot = text[start : min(stop, start + _SLOT)]
    said = slot.strip(" \t\r\n*_`~").rstrip(".!").strip(" \t*_`~\"'").casefold()
    if said in _ABSENT:
        raise Unparsed("missing_value", "the verdict was left open")
    dress = (_OPENS_EXACT if exact else _OPENS).match(slot)
    begin = dress.end() if dress else 0
    if contract.menu:
        value, coerced, span, end = _word(contract, slot, begin)
    else:
        value, coerced, span, end = _number(contract, slot, begin, said)
    _nothing_else(contract, slot, end, value, exact=exact)
    return Reading(
        value=value,
        flags=("coerced",) * coerced,
        span=(start + span[0], start + span[1]),
    )


_Core = tuple[str | float | int, bool, tuple[int, int], int]
"""A value, whether it was coerced, where it stands, and where all that belongs to it ends."""


def _number(contract: Contract, slot: str, begin: int, said: str) -> _Core:
    match = _NUMBER.match(slot, begin)
    if match is None:
        if said.lstrip("+-") in ("nan", "inf", "infinity"):
            raise Unparsed("not_finite", f"{said} is no score")
        if said not in _NUMBER_WORDS:
            raise Unparsed("not_a_number", f"{slot.strip()[:40]!r} is no number")
        value: float = _NUMBER_WORDS.index(said)
        span = (begin, begin + len(said))
        return _in_range(contract, value), True, span, span[1]
    lexeme, end, coerced = match.group().replace("−", "-"), match.end(), False
    value = float(lexeme)
    if not isfinite(value):
        raise Unparsed("not_finite" if "e" in lexeme.lower() else "out_of_range", "far too large")
    if below := _OUT_OF.match(slot, end):
        if float(below[1]) != contract.high:
            raise Unparsed("wrong_denominator", f"{below.group().strip()} on another scale")
        coerced, end = True, below.end()
    if unit := _UNIT.match(slot, end):
        if "%" in unit.group() and contract.high != 100:
            raise Unparsed("wrong_denominator", "a percentage on another scale")
        coerced, end = True, unit.end()
    _in_range(contract, value)
    if not contract.integer:
        return value, coerced, match.span(), end
    exact = Decimal(lexeme)
    if exact != exact.to_integral_value():
        raise Unparsed("fraction_on_integer", f"{lexeme[:40]} where whole numbers are on offer")
    return int(value), coerced or lexeme != str(int(value)), match.span(), end


def _in_range(contract: Contract, value: float) -> float:
    assert contract.low is not None
    assert contract.high is not None
    if not contract.low <= value <= contract.high:
        raise Unparsed("out_of_range", f"{value:g} is not in {contract.low:g} to {contract.high:g}")
    return value


def _word(contract: Contract, slot: str, begin: int) -> _Core:
    match = _phrases(contract).slot.match(slot, begin)
    if match is None:
        raise Unparsed("off_menu", f"{slot.strip()[:40]!r} was not on offer")
    entry = _phrases(contract).entry(match["word"])
    if match["noun"] and len(entry) > _SHORT:
        raise Unparsed("off_menu", f"{slot.strip()[:40]!r} was not on offer")
    return entry, match.group() != entry, match.span("word"), match.end()


def _nothing_else(
    contract: Contract, slot: str, end: int, value: str | float | int, *, exact: bool
) -> None:
    """What follows a value may praise or explain it, but not compete with it."""
    if _STOPS.fullmatch(slot, end):
        return
    closes = _CLOSES.match(slot, end)
    after = closes.end() if closes else end
    phrases = _phrases(contract) if contract.menu else None
    if phrases and (wins := phrases.wins.match(slot, after)):
        rivals = (phrases.entry(m["word"]) for m in phrases.winner.finditer(slot, after))
        if all(rival == value for rival in rivals) and not _ONLY_IF.match(slot, wins.end()):
            return
        raise Unparsed("ambiguous", "more than one is called better")
    remark = None if exact or len(slot) == _SLOT else _REMARK.match(slot, after)
    if remark is None or _HESITATES.match(slot, remark.end()) or _RETRACTS.search(slot, after):
        raise Unparsed(
            "off_menu" if contract.menu else _how_it_goes_on(slot, end),
            f"{slot.strip()[:40]!r} is more than a verdict",
        )
    if phrases is None:
        if _ANY_NUMBER.match(slot, remark.end()):
            raise Unparsed("ambiguous", f"{slot.strip()[:40]!r} has more than one number")
    elif (rival := phrases.slot.match(slot, remark.end())) and phrases.entry(
        rival["word"]
    ) != value:
        # "B - Response A misses the point" explains; "A, B" and "C (Incorrect)" compete.
        beyond = _CLOSES.match(slot, rival.end())
        rest = beyond.end() if beyond else rival.end()
        if not rival["noun"] or rest == len(slot) or phrases.wins.match(slot, rest):
            raise Unparsed("ambiguous", f"{slot.strip()[:40]!r} names two verdicts")


def _how_it_goes_on(slot: str, end: int) -> str:
    return (
        "ambiguous"
        if slot[end : end + 1] in {" ", "-", "–", "—", "/", ",", "~"}
        else "not_a_number"
    )


# ---- menus ----

_SHORT = 2
"""Characters of an entry that may carry a noun: Response B, Output (a), Assistant 2."""
_NOUN = (
    r"(?:the\s+)?(?:ai\s+)?"
    r"(?:responses?|assistant|model|outputs?|answer|option|candidate|system|reply|completion|choice)"
)
_WINS = (
    r"\s+(?:wins|(?:is|was|are)\s+(?:(?:clearly|slightly|much|marginally|significantly|overall|far"
    r"|also|therefore|thus)\s+){0,2}(?:the\s+)?"
    r"(?:better|superior|stronger|preferred|preferable|best|winner))\b"
)
_TIE = ("tie", "a tie", "it's a tie", "tied", "draw", "a draw", "equal", "equally good")
_FULL_NAMES = {
    "C": ("correct",),
    "I": ("incorrect",),
    "P": ("partially correct", "partly correct", "partial", "partially"),
    "N": ("no answer", "noanswer", "not attempted"),
}
_INFLECTED = {"pass": ("passed", "passes"), "fail": ("failed", "fails")}


@dataclass(frozen=True, slots=True)
class _Phrases:
    """A menu as patterns."""

    slot: re.Pattern[str]
    """An entry or a synonym, as a whole word, where the pattern is matched."""
    winner: re.Pattern[str]
    """``Output (a) is better``, wherever it is found."""
    wins: re.Pattern[str]
    menu: tuple[str, ...]
    folded: dict[str, str]

    def entry(self, word: str) -> str:
        if word in self.menu:
            return word
        try:
            return self.folded[_fold(word)]
        except KeyError:
            raise Unparsed("off_menu", f"{word!r} was not on offer") from None


@lru_cache(maxsize=256)
def _phrases(contract: Contract) -> _Phrases:
    folded: dict[str, str] = {}
    twice = set()
    for entry in contract.menu:
        if folded.setdefault(_fold(entry), entry) != entry:
            twice.add(_fold(entry))
    for entry in contract.menu:
        for name in _other_names(contract.menu, entry):
            folded.setdefault(_fold(name), entry)
    for name, entry in contract.synonyms:
        folded[_fold(name)] = entry
    words = "|".join(_pattern(w) for w in sorted(folded, key=len, reverse=True))
    ends = r"(?![\w+%&#/]|\s*[<>=/]|[’'-]\w|-)"
    core = rf"(?P<word>{words}){ends}"
    return _Phrases(
        slot=re.compile(rf"(?P<noun>{_NOUN}[\s#_-]*\(?\s*)?{core}", re.IGNORECASE),
        winner=re.compile(
            rf"\b(?P<noun>{_NOUN}[\s#_-]*\(?\s*){core}[)\]*_\"”]*{_WINS}", re.IGNORECASE
        ),
        wins=re.compile(_WINS.removeprefix(r"\s+"), re.IGNORECASE),
        menu=contract.menu,
        folded={word: entry for word, entry in folded.items() if word not in twice},
    )


def _other_names(menu: tuple[str, ...], entry: str) -> Sequence[str]:
    if entry.casefold() in ("tie", "draw", "equal", "a=b"):
        return _TIE
    if set(menu) <= set(_FULL_NAMES):
        return _FULL_NAMES[entry]
    return _INFLECTED.get(entry.casefold(), ())


def _fold(word: str) -> str:
    """Case, kinds of space and the spelling of > carry no meaning."""
    word = word.casefold().replace("&gt;", ">").replace("&lt;", "<")
    word = re.sub(r"\s*([<>=])\s*", r"\1", word)
    return re.sub(r"[\s_-]+", " ", word)


def _pattern(folded: str) -> str:
    signs = {">": r"\s*(?:>|&gt;)\s*", "<": r"\s*(?:<|&lt;)\s*", "=": r"\s*=\s*", " ": r"[\s_-]+"}
    return "".join(signs.get(c, re.escape(c)) for c in folded)
