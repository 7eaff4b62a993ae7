"""The few lines a script or a notebook needs: the same pieces that the command line uses.

import twopan
pairs = twopan.read_pairs("candidate.jsonl", "baseline.jsonl")
result = twopan.run(twopan.gate(pairs, judge="local"))
result.decision
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from twopan.data import Pair
from twopan.datasets import Pairs
from twopan.entries import Entries
from twopan.judges import Spec, find_protocol
from twopan.jury import Outcome
from twopan.jury import judge_pairs as judge_pairs_by
from twopan.ledger import Ledger, default_path
from twopan.pipelines.floor import check
from twopan.pipelines.floor import floor as floor_by
from twopan.pipelines.gate import Gate, Score
from twopan.pipelines.gate import gate as gate_by
from twopan.pipelines.meta_evaluate import MetaEvaluation, distinct, labelled_only
from twopan.pipelines.meta_evaluate import meta_evaluate as meta_evaluate_by
from twopan.pipelines.rank import Ranking
from twopan.pipelines.rank import rank as rank_by
from twopan.pipelines.recorded import read_trials
from twopan.pipelines.trials import Cost, trials
from twopan.rubric import Rubric, load
from twopan.screen import screen
from twopan.session import Session, open_session
from twopan.stats.bradley_terry import Ties
from twopan.stats.pairing import Goal, Method, Resolve

Judges = str | Spec | Sequence[str | Spec]


async def gate(
    pairs: Pairs | Sequence[Pair],
    judge: Judges = "local",
    *,
    protocol: str | None = None,
    rubric: str | Rubric | None = None,
    ledger: str | Path | None = None,
    allow_suspicious: bool = False,
    threshold: float = 0.5,
    level: float = 0.95,
    min_coverage: float = 0.95,
    score: Score = "choice",
    sequential: bool = True,
    seed: int = 0,
    floor: float | None = None,
    floor_protocol: str = "pointwise",
    **session: Any,
) -> Gate:
    """May the candidate (A of each pair) replace the baseline (B)?

    Pairs are asked in the order that ``seed`` draws until the evidence suffices, or all of them
    where not ``sequential``. With ``floor`` a promotion is made only where the candidate's mean
    score, by ``floor_protocol``, is not lower than the baseline's by so many points.

    ``judge`` is one spec or several, as on the command line; ``ledger`` a file, by default the one
    that all of a user's runs share. Data that look like an attempt on the judge are judged, but
    not decided upon unless ``allow_suspicious``. Further arguments go to
    :func:`twopan.session.open_session`: budget, concurrency, offline, ...
    """
    shared: dict[str, Any] = {
        "level": level, "min_coverage": min_coverage, "sequential": sequential, "seed": seed,
    }  # fmt: skip
    if floor is not None:
        asked = load(rubric) if isinstance(rubric, str) else rubric
        check(find_protocol(floor_protocol), asked or load("helpfulness"), floor)
    async with _opened(judge, ledger, rubric, protocol=protocol, **session) as opened:
        result = await gate_by(
            opened.jury,
            _list(pairs),
            blocked=() if allow_suspicious else screen(_list(pairs)).blocks,
            threshold=threshold,
            score=score,
            workers=opened.workers,
            each=opened.keep,
            **shared,
        )
    if floor is None or result.by_rate != "promote":
        return result
    async with _opened(judge, ledger, rubric, protocol=floor_protocol, **session) as opened:
        held = await floor_by(
            opened.jury, _list(pairs), margin=floor, workers=opened.workers, **shared
        )
    return replace(result, floor=held)


async def meta_evaluate(
    pairs: Pairs | Sequence[Pair],
    judge: Judges = "local",
    *,
    protocols: Sequence[str | None] = (None,),
    verdicts: str | Path | None = None,
    rubric: str | Rubric | None = None,
    ledger: str | Path | None = None,
    level: float = 0.95,
    **session: Any,
) -> MetaEvaluation:
    """How far do judges agree with what people preferred (the ``label`` of each pair)?

    Every judge in every protocol is a trial; None is the judge's own protocol. With ``verdicts``,
    a file of recorded ones, nobody is asked. The result's ``cells`` hold the shares of each trial
    by category, its ``differences`` those on the same pairs.
    """
    labelled = labelled_only(_list(pairs))
    if verdicts is not None:
        return meta_evaluate_by(labelled, read_trials(verdicts, labelled), level=level)
    once, places = distinct(labelled)
    done = []
    for protocol in protocols:
        for one in [judge] if isinstance(judge, str | Spec) else judge:
            async with _opened(one, ledger, rubric, protocol=protocol, **session) as opened:
                found = await judge_pairs_by(
                    opened.jury, once, workers=opened.workers, each=opened.keep
                )
                cost = Cost.of(opened.used(), len(once))
                done.append((opened.signature, [found[place] for place in places], cost))
    return meta_evaluate_by(labelled, trials(done), level=level)


async def rank(
    entries: Entries,
    judge: Judges = "local",
    *,
    resolve: Resolve = "all",
    top: int = 1,
    method: Method = "active",
    against: str | None = None,
    protocol: str | None = None,
    rubric: str | Rubric | None = None,
    ledger: str | Path | None = None,
    level: float = 0.95,
    ties: Ties = "half",
    seed: int = 0,
    **session: Any,
) -> Ranking:
    """Which of several systems is better?

    Comparisons are made until the best (``top1``), the best ``top`` (``top-k``) or the whole order
    (``all``) is settled. With ``against`` every system meets that one alone. Verdicts of the same
    judge that the ledger holds count from the start. ``entries`` come from
    :func:`twopan.read_entries`.
    """
    async with _opened(judge, ledger, rubric, protocol=protocol, **session) as opened:
        return await rank_by(
            opened.jury,
            entries,
            method="baseline" if against is not None else method,
            goal=Goal(resolve, top),
            baseline=against,
            level=level,
            ties=ties,
            seed=seed,
            known=opened.recorded(),
            workers=opened.workers,
            each=opened.keep,
        )


async def judge_pairs(
    pairs: Pairs | Sequence[Pair],
    judge: Judges = "local",
    *,
    protocol: str | None = None,
    rubric: str | Rubric | None = None,
    ledger: str | Path | None = None,
    **session: Any,
) -> list[Outcome]:
    """A verdict, or the reason why there is none, for each pair, in their order."""
    async with _opened(judge, ledger, rubric, protocol=protocol, **session) as opened:
        return await judge_pairs_by(
            opened.jury, _list(pairs), workers=opened.workers, each=opened.keep
        )


@asynccontextmanager
async def _opened(
    judge: Judges, ledger: str | Path | None, rubric: str | Rubric | None, **session: Any
) -> AsyncIterator[Session]:
    judges = [judge] if isinstance(judge, str | Spec) else list(judge)
    asked = load(rubric) if isinstance(rubric, str) else rubric
    with Ledger(ledger or default_path()) as book:
        async with open_session(judges, ledger=book, rubric=asked, **session) as opened:
            yield opened


def _list(pairs: Pairs | Sequence[Pair]) -> Sequence[Pair]:
    return pairs.pairs if isinstance(pairs, Pairs) else pairs
