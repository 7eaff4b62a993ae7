"""Rankings, by judges whose character we know."""

import json
import random
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from servers.chat import completion, serve

from twopan.client import Budget
from twopan.data import Item
from twopan.entries import Entries
from twopan.errors import ConfigError
from twopan.games import Game, Games
from twopan.lines import latest, to_line
from twopan.pipelines import history
from twopan.pipelines.rank import comparisons, rank, rank_games
from twopan.report import render_ranking
from twopan.stats.battles import count
from twopan.stats.leaderboard import leaderboard
from twopan.stats.pairing import Goal, resolved
from twopan.verdict import Choice

pytestmark = pytest.mark.anyio
TOP1 = Goal("top1")


def entries(n, items, holes=()):
    """Systems of which "s0" is the best, "s1" the second best, and so on."""
    return Entries(
        systems=tuple(f"s{k}" for k in range(n)),
        items=tuple(Item(id=str(i), instruction=f"Add {i} and {i}.") for i in range(items)),
        texts={
            (k, i): f"<level {k}> to {i}"
            for k in range(n)
            for i in range(items)
            if (k, i) not in holes
        },
        joined_on="id",
    )


def levels(prompt):
    return [int(part[0]) for part in prompt.split("<level ")[1:3]]


def strict(prompt):
    a, b = levels(prompt)
    return "A" if a < b else "B"


def moody(strength=0.9):
    """Prefers the better of two more often, and always the same of the same two texts."""

    def reply(prompt):
        first, second = levels(prompt)
        item = prompt.split(" to ")[1].split()[0]
        low, high = sorted((first, second))
        draw = random.Random(f"{item} {low} {high}").random()
        better_wins = draw < 1 / (1 + np.exp(-strength * (high - low)))
        return "A" if (first == low) == better_wins else "B"

    return reply


# --- which comparisons, and how many


@pytest.mark.parametrize("method", ["active", "swiss", "random"])
async def test_the_best_is_named_with_a_part_of_the_calls(judge_that, method):
    judge, provider = judge_that(moody())
    found = await rank([judge], entries(6, 60), method=method, goal=TOP1, workers=4)
    assert found.stopped == "settled"
    assert found.settled.best == (0,)
    assert found.settled.done
    assert found.because.startswith("s0 is the best, after ")
    assert len(found.games) < found.available == 15 * 60
    assert len(provider.requests) == 2 * len(found.games)
    assert len({(g.item, frozenset((g.a, g.b))) for g in found.games}) == len(found.games)


async def test_active_choice_needs_fewer_than_chance(judge_that):
    needed = {}
    for method in ("active", "random"):
        judge, _ = judge_that(moody(1.2))
        runs = [
            await rank([judge], entries(8, 80), method=method, goal=TOP1, workers=8, seed=seed)
            for seed in range(5)
        ]
        assert all(run.settled.best == (0,) for run in runs)
        needed[method] = np.mean([len(run.games) for run in runs])
    assert needed["active"] < 0.7 * needed["random"]


async def test_the_whole_order_and_the_best_few(judge_that):
    judge, _ = judge_that(moody(1.5))
    whole = await rank([judge], entries(4, 80), workers=4)
    assert (whole.stopped, whole.settled.best) == ("settled", (0, 1, 2, 3))
    assert [s.system for s in whole.board.standings] == [0, 1, 2, 3]
    two = await rank([judge], entries(4, 80), goal=Goal("top-k", 2), workers=4)
    assert set(two.settled.best) == {0, 1}
    assert "The best 2 are" in two.because
    assert len(two.games) <= len(whole.games)


async def test_a_round_robin_asks_everything_and_prepair_shares_its_analyses(judge_that):
    """Of n systems n analyses and n (n - 1) decisions an item."""
    judge, provider = judge_that(
        lambda p: strict(p) if p.count("<level ") > 1 else f"Analysis of {p[-40:]}", "prepair"
    )
    found = await rank([judge], entries(4, 5), method="round-robin")
    assert (found.stopped, len(found.games)) == ("exhausted", 6 * 5)
    assert len(provider.requests) == 5 * (4 + 4 * 3)


async def test_against_a_baseline_everybody_meets_it_alone(judge_that):
    judge, _ = judge_that(moody())
    found = await rank([judge], entries(4, 10), method="baseline", baseline="s2")
    assert len(found.games) == 3 * 10
    assert all("s2" in (game.a, game.b) for game in found.games)
    assert found.baseline == "s2"
    with pytest.raises(ConfigError, match="no system 's9'"):
        await rank([judge], entries(4, 10), method="baseline", baseline="s9")


