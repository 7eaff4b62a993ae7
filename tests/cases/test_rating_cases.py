"""The replayable STAT cases about ratings: who has one, who is flagged, what is refused."""

import pytest

from cases.loading import cases, every_case
from twopan.stats.battles import count
from twopan.stats.bootstrap import bootstrap
from twopan.stats.leaderboard import leaderboard
from twopan.stats.win_rate import NoData

WORTH = {"A": 1.0, "B": 0.0, "tie": 0.5}


def about(*functions):
    try:
        found = [
            c["id"]
            for c in every_case()
            if c["area"] == "stats"
            and {call.get("fn") for call in (c["input"], *c["input"].get("calls", ()))}
            & {*functions}
        ]
    except FileNotFoundError:
        found = ["STAT-"]
    return cases(*found)


def counted(args):
    games = args["games"]
    names = sorted({*args.get("models", ()), *(name for game in games for name in game[:2])})
    a, b = ([names.index(game[side]) for game in games] for side in (0, 1))
    return count(a, b, [WORTH[game[2]] for game in games], n=len(names)), names


def outcome_of(args):
    """What a board says, in the words of the cases."""
    try:
        battles, names = counted(args)
    except NoData:
        return {"status": "no_games"}
    board = leaderboard(battles)
    by_name = {names[s.system]: s for s in board.standings}
    flagged = {n: ["separation"] for n, s in by_name.items() if s.flag}
    rated = {n for n, s in by_name.items() if s.rating is not None}
    return {
        "order": [names[s.system] for s in board.standings],
        "flags_for": flagged,
        "finite_for": rated,
        "status": None if rated else "not_estimable",
        "reason": None if rated else "separation" if flagged else None,
        "components": [[names[s] for s in sorted(island)] for island in board.islands],
        "single_ranking": board.single,
        "board": board,
        "by_name": by_name,
    }


@pytest.mark.parametrize("case", about("bradley_terry"))
def test_ratings_are_as_the_case_says(case):
    calls = case["input"].get("calls", [case["input"]])
    for call, expected in zip(calls, case["expected"].get("each", [case["expected"]]), strict=True):
        found = outcome_of(call["args"])
        if "any_of" in expected:
            assert found["status"] == "not_estimable"
            assert found["reason"] == "separation"
            assert all(s.flag and s.rating is None for s in found["by_name"].values())
        for field in ("status", "order", "flags_for", "components", "single_ranking"):
            if field in expected:
                assert found[field] == expected[field]
        if "finite_for" in expected:
            assert found["finite_for"] == set(expected["finite_for"])
        for field in expected:
            name, _, end = field.partition("_ci_")
            if end:
                assert found["by_name"][name].interval is None
        if strengths := expected.get("log_strength_centred"):
            from twopan.stats.bradley_terry import ELO

            for name, value in strengths.items():
                theta = (found["by_name"][name].rating - 1000) / ELO
                assert theta == pytest.approx(value, abs=expected["tolerance"])


@pytest.mark.parametrize("case", about("bt_bootstrap"))
def test_draws_without_a_rating_are_reported_and_do_not_narrow_the_interval(case):
    args = case["input"]["args"]
    battles, _ = counted(args)
    found = bootstrap(battles, draws=args["draws"], seed=args["seed"])
    assert found.draws == case["expected"]["draws_total"]
    assert found.failed == pytest.approx(0.35 * found.draws, rel=0.15)
    assert found.interval(0, 1) is None, "its upper end is among the draws that failed"
    low, high = found.interval(0, 1, level=0.2)
    assert high > low
