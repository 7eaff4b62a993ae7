"""A run: the judges that were named, ready to be asked, with one ledger behind them.

    async with open_session(["local"], ledger=Ledger(path)) as session:
        result = await gate(session.jury, pairs)

It opens a run in the ledger, gives each judge a client, and on the way out closes what it opened
and says how the run ended.
"""

import json
import time
from asyncio import CancelledError
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

from anyio import CancelScope

from twopan.client import Budget, Client, Meter
from twopan.data import Pair
from twopan.errors import BudgetReached, ConfigError, Interrupted
from twopan.judge import Judge, Settings
from twopan.judges import Spec, find_protocol
from twopan.jury import Outcome
from twopan.ledger import Ledger
from twopan.lines import Recorded, latest, to_line
from twopan.prompts import Prompts
from twopan.rubric import Rubric, load


@dataclass(frozen=True, kw_only=True)
class Spent:
    """What a run has cost, and who answered."""

    run: str
    ledger: str
    calls: int
    attempts: int
    recalled: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    cost_usd: float
    unpriced: int
    """Calls whose model has no price: their cost is unknown, which is not nothing."""
    unknown: int
    """Attempts that may have been answered, and charged, without our hearing of it."""
    seconds: float
    served: Mapping[str, int]
    """Replies by the model that says it gave them."""
    adapted: Mapping[str, int] = field(default_factory=dict)
    """Parts of requests that a model refused and did without, and in how many replies."""

    def __add__(self, other: "Spent") -> "Spent":
        """Of two runs, one after the other."""
        mine, theirs = asdict(self), asdict(other)
        total = {name: mine[name] + theirs[name] for name in mine if name not in UNADDED}
        return Spent(
            **total,
            run=f"{self.run}, {other.run}",
            ledger=self.ledger,
            served=dict(Counter(self.served) + Counter(other.served)),
            adapted=dict(Counter(self.adapted) + Counter(other.adapted)),
        )


UNADDED = ("run", "ledger", "served", "adapted")


@dataclass(frozen=True, kw_only=True)
class Session:
    jury: tuple[Judge, ...]
    ledger: Ledger
    run: str
    began: float = field(default_factory=time.monotonic)

    @property
    def clients(self) -> tuple[Client, ...]:
        return tuple(judge.client for judge in self.jury)

    @property
    def signature(self) -> str:
        return " + ".join(judge.signature for judge in self.jury)

    @property
    def workers(self) -> int:
        """Pairs under way at once: enough to keep every slot of every client busy."""
        return max(client.concurrency for client in self.clients)

    def interrupt(self) -> bool:
        """Start no further call. Returns whether some are under way that are worth waiting for."""
        for client in self.clients:
            client.interrupt()
        return any(client.waiting for client in self.clients)

    async def keep(self, place: int, pair: Pair, outcome: Outcome) -> None:
        """Put an outcome into the ledger, as a verdict line of this run."""
        await self.ledger.judged(self.run, place, to_line(pair, outcome, self.signature))

    def recorded(self) -> Recorded:
        """The verdicts that this jury has given, in whatever run of this ledger."""
        mine = [judge.signature for judge in self.jury]
        runs = self.ledger.query("select id, signature from runs order by started_at, id")
        same = [run["id"] for run in runs if json.loads(run["signature"]) == mine]
        return latest(
            row["line"]
            for run in same
            for row in self.ledger.query(
                "select line from verdicts where run = ? and choice is not null", run
            )
        )

    def used(self) -> Meter:
        """What the answers took, whether they were bought in this run or in an earlier one."""
        total = Meter()
        for client in self.clients:
            total.add(client.used)
        return total

    def spent(self) -> Spent:
        total = Meter()
        served: Counter[str] = Counter()
        adapted: Counter[str] = Counter()
        for client in self.clients:
            total.add(client.meter)
            served.update(client.served)
            adapted.update(client.adapted)
        return Spent(
            run=self.run,
            ledger=str(self.ledger.path),
            calls=total.calls,
            attempts=total.attempts,
            recalled=total.recalled,
            input_tokens=total.input_tokens,
            cached_tokens=total.cached_tokens,
            output_tokens=total.output_tokens,
            cost_usd=total.cost_usd,
            unpriced=total.unpriced,
            unknown=total.unknown,
            seconds=time.monotonic() - self.began,
            served=dict(served),
            adapted=dict(adapted),
        )


