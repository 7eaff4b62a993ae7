"""``twopan models``: what is asked for is shown, printed and deleted."""

import json

import pytest
from click.testing import CliRunner

from twopan import weights
from twopan.cli.models import models
from twopan.errors import ConfigError


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("TWOPAN_MODELS", str(tmp_path))
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(models, arguments)


def test_list_names_every_model_its_size_its_licence_and_whether_it_is_here(folder):
    (folder / "smollm2-135m.gguf").write_bytes(b"GGUF")
    rows = {row["name"]: row for row in map(json.loads, run("list", "--json").stdout.splitlines())}
    assert rows.keys() == weights.catalogue().keys()
    assert rows["smollm2-135m"]["path"] == str(folder / "smollm2-135m.gguf")
    assert rows["qwen2.5-coder-1.5b"]["path"] is None
    assert [name for name, row in rows.items() if row["default"]] == ["qwen2.5-coder-1.5b"]
    table = run("list").stdout
    assert "qwen2.5-coder-0.5b" in table
    assert "Apache-2.0" in table


def test_pull_shows_size_and_licence_first_and_prints_nothing_but_the_file(folder, monkeypatch):
    monkeypatch.setattr(weights, "pull", lambda name, **_: folder / f"{name}.gguf")
    result = run("pull", "smollm2-135m")
    assert result.stdout == f"{folder / 'smollm2-135m.gguf'}\n"
    assert "0.10 GB, Apache-2.0" in result.stderr


def test_path_of_a_model_that_is_not_here_says_how_to_get_it(folder):
    result = run("path", "smollm2-135m")
    assert isinstance(result.exception, ConfigError)
    assert "twopan models pull smollm2-135m" in str(result.exception)


def test_a_misspelt_name_is_answered_with_the_nearest(folder):
    for command in ("pull", "path", "verify", "remove"):
        result = run(command, "smolm2-135m")
        assert isinstance(result.exception, ConfigError), command
        assert "did you mean smollm2-135m?" in str(result.exception)


def test_verify_finds_a_file_that_is_not_the_official_one(folder):
    (folder / "smollm2-135m.gguf").write_bytes(b"GGUF and something else")
    result = run("verify")
    assert isinstance(result.exception, ConfigError)
    assert "the official one is b179c9523d0e" in str(result.exception)


def test_remove_leaves_nothing_behind(folder):
    for suffix in (".gguf", ".gguf.partial", ".gguf.parts", ".LICENSE.txt"):
        (folder / f"smollm2-135m{suffix}").write_bytes(b"x")
    assert run("remove", "smollm2-135m").exit_code == 0
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("command", ["list", "pull", "path", "verify", "remove"])
def test_every_command_shows_an_example_of_itself(command):
    assert f"twopan models {command}" in run(command, "--help").stdout.partition("Example")[2]
