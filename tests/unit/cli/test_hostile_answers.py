"""Answers whose members have other types than ours: each command says so in one line."""

from __future__ import annotations

import functools
import json
import os
import threading
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

import pytest
from typer.main import get_command

from remuda.cli import local_door, program
from remuda.cli.program import run
from tests.unit.cli.test_insight_commands import APPLICATION as REPORT
from tests.unit.cli.test_insight_commands import DRY_RUN, EXPLAIN, IMPACT, WAYS, WHY
from tests.unit.cli.viewing.canned import EVENT, GOLDEN, P
from tests.unit.cli.viewing.test_describe import MORE

COMMAND: Final = {
    "id": "sh-1",
    "application": "sh-1",
    "stage": "over",
    "code": 0,
    "reason": "",
    "tasks": [{"index": 0}],
}
OUTPUT: Final = {
    "records": [{"task": 0, "stream": "out", "data": "aGkK"}],
    "next": [3],
    "lost": [1],
    "over": True,
    "command": COMMAND,
}
RICH_NODE: Final = {
    "allocations": [
        {"allocationID": "t-1-0", "allocationKey": "t-1", "applicationId": "job-1", "priority": "0"}
    ],
    "occupied": {"vcore": 1},
    "ready": True,
}
RICH_APPLICATION: Final = {
    "placeholderData": [
        {
            "taskGroupName": "g",
            "count": 2,
            "replaced": 1,
            "timedout": 0,
            "minResource": {"vcore": 1},
        }
    ],
    "preemptions": [7],
    "evictions": [8],
    "maxRequestPriority": 3,
    "finishedTime": 1767225602000000000,
}
LOCAL: Final = "/ws/v1/local"

ANSWERS: Final[dict[str, Any]] = {
    **GOLDEN,
    **MORE,
    f"{P}/node/n1": {**GOLDEN[f"{P}/node/n1"], **RICH_NODE},
    f"{P}/application/job-1": {**GOLDEN[f"{P}/application/job-1"], **RICH_APPLICATION},
    "/ws/v1/events/batch": {"InstanceUUID": "u", "EventRecords": [EVENT]},
    f"{REPORT}/pending": {"requests": [{"allocationKey": "page"}]},
    EXPLAIN: WHY,
    WAYS: {"text": ["nothing would place it"], "ways": []},
    DRY_RUN: {"text": ["it would run"], "outcome": "placed"},
    IMPACT: {"text": ["nothing would differ"], "impact": {"queues": []}},
    f"{LOCAL}/commands": COMMAND,
    f"{LOCAL}/command/sh-1": COMMAND,
    f"{LOCAL}/command/sh-1/cancel": COMMAND,
    f"{LOCAL}/command/sh-1/output": OUTPUT,
}

# A number and a depth that JSON can write, and no reader of ours takes.
HUGE: Final = "@huge"
DEEP: Final = "@deep"
_TEXTS: Final = {
    f'"{HUGE}"'.encode(): b"9" * 5_000,
    f'"{DEEP}"'.encode(): b'{"children":[' * 600 + b"]}" * 600,
}
# What Python says if garbage is collected just where DEEP has used up the stack: the hook by which
# pytest hears of finalizers that fail has no room there either.
NO_STACK_LEFT: Final = "Exception ignored in sys.unraisablehook"
# For each member, and what only the first members get.
WRONG: Final[tuple[object, ...]] = ([1], {"a": []}, "x\x1b", None, 10**40)
MORE_WRONG: Final[tuple[object, ...]] = ("", [[]], -1, 1.5, True, HUGE, DEEP)

_KINDS: Final = (
    ("queue", "root.etl"),
    ("application", "job-1"),
    ("ask", "job-1/t-2"),
    ("allocation", "job-1/t-1-0"),
    ("node", "n1"),
    ("user", "ann"),
    ("group", "bi"),
    ("reservation", "n1/job-1/t-2"),
    ("preemption", "7"),
    ("partition", "default"),
    ("event", "job-1"),
)
COMMANDS: Final = (
    *(("get", kind, "-o", "wide") for kind, _ in _KINDS),
    *(("get", kind, "-o", "csv") for kind in ("applications", "nodes", "events")),
    ("get", "nodes", "-o", "json"),
    ("get", "nodes", "-o", "yaml"),
    *(("describe", kind, name) for kind, name in _KINDS),
    ("get", "queues", "--sort-by", "used.vcore", "--queue", "root", "--state", "active"),
    ("get", "nodes", "--sort-by=-name", "-l", "a=b", "-o", "name"),
    ("get", "apps", "--user", "ann", "--sort-by", "age", "--limit", "1"),
    *(("top", kind, "--once") for kind in ("queues", "nodes", "applications", "users")),
    ("tree",),
    ("tree", "root.etl"),
    ("events", "--until", "2027-01-01T00:00"),
    ("events", "--limit", "3"),
    ("history", "-o", "wide"),
    ("fairshare", "-o", "wide"),
    ("fairshare", "--sort-by=-owed.vcore"),
    ("explain", "report", "--ways-out"),
    ("explain", "report", "page", "--ways-out", "--output", "json"),
    ("dry-run", "--cpus", "1"),
    ("dry-run", "--cpus", "1", "--output", "json"),
    ("config", "impact", "QUEUES"),
    ("config", "impact", "QUEUES", "--output", "json"),
    ("run", "true"),
    ("submit", "true"),
    ("logs", "sh-1"),
    ("wait", "sh-1"),
    ("cancel", "sh-1"),
)


