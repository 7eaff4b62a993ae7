"""Names people type: the nearest one to what was meant."""

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(word: str, known: Iterable[str]) -> str:
    """A hint to append to an error, or nothing.

    >>> nearest("swap_ordr", ["swap_order", "seed"])
    ' (did you mean swap_order?)'
    """
    close = get_close_matches(word, list(known), n=1)
    return f" (did you mean {close[0]}?)" if close else ""
