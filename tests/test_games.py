"""Games between systems: from verdict lines, and from battle logs of others."""

import json

import pytest
from cases.loading import SHARED
from published.recorded import needs_data

from twopan.data import Item, Pair, Response
from twopan.errors import DataError
from twopan.games import game_of, read_games, systems_of, unjudged
from twopan.lines import to_line
from twopan.verdict import Choice, Comparison, Preference, Unjudged, Verdict


@pytest.fixture
def save(tmp_path):
    def write(rows, name="games.jsonl"):
        path = tmp_path / name
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return path

    return write


def pair_of(item="q", a="x", b="y"):
    one, two = (Response(item_id=item, system=system, text=system) for system in (a, b))
    return Pair(item=Item(id=item, instruction="?"), a=one, b=two)


def verdict(first=Choice.A, second=Choice.A, item="q"):
    looks = [Preference(choice=choice, reasoning="") for choice in (first, second)]
    vote = Comparison(judge="j", a_first=looks[0], b_first=looks[1])
    return Verdict(item_id=item, votes=(vote,), choice=vote.choice)


def test_our_own_verdicts_are_games():
    won = game_of(pair_of(), verdict())
    assert (won.a, won.b, won.choice, won.consistent) == ("x", "y", Choice.A, True)
    split = game_of(pair_of(), verdict(Choice.A, Choice.B))
    assert (split.choice, split.a_score, split.consistent) == (Choice.TIE, 0.5, False)
    none = game_of(pair_of(), Unjudged(item_id="q", reason="refused"))
    assert none.choice is None
    assert unjudged([won, none, split]) == {"refused": 1}


def test_verdict_lines_come_back_as_the_games_they_were(save):
    told = [(pair_of(b="y"), verdict()), (pair_of(b="z"), Unjudged(item_id="q", reason="refused"))]
    found = read_games(save([to_line(*one, "sig") for one in told]))
    assert found.signature == "sig"
    assert list(found.games) == [game_of(*one) for one in told]


def test_verdict_lines_of_two_judges_are_not_pooled(save):
    lines = [to_line(pair_of(), verdict(), "one"), to_line(pair_of(b="z"), verdict(), "two")]
    with pytest.raises(DataError, match="2 judges, which are not pooled"):
        read_games(save(lines))


@pytest.mark.parametrize(
    "row",
    [
        {"model_a": "x", "model_b": "y", "winner": "model_a", "question_id": 7},
        {"left": "x", "right": "y", "winner": "left", "model_x": 1, "model_y": 2, "prompt": 7},
        {"A": "x", "B": "y", "choice": "x", "item": "7"},
    ],
)
def test_battle_logs_are_known_by_their_columns(save, row):
    (game,) = read_games(save([row])).games
    assert (game.item, game.a, game.b, game.choice) == ("7", "x", "y", Choice.A)
    assert game.consistent is None


def test_a_log_without_items_says_what_that_means(save):
    row = {"a": "x", "b": "y", "winner": "tie"}
    found = read_games(save([row, row]))
    assert len({game.item for game in found.games}) == 2
    assert "no column names the item" in found.notes()[1]


def test_a_missing_winner_is_no_tie(save):
    found = read_games(save([{"a": "x", "b": "y", "item": 1, "winner": None}]))
    assert (found.games[0].choice, unjudged(found.games)) == (None, {"not_recorded": 1})


def test_columns_and_values_may_be_named(save):
    rows = [{"p": "x", "q": "y", "won": "0", "case": 3}]
    mapping = {"a": "p", "b": "q", "choice": "won", "item": "case"}
    (game,) = read_games(save(rows), mapping=mapping, meanings={"0": "b"}).games
    assert (game.item, game.choice) == ("3", Choice.B)


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ({"a": "x", "b": "x", "winner": "a"}, "meets itself"),
        ({"a": "x", "b": "y", "winner": "z"}, "choice: 'z' is none of"),
        ({"a": "", "b": "y", "winner": "a"}, "a: is missing"),
        ({"a": "x", "winner": "a"}, "no column for b"),
        ({"a": "x", "b": "y", "winner": "a", "item": None}, "item: is missing"),
    ],
)
def test_what_is_no_game_is_named_by_file_and_line(save, row, says):
    with pytest.raises(DataError, match=says) as error:
        read_games(save([row]))
    assert "games.jsonl" in str(error.value)


def test_an_empty_file_holds_no_game(save):
    with pytest.raises(DataError, match=r"no rows|no game|empty"):
        read_games(save([]))


@needs_data
def test_a_published_log_is_read_as_it_is():
    found = read_games(SHARED / "data" / "llmfao" / "crowd-comparisons.csv")
    assert len(systems_of(found.games)) == 59
    assert not unjudged(found.games)
    assert not found.without_item
