r"""Likelihood: listen instead of ask. How much does the instruction raise a response's probability?

.. math:: \operatorname{PMI}(x, y) = \log P(y \mid x) - \log P(y \mid x_0)

for an instruction :math:`x`, a response :math:`y` and a neutral instruction :math:`x_0`, summed
over the response's tokens: pointwise mutual information (Li et al. 2016), in nats. A model that is
too small to say which response is better may still find the better one less surprising; what makes
a text probable whatever was asked, its length and its fluency, stands on both sides and cancels.

It needs a provider that weighs a given reply (``Request.continuation``).

``pairwise+likelihood`` asks and listens. With :math:`\ell` the log-odds that the judge gives A when
asked, in one order, and :math:`d = \operatorname{PMI}(x, a) - \operatorname{PMI}(x, b)`,

.. math:: \operatorname{logit} P(A) = \beta \left(
          \frac{\ell}{\sigma_\ell} + \frac{d}{\sigma_d} \right),

both on their own scale and neither preferred. The mean over both orders decides, in which the
leaning to one position cancels. The scales are frozen; they come from pairs of MT-Bench and the
embedded judge (``docs/embedded-judge.md``), and were not fitted to what they are reported on.

References
----------
Li, Galley, Brockett, Gao and Dolan (2016), A diversity-promoting objective function for neural
conversation models. NAACL. arXiv:1510.03055.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

from twopan.concurrency import together
from twopan.data import Item
from twopan.errors import Unparsed
from twopan.judge import Judge
from twopan.protocols import Look, Protocol, point_protocol
from twopan.providers import Completion
from twopan.verdict import Choice, Preference, Score, log_odds, probability

NEUTRAL = "Write something."

SIGMA_ODDS, SIGMA_PMI, BETA = 0.2, 40.0, 0.6
MARGIN = 0.1
"""Mean log-odds within which ``pairwise+likelihood`` calls a tie."""


@point_protocol(prompts=["listen"])
async def likelihood(judge: Judge, item: Item, response: str) -> Score:
    asked, unasked = await weighed(judge, item, response)
    return Score(
        value=asked - unasked,
        score_mode="likelihood",
        reasoning=f"log P = {asked:.2f} as asked, {unasked:.2f} unasked",
    )


async def weighed(judge: Judge, item: Item, response: str) -> Sequence[float]:
    """log P(response | x) and log P(response | x0), in nats."""
    return await together(weigh(judge, item.instruction, response), weigh(judge, NEUTRAL, response))


def listening(asking: Protocol) -> Protocol:
    """A protocol that asks, made one that listens too."""
    return replace(
        asking,
        look=heard(asking.look),
        prompts=(*asking.prompts, *likelihood.prompts),
        margin=MARGIN,
    )


def heard(ask: Look) -> Look:
    async def look(judge: Judge, item: Item, a: str, b: str) -> Preference:
        asked = await ask(judge, item, a, b)
        if asked.p_a is None:
            raise Unparsed(
                "logprobs_missing", "likelihoods are added to the probability of a verdict"
            )
        (a_asked, a_unasked), (b_asked, b_unasked) = await together(
            weighed(judge, item, a), weighed(judge, item, b)
        )
        d = (a_asked - a_unasked) - (b_asked - b_unasked)
        p_a = probability(BETA * (log_odds(asked.p_a) / SIGMA_ODDS + d / SIGMA_PMI))
        choice = {1: Choice.A, 0: Choice.TIE, -1: Choice.B}[(p_a > 0.5) - (p_a < 0.5)]
        return replace(asked, choice=choice, p_a=p_a)

    return look


async def weigh(judge: Judge, instruction: str, response: str) -> float:
    """log P(response | instruction), in nats."""
    return await judge.ask(
        "listen",
        read=total,
        max_tokens=1,
        continuation=response,
        data={"instruction": instruction},
    )


def total(completion: Completion) -> float:
    if not completion.logprobs:
        raise Unparsed("logprobs_missing", "an empty response has no likelihood")
    terms = [position.top[0][1] for position in completion.logprobs]
    if any(term is None or not math.isfinite(term) or term > 0 for term in terms):
        raise Unparsed("bad_logprob", "a token has no log-probability")
    return math.fsum(term for term in terms if term is not None)
