"""Rows from files: what goes in comes out exactly, or is refused by file, line and field."""

import csv
import gzip
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from twopan import rows
from twopan.errors import ConfigError, DataError
from twopan.rows import Place, read_rows


def write(folder: Path, name: str, data: bytes | str) -> Path:
    path = folder / name
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def fields(path: Path) -> list[dict]:
    return [dict(row.fields) for row in read_rows(path)]


def zstd(data: bytes) -> bytes:
    return zstandard.ZstdCompressor().compress(data)


PACKED = {"": lambda data: data, ".gz": gzip.compress, ".zst": zstd}


def encoded(kind: str, columns: list[str], cells: list[list[str]]) -> bytes:
    records = [dict(zip(columns, row, strict=True)) for row in cells]
    if kind == "jsonl":
        return "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in records).encode()
    if kind == "json":
        return json.dumps(records, indent=1).encode()
    if kind == "parquet":
        import pyarrow as pa
        from pyarrow.parquet import write_table

        sink = io.BytesIO()
        write_table(pa.Table.from_pylist(records), sink)
        return sink.getvalue()
    sink = io.StringIO(newline="")
    table = csv.writer(sink, delimiter="," if kind == "csv" else "\t", quoting=csv.QUOTE_ALL)
    table.writerows([columns, *cells])
    return sink.getvalue().encode()


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
names = texts.filter(lambda name: name and "\0" not in name)  # a NUL up front is not UTF-8's
tables = st.integers(1, 4).flatmap(
    lambda width: st.tuples(
        st.lists(names, min_size=width, max_size=width, unique=True),
        st.lists(st.lists(texts, min_size=width, max_size=width), min_size=1, max_size=5),
    )
)


@pytest.mark.parametrize("packing", PACKED)
@pytest.mark.parametrize("kind", ["jsonl", "json", "csv", "tsv", "parquet"])
@settings(max_examples=40)
@given(table=tables)
def test_every_format_and_packing_gives_back_what_was_written(
    tmp_path_factory, kind, packing, table
):
    columns, cells = table
    data = PACKED[packing](encoded(kind, columns, cells))
    path = write(tmp_path_factory.mktemp("rows"), f"d.{kind}{packing}", data)
    assert fields(path) == [dict(zip(columns, row, strict=True)) for row in cells]


@st.composite
def mangled(draw) -> tuple[str, bytes]:
    """A file's name and its bytes, some of them overwritten, and all of it cut short."""
    kind = draw(st.sampled_from(["jsonl", "json", "csv", "tsv"]))
    packing = draw(st.sampled_from(list(PACKED)))
    data = bytearray(encoded(kind, *draw(tables)))
    for at, new in draw(st.lists(st.tuples(st.integers(0, 99), st.binary(max_size=4)), max_size=4)):
        data[at : at + 1] = new
    return f"d.{kind}{packing}", PACKED[packing](bytes(data))[: draw(st.integers(1, 400))]


@settings(max_examples=300)
@given(mangled())
def test_a_mangled_file_is_read_or_refused_and_never_a_traceback(tmp_path_factory, file):
    path = write(tmp_path_factory.mktemp("rows"), *file)
    bad = []
    try:
        assert list(read_rows(path, bad=bad)) or bad
    except DataError as error:
        bad.append(error)
    assert all(str(problem).startswith(str(path)) for problem in bad)


