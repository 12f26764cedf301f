"""``remuda snapshot``: what it says and with which exit code."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.serving import run_remuda
from tests.e2e.test_replay_command import record

pytestmark = pytest.mark.remuda_rule("EXT-41")


def test_a_state_of_a_recording_is_written_and_shown(tmp_path: Path) -> None:
    recording, state = tmp_path / "run.jsonl", tmp_path / "state"
    record(recording)
    done = run_remuda("snapshot", str(recording), "--at", "2", "--output", str(state))
    assert (done.returncode, done.stderr) == (0, "")
    assert "state: after 2 inputs: 1 partitions, 1 nodes, 0 applications" in done.stdout
    done = run_remuda("snapshot", str(state))
    assert (done.returncode, done.stderr) == (0, "")
    assert "\n1 nodes\n" in done.stdout


def test_what_is_wrong_is_one_line_and_code_two(tmp_path: Path) -> None:
    recording, state = tmp_path / "run.jsonl", tmp_path / "state"
    record(recording)
    for arguments, said in (
        ((str(recording),), "this is no snapshot of Remuda"),
        ((str(recording), "--at", "1"), "--at is for a recording"),
        ((str(recording), "--at", "99", "--output", str(state)), "inputs, not 99"),
        ((str(tmp_path / "none"),), "cannot read"),
    ):
        done = run_remuda("snapshot", *arguments)
        assert done.returncode == 2
        assert said in done.stderr
        assert done.stderr.count("\n") == 1
    assert not state.exists()


def test_other_decisions_than_the_recorded_ones_are_code_one(tmp_path: Path) -> None:
    recording, state = tmp_path / "run.jsonl", tmp_path / "state"
    record(recording)
    recording.write_bytes(recording.read_bytes().replace(b'"node_id":"n"', b'"node_id":"m"'))
    done = run_remuda("snapshot", str(recording), "--output", str(state))
    assert done.returncode == 1
    assert "different at input 2 (UpdateNodes)" in done.stderr
    assert not state.exists()