def seat(
    specs: Sequence[Spec | str],
    *,
    protocol: str | None,
    rubric: Rubric | None,
    prompts: Prompts,
    settings: Settings,
    client: Callable[[Spec], Client],
) -> tuple[Judge, ...]:
    """One judge for each spec, each with the client that is made for it.

    Without a ``protocol`` each judge has the one that suits it (``Spec.protocol``), without a
    ``rubric`` it is asked for helpfulness.

    Raises ConfigError where a spec, the protocol or a prompt is not what it should be. Nobody
    has been called then.
    """
    prompts.check()
    resolved = [Spec.parse(spec) if isinstance(spec, str) else spec for spec in specs]
    asked = rubric is not None or prompts.directory is not None
    protocols = [find_protocol(protocol or spec.protocol(asked=asked)) for spec in resolved]
    if rubric and any(not look.asks for look in protocols):
        raise ConfigError(
            f"protocol {protocol} listens and asks nothing, so a rubric changes nothing: leave out"
            " the one or the other"
        )
    jury = tuple(
        Judge(
            model=spec.model,
            protocol=look,
            rubric=rubric or load("helpfulness"),
            client=client(spec),
            settings=settings,
            prompts=prompts,
        )
        for spec, look in zip(resolved, protocols, strict=True)
    )
    if len({judge.signature for judge in jury}) < len(jury):
        raise ConfigError("a jury needs different judges; the same one is named twice")
    return jury


def in_force(config: Mapping[str, Any], jury: Sequence[Judge]) -> dict[str, Any]:
    """The settings, with what stands where none was given."""
    protocols = {judge.protocol.name for judge in jury}
    rubrics = {judge.rubric.name for judge in jury if judge.protocol.asks}
    chosen = {"protocol": ", ".join(sorted(protocols)), "rubric": ", ".join(rubrics) or None}
    return {**config, **{name: config.get(name) or value for name, value in chosen.items()}}


async def dismiss(jury: Sequence[Judge]) -> None:
    """Close what the judges hold open: connections, a model in memory."""
    for judge in jury:
        if hasattr(judge.client.provider, "aclose"):
            await judge.client.provider.aclose()


@asynccontextmanager
async def open_session(
    specs: Sequence[Spec | str],
    *,
    ledger: Ledger,
    protocol: str | None = None,
    rubric: Rubric | None = None,
    prompts: Prompts | None = None,
    settings: Settings | None = None,
    budget: Budget | None = None,
    concurrency: int | None = None,
    attempt_timeout: float | None = None,
    deadline: float | None = None,
    offline: bool = False,
    command: Sequence[str] = (),
    config: Mapping[str, Any] | None = None,
) -> AsyncIterator[Session]:
    """Open a run, with one judge for each spec, asked in ``protocol`` or in the judge's own.

    ``deadline`` is in seconds from now. The run is left in the ledger as finished, budget (stopped
    by the budget or the deadline), interrupted (stopped by the user) or failed.
    """
    until = None if deadline is None else time.monotonic() + deadline

    def client(spec: Spec) -> Client:
        if budget is not None and budget.usd is not None and spec.price is None:
            raise ConfigError(
                f"a budget in money needs the price of {spec.model}: give one under [judges.NAME]"
                " in the config file, or a budget in calls"
            )
        return Client(
            spec.provider(),
            ledger,
            price=spec.price,
            budget=budget,
            concurrency=concurrency or spec.concurrency,
            attempt_timeout=attempt_timeout or spec.attempt_timeout,
            deadline=until,
            offline=offline,
        )

    jury = seat(
        specs,
        protocol=protocol,
        rubric=rubric,
        prompts=prompts or Prompts(),
        settings=settings or Settings(),
        client=client,
    )
    run = ledger.begin(command, in_force(config or {}, jury), [judge.signature for judge in jury])
    for judge in jury:
        judge.client.run = run
    state = "failed"
    try:
        yield Session(jury=jury, ledger=ledger, run=run)
        state = "finished"
    except BudgetReached:
        state = "budget"
        raise
    except (Interrupted, KeyboardInterrupt, GeneratorExit, CancelledError):
        state = "interrupted"
        raise
    finally:
        try:
            with CancelScope(shield=True):
                await dismiss(jury)
        finally:
            ledger.end(run, state)