def test_each_line_is_a_row_or_a_problem(tmp_path):
    lines = ['{"a":1}', "{", '{"a":NaN}', '{"a":"\\ud800"}', "[1]", '{"a":1,"a":2}', '{"a":2}']
    path = write(tmp_path, "d.jsonl", "\n".join(lines))
    bad = []
    good = list(read_rows(path, bad=bad))
    assert [row.place.line for row in good] == [1, 7]
    assert [problem.place.line for problem in bad] == [2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    ("row", "what"),
    [
        ('{"id":1,"a":NaN}', "line 2: a: nan"),
        ('{"id":1,"a":[{"x":-Infinity}]}', "line 2: a: -inf"),
        ('{"id":1,"a":1e999}', "line 2: a: inf"),
        ('{"id":1,"a":"\\ud800x"}', "line 2: a: .*surrogate"),
        ('{"id":1,"a":1,"a":2}', "line 2: a: is given twice"),
        ('{"id":1,"a":{"x":1,"x":2}}', "line 2: a: is given twice"),
        ("[1]", "line 2: a row is an object"),
        ("[" * 100_000, "line 2: not JSON that can be read"),
        ('{"a":' + "9" * 5000 + "}", "line 2: not JSON that can be read"),
        ('{"id":1}{"id":2}', "line 2: not one JSON object on one line"),
        ("{'id':1}", "line 2: not one JSON object on one line"),
    ],
)
@pytest.mark.parametrize("array", [False, True])
def test_json_that_is_not_strict_names_its_line_and_field(tmp_path, row, what, array):
    text = f'[{{"id":0}},\n{row}]' if array else f'{{"id":0}}\n{row}\n'
    if array:
        what = what.split(": not one")[0].replace("line 2:", "line 2, row 2:")
    with pytest.raises(DataError, match=what):
        list(read_rows(write(tmp_path, "d.json", text)))


def test_a_key_given_twice_with_one_value_is_no_contradiction(tmp_path):
    assert fields(write(tmp_path, "d.jsonl", '{"a":1,"a":1}')) == [{"a": 1}]


def test_an_array_is_read_across_many_pieces_and_errors_know_their_line(tmp_path, monkeypatch):
    monkeypatch.setattr(rows, "PIECE", 7)
    records = [{"id": i, "text": "é\u2028" * i, "n": [1.5, {"x": None}]} for i in range(60)]
    text = "[\n" + ",\n".join(json.dumps(r, ensure_ascii=False) for r in records) + "\n]"
    assert fields(write(tmp_path, "d.json", text)) == records
    assert [row.place.line for row in read_rows(tmp_path / "d.json")][-1] == 61
    broken = text.replace('"id": 40', '"id" 40')
    with pytest.raises(DataError, match=r"line 42, row 41: the JSON array is broken"):
        list(read_rows(write(tmp_path, "d.json", broken)))
    with pytest.raises(DataError, match=r"line 61, row 60: the JSON array"):
        list(read_rows(write(tmp_path, "d.json", text[:-20])))
    with pytest.raises(DataError, match="something follows"):
        list(read_rows(write(tmp_path, "d.json", text + "\n{}")))


def test_an_empty_array_is_0_rows(tmp_path):
    with pytest.raises(DataError, match=r"d\.json: 0 rows"):
        list(read_rows(write(tmp_path, "d.json", " [ ] ")))


@pytest.mark.parametrize("name", ["d.csv", "d.jsonl", "d.json", "d", "d.jsonl.gz"])
@pytest.mark.parametrize("data", [b"", b"\n\n", b"\xef\xbb\xbf"])
def test_a_file_without_rows_is_an_error_that_names_it(tmp_path, name, data):
    with pytest.raises(DataError, match=f"{name}: 0 rows"):
        list(read_rows(write(tmp_path, name, data)))


