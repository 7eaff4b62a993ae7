"""A rubric: a question, and what each level of an answer to it looks like."""

import hashlib
import re
import tomllib
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path

import msgspec

from twopan.errors import ConfigError
from twopan.names import nearest


@dataclass(frozen=True, slots=True, kw_only=True)
class Rubric:
    """Read from TOML; two rubrics with the same content are the same rubric.

    >>> helpfulness = load("helpfulness")
    >>> sorted(helpfulness.levels)
    [1, 2, 3, 4, 5]
    """

    name: str
    question: str
    """What the judge is asked of a response."""
    levels: dict[int, str] = field(hash=False)
    """The behavioural anchor of each level: what one sees in a response that deserves it."""
    rules: str = ""
    """How to weigh things, whatever the level: what counts, and what must not."""

    @property
    def version(self) -> str:
        """Hash of all that a judge is told. The name is not: renaming changes no answer."""
        levels = {str(level): anchor for level, anchor in self.levels.items()}
        content = {"question": self.question, "levels": levels, "rules": self.rules}
        return hashlib.sha256(msgspec.json.encode(content, order="deterministic")).hexdigest()[:8]

    @property
    def anchors(self) -> str:
        """The levels as the judge reads them, lowest first."""
        return "\n".join(f"{level}: {text.strip()}" for level, text in sorted(self.levels.items()))


WHOLE = re.compile(r"-?(0|[1-9][0-9]{0,5})")


class _File(msgspec.Struct, forbid_unknown_fields=True):
    question: str
    levels: dict[str, str]
    name: str | None = None
    rules: str = ""


def load(source: str | Path) -> Rubric:
    """A shipped rubric by its name, or a TOML file by its path.

    Raises ConfigError where the name is unknown or the file is not a rubric.
    """
    path = Path(source)
    if "\0" in str(source):
        raise ConfigError("a rubric's name cannot hold a null character")
    if path.suffix == ".toml":
        try:
            text = path.read_text(encoding="utf-8-sig")
        except OSError as error:
            raise ConfigError(f"rubric {source}: {error.strerror}") from None
        except UnicodeDecodeError as error:
            raise ConfigError(f"rubric {source}: not UTF-8 from byte {error.start} on") from None
    elif str(source) in (known := shipped()):
        text = known[str(source)]
    else:
        raise ConfigError(
            f"no rubric {str(source)!r}{nearest(str(source), known)}; shipped are"
            f" {', '.join(known)}; a file of your own is named by a path ending in .toml"
        )
    try:
        raw = msgspec.convert(tomllib.loads(text), _File)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise ConfigError(f"rubric {source}: {error}") from None
    if bad := [level for level in raw.levels if not WHOLE.fullmatch(level)]:
        raise ConfigError(f"rubric {source}: level {bad[0]!r}: levels must be whole numbers")
    levels = {int(level): anchor for level, anchor in raw.levels.items()}
    if not raw.question.strip():
        raise ConfigError(f"rubric {source}: the question is empty")
    if len(levels) < 2 or not all(anchor.strip() for anchor in levels.values()):
        raise ConfigError(f"rubric {source}: needs two or more levels, each with its anchor")
    return Rubric(name=raw.name or path.stem, question=raw.question, levels=levels, rules=raw.rules)


def shipped() -> dict[str, str]:
    """The text of every rubric that comes along, by name."""
    folder = files("twopan").joinpath("rubrics")
    texts = {
        f.name[:-5]: f.read_text("utf-8") for f in folder.iterdir() if f.name.endswith(".toml")
    }
    return dict(sorted(texts.items()))
