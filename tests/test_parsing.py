"""Reading verdicts: the right value or a named failure, on made-up, hostile and real replies."""

import json
import os
import random
import re
from dataclasses import replace
from pathlib import Path

import pytest
from fuzz_replies import replies

from twopan.errors import ConfigError, Filtered, Refused, Truncated, Unparsed, VerdictError
from twopan.protocols import loose_json
from twopan.protocols.parsing import Contract, choice, read, without_reasoning
from twopan.verdict import Choice

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
FUZZED = int(os.environ.get("TWOPAN_FUZZ", "3000"))
"""Replies in an ordinary run; a long one sets it to 100,000."""

SCORE = Contract(format="line", label="Score", low=1, high=5, integer=True)
TEN = Contract(format="line", label="Score", low=1, high=10, integer=True)
FRACTION = Contract(format="line", label="Score", low=1, high=5)
OBJECT = Contract(format="json", key="score", low=1, high=5, integer=True)
WINNER = Contract(format="json", key="winner", menu=("A", "B", "tie"))
GRADE = Contract(format="line", label="GRADE", menu=("C", "P", "I"))
VERDICT = Contract(format="line", label="Verdict", menu=("A", "B", "tie"))
BRACKET = Contract(format="bracket", menu=("A", "B", "C"))
FIVE_WAY = Contract(format="bracket", menu=("A>>B", "A>B", "A=B", "B>A", "B>>A"))
RESULT = Contract(format="tag", tag="[RESULT]", low=1, high=5, integer=True)
TAG = Contract(format="tag", tag="verdict", menu=("A", "B", "tie"))
BARE = Contract(format="bare", menu=("A", "B"))
SENTENCE = Contract(format="sentence", menu=("a", "b"))
LAST_LINE = replace(VERDICT, final=True)
LAST_SCORE = replace(SCORE, final=True)


def outcome(contract, text, finish_reason="stop"):
    try:
        return read(contract, text, finish_reason).value
    except Unparsed as failure:
        return failure.why
    except VerdictError as failure:
        return failure.reason


# ---- what is read ----


@pytest.mark.parametrize(
    ("contract", "text", "value"),
    [
        (SCORE, "**Score:** 4", 4),
        (SCORE, "## Score\n\n4", 4),
        (SCORE, "| Score | 4 |", 4),
        (SCORE, "Score (1-5): 4", 4),
        (SCORE, "Score: 4/5", 4),
        (SCORE, "Score: 4 out of 5", 4),
        (SCORE, "Score: 4.0", 4),
        (SCORE, "Score: 4 (minor slips)", 4),
        (SCORE, "The reply is fine. Score: 4", 4),
        (SCORE, "Score: 4\nScore: 4\nThanks!", 4),
        (SCORE, "Score: 4<|im_end|>", 4),
        (SCORE, "Clarity score: 2\nOverall score: 3", 3),
        (FRACTION, "Score: 4.5", 4.5),
        (GRADE, "GRADE: Partially correct", "P"),
        (GRADE, "GRADE: C. There is no reason to downgrade: insufficient grounds.", "C"),
        (VERDICT, "Verdict: A is better than B", "A"),
        (VERDICT, "Verdict: B - Response A misses the point", "B"),
        (VERDICT, "Verdict: It's a tie", "tie"),
        (VERDICT, "I am sorry to say it, but both are weak. Verdict: B", "B"),
        (BRACKET, "[[A]] if A is better, [[B]] if B is, [[C]] for a tie.\n\n[[B]]", "B"),
        (BRACKET, "At first [[A]] looked right.\n\nFinal verdict: [[B]]", "B"),
        (BRACKET, "[[A]], as I said: [[A]]", "A"),
        (FIVE_WAY, "[[A &gt;&gt; B]]", "A>>B"),
        (RESULT, "Feedback: fine. [RESULT]\n4", 4),
        (TAG, "<verdict>\n**Response B**\n</verdict>", "B"),
        (BARE, "**B**", "B"),
        (BARE, "A\n\nBecause B is wrong.", "A"),
        (SENTENCE, "Output (b) is longer. Therefore, Output (a) is better.", "a"),
        (OBJECT, '[{"score": 4}]', 4),
        (OBJECT, '{"result": {"score": 4}}', 4),
        (OBJECT, '{"Score": "4/5"}', 4),
        (OBJECT, 'As {"score": <1-5>}:\n{"score": 4}', 4),
        (OBJECT, '<think>{"score": 1}</think>{"reason": "a stray </think> tag", "score": 2}', 2),
        (OBJECT, 'Thinking without a tag {"score": 1}</think>{"score": 2}', 2),
        (WINNER, '{"winner": "Assistant A is better"}', "A"),
    ],
)
def test_a_verdict_with_a_single_reading_is_read(contract, text, value):
    assert outcome(contract, text) == value


