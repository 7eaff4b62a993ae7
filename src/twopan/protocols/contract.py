"""What a judge was asked to write, and what was read of it."""

from dataclasses import dataclass
from typing import Literal

from twopan.errors import ConfigError

Format = Literal["line", "bracket", "json", "tag", "bare", "sentence"]


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
    final: bool = False
    """Only a verdict alone on the last line counts: one elsewhere may be quoted from a response.
    A lone tag may have words before it on that line."""
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
