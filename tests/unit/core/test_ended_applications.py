"""What is kept of an application after its end: a record that nothing changes (APP-14, APP-15)."""

from __future__ import annotations

import pytest

from remuda.core.messages import commands as c
from remuda.core.model import states
from remuda.core.model.applications.ended import EndedApplication
from tests.unit.core.door import MINUTE, Caller, leaf

ONE = {"vcore": 1}


def kept(door: Caller) -> list[EndedApplication]:
    """The ended applications, the first that ended first."""
    partition = door.scheduler._cluster.partition(door.rm, "default")
    assert partition is not None
    return list(partition.kept.applications.values())


@pytest.mark.remuda_rule("APP-14", "APP-15")
def test_a_completed_application_leaves_a_record() -> None:
    door = Caller(leaf("a"))
    door.node("n1", {"vcore": 10})
    door.app("app", "root.a")
    door.ask("app", "k", ONE, 2)
    door.step()
    assert kept(door) == []
    for identity in ("k-0", "k-1"):
        door.release("app", identity, kind=c.STOPPED_BY_RM)
    door.wait(MINUTE)
    (ended,) = kept(door)
    assert (ended.application_id, ended.state) == ("app", states.COMPLETED)
    assert ended.queue_path == "root.a"
    assert [state for _, state in ended.state_log] == [
        states.ACCEPTED,
        states.STARTING,
        states.RUNNING,
        states.COMPLETING,
        states.COMPLETED,
    ]
    assert ended.peak.amounts[:1] == [2]
    assert set(ended.allocated.amounts) == {0}
    door.scheduler.check()


@pytest.mark.remuda_rule("APP-15", "SI-20")
def test_an_application_of_the_same_name_does_not_change_the_record() -> None:
    door = Caller(leaf("a"))
    door.node("n1", {"vcore": 10})
    door.app("app", "root.a")
    door.app("app", "root.nowhere")
    (ended,) = kept(door)
    assert (ended.state, ended.queue_path) == (states.REJECTED, "root.nowhere")
    door.ask("app", "k", ONE)
    door.step()
    assert kept(door) == [ended]
    assert ended.state_log == ((ended.finished_ns, states.REJECTED),)
    assert door.apps()["app"].queue == "root.a"