class Hostile:
    """A server whose answer to ``path`` is ``content`` once; ``asked``: the paths that came."""

    def __init__(self) -> None:
        self.address = ""
        self.path, self.content = "", b""
        self.asked: list[str] = []

    def answer(self, path: str) -> tuple[int, bytes]:
        self.asked.append(path)
        if path == self.path:
            self.path = ""
            return 200, self.content
        if path == "/ws/v1/events/batch" and self.asked.count(path) > 1:
            return 200, b"{}"
        if path not in ANSWERS:
            return 404, b'{"status_code": 404, "message": "not found"}'
        return 200, json.dumps(ANSWERS[path]).encode()


@pytest.fixture(scope="module")
def hostile() -> Iterator[Hostile]:
    found = Hostile()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            status, content = found.answer(unquote(urlsplit(self.path).path))
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            with suppress(OSError):
                self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Keep quiet."""

    Handler.do_POST = Handler.do_GET  # type: ignore[attr-defined]
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    found.address = f"127.0.0.1:{server.server_port}"
    yield found
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="module", autouse=True)
def built_once() -> Iterator[None]:
    """Build the command line once for the thousands of calls, as nothing of it changes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(program, "loaded", functools.cache(program.loaded))
        patch.setattr(program, "app", get_command(program.app))
        yield


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    for name in [name for name in os.environ if name.startswith("REMUDA_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("REMUDA_CONTEXTS", str(tmp_path / "contexts"))
    monkeypatch.setenv("REMUDA_LOCAL_DIR", str(tmp_path / "local"))
    monkeypatch.setattr(local_door, "_AWAY_SECONDS", 0.0)
    queues = tmp_path / "QUEUES"
    queues.write_text("partitions:\n  - name: default\n    queues: [{name: root}]\n")
    return queues


def mutated(value: Any, level: int = 0) -> Iterator[Any]:
    """Yield an answer with each of its members, and itself, replaced by each wrong value."""
    yield from (*WRONG, *MORE_WRONG) if level < 2 else WRONG
    if isinstance(value, dict):
        for name, member in value.items():
            rest = {key: each for key, each in value.items() if key != name}
            yield rest
            yield from ({**value, name: wrong} for wrong in mutated(member, level + 1))
    elif isinstance(value, list) and value:
        # The others are as the first one.
        yield []
        yield from ([wrong, *value[1:]] for wrong in mutated(value[0], level))


def encoded(value: Any) -> bytes:
    found = json.dumps(value).encode()
    for text, raw in _TEXTS.items():
        found = found.replace(text, raw)
    return found


@pytest.mark.remuda_rule("EXT-114")
@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_a_member_of_another_type_is_one_line(
    hostile: Hostile, here: Path, arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    if arguments[0] in ("run", "submit"):
        command = [arguments[0], "--server", hostile.address, "--", *arguments[1:]]
    else:
        command = [str(here) if each == "QUEUES" else each for each in arguments]
        command += ["--server", hostile.address]
    hostile.asked, hostile.path = [], ""
    assert run(command) == 0, capsys.readouterr().err
    capsys.readouterr()
    strange = 0
    for path in dict.fromkeys(hostile.asked):
        for wrong in mutated(ANSWERS.get(path, {})):
            hostile.asked, hostile.path, hostile.content = [], path, encoded(wrong)
            code = run(command)
            said = capsys.readouterr()
            told = said.err.replace(NO_STACK_LEFT, "")
            what = f"{path}: {hostile.content[:300]!r}: {told}"
            assert code in (0, 1, 2, 3, 125), what
            lines = told.splitlines()
            assert code == 0 or lines[-1].startswith("remuda: "), what
            assert code == 0 or "Traceback" not in told, what
            strange += "is it a remuda of this version?" in told
            assert all(letter.isprintable() or letter == "\n" for letter in said.out), what
    assert strange > 10
