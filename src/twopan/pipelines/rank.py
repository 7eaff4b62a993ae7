"""Rank: which of several systems is better, with as few comparisons as that takes.

    entries ──► next_batch ──► judge_pairs ──► games ──► ratings ──► leaderboard
                    ▲                            │
                    └────────── settled? ◄───────┘

Comparisons come in batches, each chosen by what is known from those before it
(:mod:`twopan.stats.pairing`). It ends where the intervals separate what was asked to be separated,
where everything was asked, or where a budget ends it; then there is a leaderboard all the same.
Verdicts that this jury gave before, in whatever run, count from the start: a ranking goes on where
it stopped, and a system that is added meets the others without their meeting again.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import fmean
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from twopan.data import Pair
from twopan.entries import Entries
from twopan.errors import BudgetReached, ConfigError
from twopan.games import Game, Games, game_of, systems_of, unjudged
from twopan.judge import Judge
from twopan.jury import Each, Outcome, Rule, judge_pairs, majority, require_references
from twopan.lines import Recorded, fingerprint
from twopan.names import nearest
from twopan.rows import shown
from twopan.stats.battles import Battles, count
from twopan.stats.bradley_terry import NotIdentified, Ratings, Ties, fit
from twopan.stats.columns import Floats, Ints
from twopan.stats.leaderboard import Leaderboard, leaderboard
from twopan.stats.length_control import LengthControlled, length_controlled
from twopan.stats.logistic import Separated
from twopan.stats.pairing import (
    PRIOR,
    Batch,
    Field,
    Goal,
    Method,
    Resolved,
    next_batch,
    resolved,
)
from twopan.stats.resampling import Undefined
from twopan.stats.transitivity import Transitivity, transitivity
from twopan.verdict import Choice, Verdict

Stopped = Literal["settled", "exhausted", "budget", "recorded"]
WORTH = {Choice.A: 1.0, Choice.TIE: 0.5, Choice.B: 0.0}
STEP = 8
"""Comparisons at a time, at least, where each batch is chosen by what came before."""
LONG = 200
"""Likewise where it is not."""


@dataclass(frozen=True, slots=True)
class Step:
    """How things stood after so many comparisons."""

    games: int
    theta: Floats
    """Strengths with the weak prior that choosing starts from, shape (n,)."""
    separated: int
    """How many of the differences that matter were told apart."""
    wanted: int
    done: bool


@dataclass(frozen=True, kw_only=True)
class Ranking:
    """A leaderboard and all that it rests on."""

    systems: tuple[str, ...]
    games: tuple[Game, ...]
    """In the order in which they were asked for, those without a verdict among them."""
    stopped: Stopped
    method: Method | None = None
    """None of recorded games, which nobody chose."""
    goal: Goal = field(default_factory=Goal)
    baseline: str | None = None
    level: float = 0.95
    ties: Ties = "half"
    seed: int = 0
    signature: str = ""
    available: int | None = None
    """Comparisons there were to make; None where that is not known."""
    known: int = 0
    """Games whose verdicts were there before the run."""
    path: tuple[Step, ...] = ()
    lengths: Mapping[tuple[str, str], int] = field(default_factory=dict)
    """(system, item) -> characters of the response, where the texts are known."""

    @cached_property
    def judged(self) -> tuple[Game, ...]:
        return tuple(game for game in self.games if game.choice is not None)

    @cached_property
    def unjudged(self) -> dict[str, int]:
        """How many games have no verdict, by reason."""
        return unjudged(self.games)

    @cached_property
    def _columns(self) -> tuple[Ints, Ints, Floats, list[str]]:
        number = {name: n for n, name in enumerate(self.systems)}
        a, b = (np.array([number[getattr(g, s)] for g in self.judged], int) for s in "ab")
        y = np.array([WORTH[g.choice] for g in self.judged if g.choice is not None])
        return a, b, y, [game.item for game in self.judged]

    @cached_property
    def battles(self) -> Battles | None:
        """None where no game has a verdict."""
        if not self.judged:
            return None
        a, b, y, items = self._columns
        return count(a, b, y, n=len(self.systems), cluster=items)

    @cached_property
    def board(self) -> Leaderboard | None:
        if self.battles is None:
            return None
        return leaderboard(self.battles, ties=self.ties, level=self.level, seed=self.seed)

    @cached_property
    def ratings(self) -> Ratings | None:
        """Of all systems on one scale; None where the games do not allow that."""
        if self.battles is None:
            return None
        try:
            return fit(self.battles, ties=self.ties)
        except NotIdentified:
            return None

    @cached_property
    def settled(self) -> Resolved | None:
        """Whether what was asked to be told apart is; None where no game has a verdict."""
        if self.battles is None:
            return None
        return resolved(self.battles, self.goal, level=self.level)

    @cached_property
    def transitivity(self) -> Transitivity | None:
        """Circles among the systems; None where no game has a verdict."""
        if self.battles is None:
            return None
        return transitivity(self.battles, self.ratings, seed=self.seed)

    @cached_property
    def length_controlled(self) -> dict[str, LengthControlled | str]:
        """Each system's win rate if its responses were as long as those it met, or why there is
        none; nothing where the texts are not known."""
        if not self.lengths:
            return {}
        return {name: self._length_controlled(name) for name in self.systems}

    def _length_controlled(self, name: str) -> LengthControlled | str:
        rows = []
        for game in self.judged:
            if name not in (game.a, game.b) or game.choice is None:
                continue
            other = game.b if name == game.a else game.a
            score = WORTH[game.choice] if name == game.a else 1 - WORTH[game.choice]
            own, theirs = (self.lengths.get((s, game.item)) for s in (name, other))
            if own is not None and theirs is not None:
                rows.append((score, own, theirs, game.item))
        if not rows:
            return "it met nobody"
        scores, a, b, items = zip(*rows, strict=True)
        try:
            return length_controlled(scores, a, b, cluster=items, level=self.level)
        except (Separated, Undefined) as reason:
            return str(reason)

    @cached_property
    def consistency(self) -> dict[str, float | None]:
        """Of each system, the share of its judged games in which both orders said the same."""
        told: dict[str, list[bool]] = {name: [] for name in self.systems}
        for game in self.judged:
            if game.consistent is not None:
                told[game.a].append(game.consistent)
                told[game.b].append(game.consistent)
        return {name: fmean(each) if each else None for name, each in told.items()}

    @cached_property
    def lost(self) -> dict[str, int]:
        """Of each system, how many of its games have no verdict."""
        found = Counter(s for g in self.games if g.choice is None for s in (g.a, g.b))
        return {name: found[name] for name in self.systems}

    @property
    def coverage(self) -> float:
        """Share of the comparisons asked for that have a verdict."""
        return len(self.judged) / len(self.games) if self.games else 0.0

    @property
    def because(self) -> str:
        """What may be concluded, in a sentence or two."""
        if self.board is None or self.settled is None:
            return "No comparison has a verdict, so there is no ranking."
        names = [self.systems[s.system] for s in self.board.standings]
        of = f" of {self.available:,}" if self.available else ""
        after = f"after {len(self.games):,}{of} comparisons"
        if not self.board.single:
            return (
                f"The games do not connect all systems ({len(self.board.islands)} groups that"
                f" never met), so there is no single order {after}."
            )
        told = f"{self.settled.separated} of {self.settled.wanted}"
        best = ", ".join(self.systems[s] for s in self.settled.best)
        if self.settled.done:
            said = {
                "top1": f"{best} is the best",
                "top-k": f"The best {len(self.settled.best)} are {best}",
                "all": f"The order is settled, {names[0]} first",
            }[self.goal.resolve]
            return f"{said}, {after}, at {100 * self.level:g}% confidence at all looks."
        return (
            f"Not settled {after}: {told} differences that matter are told apart at"
            f" {100 * self.level:g}% confidence; {names[0]} is rated first."
        )

    def __str__(self) -> str:
        """How a terminal shows it."""
        return self.because

    def to_dict(self) -> dict[str, Any]:
        """Everything above as plain JSON values; what does not exist is null, never NaN."""
        board, circles = self.board, self.transitivity
        return {
            "because": self.because,
            "stopped": self.stopped,
            "settled": None if self.settled is None else self.settled.done,
            "separated": None if self.settled is None else self.settled.separated,
            "wanted": None if self.settled is None else self.settled.wanted,
            "resolve": self.goal.resolve,
            "k": self.goal.k,
            "method": self.method,
            "baseline": self.baseline,
            "level": self.level,
            "ties": self.ties,
            "seed": self.seed,
            "comparisons": len(self.games),
            "available": self.available,
            "known": self.known,
            "judged": len(self.judged),
            "unjudged": self.unjudged,
            "systems": [] if board is None else [self._row(s) for s in range(len(board.standings))],
            "order": [] if board is None else [self.systems[s.system] for s in board.standings],
            "groups": []
            if board is None
            else [[self.systems[s] for s in group] for group in board.groups],
            "nu": None if board is None else board.nu,
            "matrix": None
            if board is None
            else {
                "systems": list(self.systems),
                "points": board.scores.tolist(),
                "games": board.games.tolist(),
                "expected": [list(row) for row in board.expected],
            },
            "transitivity": None
            if circles is None
            else {
                "circular": circles.systems.circular,
                "transitive": circles.systems.transitive,
                "tied": circles.systems.tied,
                "p_value": circles.p_systems,
                "share_on_items": circles.items.share,
                "expected_on_items": circles.expected_items,
                "p_value_on_items": circles.p_items,
                "cycles": [[self.systems[s] for s in cycle] for cycle in circles.cycles],
            },
            "signature": self.signature,
        }

    def _row(self, place: int) -> dict[str, Any]:
        assert self.board is not None
        s = self.board.standings[place]
        name = self.systems[s.system]
        even = self.length_controlled.get(name)
        return {
            "system": name,
            "rank": s.rank,
            "worst_rank": s.worst_rank,
            "rating": s.rating,
            "interval": None if s.interval is None else list(s.interval),
            "simultaneous": None if s.simultaneous is None else list(s.simultaneous),
            "win_rate": None
            if s.win_rate is None
            else {"estimate": s.win_rate.estimate, "low": s.win_rate.low, "high": s.win_rate.high},
            "win_rate_length_controlled": {"none": even}
            if isinstance(even, str)
            else None
            if even is None
            else {"estimate": even.estimate, "low": even.low, "high": even.high},
            "games": s.games,
            "consistency": self.consistency[name],
            "unjudged": self.lost[name],
            "flag": s.flag,
            "group": s.group,
        }


async def rank(
    jury: Sequence[Judge],
    entries: Entries,
    *,
    method: Method = "active",
    goal: Goal | None = None,
    baseline: str | None = None,
    level: float = 0.95,
    ties: Ties = "half",
    seed: int = 0,
    known: Recorded | None = None,
    rule: Rule = majority,
    workers: int = 16,
    each: Each | None = None,
    recalled: Callable[[int], None] | None = None,
) -> Ranking:
    """Compare systems until the question is settled, and rank them.

    Parameters
    ----------
    method
        How the next comparisons are chosen; see :mod:`twopan.stats.pairing`.
    goal
        What is to be told apart: the best, the best k, or the whole order (by default). Methods
        that ask for everything ("round-robin", "baseline") do, whatever is settled.
    baseline : str
        The system that all others meet, for the method of that name.
    known
        Verdicts of the same jury from before; those on these texts count.
    each
        Awaited with the place of every comparison, the pair and its outcome.
    recalled
        Told how many comparisons were known.

    Raises ConfigError where the baseline is no system or two are too few, and the first failure
    that ends the run, but for a budget's end: then what was judged is ranked.
    """
    goal = goal or Goal()
    fixed = method in ("round-robin", "baseline")
    n = len(entries.systems)
    baseline = baseline if method == "baseline" else None
    pairs = [entries.pair(*row) for row in comparisons(entries, baseline)]
    require_references(jury, pairs)
    number = None if baseline is None else _number(entries, baseline)
    tournament = Field(_answered(entries))
    table = _Table(entries)
    table.remember(known or {}, among=number)
    if recalled is not None:
        recalled(len(table))
    before = len(table)
    path: list[Step] = []
    stopped: Stopped = "exhausted"

    async def keep(place: int, pair: Pair, outcome: Outcome) -> None:
        early[place] = outcome
        if each is not None:
            await each(len(table) + place, pair, outcome)

    while True:
        if table.told:
            path.append(_step(table, n, goal, level))
            if path[-1].done and not fixed:
                stopped = "settled"
                break
        done, y = table.columns()
        batch = next_batch(
            tournament,
            done,
            y,
            method=method,
            goal=goal,
            size=max(LONG if fixed else STEP, workers),
            baseline=number,
            seed=seed,
        )
        if not len(batch):
            break
        rows = list(zip(batch.a.tolist(), batch.b.tolist(), batch.item.tolist(), strict=True))
        asked = [entries.pair(*row) for row in rows]
        early: dict[int, Outcome] = {}
        try:
            await judge_pairs(jury, asked, rule=rule, workers=workers, each=keep)
        except BudgetReached:
            stopped = "budget"
        for place in sorted(early):
            table.add(rows[place], asked[place], early[place])
        if stopped == "budget":
            break
    return Ranking(
        systems=entries.systems,
        games=tuple(table.games),
        stopped=stopped,
        method=method,
        goal=goal,
        baseline=baseline,
        level=level,
        ties=ties,
        seed=seed,
        signature=" + ".join(judge.signature for judge in jury),
        available=len(pairs),
        known=before,
        path=tuple(path),
        lengths=lengths(entries),
    )


def rank_games(
    games: Games,
    *,
    goal: Goal | None = None,
    baseline: str | None = None,
    level: float = 0.95,
    ties: Ties = "half",
    seed: int = 0,
    lengths: Mapping[tuple[str, str], int] | None = None,
) -> Ranking:
    """Rank systems by games that were played already; with a ``baseline``, by those against it.

    Raises ConfigError where nobody met the baseline, or there are fewer than two systems.
    """
    kept = games.games
    if baseline is not None:
        kept = tuple(game for game in kept if baseline in (game.a, game.b))
    systems = systems_of(kept)
    if len(systems) < 2:
        who = f" with {baseline}" if baseline is not None else ""
        raise ConfigError(f"a ranking needs games between two systems or more; there are none{who}")
    return Ranking(
        systems=systems,
        games=kept,
        stopped="recorded",
        goal=goal or Goal(),
        baseline=baseline,
        level=level,
        ties=ties,
        seed=seed,
        signature=games.signature,
        lengths=lengths or {},
    )


def lengths(entries: Entries) -> dict[tuple[str, str], int]:
    """(system, item) -> characters."""
    return {
        (entries.systems[system], entries.items[item].id): len(text)
        for (system, item), text in entries.texts.items()
    }


def _number(entries: Entries, baseline: str) -> int:
    if baseline not in entries.systems:
        raise ConfigError(
            f"no system {baseline!r}{nearest(baseline, entries.systems)}; there are"
            f" {', '.join(map(shown, entries.systems))}"
        )
    return entries.systems.index(baseline)


def comparisons(entries: Entries, baseline: str | None = None) -> list[tuple[int, int, int]]:
    """Every comparison there is to make: (system, system, item), by their numbers.

    Raises ConfigError where the baseline is none of the systems.
    """
    number = None if baseline is None else _number(entries, baseline)
    answered, n = _answered(entries), len(entries.systems)
    return [
        (i, j, int(item))
        for i in range(n)
        for j in range(i + 1, n)
        if number is None or number in (i, j)
        for item in np.flatnonzero(answered[i] & answered[j])
    ]


def _answered(entries: Entries) -> NDArray[np.bool_]:
    answered = np.zeros((len(entries.systems), len(entries.items)), dtype=bool)
    for system, item in entries.texts:
        answered[system, item] = True
    return answered


class _Table:
    """The games so far."""

    def __init__(self, entries: Entries) -> None:
        self.entries = entries
        self.games: list[Game] = []
        self.rows: list[tuple[int, int, int]] = []
        self.y: list[float] = []
        self.told = 0

    def __len__(self) -> int:
        return len(self.rows)

    def add(self, row: tuple[int, int, int], pair: Pair, outcome: Outcome) -> None:
        self.rows.append(row)
        self.games.append(game_of(pair, outcome))
        judged = isinstance(outcome, Verdict)
        self.y.append(WORTH[outcome.choice] if isinstance(outcome, Verdict) else np.nan)
        self.told += judged

    def remember(self, known: Recorded, *, among: int | None) -> None:
        """Games that were judged before, on these very texts."""
        systems = {name: n for n, name in enumerate(self.entries.systems)}
        items = {item.id: n for n, item in enumerate(self.entries.items)}
        met: set[tuple[frozenset[int], int]] = set()
        for (item, a, b), (outcome, texts) in sorted(known.items(), key=lambda one: one[0]):
            if not (item in items and a in systems and b in systems and a != b):
                continue
            row = (systems[a], systems[b], items[item])
            once = (frozenset(row[:2]), row[2])
            if once in met or (among is not None and among not in row[:2]):
                continue
            if any((system, row[2]) not in self.entries.texts for system in row[:2]):
                continue
            pair = self.entries.pair(*row)
            if isinstance(outcome, Verdict) and texts == fingerprint(pair):
                met.add(once)
                self.add(row, pair, outcome)

    def columns(self) -> tuple[Batch, Floats]:
        columns = np.array(self.rows, dtype=np.int64).reshape(-1, 3)
        return Batch(columns[:, 0], columns[:, 1], columns[:, 2]), np.array(self.y, float)

    def battles(self, n: int) -> Battles:
        done, y = self.columns()
        told = np.isfinite(y)
        return count(done.a[told], done.b[told], y[told], n=n, cluster=done.item[told])


def _step(table: _Table, n: int, goal: Goal, level: float) -> Step:
    battles = table.battles(n)
    found = resolved(battles, goal, level=level)
    theta = fit(battles, prior=PRIOR, robust=False).theta
    return Step(len(table), theta, found.separated, found.wanted, found.done)
