"""A served scheduler whose configuration file changes while applications run."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from remuda.client import Client, ClientError
from tests.e2e.serving import FREE_PORTS, PARTITION, Served, run_remuda
from tests.waiting import wait

FILE = """\
partitions:
  - name: default
    queues:
      - name: root
        submitacl: "*"
        queues:
          - name: a
            resources: {max: {vcore: 2}}
          - name: b
"""
LARGER = FILE.replace("vcore: 2", "vcore: 3")
OTHER = FILE.replace("- name: b", "- name: c")
PARENT = FILE.replace("resources: {max: {vcore: 2}}", "parent: true")
QUEUES = f"{PARTITION}/queues"


def queues(served: Served) -> dict[str, str]:
    """Path -> status."""
    root = served.client.get(QUEUES).json()
    return {queue["queuename"]: queue["status"] for queue in root["children"]}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "queues.yaml"
    path.write_text(FILE)
    return path


def start(served: Served, rm_id: str = "rm", config: str = "") -> Client:
    """An RM with a node and an application in root.a that wants 3 and gets 2."""
    client = Client(served.grpc, rm_id, timeout=60)
    client.register(config)
    client.add_nodes({"n": {"vcore": 10_000}})
    client.add_application("app", queue="root.a")
    for key in ("k1", "k2", "k3"):
        client.ask("app", key, {"vcore": 1_000})
    assert [entry.allocationKey for entry in client.allocations(2)] == ["k1", "k2"]
    # The third ask waits, but may still be on its way.
    root = f"{QUEUES}?rm={rm_id}"
    wait(lambda: served.client.get(root).json()["pendingResource"] == {"vcore": 1_000})
    return client


@pytest.fixture
def served(file: Path) -> Iterator[Served]:
    with Served(*FREE_PORTS, "--config", str(file)) as running:
        yield running


@pytest.mark.remuda_rule("RM-5", "RLD-20", "RLD-21", "RLD-28", "SI-86", "SI-88")
def test_a_changed_file_is_in_force_for_running_applications(served: Served, file: Path) -> None:
    with start(served) as client:
        file.write_text(LARGER)
        assert [entry.allocationKey for entry in client.allocations(1)] == ["k3"]
        file.write_text(OTHER)
        wait(lambda: queues(served).get("root.c") == "Active")
        assert queues(served)["root.b"] in ("Draining", None)
        client.add_application("new", queue="root.c")
        with pytest.raises(ClientError, match="application late rejected"):
            client.add_application("late", queue="root.b")
        assert served.end(signal.SIGTERM)[0] == 0
    first, second = [line for line in served.log.splitlines() if " INFO remuda.config: " in line]
    assert first.endswith("; resource managers: 1; queues 1 changed")
    assert second.endswith("; resource managers: 1; queues 1 added, 1 changed, 1 left out")


@pytest.mark.remuda_rule("RM-5", "SI-86")
def test_a_hangup_has_the_file_read_again(file: Path) -> None:
    with (
        Served(*FREE_PORTS, "--config", str(file), REMUDA_WATCH="false") as served,
        start(served) as client,
    ):
        file.write_text(LARGER)
        served.process.send_signal(signal.SIGHUP)
        assert [entry.allocationKey for entry in client.allocations(1)] == ["k3"]
        served.process.send_signal(signal.SIGHUP)
        wait(lambda: "is in force already" in served.log)
        file.write_text(FILE)
        assert served.end(signal.SIGTERM)[0] == 0
        assert served.log.count("resource managers: 1; queues 1 changed") == 1


def test_a_hangup_without_a_file_is_no_end() -> None:
    with Served(*FREE_PORTS) as served:
        served.process.send_signal(signal.SIGHUP)
        assert served.client.get("/ws/v1/partitions").status_code == 200
        wait(lambda: "SIGHUP without effect: started without --config" in served.log)
        assert served.end(signal.SIGTERM)[0] == 0


@pytest.mark.remuda_rule("RM-5", "SI-86")
def test_a_hangup_during_the_start_is_kept_until_it_can_be_told(tmp_path: Path) -> None:
    pipe = tmp_path / "queues.pipe"
    os.mkfifo(pipe)
    served = Served(*FREE_PORTS, "--config", str(pipe))
    writers: list[int] = []
    wait(lambda: opened(pipe, writers))
    served.process.send_signal(signal.SIGHUP)
    served.process.send_signal(signal.SIGHUP)
    with os.fdopen(writers[0], "w") as writer:
        writer.write(FILE)
    with served:
        refusal = f"cannot read {pipe}: it is not a regular file; the configuration in force stays"
        wait(lambda: refusal in served.log)
        with start(served) as client:
            client.add_application("more", queue="root.b")
            assert served.end(signal.SIGTERM)[0] == 0
    assert served.log.count(refusal) == 1


def opened(pipe: Path, writers: list[int]) -> bool:
    """Open a pipe if somebody reads it."""
    try:
        writers.append(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
    except OSError:
        return False
    return True


@pytest.mark.remuda_rule("SI-85", "SI-86", "CFG-4", "CFG-5", "RLD-26")
@pytest.mark.parametrize(
    "text, lines",
    [
        (
            FILE.replace("name: b", "name: a b").replace("vcore: 2", "vcore: 2x"),
            ("{file}:8:38: ", "{file}:9:19: "),
        ),
        (PARENT, ("{file}: resource manager 'rm': queue root.a cannot become a parent",)),
        ("partitions:\n  - name: default\n    queues: [", ("{file}:4:1: not YAML: ",)),
        ("", ("{file} is empty; the configuration in force stays",)),
    ],
    ids=["bad values", "does not fit", "half written", "empty"],
)
def test_a_bad_file_changes_nothing_and_is_told_line_by_line(
    served: Served, file: Path, text: str, lines: tuple[str, ...]
) -> None:
    with start(served) as client:
        before = served.client.get(QUEUES).json()
        file.write_text(text)
        wait(lambda: "the configuration in force stays" in served.log)
        assert served.client.get(QUEUES).json() == before
        client.add_application("more", queue="root.b")
        file.write_text(LARGER)
        assert [entry.allocationKey for entry in client.allocations(1)] == ["k3"]
        assert served.end(signal.SIGTERM)[0] == 0
    assert "Traceback" not in served.log
    for line in lines:
        assert line.format(file=file) in served.log
    assert served.log.count("the configuration in force stays") == 1


@pytest.mark.remuda_rule("EXT-24", "RM-4", "SI-86")
def test_the_file_is_for_all_who_use_it_or_for_none_and_for_nobody_else(
    served: Served, file: Path
) -> None:
    with start(served, "busy") as busy, start(served, "own", FILE) as own:
        file.write_text(PARENT)
        wait(lambda: "the configuration in force stays" in served.log)
        assert "resource manager 'busy': queue root.a cannot become a parent" in served.log
        assert "resource manager 'own'" not in served.log
        busy.remove_application("app")
        os.utime(file)
        wait(lambda: served.client.get(QUEUES).json()["children"][0]["isLeaf"] is False)
        file.write_text(LARGER)
        wait(lambda: served.log.count(" replaces ") == 2)
        assert own.update_configuration()
        assert [entry.allocationKey for entry in own.allocations(1)] == ["k3"]


@pytest.mark.remuda_rule("SI-85")
def test_a_recording_with_reloads_repeats(file: Path, tmp_path: Path) -> None:
    recording = tmp_path / "run.jsonl"
    arguments = (*FREE_PORTS, "--config", str(file), "--record", str(recording))
    with Served(*arguments) as served, start(served) as client:
        file.write_text(LARGER)
        assert len(client.allocations(1)) == 1
        assert served.end(signal.SIGTERM)[0] == 0
    assert recording.read_text().count('"UpdateConfiguration"') == 1
    replayed = run_remuda("replay", str(recording))
    assert (replayed.returncode, replayed.stderr) == (0, "")
