"""The one door to a model: recall, else wait your turn, ask, and record.

    key in the ledger? ──► recalled, and nothing is paid
      │ no
      └─► intent recorded ─► slot ─► provider ─► reply recorded ─► read

A reply is kept word for word before anybody tries to read it. One that cannot be read is a
failure, is never served again, and is asked for once more by the next run, unless the provider
is ``deterministic`` and would only repeat itself.
"""

import itertools
import math
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeVar
from weakref import WeakValueDictionary

import anyio

from twopan import tokens
from twopan.errors import (
    BudgetReached,
    ConfigError,
    Denied,
    Interrupted,
    NotRecorded,
    Outage,
    ProviderError,
    Unreachable,
    VerdictError,
)
from twopan.ledger import Ledger
from twopan.prices import Price
from twopan.providers import Completion, Provider, Request, Usage

T = TypeVar("T")
Read = Callable[[Completion], T]

FIRST_WAIT_S, LONGEST_WAIT_S = 0.5, 600.0
OUTAGE_AFTER = 5
"""So many requests in a row that nobody answered, each tried to the end, are an outage."""


@dataclass(slots=True)
class Meter:
    """What a client has done so far."""

    calls: int = 0
    """Requests answered by the provider."""
    attempts: int = 0
    """Requests sent to it, answered or not."""
    recalled: int = 0
    """Requests answered from the ledger."""
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0
    unpriced: int = 0
    """Calls to a model that has no price. Their cost is unknown, which is not nothing."""
    unknown: int = 0
    """Attempts whose outcome is unknown: they may have been answered, and charged."""

    def count(self, completion: Completion, cost: float | None) -> None:
        self.calls += 1
        self.input_tokens += completion.usage.input
        self.cached_tokens += completion.usage.cached_input
        self.output_tokens += completion.usage.output
        self.unpriced += cost is None
        self.cost_usd += cost or 0.0

    def add(self, other: "Meter") -> None:
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


@dataclass(slots=True, kw_only=True)
class Budget:
    """Where to stop. Both limits may be given; None is no limit. Clients may share one budget.

    A call is paid for out of it before it is sent, in money with the most that it can cost, and
    settled when it is answered. So a budget is never overdrawn by calls that are under way.
    """

    calls: int | None = None
    usd: float | None = None
    used_calls: int = 0
    used_usd: float = 0.0
    """Spent, or set aside for calls under way."""
    under_way: int = 0
    _settled: anyio.Event = field(default_factory=anyio.Event)

    async def reserve(self, request: Request, price: Price | None) -> float:
        """Take out one call, and return the money set aside for it.

        Where that leaves too little, it waits for what calls under way will not have cost.
        Raises BudgetReached where there is not enough left, ConfigError where a budget in money
        meets a model without a price.
        """
        if self.calls is not None and self.used_calls >= self.calls:
            raise BudgetReached(f"the budget of {self.calls} calls is used up")
        self.used_calls += 1
        most = 0.0
        if self.usd is not None:
            if price is None:
                raise ConfigError(
                    "a budget in money needs the model's price; give one under [judges.NAME] in"
                    " the config file, or a budget in calls"
                )
            prompt = sum(tokens.most(text) for text in request.texts)
            most = price.cost(Usage(input=prompt, output=request.max_tokens))
            while self.used_usd + most > self.usd:
                if not self.under_way:
                    self.used_calls -= 1
                    raise BudgetReached(
                        f"the budget of ${self.usd:g} has no room for another call, which may cost"
                        f" ${most:.4f} (${self.used_usd:.4f} is used)"
                    )
                await self._settled.wait()
        self.used_usd += most
        self.under_way += 1
        return most

    def settle(self, reserved: float, cost: float | None) -> None:
        """Put back what a call did not cost. An unknown cost is taken for the most."""
        self.used_usd += (reserved if cost is None else cost) - reserved
        self.under_way -= 1
        self._settled.set()
        self._settled = anyio.Event()