@pytest.mark.parametrize("codec", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("kind", ["csv", "jsonl", "json"])
def test_encodings_with_a_mark_are_read(tmp_path, codec, kind):
    data = encoded(kind, ["id", "text"], [["1", "é你✅"]]).decode().encode(codec)
    assert fields(write(tmp_path, f"d.{kind}", data)) == [{"id": "1", "text": "é你✅"}]


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be", "utf-32"])
def test_wide_encodings_without_their_mark_are_refused_by_name(tmp_path, codec):
    with pytest.raises(DataError, match="UTF-16"):
        list(read_rows(write(tmp_path, "d.jsonl", '{"id":"1"}'.encode(codec))))


@pytest.mark.parametrize("name", ["d.csv", "d.jsonl"])
def test_bytes_that_are_not_utf8_are_refused_with_line_and_byte(tmp_path, name):
    start = b"id,text\n" if name == "d.csv" else b'{"id":"0"}\n'
    row = b'1,"ok\ncaf\xe9"\n' if name == "d.csv" else b'\n{"id": "\xe9"}\n'
    with pytest.raises(DataError, match=r"line 3: byte \d+ of the line \(0xe9\) is not UTF-8"):
        list(read_rows(write(tmp_path, name, start + row)))


def test_bad_bytes_in_a_quoted_record_cost_that_record_only(tmp_path):
    bad = []
    path = write(tmp_path, "d.csv", b'id,text\n1,"a\xff\nb\n2,x"\n3,c\n')
    assert [dict(row.fields) for row in read_rows(path, bad=bad)] == [{"id": "3", "text": "c"}]
    assert [problem.place.line for problem in bad] == [2]


def test_bytes_that_are_not_utf8_in_an_array_are_refused(tmp_path):
    with pytest.raises(DataError, match=r"line 2: byte 17 of the text \(0xe9\)"):
        list(read_rows(write(tmp_path, "d.json", b'[{"a":"1"},\n{"":\xe9}]')))


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("id,a\n1\n", "line 2: 1 cells where the header has 2"),
        ("id,a\n1,2,3\n", "line 2: 3 cells where the header has 2"),
        ('id,a\n1,"x\ny"\n2\n', "line 4: 1 cells"),
        ('id,a\n1,"never closed\n2,b\n', "line 2: the quotes of this row are broken"),
        ('id,a\n1,"x"y\n', "line 2: the quotes of this row are broken"),
        ("id,a\r1,2\r", "line 1: a carriage return outside of quotes"),
        ("id,a,id\n1,2,3\n", "line 1: two columns are called 'id'"),
    ],
)
def test_tables_with_a_broken_shape_name_the_physical_line(tmp_path, text, what):
    with pytest.raises(DataError, match=what):
        list(read_rows(write(tmp_path, "d.csv", text)))


def test_a_long_cell_is_read_whole(tmp_path):
    assert fields(write(tmp_path, "d.csv", "a\n" + "x" * 500_000)) == [{"a": "x" * 500_000}]


def test_the_content_decides_where_the_suffix_is_silent(tmp_path):
    for kind in ("jsonl", "json", "csv", "tsv", "parquet"):
        for pack in PACKED.values():
            data = pack(encoded(kind, ["id", "a b"], [["1", "x"]]))
            assert fields(write(tmp_path, "d", data)) == [{"id": "1", "a b": "x"}]


def test_standard_input_is_read(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(b'{"id":1}\n'))))
    (row,) = read_rows("-")
    assert (dict(row.fields), str(row.place)) == ({"id": 1}, "-: line 1")


def test_several_gzip_members_and_zstd_frames_are_one_file(tmp_path):
    for pack in (gzip.compress, zstd):
        data = pack(b'{"id":1}\n') + pack(b'{"id":2}\n')
        assert fields(write(tmp_path, "d.jsonl", data)) == [{"id": 1}, {"id": 2}]
    padded = gzip.compress(b'{"id":1}\n') + b"\0" * 100
    assert fields(write(tmp_path, "d.jsonl", padded)) == [{"id": 1}]


