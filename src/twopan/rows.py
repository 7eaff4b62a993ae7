"""Files of rows, whatever their shape: JSON Lines, a JSON array, CSV, TSV or Parquet.

    bytes -> inflated, sizes counted -> UTF-8 -> one row at a time, and where it stood

Nothing is guessed about what a value means. A cell ``NA`` is the text ``NA``, an empty cell is
the empty text, ``007`` stays ``007``; a line break inside quotes is kept byte for byte. Lines end
with LF and with nothing else: U+2028 is an ordinary character, and a carriage return before the
LF belongs to the line end only outside of quotes. What cannot be read exactly is a problem that
names its file, line and field, because text that was repaired is text nobody wrote.

Whether JSON is an array or lines is told by its first character, and packing (gzip, zstd) by its
first bytes, so a wrong suffix does no harm. CSV and TSV go by their suffix; where there is none,
as on standard input, a first line with a tab means TSV and one with a comma CSV.
"""

import codecs
import csv
import json
import math
import os
import re
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from io import BytesIO
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

import zstandard

from twopan.errors import ConfigError, DataError
from twopan.names import nearest

MAX_ROW = 64 * 2**20
"""Bytes one row may have."""
MAX_INFLATED = 4 * 2**30
"""Bytes a packed file may have once unpacked."""
MAX_RATIO = 250
"""How many times its packed size a file may have, past its first MAX_ROW bytes."""

PIECE = 2**16


@dataclass(frozen=True, slots=True)
class Place:
    """Where a row begins. ``line`` and ``row`` count from 1; 0 is a count the format lacks."""

    file: str
    line: int = 0
    row: int = 0

    def __str__(self) -> str:
        line = f": line {self.line}" if self.line else ""
        row = f"row {self.row}" if self.row else ""
        return f"{self.file}{line}" + (f"{', ' if line else ': '}{row}" if row else "")


@dataclass(frozen=True, slots=True)
class Row:
    """One record: its columns, as the file has them."""

    fields: Mapping[str, object]
    place: Place


@dataclass(frozen=True, slots=True)
class Problem:
    """One record that cannot be used, and why. ``str()`` of it is a line of a DataError."""

    place: Place
    what: str

    def __str__(self) -> str:
        return f"{self.place}: {self.what}"


def read_rows(path: str | os.PathLike[str], *, bad: list[Problem] | None = None) -> Iterator[Row]:
    """The rows of a file, in order, one at a time; ``-`` is standard input.

    A record that cannot be read raises DataError, or is appended to ``bad`` where that is given,
    so that rows in = rows out + rows listed. What makes the rest of the file unreadable (damaged
    packing, a quote that never closes, a size over its limit) raises DataError in either case,
    and so does a file of 0 rows. Parquet without pyarrow raises ConfigError.
    """
    empty = True
    for row in _records(path):
        empty = False
        if isinstance(row, Row):
            yield row
        elif bad is None:
            raise DataError(str(row))
        else:
            bad.append(row)
    if empty:
        raise DataError(f"{shown(str(path))}: 0 rows")


def shown(text: str) -> str:
    """``text``, escaped where a terminal or a log would take it for more than text."""
    return text if text.isprintable() else repr(text)[1:-1]


def _records(path: str | os.PathLike[str]) -> Iterator[Row | Problem]:
    name = shown(str(path))
    try:
        with _open(path) as file:
            chunks = _inflated(name, file)
            head = b""
            while len(head) < 1024 and (chunk := next(chunks, b"")):
                head += chunk
            yield from _reader(name, file, head, chunks)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise DataError(f"{name}: cannot be read: {why}{_neighbour(path, error)}") from None


def _open(path: str | os.PathLike[str]) -> AbstractContextManager[BinaryIO]:
    return nullcontext(sys.stdin.buffer) if os.fspath(path) == "-" else open(path, "rb")


def _neighbour(path: str | os.PathLike[str], error: Exception) -> str:
    if not isinstance(error, FileNotFoundError) or not Path(path).parent.is_dir():
        return ""
    return nearest(Path(path).name, os.listdir(Path(path).parent))


