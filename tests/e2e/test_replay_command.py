"""``remuda replay``: what it says and with which exit code."""

from __future__ import annotations

from pathlib import Path

import pytest

from remuda.edges.inproc import InProcessScheduler
from remuda.runtime.journal import FORMAT
from remuda.si.pb import si_pb2 as si
from tests.e2e.serving import FREE_PORTS, run_remuda


def record(path: Path) -> None:
    with InProcessScheduler(record=path) as scheduler:
        scheduler.register_resource_manager(si.RegisterResourceManagerRequest(rmID="rm"))
        amounts = si.Resource(resources={"vcore": si.Quantity(value=5)})
        node = si.NodeInfo(nodeID="n", action=si.NodeInfo.CREATE, schedulableResource=amounts)
        scheduler.update_node(si.NodeRequest(rmID="rm", nodes=[node]))
        scheduler.wait_idle()


def test_the_same_decisions_exit_with_zero(tmp_path: Path) -> None:
    record(tmp_path / "run.jsonl")
    done = run_remuda("replay", str(tmp_path / "run.jsonl"))
    assert (done.returncode, done.stderr) == (0, "")
    assert "run.jsonl: 2 inputs, all effects the same\n" in done.stdout


def test_different_decisions_exit_with_one_and_name_the_input(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    record(path)
    path.write_bytes(path.read_bytes().replace(b'"node_id":"n"', b'"node_id":"m"'))
    done = run_remuda("replay", str(path))
    assert done.returncode == 1
    assert "different at input 2 (UpdateNodes): its " in done.stdout
    assert "Traceback" not in done.stdout + done.stderr


@pytest.mark.remuda_rule("RSV-3", "KV-4")
@pytest.mark.parametrize(
    "options, environment, delay",
    [
        ((), {}, "2000000000"),
        ((), {"DISABLE_RESERVATION": "true"}, "null"),
        (("--reservation-delay", "1m"), {"DISABLE_RESERVATION": "true"}, "60000000000"),
    ],
)
def test_a_recording_begins_with_the_reservation_delay_of_the_service(
    tmp_path: Path, options: tuple[str, ...], environment: dict[str, str], delay: str
) -> None:
    path = tmp_path / "run.jsonl"
    record = ("--duration", "100ms", "--record", str(path))
    done = run_remuda("serve", *FREE_PORTS, *record, *options, **environment)
    assert done.returncode == 0, done.stderr
    start = f'["remuda-recording",{FORMAT},{delay},{{"resource-managers":'
    assert path.read_text().splitlines()[0].startswith(start)


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/urandom"])
def test_a_file_without_an_end_exits_with_two_and_one_line(device: str) -> None:
    done = run_remuda("replay", device)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"remuda: {device}:1: not a ")


def test_lines_nested_without_end_exit_with_two_and_one_line(tmp_path: Path) -> None:
    path = tmp_path / "deep.jsonl"
    path.write_bytes(b'["remuda-recording",%d,null]\n' % FORMAT + b"[" * 1_000_000 + b"\n")
    done = run_remuda("replay", str(path))
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert f"{path}:2: not a line of a recording" in line


def test_a_recording_of_an_older_format_exits_with_two_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "old.jsonl"
    path.write_bytes(b'["remuda-recording",3]\n["step",1,1,2]\n')
    done = run_remuda("replay", str(path))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"remuda: {path}:1: a recording of format 3;"
        f" this version reads formats 5, 6, 7 and {FORMAT}\n"
    )


def test_a_file_that_is_no_recording_exits_with_two_and_one_line(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("hello\n")
    for argument in (str(path), str(tmp_path / "missing")):
        done = run_remuda("replay", argument)
        assert done.returncode == 2
        assert done.stdout == ""
        assert len(done.stderr.splitlines()) == 1
        assert argument in done.stderr