class Client:
    """One provider behind one ledger.

    Parameters
    ----------
    run : str
        The run (``Ledger.begin``) under which attempts are recorded; may be set later.
    concurrency : int
        How many requests may be with the provider at once.
    attempts : int
        How often one request is tried before we give it up.
    attempt_timeout, deadline : float, seconds
        For one attempt, and for everything (on the clock of ``time.monotonic``).
    offline : bool
        Answer from the ledger alone; raise NotRecorded for what it does not hold.
    """

    def __init__(
        self,
        provider: Provider,
        ledger: Ledger,
        *,
        run: str = "",
        price: Price | None = None,
        budget: Budget | None = None,
        concurrency: int = 16,
        attempts: int = 6,
        attempt_timeout: float = 120.0,
        deadline: float | None = None,
        offline: bool = False,
        sleep: Callable[[float], Awaitable[object]] | None = None,
    ) -> None:
        self.provider = provider
        self.ledger = ledger
        self.run = run
        self.price = price
        self.budget = budget or Budget()
        self.meter = Meter()
        self.used = Meter()
        """Every different request that was answered, once, whether it was bought or recalled."""
        self._counted: set[str] = set()
        self.served: dict[str, int] = {}
        """Which models say they answered, and how many replies each gave."""
        self.adapted: dict[str, int] = {}
        """Parts of requests that the model refused and did without, and in how many replies."""
        self._attempts = attempts
        self._attempt_timeout = attempt_timeout
        self._deadline = deadline
        self._offline = offline
        self._sleep = sleep or self._pause
        self.concurrency = concurrency
        self._slots = anyio.CapacityLimiter(concurrency)
        self._in_flight: WeakValueDictionary[str, anyio.Lock] = WeakValueDictionary()
        self._unread: dict[str, VerdictError] = {}
        self._unanswered = 0
        self._stopping = anyio.Event()
        self._fatal: ProviderError | None = None
        """What every further call would meet too."""

    @property
    def waiting(self) -> int:
        """Calls under way that are, or may be, paid for."""
        return 0 if getattr(self.provider, "free", False) else self._slots.borrowed_tokens

    def interrupt(self) -> None:
        """Let what is under way finish, and start nothing more."""
        self._stopping.set()

    async def _pause(self, seconds: float) -> None:
        """Wait, unless we are asked to stop."""
        with anyio.move_on_after(seconds):
            await self._stopping.wait()

    def _left(self) -> float:
        """Seconds until the deadline."""
        return math.inf if self._deadline is None else max(0.0, self._deadline - time.monotonic())

    async def complete(self, request: Request, read: Read[T]) -> T:
        """Answer a request and read the answer.

        ``read`` makes of a completion what the caller wants, or raises a VerdictError. Replies
        in the ledger are read first, so a parser that learns to read more recovers old replies
        for nothing.
        """
        key = request.key
        # Identical requests wait for one another, so the second is recalled and not re-asked.
        async with self._in_flight.setdefault(key, anyio.Lock()):
            if key in self._unread:
                raise self._unread[key]
            failure: VerdictError | None = None
            for known in self.ledger.recall(key):
                try:
                    answer = read(known)
                except VerdictError as error:
                    failure = failure or error
                    unread = known
                else:
                    self.meter.recalled += 1
                    self._note(known)
                    self._use(key, known)
                    return answer
            if failure and getattr(self.provider, "deterministic", False):
                self._use(key, unread)
                raise failure  # it would answer the same again
            if self._offline:
                raise failure or NotRecorded(
                    "the ledger holds no reply to this request, and the run is offline"
                )
            completion = await self._ask(request)
            self._use(key, completion)
            try:
                return read(completion)
            except VerdictError as error:
                self._unread[key] = error
                raise

    async def _ask(self, request: Request) -> Completion:
        """Try until it is answered, and wait in between as long as we were asked to."""
        jitter = random.Random(request.key)
        for attempt in itertools.count(1):
            try:
                completion = await self._attempt(request)
            except ProviderError as error:
                if not error.transient or attempt >= self._patience(error):
                    raise self._given_up(error) from error
                backoff = FIRST_WAIT_S * 2 ** (attempt - 1) * (0.5 + jitter.random())
                wait = 0.0 if error.retry_after == 0.0 else max(error.retry_after or 0.0, backoff)
                await self._sleep(min(wait, LONGEST_WAIT_S, self._left()))
            else:
                self._unanswered = 0
                return completion
        raise AssertionError("unreachable")

    def _patience(self, error: ProviderError) -> int:
        """How often a request that fails like this is tried.

        Where nobody has ever answered, the address is more likely wrong than the server busy.
        """
        silent = isinstance(error, Unreachable) and not self.meter.calls
        return min(self._attempts, 3) if silent else self._attempts

    async def _attempt(self, request: Request) -> Completion:
        async with self._slots:
            if self._stopping.is_set():
                raise Interrupted("interrupted")
            if self._fatal is not None:
                raise self._fatal
            if not self._left():
                raise BudgetReached("the time allowed for the run is used up")
            reserved = await self.budget.reserve(request, self.price)
            if self._stopping.is_set():
                self.budget.settle(reserved, 0.0)
                raise Interrupted("interrupted")
            number = await self.ledger.intend(self.run, request)
            self.meter.attempts += 1
            try:
                with anyio.fail_after(min(self._attempt_timeout, self._left())):
                    completion = await self.provider.complete(request)
            except TimeoutError:
                error: ProviderError | VerdictError = Unreachable(
                    f"no answer within {self._attempt_timeout:g} s", outcome_unknown=True
                )
            except (ProviderError, VerdictError) as failure:
                error = failure
            except BaseException:
                paid = not getattr(self.provider, "free", False)
                self.meter.unknown += paid
                self.budget.settle(reserved, None if paid else 0.0)
                with anyio.CancelScope(shield=True):
                    await self.ledger.failed(
                        number, "unknown" if paid else "interrupted", "interrupted"
                    )
                raise
            else:
                cost = self._cost(completion.usage)
                self.budget.settle(reserved, cost)
                self.meter.count(completion, cost)
                self._note(completion)
                await self.ledger.answered(number, request.key, completion, cost)
                return completion
        await self._failed(number, error, reserved)
        raise error

    async def _failed(
        self, number: int, error: ProviderError | VerdictError, reserved: float
    ) -> None:
        """Record an attempt without an answer, and what it cost where that is known."""
        paid: Completion | None = getattr(error, "completion", None)
        unknown = getattr(error, "outcome_unknown", False)
        cost = None if unknown else 0.0
        if paid is not None:
            cost = self._cost(paid.usage)
            self.meter.count(paid, cost)
        self.budget.settle(reserved, cost)
        self.meter.unknown += unknown
        outcome = "unknown" if unknown else error.reason
        await self.ledger.failed(number, outcome, str(error), paid.usage if paid else None, cost)

    def _cost(self, usage: Usage) -> float | None:
        """Unknown where the model has no price, or where the provider did not count."""
        return self.price.cost(usage) if self.price and usage != Usage() else None

    def _use(self, key: str, completion: Completion) -> None:
        if key not in self._counted:
            self._counted.add(key)
            self.used.count(completion, self._cost(completion.usage))

    def _note(self, completion: Completion) -> None:
        for part in completion.adapted:
            self.adapted[part] = self.adapted.get(part, 0) + 1
        name = completion.model_served or "not stated"
        self.served[name] = self.served.get(name, 0) + 1

    def _given_up(self, error: ProviderError) -> ProviderError:
        """What a failure means for the run: one request lost, or no use in going on."""
        if isinstance(error, Denied):
            self._fatal = error
        elif isinstance(error, Unreachable):
            self._unanswered += 1
            if self._unanswered >= (OUTAGE_AFTER if self.meter.calls else 1):
                self._fatal = Outage(f"gave up: {error}")
        return self._fatal or error