@pytest.mark.parametrize(
    ("contract", "text", "flags"),
    [
        (SCORE, "Score: 4", ()),
        (SCORE, "<think>Score: 1</think>Score: 4", ("reasoning_stripped",)),
        (OBJECT, "{'score': 4, 'why': None,}", ("repaired",)),
        (OBJECT, '{"score": 4, // good\n "why": "x"}', ("repaired",)),
        (OBJECT, '{"score": 4, "why": "the "best" one"}', ("repaired",)),
        (OBJECT, '{"score": "4"}', ("coerced",)),
        (SCORE, "Score: ٤", ("normalised",)),
        (OBJECT, '{"score": "\\u0664"}', ("normalised", "coerced")),
        (GRADE, "GRADE: Ｃ", ("normalised",)),
        (GRADE, "GRA\u00adDE:\u2066 I\u2069", ("invisible_removed",)),
        (GRADE, "👨\u200d👩\u200d👧 at work\nGRADE: I", ()),
        (GRADE, "GRADE: correct", ("coerced",)),
    ],
)
def test_what_was_done_to_read_a_verdict_is_flagged(contract, text, flags):
    assert read(contract, text).flags == flags


@pytest.mark.parametrize(
    ("contract", "text", "at"),
    [
        (VERDICT, "<think>A or B?</think>\n\u200bVerdict: **Response B**", "B"),
        (OBJECT, '\ufeff{"reason": "4 slips", "score": ４}', "４"),
        (TEN, "Score: 1\u200b0", "1\u200b0"),
        (FIVE_WAY, "So [[B>A]]", "B>A"),
    ],
)
def test_the_span_is_the_place_of_the_value_in_the_reply_as_it_came(contract, text, at):
    start, end = read(contract, text).span
    assert text[start:end] == at


# ---- what is not ----


