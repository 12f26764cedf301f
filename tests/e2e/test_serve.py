"""`remuda serve` as a process: addresses, REST, signals, options, errors, the demo."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import grpc
import pytest
import yaml
from jsonschema import Draft202012Validator

import remuda
from tests.e2e.serving import FREE_PORTS, PARTITION, Served, environment, run_remuda
from tests.e2e.session_stream import ALL, SessionStream

OPENAPI = Path(__file__).parents[2] / "docs" / "spec" / "openapi.yaml"


@cache
def components() -> Any:
    return yaml.safe_load(OPENAPI.read_text())["components"]


def validate(name: str, answer: object) -> None:
    reference = {"$ref": f"#/components/schemas/{name}", "components": components()}
    Draft202012Validator(reference).validate(answer)


def wait_for(served: Served, path: str, done: Callable[[Any], bool]) -> Any:
    """Ask until an answer is as wanted; bounded, since jobs come by the wall clock."""
    deadline = time.monotonic() + 20
    while True:
        answer = served.client.get(path).json()
        if done(answer) or time.monotonic() > deadline:
            return answer
        time.sleep(0.05)


@pytest.mark.remuda_rule("KV-6", "REST-1", "REST-2", "REST-13", "REST-22")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_an_empty_scheduler_serves_until_a_signal(number: int) -> None:
    with Served(*FREE_PORTS) as served:
        assert served.grpc.startswith("127.0.0.1:")
        answer = served.client.get("/ws/v1/partitions")
        assert (answer.status_code, answer.content) == (200, b"[]\n")
        missing = {
            "status_code": 404,
            "message": "Partition not found",
            "description": "Partition not found",
        }
        for path in ("queues", "nodes", "queue/root", "queue/root/applications"):
            answer = served.client.get(f"{PARTITION}/{path}")
            assert (answer.status_code, answer.json()) == (404, missing)
        assert served.end(number) == (0, "", "")


@pytest.mark.remuda_rule("KV-6", "EXT-2")
def test_it_serves_with_the_records_of_production() -> None:
    """All other tests freeze records, which makes values of them that can be hashed."""
    with Served(*FREE_PORTS, REMUDA_STRICT_RECORDS="") as served:
        with grpc.insecure_channel(served.grpc) as channel:
            stream = SessionStream(channel)
            stream.register("rm", ALL, config="", policyGroup="")
            stream.nodes("n1")
            assert stream.until("node").node.accepted[0].nodeID == "n1"
            stream.cut()
        assert served.end(signal.SIGTERM) == (0, "", "")


@pytest.mark.remuda_rule("SEED-210", "REST-28", "REST-29", "REST-30", "REST-31", "REST-33")
def test_demo_places_jobs_and_rest_shows_them() -> None:
    with Served(*FREE_PORTS, "--demo") as served:
        (partition,) = wait_for(
            served,
            "/ws/v1/partitions",
            lambda found: bool(found and found[0].get("totalContainers")),
        )
        assert partition["totalContainers"] > 0
        assert partition["totalNodes"] == 100
        assert partition["clusterId"] == "demo"
        validate("Partition", partition)

        root = served.client.get(f"{PARTITION}/queues").json()
        validate("Queue", root)
        assert root["childrenNames"] == ["root.batch", "root.production", "root.research"]
        assert root["allocatedResource"]["vcore"] > 0

        nodes = served.client.get(f"{PARTITION}/nodes").json()
        assert len(nodes) == 100
        for node in nodes:
            validate("Node", node)
        assert nodes[0]["attributes"]["si/node-partition"] == "[demo]default"
        assert sum(len(node.get("allocations", [])) for node in nodes) > 0

        applications = served.client.get(f"{PARTITION}/queue/root.batch/applications").json()
        assert applications
        for application in applications:
            validate("Application", application)
            assert application["queueName"] == "root.batch"
        assert served.client.get(f"{PARTITION}/queue/root/applications").json() == []

        code, stdout, stderr = served.end(signal.SIGTERM)
        assert (code, stdout) == (0, "")
        assert "Traceback" not in stderr


def test_demo_stops_by_itself_and_tells_how_it_went() -> None:
    with Served(*FREE_PORTS, "--demo", "--duration", "2500ms") as served:
        code, stdout, stderr = served.end()
    assert (code, stdout) == (0, "")
    (line,) = stderr.splitlines()
    counts = dict(word.rsplit(" ", 1) for word in line.split("  "))
    assert int(counts["nodes"]) == 100
    assert int(counts["running"]) > 100
    assert int(counts["placed"].removesuffix("/s")) > 0
    assert 0 < int(counts["vcore"].removesuffix("%")) <= 100
    assert set(counts) >= {"jobs", "running", "pending", "placed", "vcore", "memory"}


@pytest.mark.remuda_rule("RM-5")
def test_stored_configuration_serves_an_empty_registration(tmp_path: Path) -> None:
    config = tmp_path / "queues.yaml"
    config.write_text(
        "partitions:\n"
        "  - name: default\n"
        "    queues:\n"
        "      - name: root\n"
        "        queues:\n"
        "          - name: only\n"
    )
    with Served(*FREE_PORTS, "--demo", "--config", str(config)) as served:
        names = wait_for(served, f"{PARTITION}/queues", lambda found: "childrenNames" in found)
        assert names["childrenNames"] == ["root.only"]


@pytest.mark.remuda_rule("KV-6")
def test_every_option_is_a_variable_too(tmp_path: Path) -> None:
    config = tmp_path / "queues.yaml"
    config.write_text(
        "partitions: [{name: default, queues: [{name: root, queues: [{name: q}]}]}]\n"
    )
    recording = tmp_path / "run.journal"
    variables = {
        "REMUDA_CONFIG": str(config),
        "REMUDA_GRPC_ADDRESS": "127.0.0.1:0",
        "REMUDA_REST_ADDRESS": "[::1]:0" if socket.has_ipv6 else "127.0.0.1:0",
        "REMUDA_REST_CORS": "false",
        "REMUDA_DEMO": "1",
        "REMUDA_DURATION": "1m",
        "REMUDA_RECORD": str(recording),
    }
    with Served("--duration", "1h", **variables) as served:
        if socket.has_ipv6:
            assert served.rest.startswith("[::1]:")
        root = wait_for(served, f"{PARTITION}/queues", lambda found: "childrenNames" in found)
        assert root["childrenNames"] == ["root.q"]
        headers = served.client.get("/ws/v1/partitions").headers
        assert "access-control-allow-origin" not in headers
        assert served.end(signal.SIGTERM)[0] == 0
    assert recording.stat().st_size > 0
    with Served(*FREE_PORTS, REMUDA_DURATION="100ms") as served:
        assert served.end() == (0, "", "")


def test_a_recorded_demo_can_be_replayed(tmp_path: Path) -> None:
    recording = tmp_path / "demo.journal"
    with Served(*FREE_PORTS, "--demo", "--duration", "1s", "--record", str(recording)) as served:
        assert served.end()[0] == 0
    replayed = run_remuda("replay", str(recording))
    assert (replayed.returncode, replayed.stderr) == (0, "")


@pytest.mark.parametrize("option", ["--grpc-address", "--rest-address"])
def test_a_taken_port_is_one_line_and_code_2(option: str, tmp_path: Path) -> None:
    recording = tmp_path / "kept.journal"
    recording.write_text("an older recording")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        ended = run_remuda("serve", *FREE_PORTS, option, address, "--record", str(recording))
    assert (ended.returncode, ended.stdout) == (2, "")
    (line,) = ended.stderr.splitlines()
    assert address in line
    assert "Address already in use" in line
    assert recording.read_text() == "an older recording"


BAD_FILE = "partitions:\n  - name: default\n    queues:\n      - name: root\n        colour: red\n"


@pytest.mark.remuda_rule("RM-6")
@pytest.mark.parametrize(
    "content, told",
    [
        (None, "No such file or directory"),
        (b"partitions: [", "queues.yaml"),
        (b"\xff\xfe", "UTF-8"),
        (BAD_FILE.encode(), "colour"),
    ],
)
def test_a_bad_file_is_one_line_and_code_2(
    content: bytes | None, told: str, tmp_path: Path
) -> None:
    config = tmp_path / "queues.yaml"
    if content is not None:
        config.write_bytes(content)
    ended = run_remuda("serve", *FREE_PORTS, "--config", str(config))
    assert (ended.returncode, ended.stdout) == (2, "")
    (line,) = ended.stderr.splitlines()
    assert str(config) in line
    assert told in line


@pytest.mark.parametrize(
    "device, told",
    [
        ("/dev/zero", "/dev/zero: not YAML: it has more than 10000000 bytes [CFG-5]"),
        ("/dev/urandom", "/dev/urandom: not YAML: it has more than 10000000 bytes [CFG-5]"),
    ],
)
@pytest.mark.parametrize("command", ["serve", "simulate"])
def test_a_configuration_without_an_end_is_one_line_and_code_2(
    command: str, device: str, told: str
) -> None:
    sample = Path(remuda.__file__).parent / "sim" / "sample"
    options = {
        "serve": FREE_PORTS,
        "simulate": (f"--nodes={sample / 'nodes.csv'}", f"--workload={sample / 'workload.csv'}"),
    }
    ended = run_remuda(command, *options[command], "--config", device)
    assert (ended.returncode, ended.stdout) == (2, "")
    (line,) = ended.stderr.splitlines()
    assert told in line


def test_one_port_for_both_listeners_is_one_line_and_code_2() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    for grpc_host in ("127.0.0.1", "0.0.0.0", "[::]"):
        addresses = ("--grpc-address", f"{grpc_host}:{port}", "--rest-address", f"127.0.0.1:{port}")
        ended = run_remuda("serve", *addresses)
        assert (ended.returncode, ended.stdout) == (2, "")
        (line,) = ended.stderr.splitlines()
        assert line.startswith("remuda: cannot listen on ")


def test_nobody_who_can_read_that_it_is_ready_is_one_line_and_code_1() -> None:
    for arguments in (("serve", *FREE_PORTS), ("--help",)):
        with Path("/dev/full").open("w") as full:
            ended = subprocess.run(
                [sys.executable, "-m", "remuda", *arguments],
                env=environment(),
                stdout=full,
                stderr=subprocess.PIPE,
                text=True,
                timeout=60,
                check=False,
            )
        assert ended.returncode == 1
        (line,) = ended.stderr.splitlines()
        assert line == "remuda: input or output failed: No space left on device"


def test_a_recording_that_exists_is_kept_and_refused(tmp_path: Path) -> None:
    recording = tmp_path / "kept.jsonl"
    recording.write_text("an older recording")
    ended = run_remuda("serve", *FREE_PORTS, "--record", str(recording))
    assert (ended.returncode, ended.stdout) == (2, "")
    (line,) = ended.stderr.splitlines()
    assert line.endswith("no recording that can go on; remove it or name another")
    assert recording.read_text() == "an older recording"


def test_a_recording_on_a_full_device_is_one_line_and_code_1() -> None:
    ended = run_remuda("serve", *FREE_PORTS, "--demo", "--record", "/dev/full")
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr == "remuda: cannot record to /dev/full: No space left on device\n"


def test_a_recording_that_breaks_off_ends_with_code_1_and_can_be_replayed(tmp_path: Path) -> None:
    recording = tmp_path / "run.jsonl"
    limited = ("bash", "-c", 'ulimit -f 32 && exec "$@"', "limited", sys.executable, "-m", "remuda")
    options = ("serve", *FREE_PORTS, "--demo", "--duration", "2s", "--record", str(recording))
    ended = subprocess.run(
        [*limited, *options],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    failure = f"recording to {recording} failed: File too large"
    assert ended.returncode == 1
    assert ended.stderr.splitlines()[-1] == f"remuda: {failure}"
    assert ended.stderr.count(f"ERROR remuda.runtime: {failure}; the scheduler goes on") == 1
    assert "Traceback" not in ended.stderr
    replayed = run_remuda("replay", str(recording))
    assert (replayed.returncode, replayed.stderr) == (0, "")


def test_a_recording_that_cannot_be_written_is_one_line_and_code_2(tmp_path: Path) -> None:
    ended = run_remuda("serve", *FREE_PORTS, "--record", str(tmp_path / "no" / "file"))
    assert (ended.returncode, ended.stdout) == (2, "")
    assert len(ended.stderr.splitlines()) == 1
