"""From what people call their columns, and write in them, to the fields of an item and a pair.

A field is recognised by any of its usual names, whatever their case. Where several columns have
one of the names, the canonical one (the first) is taken; without it, it is an error, and the
caller names the column. Only the instruction must be the sole candidate: in Alpaca's format
``input`` is the second half of ``instruction``, and half a task would be judged in silence.
"""

import re
import unicodedata
from collections.abc import Collection, Mapping
from hashlib import sha256

from twopan.errors import DataError
from twopan.names import nearest
from twopan.rows import kind, shown
from twopan.verdict import Choice

NAMES: dict[str, tuple[str, ...]] = {
    "id": ("id", "item_id", "uid", "question_id", "instruction_id", "prompt_id", "sample_id"),
    "instruction": ("instruction", "prompt", "question", "input", "messages"),
    "response": ("response", "output", "completion", "answer", "generation"),
    "reference": (
        "reference",
        "reference_answer",
        "gold",
        "target",
        "expected",
        "expected_output",
        "ground_truth",
        "ideal",
    ),
    "category": ("category", "subset", "dataset", "tag"),
    "system": ("system", "model", "generator", "model_id", "model_name"),
    "label": ("label", "winner", "preference"),
}
for _side, _number, _role, _choice in (
    ("a", "1", "candidate", "chosen"),
    ("b", "2", "baseline", "rejected"),
):
    NAMES[f"response_{_side}"] = (
        *(f"{name}_{end}" for end in (_side, _number) for name in NAMES["response"]),
        *(f"{name}{end}" for end in (_side, _number) for name in NAMES["response"]),
        *(_role, _choice, _side),
    )
    NAMES[f"system_{_side}"] = tuple(
        f"{name}_{end}" for end in (_side, _number) for name in NAMES["system"]
    )
"""Field -> the column names it is recognised by, the canonical one first."""


def recognise(
    columns: Collection[str], fields: Collection[str], mapping: Mapping[str, str]
) -> dict[str, str]:
    """Field -> column, for each of ``fields`` that ``columns`` has.

    ``mapping`` (field -> column) goes before recognition, and a column that it names serves no
    other field. Raises DataError where two columns claim one field.

    >>> recognise(["uid", "Prompt", "output"], ["id", "instruction", "response"], {})
    {'id': 'uid', 'instruction': 'Prompt', 'response': 'output'}
    """
    chosen = {}
    taken = set(mapping.values())
    for field in fields:
        if field in mapping:
            claims = [mapping[field]] if mapping[field] in columns else []
        else:
            names = NAMES[field]
            claims = [c for c in columns if c not in taken and c.strip().lower() in names]
            if len(claims) > 1 and field in claims and field != "instruction":
                claims = [field]
        if len(claims) > 1:
            raise DataError(
                f"the columns {' and '.join(map(shown, claims))} may both be the {field}: "
                f"choose one, as in --map {field}={shown(claims[0])}"
            )
        if claims:
            chosen[field] = claims[0]
    return chosen


def check_mapping(mapping: Mapping[str, str], fields: Collection[str]) -> None:
    """Raises DataError for a field that does not exist."""
    for field, column in mapping.items():
        if field not in fields:
            raise DataError(
                f"--map {shown(field)}={shown(column)}: there is no field {shown(field)}"
                f"{nearest(field, fields)}; the fields are {', '.join(fields)}"
            )


def check_columns(mapping: Mapping[str, str], columns: Collection[str]) -> None:
    """Raises DataError for a column that the file does not have."""
    for field, column in mapping.items():
        if column not in columns:
            raise DataError(
                f"--map {field}={shown(column)}: there is no column {shown(column)}"
                f"{nearest(column, columns)}; {_found(columns)}"
            )


def check_needed(
    needed: Collection[str],
    chosen: Mapping[str, str],
    columns: Collection[str],
    mapping: Mapping[str, str],
) -> None:
    """Raises DataError, with what was needed and what was found, where a field has no column."""
    check_columns({f: column for f, column in mapping.items() if f in needed}, columns)
    if chosen.get("instruction", "").strip().lower() == "messages":
        needed = [field for field in needed if field != "response"]  # their last turn
    if missing := [field for field in needed if field not in chosen]:
        free = [column for column in columns if column not in chosen.values()]
        wants = "; ".join(
            f"no column for {field} (called {', '.join(NAMES[field])})"
            + next(filter(None, (nearest(name, free) for name in NAMES[field])), "")
            for field in missing
        )
        if len(columns) == 1 and ";" in next(iter(columns)):
            raise DataError("the columns seem to be separated by ';': save the file with commas")
        flags = " ".join(f"--map {field}=COLUMN" for field in missing)
        raise DataError(f"{wants}; {_found(columns)}; say which is which with {flags}")


def _found(columns: Collection[str]) -> str:
    more = f" and {len(columns) - 30} more" if len(columns) > 30 else ""
    return f"the columns are {', '.join(shown(c) for c in list(columns)[:30])}{more}"


