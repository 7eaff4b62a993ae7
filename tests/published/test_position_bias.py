"""Position bias (Shi et al. 2024): how often nine judges choose the same response both ways."""

import csv

from published.recorded import DATA, needs_data, positionbias_looks, run
from twopan.looks import ASSUMED, assemble
from twopan.verdict import Unjudged, Verdict

pytestmark = needs_data


def consistent_looks(outcomes):
    """Looks that were made and belong to a consistent comparison, as the authors count them."""
    return sum(
        ASSUMED not in look.flags
        for outcome in outcomes
        if isinstance(outcome, Verdict) and outcome.consistent
        for vote in outcome.votes
        for look in (vote.a_first, vote.b_first)
    )


def published():
    path = DATA / "positionbias/published_consistency.csv"
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            repetition = row["run"][len("Repetition")] if row["run"].startswith("Rep") else None
            counts = int(row["consistent"]), int(row["extracted"])
            yield (row["judge"], run(row["set"], repetition)), counts


def test_r3_counts_of_62_runs_come_out_when_a_lone_look_is_taken_for_consistent():
    looks = positionbias_looks()
    theirs = assemble(looks, lone="consistent")
    extracted = dict.fromkeys(theirs, 0)
    for look in looks:
        extracted[look.judge, look.protocol] += look.choice is not None
    known = dict(published())
    assert len(theirs) == 62
    for key, outcomes in theirs.items():
        assert (consistent_looks(outcomes.values()), extracted[key]) == known[key], key


def test_r3_by_our_rule_half_a_comparison_is_none():
    """Of the 62 runs 14 have looks without a partner; all of these leave the count."""
    looks = positionbias_looks()
    known = dict(published())
    fewer = {}
    for key, outcomes in assemble(looks).items():
        half = [o for o in outcomes.values() if isinstance(o, Unjudged)]
        assert {outcome.reason for outcome in half} <= {"unparsed"}
        fewer[key] = known[key][0] - consistent_looks(outcomes.values())
        assert 0 <= fewer[key] <= len(half)
    assert sum(n > 0 for n in fewer.values()) == 14
    assert fewer["gpt-3.5-turbo-1106", "data_MTBench_position_bias"] == 3327 - 3314
