"""The generated modules belong to the wire definition, and its numbers are fixed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from remuda.core.messages import commands, effects, events
from remuda.si.pb import si_pb2 as si

ROOT = Path(__file__).resolve().parents[3]


def test_the_generated_modules_are_those_of_the_committed_definition() -> None:
    pytest.importorskip("grpc_tools", reason="the compiler is not installed")
    done = subprocess.run(
        [sys.executable, ROOT / "tools/gen_si.py", "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.remuda_rule("SI-110")
def test_the_two_identity_fields_have_the_numbers_of_both_peers() -> None:
    allocation = si.Allocation.DESCRIPTOR.fields_by_name
    release = si.AllocationRelease.DESCRIPTOR.fields_by_name
    assert (allocation["UUID"].number, allocation["allocationID"].number) == (3, 13)
    assert (release["UUID"].number, release["allocationID"].number) == (3, 7)


def test_the_core_uses_the_numbers_of_the_wire() -> None:
    assert commands.STOPPED_BY_RM == si.STOPPED_BY_RM
    assert commands.TIMEOUT == si.TIMEOUT
    assert commands.PREEMPTED_BY_SCHEDULER == si.PREEMPTED_BY_SCHEDULER
    assert commands.PLACEHOLDER_REPLACED == si.PLACEHOLDER_REPLACED
    for action in ("CREATE", "UPDATE", "DRAIN_NODE", "DECOMISSION", "DRAIN_TO_SCHEDULABLE"):
        assert getattr(commands, action) == si.NodeInfo.ActionFromRM.Value(action)
    assert commands.CREATE_DRAIN == si.NodeInfo.CREATE_DRAIN


@pytest.mark.remuda_rule("EVT-2", "EVT-3", "EVT-4")
def test_event_numbers_are_those_of_the_wire() -> None:
    wire = {
        **dict(si.EventRecord.Type.items()),
        **dict(si.EventRecord.ChangeType.items()),
        **dict(si.EventRecord.ChangeDetail.items()),
    }
    own = {
        name: value
        for name, value in vars(events).items()
        if name.isupper() and not name.startswith("_")
    }
    assert own
    assert own.pop("QUEUE_PREEMPTION") == 407  # of 1.9 (SI-111); older releases know no name for it
    assert own == {name: wire[name] for name in own}


def test_every_effect_has_an_rm() -> None:
    for effect in effects.Effect.__args__:
        assert "rm_id" in effect.__dataclass_fields__
