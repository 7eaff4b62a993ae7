"""Screening: what in the data looks like an attempt on the judge. It is shown, and never removed.

    each response          ──► does it speak to a judge?         ──► by_item
    all that a system said ──► does it depend on what was asked? ──► by_system, blocks

These are flags and no filter. Whoever reads the patterns can write around them, and optimised
gibberish (Shi et al. 2024) needs none of these words; what holds are the fence, both orders and a
parser that reads the judge's reply alone. Nor is a flag guilt: an answer about chat templates
holds role tokens. Nothing is taken out, for that would change what is judged.

A judge can also be won without speaking to it: by one reply to everything (Zheng et al. 2024) or
by one phrase on every reply (Raina et al. 2024). Those show only over many rows.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Literal, TypeVar

from twopan.data import Pair

Kind = Literal[
    "injection_suspected",
    "delimiter_in_candidate",
    "role_tokens",
    "invisible",
    "empty",
    "constant_reply",
    "shared_prefix",
    "shared_suffix",
    "shared_phrase",
]
Words = tuple[str, ...]
Fits = Callable[[str, str], bool]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Flag:
    kind: Kind
    side: Literal["a", "b"] | None
    """Where the response was first seen; None where the flag is about all of a system."""
    detail: str
    """What was found, for a person; printable, whatever the data holds."""


@dataclass(frozen=True, kw_only=True)
class Screening:
    by_item: Mapping[str, tuple[Flag, ...]]
    """By item id; an item without a flag is not in it."""
    by_system: Mapping[str, tuple[Flag, ...]]
    blocks: tuple[str, ...] = ()
    """Why no decision should rest on this data unless someone who has looked at it allows it."""

    def details(self) -> dict[str, list[str]]:
        """What was found, by item id, each with the response it was found in."""
        whose = {"a": "candidate: ", "b": "baseline: ", None: ""}
        return {
            item: [f"{whose[flag.side]}{flag.kind}: {flag.detail}" for flag in flags]
            for item, flags in self.by_item.items()
        }

    def lines(self) -> list[str]:
        """Short sentences, for a terminal and a report; none where nothing was found."""
        items: dict[Kind, dict[str, str]] = {}
        for item, flags in self.by_item.items():
            for flag in flags:
                items.setdefault(flag.kind, {}).setdefault(item, flag.detail)
        found = [
            f"{kind}: {len(details)} item{'s' * (len(details) > 1)}, such as "
            + "; ".join(f"{shown(item)}: {detail}" for item, detail in list(details.items())[:3])
            for kind, details in items.items()
        ]
        return found + [
            f"{flag.kind}: {shown(system)}: {flag.detail}"
            for system, flags in self.by_system.items()
            for flag in flags
        ]


def screen(pairs: Sequence[Pair]) -> Screening:
    """Look over all responses once. Time and memory are linear in the text."""
    by_item: dict[str, dict[Flag, None]] = {}
    asked: dict[str, dict[str, str]] = {}
    seen: set[tuple[str, str, str]] = set()
    for pair in pairs:
        for side, response in (("a", pair.a), ("b", pair.b)):
            # Rows count as unrelated by what was asked: sampling one item often proves nothing.
            asked.setdefault(pair.item.instruction, {}).setdefault(response.system, response.text)
            if (key := (pair.item.id, response.system, response.text)) in seen:
                continue
            seen.add(key)
            for kind, detail in found_in(response.text):
                flag = Flag(kind, "a" if side == "a" else "b", detail)
                by_item.setdefault(pair.item.id, {})[flag] = None
    replies: dict[str, dict[str, str]] = {}
    for instruction, texts in asked.items():
        for system, text in texts.items():
            replies.setdefault(system, {})[instruction] = text
    by_system, blocks = {}, []
    for system, told in replies.items():
        rivals = (
            next((text for name, text in asked[instruction].items() if name != system), None)
            for instruction in told
        )
        others = [text for text in rivals if text is not None]
        flags, blocking = found_over(list(told), list(told.values()), others)
        if flags:
            by_system[system] = flags
        if blocking:
            blocks += [f"{flag.kind}: {shown(system)}: {flag.detail}" for flag in flags]
    blocks += ordering(by_item, {pair.item.id for pair in pairs})
    return Screening(
        by_item={item: tuple(flags) for item, flags in by_item.items()},
        by_system=by_system,
        blocks=tuple(blocks),
    )


def ordering(by_item: Mapping[str, Iterable[Flag]], items: set[str]) -> list[str]:
    """Why not to decide where one side gives orders to the judge in many items: three or more,
    and one in twenty. Honest answers are taken for orders in fewer than one in a thousand."""
    count = Counter(
        flag.side
        for flags in by_item.values()
        for flag in {f.side: f for f in flags if f.kind == "injection_suspected"}.values()
    )
    names = {"a": "the candidate", "b": "the baseline"}
    return [
        f"injection_suspected: {names[side]} speaks to the judge in {n} of {len(items)} items"
        for side, n in sorted(count.items())
        if side is not None and n >= 3 and n * 20 >= len(items)
    ]


# One response. Every gap is bounded, so that no text can make a pattern slow.

NEAR = 120
"""Characters on either side of a judge within which an order and a verdict speak to it."""

JUDGE = re.compile(
    r"""(?<!\w) (?: (?:evaluator|judge|grader|assessor|rater|annotator|reviewer|referee|examiner)s?
      | (?:language|ai|judging|evaluation)[ ]model | llm | ai[ ]assistant ) (?!\w)""",
    re.IGNORECASE | re.VERBOSE,
)

ORDER = re.compile(
    r"""(?<!\w) (?: output|print|reply|respond|answer|write|return|say|choose|select|pick|prefer
      | declare|rank|rate|score|grade|give|award|assign|vote|conclude|must|should ) (?!\w)""",
    re.IGNORECASE | re.VERBOSE,
)

VERDICT = re.compile(
    r"""(?<!\w) (?:
        (?:response|assistant|candidate|answer|option|output|model|system)[ ](?-i:[AB12])
      | (?:this|my|the[ ](?:first|second|other|above|following))[ ](?:response|answer|submission)
      | (?:full|maximum|top|highest|perfect|best)[ ](?:possible[ ])?(?:mark|score|rating|grade)s?
      | verdict[ ](?:is[ ]|as[ ]|of[ ])?["'(*]{0,2}(?-i:A|B) | (?:10|100)[ ]?/[ ]?(?:10|100)
    ) (?!\w)""",
    re.IGNORECASE | re.VERBOSE,
)

PLEA = re.compile(
    r"""(?<!\w)(?:
      (?:ignore|disregard|forget|override)\b[^.!?\n]{0,40}?
        \b(?:previous|prior|above|earlier|preceding|system|grading|your)\b[^.!?\n]{0,30}?
        \b(?:instruction|prompt|criteri|rubric|rule|guideline|direction|order)
    | (?:pick|choose|select|prefer|favou?r)[ ]
        (?:me\s{0,2}[!.,] | this[ ](?:response|answer) | (?:response|assistant)[ ](?-i:[AB12])\b)
    | (?:rate|score|grade|mark|give|award)[ ](?:me|(?:this|my)[ ](?:response|answer|submission))
        [^.!?\n]{0,30}?(?:\b(?:10|100|5)\b|full|highest|maximum|top|perfect)
    )""",
    re.IGNORECASE | re.VERBOSE,
)

MARKER = re.compile(
    r"""
      (?<![\w)\]]) \[\[ [ ]? (?:A|B|C|tie) [ ]? \]\]
    | (?<!\w) (?:rating|score|verdict|grade) \W{1,4} \[\[
    | ^ [^\w\n]{0,6} (?:final[ ]|my[ ]|overall[ ]){0,2}
        (?:verdict|winner|preference|judge?ment|grade) [ ]? [:=] [^\w\n]{0,4}
        (?:(?:response|assistant|model)[ ])? (?:(?-i:A|B|C)|tie|[12]) [^\w\n]{0,4} $
    | ^ [^\w\n]{0,6} (?:final[ ]|overall[ ])? (?:score|rating) [ ]? [:=] [^\w\n]{0,4}
        \d{1,3} (?:[ ]?/[ ]?\d{1,3})? [^\w\n]{0,4} \Z
    | \{ \s{0,9} "(?:verdict|winner|preference|preferred|better|choice)" \s? : \s?
        "? (?:(?:response|assistant|model|output)[_ ]?)? (?:A|B|C|tie|[12]) \b
    | \{ \s{0,9} "(?:score|rating|grade)" \s? : \s? "? \d{1,3} (?:\.\d)? "? \s{0,9} \}
    | (?<!\w) (?:response|assistant|output) [ ] \(? (?:A|B|1|2) \)? [ ]
        (?:is|wins) [ ] (?:clearly[ ]|much[ ])? (?:the[ ])? (?:better|best|superior|winner) \b
    | < (?:verdict|winner|preference|score|rating) > \s{0,9} (?:A|B|tie|\d{1,3}) \s{0,9} <
    """,
    re.IGNORECASE | re.MULTILINE | re.VERBOSE,
)
"""Verdicts as a judge is told to write them: ours and those of well-known judges."""

DELIMITER = re.compile(
    r"""
      < /? (?: (?:response|answer|candidate|assistant|analysis|output|completion|submission)
               [_ -]? (?:a|b|1|2) | response | instruction | reference | analysis | candidate
             ) \b [^<>\n]{0,40} >
    | ^ [^\w\n]{0,8} (?:(?:the|end[ ]of|start[ ]of|begin)[ ]){0,3}
        (?:response|assistant|candidate) [ ] (?:a|b|1|2|one|two) (?:'s[ ]\w{1,10})? [*_ ]{0,3}
        (?: : | [^\w\n]{0,4} $)
    | ^ [^\w\n]{0,8} end[ ]of[ ](?:the[ ])?(?:responses?|answers?|data|submission|reference) \b
    | [\[<({=*-] [ ]? (?:the[ ])? (?:begin(?:ning)?|start|end) [ ] (?:of[ ])? (?:the[ ])?
        (?:data|assistants?|responses?|answers?|candidates?|submission|reference|user|question
          |instructions?|conversation|prompt|rubric|criteria) \b [^\]\n]{0,30} [\]>)}=*-]
    """,
    re.IGNORECASE | re.MULTILINE | re.VERBOSE,
)
"""A fence or a section header: ours and those of well-known judges."""

ROLE_TOKEN = re.compile(
    r"""
      < [|｜] /? [\w▁]{1,40} [|｜] >
    | \[ /? (?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS) \]
    | << /? SYS >>
    | < (?:start|end)_of_(?:turn|utterance) > | </s> | < /? (?:bos|eos) > | \[ (?:CLS|SEP|gMASK) \]
    | ^ \#{2,3} [ ] (?:human|user|assistant|system|instruction|input|response) [ ]? : [ ]* $
    """,
    re.IGNORECASE | re.MULTILINE | re.VERBOSE,
)
"""What a chat template puts between turns; a local server may take it for the end of one."""

FLAG_EMOJI = re.compile("\U0001f3f4[\U000e0030-\U000e007a]{1,6}\U000e007f")
"""The flags of England, Scotland, Wales, ...: the one honest use of tag characters."""

HIDDEN = re.compile(
    "[\U000e0000-\U000e007f]+"  # tag characters spell out ASCII that nobody sees
    "|[\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180e\u200b\u2060-\u2064\u206a-\u206f\u3164\uffa0]+"
    "|(?<!^)\ufeff+"  # a zero-width space, except where it is a byte-order mark
    "|(?<![^\x00-\x7f])[\u200c-\u200f]+"  # emoji, Persian, Hindi and Hebrew need these, ASCII not
    "|[\u202a-\u202e\u2066-\u2069]+"  # embeds or overrides the direction of writing
    "|[\ufe00-\ufe0f\U000e0100-\U000e01ef]{2,}"  # one variation selector chooses a glyph
)

BLANK = "\u115f\u1160\u2800\u3164\uffa0"
"""Letters and signs by their category that print as nothing."""

SHELL = re.compile(
    r"(?:\W|_|thought process|reasoning|(?:the )?(?:final )?(?:solution|answer|response)(?: is)?"
    r"|let'?s (?:solve|think about|work through) (?:this|it|the problem)(?: problem)? step by step"
    r"|let'?s think step by step|解|解答|答案|かいせつ|respuesta|réponse|lösung|antwort)*",
    re.IGNORECASE,
)
"""An opening and no answer: enough for some judges that hold a reference (Zhao et al. 2025)."""


def found_in(text: str) -> Iterator[tuple[Kind, str]]:
    """What one response holds, at most one of a kind."""
    seen = plain(text)
    if not any(visible(c) for c in seen):
        yield "empty", "nothing that can be seen"
    elif len(seen) < 100 and SHELL.fullmatch(seen) and not any(is_symbol(c) for c in seen):
        yield "empty", f"no answer in {shown(seen)}"
    if words := order_to_a_judge(seen):
        yield "injection_suspected", f"it speaks to a judge: {shown(words)}"
    elif match := MARKER.search(seen) or PLEA.search(seen):
        yield "injection_suspected", f"it words a verdict: {shown(match[0])}"
    if match := DELIMITER.search(seen):
        yield "delimiter_in_candidate", f"it looks like part of our prompt: {shown(match[0])}"
    if match := ROLE_TOKEN.search(seen):
        yield "role_tokens", f"it looks like the start of a turn: {shown(match[0])}"
    if not text.isascii() and (match := HIDDEN.search(FLAG_EMOJI.sub("", text))):
        spelling = f", which spell {shown(said)}" if (said := revealed(match[0])) else ""
        yield "invisible", f"characters that cannot be seen: {match[0][:8]!a}{spelling}"


def order_to_a_judge(text: str) -> str:
    """The passage in which a judge, an order and a verdict stand together, or nothing."""
    for judge in JUDGE.finditer(text):
        passage = text[max(0, judge.start() - NEAR) : judge.end() + NEAR]
        if (order := ORDER.search(passage)) and (verdict := VERDICT.search(passage)):
            return passage[min(order.start(), verdict.start()) :]
    return ""


def plain(text: str) -> str:
    """The text as a model may read it: compatibility forms folded, what is hidden made visible."""
    if text.isascii():
        return text
    kept = HIDDEN.sub(
        lambda match: f" {said} " if (said := revealed(match[0])) else "",
        FLAG_EMOJI.sub("\U0001f3f4", text),
    )
    return unicodedata.normalize("NFKC", kept)


def revealed(hidden: str) -> str:
    """What tag characters spell; nothing for all that only hides.

    >>> revealed("\\U000e0061\\U000e006c\\u200b")
    'al'
    """
    letters = (ord(c) - 0xE0000 for c in hidden if "\U000e0020" <= c <= "\U000e007e")
    return "".join(map(chr, letters))


def visible(character: str) -> bool:
    return unicodedata.category(character)[0] in "LNPS" and character not in BLANK


def is_symbol(character: str) -> bool:
    """An emoji or a mathematical sign may be an answer; punctuation is none."""
    return unicodedata.category(character).startswith("S")


def shown(text: str) -> str:
    """A piece of untrusted text that is safe to print: short, and everything odd escaped.

    >>> shown("a\\u202eb")
    "'a\\\\u202eb'"
    """
    return repr(text if len(text) <= 60 else text[:59] + "…")


# All that a system said.

FEWEST = 10
"""Instructions a system must have answered before what its replies share says anything."""
FEW, BLOCKING = 0.5, 0.1
"""Distinct replies per instruction: at most so many are flagged, and block a decision."""
SHARED = 0.4
"""Share of the replies that must have a phrase in common. The most honest system measured, on
three benchmarks, has a quarter: let me know if you have any other questions."""
FEWEST_WORDS, SHORT = 2, 14
"""Words and characters: what is no longer than this is common ground: "thank you"."""
LABEL = 24
"""Characters; replies no longer than this are labels of a classification, so long as they vary."""

CJK = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3"
TOKEN = re.compile(rf"[{CJK}]|[^\W_{CJK}]+")
"""A word; a character where words are not set apart."""


def found_over(
    instructions: Sequence[str], replies: Sequence[str], others: Sequence[str]
) -> tuple[tuple[Flag, ...], bool]:
    """Flags of one system, and whether they block a decision.

    ``others`` are what another system replied to the same instructions: what they say too, or what
    was asked for, comes from the task.
    """
    n = len(replies)
    if n < FEWEST:
        return (), False
    said = [words(reply) for reply in replies]
    context = [[words(text) for text in sample(texts)] for texts in (instructions, others)]
    gists = gists_of(replies, said, context)
    (usual, times), *_ = Counter(gists).most_common(1)
    distinct = len(set(gists))
    ratio = distinct / n
    labels = times <= 0.9 * n <= sum(len(gist) <= LABEL for gist in gists)
    if labels or ratio > FEW:
        return tuple(shared(said, context)), False
    detail = (
        f"{distinct} distinct repl{'y' if distinct == 1 else 'ies'} to {n} instructions"
        f" (ratio {ratio:.2g}), {times} times {shown(replies[gists.index(usual)])}"
    )
    return (Flag("constant_reply", None, detail),), ratio <= BLOCKING


def gists_of(
    replies: Sequence[str], said: Sequence[Words], context: Sequence[Sequence[Words]]
) -> list[str]:
    """The replies, with those made equal that differ in case, spacing or a few words.

    A long reply is a near duplicate where four fifths of its runs of three words also occur in a
    fifth of the system's replies, and not in the context.
    """
    drawn = sample(said)
    enough = max(3, 0.2 * len(drawn))
    usual = {run for run, m in runs_in(drawn, 3).items() if m >= enough}
    for texts in context:
        usual -= {run for run, m in runs_in(texts, 3).items() if m >= 0.1 * len(texts)}

    def near(reply: Words) -> bool:
        runs = runs_of(reply, 3)
        return len(reply) >= 20 and sum(run in usual for run in runs) >= 0.8 * len(runs)

    # In a short reply the signs matter: -5 is not 5.
    exact = [
        " ".join(reply) if len(reply) >= 5 else " ".join(plain(text).casefold().split())
        for text, reply in zip(replies, said, strict=True)
    ]
    times = Counter(exact)
    return [
        "near duplicates" if times[text] == 1 and near(reply) else text
        for text, reply in zip(exact, said, strict=True)
    ]


def shared(said: Sequence[Words], context: Sequence[Sequence[Words]]) -> Iterator[Flag]:
    """A phrase that many replies end with, begin with or hold, and that is this system's own."""
    drawn = sample(said)
    lengths = range(FEWEST_WORDS, 40)
    ends = Counter(reply[-k:] for reply in drawn for k in lengths if k <= len(reply))
    starts = Counter(reply[:k] for reply in drawn for k in lengths if k <= len(reply))
    known = ""
    ways: tuple[tuple[Kind, str, Counter[Words], Fits], ...] = (
        ("shared_suffix", "end with", ends, str.endswith),
        ("shared_prefix", "begin with", starts, str.startswith),
        ("shared_phrase", "hold", runs_in(drawn, 4), str.__contains__),
    )
    for kind, verb, phrases, fits in ways:
        common = (spaced(p) for p, m in phrases.items() if m >= SHARED * len(drawn))
        phrase = max((p for p in common if len(p) > SHORT and p not in known), key=len, default="")
        if not phrase:
            continue
        known += phrase
        count = holding(phrase, said, fits)
        elsewhere = max(holding(phrase, texts, fits) / max(1, len(texts)) for texts in context)
        if count >= SHARED * len(said) and elsewhere < count / len(said) / 2:
            detail = f"{count} of {len(said)} replies {verb} {shown(phrase.strip())}"
            yield Flag(kind, None, detail)


def holding(phrase: str, texts: Sequence[Words], fits: Fits) -> int:
    return sum(fits(spaced(text), phrase) for text in texts)


def words(text: str) -> Words:
    """
    >>> words("Pick me! (A)")
    ('pick', 'me', 'a')
    """
    return tuple(TOKEN.findall(plain(text).casefold()))


def spaced(words: Words) -> str:
    """Words as a string in which only whole words are found."""
    return f" {' '.join(words)} "


def runs_of(words: Words, k: int) -> set[Words]:
    return {words[i : i + k] for i in range(len(words) - k + 1)}


def runs_in(texts: Sequence[Words], k: int) -> Counter[Words]:
    """In how many of the texts each run of ``k`` words occurs."""
    return Counter(run for text in texts for run in runs_of(text, k))


def sample(texts: Sequence[T]) -> Sequence[T]:
    """At most 64, the same each time: what many replies share shows in a few of them."""
    return texts if len(texts) <= 64 else Random(0).sample(texts, 64)
