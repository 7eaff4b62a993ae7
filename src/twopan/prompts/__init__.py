"""The words we say to a judge. One file a prompt; their hash is part of the judge's identity.

A prompt file is a system message, a line ``---`` and a user message. In both,

    {{ response }}     is replaced by data: what is judged, fenced so that it stays data
    {{ reference? }}   likewise, and by nothing at all where there is none
    {{ responses }}    likewise, where the data is several texts: each is fenced with its letter,
                       as response_a, response_b and so on
    {{~ instruction }} is replaced by data as it is, for models that must see it unadorned
    {{= question }}    is replaced by our own words or the rubric's, as they are

What is judged may try to speak to the judge. One pass of replacement keeps a response that says
``{{ reference }}`` from pulling the reference in, and a fence it cannot know keeps it from
ending early and going on in our name.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from string import ascii_lowercase

import msgspec

from twopan.errors import ConfigError
from twopan.names import nearest
from twopan.providers import Message

PLACEHOLDER = re.compile(
    r"\{\{(?:(?P<plain>=)|(?P<bare>~))? *(?P<name>\w+)(?P<optional>(?(plain)|\??)) *\}\}"
)
SEPARATOR = "\n---\n"
Data = str | tuple[str, ...]
"""What a data placeholder may stand for: a text, or several."""


@dataclass(frozen=True)
class Template:
    """A system and a user message, with placeholders."""

    name: str
    text: str

    @property
    def hash(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()[:8]

    @cached_property
    def data(self) -> frozenset[str]:
        """Names of the data placeholders, optional ones included."""
        return frozenset(m["name"] for m in PLACEHOLDER.finditer(self.text) if not m["plain"])

    @cached_property
    def optional(self) -> frozenset[str]:
        return frozenset(m["name"] for m in PLACEHOLDER.finditer(self.text) if m["optional"])

    @cached_property
    def bare(self) -> frozenset[str]:
        """Names of the data that go in without a fence."""
        return frozenset(m["name"] for m in PLACEHOLDER.finditer(self.text) if m["bare"])

    @cached_property
    def words(self) -> frozenset[str]:
        """Names of the plain placeholders."""
        return frozenset(m["name"] for m in PLACEHOLDER.finditer(self.text) if m["plain"])

    def render(
        self, words: Mapping[str, str] | None = None, /, **data: Data | None
    ) -> tuple[Message, ...]:
        """Fill every placeholder, in one pass.

        ``words`` go in as they are, ``data`` goes in fenced. Raises ConfigError where a
        placeholder has no value or a value no placeholder.
        """
        words = words or {}
        if missing := self.words - set(words):
            raise ConfigError(f"prompt {self.name!r} has no words for {listed(missing)}")
        given = {name: value for name, value in data.items() if value is not None}
        if missing := self.data - self.optional - set(given):
            raise ConfigError(
                f"prompt {self.name!r} needs {listed(missing)}, which the data lacks"
                f" (it has {listed(given)})"
            )
        if unknown := set(given) - self.data:
            raise ConfigError(f"prompt {self.name!r} has no place for {listed(unknown)}")
        texts = {name: lettered(name, value) for name, value in given.items()}
        told = [self.text, sorted(words.items()), [(name, given[name]) for name in sorted(given)]]
        nonce = fence_nonce(told, [text for part in texts.values() for text in part.values()])

        def value(match: re.Match[str]) -> str:
            name = match["name"]
            if match["plain"]:
                return words[name]
            if name not in given:
                return ""
            return "\n\n".join(
                text if match["bare"] else fenced(label, text, nonce)
                for label, text in texts[name].items()
            )

        def kept(match: re.Match[str]) -> str:
            return "" if match["optional"] and match["name"] not in given else match[0]

        # What is left out goes before anything goes in, so that data is never touched.
        text = re.sub(r"\n{3,}", "\n\n", PLACEHOLDER.sub(kept, self.text))
        system, user = text.split(SEPARATOR, maxsplit=1)
        return (
            Message("system", PLACEHOLDER.sub(value, system.strip())),
            Message("user", PLACEHOLDER.sub(value, user.strip())),
        )


def lettered(name: str, value: Data) -> dict[str, str]:
    """The texts that take one placeholder's place, by what their fences say."""
    if isinstance(value, str):
        return {name: value}
    if len(value) > len(ascii_lowercase):
        raise ConfigError(f"{len(value)} {name} are more than there are letters for")
    one = name.removesuffix("s")
    return {f"{one}_{x}": text for x, text in zip(ascii_lowercase, value, strict=False)}


