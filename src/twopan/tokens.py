"""How many tokens a text has, at least and at most, before any model has counted them.

The bounds hold for what people and models write and for the tokenizers in use (pieces of words,
30,000 to 260,000 of them), so we need not know which one a server has. The few tokens with which a
chat template marks who speaks are not part of a text.
"""

import re

LONGEST = 12
"""Bytes that a token holds at most, on average over a text: four Chinese characters."""
RUN = re.compile(r"(.)\1{3,}", re.DOTALL)
"""Indentation and ruled lines: one token may hold any number of these."""
PLAIN = re.compile(r"[A-Za-z \t\r\n]+")


def fewest(text: str) -> int:
    """At least so many tokens: one a word, since none spans two, or else one for 12 bytes.

    >>> fewest("The second is clearer."), fewest("=" * 400), fewest("判断" * 600)
    (4, 1, 300)
    """
    return max(len(text.split()), _bytes(RUN.sub(r"\1", text)) // LONGEST)


def most(text: str) -> int:
    """At most so many tokens: one for two letters or spaces of English, one for each digit and
    punctuation mark, two for a Chinese character (for any other, two thirds of its bytes).

    English prose has half of that. Random letters may have more: up to one a byte.

    >>> most("The second is clearer"), most("20.26"), most("判断")
    (11, 5, 4)
    """
    other = PLAIN.sub("", text)
    signs = len(other.encode("ascii", "ignore"))
    return -(-(3 * (len(text) - len(other)) + 6 * signs + 4 * (_bytes(other) - signs)) // 6)


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
