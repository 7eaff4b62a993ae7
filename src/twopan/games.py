"""Games between systems: who met whom on which item, and who won.

    our own verdicts ──┐
    verdict lines ─────┼──► Game, Game, Game ──► ratings
    battle logs ───────┘

A battle log has one game a row: the two systems, the winner, and the item where it is known.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from twopan.data import Pair
from twopan.datasets import SHOWN, Source
from twopan.errors import DataError
from twopan.fields import excerpt, label, name
from twopan.jury import Outcome
from twopan.lines import by_signature
from twopan.names import nearest
from twopan.rows import Place, Row, read_rows, shown
from twopan.verdict import Choice, Verdict

LINES = {"item", "votes", "signature"}
COLUMNS: dict[str, tuple[str, ...]] = {
    "a": ("a", "system_a", "model_a", "player_a", "left", "system_1", "model_1", "model_x"),
    "b": ("b", "system_b", "model_b", "player_b", "right", "system_2", "model_2", "model_y"),
    "choice": ("choice", "winner", "label", "preference", "outcome", "result"),
    "item": ("item", "item_id", "question_id", "instruction_id", "prompt_id", "prompt"),
}
"""What a battle log calls its columns; of several the first is taken."""
SIDES = {"left": Choice.A, "right": Choice.B}
WORTH = {Choice.A: 1.0, Choice.TIE: 0.5, Choice.B: 0.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Game:
    item: str
    """Games on one item belong together: they are no independent evidence."""
    a: str
    b: str
    choice: Choice | None
    """None where there is no verdict, which is no tie."""
    a_score: float | None = None
    """How strongly A is preferred, where there is a verdict."""
    consistent: bool | None = None
    """Whether both orders agreed; None where only one is known."""
    unjudged: str = ""
    """Why there is no verdict, where there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Games:
    games: tuple[Game, ...]
    signature: str = ""
    """Of the judge or jury, where it is known."""
    without_item: bool = False
    """The log names no items: every game is taken to be on one of its own."""

    def notes(self) -> list[str]:
        systems = {system for game in self.games for system in (game.a, game.b)}
        lines = [f"{len(self.games)} games between {len(systems)} systems"]
        if self.without_item:
            lines.append(
                "no column names the item, so every game counts as evidence of its own; where"
                " items come again, intervals are too narrow (say --map item=COLUMN)"
            )
        return lines


def game_of(pair: Pair, outcome: Outcome) -> Game:
    return _game(pair.item.id, pair.a.system, pair.b.system, outcome)


def _game(item: str, a: str, b: str, outcome: Outcome) -> Game:
    if isinstance(outcome, Verdict):
        return Game(
            item=item,
            a=a,
            b=b,
            choice=outcome.choice,
            a_score=outcome.a_score,
            consistent=outcome.consistent,
        )
    return Game(item=item, a=a, b=b, choice=None, unjudged=outcome.reason)


def read_games(
    path: Source,
    *,
    mapping: Mapping[str, str] | None = None,
    meanings: Mapping[str, str] | None = None,
) -> Games:
    """The games of a file of verdict lines, or of a battle log.

    ``mapping`` (a, b, choice, item -> column) and ``meanings`` (value -> a, b or tie) are for
    battle logs. Raises DataError, one line a problem: where there is no game, where a system
    meets itself, and where the verdict lines of several judges are in one file, for those are not
    pooled.
    """
    rows = read_rows(path)
    first = next(rows, None)
    if first is None:
        raise DataError(f"{shown(str(path))}: holds no game")
    everything = chain([first], rows)
    if first.fields.keys() >= LINES:
        if mapping or meanings:
            raise DataError("verdict lines are read as they are, without --map and --label")
        return _of_lines(path, everything)
    return _of_log(path, everything, mapping or {}, meanings)


def _of_lines(path: Source, rows: Iterable[Row]) -> Games:
    recorded = by_signature(rows)
    if len(recorded) > 1:
        names = "\n  ".join(sorted(recorded))
        raise DataError(
            f"{shown(str(path))}: verdicts of {len(recorded)} judges, which are not pooled; keep"
            f" the lines of one of\n  {names}"
        )
    ((signature, verdicts),) = recorded.items()
    games = [_game(*key, outcome) for key, (outcome, _) in verdicts.items()]
    return Games(games=tuple(games), signature=signature)


def _of_log(
    path: Source,
    rows: Iterable[Row],
    mapping: Mapping[str, str],
    meanings: Mapping[str, str] | None,
) -> Games:
    for field in mapping:
        if field not in COLUMNS:
            raise DataError(f"--map {shown(field)}: a battle log has {', '.join(COLUMNS)}")
    games: list[Game] = []
    wrong: list[str] = []
    chosen: dict[str, str] = {}
    for row in rows:
        try:
            if not chosen:
                chosen = _columns(row.fields, mapping)
            games.append(_battle(row.fields, chosen, row.place, meanings))
        except DataError as error:
            if not chosen:
                raise DataError(f"{row.place.file}: {error}") from None
            wrong.append(f"{row.place}: {error}")
    if wrong:
        more = [f"and {len(wrong) - SHOWN} more bad rows"] if len(wrong) > SHOWN else []
        raise DataError("\n".join(wrong[:SHOWN] + more))
    return Games(games=tuple(games), without_item="item" not in chosen)


def _columns(columns: Iterable[str], mapping: Mapping[str, str]) -> dict[str, str]:
    there = {column.strip().lower(): column for column in columns}
    chosen = {}
    for field, names in COLUMNS.items():
        if field in mapping:
            if mapping[field] not in there.values():
                raise DataError(
                    f"--map {field}={shown(mapping[field])}: there is no such column"
                    f"{nearest(mapping[field], there)}"
                )
            chosen[field] = mapping[field]
        elif known := next((there[n] for n in names if n in there), None):
            chosen[field] = known
        elif field != "item":
            found = ", ".join(map(shown, there.values()))
            raise DataError(
                f"no column for {field} (called {', '.join(names)}); the columns are {found}; say"
                f" which with --map {field}=COLUMN"
            )
    return chosen


def _battle(
    fields: Mapping[str, object],
    chosen: Mapping[str, str],
    place: Place,
    meanings: Mapping[str, str] | None,
) -> Game:
    told = {field: fields.get(column) for field, column in chosen.items()}
    a, b = (name(side, told[side]) for side in "ab")
    if a is None or b is None:
        raise DataError(f"{'a' if a is None else 'b'}: is missing")
    if a == b:
        raise DataError(f"b: {excerpt(b)} meets itself")
    item = name("item", told.get("item")) if "item" in chosen else str(place)
    if item is None:
        raise DataError("item: is missing")
    said = told["choice"]
    if said is None or said == "":
        return Game(item=item, a=a, b=b, choice=None, unjudged="not_recorded")
    choice = None if meanings else SIDES.get(str(said).strip().lower())
    try:
        choice = choice or label(said, systems=(a, b), meanings=meanings)
    except DataError as error:
        raise DataError(str(error).replace("label", "choice", 1)) from None
    return Game(item=item, a=a, b=b, choice=choice, a_score=WORTH[choice])


def systems_of(games: Sequence[Game]) -> tuple[str, ...]:
    """In the order of the alphabet, so that the order of the rows changes nothing."""
    return tuple(sorted({system for game in games for system in (game.a, game.b)}))


def unjudged(games: Sequence[Game]) -> dict[str, int]:
    """How many games have no verdict, by reason."""
    return dict(Counter(game.unjudged for game in games if game.choice is None).most_common())