@pytest.mark.parametrize(
    ("contract", "text", "why"),
    [
        (SCORE, "Score: 8/10", "wrong_denominator"),
        (SCORE, "Score: 80%", "wrong_denominator"),
        (SCORE, "Score: 3.5", "fraction_on_integer"),
        (SCORE, "Score: 4.0000000000000000000000001", "fraction_on_integer"),
        (SCORE, "Score: 6", "out_of_range"),
        (SCORE, "Score: -1", "out_of_range"),
        (SCORE, "Score: 1\u200b0", "out_of_range"),
        (SCORE, "Score: 4 - 5", "ambiguous"),
        (SCORE, "Score: 3 or 4", "ambiguous"),
        (SCORE, "Score: 4,5", "ambiguous"),
        (SCORE, "Score: 4\nScore: 2\nThanks!", "ambiguous"),
        (SCORE, "Score: 5 would be generous", "ambiguous"),
        (SCORE, "A score: 5 would be generous.", "no_verdict"),
        (SCORE, "Subscore: 3", "no_verdict"),
        (SCORE, "Score: 5²", "not_a_number"),
        (SCORE, "Score: ④", "not_a_number"),
        (SCORE, "Score: IV", "not_a_number"),
        (SCORE, "Score: ~4", "not_a_number"),
        (SCORE, "Score: N/A", "missing_value"),
        (TEN, "Score: \u202e01\u202c", "ambiguous"),
        (GRADE, "GRADE: CI", "off_menu"),
        (GRADE, "GRADE: C+", "off_menu"),
        (GRADE, "GRADE: С", "off_menu"),  # a Cyrillic letter
        (GRADE, "GRADE: C (Incorrect)", "ambiguous"),
        (VERDICT, "Verdict: A and B are equal", "off_menu"),
        (VERDICT, "Verdict: A, B", "ambiguous"),
        (VERDICT, "Verdict: A... wait, B", "off_menu"),
        (VERDICT, "Verdict: A is better in style, but response B is better overall", "ambiguous"),
        (BRACKET, "The verdict is not [[A]]", "no_verdict"),
        (BRACKET, "[[tie]]", "off_menu"),
        (BRACKET, "**[B]**", "no_verdict"),
        (BARE, "A is a good answer", "no_verdict"),
        (SENTENCE, "Output (a) is better if one wants speed.", "no_verdict"),
        (OBJECT, '{"score": [4]}', "not_a_number"),
        (OBJECT, '{"score": NaN}', "not_finite"),
        (OBJECT, '{"score": 2} or {"score": 5}?', "ambiguous"),
        (OBJECT, '{"reason": bad {"score": 5}, "score": 2}', "malformed"),
        (OBJECT, '{"reason": "the "best" {"score": 5} one", "score": 2}', "malformed"),
        (OBJECT, '{"score": 1', "malformed"),
        (OBJECT, '{"rating": 4}', "missing_value"),
        (WINNER, '{"winner": "neither"}', "off_menu"),
        (SCORE, "<think>Score: 4", "empty_content"),
        (SCORE, "<think>Score: 4</think>\n", "empty_content"),
        (SCORE, "\u200b \n", "empty_content"),
        (SCORE, "Score: 4" + " and so on" * 100_000, "too_long"),
    ],
)
def test_what_has_no_reading_or_two_is_no_verdict_and_says_why(contract, text, why):
    assert outcome(contract, text) == why


@pytest.mark.parametrize(
    ("contract", "text"),
    [
        (TEN, "Score: 1"),
        (SCORE, "I thought of Score: 4\nbut then"),
        (BRACKET, "At first [[A]] looks stronger because"),
        (OBJECT, '{"score": 4'),
        (OBJECT, '{"score": 4, "reason": "it co'),
        (TAG, "<verdict>A"),
        (SENTENCE, "Output (a) is better. Therefore, Output (b)"),
        (SCORE, "<think>Score: 4</think>"),
        (SCORE, "Score: 4\n<think>\nOr is it"),
        (SCORE, ""),
    ],
)
def test_a_cut_reply_gives_no_verdict_that_more_text_could_change(contract, text):
    with pytest.raises(Truncated):
        read(contract, text, "length")


@pytest.mark.parametrize(
    ("contract", "text", "value"),
    [
        (SCORE, "Score: 4\nBecause it is", 4),
        (OBJECT, '{"score": 4}\n\nThe reason is th', 4),
        (BRACKET, "[[A]]\nAssistant A is", "A"),
    ],
)
def test_a_verdict_finished_before_the_cut_stands(contract, text, value):
    assert outcome(contract, text, "length") == value


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, but I can't help with evaluating this content.",
        "I can’t assist with that request.",
        "As an AI language model, I am unable to judge this.",
        "I won't evaluate this.",
        "Unfortunately, I'm not able to compare these responses.",
        "I must respectfully decline.",
        "抱歉，我无法评价这些内容。",
    ],
)
@pytest.mark.parametrize("contract", [SCORE, OBJECT, BRACKET, TAG, BARE, SENTENCE])
def test_a_refusal_is_no_low_score(contract, text):
    with pytest.raises(Refused):
        read(contract, text)


def test_what_the_provider_reports_outweighs_the_text():
    with pytest.raises(Refused):
        read(SCORE, "Score: 1", "refusal")
    with pytest.raises(Filtered):
        read(SCORE, "Score: 1", "content_filter")


