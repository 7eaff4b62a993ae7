"""Judges that understand nothing, to stand beside every judge that is said to.

What they get right shows how much of an accuracy the data give away: a benchmark on which the
longer response is the better one in 70 % of pairs is passed by a ruler.
"""

import re
from collections.abc import Callable, Mapping

from twopan.data import Pair
from twopan.verdict import Choice, Comparison, Preference

MARKDOWN = re.compile(
    r"^ {0,3}(?:#{1,6} |[-*+] |\d{1,3}[.)] |> |```|~~~|\|)|\*\*\S[^\n]*?\*\*|`[^`\n]+`",
    re.MULTILINE,
)
"""A heading, list item, quotation, edge of a code block, table row, bold words, code in line."""


def first(pair: Pair) -> Comparison:
    """Whichever response is shown first: right once in two looks, and never in both orders."""
    return compared("first", Choice.A, Choice.B)


def longest(pair: Pair) -> Comparison:
    return more("longest", len(pair.a.text), len(pair.b.text))


def shortest(pair: Pair) -> Comparison:
    return more("shortest", -len(pair.a.text), -len(pair.b.text))


def most_markdown(pair: Pair) -> Comparison:
    return more("most markdown", *(len(MARKDOWN.findall(r.text)) for r in (pair.a, pair.b)))


def constant_tie(pair: Pair) -> Comparison:
    return compared("constant tie", Choice.TIE, Choice.TIE)


TRIVIAL: Mapping[str, Callable[[Pair], Comparison]] = {
    "first": first,
    "longest": longest,
    "shortest": shortest,
    "most markdown": most_markdown,
    "constant tie": constant_tie,
}


def more(name: str, of_a: int, of_b: int) -> Comparison:
    choice = {1: Choice.A, 0: Choice.TIE, -1: Choice.B}[(of_a > of_b) - (of_a < of_b)]
    return compared(name, choice, choice)


def compared(name: str, a_first: Choice, b_first: Choice) -> Comparison:
    return Comparison(
        judge=name,
        a_first=Preference(choice=a_first, reasoning=""),
        b_first=Preference(choice=b_first, reasoning=""),
    )
