"""A value that is used and never shown: its ``repr`` and ``str`` are masked, it masks others."""

from itertools import groupby
from string import ascii_lowercase, ascii_uppercase
from typing import Never

from twopan.errors import ConfigError

MASK = "***"
RUN = 8
"""So many characters in a row that also stand in the secret are taken to be part of it."""
ASCII_LOWER = str.maketrans(ascii_uppercase, ascii_lowercase)  # keeps every position


class Secret:
    """An API key, say. Only :meth:`reveal` gives the value.

    Raises ConfigError where the value could not travel in an HTTP header.

    >>> Secret("sk-CANARY0000000000")
    Secret(***)
    """

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        value = value.strip()
        if not value:
            raise ConfigError("the API key is empty")
        if not (value.isascii() and value.isprintable()):
            raise ConfigError("the API key holds a line break or a character outside ASCII")
        self._value = value

    def reveal(self) -> str:
        return self._value

    def mask(self, text: str) -> str:
        """The text without the secret, whole or in part: servers echo the first half of a key,
        and some in lower case.

        >>> Secret("sk-CANARY0000000000").mask("bad key sk-CANARY00... given")
        'bad key ***... given'
        """
        run = min(RUN, len(self._value))
        value, lower = self._value.translate(ASCII_LOWER), text.translate(ASCII_LOWER)
        parts = {value[at : at + run] for at in range(len(value) - run + 1)}
        starts = (at for at in range(len(text)) if lower[at : at + run] in parts)
        hidden = {at + step for at in starts for step in range(run)}
        stretches = groupby(enumerate(text), key=lambda place: place[0] in hidden)
        return "".join(MASK if of_it else "".join(c for _, c in seen) for of_it, seen in stretches)

    def __repr__(self) -> str:
        return f"Secret({MASK})"

    __str__ = __repr__

    def __reduce__(self) -> Never:
        raise TypeError("a secret is not written to disk or sent to another process")
