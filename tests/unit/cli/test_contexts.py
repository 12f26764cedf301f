"""``remuda context``, and which server, token and authorities a command uses because of it."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from remuda.base.errors import UsageError
from remuda.cli import known_servers
from remuda.cli.program import run
from remuda.cli.server import server_at
from tests.unit.cli.test_server import answering

pytestmark = pytest.mark.remuda_rule("EXT-75")


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the contexts are; not there yet."""
    path = tmp_path / "settings" / "contexts.yaml"
    monkeypatch.setenv("REMUDA_CONTEXTS", str(path))
    return path


def secret(folder: Path, mode: int = 0o600) -> Path:
    """A file with a token."""
    path = folder / "token"
    path.write_text("secret\n")
    path.chmod(mode)
    return path


def test_the_first_context_becomes_current_and_use_changes_that(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["context", "set", "lab", "--server", "lab:9080"]) == 0
    assert run(["context", "set", "live", "--server", "https://live:9080"]) == 0
    assert server_at(None, None, None).address == "http://lab:9080"
    assert run(["context", "use", "live"]) == 0
    assert server_at(None, None, None).address == "https://live:9080"
    assert server_at(None, None, None, "lab").address == "http://lab:9080"
    assert server_at("other:1", None, None).address == "http://other:1"
    capsys.readouterr()
    assert run(["context", "list"]) == 0
    assert capsys.readouterr().out == "  lab   lab:9080\n* live  https://live:9080\n"
    assert run(["context", "list", "-o", "json"]) == 0
    assert json.loads(capsys.readouterr().out)[1] == {
        "current": True,
        "name": "live",
        "server": "https://live:9080",
        "tokenFile": "",
    }
    assert run(["context", "delete", "live"]) == 0
    assert server_at(None, None, None).address == "http://127.0.0.1:9080"


def test_only_its_owner_may_read_the_file_of_contexts(file: Path) -> None:
    assert run(["context", "set", "lab", "--server", "lab:9080"]) == 0
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert [path.name for path in file.parent.iterdir()] == ["contexts.yaml"]


def test_the_token_of_a_context_goes_to_its_server_only(file: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_text("another\n")
    with answering(200, b"{}") as (address, asked):
        options = ["--server", address, "--token-file", str(secret(tmp_path))]
        assert run(["context", "set", "lab", *options]) == 0
        server_at(None, other, None).get("/")
        server_at(address, None, None).get("/")
        server_at(address, other, None).get("/")
    sent = [headers.get("Authorization") for _, _, headers, _ in asked]
    assert sent == ["Bearer secret", None, "Bearer another"]


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o622])
def test_a_token_that_others_may_use_is_refused(
    file: Path, tmp_path: Path, mode: int, capsys: pytest.CaptureFixture[str]
) -> None:
    path = secret(tmp_path, mode)
    options = ["--server", "lab:9080", "--token-file", str(path)]
    assert run(["context", "set", "lab", *options]) == 2
    assert f"run 'chmod 600 {path}'" in capsys.readouterr().err
    assert not file.exists()
    path.chmod(0o600)
    assert run(["context", "set", "lab", *options]) == 0
    path.chmod(mode)
    with pytest.raises(UsageError, match="others than its owner"):
        server_at(None, None, None)


@pytest.mark.parametrize(
    "arguments, said",
    [
        (("use", "live"), "no context 'live'"),
        (("delete", "live"), "it has: none"),
        (("set", "lab"), "--server is missing"),
        (("set", "a b", "--server", "h:1"), "'a b' is no name of a context"),
        (("set", "lab", "--server", "ftp://h"), "--server: 'ftp://h' is not HOST:PORT"),
        (("set", "lab", "--server", "h:1", "--token-file", "/none"), "token-file /none: No such"),
        (("set", "lab", "--server", "h:1", "--server-ca", "/none"), "--server-ca is for TLS"),
    ],
)
def test_wrong_input_is_one_line(
    file: Path, arguments: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["context", *arguments]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert said in err
    assert not file.exists()


@pytest.mark.parametrize(
    "content, said",
    [
        ("[1, 2]", "its keys are 'current' and 'contexts'"),
        ("token: secret", "its keys are"),
        ("a: [", "is no YAML"),
        ("contexts: {lab: {}}", "contexts.lab has 'server'"),
        ("contexts: {lab: {server: h:1, token: x}}", "contexts.lab has 'server'"),
        ('contexts: {lab: {server: "h\\n:1"}}', "one line of text"),
        ("contexts: {7: {server: h}}", "7 is no name of a context"),
        ("current: [a]", "'current' is a name"),
        ("current: gone", "no context 'gone'"),
        ("#" * (1024 * 1024 + 1), "more than 1 MiB"),
    ],
)
def test_a_file_of_another_form_is_refused(file: Path, content: str, said: str) -> None:
    file.parent.mkdir()
    file.write_text(content)
    with pytest.raises(UsageError) as found:
        server_at(None, None, None)
    assert said in str(found.value)
    assert "secret" not in str(found.value)
    assert "\n" not in str(found.value)


def test_an_empty_file_has_no_contexts(file: Path) -> None:
    file.parent.mkdir()
    file.write_text("")
    assert known_servers.read_known().servers == {}


def test_an_address_and_a_context_exclude_each_other(file: Path) -> None:
    with pytest.raises(UsageError, match="exclude each other"):
        server_at("h:1", None, None, "lab")
