"""What a run would cost, found by rehearsing it with nobody answering.

The protocols run as they would; only the last step of the client is replaced. So calls that the
ledger holds, requests that are the same, and steps that depend on others are counted rightly.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from twopan import tokens
from twopan.client import Client
from twopan.data import Item, Pair, Response
from twopan.judge import Judge
from twopan.jury import judge_pairs, score_responses
from twopan.ledger import Ledger
from twopan.prices import Price
from twopan.providers import Completion, Provider, Request, Usage

STAND_IN = "An analysis of one response, as long as what a judge writes when asked to reason. " * 8

ONE_LINE = 4
"""Tokens of a reply that is a verdict and nothing else."""


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """Calls are exact unless replies turn out unreadable; tokens and money are low and high."""

    pairs: int
    """Or single responses, where those are judged."""
    calls: int
    recalled: int
    """Answered by the ledger already; not among ``calls``."""
    input_tokens: tuple[int, int]
    output_tokens: tuple[int, int]
    cost_usd: tuple[float, float] | None
    """None where a judge to be called has no price."""


class Nobody:
    """A provider that is never called, for a rehearsal that needs neither key nor weights."""

    endpoint = "nobody"

    async def complete(self, request: Request) -> Completion:
        raise NotImplementedError


class Rehearsal(Client):
    """A client that counts what it would have asked, and answers with a stand-in.

    ``asked`` holds the keys of what was asked before, and is added to.
    """

    def __init__(
        self,
        provider: Provider,
        ledger: Ledger,
        *,
        price: Price | None,
        asked: set[str] | None = None,
    ) -> None:
        super().__init__(provider, ledger, price=price)
        self.asked = set[str]() if asked is None else asked
        self.fewest = Usage()
        self.most = Usage()

    async def _ask(self, request: Request) -> Completion:
        if request.key in self.asked:
            return Completion(text=STAND_IN)
        self.asked.add(request.key)
        self.fewest = Usage(
            input=self.fewest.input + sum(map(tokens.fewest, request.texts)),
            output=self.fewest.output + ONE_LINE,
        )
        self.most = Usage(
            input=self.most.input + sum(map(tokens.most, request.texts)),
            output=self.most.output + request.max_tokens,
        )
        self.meter.calls += 1
        return Completion(text=STAND_IN)


async def estimate(jury: Sequence[Judge], pairs: Sequence[Pair]) -> Estimate:
    """Rehearse the judging of ``pairs`` by a jury whose clients are rehearsals."""
    await judge_pairs(jury, pairs)
    return _counted(jury, len(pairs))


async def estimate_scores(
    jury: Sequence[Judge], answers: Sequence[tuple[Item, Response]]
) -> Estimate:
    """Rehearse the scoring of responses, likewise."""
    for judge in jury:
        await score_responses(judge, answers)
    return _counted(jury, len(answers))


def _counted(jury: Sequence[Judge], total: int) -> Estimate:
    clients = [judge.client for judge in jury if isinstance(judge.client, Rehearsal)]
    prices = [client.price for client in clients if client.meter.calls]
    costs = [
        (client.price.cost(client.fewest), client.price.cost(client.most))
        for client in clients
        if client.price is not None
    ]
    return Estimate(
        pairs=total,
        calls=sum(client.meter.calls for client in clients),
        recalled=sum(client.meter.recalled for client in clients),
        input_tokens=(sum(c.fewest.input for c in clients), sum(c.most.input for c in clients)),
        output_tokens=(sum(c.fewest.output for c in clients), sum(c.most.output for c in clients)),
        cost_usd=None if None in prices else (sum(c[0] for c in costs), sum(c[1] for c in costs)),
    )
