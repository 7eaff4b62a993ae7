"""MT-Bench: what all experts say of six systems, from the votes on a third of the questions."""

import numpy as np
import pytest

from published.recorded import needs_data, rows
from twopan.stats.bradley_terry import bradley_terry
from twopan.stats.powered import powered_ratings
from twopan.stats.resampling import student

pytestmark = needs_data

SCORE = {"model_a": 1.0, "model_b": 0.0}


@pytest.fixture(scope="module")
def scored():
    """Questions, systems (two columns), mean vote and GPT-4's verdict, where both are known."""
    votes, verdicts = {}, {}
    for file, known in (("human", votes), ("gpt4_pair", verdicts)):
        for row in rows(f"mtbench/{file}.jsonl"):
            names = sorted((row["model_a"], row["model_b"]))
            score = SCORE.get(row["winner"], 0.5)
            score = score if names[0] == row["model_a"] else 1 - score
            known.setdefault((row["question_id"], row["turn"], *names), []).append(score)
    both = sorted(votes.keys() & verdicts.keys())
    systems = sorted({name for key in both for name in key[2:]})
    return (
        np.array([key[0] for key in both]),
        np.array([[systems.index(name) for name in key[2:]] for key in both]),
        np.array([np.mean(votes[key]) for key in both]),
        np.array([np.mean(verdicts[key]) for key in both]),
        len(systems),
    )


def test_a_third_of_the_votes_and_all_verdicts_say_what_all_votes_say(scored):
    question, (a, b), y, f, n = scored[0], scored[1].T, *scored[2:]
    truth = bradley_terry(a, b, y, n=n, cluster=question).theta
    judged = bradley_terry(a, b, f, n=n, cluster=question).theta
    rng, names = np.random.default_rng(1), np.unique(question)
    held, errors = [], []
    for _ in range(60):
        of = np.isin(question, rng.choice(names, 27, replace=False))
        found = powered_ratings(
            (a[of], b[of], y[of], f[of]),
            (a[~of], b[~of], f[~of]),
            n=n,
            cluster=question[of],
            unlabelled_cluster=question[~of],
        )
        alone = bradley_terry(a[of], b[of], y[of], n=n, cluster=question[of]).theta
        reach = student(0.95, 26) * np.sqrt(np.diag(found.ratings.covariance))
        held.append(np.abs(found.ratings.theta - truth) <= reach)
        errors.append([((theta - truth) ** 2).sum() for theta in (found.ratings.theta, alone)])
    # The truth is of a finite set of questions, a third of it seen: intervals hold it more often.
    assert np.mean(held) > 0.93
    ours, alone = np.mean(errors, axis=0)
    assert ours < 0.8 * alone
    assert ours < 0.5 * ((judged - truth) ** 2).sum(), "the judge alone is further off"
