"""What operators can do over remuda.v1.Admin, as resource managers see it (OBJ-4, OBJ-8, RM-17).

Every call names the queues and resource managers of the check, and touches no others.
"""

from __future__ import annotations

from typing import Final

import grpc

from remuda.conformance.elements import Kind
from remuda.conformance.expectations import (
    accepted,
    allocation_rejected,
    node_accepted,
    node_rejected,
    placed,
    rejected,
    released,
    updated,
)
from remuda.conformance.registry import Level, Needs, Subject
from remuda.conformance.requests import application, ask, existing, node, release, vcores
from remuda.conformance.rm import RM
from remuda.conformance.stage import Stage
from remuda.si.pb import extension_pb2 as ext

SUBJECT: Final = Subject("operators", "Operators")

_START: Final = ext.ChangeObjectStateRequest.START
_STOP: Final = ext.ChangeObjectStateRequest.STOP


def _change(
    stage: Stage, rm: RM, queue: str, action: ext.ChangeObjectStateRequest.Action.ValueType
) -> None:
    """Start or stop a queue, or with "" the partition, and require the states of the answer."""
    request = ext.ChangeObjectStateRequest(
        rm_id=rm.rm_id, partition="default", queue=queue, action=action
    )
    answer = stage.call(stage.endpoint.admin.ChangeObjectState, request, "EXT-25")
    states = ["Active", "Stopped"] if action == _STOP else ["Stopped", "Active"]
    wanted = ext.ChangeObjectStateResponse(previous=states[0], current=states[1])
    expected = f"previous: {states[0]}, current: {states[1]}"
    stage.require(answer == wanted, "EXT-25", expected, answer, "ChangeObjectState")


@SUBJECT.check(
    "queue",
    "in a stopped queue nothing is placed, and everything else works",
    "OBJ-4",
    "EXT-25",
    level=Level.REMUDA,
    needs=[Needs.ADMIN],
)
def _queue(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(4)}, [application("app", "root.b"), "other"])
    rm.place("app", "k", vcores(1), "n")
    _change(stage, rm, "root.b", _STOP)
    rm.start(apps=[application("late", "root.b")])
    rm.asks(ask("app", "k2", vcores(1)))
    rm.place("other", "k", vcores(1), "n")
    rm.release(release("app", "k-0"))
    rm.expect(released("app", "k"))
    rm.fence()
    _change(stage, rm, "root.b", _START)
    rm.expect(placed("app", "k2", vcores(1), "n"), updated("app", "Running"))


@SUBJECT.check(
    "partition",
    "a stopped partition takes nothing and places nothing until it is started",
    "OBJ-8",
    "SI-20",
    "SI-40",
    "NODE-1",
    level=Level.REMUDA,
    needs=[Needs.ADMIN],
)
def _partition(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(4)}, ["app"])
    _change(stage, rm, "", _STOP)
    rm.applications(application("late"))
    rm.expect(rejected("late"), rule="SI-20")
    rm.nodes(node("m", vcores(1)))
    rm.expect(node_rejected("m"), rule="NODE-1")
    rm.existing(existing("app", "x", "n", vcores(1)))
    rm.expect(allocation_rejected("app", "x"), rule="SI-40")
    rm.asks(ask("app", "k", vcores(1)))
    rm.expect(updated("app", "Accepted"))
    rm.quiet("OBJ-8")
    _change(stage, rm, "", _START)
    rm.expect(placed("app", "k", vcores(1), "n"), updated("app", "Starting"))
    rm.applications(application("late"))
    rm.expect(accepted("late"))
    rm.nodes(node("m", vcores(1)))
    rm.expect(node_accepted("m"))


@SUBJECT.check(
    "unknown",
    "what does not exist cannot be stopped",
    "EXT-25",
    level=Level.REMUDA,
    needs=[Needs.ADMIN],
)
def _unknown(stage: Stage) -> None:
    rm = stage.rm()
    for where in (
        {"rm_id": rm.rm_id, "partition": "default", "queue": "root.none"},
        {"rm_id": rm.rm_id, "partition": "none", "queue": ""},
        {"rm_id": f"{stage.prefix}-none", "partition": "default", "queue": "root"},
    ):
        request = ext.ChangeObjectStateRequest(action=_STOP, **where)
        stage.refusal(stage.endpoint.admin.ChangeObjectState, request, "EXT-25")


@SUBJECT.check(
    "manager",
    "a resource manager that is stopped is told nothing, has to register, and stays in the list",
    "RM-17",
    level=Level.REMUDA,
    needs=[Needs.ADMIN],
)
def _manager(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(1)}, ["app"])
    rm.place("app", "k", vcores(1), "n")
    request = ext.StopResourceManagerRequest(rm_id=rm.rm_id, reason="to see what happens")
    answer = stage.call(stage.endpoint.admin.StopResourceManager, request, "RM-17")
    wanted = ext.UnregisterResponse(removed_partitions=1, removed_applications=1, removed_nodes=1)
    stage.require(answer == wanted, "RM-17", str(wanted), answer, "StopResourceManager")
    for kind in Kind:
        told = rm.stream(kind).waiting()
        if told:
            raise rm.failure("RM-17", "nothing", [each.text() for each in told])
    rm.hang_up()
    rm.open(Kind.NODE)
    rm.expect_end(Kind.NODE, grpc.StatusCode.FAILED_PRECONDITION, rule="RM-17")
    listed = stage.call(
        stage.endpoint.admin.ListResourceManagers, ext.ListResourceManagersRequest(), "RM-17"
    )
    states = [
        ext.ResourceManagerInfo.State.Name(each.state)
        for each in listed.resource_managers
        if each.rm_id == rm.rm_id
    ]
    stage.require(states == ["STOPPED"], "RM-17", "STOPPED", states, "ListResourceManagers")


@SUBJECT.check(
    "lists",
    "resource managers and partitions are listed with what they said and have",
    "RM-8",
    "RM-4",
    level=Level.REMUDA,
    needs=[Needs.ADMIN],
)
def _lists(stage: Stage) -> None:
    rm = stage.unregistered()
    rm.register(build={"made": "here"})
    rm.open()
    rm.start({"n": vcores(2)}, ["app"])
    rm.place("app", "k", vcores(1), "n")
    listed = stage.call(
        stage.endpoint.admin.ListResourceManagers, ext.ListResourceManagersRequest(), "RM-8"
    )
    mine = [
        (each.version, dict(each.build_info), list(each.partitions))
        for each in listed.resource_managers
        if each.rm_id == rm.rm_id
    ]
    wanted = [("1.5.1", {"made": "here", "rmId": rm.rm_id}, ["default"])]
    stage.require(mine == wanted, "RM-8", str(wanted), mine, "ListResourceManagers")
    partitions = stage.call(
        stage.endpoint.admin.ListPartitions, ext.ListPartitionsRequest(rm_id=rm.rm_id), "RM-8"
    ).partitions
    found = [(p.name, p.state, p.nodes, p.allocations) for p in partitions]
    rows = [("default", "Active", 1, 1)]
    stage.require(found == rows, "RM-8", f"name, state, nodes, allocations: {rows}", found)
