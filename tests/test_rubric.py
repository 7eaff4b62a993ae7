"""Rubrics: the shipped are whole, a version is its content, a mistake is one clear line."""

from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import pytest

from twopan.errors import ConfigError
from twopan.rubric import load

SHIPPED = sorted(
    f.name.removesuffix(".toml") for f in files("twopan").joinpath("rubrics").iterdir()
)
EXAMPLE = Path(__file__).parents[1] / "examples" / "rubric_support.toml"

TINY = """
question = "Is it kind?"
rules = "Length is no kindness."

[levels]
1 = "It insults."
2 = "It is polite."
"""


def words(text):
    return len(text.split())


@pytest.fixture
def rubric_of(tmp_path):
    def rubric_of(text, name="mine.toml"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return load(path)

    return rubric_of


def test_the_rubrics_the_documentation_names_are_shipped():
    assert {
        "helpfulness", "instruction_following", "faithfulness", "harmlessness", "conciseness",
        "correctness", "coherence", "writing_quality",
    } == set(SHIPPED)  # fmt: skip


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_rubric_has_five_levels_that_differ_and_fit_a_small_judge(name):
    rubric = load(name)
    assert rubric.name == name
    assert rubric.question.endswith("?")
    assert sorted(rubric.levels) == [1, 2, 3, 4, 5]
    assert len(set(rubric.levels.values())) == 5
    assert all(20 <= words(anchor) <= 45 for anchor in rubric.levels.values())
    assert 30 <= words(rubric.rules) <= 60


def test_no_two_shipped_rubrics_share_a_version_or_an_anchor():
    rubrics = [load(name) for name in SHIPPED]
    assert len({rubric.version for rubric in rubrics}) == len(rubrics)
    assert len({a for rubric in rubrics for a in rubric.levels.values()}) == 5 * len(rubrics)


def test_anchors_are_read_lowest_first_whatever_the_order_of_the_file(rubric_of):
    rubric = rubric_of('question = "?"\nlevels = { 10 = "ten", 2 = "two", 1 = "one" }')
    assert rubric.anchors == "1: one\n2: two\n10: ten"


def test_the_example_of_a_rubric_of_ones_own_loads():
    rubric = load(EXAMPLE)
    assert rubric.name == "support"
    assert sorted(rubric.levels) == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("kind?", "kind at all?"),
        ("no kindness", "kindness"),
        ("polite", "friendly"),
        ("2 =", "3 ="),
    ],
)
def test_a_changed_word_is_another_version(rubric_of, old, new):
    assert old in TINY
    assert rubric_of(TINY).version != rubric_of(TINY.replace(old, new)).version


def test_a_level_more_is_another_version(rubric_of):
    assert rubric_of(TINY).version != rubric_of(TINY + '3 = "It cheers one up."').version


def test_text_that_moves_from_the_question_to_the_rules_is_another_version(rubric_of):
    rubric = rubric_of(TINY)
    swapped = replace(rubric, question=rubric.rules, rules=rubric.question)
    assert rubric.version != swapped.version


def test_name_key_order_and_comments_are_no_part_of_the_version(rubric_of):
    reordered = """
    # the same, written by someone else
    name = "courtesy"
    rules = 'Length is no kindness.'
    levels = { 2 = "It is polite.", 1 = "It insults." }
    question = 'Is it kind?'
    """
    rubric = rubric_of(reordered)
    assert rubric.name == "courtesy"
    assert rubric.version == rubric_of(TINY).version


def test_the_name_is_the_files_unless_the_file_says_otherwise(rubric_of):
    assert rubric_of(TINY, "kindness.toml").name == "kindness"


def test_a_byte_order_mark_is_not_content(rubric_of):
    assert rubric_of("\ufeff" + TINY).version == rubric_of(TINY).version


def test_an_unknown_name_is_answered_with_the_nearest_and_with_all():
    with pytest.raises(ConfigError, match="did you mean helpfulness") as error:
        load("helpfullness")
    assert all(name in str(error.value) for name in SHIPPED)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (TINY.partition("[levels]")[0], "levels"),
        ('question = "?"\n[levels]', "two or more levels"),
        ('question = "?"\n[levels]\n1 = "one"', "two or more levels"),
        ('question = "?"\n[levels]\n1 = "one"\n2 = "  "', "anchor"),
        ("[levels]\n1 = 'one'\n2 = 'two'", "question"),
        (TINY + 'best = "It heals."', "whole numbers"),
        (TINY + "3 = 3", "Expected `str`"),
        ('levles = "x"\n' + TINY, "levles"),
        (TINY + "2 = 'again'\n", "line 8"),
        ("question = \n[levels]", "line 1"),
    ],
    ids=[
        "no levels", "empty levels", "one level", "blank anchor", "no question", "worded level",
        "anchor not text", "unknown key", "level twice", "not TOML",
    ],
)  # fmt: skip
def test_a_mistake_is_one_line_that_names_the_file_and_the_fault(rubric_of, text, says):
    with pytest.raises(ConfigError) as error:
        rubric_of(text)
    assert "mine.toml" in str(error.value)
    assert says in str(error.value)
    assert "\n" not in str(error.value)


def test_a_file_that_is_not_there_or_not_text_is_one_line_too(tmp_path):
    (tmp_path / "latin.toml").write_bytes("question = 'caf\u00e9'".encode("latin-1"))
    for name in ("absent.toml", "latin.toml", ""):
        with pytest.raises(ConfigError) as error:
            load(tmp_path / name if name else name)
        assert name in str(error.value)
        assert "\n" not in str(error.value)
