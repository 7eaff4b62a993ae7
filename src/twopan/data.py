"""What is judged: items that ask, responses that answer, and pairs to choose between."""

from dataclasses import dataclass

from twopan.verdict import Choice


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One thing the systems under evaluation were asked to do."""

    id: str
    instruction: str
    reference: str | None = None
    """A known-good answer, shown to the judge when present."""
    category: str | None = None
    """Slices the report; never shown to the judge."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """What one system answered to one item."""

    item_id: str
    system: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two responses to one item. A judge sees their texts and never whose they are."""

    item: Item
    a: Response
    b: Response
    label: Choice | None = None
    """What people preferred, where it is known."""