def fence_nonce(told: Sequence[object], texts: Sequence[str]) -> str:
    """A word that no value contains: random to whoever wrote a response, yet the same each time.

    It hashes everything that is rendered, so a response would have to contain a hash of itself
    and of its rival; and equal requests keep equal keys.
    """
    seed = msgspec.json.encode(told)
    for attempt in range(1000):
        nonce = hashlib.sha256(b"%d:%b" % (attempt, seed)).hexdigest()[:8]
        if not any(nonce in text for text in texts):
            return nonce
    raise ConfigError("no fence could be found that the data does not contain")


def fenced(name: str, text: str, nonce: str) -> str:
    """Mark where data begins and where it ends."""
    return f"<{name} {nonce}>\n{text}\n</{name} {nonce}>"


def listed(names: object) -> str:
    return ", ".join(sorted(map(str, names))) or "nothing"  # type: ignore[call-overload]


@dataclass(frozen=True)
class Prompts:
    """The shipped prompts, or a directory of files that take the place of those they name."""

    directory: Path | None = None

    def load(self, name: str) -> Template:
        """Raises ConfigError for an unknown prompt, or an override that lost a placeholder."""
        ours = _shipped(name)
        if self.directory is None or not (path := self.directory / f"{name}.md").is_file():
            return ours
        try:
            return checked(Template(name, path.read_text(encoding="utf-8-sig")), ours, path)
        except UnicodeDecodeError as error:
            raise ConfigError(f"{path}: not UTF-8 from byte {error.start} on") from None
        except OSError as error:
            raise ConfigError(f"{path}: {error.strerror}") from None

    def check(self) -> None:
        """Read every override now, so that a slip is found before anything is paid for."""
        if self.directory is None:
            return
        if not self.directory.is_dir():
            raise ConfigError(f"{self.directory}: no such directory of prompts")
        known = shipped()
        for path in sorted(self.directory.glob("*.md")):
            if path.stem not in known:
                raise ConfigError(
                    f"{path}: no prompt has that name{nearest(path.stem, known)};"
                    f" the prompts are {listed(known)}"
                )
            self.load(path.stem)


def checked(theirs: Template, ours: Template, path: Path) -> Template:
    """An override must say all that the original says, and nothing that we cannot fill."""
    if SEPARATOR not in theirs.text:
        raise ConfigError(f"{path}: needs a system message, a line '---', and a user message")
    if stray := _stray(theirs.text, ours.data | WORDS):
        raise ConfigError(
            f"{path}: {stray} is no placeholder; data is written {{{{ response }}}}, or"
            " {{ reference? }} where there may be none, and words of the rubric {{= question }}"
        )
    lacking = [f"{{{{ {name} }}}}" for name in sorted(ours.data - ours.optional - theirs.data)]
    if "question" in ours.words - theirs.words:
        # Without it the rubric would be in the judge's signature and not in what it is told.
        lacking.append("{{= question }}")
    if lacking:
        raise ConfigError(f"{path}: lacks {' '.join(lacking)}")
    if unknown := theirs.data - ours.data:
        raise ConfigError(
            f"{path}: unknown placeholder {listed(unknown)}; it may use {listed(ours.data)}"
        )
    if unknown := theirs.words - WORDS:
        raise ConfigError(f"{path}: unknown words {listed(unknown)}; it may use {listed(WORDS)}")
    return theirs


def _stray(text: str, names: frozenset[str]) -> str:
    """What was meant for a placeholder, in the way of str.format or of Jinja, or nothing."""
    foreign = re.compile(
        r"\{\{[^{}\n]{0,60}\}{0,2}|\{[%#][^{}\n]{0,60}"
        rf"|\{{(?:{'|'.join(names)}|\w+(?:\.\w+|\[[^\]\n]*\])+)(?:[!:][^{{}}\n]*)?\}}"
    )
    match = foreign.search(PLACEHOLDER.sub(" ", text))
    return match[0] if match else ""


WORDS = frozenset({"question", "rules", "levels", "scale", "options", "form"})
"""What the rubric and the protocol lend to every prompt."""


def shipped() -> list[str]:
    return sorted(f.name[:-3] for f in files(__name__).iterdir() if f.name.endswith(".md"))


def _shipped(name: str) -> Template:
    entry = files(__name__).joinpath(f"{name}.md")
    if not entry.is_file():
        raise ConfigError(f"no prompt {name!r}{nearest(name, shipped())}")
    return Template(name, entry.read_text(encoding="utf-8"))
