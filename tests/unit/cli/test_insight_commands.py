"""What explain, dry-run and config impact ask a server, and what they print."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

import pytest

from remuda.cli.program import run

APPLICATION: Final = "/ws/v1/partition/default/application/report"
EXPLAIN: Final = f"{APPLICATION}/ask/page/explain"
WAYS: Final = f"{APPLICATION}/ask/page/ways-out"
DRY_RUN: Final = "/ws/v1/partition/default/dry-run"
IMPACT: Final = "/ws/v1/config/impact"

WHY: Final = {
    "stateVersion": 7,
    "timestamp": 1,
    "text": ["report/page waits: 1 pending, each vcore 2", "  nodes: of 1 node 1 draining"],
    "waits": True,
    "gates": [
        {
            "gate": "queue quota",
            "subject": "root.day",
            "passed": True,
            "requested": {"vcore": 2_000, "memory": 2**30},
            "used": {"vcore": 1_000},
            "maximum": {"vcore": 4_000},
        },
        {
            "gate": "max applications",
            "subject": "root",
            "passed": True,
            "applications": 3,
            "maxApplications": 5,
        },
        {"gate": "nodes", "passed": False},
    ],
    "levels": [
        {
            "path": "root",
            "kind": "queues",
            "name": "day",
            "order": ["priority", "share"],
            "place": 2,
            "count": 3,
            "priority": 0,
            "share": 0.5,
            "asksAhead": 4,
            "ahead": [{"name": "night", "priority": 1, "share": 0.25, "asks": 4}],
            "hidden": 2,
        },
    ],
    "nodesNow": {"total": 2, "draining": 1, "noRoom": 1},
    "nearest": [{"nodeId": "n1", "verdict": "no room", "lacking": {"vcore": 500}}],
}
TOLD: Final = """\
report/page waits: 1 pending, each vcore 2
  nodes: of 1 node 1 draining

gates, in the order in which they are checked
  passed queue quota (root.day): vcore 2 wanted; vcore 1 of vcore 4 used
  passed max applications (root): 3 of 5 applications
  STOPS  nodes

place in the order of service
  day is 2 of 3 among the queues of root, by priority, then share: 4 asks wait before it
    before it: night (priority 1, share 0.25, 4 waiting)
    before it: 2 more that you may not see

0 of 2 nodes would take it now: 1 draining, 1 without enough room
  n1: no room, lacks vcore 500m