def test_an_own_tag_is_no_reasoning_whatever_its_name():
    contract = Contract(format="tag", tag="analysis", low=1, high=5)
    assert read(contract, "<analysis>4</analysis>").value == 4


def test_prose_is_given_back_as_written_without_its_reasoning():
    assert without_reasoning("<think>Hm.</think>Zeile eins：gut\u200b") == "Zeile eins：gut\u200b"


# ---- a verdict that must stand on the last line ----


@pytest.mark.parametrize(
    ("contract", "text", "value"),
    [
        (LAST_LINE, "Because.\nVerdict: A", "A"),
        (
            LAST_LINE,
            "Response A says:\n\nVerdict: A\n\nIt does not count.\n\n**Verdict: B**\n",
            "B",
        ),
        (LAST_LINE, "Because.\n```\nVerdict: tie\n```", "tie"),
        (LAST_LINE, "Because.\n## Final verdict\n\n**Response B**", "B"),
        (LAST_LINE, "Because.\nMy verdict: A is better.\n\n---", "A"),
        (LAST_LINE, "<think>Verdict: A</think>Because.\nVerdict: B", "B"),
        (LAST_LINE, "B", "B"),  # the whole reply
        (LAST_SCORE, "Score: 1 is what it asks for.\n**Score:** 4/5", 4),
    ],
)
def test_a_final_verdict_is_read_from_the_last_line(contract, text, value):
    assert outcome(contract, text) == value


@pytest.mark.parametrize(
    ("contract", "text", "why"),
    [
        (LAST_LINE, "Response B has the line:\n\nVerdict: B\n\nI ignore it.", "no_verdict"),
        (LAST_LINE, 'Response A says: "Verdict: A". I cannot decide.', "no_verdict"),
        (LAST_LINE, "Neither is usable. Response A says **Verdict: A**", "no_verdict"),
        (LAST_LINE, "Response A ends with: Verdict: A", "no_verdict"),
        (LAST_LINE, "Response A ends with\n\n> Verdict: A", "no_verdict"),
        (LAST_LINE, "Verdict: A\nVerdict: B\nOr so they say.", "ambiguous"),
        (LAST_LINE, "Verdict: A. So it says; I cannot decide.", "ambiguous"),
        (LAST_LINE, "Verdict: A is better, it says; I cannot decide.", "ambiguous"),
        (LAST_LINE, "Verdict: A\nVerdict: C", "off_menu"),
        (LAST_SCORE, "The response asks for Score: 5", "no_verdict"),
        (LAST_SCORE, 'It ends with "Score: 5", which is no reason.', "no_verdict"),
        (LAST_SCORE, "Score: 5\nis what it asks for.", "no_verdict"),
    ],
)
def test_a_final_verdict_is_never_one_that_is_quoted(contract, text, why):
    assert outcome(contract, text) == why


def test_a_reply_cut_after_a_quoted_verdict_has_not_come_to_its_own():
    with pytest.raises(Truncated):
        read(LAST_LINE, "Response B has the line:\nVerdict: B\nwhich I", "length")


# ---- a verdict taken back ----


@pytest.mark.parametrize("contract", [VERDICT, BARE])
@pytest.mark.parametrize(
    "text",
    [
        "A. No, B.",
        "A - no, B",
        "A (incorrect), B (correct)",
        "A. Hmm, B is better.",
        "A!? B",
        "A. On reflection it is B.",
        "A is better. No, B is better.",
        "A, for its length, but on the whole B is correct",
    ],
)
def test_a_remark_that_settles_on_the_other_leaves_no_verdict(contract, text):
    label = f"{contract.label}: " if contract.label else ""
    assert outcome(contract, label + text) not in contract.menu


def test_a_degree_taken_back_is_no_verdict():
    graded = Contract(format="line", label="Verdict", menu=("A>>B", "A>B", "A=B", "B>A", "B>>A"))
    assert outcome(graded, "Verdict: A>B. No, B > A.") == "ambiguous"


def test_a_first_line_taken_back_later_is_no_verdict():
    assert outcome(BARE, "A\n\nNo, B.") == "ambiguous"
    assert outcome(BARE, "A\n\nOn reflection, B is better.") == "ambiguous"


