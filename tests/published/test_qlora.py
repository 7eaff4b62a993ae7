"""QLoRA (Dettmers et al. 2023): GPT-4 on every ordered pair of systems, so every pair twice."""

import csv
from collections import Counter

import numpy as np
import pytest

from published.recorded import DATA, columns, needs_data, qlora_looks
from twopan.looks import assemble
from twopan.stats.elo import elo
from twopan.verdict import Choice, Unjudged, Verdict

pytestmark = needs_data


@pytest.mark.parametrize(
    ("bench", "pairs", "unparsed", "consistent"),
    [("vicuna", 2227, 13, 0.6138), ("oa", 18599, 1414, 0.7242)],
)
def test_r10_share_of_pairs_on_which_gpt4_says_the_same_in_both_orders(
    bench, pairs, unparsed, consistent
):
    (outcomes,) = assemble(qlora_looks(bench)).values()
    verdicts = [outcome for outcome in outcomes.values() if isinstance(outcome, Verdict)]
    assert len(verdicts) == pairs
    share = sum(verdict.consistent for verdict in verdicts) / pairs
    assert share == pytest.approx(consistent, abs=0.0005)
    lost = [outcome.reason for outcome in outcomes.values() if isinstance(outcome, Unjudged)]
    assert lost == ["unparsed"] * unparsed


def test_r10_the_first_position_wins_almost_twice_as_often_as_the_second():
    """Of the looks that gave a verdict, ties among them."""
    looks = [look for look in qlora_looks("vicuna") if look.choice is not None]
    positions = Counter(look.position for look in looks)
    assert positions[Choice.A] / len(looks) == pytest.approx(0.562, abs=0.0005)
    assert positions[Choice.B] / len(looks) == pytest.approx(0.303, abs=0.0005)


def games(bench):
    """(a, b, score of a) of every look as one game, and the names of the systems."""
    looks = [
        row
        for row in columns(
            "qlora/gpt4_pairwise_both_orders.parquet", "model_1", "model_2", "score", bench=[bench]
        )
        if row[2] != -1
    ]
    names = sorted({look[0] for look in looks})
    a, b = (np.array([names.index(look[side]) for look in looks]) for side in (0, 1))
    return a, b, [{1: 1.0, 2: 0.0, 3: 0.5}[look[2]] for look in looks], names


def test_r9_elo_on_the_oasst_questions_averaged_over_orders():
    a, b, y, names = games("oa")
    found = elo(a, b, y, n=len(names), k=32, start=1000, orders=200)
    assert sorted(found.ratings, reverse=True) == pytest.approx(
        [1292, 1014, 1009, 1005, 937, 883, 861], abs=5
    )


def test_r9_the_order_of_the_eight_systems_on_the_vicuna_questions():
    with (DATA / "qlora" / "published_elo_table1.csv").open(encoding="utf-8") as file:
        published = [row["model"] for row in csv.DictReader(file)]
    a, b, y, names = games("vicuna")
    found = elo(a, b, y, n=len(names), orders=500)
    assert [names[s] for s in np.argsort(-found.ratings)] == published
