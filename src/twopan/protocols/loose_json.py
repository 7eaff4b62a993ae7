"""JSON objects inside prose, also where a model wrote them a little wrong, in linear time.

Standard readers stop at the first slip, keep the last of two equal keys, and recurse; all three
lose or change verdicts. This one accepts what small models get wrong without touching the
values (raw line breaks in strings, single or typographic quotes, ``None``, trailing commas,
comments, bare keys, unescaped inner quotes, a missing last brace), reports every member with
its place, and never looks inside an object that it could not read.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

# A quote ends a string only where JSON can go on after it, so that `"the "best" answer"` is one.
# The quantifiers are possessive: nothing is ever tried twice.
_TOKEN = re.compile(
    r"""(?P<space>\s++)
      | (?P<comment>//[^\n]*+ | /\*(?:[^*]|\*(?!/))*+\*/ | \#[^\n]*+)
      | (?P<mark>[{}\[\]:,])
      | (?P<string>"(?:[^"\\] | \\. | "(?!\s*+(?:[,:}\]/\#]|\Z)))*+"
                 | '(?:[^'\\] | \\. | '(?!\s*+(?:[,:}\]/\#]|\Z)))*+'
                 | [“”](?:[^“”\\] | \\. | [“”](?!\s*+(?:[,:}\]/\#]|\Z)))*+[“”])
      | (?P<bare>[^\s{}\[\]:,"'“”]++)""",
    re.VERBOSE | re.DOTALL,
)
_STRICT_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+"')
_STRICT_BARE = re.compile(
    r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?|true|false|null"
)
_OPENING = re.compile(r"\{(?=\s*+[\"'“”\w/#}])")
_DEEPEST = 100
"""Levels of nesting beyond which something is no answer of a judge."""
_WRAPPERS = 3
"""How many objects of a single member are looked through: ``{"result": {"score": 4}}``."""


@dataclass(frozen=True, slots=True)
class Member:
    key: str
    kind: str
    """``string``, ``bare`` (a number or word) or ``nested``."""
    start: int
    """Where the value begins; of a string, after its quote."""
    end: int


@dataclass(frozen=True, slots=True)
class Object:
    start: int
    end: int
    members: Sequence[Member]
    repaired: bool
    """Whether strict JSON would have refused it."""


@dataclass(frozen=True, slots=True)
class Scan:
    objects: Sequence[Object]
    broken: bool
    """Something began like an object and went wrong: where it ends is anybody's guess."""
    unclosed: bool
    """The text ended inside an object."""


def scan(text: str) -> Scan:
    """All outermost objects of a text, in order.

    >>> found, = scan("Well: {'score': 4, 'why': None}").objects
    >>> [member.key for member in found.members], found.repaired
    (['score', 'why'], True)
    """
    objects: list[Object] = []
    broken = unclosed = False
    opening = _OPENING.search(text)
    while opening:
        attempt = _Attempt(text, opening.start())
        if attempt.failed_at is None:
            objects.append(attempt.result())
            opening = _OPENING.search(text, objects[-1].end)
            continue
        if attempt.failed_at == len(text):
            unclosed = True
            break
        broken |= attempt.keyed
        # Going on from the failure, not from inside what was read, keeps this linear; and an
        # object quoted inside a broken one is not an answer.
        opening = _OPENING.search(text, max(attempt.failed_at, opening.end()))
    return Scan(objects, broken, unclosed)


def unwrapped(text: str, found: Object) -> Object:
    """The object inside objects that hold nothing else."""
    for _ in range(_WRAPPERS):
        if len(found.members) != 1 or found.members[0].kind != "nested":
            break
        inner = _Attempt(text, found.members[0].start)
        if text[found.members[0].start] != "{" or inner.failed_at is not None:
            break
        found = inner.result()
    return found


def string(lexeme: str) -> str:
    """What a string token says, without its quotes."""
    if "\\" not in lexeme:
        return lexeme
    try:
        return str(json.loads(f'"{lexeme}"', strict=False))
    except ValueError:
        return lexeme


class _Attempt:
    """One reading of one object, token by token, without recursion."""

    def __init__(self, text: str, start: int) -> None:
        self.text, self.start, self.end = text, start, start
        self.members: list[Member] = []
        self.repaired = self.keyed = False
        self.failed_at: int | None = None
        self._read()

    def result(self) -> Object:
        return Object(self.start, self.end, self.members, self.repaired)

    def _read(self) -> None:  # noqa: PLR0912, PLR0915  a state machine reads best in one piece
        text, position = self.text, self.start
        open_: list[str] = []
        expect = "value"
        key = ""
        opened = 0
        while True:
            token = _TOKEN.match(text, position)
            if token is None:
                self._ends(position, open_, expect)
                return
            kind, begin, position = str(token.lastgroup), token.start(), token.end()
            if kind == "space":
                continue
            if kind == "comment":
                self.repaired = True
                continue
            lexeme = token.group() if kind != "string" else ""
            if kind == "string" and expect == "next" and open_[-1] == "{":
                expect, self.repaired = "key", True  # only a comma is missing
            if lexeme in ("{", "[") and expect in ("value", "item", "first item"):
                if len(open_) == 1:
                    opened = begin
                open_.append(lexeme)
                if len(open_) > _DEEPEST:
                    self.failed_at = begin
                    return
                expect = "first key" if lexeme == "{" else "first item"
            elif lexeme in ("}", "]") and open_ and open_[-1] == "{["[lexeme == "]"]:
                if expect in ("colon", "value"):
                    self.failed_at = begin
                    return
                self.repaired |= expect in ("key", "item")
                open_.pop()
                expect = "next"
                if not open_:
                    self.end = position
                    return
                if len(open_) == 1:
                    self.members.append(Member(key, "nested", opened, position))
            elif lexeme == "," and expect == "next":
                expect = "key" if open_[-1] == "{" else "item"
            elif lexeme == ":" and expect == "colon":
                expect = "value"
            elif kind in ("string", "bare") and expect in ("first key", "key"):
                self.keyed |= kind == "string"
                self._check(kind, begin, position, is_key=True)
                if len(open_) == 1:
                    quote = kind == "string"
                    key = string(text[begin + quote : position - quote])
                expect = "colon"
            elif kind in ("string", "bare") and expect in ("value", "item", "first item"):
                self._check(kind, begin, position, is_key=False)
                if len(open_) == 1:
                    quote = kind == "string"
                    self.members.append(Member(key, kind, begin + quote, position - quote))
                expect = "next"
            else:
                self.failed_at = begin
                return

    def _check(self, kind: str, begin: int, end: int, *, is_key: bool) -> None:
        strict = _STRICT_STRING if kind == "string" else _STRICT_BARE
        if (is_key and kind == "bare") or not strict.fullmatch(self.text, begin, end):
            self.repaired = True

    def _ends(self, position: int, open_: list[str], expect: str) -> None:
        """No token: the end of the text, or a string that never ends."""
        self.failed_at = len(self.text)
        if position == len(self.text) and expect == "next" and open_ == ["{"]:
            # Only the last brace is missing; but a number that touches the end may be cut.
            if self.text[-1].isalnum():
                return
            self.failed_at, self.end, self.repaired = None, position, True
