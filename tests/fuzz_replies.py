"""Replies of judges with a known truth: a grammar over all contracts, and what models do to them.

Each reply states a verdict in one contract's form, dressed, surrounded and damaged in ways seen
in the field. ``truth`` is the only value that may come out, or None where none may. A reply is
``recoverable`` where exactly one reading exists and the reader promises to find it.
"""

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass

from twopan.protocols.parsing import Contract


@dataclass(frozen=True)
class Reply:
    contract: Contract
    text: str
    finish_reason: str
    truth: str | float | None
    recoverable: bool


NUMERIC = {"low": 1, "high": 5, "integer": True}
TEN = {"low": 1, "high": 10, "integer": True}
FRACTIONAL = {"low": 0, "high": 10, "integer": False}
PAIR = {"menu": ("A", "B", "tie")}
LETTERS = {"menu": ("A", "B", "C")}
FIVE = {"menu": ("A>>B", "A>B", "A=B", "B>A", "B>>A")}
GRADES = {"menu": ("C", "P", "I")}
WORDS = {"menu": ("relevant", "partly relevant", "irrelevant")}

CONTRACTS = [
    *(Contract(format="line", label="Score", **offer) for offer in (NUMERIC, TEN, FRACTIONAL)),
    Contract(format="line", label="Verdict", **PAIR),
    Contract(format="line", label="GRADE", **GRADES),
    Contract(format="line", label="Label", **WORDS),
    Contract(format="bracket", **LETTERS),
    Contract(format="bracket", **FIVE),
    Contract(format="bracket", label="Rating", **FRACTIONAL),
    *(Contract(format="json", key="score", **offer) for offer in (NUMERIC, TEN, FRACTIONAL)),
    Contract(format="json", key="winner", **PAIR),
    Contract(format="json", key="label", **WORDS),
    Contract(format="tag", tag="verdict", **PAIR),
    Contract(format="tag", tag="score", **FRACTIONAL),
    Contract(format="tag", tag="[RESULT]", **NUMERIC),
    Contract(format="bare", **PAIR),
    Contract(format="bare", **TEN),
]

PROSE = [
    "There are 5 reasons to look twice, and 3 of them are about tone.",
    "Assistant A gives a fuller answer, while Assistant B is terse.",
    "This is a close call.",
    "A better reply would cite its sources [1] and [2].",
    "There is no cause to downgrade: it covers every point.",
    "The underscore: a sign that 2 of 3 experts dislike.",
    "I scored a goal in 1998, at 9:30 pm, for $4.50.",
    "It writes `if (x) { return y; }` and forgets the semicolon.",
    "The formula \\frac{a}{b} is right; {1, 2, 3} is a set.",
    "1. It is correct.\n2. It is not concise.\n3. It is polite.",
    "I am sorry to say that it is dull.",
    "C is a programming language, and so is B.",
    "See https://example.org/a?b=4#c5 for more.",
    "Überraschenderweise ist die Antwort gut – 4 von 5 Punkten stimmen.",
    "Ответ хороший, но слишком длинный: 10 абзацев.",
    "👍🏽 well done 👨‍👩‍👧",
    "| criterion | remark |\n|---|---|\n| tone | 4 slips |",
    "> quoted: the answer is 42",
    'He said "it\'s a tie" and left.',
]
INVISIBLE = "\u200b\u200d\ufeff\u2060\u00ad\u200e\U000e0041"
NOUNS = ["Response", "Assistant", "Model", "Output", "Answer", "Option"]
REASONING = ["think", "thinking", "reasoning", "reflection", "scratchpad"]
REFUSALS = [
    "I'm sorry, but I can't help with evaluating this content.",
    "I cannot assist with that request.",
    "As an AI language model, I am unable to judge this.",
    "I must decline.",
    "Sorry, but I won't be able to rate this.",
]


def replies(count: int, seed: int) -> Iterator[Reply]:
    for number in range(count):
        yield _Grammar(random.Random(f"{seed}/{number}")).reply()


