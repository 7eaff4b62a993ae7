"""The client: nothing is paid for twice, and no failure is served again."""

import time

import anyio
import pytest

from twopan.client import Budget, Client
from twopan.concurrency import together
from twopan.errors import (
    BudgetReached,
    ConfigError,
    Denied,
    Interrupted,
    Malformed,
    NotRecorded,
    Outage,
    RateLimited,
    Unparsed,
    Unreachable,
)
from twopan.prices import Price
from twopan.providers import Completion, Message, Request, Usage

pytestmark = pytest.mark.anyio


def request(text="Which?", **changes):
    return Request(endpoint="scripted", model="m", messages=(Message("user", text),), **changes)


def text_of(completion):
    return completion.text


def letter(completion):
    if completion.text not in ("A", "B"):
        raise Unparsed("off_menu", completion.text)
    return completion.text


class Provider:
    """Does what the script says, one entry a call: a text, a completion, or an error to raise."""

    endpoint = "scripted"

    def __init__(self, *script, latency=0.0):
        self.script, self.latency = list(script), latency
        self.calls = self.most_at_once = self._now = 0

    async def complete(self, request):
        self.calls += 1
        self._now += 1
        self.most_at_once = max(self.most_at_once, self._now)
        try:
            await anyio.sleep(self.latency)
            step = self.script.pop(0) if len(self.script) > 1 else self.script[0]
            if isinstance(step, Exception):
                raise step
            return step if isinstance(step, Completion) else Completion(text=step)
        finally:
            self._now -= 1


@pytest.fixture
def client_of(ledger):
    waits = []

    async def no_sleep(seconds):
        waits.append(seconds)

    def make(provider, **settings):
        run = ledger.begin([], {}, [])
        client = Client(provider, ledger, run=run, **{"sleep": no_sleep, **settings})
        client.waits = waits
        return client

    return make


def outcomes(ledger):
    return [row["outcome"] for row in ledger.query("select outcome from attempts order by id")]


async def test_a_stored_reply_is_never_bought_again(client_of):
    provider = Provider("A")
    for _ in range(3):
        assert await client_of(provider).complete(request(), text_of) == "A"
    assert provider.calls == 1


async def test_two_who_want_the_same_at_once_share_one_call(client_of):
    provider = Provider("A", latency=0.01)
    client = client_of(provider)
    answers = await together(*(client.complete(request(), text_of) for _ in range(20)))
    assert (list(answers), provider.calls) == (["A"] * 20, 1)
    assert (client.meter.calls, client.meter.recalled) == (1, 19)


async def test_repeated_draws_are_calls_of_their_own_and_are_recalled_as_such(client_of):
    provider = Provider("A")
    for _ in range(2):
        client = client_of(provider)
        await together(
            *(client.complete(request(temperature=0.7, sample=i), text_of) for i in range(5))
        )
    assert provider.calls == 5


async def test_no_more_calls_are_under_way_than_there_are_slots(client_of):
    provider = Provider("A", latency=0.005)
    client = client_of(provider, concurrency=3)
    await together(*(client.complete(request(str(i)), text_of) for i in range(30)))
    assert provider.most_at_once == 3


async def test_a_slot_is_given_back_whatever_happens(client_of):
    provider = Provider(Denied("no"))
    client = client_of(provider, concurrency=2)
    for i in range(10):
        with pytest.raises(Denied):
            await client.complete(request(str(i)), text_of)
    assert client.waiting == 0


async def test_what_may_pass_is_tried_again_and_each_try_is_on_record(client_of, ledger):
    provider = Provider(Unreachable("reset"), RateLimited("slow down", retry_after=7.0), "A")
    client = client_of(provider)
    assert await client.complete(request(), text_of) == "A"
    assert client.waits[1] >= 7.0
    assert outcomes(ledger) == ["unreachable", "rate_limited", "answered"]


