"""Verdicts for a spreadsheet: a CSV file in which no cell is a formula.

A spreadsheet takes a cell for a formula by its first sign, quoted or not, and looks for that sign
behind blanks, invisible characters and full-width forms. Such a *text* cell gets an apostrophe in
front, which spreadsheets do not show. To read a file back exactly, pass text cells to
:func:`original`; JSON lines are the format for machines.
"""

import csv
import unicodedata
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TextIO

from twopan.report.texts import mask
from twopan.saving import replacing

COLUMNS = (
    "item",
    "a",
    "b",
    "choice",
    "a_score",
    "consistent",
    "unjudged",
    "detail",
    "a_shown_first",
    "b_shown_first",
    "signature",
)


def write_csv(path_or_file: str | Path | TextIO, lines: Iterable[Mapping[str, Any]]) -> None:
    """Write verdict lines as CSV, one row a verdict, with what the judges wrote in each order.

    Numbers stay numbers; texts are quoted, so that a semicolon splits no cell where that is the
    separator; what has the shape of a key is masked. A file given open should be opened with
    ``newline=""``. Raises ConfigError where the path cannot be written.
    """
    if isinstance(path_or_file, str | Path):
        with replacing(path_or_file) as file:
            _write(file, lines)
    else:
        _write(path_or_file, lines)


def _write(file: TextIO, lines: Iterable[Mapping[str, Any]]) -> None:
    writer = csv.writer(file, quoting=csv.QUOTE_NONNUMERIC)
    writer.writerow(COLUMNS)
    for line in lines:
        known = {**line, **_reasoning(line)}
        writer.writerow([cell(known.get(column)) for column in COLUMNS])


def _reasoning(line: Mapping[str, Any]) -> dict[str, str]:
    return {
        f"{order}_shown_first": "\n\n".join(
            vote[f"{order}_first"]["reasoning"] for vote in line.get("votes", ())
        )
        for order in ("a", "b")
    }


def cell(value: object) -> str | int | float:
    """A value as a cell that a spreadsheet will not run.

    >>> cell("=1+1"), cell(-0.5), cell(True), cell(None)
    ("'=1+1", -0.5, 'true', '')
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return value
    text = "" if value is None else mask(str(value))
    return "'" + text if _runs(text) else text


def original(text: str) -> str:
    """The text that :func:`cell` was given.

    >>> original(str(cell("'=1"))), original(str(cell("'tis")))
    ("'=1", "'tis")
    """
    return text[1:] if text.startswith("'") and _runs(text[1:]) else text


def _runs(text: str) -> bool:
    """Whether a spreadsheet may take it for a formula, now or once an apostrophe is gone."""
    for character in text.lstrip("'"):
        if character in "\t\r\n":
            return True
        # Blanks, controls and format characters: all that is trimmed before the first sign.
        if character.isspace() or unicodedata.category(character) in ("Cc", "Cf", "Mn", "Cn"):
            continue
        return unicodedata.normalize("NFKC", character)[0] in "=+-@\N{MINUS SIGN}"
    return False