@pytest.mark.parametrize(
    "text",
    [
        "B. Although A is longer, it errs.",
        "B (better than A)",
        "B - more direct than A.",
        "B; definitely B.",
        "B is better than A.",
    ],
)
def test_a_remark_that_mentions_the_other_is_no_change_of_mind(text):
    assert outcome(VERDICT, f"Verdict: {text}") == "B"


# ---- choices between two ----


@pytest.mark.parametrize(
    ("contract", "text", "chosen"),
    [
        (VERDICT, "Verdict: B", Choice.B),
        (VERDICT, "Verdict: draw", Choice.TIE),
        (BRACKET, "[[C]]", Choice.TIE),
        (FIVE_WAY, "[[B>>A]]", Choice.B),
        (FIVE_WAY, "[[A>B]]", Choice.A),
        (FIVE_WAY, "[[A=B]]", Choice.TIE),
        (SENTENCE, "Output (b) is better.", Choice.B),
    ],
)
def test_a_pairwise_verdict_is_a_choice(contract, text, chosen):
    assert choice(text, contract) is chosen


def test_a_tie_that_was_not_on_offer_is_no_tie():
    with pytest.raises(Unparsed, match="tie"):
        choice("Verdict: tie", Contract(format="line", label="Verdict", menu=("A", "B")))


def test_a_spelling_of_the_callers_own_is_read():
    contract = Contract(
        format="line", label="Urteil", menu=("gut", "schlecht"), synonyms=(("prima", "gut"),)
    )
    assert read(contract, "Urteil: Prima").value == "gut"


@pytest.mark.parametrize(
    "wrong",
    [
        {"format": "line", "menu": ("A", "B")},
        {"format": "json", "menu": ("A", "B")},
        {"format": "bare"},
        {"format": "bare", "menu": ("A", "B"), "low": 1, "high": 5},
    ],
)
def test_a_contract_that_says_too_little_or_too_much_is_refused(wrong):
    with pytest.raises(ConfigError):
        Contract(**wrong)


# ---- objects ----


def anything(rng, depth=0):
    kinds = ["number", "string", "word"] + ["list", "object"] * (depth < 3)
    match rng.choice(kinds):
        case "number":
            return rng.choice([0, -1, 4, 3.25, 1e30, -2e-7])
        case "string":
            return "".join(rng.choices("ab{}[]:,\"\\'“”\n\t/#*é٤ ", k=rng.randrange(12)))
        case "word":
            return rng.choice([True, False, None])
        case "list":
            return [anything(rng, depth + 1) for _ in range(rng.randrange(4))]
    return {anything_named(rng): anything(rng, depth + 1) for _ in range(rng.randrange(4))}


def anything_named(rng):
    return "".join(rng.choices('key{}:," \\', k=rng.randrange(1, 6)))


def test_strict_json_is_read_as_the_standard_library_reads_it():
    rng = random.Random(7)
    for _ in range(500):
        written = {anything_named(rng): anything(rng) for _ in range(rng.randrange(5))}
        text = json.dumps(written, ensure_ascii=rng.random() < 0.5, indent=rng.choice([None, 2]))
        (found,) = loose_json.scan(f"Well {text} so").objects
        assert not found.repaired
        values = {
            m.key: text_of(f"Well {text} so", m) if m.kind == "string" else json.loads(
                f"Well {text} so"[m.start : m.end]
            )
            for m in found.members
        }  # fmt: skip
        assert values == written


def text_of(text, member):
    return loose_json.string(text[member.start : member.end])


def test_an_object_inside_one_that_cannot_be_read_is_not_found():
    scan = loose_json.scan('{"a": {"b": 1} oops {"c": 2}')
    assert [member.key for found in scan.objects for member in found.members] == ["c"]
    assert scan.broken


# ---- hostile, generated, real ----