@pytest.mark.parametrize("pack", [gzip.compress, zstd])
def test_packing_that_ends_early_or_is_damaged_is_an_error(tmp_path, pack):
    data = pack(b"".join(b'{"id":%d}\n' % i for i in range(5000)))
    damaged = data[:-9] + bytes([data[-9] ^ 255]) + data[-8:]
    for broken in (data[: len(data) // 2], data[:-1], damaged, data + b"junk"):
        with pytest.raises(DataError, match="packed data is damaged"):
            list(read_rows(write(tmp_path, "d.jsonl", broken), bad=[]))


@pytest.mark.parametrize("pack", [gzip.compress, zstd])
@pytest.mark.parametrize("content", [b"0", b"{},", b"{}\n", b"\n"])
def test_what_inflates_without_end_is_stopped(tmp_path, monkeypatch, pack, content):
    monkeypatch.setattr(rows, "MAX_ROW", 2**20)
    path = write(
        tmp_path, "d", pack(b"[" * (content == b"{},") + content * (2**23 // len(content)))
    )
    with pytest.raises(DataError, match="size"):
        list(read_rows(path, bad=[]))


@pytest.mark.parametrize("kind", ["jsonl", "json", "csv"])
def test_one_row_has_a_limit_of_its_own(tmp_path, monkeypatch, kind):
    monkeypatch.setattr(rows, "MAX_ROW", 200_000)
    data = encoded(kind, ["id", "text"], [["1", "x\n" * 200_000]])
    with pytest.raises(DataError, match=r"line \d.*size of this row"):
        list(read_rows(write(tmp_path, f"d.{kind}", data)))


def test_what_cannot_be_opened_is_one_clear_line(tmp_path):
    write(tmp_path, "data.jsonl", "{}")
    for path, what in (
        (tmp_path / "dat.jsonl", r"No such file or directory \(did you mean data.jsonl\?\)"),
        (tmp_path, "Is a directory"),
        (tmp_path / "data.jsonl" / "x", "Not a directory"),
        ("a\0b", "null"),
    ):
        with pytest.raises(DataError, match=what) as error:
            list(read_rows(path))
        assert "\n" not in str(error.value)
        assert "\0" not in str(error.value)


def test_a_workbook_is_refused_by_name(tmp_path):
    with pytest.raises(DataError, match="workbook"):
        list(read_rows(write(tmp_path, "d.xlsx", b"PK\x03\x04....")))


@pytest.mark.parametrize("cut", [4, 20, -1])
def test_a_broken_parquet_file_is_an_error(tmp_path, cut):
    data = encoded("parquet", ["id"], [["1"]])
    for name in ("d.parquet", "d"):
        with pytest.raises(DataError, match="not Parquet"):
            list(read_rows(write(tmp_path, name, data[:cut])))
    with pytest.raises(DataError, match="not Parquet"):
        list(read_rows(write(tmp_path, "d.parquet", "id,a\n")))


def test_parquet_without_its_reader_says_what_to_install(tmp_path, monkeypatch):
    path = write(tmp_path, "d.parquet", encoded("parquet", ["id"], [["1"]]))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ConfigError, match=r'pip install "twopan\[parquet\]"'):
        list(read_rows(path))


def test_parquet_rows_are_counted_and_keep_their_types(tmp_path):
    import pyarrow as pa
    from pyarrow.parquet import write_table

    write_table(pa.table({"id": [2**53 + 1, 2], "text": ["x", None]}), tmp_path / "d.parquet")
    got = list(read_rows(tmp_path / "d.parquet"))
    assert [dict(row.fields) for row in got] == [
        {"id": 2**53 + 1, "text": "x"},
        {"id": 2, "text": None},
    ]
    assert str(got[1].place).endswith("d.parquet: row 2")


def test_reading_needs_none_of_the_heavy_libraries():
    code = "import sys, twopan.datasets; print({'pyarrow', 'numpy', 'aiohttp'} & set(sys.modules))"
    run = [sys.executable, "-c", code]
    src = str(Path(rows.__file__).parent.parent)
    out = subprocess.run(run, capture_output=True, text=True, check=True, env={"PYTHONPATH": src})
    assert out.stdout.strip() == "set()"


def test_a_place_is_written_as_people_look_it_up():
    assert str(Place("d.csv", 3)) == "d.csv: line 3"
    assert str(Place("d.json", 3, 2)) == "d.json: line 3, row 2"
    assert str(Place("d.parquet", row=2)) == "d.parquet: row 2"


def test_control_characters_in_names_never_reach_the_terminal(tmp_path):
    with pytest.raises(DataError) as error:
        list(read_rows(write(tmp_path, "a\x1b[31m.jsonl", '{"\x1b":1}\n{"\\u001b":NaN}')))
    assert "\x1b" not in str(error.value)
