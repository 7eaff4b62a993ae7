"""The value in a slot: a number in range or a word on the menu, and nothing beside it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from math import isfinite

from twopan.errors import Unparsed
from twopan.protocols.contract import Contract, Reading

ONLY_IF = re.compile(r"\W*(?:only\s+)?(?:if|when|unless|in terms)\b", re.IGNORECASE)
LONGEST_SLOT = 4000
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


def outcome_of(contract: Contract, text: str, start: int, stop: int) -> Reading | Unparsed:
    """A slot that holds the value and nothing else."""
    try:
        return read_value(contract, text, start, stop, exact=True)
    except Unparsed as failure:
        return failure


def read_value(
    contract: Contract, text: str, start: int, stop: int, *, exact: bool = False
) -> Reading:
    """The value that opens a slot; unless ``exact``, a remark set off from it may follow."""
    slot = text[start : min(stop, start + LONGEST_SLOT)]
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
    match = phrases_of(contract).slot.match(slot, begin)
    if match is None:
        raise Unparsed("off_menu", f"{slot.strip()[:40]!r} was not on offer")
    entry = phrases_of(contract).entry(match["word"])
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
    phrases = phrases_of(contract) if contract.menu else None
    more = f"{slot.strip()[:40]!r} is more than a verdict"
    if phrases and (wins := phrases.wins.match(slot, after)):
        rivals = (phrases.entry(m["word"]) for m in phrases.winner.finditer(slot, after))
        if any(rival != value for rival in rivals) or ONLY_IF.match(slot, wins.end()):
            raise Unparsed("ambiguous", "more than one is called better")
        if contract.final and not _STOPS.fullmatch(slot, wins.end()):
            raise Unparsed("ambiguous", more)
    elif contract.final:
        raise Unparsed("ambiguous", more)
    else:
        remark = None if exact or len(slot) == LONGEST_SLOT else _REMARK.match(slot, after)
        if remark is None or _HESITATES.match(slot, remark.end()) or _RETRACTS.search(slot, after):
            raise Unparsed("off_menu" if phrases else _how_it_goes_on(slot, end), more)
        _no_rival(contract, slot, remark.end(), value)
    if overturned(contract, slot[after:], value):
        raise Unparsed("ambiguous", f"{slot.strip()[:40]!r} takes its verdict back")


def _no_rival(contract: Contract, slot: str, begin: int, value: str | float | int) -> None:
    """A remark that opens with another value competes with the first."""
    if not contract.menu:
        if _ANY_NUMBER.match(slot, begin):
            raise Unparsed("ambiguous", f"{slot.strip()[:40]!r} has more than one number")
        return
    phrases = phrases_of(contract)
    if (rival := phrases.slot.match(slot, begin)) and phrases.entry(rival["word"]) != value:
        # "B - Response A misses the point" explains; "A, B" and "C (Incorrect)" compete.
        beyond = _CLOSES.match(slot, rival.end())
        rest = beyond.end() if beyond else rival.end()
        if not rival["noun"] or rest == len(slot) or phrases.wins.match(slot, rest):
            raise Unparsed("ambiguous", f"{slot.strip()[:40]!r} names two verdicts")


def overturned(contract: Contract, remark: str, value: str | float | int) -> bool:
    """Whether what follows a letter of a menu settles on another: "No, B.", "B is better"."""
    rival = phrases_of(contract).rival if contract.menu else None
    return rival is not None and any(
        phrases_of(contract).entry(m["word"] or m["winner"]) != value
        for m in rival.finditer(remark)
    )


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
    rival: re.Pattern[str] | None
    """A letter that is a statement of its own, or is called better or correct."""
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
def phrases_of(contract: Contract) -> _Phrases:
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
        rival=_rival(contract.menu),
        menu=contract.menu,
        folded={word: entry for word, entry in folded.items() if word not in twice},
    )


def _rival(menu: tuple[str, ...]) -> re.Pattern[str] | None:
    if not any(_LETTERS.fullmatch(entry) for entry in menu):
        return None
    words = "|".join(_pattern(_fold(entry)) for entry in menu)
    return re.compile(
        rf"{_OPENS_CLAUSE}(?P<word>{words}){_ENDS_CLAUSE}"
        rf"|(?<![\w'’-])(?P<winner>{words})[)\]*_\"”]*(?:{_WINS}|{_IS_RIGHT})",
        re.IGNORECASE,
    )


_LETTERS = re.compile(r"[^\W\d_](?:[<>=]+[^\W\d_])?")
_OPENS_CLAUSE = (
    r"(?:[.,;:!?(\[—–\n-]"
    r"|\b(?:no|hm+|but|then|it['’]?s|is|be|make it|mean|say|prefer|choose|pick))"
    r"[\s*_`\"'“‘]{0,8}+"
)
_ENDS_CLAUSE = r"(?![\w'’-]|\.\w)[\s*_`\"'”’)\]]{0,8}+(?:[.,;!?]|\n|\Z)"
_IS_RIGHT = r"\s+(?:is|was)\s+(?:the\s+)?(?:correct|right)\b|\s*\((?:correct|right|better)\b"


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