def text(field: str, value: object) -> str:
    """``value``, which has to be text. Raises DataError."""
    if isinstance(value, str):
        return value
    what = "is missing" if value is None else f"is {kind(value)} and not text: {excerpt(value)}"
    raise DataError(f"{field}: {what}")


def name(field: str, value: object) -> str | None:
    """The canonical text of an id, a category, a reference; None where there is none.

    A whole number is the same name as its digits; it never passes through a float, and a
    number with a fraction is refused rather than rounded. Raises DataError.

    >>> name("id", 9007199254740993), name("id", "007"), name("id", "")
    ('9007199254740993', '007', None)
    """
    if value is None or value == "":
        return None
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return text(field, value)


def derived_id(instruction: str) -> str:
    """The id of an item that came without one: the same instruction always gets the same."""
    return sha256(instruction.encode()).hexdigest()[:16]


_FILLERS = "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"
"""Letters and symbols by category, and nothing to see."""


def is_blank(string: str) -> bool:
    """Whether nothing in ``string`` can be seen: blanks, zero-width and control characters.

    >>> is_blank("\\u200b\\u2060 "), is_blank("NA")
    (True, False)
    """
    return all(
        c.isspace()
        or unicodedata.category(c) in {"Cc", "Cf"}
        or c in _FILLERS
        or "\ufe00" <= c <= "\ufe0f"
        for c in string
    )


def excerpt(value: object) -> str:
    """A value as a short line, control characters escaped."""
    line = repr(value)
    return line if len(line) <= 60 else f"{line[:57]}..."


# Conversations


def conversation(field: str, value: object) -> tuple[str, str | None]:
    """What was asked and, if its last turn is the assistant's, what was answered.

    ``value`` is a list of chat messages: ``{"role": ..., "content": text or text parts}``. One
    user message alone is its bare text; anything longer is shown as a transcript with "System:",
    "User:", "Assistant:" or "Tool:" before each turn and a blank line between. Raises DataError.

    >>> conversation("messages", [{"role": "user", "content": "Hi"}])
    ('Hi', None)
    """
    if not isinstance(value, list) or not value:
        raise DataError(f"{field}: is {kind(value)} and not text or a list of chat messages")
    turns = [_turn(f"{field}[{i}]", message) for i, message in enumerate(value)]
    answer = turns.pop()[1] if turns[-1][0] == "Assistant" else None
    if [speaker for speaker, _ in turns] == ["User"]:
        return turns[0][1], answer
    return "\n\n".join(f"{speaker}: {said}" for speaker, said in turns), answer


def _turn(field: str, message: object) -> tuple[str, str]:
    speakers = {"system": "System", "developer": "System", "user": "User"}
    speakers |= {"assistant": "Assistant", "tool": "Tool"}
    role = message.get("role") if isinstance(message, Mapping) else None
    if not isinstance(message, Mapping) or not isinstance(role, str) or role not in speakers:
        raise DataError(f"{field}: is no chat message with a role in {', '.join(speakers)}")
    content = message.get("content")
    if isinstance(content, list):
        if not all(isinstance(part, Mapping) and part.get("type") == "text" for part in content):
            raise DataError(f"{field}: has a part that is not text, which a judge cannot be shown")
        content = "".join(text(f"{field}.text", part.get("text")) for part in content)
    return speakers[role], text(f"{field}.content", content)


# Labels

_POSITION = re.compile(
    r"(?:(?:model|system|response|output|answer|assistant)[ _-]?)?(?:(?P<a>[a1])|(?P<b>[b2]))"
)
_TIE = re.compile(r"(?:tie|draw)(?: ?\(.*\))?|both[ _]?bad")


def label(
    value: object,
    *,
    systems: tuple[str, str] | None = None,
    meanings: Mapping[str, str] | None = None,
) -> Choice:
    """Which response people preferred, however it was written down.

    Accepted: a, b; 1, 2; either after model_, system_, response_, output_, answer_, assistant_;
    tie, draw, "tie (bothbad)"; and the names in ``systems``. ``meanings`` (value -> a, b or tie)
    replaces all of this. Raises DataError for anything else: an off-by-one reading would turn
    every agreement figure around, so 0 is never taken for a side.

    >>> [str(label(value)) for value in (1, "B", "model_b", "tie (bothbad)")]
    ['a', 'b', 'b', 'tie']
    """
    unknown = DataError(f"label: {excerpt(value)} is none of a, b, tie, 1, 2, model_a, model_b")
    if not isinstance(value, str | int | float) or (isinstance(value, bool) and not meanings):
        raise unknown
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    word = str(value).strip()
    if meanings is not None:
        word = word.lower() if isinstance(value, bool) and word not in meanings else word
        if word not in meanings:
            raise DataError(f"label: {excerpt(value)} was given no meaning")
        return label(meanings[word])
    position, tie = _POSITION.fullmatch(word.lower()), _TIE.fullmatch(word.lower())
    sides = {Choice.TIE} if tie else set[Choice]()
    if position:
        sides.add(Choice.A if position["a"] else Choice.B)
    if systems:
        sides |= {side for side, system in zip(Choice, systems, strict=False) if system == word}
    if len(sides) != 1:
        raise unknown
    return sides.pop()