async def test_what_cannot_pass_is_not_tried_again(client_of):
    provider = Provider(Denied("the key was refused"))
    with pytest.raises(Denied):
        await client_of(provider).complete(request(), text_of)
    assert provider.calls == 1


async def test_a_provider_that_never_answered_is_given_up_soon(client_of):
    provider = Provider(Unreachable("connection refused"))
    with pytest.raises(Outage, match="connection refused"):
        await client_of(provider).complete(request(), text_of)
    assert provider.calls == 3


async def test_a_reply_nobody_can_read_is_a_failure_and_is_asked_for_again_next_time(client_of):
    provider = Provider("garbage", "A")
    client = client_of(provider)
    for _ in range(3):
        with pytest.raises(Unparsed):
            await client.complete(request(), letter)
    assert provider.calls == 1
    assert await client_of(provider).complete(request(), letter) == "A"
    assert provider.calls == 2


async def test_a_better_reader_recovers_old_replies_for_nothing(client_of):
    provider = Provider("The answer is A")
    with pytest.raises(Unparsed):
        await client_of(provider).complete(request(), letter)
    assert await client_of(provider).complete(request(), lambda c: c.text[-1]) == "A"
    assert provider.calls == 1


async def test_a_deterministic_provider_is_not_asked_to_repeat_itself(client_of):
    provider = Provider("garbage")
    provider.deterministic = True
    for _ in range(2):
        with pytest.raises(Unparsed):
            await client_of(provider).complete(request(), letter)
    assert provider.calls == 1


async def test_an_error_leaves_nothing_behind_that_could_be_served(client_of, ledger):
    provider = Provider(Denied("Sorry, I ran into an error"), "A")
    with pytest.raises(Denied):
        await client_of(provider).complete(request(), text_of)
    assert ledger.query("select count(*) as n from replies")[0]["n"] == 0
    assert await client_of(provider).complete(request(), text_of) == "A"


async def test_offline_the_ledger_answers_or_nobody(client_of):
    provider = Provider("A")
    await client_of(provider).complete(request("known"), text_of)
    offline = client_of(provider, offline=True)
    assert await offline.complete(request("known"), text_of) == "A"
    with pytest.raises(NotRecorded):
        await offline.complete(request("unknown"), text_of)
    assert provider.calls == 1


async def test_a_provider_that_hangs_is_cut_off_and_its_outcome_is_unknown(client_of, ledger):
    provider = Provider("A", latency=30)
    client = client_of(provider, attempt_timeout=0.05, attempts=1)
    with pytest.raises(Outage, match=r"no answer within 0\.05 s"):
        await client.complete(request(), text_of)
    assert outcomes(ledger) == ["unknown"]
    assert client.meter.unknown == 1


async def test_a_call_that_is_cancelled_is_on_record_as_unknown(client_of, ledger):
    with anyio.move_on_after(0.05):
        await client_of(Provider("A", latency=30)).complete(request(), text_of)
    assert outcomes(ledger) == ["unknown"]


async def test_a_budget_in_calls_is_kept(client_of):
    provider = Provider("A")
    client = client_of(provider, budget=Budget(calls=3), concurrency=1)
    for i in range(3):
        await client.complete(request(str(i)), text_of)
    with pytest.raises(BudgetReached, match="3 calls"):
        await client.complete(request("one more"), text_of)
    assert await client.complete(request("0"), text_of) == "A"
    assert provider.calls == 3


async def test_a_budget_in_money_is_kept(client_of):
    price = Price(input=0.0, output=1.0)
    reply = Completion(text="A", usage=Usage(output=1_000_000))
    client = client_of(Provider(reply), price=price, budget=Budget(usd=2.5))
    for text in "12":
        await client.complete(request(text, max_tokens=1_000_000), text_of)
    with pytest.raises(BudgetReached, match=r"\$2\.5"):
        await client.complete(request("3", max_tokens=1_000_000), text_of)
    assert client.meter.cost_usd == pytest.approx(2.0)