def _reader(
    name: str, file: BinaryIO, head: bytes, rest: Iterator[bytes]
) -> Iterator[Row | Problem]:
    suffixes = [s for s in Path(name.lower()).suffixes if s not in {".gz", ".zst", ".zstd"}]
    suffix = suffixes[-1] if suffixes else ""
    if head.startswith(b"PAR1") or suffix == ".parquet":
        return _parquet(name, file, chain([head], rest))
    if head.startswith(b"PK\x03\x04"):
        raise DataError(f"{name}: is a zip archive or a workbook: save it as CSV or JSON Lines")
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) and head[2:4] != b"\0\0":
        rest = _from_utf16(name, chain([head], rest))
        head = next(rest, b"")
    if b"\0" in head[:4]:
        raise DataError(f"{name}: is UTF-16 or UTF-32 without its mark, or no text: save as UTF-8")
    head = head.removeprefix(codecs.BOM_UTF8)
    chunks = chain([head], rest)
    start = head.lstrip()[:1]
    if suffix in {".csv", ".tsv"}:
        return _table(name, _lines(name, chunks), "," if suffix == ".csv" else "\t")
    if start == b"[":
        return _json_array(name, _decoded(name, chunks))
    first = head.partition(b"\n")[0]
    if suffix not in {".json", ".jsonl", ".ndjson"} and start != b"{":
        for delimiter in "\t,":
            if delimiter.encode() in first:
                return _table(name, _lines(name, chunks), delimiter)
    return _json_lines(name, _lines(name, chunks))


# Bytes


def _inflated(name: str, file: BinaryIO) -> Iterator[bytes]:
    """The unpacked bytes in small chunks. What comes out is counted, whatever a header claims."""
    packed = unpacked = 0

    def pieces(chunk: bytes) -> Iterator[bytes]:
        nonlocal packed
        while chunk:
            packed += len(chunk)
            yield chunk
            chunk = file.read(PIECE)

    head = file.read(PIECE)
    unpack: Callable[[Iterable[bytes]], Iterator[bytes]]
    if head.startswith(b"\x1f\x8b"):
        unpack = _gunzip
    elif head.startswith(b"\x28\xb5\x2f\xfd"):
        unpack = _unzstd
    else:
        yield from pieces(head)
        return
    try:
        for chunk in unpack(pieces(head)):
            unpacked += len(chunk)
            if unpacked > MAX_INFLATED or unpacked > max(MAX_ROW, MAX_RATIO * packed):
                raise DataError(
                    f"{name}: its unpacked size passes {unpacked // 2**20} MB from {packed:,} "
                    "packed bytes, which looks like an attack: unpack it yourself if it is not"
                )
            if chunk:
                yield chunk
    except (zlib.error, zstandard.ZstdError, EOFError) as error:
        raise DataError(f"{name}: the packed data is damaged: {error}") from None


def _gunzip(pieces: Iterable[bytes]) -> Iterator[bytes]:
    engine = zlib.decompressobj(wbits=31)
    for piece in pieces:
        left = piece
        # After one member comes the next, or the zeros that some tools pad with.
        while left := left.lstrip(b"\0") if engine.eof else left:
            engine = zlib.decompressobj(wbits=31) if engine.eof else engine
            yield engine.decompress(left, PIECE)
            left = engine.unconsumed_tail or engine.unused_data
    yield engine.flush()
    if not engine.eof:
        raise EOFError("it ends in the middle")


def _unzstd(pieces: Iterable[bytes]) -> Iterator[bytes]:
    # This engine has no output limit, but four bytes give at most one block of 128 KiB.
    step = 1024
    unpacker = zstandard.ZstdDecompressor(max_window_size=2**27)
    engine = unpacker.decompressobj()
    for piece in pieces:
        for at in range(0, len(piece), step):
            left = piece[at : at + step]
            while left:
                engine = unpacker.decompressobj() if engine.eof else engine
                yield engine.decompress(left)
                left = engine.unused_data if engine.eof else b""
    if not engine.eof:
        raise EOFError("it ends in the middle")


def _from_utf16(name: str, chunks: Iterable[bytes]) -> Iterator[bytes]:
    decode = codecs.getincrementaldecoder("utf-16")().decode
    try:
        for chunk in chunks:
            yield decode(chunk).encode()
        yield decode(b"", final=True).encode()
    except UnicodeDecodeError as error:
        raise DataError(f"{name}: is marked as UTF-16 and is not: {error.reason}") from None


