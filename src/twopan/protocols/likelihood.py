r"""Likelihood: listen instead of ask. How much does the instruction raise a response's probability?

.. math:: \operatorname{PMI}(x, y) = \log P(y \mid x) - \log P(y \mid x_0)

for an instruction :math:`x`, a response :math:`y` and a neutral instruction :math:`x_0`, summed
over the response's tokens: pointwise mutual information (Li et al. 2016), in nats. A model that is
too small to say which response is better may still find the better one less surprising; what makes
a text probable whatever was asked, its length and its fluency, stands on both sides and cancels.

It needs a provider that weighs a given reply (``Request.continuation``), and asks nothing, so that
a rubric changes nothing. For a pair, with :math:`d = \operatorname{PMI}(x, a) -
\operatorname{PMI}(x, b)`,

.. math:: \operatorname{logit} P(A) = \frac{d}{\tau},

and close to even is a tie. ``pairwise+likelihood`` asks and listens: to the log-odds :math:`\ell`
of A when asked, in one order, it adds the likelihoods on the same scale,

.. math:: \operatorname{logit} P(A) = \ell + \frac{\sigma_\ell}{\sigma_d} d,

so that neither is preferred. The mean over both orders decides, in which the leaning to one
position cancels. Scales and margins are frozen. They come from the embedded judge on pairs of
MT-Bench (``benchmarks/embedded_scales.py``), and not from what they are reported on.

References
----------
Li, Galley, Brockett, Gao and Dolan (2016), A diversity-promoting objective function for neural
conversation models. NAACL. arXiv:1510.03055.
"""

import math
from dataclasses import replace

from twopan.concurrency import together
from twopan.data import Item
from twopan.errors import Unparsed
from twopan.judge import Judge
from twopan.protocols import Look, Protocol
from twopan.providers import Completion
from twopan.verdict import Choice, Preference, Score, log_odds, probability

NEUTRAL = "Write something."

TAU = 24.0
"""Nats of d that multiply the odds by e."""
MARGIN = 2 / TAU
"""Log-odds within which the likelihoods are a tie: two nats of d."""
SIGMA_ODDS, SIGMA_PMI = 0.19, 18.7
"""How much the log-odds of a judge that is asked vary from pair to pair, and d, in nats: of the
normal distributions with the same middle half."""


async def score(judge: Judge, item: Item, response: str) -> Score:
    asked, unasked = await together(
        weigh(judge, item.instruction, response), weigh(judge, NEUTRAL, response)
    )
    return Score(
        value=asked - unasked,
        score_mode="likelihood",
        reasoning=f"log P = {asked:.2f} as asked, {unasked:.2f} unasked",
    )


async def look(judge: Judge, item: Item, a: str, b: str) -> Preference:
    of_a, of_b = await together(score(judge, item, a), score(judge, item, b))
    told = f"[A: {of_a.value:.2f}] {of_a.reasoning}\n\n[B: {of_b.value:.2f}] {of_b.reasoning}"
    return leaning((of_a.value - of_b.value) / TAU, told)


def heard(ask: Look) -> Look:
    async def look(judge: Judge, item: Item, a: str, b: str) -> Preference:
        asked = await ask(judge, item, a, b)
        if asked.p_a is None:
            raise Unparsed(
                "logprobs_missing",
                "the judge told no token probabilities, to which likelihoods could be added: use"
                " likelihood alone, or pairwise",
            )
        of_a, of_b = await together(score(judge, item, a), score(judge, item, b))
        d = of_a.value - of_b.value
        both = leaning(log_odds(asked.p_a) + d * SIGMA_ODDS / SIGMA_PMI)
        return replace(asked, choice=both.choice, p_a=both.p_a)

    return look


def leaning(x: float, reasoning: str = "") -> Preference:
    """To the side that is likelier, however little; ``x`` are the log-odds of A."""
    choice = {1: Choice.A, 0: Choice.TIE, -1: Choice.B}[(x > 0) - (x < 0)]
    return Preference(choice=choice, reasoning=reasoning, p_a=probability(x))


likelihood = Protocol(
    name="likelihood",
    prompts=("listen",),
    look=look,
    score=score,
    margin=MARGIN,
    asks=False,
    takes=(),
)


def listening(asking: Protocol) -> Protocol:
    """A protocol that asks, made one that listens too."""
    return replace(
        asking,
        look=heard(asking.look),
        prompts=(*asking.prompts, *likelihood.prompts),
        margin=0.0,
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
