"""What the shell offers when somebody presses Tab."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from remuda.cli.program import app, run
from remuda.cli.viewing import completing
from tests.unit.cli.viewing.canned import GOLDEN, NODE, Canned, P, served


@pytest.fixture(autouse=True)
def no_contexts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REMUDA_CONTEXTS", str(tmp_path / "contexts.yaml"))


def offered(
    words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> list[str]:
    """What bash gets for the last word of a line, which may be empty."""
    monkeypatch.setenv("_REMUDA_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split(" ")) - 1))
    with pytest.raises(SystemExit) as ended:
        app([], prog_name="remuda")
    assert ended.value.code == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out.split()


@pytest.mark.remuda_rule("EXT-81")
@pytest.mark.parametrize(
    "words, found",
    [
        ("remuda ge", ["get"]),
        ("remuda get n", ["nodes"]),
        ("remuda describe re", ["reservations"]),
        ("remuda get nodes --server {} n", ["n1"]),
        ("remuda get --server {} nodes x", []),
        ("remuda describe --server {} q root.", ["root.etl"]),
        ("remuda get --server {} apps --queue ", ["root", "root.etl"]),
        ("remuda get --server {} apps --user a", ["ann"]),
        ("remuda explain --server {} j", ["job-1"]),
        ("remuda explain --server {} job-1 ", ["t-2"]),
        ("remuda explain --server {} job-2 ", []),
        ("remuda dry-run --server {} --queue root.", ["root.etl"]),
        ("remuda dry-run --server {} --application j", ["job-1"]),
        ("remuda tree --server {} root.", ["root.etl"]),
        ("remuda get nodes --sort-by r", ["rack", "runs", "reserved-for"]),
        ("remuda get nodes --server {} --partition ", ["default"]),
        ("remuda get pods --server {} x", []),
        ("remuda get nodes --server {} --token-file - n", []),
    ],
)
def test_it_offers_kinds_columns_and_names(
    words: str,
    found: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with served(Canned()) as address:
        assert sorted(offered(words.format(address), monkeypatch, capsys)) == sorted(found)


@pytest.mark.remuda_rule("EXT-81")
def test_names_that_a_shell_would_run_are_not_offered(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ["n1", "n2$(reboot)", "n3;ls", "n4 x", "n5\x1b[2J", "n`6`", "n7*", "n\u0435", "n-8/a:b"]
    rows = [{**NODE, "nodeID": name} for name in names]
    with served(Canned({**GOLDEN, f"{P}/nodes": rows})) as address:
        line = f"remuda get nodes --server {address} n"
        assert offered(line, monkeypatch, capsys) == ["n1", "n-8/a:b"]


def late() -> list[str]:
    """An answer that nobody waits for."""
    threading.Event().wait(5)
    return ["late"]


@pytest.mark.remuda_rule("EXT-81")
def test_a_server_that_does_not_answer_has_no_names(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert offered("remuda get nodes --server 127.0.0.1:1 n", monkeypatch, capsys) == []
    began = time.monotonic()
    assert completing.within(0.1, late) == []
    assert time.monotonic() - began < 4


def test_contexts_are_offered(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["context", "set", "lab", "--server", "h:1"]) == 0
    assert offered("remuda context use l", monkeypatch, capsys) == ["lab"]
    assert offered("remuda get nodes --context l", monkeypatch, capsys) == ["lab"]
