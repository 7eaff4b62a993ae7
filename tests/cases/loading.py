"""The replayable failure cases, by id, prefix of an id, area or kind of input."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

SHARED = Path(__file__).resolve().parents[3] / "shared"
"""The folder of shared material beside the checkout; tests that need it skip without it."""

Case = dict[str, Any]


@cache
def every_case() -> tuple[Case, ...]:
    with (SHARED / "cases" / "cases.jsonl").open(encoding="utf-8") as lines:
        return tuple(json.loads(line) for line in lines)


def cases(*wanted: str, but: tuple[str, ...] = ()) -> list[Any]:
    """The cases for ``pytest.mark.parametrize("case", cases("DATA-"))``.

    Each of ``wanted`` is an id or its prefix ("PARSE-", "DATA-008"), or an exact
    ``area`` or ``input.kind`` ("logprobs"); ``but`` leaves cases out in the same words.
    Without the shared folder there is one case, marked to skip with the reason. Words that
    select nothing are an error, so that a typo cannot pass for a green test.
    """
    try:
        found = [c for c in every_case() if _among(c, wanted) and not _among(c, but)]
    except FileNotFoundError as absent:
        why = f"the shared failure cases are not beside this checkout: {absent.filename}"
        return [pytest.param({}, id="absent", marks=pytest.mark.skip(reason=why))]
    if not found:
        raise LookupError(f"no case matches {', '.join(wanted)}")
    return [pytest.param(case, id=case["id"]) for case in found]


def _among(case: Case, words: tuple[str, ...]) -> bool:
    return any(
        case["id"].startswith(word) or word in (case["area"], case["input"]["kind"])
        for word in words
    )
