"""Requests of the scheduler interface, in the form of level 1.6 and later (SI-111).

There an ask is an allocation without a node, and its key is its only identity. So a task has the
same key before and after a restart.
"""

from __future__ import annotations

from typing import Final

from remuda.local.commands import amounts_of
from remuda.local.effects import AddApplication, AskFor, ReleaseTask, ReportTask
from remuda.local.machine import Machine
from remuda.local.records import Command
from remuda.si.generation import SI_LEVEL
from remuda.si.pb import si_pb2 as si
from remuda.si.wire import resource

RM_ID: Final = "local"
PARTITION: Final = "default"

_LEVEL: Final = "1.6"
_GROUP: Final = "task"
_FORCED: Final = "application.create.force"
_CREATED: Final = "creationTime"


def registration(config: str) -> si.RegisterResourceManagerRequest:
    """Return the registration; ``config``: a queue file, "" for that of the scheduler."""
    return si.RegisterResourceManagerRequest(
        rmID=RM_ID,
        version="local",
        policyGroup="local",
        config=config,
        buildInfo={SI_LEVEL: _LEVEL},
    )


def node(machine: Machine, bounds: str) -> si.NodeRequest:
    """Return this machine as a new node. ``bounds``: how tasks are bound. Rules: EXT-136."""
    made = si.NodeInfo(
        nodeID=machine.name,
        action=si.NodeInfo.CREATE,
        attributes={
            "si/hostname": machine.name,
            "si/node-partition": PARTITION,
            "remuda/taskBounds": bounds,
        },
        schedulableResource=resource(machine.capacity()),
    )
    return si.NodeRequest(rmID=RM_ID, nodes=[made])


def application(effect: AddApplication) -> si.ApplicationRequest:
    """Return the application of a command. One that runs already is never refused (SI-25)."""
    wanted = effect.command.wanted
    total = amounts_of(wanted.resources, wanted.gang) if effect.gang else None
    made = si.AddApplicationRequest(
        applicationID=effect.command.application,
        queueName=wanted.queue,
        partitionName=PARTITION,
        ugi=si.UserGroupInformation(user=wanted.user),
        tags={_FORCED: "true"} if effect.runs else {},
        placeholderAsk=None if total is None else resource(total),
        gangSchedulingStyle="" if total is None else "Hard",
    )
    return si.ApplicationRequest(rmID=RM_ID, new=[made])


def removal(application_id: str) -> si.ApplicationRequest:
    """Return the removal of an application."""
    made = si.RemoveApplicationRequest(applicationID=application_id, partitionName=PARTITION)
    return si.ApplicationRequest(rmID=RM_ID, remove=[made])


def ask(effect: AskFor) -> si.AllocationRequest:
    """Return the ask for a task or placeholder."""
    made = _allocation(effect.command, effect.key, "")
    if effect.gang:
        made.taskGroupName = _GROUP
        made.placeholder = effect.placeholder
    return si.AllocationRequest(rmID=RM_ID, allocations=[made])


def report(effect: ReportTask, machine: Machine) -> si.AllocationRequest:
    """Return what says that a task runs already."""
    made = _allocation(effect.command, effect.key, machine.name)
    return si.AllocationRequest(rmID=RM_ID, allocations=[made])


def release(effect: ReleaseTask) -> si.AllocationRequest:
    """Return what gives back a task or placeholder."""
    made = si.AllocationRelease(
        partitionName=PARTITION,
        applicationID=effect.application,
        allocationKey=effect.key,
        terminationType=si.TerminationType.ValueType(effect.kind),
    )
    releases = si.AllocationReleasesRequest(allocationsToRelease=[made])
    return si.AllocationRequest(rmID=RM_ID, releases=releases)


def _allocation(command: Command, key: str, node_id: str) -> si.Allocation:
    wanted = command.wanted
    return si.Allocation(
        allocationKey=key,
        applicationID=command.application,
        partitionName=PARTITION,
        nodeID=node_id,
        allocationTags={_CREATED: str(wanted.submitted_s)},
        resourcePerAlloc=resource(wanted.resources),
        priority=wanted.priority,
    )
