"""From what a judge wrote to what it decided, or the reason why that cannot be told.

    text ──► what a reader sees ──► after the reasoning ──► markers ──► the one that decides
             invisible characters    <think>…</think> never   Verdict: A     alone on the last line,
             gone, any digits ASCII  holds a verdict          [[A]] {…} …    else all must agree

A contract says which form a verdict has and which words or numbers are on offer. Anything else
is no verdict: nothing is clamped, rescaled, rounded or searched for elsewhere. Repairs are made
only where a single reading exists, and are flagged. Every step is linear in the text.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from twopan.errors import Filtered, Refused, Truncated, Unparsed
from twopan.protocols import loose_json
from twopan.protocols.contract import Contract, Format, Reading
from twopan.protocols.values import (
    LONGEST_SLOT,
    ONLY_IF,
    outcome_of,
    overturned,
    phrases_of,
    read_value,
)
from twopan.protocols.visible import CLOSE, Page, answer, plain, without_reasoning, words_before
from twopan.providers import FinishReason
from twopan.verdict import Choice

__all__ = [
    "CHOICES",
    "PAIRWISE",
    "Contract",
    "Reading",
    "choice",
    "chosen",
    "read",
    "without_reasoning",
]

LONGEST = 128_000
"""Characters of an answer, without its reasoning, beyond which it is not read."""

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
    page = _without_reasoning(contract, Page.of(text), cut)
    if not page.text.strip():
        if cut:
            raise Truncated("the answer ended before it began; allow more tokens")
        raise Unparsed("empty_content", "the reply holds no answer")
    if len(page.text) > LONGEST:
        raise Unparsed("too_long", f"an answer of {len(page.text)} characters is not a verdict")
    markers = _FINDERS[contract.format](contract, page.text, cut)
    found, span = _decide(contract, markers, page.text, cut)
    return page.original(found, span)


def _without_reasoning(contract: Contract, page: Page, cut: bool) -> Page:
    answers: Sequence[tuple[int, int]] = ()
    if contract.format == "json" and CLOSE.search(page.text):
        found = loose_json.scan(page.text).objects
        answers = [(o.start, o.end) for o in found if _members(contract, page.text, o)[0]]
    start, end = answer(page.text, tag=contract.tag, answers=answers)
    if cut and end < len(page.text):
        raise Truncated("the answer ended within the reasoning; allow more tokens")
    return page.part(start, end)


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
_AFTER = re.compile(r"[\s*_`~\"'“”‘’«»|.!)\]}-]*+")
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


_Decision = tuple[Reading, tuple[int, int]]
"""What was decided, and where the marker of it stands."""


def _decide(contract: Contract, markers: Sequence[_Marker], text: str, cut: bool) -> _Decision:
    """A marker alone on the last line decides; otherwise all must agree, or it had to be there.

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
    if contract.final and cut:
        raise Truncated("the answer ended before the verdict; allow more tokens")
    values = {m.outcome.value for m in markers if isinstance(m.outcome, Reading)}
    if len(values) > 1 or (values and any(isinstance(m.outcome, Unparsed) for m in firm)):
        raise Unparsed("ambiguous", "the reply holds different verdicts and no final line")
    if contract.final:
        raise Unparsed("no_verdict", f"no verdict alone on the last line: {text.strip()[-120:]!r}")
    return _settled(firm[-1])


def _settled(marker: _Marker) -> _Decision:
    if isinstance(marker.outcome, Unparsed):
        raise marker.outcome
    return marker.outcome, (marker.start, marker.end)


def _whole_reply(contract: Contract, text: str) -> _Decision:
    """No marker: a reply that is the bare value has one reading all the same; else why not."""
    start = len(text) - len(text.lstrip(" \t\r\n*_`"))
    end = len(text.rstrip(" \t\r\n*_`."))
    if end - start <= _WIDEST:
        try:
            found = read_value(contract, text, start, end, exact=True)
        except Unparsed:
            pass
        else:
            found = replace(found, flags=(*found.flags, "coerced"))
            return found, (start, end)
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
    return _LEAD.issuperset(_words(clause.split("**")[-1]))


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