class _Grammar:
    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.contract = rng.choice(CONTRACTS)
        self.recoverable = True

    def maybe(self, share: float) -> bool:
        return self.rng.random() < share

    def reply(self) -> Reply:
        kind = self.rng.choices(
            ["plain", "decoy", "conflict", "cut", "off", "none", "filtered"],
            [60, 10, 8, 10, 6, 4, 2],
        )[0]
        return getattr(self, kind)()

    # ---- kinds ----

    def plain(self) -> Reply:
        truth = self.value()
        return self.finished(self.around(self.marker(truth)), truth)

    def decoy(self) -> Reply:
        """Another marker in the reasoning, or in a sentence before the last line."""
        truth, other = self.two_values()
        marker = self.marker(truth)
        if self.maybe(0.5):
            tag = self.rng.choice(REASONING)
            opener = f"<{tag}>" if self.maybe(0.7) else ""
            thought = f"{opener}At first sight:\n{self.marker(other)}\nBut no.</{tag}>\n"
            return self.finished(thought + self.around(marker), truth)
        if self.contract.format == "bare":
            return self.finished(f"{self.prose()}\n{marker}", truth)
        self.recoverable &= not marker.startswith("Feedback")  # stands not alone on its line
        return self.finished(
            f"At first {self.marker(other, inline=True)} looks right to me, but no.\n\n{marker}",
            truth,
        )

    def conflict(self) -> Reply:
        """Two different markers in the middle, and no final line."""
        one, other = self.two_values()
        if self.contract.format == "bare":
            text = f"{self.prose()} {one} {self.prose()} {other} {self.prose()}"
        else:
            a, b = self.marker(one, inline=True), self.marker(other, inline=True)
            text = f"{a}\n{self.prose()}\n{b}\n{self.rng.choice(PROSE[:3])}"
        return Reply(self.contract, text, "stop", None, False)

    def cut(self) -> Reply:
        """The token budget ran out, anywhere at all."""
        truth = self.value()
        text = self.around(self.marker(truth))
        return Reply(
            self.contract, text[: self.rng.randrange(len(text) + 1)], "length", truth, False
        )

    def off(self) -> Reply:
        """A verdict that was not on offer."""
        if self.contract.menu:
            wrong = self.rng.choice(["D", "not A", "A or B", "neither", "A/B", "maybe", "AB", "Z"])
        else:
            wrong = self.rng.choice(
                ["11", "-1", "85", "1e999", "5²", "④", "high", "IV", "3 or 4", "2-3", "N/A", "8/7"]
            )
            if self.contract.integer:
                wrong = self.rng.choice([wrong, "2.5", "3,5"])
        text = self.around(self.marker(wrong, dressed=False), after=False)
        return Reply(self.contract, text, "stop", None, False)

    def none(self) -> Reply:
        text = self.rng.choice(
            [
                "", " \n", "\u200b", *REFUSALS,
                "<think>" + self.marker(self.value()),
                "<think>" + self.marker(self.value()) + "</think>\n",
                "\n".join(self.rng.sample(PROSE[:8], 3)),
            ]
        )  # fmt: skip
        return Reply(self.contract, text, self.rng.choice(["stop", "length"]), None, False)

    def filtered(self) -> Reply:
        reason = self.rng.choice(["refusal", "content_filter"])
        return Reply(self.contract, self.marker(self.value()), reason, None, False)

    # ---- parts ----

    def finished(self, text: str, truth: str | float) -> Reply:
        return Reply(self.contract, text, "stop", truth, self.recoverable)

    def value(self) -> str | float:
        if self.contract.menu:
            return self.rng.choice(self.contract.menu)
        low, high = int(self.contract.low), int(self.contract.high)
        whole = self.rng.randint(low, high)
        if self.contract.integer or whole == high or self.maybe(0.5):
            return whole
        return whole + self.rng.choice([0.5, 0.25, 0.1, 0.75])

    def two_values(self) -> tuple[str | float, str | float]:
        one = other = self.value()
        while other == one:
            other = self.value()
        return one, other

    def prose(self) -> str:
        return self.rng.choice(PROSE)

    def around(self, marker: str, *, after: bool = True) -> str:
        """The marker at the end of some prose, or, less often, before some."""
        before = [self.prose() for _ in range(self.rng.randrange(4))]
        behind = []
        if self.contract.format == "bare":
            before = before if self.maybe(0.5) else []
        elif after and self.maybe(0.3):
            behind = [self.rng.choice(PROSE[:8])]
        text = "\n".join([*before, marker, *behind])
        if self.maybe(0.15):
            text = f"<think>\n{self.prose()}\nHm.\n</think>\n\n{text}"
        if self.maybe(0.1):
            text += self.rng.choice(["\n", "  ", "\n\n", "<|im_end|>", "</s>"])
        if self.maybe(0.1):
            text = text.replace("\n", "\r\n")
        return text

    def written(self, value: str | float) -> str:
        """One of the ways to write a value that mean nothing else."""
        if self.contract.menu:
            text = str(value)
            if self.maybe(0.15):
                text = self.rng.choice([text.lower(), text.upper(), text.title()])
            short = len(text) == 1 and self.contract.menu != GRADES["menu"]
            if short and self.maybe(0.2):
                text = self.rng.choice([f"{n} {text}" for n in NOUNS] + [f"Output ({text})"])
            return text
        text = f"{value}"
        if self.maybe(0.15):
            text += self.rng.choice(["/{0:g}", " / {0:g}", " out of {0:g}"]).format(
                self.contract.high
            )
        elif self.maybe(0.1):
            text = "".join(chr(0xFF10 + int(c)) if c.isdigit() else c for c in text)
        elif self.maybe(0.1):
            text = "".join(chr(0x0660 + int(c)) if c.isdigit() else c for c in text)
        elif isinstance(value, int) and self.maybe(0.1):
            text += ".0"
        return text

    def marker(self, value: str | float, *, inline: bool = False, dressed: bool = True) -> str:
        text = self.written(value) if dressed else str(value)
        shape = getattr(self, self.contract.format)
        made = shape(text, plain=inline or not dressed)
        if dressed and not inline and self.maybe(0.05) and self.contract.format != "json":
            spot = self.rng.randrange(len(made) + 1)
            made = made[:spot] + self.rng.choice(INVISIBLE) + made[spot:]
        return made

    def line(self, text: str, *, plain: bool) -> str:
        label = self.contract.label
        if plain:
            return f"{label}: {text}"
        return self.rng.choice(
            [
                f"{label}: {text}", f"{label}: {text}", f"**{label}: {text}**",
                f"**{label}:** {text}", f"**{label}**: **{text}**", f"{label.lower()}: {text}",
                f"{label.upper()}: {text}.", f"- {label}: {text}", f"## {label}: {text}",
                f"{label} = {text}", f"Final {label.lower()}: {text}", f"{label}:\n{text}",
                f"### {label}\n\n{text}", f"{label}：{text}", f'{label}: "{text}"',
                f"| {label} | {text} |", f"{label}: {text} (see above)",
                f"{label}: {text} because it says so", f"> {label}: `{text}`",
            ]
        )  # fmt: skip

    def bracket(self, text: str, *, plain: bool) -> str:
        label = self.contract.label
        prefix = f"{label}: " if label else ""
        if plain:
            return f"[[{text}]]"
        return self.rng.choice(
            [f"[[{text}]]", f"{prefix}[[{text}]]", f"**[[{text}]]**", f"[[ {text} ]]",
             f"[[{text}]].", f"Final verdict: [[{text}]]", f"\\[\\[{text}\\]\\]", f"`[[{text}]]`"]
        )  # fmt: skip

    def tag(self, text: str, *, plain: bool) -> str:
        tag = self.contract.tag
        if tag.startswith("["):
            ways = ["{} {}", "Feedback: fine. {} {}", "{}: {}", "{}\n{}"]
            return (ways[0] if plain else self.rng.choice(ways)).format(tag, text)
        text = text.replace(">", "&gt;")
        made = f"<{tag}>{text}</{tag}>"
        if plain:
            return made
        return self.rng.choice([made, f"<{tag}>\n{text}\n</{tag}>", f"**{made}**", made.upper()])

    def bare(self, text: str, *, plain: bool) -> str:
        return text if plain else self.rng.choice([text, f"**{text}**", f"{text}.", f" {text} "])

    def json(self, text: str, *, plain: bool) -> str:
        key = self.contract.key
        quoted = bool(self.contract.menu) or not text.replace(".", "").isascii() or "/" in text
        quoted = quoted or not text.replace(".", "", 1).lstrip("-").isdigit() or self.maybe(0.1)
        value = text if not quoted else json.dumps(text, ensure_ascii=self.maybe(0.5))
        reason = json.dumps(self.rng.choice(PROSE), ensure_ascii=self.maybe(0.5))
        members = [f'"{key}": {value}', f'"reason": {reason}']
        self.rng.shuffle(members)
        body = ", ".join(members)
        if plain:
            return "{" + body + "}"
        made = self.rng.choice(
            [
                "{" + body + "}", "{" + body + "}", "{" + body + ",}", "{\n  " + body + "\n}",
                "{" + body.replace('", "', '", // so\n"') + "}", '{"result": {' + body + "}}",
                "[{" + body + "}]", "{" + body + ', "extra": None}',
                "{" + body + ', "list": [{"x": [1, 2]}, {}]}',
                "{" + body.replace(f'"{key}"', f'"{key.upper()}"') + "}",
                "{" + body.replace(f'"{key}"', key) + "}",
                "{" + body.replace("\\n", "\n") + "}",
                f"{{'{key}': {value}, 'reason': 'it is fine'}}",
                f"{{“{key}”: {value}, “reason”: “it's fine”}}",
            ]
        )  # fmt: skip
        return self.rng.choice(["{}", "{}", "```json\n{}\n```", "```\n{}\n```"]).replace("{}", made)
