"""LLMBar (Zeng et al. 2024): 88,912 verdicts of six judges, and what was published of them."""

import csv
import json
from collections import Counter, defaultdict

from published.recorded import (
    ADVERSARIAL,
    DATA,
    NATURAL,
    llmbar,
    llmbar_looks,
    llmbar_pairs,
    needs_data,
    right_first,
)
from twopan.formats import load
from twopan.jury import majority
from twopan.looks import assemble
from twopan.pipelines.gate import decide
from twopan.stats.win_rate import win_rate
from twopan.verdict import Choice, Unjudged, Verdict

pytestmark = needs_data


def test_r1_all_1996_counts_of_the_authors_come_out():
    """Two looks without a verdict are equal to them; to us they are no agreement, and so are added.

    A look of its own counts in their two single orders even where its partner failed.
    """
    pairs = llmbar_pairs()
    looks = llmbar_looks(as_published=True)
    single, silent = Counter(), Counter()
    for look in looks:
        place = look.item.rpartition("/")[0], look.judge, look.protocol
        single[place, look.order] += look.choice == pairs[look.item].label
        silent[look.item, place] += look.choice is None
    both_silent = Counter(place for (_, place), n in silent.items() if n == 2)

    by_place = defaultdict(list)
    labels = {id: pair.label for id, pair in pairs.items()}
    for (judge, strategy), outcomes in assemble(right_first(looks, labels)).items():
        for item, outcome in outcomes.items():
            by_place[item.rpartition("/")[0], judge, strategy].append((pairs[item], outcome))

    checked = 0
    with (DATA / "llmbar/published_statistics.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            place = row["subset"], row["judge"], row["strategy"]
            gate = decide(*zip(*by_place[place], strict=True))
            ours = {
                "correct_False": single[place, Choice.A],
                "correct_True": single[place, Choice.B],
                "correct_both": gate.wins,
                "equal": gate.wins + gate.losses + gate.ties + both_silent[place],
            }
            for name, count in ours.items():
                published = row[name].split(" = ")[0]
                assert f"{count} / {len(gate.pairs)}" == published, (place, name)
                checked += 1
    assert checked == 1996


def accuracy(judge, strategy, subsets):
    """Of both orders, which is the mean a_score where the right response is A."""
    looks, labels = llmbar([judge], [strategy], subsets)
    outcomes = assemble(right_first(looks, labels))[judge, strategy].values()
    assert not any(isinstance(outcome, Unjudged) for outcome in outcomes)
    return win_rate([outcome.a_score for outcome in outcomes])


def test_comparing_makes_chatgpt_worse_on_what_is_meant_to_deceive_and_better_on_what_is_not():
    """The effect that PRePair starts from, on verdicts that others recorded.

    Both protocols with LLMBar's rules (its "Rating" and "Vanilla"), 319 adversarial items taken
    together, not the mean of four subsets, both orders; equal ratings count half.
    """
    rating, vanilla = (accuracy("ChatGPT", s, ADVERSARIAL) for s in ("Rating", "Vanilla"))
    assert (rating.m, round(100 * rating.estimate, 1)) == (319, 42.6)
    assert (vanilla.m, round(100 * vanilla.estimate, 1)) == (319, 27.0)
    assert vanilla.high < rating.low

    rating, vanilla = (accuracy("ChatGPT", s, NATURAL) for s in ("Rating", "Vanilla"))
    assert (rating.m, round(100 * rating.estimate, 1)) == (100, 68.5)
    assert (vanilla.m, round(100 * vanilla.estimate, 1)) == (100, 81.5)
    assert rating.estimate < vanilla.low


JURY = ("GPT-4", "PaLM2", "LLaMA2")


def jury_of(looks, **options):
    """Item -> the votes of the judges that gave one."""
    votes = defaultdict(list)
    for outcomes in assemble(looks, **options).values():
        for item, outcome in outcomes.items():
            votes[item] += outcome.votes if isinstance(outcome, Verdict) else []
    return votes


def test_r13_two_weaker_judges_outvote_a_strong_one():
    """From one order, metrics and references given: .834 alone, .721 among three.

    The published .721 lets a judge without a verdict abstain (3 votes) and asks for two of three.
    """
    looks, labels = llmbar(JURY, ["Metrics_Reference"], ADVERSARIAL)
    looks = [look for look in looks if look.order == Choice.A]  # before A is made the right one
    looks = list(right_first(looks, labels))
    alone = jury_of([look for look in looks if look.judge == "GPT-4"], lone="consistent")
    together = jury_of(looks, lone="consistent")
    assert len(alone) == len(together) == 319
    assert sum(len(votes) for votes in together.values()) == 3 * 319 - 3

    hits = sum(majority(votes) == Choice.A for votes in alone.values())
    assert round(hits / 319, 3) == 0.834
    hits = sum(len(v) > 1 and majority(v) == Choice.A for v in together.values())
    assert round(hits / 319, 3) == 0.721


def test_r13_holds_in_both_orders_and_with_whole_juries_only():
    looks, labels = llmbar(JURY, ["Metrics_Reference"], ADVERSARIAL)
    votes = jury_of(right_first(looks, labels))
    whole = [of for of in votes.values() if len(of) == 3]
    assert len(whole) == 316

    worth = {Choice.A: 1, Choice.TIE: 0.5, Choice.B: 0}
    strong = win_rate([worth[v.choice] for of in whole for v in of if v.judge.startswith("GPT-4|")])
    jury = win_rate([worth[majority(of)] for of in whole])
    assert jury.m == strong.m == 316
    assert round(jury.estimate, 3) == 0.717
    assert jury.high < strong.low


def test_the_loader_reads_1200_items_from_files_laid_out_as_published(tmp_path):
    subsets = defaultdict(list)
    for id, pair in llmbar_pairs().items():
        row = {"input": pair.item.instruction, "output_1": pair.a.text, "output_2": pair.b.text}
        label = {Choice.A: 1, Choice.B: 2}[pair.label]
        subsets[id.rpartition("/")[0]].append(row | {"label": label})
    for subset, rows in subsets.items():
        folder = tmp_path / "Dataset" / subset
        folder.mkdir(parents=True)
        (folder / "dataset.json").write_text(json.dumps(rows, indent=2), encoding="utf-8")
    found = load("llmbar", tmp_path / "Dataset").pairs
    assert {p.item.id: (p.item.category, p.label) for p in found} == {
        id: (pair.item.category, pair.label) for id, pair in llmbar_pairs().items()
    }
    assert len(load("llmbar", tmp_path / "Dataset" / "LLMBar").pairs) == 419
