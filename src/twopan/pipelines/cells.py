"""How one judge did on some pairs that people labelled: every share, its interval and its n.

The rules of counting, the same for every judge. A verdict that is right counts 1, a tie ½ where
people saw a difference, anything else 0. **A pair without a verdict counts 0 and stays in the
denominator**, unless the judge was never asked: what a record lacks is counted, and left out.
Pairs that people called a tie have no right side; they are left out, but for the policy
``three-way``. ``POLICIES`` says what a tie may be worth instead. Votes on one item hang together,
so intervals take items as clusters.

References
----------
Zheng et al. (2023), Judging LLM-as-a-judge with MT-Bench and Chatbot Arena, Section 4.2.
Zeng et al. (2024), Evaluating large language models at evaluating instruction following.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from statistics import fmean

from twopan.data import Pair
from twopan.errors import NotRecorded
from twopan.jury import Outcome
from twopan.stats.agreement import Agreement, cohen_kappa, gwet_ac1
from twopan.stats.resampling import Estimate, Undefined, mean
from twopan.verdict import Choice, Unjudged, Verdict

SIDES = (Choice.A, Choice.B)
POLICIES = {
    "half": "a tie counts half; pairs that people tied are left out",
    "wrong": "a tie counts nothing; pairs that people tied are left out",
    "decided": "only pairs that both the judge and people decided",
    "three-way": "the judge must say what people said, ties included",
}
"""What a tie may count. ``half`` is the accuracy; ``decided`` and ``three-way`` are setups S2 and
S1 of Zheng et al. (2023)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """Shares have for denominator every pair that people decided and the judge was asked about."""

    pairs: int
    """Those pairs."""
    tied: int
    """Pairs that it was asked about and people called a tie."""
    unjudged: Mapping[str, int]
    """Labelled pairs without a verdict by reason, ``not_recorded`` among them."""
    accuracy: Estimate
    """Of the verdicts, which rest on both orders."""
    as_given: Estimate
    """Of the looks that showed the responses in the order of the data. A pair that is unjudged for
    want of either look counts nothing here too."""
    swapped: Estimate
    averaged: Estimate
    """Of single looks, over both orders."""
    both: Estimate
    """Pairs with the right choice in both orders."""
    ties: Estimate
    """Pairs whose verdict is a tie."""
    consistent: Estimate
    """Pairs on which the same was chosen in both orders, be it a tie."""
    first_position: Estimate | None
    """Of the looks that chose a side, those that chose the response shown first; None without."""
    kappa: Agreement | None
    """Cohen's, of verdicts and labels, ties included, over judged pairs; None where undefined."""
    ac1: Agreement | None
    """Gwet's, likewise: it keeps its head where nearly all labels are the same. Of three categories
    always, for any comparison may come out as a tie."""
    policies: Mapping[str, Estimate]
    """The result under each policy that leaves a pair to count."""


Row = tuple[Outcome, Choice, str]
"""What the judge said, what people said, and the item."""


def cell(pairs: Sequence[Pair], outcomes: Sequence[Outcome], *, level: float = 0.95) -> Cell:
    """Count. Raises NoData where the judge was asked about no pair that people decided."""
    labelled = [(o, p.label, p.item.id) for p, o in zip(pairs, outcomes, strict=True) if p.label]
    rows = [row for row in labelled if given(row[0])]
    decided = [row for row in rows if row[1] in SIDES]
    settled = [row for row in decided if chosen(row[0]) in SIDES]

    def share(score: Callable[[Outcome, Choice], float], of: Sequence[Row] = decided) -> Estimate:
        y = [score(outcome, label) for outcome, label, _ in of]
        return mean(y, cluster=[item for *_, item in of], level=level)

    def over_looks(of: Callable[[tuple[float, float]], float]) -> Estimate:
        return share(lambda outcome, label: of(looks(outcome, label)))

    accuracy = share(right)
    policies = {
        "half": accuracy,
        "wrong": share(same),
        "decided": share(same, settled) if settled else None,
        "three-way": share(same, rows),
    }
    kappa, ac1 = agreement(rows, level)
    return Cell(
        pairs=len(decided),
        tied=len(rows) - len(decided),
        unjudged=dict(Counter(o.reason for o, *_ in labelled if isinstance(o, Unjudged))),
        accuracy=accuracy,
        as_given=over_looks(lambda found: found[0]),
        swapped=over_looks(lambda found: found[1]),
        averaged=over_looks(fmean),
        both=over_looks(lambda found: float(found == (1, 1))),
        ties=share(lambda outcome, _: chosen(outcome) == Choice.TIE),
        consistent=share(lambda outcome, _: len(set(seen(outcome))) == 1),
        first_position=first_position(decided, level),
        kappa=kappa,
        ac1=ac1,
        policies={name: found for name, found in policies.items() if found},
    )


def given(outcome: Outcome) -> bool:
    """Whether the judge was asked. What is not in a record was not."""
    return isinstance(outcome, Verdict) or outcome.reason != NotRecorded.reason


def chosen(outcome: Outcome) -> Choice | None:
    return outcome.choice if isinstance(outcome, Verdict) else None


def same(outcome: Outcome, label: Choice) -> float:
    return float(chosen(outcome) == label)


def right(outcome: Outcome, label: Choice) -> float:
    """What a verdict counts where people decided; nothing where there is none."""
    return worth(chosen(outcome), label)


def worth(choice: Choice | None, label: Choice) -> float:
    return 0.5 if choice == Choice.TIE else float(choice == label)


def looks(outcome: Outcome, label: Choice) -> tuple[float, float]:
    """What the two looks count: the responses as given, and swapped."""
    as_given, swapped = (worth(choice, label) for choice in seen(outcome) or (None, None))
    return as_given, swapped


def seen(outcome: Outcome) -> tuple[Choice, ...]:
    """What was chosen in either order, a jury by majority; nothing where there is no verdict."""
    if isinstance(outcome, Unjudged):
        return ()
    orders = zip(*((v.a_first.choice, v.b_first.choice) for v in outcome.votes), strict=True)
    return tuple(most(order) for order in orders)


def most(choices: Sequence[Choice]) -> Choice:
    """More than half, or a tie."""
    choice, count = Counter(choices).most_common(1)[0]
    return choice if count > len(choices) / 2 else Choice.TIE


def first_position(rows: Sequence[Row], level: float) -> Estimate | None:
    found = [
        (choice == shown_first, item)
        for outcome, _, item in rows
        for choice, shown_first in zip(seen(outcome), SIDES, strict=False)
        if choice in SIDES
    ]
    if not found:
        return None
    y, items = zip(*found, strict=True)
    return mean(y, cluster=items, level=level)


def agreement(rows: Sequence[Row], level: float) -> tuple[Agreement | None, Agreement | None]:
    """Cohen's kappa and Gwet's AC1 of verdicts and labels."""
    said = [(choice, label, item) for o, label, item in rows if (choice := chosen(o))]
    if not said:
        return None, None
    choices, labels, items = (list(column) for column in zip(*said, strict=True))
    kappa = ac1 = None
    # Undefined where all is of one kind, as for a constant judge, and for a single item.
    with suppress(Undefined):
        kappa = cohen_kappa(choices, labels, cluster=items, level=level)
    with suppress(Undefined):
        both = list(zip(choices, labels, strict=True))
        ac1 = gwet_ac1(both, categories=list(Choice), cluster=items, level=level)
    return kappa, ac1
