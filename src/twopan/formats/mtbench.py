"""MT-Bench: what experts and the authors preferred, on 80 questions of two turns.

From the data set lmsys/mt_bench_human_judgments on Hugging Face, split ``human`` (3,355 votes,
Parquet or JSON); licence CC-BY-4.0. A row is {"question_id", "model_a", "model_b", "winner",
"judge", "turn", "conversation_a", "conversation_b"}, a conversation a list of {"role", "content"}.

Conversations are turned into texts by one rule. What the user said up to the turn that was voted on
is the instruction, and what the system answered is its response; turns that came later are cut off.
One turn is its bare text; several stand below each other, each under a line "Turn 1:", "Turn 2:".
So both systems are asked the same, although the user's second message follows different answers.

Several people voted on the same pair. Each vote is a pair of its own, for they may disagree; all
have the id "question/turn", so that the item is the cluster and votes on it are not independent.

Zheng et al. (2023), Judging LLM-as-a-Judge with MT-Bench and Chatbot Arena.
"""

from collections.abc import Collection, Mapping
from functools import partial

from twopan.data import Pair
from twopan.datasets import Pairs, Source
from twopan.errors import DataError
from twopan.fields import excerpt, text
from twopan.formats import Columns, gather, make_item, make_pair, meaning, needed
from twopan.verdict import Choice

NEEDS = ("question_id", "model_a", "model_b", "winner", "judge", "turn")
CONVERSATIONS = ("conversation_a", "conversation_b")
WINNERS = {"model_a": Choice.A, "model_b": Choice.B, "tie": Choice.TIE}
VOTERS = ("expert", "author")
CATEGORIES = (
    *("writing", "roleplay", "reasoning", "math"),
    *("coding", "extraction", "stem", "humanities"),
)
"""Of ten questions each, from number 81."""


def read(
    path: Source, *, turns: Collection[int] = (1, 2), voters: Collection[str] = VOTERS
) -> Pairs:
    """The votes of people on these turns, sides as published; the kind of question is the category.

    ``voters`` are "expert" and "author"; the published agreement between people is among experts.
    The split with GPT-4's verdicts is refused, for a label is what people preferred. Raises
    DataError.
    """
    build = partial(_pair, turns, voters)
    return gather(path, (*NEEDS, *CONVERSATIONS), build, votes=True)


def _pair(
    turns: Collection[int], voters: Collection[str], row: Columns, number: int
) -> Pair | None:
    voter = str(row["judge"]).partition("_")[0]
    if voter not in VOTERS:
        raise DataError(
            f"judge: {excerpt(row['judge'])} is no person: people's votes are in the split 'human'"
        )
    turn = {"1": 1, "2": 2}.get(needed("turn", row["turn"]))
    if turn is None:
        raise DataError(f"turn: {excerpt(row['turn'])} is none of 1, 2")
    if turn not in turns or voter not in voters:
        return None
    question = needed("question_id", row["question_id"])
    (asked, a), (again, b) = (_turns(field, row[field], turn) for field in CONVERSATIONS)
    if asked != again:
        raise DataError("conversation_b: the user says something else than in conversation_a")
    models = (needed("model_a", row["model_a"]), needed("model_b", row["model_b"]))
    if models[0] == models[1]:
        raise DataError(f"model_b: {excerpt(models[1])} is also model_a")
    return make_pair(
        make_item(f"{question}/{turn}", _category(question), CONVERSATIONS[0], asked),
        (models[0], a),
        (models[1], b),
        meaning("winner", row["winner"], WINNERS),
    )


def _category(question: str) -> str | None:
    index = (int(question) - 81) // 10 if question.isdecimal() else -1
    return CATEGORIES[index] if 0 <= index < len(CATEGORIES) else None


def _turns(field: str, value: object, turns: int) -> tuple[str, str]:
    """What the user and what the system said in the first ``turns`` turns."""
    messages = value if isinstance(value, list) else []
    if len(messages) < 2 * turns:
        raise DataError(f"{field}: has no {turns} turns of a user and an assistant")
    said: dict[str, list[str]] = {"user": [], "assistant": []}
    for i, message in enumerate(messages[: 2 * turns]):
        role = ("user", "assistant")[i % 2]
        if not isinstance(message, Mapping) or message.get("role") != role:
            raise DataError(f"{field}[{i}]: is no message with the role {role}")
        said[role].append(text(f"{field}[{i}].content", message.get("content")))
    user, assistant = map(_under_each_other, said.values())
    return user, assistant


def _under_each_other(turns: list[str]) -> str:
    if len(turns) == 1:
        return turns[0]
    return "\n\n".join(f"Turn {n}:\n{said}" for n, said in enumerate(turns, 1))