def _lines(name: str, chunks: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    number, parts, size = 1, list[bytes](), 0
    for chunk in chunks:
        *ends, rest = chunk.split(b"\n")
        for end in ends:
            yield number, b"".join((*parts, end)) if parts else end
            number, parts, size = number + 1, [], 0
        if rest:
            parts.append(rest)
            size += len(rest)
            _check_size(size, Place(name, number))
    if parts:
        yield number, b"".join(parts)


def _check_size(size: int, place: Place) -> None:
    if size > MAX_ROW:
        raise DataError(f"{place}: the size of this row is over {MAX_ROW // 2**20} MB")


def _utf8(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        byte = f"byte {error.start + 1} of the line (0x{raw[error.start]:02x})"
        raise DataError(f"{byte} is not UTF-8: save the file as UTF-8") from None


def _decoded(name: str, chunks: Iterable[bytes]) -> Iterator[str]:
    decode = codecs.getincrementaldecoder("utf-8")().decode
    line, before = 1, 0
    for chunk in chain(chunks, [b""]):
        try:
            yield decode(chunk, final=not chunk)
        except UnicodeDecodeError as error:
            at = error.start - (len(error.object) - len(chunk))
            place = Place(name, line + chunk.count(b"\n", 0, max(at, 0)))
            byte = f"byte {before + at + 1} of the text (0x{error.object[error.start]:02x})"
            raise DataError(f"{place}: {byte} is not UTF-8: save the file as UTF-8") from None
        line, before = line + chunk.count(b"\n"), before + len(chunk)


# JSON


class _Clash:
    """Stands for the value of a key that one object gives twice, differently."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    row = dict(pairs)
    if len(row) < len(pairs):
        for key, value in pairs:
            if value != row[key]:
                row[key] = _Clash
    return row


# msgspec is faster and cannot see a key that is given twice; strict JSON matters more here.
_JSON = json.JSONDecoder(object_pairs_hook=_object)
_BLANK = re.compile(r"[ \t\r\n]*")
_SURROGATE = re.compile("[\ud800-\udfff]")


def _json_lines(name: str, lines: Iterable[tuple[int, bytes]]) -> Iterator[Row | Problem]:
    for number, raw in lines:
        if raw.strip():
            place = Place(name, number)
            try:
                yield _json_row(_JSON.decode(_utf8(raw)), place)
            except json.JSONDecodeError as error:
                what = f"not one JSON object on one line: {error.msg}, character {error.pos + 1}"
                yield Problem(place, what)
            except DataError as error:
                yield Problem(place, str(error))
            except (RecursionError, ValueError) as error:
                yield Problem(place, f"not JSON that can be read: {error}")


def _json_array(name: str, chunks: Iterator[str]) -> Iterator[Row | Problem]:
    text = _Window(name, chunks)
    assert text.sign() == "["
    text.at += 1
    separator = "" if text.sign() == "]" else ","
    while separator == ",":
        text.sign()
        place = text.place()
        value = text.value()
        try:
            yield _json_row(value, place)
        except DataError as error:
            yield Problem(place, str(error))
        except RecursionError as error:
            yield Problem(place, f"not JSON that can be read: {error}")
        text.row += 1
        separator = text.sign()
        text.at += separator == ","
    if text.sign() != "]":
        raise DataError(f"{text.place()}: the JSON array goes on without a comma or a bracket")
    text.at += 1
    if text.sign():
        raise DataError(f"{text.place()}: something follows the JSON array")


class _Window:
    """The part of a long JSON text that is being read; it grows when a value does not fit."""

    def __init__(self, name: str, chunks: Iterator[str]) -> None:
        self.name, self.chunks = name, chunks
        self.text, self.at, self.line, self.row = "", 0, 1, 1

    def place(self, at: int = 0) -> Place:
        return Place(self.name, self.line + self.text.count("\n", self.at, at), self.row)

    def sign(self) -> str:
        """The next character that is not blank, which is not passed; nothing at the end."""
        while True:
            blank = _BLANK.match(self.text, self.at)
            assert blank
            self._pass(blank.end())
            if self.at < len(self.text):
                return self.text[self.at]
            if not self._grow():
                return ""

    def value(self) -> object:
        while True:
            try:
                value, end = _JSON.raw_decode(self.text, self.at)
            except json.JSONDecodeError as error:
                # Not an error yet where the window may have cut a string, a word or a number.
                cut = error.msg.startswith("Unterm") or error.pos > len(self.text) - 16
                if not (cut and self._grow()):
                    place = self.place(error.pos)
                    raise DataError(f"{place}: the JSON array is broken: {error.msg}") from None
            except (RecursionError, ValueError) as error:
                raise DataError(f"{self.place()}: not JSON that can be read: {error}") from None
            else:
                self._pass(end)
                return value

    def _pass(self, end: int) -> None:
        self.line += self.text.count("\n", self.at, end)
        self.at = end

    def _grow(self) -> bool:
        """At least double what is left, so that a long value costs linear time in all."""
        parts = [self.text[self.at :]]
        left = len(parts[0])
        _check_size(left, self.place())
        while left >= 0 and (chunk := next(self.chunks, None)) is not None:
            parts.append(chunk)
            left -= len(chunk)
        self.text, self.at = "".join(parts), 0
        return len(parts) > 1


def _json_row(value: object, place: Place) -> Row:
    if not isinstance(value, dict):
        raise DataError(f"a row is an object with named fields, and this is {kind(value)}")
    for field, content in value.items():
        if what := _unsound(field) or _unsound(content):
            raise DataError(f"{shown(field)}: {what}")
    return Row(value, place)


def kind(value: object) -> str:
    """What a value is, in the words of JSON."""
    names = {dict: "an object", list: "a list", str: "text", bool: "true or false"}
    numbers = {int: "a number", float: "a number", type(None): "null"}
    return (names | numbers).get(type(value), f"a {type(value).__name__}")


def _unsound(value: object) -> str:
    """Why a JSON value is not one, or nothing: Python's reader lets these three through."""
    if isinstance(value, str):
        halved = not value.isascii() and _SURROGATE.search(value)
        return "holds half a character (a lone surrogate)" if halved else ""
    if isinstance(value, float):
        return "" if math.isfinite(value) else f"{value} is not a JSON number"
    if isinstance(value, dict):
        return next(filter(None, map(_unsound, chain(value, value.values()))), "")
    if isinstance(value, list):
        return next(filter(None, map(_unsound, value)), "")
    return "is given twice with different values" if value is _Clash else ""


# Tables


def _table(
    name: str, lines: Iterable[tuple[int, bytes]], delimiter: str
) -> Iterator[Row | Problem]:
    header, start, size = list[str](), 1, 0
    damage: Problem | None = None

    def text() -> Iterator[str]:
        nonlocal size, damage
        for number, raw in lines:
            size += len(raw) + 1
            _check_size(size, Place(name, start))
            try:
                yield _utf8(raw) + "\n"
            except DataError as error:  # the record ends where it would have; then it is refused
                damage = damage or Problem(Place(name, number), str(error))
                yield raw.decode(errors="replace") + "\n"

    csv.field_size_limit(MAX_ROW)  # of the whole process; the default is 128 KiB
    reader = csv.reader(text(), delimiter=delimiter, strict=True)
    while True:
        start, size, damage = reader.line_num + 1, 0, None
        place = Place(name, start)
        try:
            cells = next(reader, None)
        except csv.Error as error:  # where the next record begins is anybody's guess
            what = f"the quotes of this row are broken: {error}"
            if "new-line" in str(error):
                what = "a carriage return outside of quotes: lines end with LF or CRLF"
            raise DataError(f"{place}: {what}") from None
        if cells is None:
            return
        if not cells:
            continue
        if not header:
            if damage:
                raise DataError(str(damage))
            header = _header(cells, place)
        elif damage:
            yield damage
        elif len(cells) != len(header):
            yield Problem(place, f"{len(cells)} cells where the header has {len(header)}")
        else:
            yield Row(dict(zip(header, cells, strict=True)), place)


def _header(columns: list[str], place: Place) -> list[str]:
    for column in columns:
        if columns.count(column) > 1:
            raise DataError(f"{place}: two columns are called {shown(column)!r}: rename one")
    return columns


def _parquet(name: str, file: BinaryIO, chunks: Iterable[bytes]) -> Iterator[Row]:
    try:
        import pyarrow as pa
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise ConfigError(
            f'{name}: reading Parquet needs pyarrow: pip install "twopan[parquet]"'
        ) from None
    row = size = 0
    try:  # the format is read from its end: what is packed or piped goes through memory
        table = ParquetFile(file if _is_plain(file) else BytesIO(b"".join(chunks)))
        _header(table.schema_arrow.names, Place(name))
        for batch in table.iter_batches(batch_size=64):
            size += batch.nbytes
            if size > MAX_INFLATED:
                raise DataError(f"{name}: its unpacked size passes {MAX_INFLATED // 2**20} MB")
            for fields in batch.to_pylist():
                row += 1
                yield Row(fields, Place(name, row=row))
    except (pa.ArrowException, OSError, ValueError) as error:
        raise DataError(f"{name}: not Parquet that can be read: {error}") from None


def _is_plain(file: BinaryIO) -> bool:
    if not file.seekable():
        return False
    at = file.tell()
    file.seek(0)
    plain = file.read(4) == b"PAR1"
    file.seek(at)
    return plain