def _lines(contract: Contract, text: str, cut: bool) -> list[_Marker]:
    """``Verdict: A``, also in bold, as a heading with the verdict below, or as a table row."""
    markers = []
    for match in _few(_label(contract.label).finditer(text)):
        before = words_before(text, match.start())
        stop = text.find("\n", match.end())
        stop = len(text) if stop < 0 else stop
        start, exact, sign = match.end(), False, match["sign"]
        if sign == "|":
            stop = min(stop, text.find("|", start) % (len(text) + 1))
        if not text[start:stop].strip(" \t\r*_`#-:"):
            # Nothing more on the line: the verdict is all of the next one.
            start, stop = _next_line(text, stop)
            exact = True
        elif not sign:
            continue
        try:
            outcome: Reading | Unparsed = read_value(contract, text, start, stop, exact=exact)
        except Unparsed as failure:
            if not sign:
                continue
            outcome = Unparsed("missing_value", str(failure)) if exact else failure
        firm = _anchored(before)
        quoted = contract.final and before.startswith(">")
        if firm or isinstance(outcome, Reading):
            markers.append(
                _Marker(
                    match.start(), stop, outcome,
                    firm=firm,
                    alone=firm and not quoted and _announces(contract).issuperset(_words(before)),
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
        before = words_before(text, match.start())
        markers.append(
            _Marker(
                match.start(), match.end(),
                outcome_of(contract, text, match.start(1), match.end(1)),
                firm=not _NOT.search(before[-24:]),
                alone=_leads_in(contract, before) and _ends_line(text, match.end()),
            )
        )  # fmt: skip
    return markers


def _opens_line(before: str) -> bool:
    return _DRESS.fullmatch(before) is not None


def _leads_in(contract: Contract, before: str) -> bool:
    """Whether a marker after these words still has its line to itself: ``Final verdict: [[A]]``."""
    words = _words(before)
    if not words:
        return _opens_line(before)
    named = before.rstrip(" \t*_`").endswith(":") or words[-1] == "is"
    return named and _announces(contract).issuperset(words)


def _announces(contract: Contract) -> frozenset[str]:
    """The words that may stand before a verdict and still leave it alone on its line."""
    return _LEAD.union(_NAMES, contract.label.casefold().split())


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
        outcome = outcome_of(contract, text, start, stop)
        if not closed and isinstance(outcome, Reading):
            outcome = replace(outcome, flags=(*outcome.flags, "repaired"))
        before = words_before(text, opener.start())
        markers.append(
            _Marker(
                opener.start(), end, outcome,
                firm=not _NOT.search(before[-24:]),
                alone=_leads_in(contract, before) and _ends_line(text, end),
                closed=closed,
            )
        )  # fmt: skip
    return markers


_QUOTE = re.compile(r"[\"'“‘«`]\Z")


def _lone_tags(contract: Contract, text: str) -> list[_Marker]:
    markers = []
    pattern = re.compile(re.escape(contract.tag) + r"[ \t*_`]*+:?", re.IGNORECASE)
    for match in _few(pattern.finditer(text)):
        start, stop = _next_line(text, match.end())
        before = words_before(text, match.start())
        alone = _leads_in(contract, before)
        mention = _NOT.search(before[-24:])
        if contract.final:
            # It closes a paragraph, whatever the last words of that; one in quotes is a mention.
            mention = None if alone else _QUOTE.search(before)
            alone = not before.startswith(">")
        try:
            outcome: Reading | Unparsed = read_value(contract, text, start, stop)
        except Unparsed as failure:
            outcome = failure
        markers.append(
            _Marker(
                match.start(), stop, outcome,
                firm=not mention,
                alone=alone,
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
        alone = _opens_line(words_before(text, found.start).strip("[ ")) and _ends_line(
            text, found.end
        )
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
        found = outcome_of(contract, plain(said), 0, len(said))
        if isinstance(found, Reading):
            flags = found.flags + ("normalised",) * (plain(said) != said)
            found = replace(found, flags=flags, span=(member.start, member.end))
    else:
        found = outcome_of(contract, text, member.start, member.end)
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
            found = read_value(contract, text, start, stop, exact=True)
        except Unparsed as failure:
            whole = start == first[0] and stop == len(body)
            if whole and failure.why not in ("not_a_number", "off_menu"):
                raise
            continue
        outcome: Reading | Unparsed = found
        if overturned(contract, text[stop : stop + LONGEST_SLOT], found.value):
            outcome = Unparsed("ambiguous", "the reply takes its first line back")
        markers.append(_Marker(start, stop, outcome, alone=True, closed="\n" in text[stop:]))
    return markers


def _sentences(contract: Contract, text: str, cut: bool) -> list[_Marker]:
    """``Output (a) is better``; the last sentence of the reply stands for the last line."""
    markers = []
    previous = 0
    for match in _few(phrases_of(contract).winner.finditer(text)):
        begins = max(text.rfind(c, previous, match.start()) for c in ".!?\n") + 1
        clause = text[max(begins, match.start() - 200) : match.start()]
        last = (
            not cut
            and begins >= previous
            and len(text) - match.end() <= _LONG_SENTENCE
            and _LAST_CLAUSE.fullmatch(text, match.end()) is not None
        )
        value = phrases_of(contract).entry(match["word"])
        markers.append(
            _Marker(
                match.start(), len(text) if last else match.end(),
                Reading(value=value, flags=("coerced",), span=match.span("word")),
                firm=not _HEDGE.search(clause) and not ONLY_IF.match(text, match.end()),
                alone=last,
                closed=match.end() < len(text),
            )
        )  # fmt: skip
        previous = match.end()
    return markers


_LONG_SENTENCE = 400
_LAST_CLAUSE = re.compile(r"[^.!?\n]*+[\s.!\"'*”’)]*+")
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