async def test_who_did_not_answer_does_not_play(judge_that):
    holes = {(0, i) for i in range(15)}
    judge, _ = judge_that(moody())
    field = entries(3, 20, holes)
    found = await rank([judge], field, method="round-robin")
    assert len(found.games) == len(comparisons(field)) == 20 + 2 * 5
    assert all(int(g.item) >= 15 for g in found.games if "s0" in (g.a, g.b))


async def test_the_same_seed_plays_the_same_tournament(judge_that):
    judge, _ = judge_that(moody())
    one, same, other = [
        await rank([judge], entries(5, 40), goal=TOP1, workers=4, seed=seed) for seed in (1, 1, 2)
    ]
    assert one.games == same.games
    assert one.games != other.games


async def test_equals_are_told_apart_no_more_often_than_the_level_says(judge_that):
    """A judge that tosses a coin on each item, looked at after every batch."""
    wrong = 0
    for seed in range(40):

        def coin(prompt, seed=seed):
            first, second = levels(prompt)
            low, high = sorted((first, second))
            item = prompt.split(" to ")[1].split()[0]
            heads = random.Random(f"{seed} {item} {low} {high}").random() < 0.5
            return "A" if (first == low) == heads else "B"

        judge, _ = judge_that(lambda p, s=seed, c=coin: c(p) + " " * s)
        found = await rank([judge], entries(3, 60), goal=TOP1, workers=4, seed=seed)
        wrong += found.stopped == "settled"
    assert wrong <= 5


# --- going on


def recorded(found, field):
    """What the ledger would hold of a ranking."""
    systems = {name: n for n, name in enumerate(field.systems)}
    lines = []
    for game in found.games:
        pair = field.pair(systems[game.a], systems[game.b], int(game.item))
        lines.append((pair, game))
    return lines


async def test_what_was_judged_before_counts_and_a_new_system_meets_the_others_alone(judge_that):
    judge, provider = judge_that(moody(1.5))
    lines = []

    async def keep(place, pair, outcome):
        lines.append(json.dumps(to_line(pair, outcome, judge.signature)))

    old = await rank([judge], entries(4, 60), workers=4, each=keep)
    asked = len(provider.requests)
    again = await rank([judge], entries(4, 60), workers=4, known=latest(lines))
    assert (len(provider.requests), again.known) == (asked, len(old.games))
    assert again.stopped == "settled"
    assert again.board.standings == old.board.standings

    more = await rank([judge], entries(5, 60), workers=4, known=latest(lines))
    assert more.known == len(old.games)
    new = more.games[more.known :]
    assert len(provider.requests) == asked + 2 * len(new)
    assert sum("s4" in (game.a, game.b) for game in new) > 0.6 * len(new)
    assert more.systems[-1] == "s4"


async def test_a_verdict_on_other_texts_does_not_count(judge_that):
    judge, _ = judge_that(moody())
    lines = []

    async def keep(place, pair, outcome):
        lines.append(json.dumps(to_line(pair, outcome, judge.signature)))

    await rank([judge], entries(3, 10), method="round-robin", each=keep)
    field = entries(3, 10)
    changed = replace(field, texts=field.texts | {(0, 4): "<level 0> anew to 4"})
    found = await rank([judge], changed, method="round-robin", known=latest(lines))
    assert found.known == 30 - 2
    assert len(found.games) == 30


async def test_a_budget_ends_with_a_board_of_what_there_is(judge_that):
    judge, provider = judge_that(moody(), budget=Budget(calls=61), concurrency=1)
    found = await rank([judge], entries(5, 60), workers=4)
    assert (found.stopped, len(provider.requests)) == ("budget", 61)
    assert len(found.games) == 30
    assert found.board is not None
    assert "Not settled after 30 of 600 comparisons" in found.because


async def test_failures_are_counted_and_not_asked_again(judge_that):
    judge, provider = judge_that(lambda p: "Hm." if "<level 1>" in p else strict(p))
    found = await rank([judge], entries(3, 12), method="round-robin", workers=4)
    assert found.unjudged == {"unparsed": 24}
    assert found.lost == {"s0": 12, "s1": 24, "s2": 12}
    assert len(provider.requests) == 2 * 36
    assert {s.flag for s in found.board.standings} == {"undefeated", "winless", "alone"}


async def test_a_judge_that_says_nothing_ranks_nothing(judge_that):
    judge, _ = judge_that(lambda p: "Hm.")
    found = await rank([judge], entries(3, 4), workers=4)
    assert (found.board, found.settled, found.stopped) == (None, None, "exhausted")
    assert "no ranking" in found.because
    assert found.to_dict()["order"] == []
    assert "no ranking" in render_ranking(found)


