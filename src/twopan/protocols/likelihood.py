r"""Likelihood: listen instead of ask. How much does the instruction raise a response's probability?

.. math:: \operatorname{PMI}(x, y) = \log P(y \mid x) - \log P(y \mid x_0)

for an instruction :math:`x`, a response :math:`y` and a neutral instruction :math:`x_0`, summed
over the response's tokens: pointwise mutual information (Li et al. 2016), in nats. A model that is
too small to say which response is better may still find the better one less surprising; what makes
a text probable whatever was asked, its length and its fluency, stands on both sides and cancels.

It needs a provider that weighs a given reply (``Request.continuation``).

References
----------
Li, Galley, Brockett, Gao and Dolan (2016), A diversity-promoting objective function for neural
conversation models. NAACL. arXiv:1510.03055.
"""

import math

from twopan.concurrency import together
from twopan.data import Item
from twopan.errors import Unparsed
from twopan.judge import Judge
from twopan.protocols import point_protocol
from twopan.providers import Completion
from twopan.verdict import Score

NEUTRAL = "Write something."


@point_protocol(prompts=["listen"])
async def likelihood(judge: Judge, item: Item, response: str) -> Score:
    asked, unasked = await together(
        weigh(judge, item.instruction, response), weigh(judge, NEUTRAL, response)
    )
    return Score(
        value=asked - unasked,
        score_mode="likelihood",
        reasoning=f"log P = {asked:.2f} as asked, {unasked:.2f} unasked",
    )


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
