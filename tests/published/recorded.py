"""Recorded verdicts of real judges as looks. The data lie beside the checkout, or tests skip."""

import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from twopan.datasets import read_pairs_file
from twopan.looks import Look, framed
from twopan.verdict import Choice

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"

needs_data = pytest.mark.skipif(
    not DATA.is_dir(), reason=f"the recorded verdicts are not beside this checkout: {DATA}"
)


def columns(file, *names, **where):
    """The named columns of a Parquet file, a tuple a row, of the rows where they are so."""
    from pyarrow.parquet import read_table

    filters = [(name, "in", values) for name, values in where.items()] or None
    table = read_table(DATA / file, columns=list(names), filters=filters)
    return zip(*(table.column(name).to_pylist() for name in names), strict=True)


def rows(file):
    with (DATA / file).open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def right_first(looks, labels):
    """The same looks with the response that people preferred as A, so that a win is a hit.

    ``labels``: item -> what people preferred; the others are left out.
    """
    for look in looks:
        label = labels.get(look.item)
        if label == Choice.A:
            yield look
        elif label == Choice.B:
            yield replace(
                look, order=look.order.flipped(), choice=framed(look.choice, label), p_a=None
            )


# LLMBar

NATURAL = ("LLMBar/Natural",)
ADVERSARIAL = tuple(
    f"LLMBar/Adversarial/{name}" for name in ("GPTInst", "GPTOut", "Manual", "Neighbor")
)


@cache
def llmbar_pairs():
    """Item -> its pair."""
    return {pair.item.id: pair for pair in read_pairs_file(DATA / "llmbar/items.jsonl").pairs}


@cache
def llmbar_looks(*, as_published=False):
    """All final looks. Two ratings decide a pair, and equal ones choose one in each order.

    GPT-4 gave no rating to 5 outputs. ``as_published`` takes that, as the authors do, for a win of
    the first in one order and of the second in the other; else it is what it is, unparsed.
    """
    names = ("subset", "idx", "judge", "strategy", "swap", "winner", "score_1", "score_2")
    choices = {"1": Choice.A, "2": Choice.B}
    return [
        Look(
            item=f"{subset}/{index}",
            judge=judge,
            protocol=strategy,
            order=Choice.B if swap else Choice.A,
            choice=choices.get(winner) if as_published or "" not in scores else None,
        )
        for subset, index, judge, strategy, swap, winner, *scores in columns(
            "llmbar/judgments.parquet", *names, final=[True]
        )
    ]


def llmbar(judges, strategies, subsets):
    """The looks of these, and the labels of their items."""
    looks = [
        look
        for look in llmbar_looks()
        if look.judge in judges
        and look.protocol in strategies
        and look.item.rpartition("/")[0] in subsets
    ]
    pairs = llmbar_pairs()
    return looks, {look.item: pairs[look.item].label for look in looks}


# The others: two systems in both orders, choices in the frame of the positions


def of_two(item, first, second, position, **names):
    """A look at two systems; A is the one whose name comes first in the alphabet."""
    a, b = sorted((first, second))
    order = Choice.A if first == a else Choice.B
    return Look(item=f"{item}/{a}/{b}", order=order, choice=framed(position, order), **names)


@cache
def positionbias_looks():
    """Sets and repetitions are protocols of their own."""
    choices = {"A": Choice.A, "B": Choice.B, "C": Choice.TIE}
    names = ("set", "judge", "rep", "item", "A", "B", "verdict")
    return [
        of_two(item, a, b, choices.get(verdict), judge=judge, protocol=run(of, rep))
        for of, judge, rep, item, a, b, verdict in columns(
            "positionbias/verdicts.parquet", *names
        )
    ]  # fmt: skip


def run(of, repetition):
    return f"{of}/{int(repetition)}" if repetition else of


@cache
def qlora_looks(bench):
    """GPT-4 on every ordered pair of systems; -1 is no verdict."""
    choices = {1: Choice.A, 2: Choice.B, 3: Choice.TIE}
    names = ("question_id", "model_1", "model_2", "score")
    return [
        of_two(item, first, second, choices.get(score), judge="GPT-4", protocol="pairwise")
        for item, first, second, score in columns(
            "qlora/gpt4_pairwise_both_orders.parquet", *names, bench=[bench]
        )
    ]