async def test_an_undefeated_system_is_the_best_and_has_no_rating(judge_that):
    judge, _ = judge_that(strict)
    found = await rank([judge], entries(4, 60), goal=TOP1, workers=4)
    assert (found.stopped, found.settled.best) == ("settled", (0,))
    first = found.board.standings[0]
    assert (found.systems[first.system], first.flag, first.rating) == ("s0", "undefeated", None)
    assert "undefeated: no finite rating" in render_ranking(found)


async def test_few_items_settle_nothing(judge_that):
    judge, _ = judge_that(strict)
    found = await rank([judge], entries(3, 9), workers=4)
    assert (found.stopped, found.settled.done) == ("exhausted", False)


def test_settled_wants_both_ways_of_seeing_the_spread():
    """On one side of a rare difference the items happen to agree; the games do not suffice."""
    a, b = [0] * 24, [1] * 24
    y = [1] * 16 + [0] * 8
    found = resolved(count(a, b, y, n=2, cluster=range(24)))
    assert not found.done
    many = resolved(count(a * 40, b * 40, y * 40, n=2, cluster=range(960)))
    assert many.done
    # Forty looks at each of 24 items are no more than 24 items.
    repeated = resolved(count(a * 40, b * 40, y * 40, n=2, cluster=[*range(24)] * 40))
    assert not repeated.done


# --- recorded games


def games(n=3, items=30, seed=0, pull=0.8):
    rng = random.Random(seed)
    told = []
    for item in range(items):
        for i, j in combinations(range(n), 2):
            win = rng.random() < 1 / (1 + np.exp(-pull * (j - i)))
            told.append(
                Game(item=str(item), a=f"s{i}", b=f"s{j}", choice=Choice.A if win else Choice.B)
            )
    return Games(games=tuple(told), signature="j")


def test_recorded_games_make_the_same_board():
    found = rank_games(games())
    a, b = ([int(getattr(g, side)[1]) for g in found.games] for side in "ab")
    y = [1.0 if g.choice == Choice.A else 0.0 for g in found.games]
    theirs = leaderboard(count(a, b, y, n=3, cluster=[g.item for g in found.games]))
    assert found.board.standings == theirs.standings
    assert (found.stopped, found.available, found.method) == ("recorded", None, None)
    told = json.loads(json.dumps(found.to_dict()))
    assert told["order"] == [f"s{s.system}" for s in theirs.standings]
    assert told["matrix"]["games"][0][1] == 30


def test_recorded_games_against_a_baseline():
    found = rank_games(games(), baseline="s1")
    assert len(found.games) == 60
    with pytest.raises(ConfigError, match="there are none with s7"):
        rank_games(games(), baseline="s7")


def test_islands_have_no_single_order():
    apart = [
        Game(item=str(n), a=a, b=b, choice=Choice.A if n % 3 else Choice.B)
        for n in range(12)
        for a, b in (("p", "q"), ("x", "y"))
    ]
    found = rank_games(Games(games=tuple(apart)))
    assert "do not connect all systems" in found.because
    assert "These are 2 boards" in render_ranking(found)


def test_at_equal_lengths_where_texts_are_known():
    told = games(items=80)
    rng = random.Random(1)
    lengths = {(f"s{k}", str(i)): rng.randint(50, 400) for k in range(3) for i in range(80)}
    found = rank_games(told, lengths=lengths)
    even = found.length_controlled["s0"]
    assert abs(even.estimate - found.board.standings[0].win_rate.estimate) < 0.1
    assert "At equal lengths" in render_ranking(found)
    assert rank_games(told).length_controlled == {}


# --- history


def test_a_move_is_one_where_it_is_more_than_noise():
    then, now = (history.entry(rank_games(g), "2026-01-02T03:04") for g in (
        games(items=400, pull=0.2), games(items=400, pull=1.0, seed=1)
    ))  # fmt: skip
    moves = history.moved(then, now)
    real = {m.system: m.real for m in moves.moves}
    assert real == {"s0": True, "s1": False, "s2": True}
    assert sum(m.change for m in moves.moves) == pytest.approx(0, abs=1e-9)


def test_the_same_strengths_seldom_seem_to_move():
    ranked = [history.entry(rank_games(games(items=60, seed=s)), "") for s in range(60)]
    calls = [
        any(m.real for m in history.moved(one, other).moves)
        for one, other in zip(ranked[:30], ranked[30:], strict=True)
    ]
    assert sum(calls) <= 4


def test_a_history_is_kept_and_a_broken_one_named(tmp_path):
    path = tmp_path / "h.jsonl"
    assert history.read(path) == []
    made = history.entry(rank_games(games()), "now")
    history.append(path, made)
    history.append(path, replace_signature(made, "other"))
    assert history.read(path) == [made, replace_signature(made, "other")]
    assert history.before(history.read(path), made) == made
    path.write_text(path.read_text() + "{}\n")
    with pytest.raises(Exception, match="line 3: not a line of a history"):
        history.read(path)