@pytest.mark.parametrize(
    ("contract", "text"),
    [
        (OBJECT, "{" * 100_000),
        (OBJECT, '{"a":' * 20_000),
        (OBJECT, '{"a":[' * 20_000 + '"score": 3'),
        (OBJECT, '{"a' * 40_000),
        (OBJECT, '{"score": ' + "9" * 100_000 + "}"),
        (BRACKET, "[" * 100_000),
        (BRACKET, "[[A" * 40_000),
        (SCORE, "Score " * 20_000),
        (SCORE, "Score: " * 18_000),
        (SCORE, "Score:" + " " * 120_000),
        (SCORE, "*" * 120_000),
        (SCORE, "</think>" * 15_000 + "\u200b" * 100_000),
        (TAG, "<verdict>" * 14_000),
        (SENTENCE, "Output (a) is better " * 6_000),
    ],
)
@pytest.mark.timeout(20)  # quadratic time would take minutes
def test_a_hostile_reply_is_refused_and_neither_hangs_nor_crashes(contract, text):
    with pytest.raises(VerdictError):
        read(contract, text)


def test_of_generated_replies_none_is_misread_and_nearly_all_are_read():
    recoverable = lost = 0
    for reply in replies(FUZZED, seed=1):
        try:
            value = read(reply.contract, reply.text, reply.finish_reason).value
        except VerdictError:
            lost += reply.recoverable
        else:
            assert value == reply.truth, reply
        recoverable += reply.recoverable
    assert recoverable > FUZZED / 2
    assert lost <= 0.02 * recoverable


def rows(name):
    parquet = pytest.importorskip("pyarrow.parquet")
    if not (DATA / name).exists():
        pytest.skip(f"the shared data are not beside this checkout: {DATA / name}")
    return parquet.read_table(DATA / name).to_pylist()


def test_gpt4_on_mt_bench_is_read_as_recorded():
    wrong = {"ambiguous": 0}
    for row in rows("positionbias/gpt4_0613_mtbench_texts.parquet"):
        found = outcome(BRACKET, row["text"])
        if found != row["verdict"]:
            wrong[found] += 1  # a KeyError here is a misreading
    # "Final verdict: [[C]] for the second question, [[B]] for the entire conversation."
    assert wrong == {"ambiguous": 1}


def test_replies_that_nobody_could_parse_yield_no_verdict():
    path = DATA / "positionbias" / "unparseable_texts.jsonl"
    if not path.exists():
        pytest.skip(f"the shared data are not beside this checkout: {path}")
    texts = [json.loads(line)["text"] for line in path.read_text(encoding="utf-8").splitlines()]
    assert len(texts) == 67
    for text in texts:
        with pytest.raises(VerdictError):
            read(BRACKET, text)


def test_gpt4_on_vicuna_questions_is_read_as_recorded():
    contract = Contract(format="bare", menu=("1", "2", "3"))
    for row in rows("qlora/vicuna_pairwise_texts.parquet"):
        recorded = str(row["score"])
        assert outcome(contract, row["text"]) == (
            recorded if recorded in contract.menu else "no_verdict"
        )


def test_six_judges_on_llmbar_are_read_as_recorded_or_better():
    """The record took the first line that begins with "Output (x)", or "(a) is better" anywhere.

    Where such a text goes on to conclude that the other is better, the record is at odds with
    the judge; only those may differ from our reading.
    """
    agreed = unread = overruled = 0
    for row in rows("llmbar/cot_texts.parquet"):
        text = row["raw"]
        recorded = {"1": "a", "2": "b"}.get(row["winner"])
        if recorded and row["swap"]:
            recorded = "ab"[recorded == "a"]
        found = outcome(SENTENCE, text, "length" if row["finish"] == "length" else "stop")
        if recorded is None:
            assert found not in SENTENCE.menu
        elif found == recorded:
            agreed += 1
        elif found not in SENTENCE.menu:
            unread += 1
        else:
            assert re.search(rf"Output \({recorded}\) is better|^Output \({recorded}\)", text, re.M)
            assert text.rfind(f"({found}) is better") > text.rfind(f"({recorded}) is better")
            overruled += 1
    assert overruled == 177
    assert agreed / (agreed + unread) >= 0.995