"""


class Scheduler:
    """A server with an answer for each path, as (status, content); ``asked``: what came."""

    def __init__(self, answers: Mapping[str, tuple[int, object]]) -> None:
        self.answers = answers
        self.asked: list[tuple[str, str, bytes]] = []
        self.address = ""

    def answer(self, method: str, target: str, body: bytes) -> tuple[int, bytes]:
        """Note a request, and return its answer."""
        self.asked.append((method, target, body))
        missing = {"status_code": 404, "message": "Ask not found", "description": ""}
        status, content = self.answers.get(target.partition("?")[0], (404, missing))
        return status, json.dumps(content).encode()


@contextmanager
def serving(answers: Mapping[str, tuple[int, object]]) -> Iterator[Scheduler]:
    scheduler = Scheduler(answers)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            status, content = scheduler.answer(self.command, self.path, body)
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Keep quiet."""

    Handler.do_POST = Handler.do_GET  # type: ignore[attr-defined]
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    scheduler.address = f"127.0.0.1:{server.server_port}"
    try:
        yield scheduler
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No server or context of whoever runs the tests."""
    for name in ("SERVER", "TOKEN_FILE", "SERVER_CA", "CONTEXT"):
        monkeypatch.delenv(f"REMUDA_{name}", raising=False)
    monkeypatch.setenv("REMUDA_CONTEXTS", str(tmp_path / "contexts"))


def refusal(status: int, text: str) -> tuple[int, object]:
    return status, {"status_code": status, "message": text, "description": text}


# ----------------------------------------------------------------------------- explain


@pytest.mark.remuda_rule("EXT-71")
def test_an_explanation_has_a_section_for_each_part(capsys: pytest.CaptureFixture[str]) -> None:
    with serving({EXPLAIN: (200, WHY)}) as scheduler:
        assert run(["explain", "report", "page", "--server", scheduler.address]) == 0
    assert capsys.readouterr().out == TOLD
    assert scheduler.asked == [("GET", EXPLAIN, b"")]


@pytest.mark.remuda_rule("EXT-71")
def test_without_an_ask_all_that_wait_are_explained(capsys: pytest.CaptureFixture[str]) -> None:
    placed = {"stateVersion": 7, "text": ["report/late does not wait"], "waits": False}
    pending = {"requests": [{"allocationKey": key} for key in ("page", "gone", "late")]}
    late = EXPLAIN.replace("page", "late")
    answers = {f"{APPLICATION}/pending": (200, pending), EXPLAIN: (200, WHY), late: (200, placed)}
    with serving(answers) as scheduler:
        assert run(["explain", "report", "--rm", "x", "--server", scheduler.address]) == 0
    assert capsys.readouterr().out == f"{TOLD}\nreport/late does not wait\n"
    assert {each[1].partition("?")[2] for each in scheduler.asked} == {"rm=x"}
    with serving({f"{APPLICATION}/pending": (200, {"requests": []})}) as scheduler:
        assert run(["explain", "report", "--server", scheduler.address]) == 0
    assert capsys.readouterr().out == "report does not wait: nothing of it is pending\n"


@pytest.mark.remuda_rule("EXT-71")
def test_the_first_ten_asks_are_explained(capsys: pytest.CaptureFixture[str]) -> None:
    pending = {"requests": [{"allocationKey": f"k{number}"} for number in range(12)]}
    why = {"text": ["it waits"], "waits": False}
    answers: dict[str, tuple[int, object]] = {f"{APPLICATION}/pending": (200, pending)}
    for number in range(12):
        answers[f"{APPLICATION}/ask/k{number}/explain"] = (200, why)
    with serving(answers) as scheduler:
        assert run(["explain", "report", "--server", scheduler.address]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines.count("it waits") == 10
    assert lines[-1] == "2 more asks wait; name one to see why"


@pytest.mark.remuda_rule("EXT-71")
def test_ways_out_come_last_and_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    ways = {"text": ["1 change would place report/page", "  use node n2 again"], "ways": []}
    with serving({EXPLAIN: (200, WHY), WAYS: (200, ways)}) as scheduler:
        ask = ["explain", "report", "page", "--ways-out", "--within", "1.5"]
        ask += ["--server", scheduler.address]
        assert run(ask) == 0
        text = capsys.readouterr().out
        assert run([*ask, "--output", "json"]) == 0
    assert text == f"{TOLD}\n1 change would place report/page\n  use node n2 again\n"
    assert scheduler.asked[1][1] == f"{WAYS}?within=1.500000000"
    found = json.loads(capsys.readouterr().out)
    assert found == {"asks": [{"explain": WHY, "waysOut": ways}], "more": 0}


@pytest.mark.remuda_rule("EXT-76")
def test_what_cannot_be_printed_is_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    why = {"text": ["a\x1b[2J\u202eb\nc"], "waits": False}
    with serving({EXPLAIN: (200, why)}) as scheduler:
        ask = ["explain", "report", "page", "--server", scheduler.address]
        assert run(ask) == 0
        assert capsys.readouterr().out == "a\\x1b[2J\\u202eb\\nc\n"
        assert run([*ask, "--output", "json"]) == 0
    assert "\\u001b[2J\\u202eb\\nc" in capsys.readouterr().out


# ----------------------------------------------------------------------------- dry run


def outcome(name: str) -> tuple[int, object]:
    return 200, {"text": [f"new in root.a: {name}", "  more"], "outcome": name}


@pytest.mark.remuda_rule("EXT-72")
@pytest.mark.parametrize("name, code", [("placed", 0), ("waits", 3), ("refused", 4)])
def test_each_outcome_has_its_exit_code(
    name: str, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving({DRY_RUN: outcome(name)}) as scheduler:
        ask = ["dry-run", "--queue", "root.a", "--cpus", "2", "--server", scheduler.address]
        assert run(ask) == code
        assert capsys.readouterr().out == f"new in root.a: {name}\n  more\n"
        assert run([*ask, "--output", "json"]) == code
    assert json.loads(capsys.readouterr().out)["outcome"] == name


def sent(arguments: list[str]) -> dict[str, Any]:
    """Return the submission that a command line becomes."""
    with serving({DRY_RUN: outcome("placed")}) as scheduler:
        assert run(["dry-run", *arguments, "--server", scheduler.address]) == 0
    ((method, _, body),) = scheduler.asked
    assert method == "POST"
    found: dict[str, Any] = json.loads(body)
    return found


@pytest.mark.remuda_rule("EXT-72")
def test_options_describe_an_ask_or_a_gang() -> None:
    who = "--application a --queue root.q --user ada --group x --group y"
    size = "--cpus 500m --memory 8Gi --resource gpu=1 --count 3"
    found = sent(f"{who} {size} --priority 7 --preempt --within 60".split())
    assert found == {
        "applicationId": "a",
        "queue": "root.q",
        "user": "ada",
        "groups": ["x", "y"],
        "allowPreemptOther": True,
        "within": 60.0,
        "asks": [
            {
                "allocationKey": "ask",
                "resource": {"vcore": "500m", "memory": "8Gi", "gpu": "1"},
                "maxAllocations": 3,
                "priority": 7,
            }
        ],
    }
    gang = sent(["--cpus", "1", "--gang", "4"])
    assert "asks" not in gang
    (group,) = gang["taskGroups"]
    assert (group["minMember"], group["minResource"]) == (4, {"vcore": "1"})


@pytest.mark.remuda_rule("EXT-72")
def test_a_file_is_sent_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    file.write_text("applicationId: a\nasks:\n- {allocationKey: k, resource: {vcore: 2}}\n")
    ask = {"allocationKey": "k", "resource": {"vcore": 2}}
    assert sent([str(file)]) == {"applicationId": "a", "asks": [ask]}
    assert sent([str(file), "--within", "2"])["within"] == 2.0


@pytest.mark.remuda_rule("EXT-72")
@pytest.mark.parametrize(
    "arguments, said",
    [
        ([], "say how large it is with --cpus and --memory, or name a FILE"),
        (["FILE", "--cpus", "1"], "FILE and options that describe a submission exclude"),
        (["--cpus", "1", "--gang", "2", "--count", "2"], "--gang and --count exclude"),
        (["--resource", "gpu"], "write TYPE=AMOUNT"),
        (["--cpus", "1", "--resource", "vcore=1"], "'vcore' is given twice"),
        (["--cpus", "1", "--within", "-1"], "--within is -1; it has to be from 0 to 86400"),
        (["/nowhere/at-all"], "cannot read /nowhere/at-all: No such file"),
        (["FILE:- 1"], "has to be a mapping"),
        (["FILE:a: [b"], "is neither YAML nor JSON"),
        (["FILE:a: &x [1]\nb: *x"], "has an alias"),
        (["FILE:" + " " * 70_000], "has more than 64 KiB"),
    ],
)
def test_a_wrong_command_line_is_one_line_and_code_two(
    arguments: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "job"
    for number, each in enumerate(arguments):
        if each.startswith("FILE"):
            file.write_text(each.partition(":")[2])
            arguments = [*arguments[:number], str(file), *arguments[number + 1 :]]
    with serving({DRY_RUN: outcome("placed")}) as scheduler:
        assert run(["dry-run", *arguments, "--server", scheduler.address]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
    assert scheduler.asked == []


# ------------------------------------------------------------------------------ impact


@pytest.mark.remuda_rule("EXT-73")
def test_the_impact_on_a_scheduler_that_runs_is_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "new.yaml"
    file.write_text("partitions: []\n")
    told = {"text": ["queues that go: 1", "  root.a"], "impact": {"queues_gone": [1]}}
    with serving({IMPACT: (200, told)}) as scheduler:
        ask = ["config", "impact", str(file), "--server", scheduler.address]
        assert run(ask) == 0
        assert capsys.readouterr().out == "queues that go: 1\n  root.a\n"
        assert run([*ask, "--rm", "x", "--within", "5", "--output", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"queues_gone": [1]}
    first, second = scheduler.asked
    assert first == ("POST", f"{IMPACT}?within=60.000000000", b"partitions: []\n")
    assert second[1] == f"{IMPACT}?within=5.000000000&rm=x"


# ------------------------------------------------------------------------------ errors

COMMANDS: Final = (["explain", "report", "page"], ["dry-run", "--cpus", "1"])


@pytest.mark.remuda_rule("EXT-71", "EXT-72")
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    "answer, code, said",
    [
        (refusal(400, "The submission is wrong: x"), (2, 2), "The submission is wrong: x"),
        (refusal(404, "Partition not found"), (3, 2), "Partition not found"),
        (refusal(403, "The scope"), (4, 1), "The scope"),
        (refusal(503, "2 copies of the scheduler"), (1, 1), "2 copies of the scheduler"),
        ((200, {"text": 7}), (1, 1), "is it a remuda of this version?"),
        ((200, {"text": [], "outcome": "odd"}), (1, 1), ""),
    ],
)
def test_what_the_server_refuses_is_one_line_with_its_code(
    command: list[str],
    answer: tuple[int, object],
    code: tuple[int, int],
    said: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with serving({EXPLAIN: answer, DRY_RUN: answer}) as scheduler:
        assert run([*command, "--server", scheduler.address]) == code[COMMANDS.index(command)]
    ended = capsys.readouterr()
    assert ended.out == ""
    assert said in ended.err
    assert ended.err.count("\n") == 1


@pytest.mark.remuda_rule("EXT-71", "EXT-72")
@pytest.mark.parametrize("command", COMMANDS)
def test_no_server_and_one_that_goes_away_are_code_one(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"127.0.0.1:{listener.getsockname()[1]}"

        def leave() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(1)
                head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99"
                connection.sendall(head + b"\r\n\r\n{")

        leaving = threading.Thread(target=leave)
        leaving.start()
        assert run([*command, "--server", address]) == 1
        leaving.join()
    assert capsys.readouterr().err.count("\n") == 1
    assert run([*command, "--server", address]) == 1
    assert f"nobody answers at http://{address}" in capsys.readouterr().err


@pytest.mark.remuda_rule("EXT-118")
def test_an_impact_is_a_page_with_escaped_names(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    new = tmp_path / "<b>new.yaml"
    new.write_text("partitions: []")
    text = ["queues that go: 1", "  root.<script>alert(1)</script>: 1 application", "others: x"]
    with serving({IMPACT: (200, {"text": text, "impact": {}})}) as scheduler:
        command = ["config", "impact", str(new), "--output", "html"]
        assert run([*command, "--server", scheduler.address]) == 0
        page = capsys.readouterr().out
        scheduler.answers = {IMPACT: (200, {"text": ["no differences"], "impact": {}})}
        assert run([*command, "--server", scheduler.address]) == 0
        nothing = capsys.readouterr().out
    assert page.startswith("<!doctype html>\n")
    assert page.endswith("</html>\n")
    assert "default-src 'none'" in page
    assert "<title>What &lt;b&gt;new.yaml would change</title>" in page
    assert (
        "<details open><summary>queues that go: 1</summary><ul>"
        "<li>root.&lt;script&gt;alert(1)&lt;/script&gt;: 1 application</li></ul></details>" in page
    )
    assert "<summary>also: 1</summary><ul><li>others: x</li></ul>" in page
    assert "<script" not in page
    assert "//" not in page
    assert "<div>no differences</div>" in nothing