def replace_signature(one, signature):
    import msgspec

    return msgspec.structs.replace(one, signature=signature)


# --- the command


@pytest.fixture
def files(tmp_path):
    def make(n=4, items=60):
        paths = []
        for k in range(n):
            path = tmp_path / f"s{k}.jsonl"
            rows = [
                {"id": str(i), "instruction": f"Add {i}.", "response": f"<level {k}> to {i}"}
                for i in range(items)
            ]
            path.write_text("".join(json.dumps(row) + "\n" for row in rows))
            paths.append(path)
        return paths

    return make


@pytest.fixture
def server():
    reply = moody(1.5)
    with serve(
        otherwise=lambda seen: completion(reply(seen.json["messages"][-1]["content"]))
    ) as made:
        yield made


def judge_at(server):
    return "--judge", f"openai:fake@{server.url}"


def test_the_command_ranks_goes_on_and_takes_a_system_more(twopan, files, server, tmp_path):
    paths = files(5)
    args = ["rank", *paths[:4], *judge_at(server), "--concurrency", 4, "--json", "-"]
    first = json.loads(twopan(*args, "--report", "r.html", "--history", "h.jsonl", check=0).stdout)
    assert first["order"] == ["s0", "s1", "s2", "s3"]
    assert first["settled"]
    assert first["moves"] is None
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "The path of the tournament" in page
    assert "Who beat whom" in page
    asked = len(server.requests)
    assert asked == 2 * first["comparisons"] < 2 * first["available"]
    again = json.loads(twopan(*args, "--history", "h.jsonl", check=0).stdout)
    assert (len(server.requests), again["known"]) == (asked, first["comparisons"])
    assert not any(move["more_than_noise"] for move in again["moves"]["moves"])
    more = ["rank", *paths, *args[5:]]
    grown = json.loads(twopan(*more, "--history", "h.jsonl", check=0).stdout)
    assert grown["known"] == first["comparisons"]
    assert grown["moves"]["new"] == ["s4"]
    assert len(server.requests) == asked + 2 * (grown["comparisons"] - grown["known"])


def test_a_limit_on_calls_ranks_what_there_is(twopan, files, server):
    args = ["rank", *files(), *judge_at(server), "--concurrency", 1]
    done = twopan(*args, "--max-calls", 40, check=0)
    assert len(server.requests) == 40
    assert done.stdout.startswith("Not settled after 20 of 360 comparisons")
    twopan(*args, "--max-calls", 10, "--resolve", "top1", check=4)
    assert len(server.requests) == 50
    twopan(*args, "--budget", "10calls", check=5)
    assert len(server.requests) == 60
    twopan(*args, "--resolve", "top1", check=0)


def test_a_dry_run_calls_nobody(twopan, files, server):
    done = twopan("rank", *files(), *judge_at(server), "--dry-run", "--json", "-", check=0)
    assert json.loads(done.stdout)["calls"] == 2 * 6 * 60
    assert not server.requests


def test_battle_logs_are_ranked_as_they_are(twopan, tmp_path):
    path = tmp_path / "battles.csv"
    path.write_text(
        "question_id,model_a,model_b,winner\n"
        + "".join(
            f"{g.item},{g.a},{g.b},{'model_a' if g.choice == Choice.A else 'model_b'}\n"
            for g in games(items=200).games
        )
    )
    done = twopan("rank", "--verdicts", path, "--json", "-", "--resolve", "all", check=0)
    assert json.loads(done.stdout)["order"] == ["s0", "s1", "s2"]
    assert "1 to" not in done.stderr
    less = twopan("rank", "--verdicts", path, "--against", "s1", "--ties", "davidson", check=0)
    assert "400 comparisons" in less.stderr.replace("comparisons   400", "400 comparisons")


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ([], "name the files"),
        (["s0.jsonl"], "two systems or more"),
        (["s0.jsonl", "s1.jsonl", "--against", "s7"], "no system 's7'"),
        (["s0.jsonl", "s1.jsonl", "--resolve", "top-k"], "say how many with --top"),
        (["s0.jsonl", "s1.jsonl", "--top", "2", "--resolve", "top1"], "--top is for"),
        (["s0.jsonl", "s1.jsonl", "--history", "s0.jsonl"], "named for something else"),
        (["s0.jsonl", "s1.jsonl", "--label", "1=a"], "battle log"),
        (["--verdicts", "s0.jsonl"], "no column for a"),
    ],
)
def test_a_ranking_that_makes_no_sense_is_refused_before_any_call(twopan, files, args, said):
    files(2, 5)
    done = twopan("rank", *args, "--judge", "openai:fake@http://127.0.0.1:9/v1", check=2)
    assert said in done.stderr
