"""From a completion to a preference or to prose: what protocols do with what came back."""

from dataclasses import replace

from twopan.errors import Filtered, Refused, Truncated, Unparsed
from twopan.protocols import logprobs, parsing
from twopan.protocols.parsing import CHOICES, Contract
from twopan.providers import Completion
from twopan.verdict import Choice, Preference

LEAST_MASS = 0.5
"""With less probability than this on the letters, their proportion says little of the judge."""

GRADES = {"A>>B": 1.0, "A>B": 0.75, "A=B": 0.5, "B>A": 0.25, "B>>A": 0.0}


def verdict_line(menu: tuple[str, ...]) -> Contract:
    """The contract of every prompt that reasons first: ``Verdict: A``, alone on the last line."""
    return Contract(format="line", label="Verdict", menu=menu, final=True)


def preference(contract: Contract, completion: Completion) -> Preference:
    """The verdict as the contract reads it, and P(A) where token probabilities are given.

    The probabilities are those at the place where the verdict was written. Where they are given
    the likeliest label decides, for they are what the written one was drawn from, and ``p_a`` is
    P(A) + P(tie)/2: a judge that is surest of a tie says "tie" wherever else it leans. Where they
    are but a small part of what the judge might have written, ``p_a`` is None and a flag says why.
    """
    reading = parsing.read(contract, completion.text, completion.finish_reason)
    written = Preference(
        choice=parsing.chosen(reading),
        reasoning=completion.text,
        grade=GRADES.get(str(reading.value)),
        flags=reading.flags,
    )
    start = logprobs.position_of(completion.logprobs, reading.span, completion.text)
    if completion.logprobs is None or start is None:
        return written
    try:
        found = logprobs.distribution(
            completion.logprobs, contract.menu, start=start, min_mass=LEAST_MASS
        )
    except Unparsed as error:
        # The verdict stands as it was written; only its strength cannot be told.
        return replace(written, flags=(*written.flags, error.why))
    most = max(found.probabilities.values())
    likeliest = {CHOICES[x.casefold()] for x, p in found.probabilities.items() if p == most}
    return replace(
        written,
        choice=likeliest.pop() if len(likeliest) == 1 else Choice.TIE,
        p_a=logprobs.preference(found),
        label_mass=found.mass,
    )


def prose(completion: Completion) -> str:
    """What a judge wrote that is to be read by the next step, its thinking aside."""
    match completion.finish_reason:
        case "refusal":
            raise Refused("the provider reports a refusal")
        case "content_filter":
            raise Filtered("a content filter took the analysis away")
        case "length":
            raise Truncated("the analysis was cut off; allow more with --max-tokens")
    text = parsing.without_reasoning(completion.text).strip()
    if not text:
        raise Unparsed("empty_content", "the judge wrote nothing")
    return text