async def test_what_a_call_did_not_cost_is_put_back(client_of):
    """Each may cost a dollar and costs a tenth, so a budget of two is enough for eleven."""
    reply = Completion(text="A", usage=Usage(output=100_000))
    client = client_of(
        Provider(reply), price=Price(input=0.0, output=1.0), budget=Budget(usd=2.05), concurrency=1
    )
    for i in range(11):
        await client.complete(request(str(i), max_tokens=1_000_000), text_of)
    with pytest.raises(BudgetReached):
        await client.complete(request("11", max_tokens=1_000_000), text_of)


async def test_a_reply_that_is_only_weighed_is_paid_for_as_input(client_of):
    provider = Provider("A")
    price = Price(input=1_000_000.0, output=0.0)  # a dollar a token
    client = client_of(provider, price=price, budget=Budget(usd=50.0))
    with pytest.raises(BudgetReached):
        await client.complete(request("?", continuation="word " * 100), text_of)
    assert provider.calls == 0


async def test_what_was_used_is_counted_once_however_it_was_come_by(client_of):
    reply = Completion(text="A", usage=Usage(input=10, output=1))
    price = Price(input=1.0, output=1.0)
    first = client_of(Provider(reply), price=price)
    for text in "aab":
        await first.complete(request(text), text_of)
    again = client_of(Provider(reply), price=price)
    for text in "ab":
        await again.complete(request(text), text_of)
    assert again.meter.calls == 0
    for client in (first, again):
        assert (client.used.calls, client.used.input_tokens) == (2, 20)
        assert client.used.cost_usd == pytest.approx(22e-6)


@pytest.mark.parametrize("limit", [{"calls": 5}, {"usd": 5.0}])
async def test_calls_under_way_count_against_the_budget(client_of, limit):
    reply = Completion(text="A", usage=Usage(output=1_000_000))
    provider = Provider(reply, latency=0.01)
    client = client_of(
        provider, budget=Budget(**limit), concurrency=16, price=Price(input=0.0, output=1.0)
    )
    asked = [request(str(i), max_tokens=1_000_000) for i in range(64)]
    with pytest.raises(BudgetReached):
        await together(*(client.complete(one, text_of) for one in asked))
    assert provider.calls == 5


async def test_a_model_without_a_price_is_not_free(client_of):
    client = client_of(Provider("A"))
    await client.complete(request(), text_of)
    assert (client.meter.cost_usd, client.meter.unpriced) == (0.0, 1)
    with pytest.raises(ConfigError, match="price"):
        await client_of(Provider("A"), budget=Budget(usd=1.0)).complete(request("x"), text_of)


async def test_after_an_interrupt_what_is_under_way_finishes_and_nothing_starts(client_of):
    provider = Provider("A", latency=0.05)
    client = client_of(provider, concurrency=4)
    results = []

    async def ask(i):
        try:
            results.append(await client.complete(request(str(i)), text_of))
        except Interrupted:
            results.append("interrupted")

    async with anyio.create_task_group() as tasks:
        for i in range(20):
            tasks.start_soon(ask, i)
        await anyio.sleep(0.02)
        client.interrupt()
    assert (results.count("A"), results.count("interrupted")) == (4, 16)
    assert client.meter.unknown == 0


async def test_a_deadline_starts_nothing_more(client_of):
    provider = Provider("A")
    client = client_of(provider, deadline=time.monotonic() - 1)
    with pytest.raises(BudgetReached, match="time"):
        await client.complete(request(), text_of)
    assert provider.calls == 0


async def test_who_really_answered_is_counted_from_the_ledger_too(client_of):
    provider = Provider(Completion(text="A", model_served="judge-2026-01-10"))
    await client_of(provider).complete(request(), text_of)
    again = client_of(provider)
    await again.complete(request(), text_of)
    assert again.served == {"judge-2026-01-10": 1}


# ---- what failures cost, and stopping while one waits ----


