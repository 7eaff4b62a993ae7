"""Plan: how many items and calls an effect takes, before anything is paid for.

    rates × (share that comes out even) ──► items, fixed and sequential ──► calls, money

How many pairs come out even, as ties or because a judge contradicts itself with the order, is
observed where a pilot's verdicts are given, and assumed where not. What a pair costs is the mean
over the pairs at hand, rehearsed.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from twopan.estimate import Estimate
from twopan.jury import Outcome
from twopan.stats.power import Expected, OutOfReach, detectable, expect, items_needed
from twopan.stats.win_rate import WinRate, win_rate
from twopan.verdict import Choice, Verdict

RATES = (0.55, 0.6, 0.65, 0.7, 0.8)
ASSUMED = 0.3
"""Share of pairs that come out even, where nothing is known of the judge."""
AMPLE = 1.3
"""A sequential gate is given so many times the items that a fixed one needs, where no number is
given. It is then about as likely to promote, and mostly stops earlier."""
LOOKS = 60_000
"""Simulated items for each rate, about."""


@dataclass(frozen=True, kw_only=True)
class Needs:
    """Of one true win rate."""

    rate: float
    fixed: int | None
    """Items a fixed gate needs to promote it with the power that was asked for."""
    why: str = ""
    """Why no number of items does."""
    sequential: Expected | None = None

    @property
    def mean_items(self) -> float | None:
        return None if self.sequential is None else self.sequential.items


@dataclass(frozen=True, kw_only=True)
class Plan:
    needs: tuple[Needs, ...]
    even: float
    """Share of pairs that come out even."""
    observed: int | None
    """Judged pairs that it was observed in; None where it was assumed."""
    threshold: float
    level: float
    power: float
    available: int | None
    """Items there are."""
    smallest: float | None
    """The smallest true win rate that so many items show; None where none."""
    each: Estimate | None
    """What judging all pairs at hand takes, from nothing; None where there are none."""
    seen: WinRate | None = None
    """The win rate of the pilot."""

    def calls(self, items: float) -> float | None:
        """Calls for so many items, at the mean of the pairs at hand."""
        return None if self.each is None else self.each.calls / self.each.pairs * items

    def cost(self, items: float) -> tuple[float, float] | None:
        """US dollars, low and high."""
        if self.each is None or self.each.cost_usd is None:
            return None
        low, high = self.each.cost_usd
        return low / self.each.pairs * items, high / self.each.pairs * items

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain JSON values."""
        return {
            "threshold": self.threshold,
            "level": self.level,
            "power": self.power,
            "even": self.even,
            "observed_in": self.observed,
            "items_available": self.available,
            "smallest_win_rate": self.smallest,
            "pilot": None if self.seen is None else asdict(self.seen),
            "needs": [
                {
                    "rate": needs.rate,
                    "fixed": needs.fixed,
                    "why": needs.why or None,
                    "sequential": None if needs.sequential is None else asdict(needs.sequential),
                    "calls": {
                        "fixed": None if needs.fixed is None else self.calls(needs.fixed),
                        "sequential": None
                        if needs.mean_items is None
                        else self.calls(needs.mean_items),
                    },
                    "cost_usd": {
                        "fixed": None if needs.fixed is None else self.cost(needs.fixed),
                        "sequential": None
                        if needs.mean_items is None
                        else self.cost(needs.mean_items),
                    },
                }
                for needs in self.needs
            ],
        }


def plan(
    *,
    rates: Sequence[float] = RATES,
    threshold: float = 0.5,
    level: float = 0.95,
    power: float = 0.8,
    even: float | None = None,
    pilot: Sequence[Outcome] = (),
    items: int | None = None,
    each: Estimate | None = None,
    advance: Callable[[], None] | None = None,
) -> Plan:
    """What each of these true win rates takes to be shown.

    Parameters
    ----------
    rates : sequence of float in (threshold, 1)
        True win rates, a tie counting half.
    even : float in [0, 1), optional
        Share of pairs that come out even; by default as in ``pilot``, else three in ten.
    pilot
        Outcomes of the same judge on pairs of the same kind.
    items : int, optional
        How many there are.
    each
        What judging pairs of this kind takes.
    advance
        Called after each rate; simulating one takes seconds.

    Examples
    --------
    >>> found = plan(rates=[0.7], even=0.0)
    >>> found.needs[0].fixed
    47
    """
    judged = [o for o in pilot if isinstance(o, Verdict)]
    observed = None
    if even is None and judged:
        observed = len(judged)
        # As if one pair more had come out even and one not, so that a few pairs promise nothing.
        even = (sum(o.choice == Choice.TIE for o in judged) + 1) / (observed + 2)
    even = ASSUMED if even is None else even
    shared: dict[str, Any] = {"even": even, "threshold": threshold, "level": level}
    needs = []
    for rate in rates:
        needs.append(_needs(rate, items, power, shared))
        if advance is not None:
            advance()
    worth = {Choice.A: 1.0, Choice.TIE: 0.5, Choice.B: 0.0}
    return Plan(
        needs=tuple(needs),
        even=even,
        observed=observed,
        threshold=threshold,
        level=level,
        power=power,
        available=items,
        smallest=None if items is None else detectable(items, power=power, **shared),
        each=each,
        seen=win_rate([worth[o.choice] for o in judged], level=level) if judged else None,
    )


def _needs(rate: float, items: int | None, power: float, shared: dict[str, Any]) -> Needs:
    try:
        fixed = items_needed(rate, power=power, **shared)
    except OutOfReach as reason:
        return Needs(rate=rate, fixed=None, why=str(reason))
    cap = items or math.ceil(AMPLE * fixed)
    runs = min(max(LOOKS // cap, 50), 400)
    return Needs(rate=rate, fixed=fixed, sequential=expect(rate, cap=cap, runs=runs, **shared))
