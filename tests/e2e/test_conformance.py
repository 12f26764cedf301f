"""``remuda conformance`` against a served process, and against what is none."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import threading
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import pytest

from tests.e2e.serving import FREE_PORTS, Served, environment, run_remuda
from tests.e2e.signals import heed_signals
from tests.waiting import wait


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with Served(*FREE_PORTS) as running:
        yield running


def test_our_scheduler_conforms(served: Served) -> None:
    ended = run_remuda(
        "conformance",
        *("--grpc", served.grpc, "--rest", f"http://{served.rest}", "--output", "json"),
    )
    report: dict[str, Any] = json.loads(ended.stdout)
    failed = {c["name"]: c["failure"] for c in report["checks"] if c["outcome"] == "failed"}
    assert failed == {}
    assert ended.returncode == 0
    assert ended.stderr == ""
    assert len(report["checks"]) == report["passed"] + report["failed"] + report["not_applicable"]
    assert report["passed"] >= 210
    assert report["seconds"] < 60


def test_nothing_is_left_behind(served: Served) -> None:
    ended = run_remuda("conformance", "--grpc", served.grpc, "--only", "nodes", "--output", "junit")
    assert ended.returncode == 0, ended.stdout
    suite = ET.fromstring(ended.stdout)
    cases = suite.findall("testcase")
    assert suite.get("failures") == "0"
    assert (suite.get("tests"), {case.get("classname") for case in cases}) == (
        str(len(cases)),
        {"nodes"},
    )
    assert served.client.get("/ws/v1/partitions").json() == []


def test_the_report_names_subject_check_title_and_rules(served: Served) -> None:
    ended = run_remuda("conformance", "--grpc", served.grpc, "--only", "SI-52", "--only", "SI-5")
    lines = ended.stdout.splitlines()
    assert ended.returncode == 0
    assert lines[0].startswith(f"{served.grpc} serves si.v1.Scheduler and remuda.v1 (version ")
    assert lines[2] == "Requests and responses  processing.*"
    assert lines[3] == "  ok    empty  empty requests are valid and do nothing  [SI-5]"
    assert lines[5] == "Releases  releases.*"
    assert lines[6].split() == [
        *("ok", "ask-timeout", "a", "release", "of", "an", "ask", "with", "type", "TIMEOUT"),
        *("is", "ignored", "[SI-52]"),
    ]
    assert lines[8].startswith("2 checks in ")
    assert lines[8].endswith(": 2 passed, 0 failed, 0 not applicable")


def test_level_chooses_whose_rules_are_checked() -> None:
    both = {
        level: {
            " ".join(line.split())
            for line in run_remuda("conformance", "--list", "--level", level).stdout.splitlines()
        }
        for level in ("all", "parity", "remuda")
    }
    ours = [line for line in both["all"] if line.endswith("]") and " remuda" in line]
    assert len(ours) > 40
    assert set(ours) <= both["remuda"]
    assert not set(ours) & both["parity"]


def test_list_needs_no_scheduler() -> None:
    ended = run_remuda("conformance", "--list", "--only", "releases")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "ask-timeout" in ended.stdout
    assert "nodes.*" not in ended.stdout


# ------------------------------------------------------------------------------- usage


def refused(*arguments: str) -> str:
    """Run it in vain; return the one line it says."""
    ended = run_remuda("conformance", *arguments)
    assert (ended.returncode, ended.stdout) == (2, ""), ended.stdout
    (line,) = ended.stderr.splitlines()
    assert line.startswith("remuda: ")
    return line


@pytest.mark.parametrize(
    "arguments,told",
    [
        ((), "--grpc HOST:PORT is missing"),
        (("--grpc", "9079"), "--grpc: '9079' is not HOST:PORT"),
        (("--grpc", "x:1", "--rest", "127.0.0.1:9080"), "--rest: '127.0.0.1:9080' is not a URL"),
        (("--grpc", "x:1", "--timeout", "5"), "--timeout: '5' is not a duration"),
        (("--grpc", "x:1", "--only", "no.such"), "no check, subject or rule is 'no.such'"),
        (("--list", "--only", "SI-1000"), "no check, subject or rule is 'SI-1000'"),
        (("--list", "--only", "SI-52", "--level", "remuda"), "no check of the level remuda"),
        (("--grpc", "x:1", "--level", "some"), "--level"),
        (("--grpc", "x:1", "--jobs", "0"), "--jobs"),
    ],
)
def test_a_bad_command_line_is_one_line(arguments: tuple[str, ...], told: str) -> None:
    assert told in refused(*arguments)


def test_nobody_there_is_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    line = refused("--grpc", f"127.0.0.1:{port}", "--timeout", "2s")
    assert f"nobody listens at 127.0.0.1:{port}: " in line


def test_an_address_that_is_not_grpc_is_one_line(served: Served) -> None:
    line = refused("--grpc", served.rest, "--timeout", "1s")
    assert f"{served.rest} listens and does not speak gRPC" in line


def test_an_address_that_says_nothing_is_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        assert f"{address} listens and does not speak gRPC" in refused(
            "--grpc", address, "--timeout", "500ms"
        )


def test_a_server_without_the_scheduler_interface_is_one_line() -> None:
    server = grpc.server(ThreadPoolExecutor(2))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        line = refused("--grpc", f"127.0.0.1:{port}")
        assert f"127.0.0.1:{port} speaks gRPC and does not serve si.v1.Scheduler" in line
    finally:
        server.stop(None).wait()


def test_a_wrong_rest_address_is_one_line(served: Served) -> None:
    line = refused("--grpc", served.grpc, "--rest", f"http://{served.grpc}", "--timeout", "1s")
    assert "--rest: " in line


def test_checks_of_rest_without_its_address_are_not_applicable(served: Served) -> None:
    assert "none of the chosen checks could be run: no --rest was given" in _last_line(
        "--grpc", served.grpc, "--only", "recovery.same-end"
    )
    ended = run_remuda(
        "conformance",
        *("--grpc", served.grpc, "--rest", f"http://{served.rest}"),
        *("--only", "recovery.same-end"),
    )
    assert ended.returncode == 0, ended.stdout


def _last_line(*arguments: str) -> str:
    ended = run_remuda("conformance", *arguments)
    assert ended.returncode == 2
    return ended.stderr.splitlines()[-1]


def test_an_interrupted_run_ends_at_once(served: Served) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "remuda", "conformance", "--grpc", served.grpc],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heed_signals,  # noqa: PLW1509 - it only sets what signals do
    )
    with process:
        wait(lambda: bool(served.client.get("/ws/v1/partitions").json()))
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    assert "Traceback" not in err


def test_names_of_checks_are_completed() -> None:
    ended = run_remuda(
        _REMUDA_COMPLETE="complete_bash",
        COMP_WORDS="remuda conformance --only releases.as",
        COMP_CWORD="3",
    )
    assert ended.stdout.split() == ["releases.ask", "releases.ask-timeout"]


def test_a_scheduler_that_ends_meanwhile_ends_the_run() -> None:
    with Served(*FREE_PORTS) as running:
        threading.Timer(0.5, running.process.kill).start()
        ended = run_remuda("conformance", "--grpc", running.grpc, "--timeout", "2s", "--jobs", "1")
    assert ended.returncode in {1, 2}
    assert "Traceback" not in ended.stdout + ended.stderr