async def test_a_failure_that_was_paid_for_is_paid_out_of_the_budget(client_of, ledger):
    paid = Completion(text="", usage=Usage(output=1_000_000))
    client = client_of(
        Provider(Malformed("answered without text", completion=paid)),
        price=Price(input=0.0, output=1.0),
        budget=Budget(usd=3.5),
        attempts=10,
    )
    with pytest.raises(BudgetReached):
        await client.complete(request(max_tokens=1_000_000), text_of)
    assert client.meter.cost_usd == pytest.approx(3.0)
    costs = [row["cost_usd"] for row in ledger.query("select cost_usd from attempts order by id")]
    assert costs == pytest.approx([1.0, 1.0, 1.0])
    assert ledger.query("select count(*) as n from replies")[0]["n"] == 0


async def test_an_unknown_outcome_is_taken_for_the_most_it_may_have_cost(client_of):
    budget = Budget(usd=1.5)
    client = client_of(
        Provider(Unreachable("reset", outcome_unknown=True), "A"),
        price=Price(input=0.0, output=1.0),
        budget=budget,
    )
    with pytest.raises(BudgetReached):
        await client.complete(request(max_tokens=1_000_000), text_of)
    assert budget.used_usd == pytest.approx(1.0)


async def test_a_connection_found_closed_is_tried_again_at_once(client_of):
    client = client_of(Provider(Unreachable("closed", retry_after=0.0), "A"))
    await client.complete(request(), text_of)
    assert client.waits == [0.0]


async def test_an_interrupt_ends_a_wait_for_the_next_attempt(client_of):
    client = client_of(Provider(RateLimited("later", retry_after=60.0)), sleep=None)
    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:

            async def ask():
                with pytest.raises(Interrupted):
                    await client.complete(request(), text_of)

            tasks.start_soon(ask)
            await anyio.sleep(0.05)
            client.interrupt()


async def test_a_deadline_ends_waits_and_attempts_too(client_of):
    for provider in (Provider(RateLimited("later", retry_after=60.0)), Provider("A", latency=60)):
        client = client_of(provider, sleep=None, deadline=time.monotonic() + 0.2)
        with anyio.fail_after(5), pytest.raises(BudgetReached):
            await client.complete(request(provider.__class__.__name__), text_of)


async def test_success_ends_a_row_of_failures(client_of):
    """Five in a row are an outage; four, a success and four more are not."""
    down = [Unreachable("down")] * 2
    provider = Provider("A", *down * 4, "A", *down * 4, "A")
    client = client_of(provider, attempts=2)
    await client.complete(request("first"), text_of)
    for i in range(4):
        with pytest.raises(Unreachable):
            await client.complete(request(f"a{i}"), text_of)
    await client.complete(request("between"), text_of)
    for i in range(4):
        with pytest.raises(Unreachable):
            await client.complete(request(f"b{i}"), text_of)
    assert await client.complete(request("last"), text_of) == "A"


async def test_money_set_aside_for_calls_under_way_is_waited_for(client_of):
    """Each may cost a dollar and costs a hundredth: all of them fit, though not all at once."""
    reply = Completion(text="A", usage=Usage(output=10_000))
    client = client_of(
        Provider(reply, latency=0.005),
        price=Price(input=0.0, output=1.0),
        budget=Budget(usd=2.5),
        concurrency=16,
    )
    asked = [request(str(i), max_tokens=1_000_000) for i in range(40)]
    await together(*(client.complete(one, text_of) for one in asked))
    assert client.meter.calls == 40
    assert client.budget.used_usd == pytest.approx(0.4)


async def test_a_reply_whose_tokens_nobody_counted_is_not_free(client_of):
    budget = Budget(usd=1.5)
    client = client_of(Provider("A"), price=Price(input=0.0, output=1.0), budget=budget)
    await client.complete(request(max_tokens=1_000_000), text_of)
    assert (client.meter.unpriced, client.meter.cost_usd) == (1, 0.0)
    assert budget.used_usd == pytest.approx(1.0)
