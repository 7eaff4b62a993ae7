"""QLoRA (Dettmers et al. 2023): GPT-4 on every ordered pair of systems, so every pair twice."""

from collections import Counter

import pytest

from published.recorded import needs_data, qlora_looks
from twopan.looks import assemble
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
