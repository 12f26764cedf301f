"""What happens while all streams of a resource manager are closed (chapter 70 section 2)."""

from __future__ import annotations

import threading
import time
from typing import Final

import grpc

from remuda.conformance.elements import Kind
from remuda.conformance.expectations import node_rejected, placed, released, updated
from remuda.conformance.registry import Level, Needs, Subject
from remuda.conformance.requests import ask, node, release, vcores
from remuda.conformance.rm import RM
from remuda.conformance.stage import Stage
from remuda.si.pb import extension_pb2 as ext
from remuda.si.pb import si_pb2 as si

SUBJECT: Final = Subject("pauses", "Pauses")

# Milliseconds of an execution timeout, and seconds of a pause that is longer.
_TIMEOUT: Final = 1500
_PAUSE: Final = 2.5

# Seconds after which a resource manager that is gone is stopped.
_STOPPED_AFTER: Final = 0.3


def _wait(seconds: float) -> None:
    """Wait for a while; nothing can arrive, since no stream is open."""
    threading.Event().wait(seconds)


def _state(stage: Stage, rm: RM, rule: str) -> str:
    """Return the state of a resource manager as administrators see it, "" if it is unknown."""
    request = ext.ListResourceManagersRequest()
    listed = stage.call(stage.endpoint.admin.ListResourceManagers, request, rule)
    for each in listed.resource_managers:
        if each.rm_id == rm.rm_id:
            return ext.ResourceManagerInfo.State.Name(each.state)
    return ""


def _require_state(stage: Stage, rm: RM, wanted: str, rule: str) -> None:
    """Wait, as long as for any answer, until the list shows a state."""
    deadline = time.monotonic() + stage.endpoint.timeout
    while (found := _state(stage, rm, rule)) != wanted:
        if time.monotonic() > deadline:
            raise stage.failure(rule, f"state {wanted}", f"state {found}", "ListResourceManagers")
        _wait(0.02)


@SUBJECT.check(
    "kept",
    "a resource manager that opens its streams again goes on where it was",
    "RM-14",
    "RM-15",
    "SI-103",
    level=Level.REMUDA,
)
def _kept(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(2)}, ["app"])
    rm.place("app", "k", vcores(1), "n")
    rm.close(Kind.APPLICATION)
    rm.asks(ask("app", "k2", vcores(1)))
    rm.expect(placed("app", "k2", vcores(1), "n"))
    rm.close()
    rm.open()
    rm.expect(updated("app", "Running"), rule="SI-103")
    rm.release(release("app", "k-0"))
    rm.expect(released("app", "k"), rule="RM-15")


@SUBJECT.check(
    "states",
    "PAUSED while all streams are closed, RUNNING again with the first one",
    "RM-14",
    level=Level.REMUDA,
    needs=[Needs.ADMIN],
)
def _states(stage: Stage) -> None:
    rm = stage.rm()
    rm.quiet()
    _require_state(stage, rm, "RUNNING", "RM-14")
    rm.close(Kind.NODE, Kind.ALLOCATION)
    stage.require(_state(stage, rm, "RM-14") == "RUNNING", "RM-14", "RUNNING", "PAUSED")
    rm.close()
    _require_state(stage, rm, "PAUSED", "RM-14")
    rm.open(Kind.NODE)
    _require_state(stage, rm, "RUNNING", "RM-14")
    rm.nodes(node("n", None, si.NodeInfo.DRAIN_NODE))
    rm.expect(node_rejected("n"))
    rm.hang_up()
    _require_state(stage, rm, "PAUSED", "RM-14")


@SUBJECT.check(
    "timers",
    "an execution timeout stands still while all streams are closed",
    "RM-15",
    "SI-37",
    level=Level.REMUDA,
    seconds=_PAUSE + _TIMEOUT / 1000,
)
def _timers(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(1)}, ["app"])
    rm.asks(ask("app", "k", vcores(1), executionTimeoutMilliSeconds=_TIMEOUT))
    rm.expect(
        placed("app", "k", vcores(1), "n"), updated("app", "Accepted"), updated("app", "Starting")
    )
    rm.close()
    _wait(_PAUSE)
    opened = time.monotonic()
    rm.open()
    order = rm.expect(released("app", "k", si.TIMEOUT), rule="SI-37", seconds=_TIMEOUT / 1000)[0]
    rest = order.at - opened
    if rest < _TIMEOUT / 1000 / 2:
        expected = f"most of {_TIMEOUT} ms to go on after the pause"
        raise rm.failure("RM-15", expected, [f"the order came {1000 * rest:.0f} ms after it"])
    rm.release(release("app", "k-0", si.TIMEOUT))
    rm.expect(updated("app", "Completing"))


@SUBJECT.check(
    "stopped",
    "with rm.pauseTimeout over, a resource manager that is gone is not registered any more",
    "RM-17",
    "RM-18",
    level=Level.REMUDA,
    seconds=1.0,
)
def _stopped(stage: Stage) -> None:
    for timeout in ("0s", f"{int(1000 * _STOPPED_AFTER)}ms"):
        rm = stage.unregistered()
        rm.register(extra={"rm.pauseTimeout": timeout})
        rm.open()
        rm.start({"n": vcores(1)})
        rm.quiet()
        rm.close()
        _wait(_STOPPED_AFTER + 0.7)
        rm.open(Kind.NODE)
        rm.expect_end(Kind.NODE, grpc.StatusCode.FAILED_PRECONDITION, rule="RM-18")
        rm.register()
        rm.open()
        rm.start({"n": vcores(1)})


@SUBJECT.check(
    "for-ever",
    "with a negative rm.pauseTimeout a resource manager that is gone is waited for",
    "RM-18",
    level=Level.REMUDA,
    seconds=1.0,
)
def _for_ever(stage: Stage) -> None:
    rm = stage.unregistered()
    rm.register(extra={"rm.pauseTimeout": "-1s"})
    rm.open()
    rm.start({"n": vcores(1)}, ["app"])
    rm.close()
    _wait(1.0)
    rm.open()
    rm.place("app", "k", vcores(1), "n")


@SUBJECT.check(
    "too-many",
    "with more than rm.outboundLimit responses waiting only a new registration helps",
    "RM-16",
    level=Level.REMUDA,
)
def _too_many(stage: Stage) -> None:
    rm = stage.unregistered()
    rm.register(extra={"rm.outboundLimit": "10"})
    rm.open()
    names = [f"app{number}" for number in range(15)]
    rm.start({"n": vcores(len(names))}, names)
    rm.close(Kind.APPLICATION)
    for name in names:
        rm.asks(ask(name, "k", vcores(1)))
        rm.stream(Kind.ALLOCATION).next(time.monotonic() + stage.endpoint.timeout)
    rm.hang_up()
    rm.open(Kind.APPLICATION)
    rm.expect_end(Kind.APPLICATION, grpc.StatusCode.FAILED_PRECONDITION, rule="RM-16")
    rm.register(rule="RM-16")
    rm.open()
    rm.start({"n": vcores(1)}, ["app"])
    rm.place("app", "k", vcores(1), "n")
