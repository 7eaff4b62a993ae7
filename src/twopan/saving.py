"""A file appears whole or not at all, and whether it can is known before anything is paid for."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

from twopan.errors import ConfigError


def check_writable(path: str | Path) -> None:
    """Raises ConfigError where a file could not be put there. Leaves nothing behind."""
    with _said_plainly(path):
        _require_place(Path(path))
        with tempfile.TemporaryFile(dir=Path(path).parent):
            pass


@contextmanager
def replacing(path: str | Path) -> Iterator[TextIO]:
    """Write a UTF-8 text file beside ``path``, then put it in its place.

    Until the block ends well, whatever is at ``path`` stays. A half of a surrogate pair is
    written as ``\\udXXX``: one character must not cost the file. Only the owner can read the
    file, for it quotes what was judged. Raises ConfigError where it cannot be written.
    """
    target = Path(path)
    with _said_plainly(path):
        _require_place(target)
        handle, name = tempfile.mkstemp(prefix=".twopan-", dir=target.parent)
    try:
        with open(handle, "w", encoding="utf-8", errors="backslashreplace", newline="") as file:
            yield file
            with _said_plainly(path):
                file.flush()
                os.fsync(file.fileno())
        with _said_plainly(path):
            os.replace(name, target)
    finally:
        Path(name).unlink(missing_ok=True)
    with suppress(OSError):  # the name is durable too, where the system can promise that
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def write(path: str | Path, text: str) -> None:
    """Put a text there, whole or not at all. Raises ConfigError where that fails."""
    with replacing(path) as file:
        file.write(text)


def _require_place(path: Path) -> None:
    if "\0" in str(path):
        raise OSError("no name holds a NUL")
    if path.exists() and not path.is_file():
        raise OSError("it exists and is not a file")
    if not path.parent.is_dir():
        raise OSError(f"there is no folder {path.parent}; create it first")


@contextmanager
def _said_plainly(path: str | Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        why = error.strerror or error
        raise ConfigError(f"cannot write {str(path)!r}: {why}") from None
