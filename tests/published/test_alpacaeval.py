"""AlpacaEval 2 (Li et al. 2023): preferences from the log-probabilities of two tokens."""

import json

from published.recorded import columns, needs_data
from twopan.protocols.logprobs import distribution, preference
from twopan.providers import TokenLogprobs
from twopan.verdict import Choice, Preference

pytestmark = needs_data

FILE = "alpacaeval/weighted_gpt4_turbo_annotations.parquet"


def test_r5_preferences_from_recorded_logprobs_to_eight_digits():
    """The model answers to "m" and the baseline to "M", or, swapped, the other way round.

    The letters are renamed to the labels A and B, and a swapped look is flipped, as ours are.
    Rows in which one of the two was not among the five tokens recorded have no such preference.
    """
    checked, worst = 0, 0.0
    for pref, m, big_m, swapped in columns(FILE, "pref", "lp_m", "lp_M", "swapped"):
        if None in (m, big_m, swapped):
            continue
        found = distribution(
            [TokenLogprobs("A", (("A", m), ("B", big_m)))], ["A", "B"], min_mass=0.0
        )
        p_a = preference(found)
        look = Preference(choice=Choice.A if p_a > 0.5 else Choice.B, reasoning="", p_a=p_a)
        look = look.flipped() if swapped else look
        worst = max(worst, abs(look.a_score - (pref - 1)))
        checked += 1
    assert checked == 41697
    assert worst < 1e-8


def test_r5_letters_that_differ_in_case_alone_are_told_apart_among_the_five_tokens_recorded():
    """Which order a row was asked in is told by the annotations.

    We count " m" as m and AlpacaEval does not: that moves 195 rows, none by more than 1e-7.
    """
    orders = {tuple(key): swapped for *key, swapped in columns(FILE, "model", "iid", "swapped")}
    off = {True: [], False: []}
    for model, iid, pref, top in columns(
        "alpacaeval/example_top5_logprobs.parquet", "model", "iid", "pref", "top_logprobs"
    ):
        tokens = tuple((token, logprob) for token, logprob in json.loads(top or "[]"))
        words = {token for token, _ in tokens}
        if not {"m", "M"} <= words or orders[model, iid] is None:
            continue
        found = distribution([TokenLogprobs(tokens[0][0], tokens)], ["m", "M"], min_mass=0.0)
        p = found.probabilities["M" if orders[model, iid] else "m"]
        spaced = any(word.strip() in {"m", "M"} for word in words - {"m", "M"})
        off[spaced].append(abs(p - (pref - 1)))
    assert (len(off[False]), len(off[True])) == (2213, 195)
    assert max(off[False]) < 1e-8
    assert max(off[True]) < 1e-7
