"""The messages that a simulated resource manager sends."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from remuda.si.pb import si_pb2 as si
from remuda.si.wire import resource
from tools.chaos.belief import Belief, Task

# The group of the members of a gang, and how many they are.
GROUP: Final = "members"
GANG: Final = 3
# Thousandths of cores of each of them.
MEMBER_CORES: Final = 500

# A gang's queue must be sorted by arrival (SI-20).
GANG_QUEUE: Final = "root.c"
PROBE_QUEUE: Final = "root.probe"
# The highest usage of each queue, in thousandths of cores. Nodes have more in total, and the node
# for probes has room for nothing else, so a probe always fits.
MAXIMA: Final[Mapping[str, int]] = {"root.a": 5_000, "root.b": 4_000, "root.b.x": 3_000}
LEAVES: Final = ("root.a", "root.b.x", "root.b.y", GANG_QUEUE)
NODES: Final[Mapping[str, int]] = {"n1": 4_000, "n2": 4_000, "n3": 4_000, "probes": 100}

QUEUES: Final = """\
partitions:
  - name: default
    queues:
      - name: root
        submitacl: "*"
        queues:
          - {name: a, resources: {max: {vcore: 5}}}
          - name: b
            resources: {max: {vcore: 4}}
            queues: [{name: x, resources: {max: {vcore: 3}}}, {name: y}]
          - {name: c, properties: {application.sort.policy: fifo}}
          - {name: probe}
"""
# Health is looked at often, so that a round need not wait for it.
SETTINGS: Final[Mapping[str, str]] = {"health.checkInterval": "1s"}


def node_request(
    nodes: Mapping[str, int],
    action: si.NodeInfo.ActionFromRM.ValueType,
    running: Mapping[str, Task] | None = None,
) -> si.NodeRequest:
    """Nodes with what runs on them, or a change of their state."""
    return si.NodeRequest(
        nodes=[
            si.NodeInfo(
                nodeID=name,
                action=action,
                schedulableResource=resource({"vcore": cores}),
                existingAllocations=[
                    allocation(identity, task)
                    for identity, task in (running or {}).items()
                    if task.node == name
                ],
            )
            for name, cores in nodes.items()
        ]
    )


def allocation(identity: str, task: Task) -> si.Allocation:
    """A task that runs."""
    return si.Allocation(
        allocationKey=task.key,
        allocationID=identity,
        UUID=identity,
        applicationID=task.application,
        nodeID=task.node,
        resourcePerAlloc=resource({"vcore": task.cores}),
        taskGroupName=GROUP if task.role else "",
        placeholder=task.role == "placeholder",
    )


def submissions(applications: Mapping[str, str]) -> si.ApplicationRequest:
    """New applications, by name with their queues."""
    gang = resource({"vcore": GANG * MEMBER_CORES})
    return si.ApplicationRequest(
        new=[
            si.AddApplicationRequest(
                applicationID=name,
                queueName=queue,
                ugi=si.UserGroupInformation(user="ann", groups=["dev"]),
                placeholderAsk=gang if queue == GANG_QUEUE else None,
                gangSchedulingStyle="Soft" if queue == GANG_QUEUE else "",
            )
            for name, queue in applications.items()
        ]
    )


def removal(application: str) -> si.ApplicationRequest:
    """The end of an application with all it has."""
    return si.ApplicationRequest(remove=[si.RemoveApplicationRequest(applicationID=application)])


def asks(tasks: Iterable[Task]) -> si.AllocationRequest:
    """Asks for one allocation each."""
    return si.AllocationRequest(
        asks=[
            si.AllocationAsk(
                allocationKey=task.key,
                applicationID=task.application,
                resourceAsk=resource({"vcore": task.cores}),
                maxAllocations=1,
                taskGroupName=GROUP if task.role else "",
                placeholder=task.role == "placeholder",
            )
            for task in tasks
        ]
    )


def withdrawal(task: Task) -> si.AllocationRequest:
    """The end of an ask."""
    release = si.AllocationAskRelease(applicationID=task.application, allocationKey=task.key)
    return si.AllocationRequest(
        releases=si.AllocationReleasesRequest(allocationAsksToRelease=[release])
    )


def release(
    application: str, identity: str, kind: si.TerminationType.ValueType = si.STOPPED_BY_RM
) -> si.AllocationRequest:
    """The end of an allocation, or the confirmation of an order to end it."""
    entry = si.AllocationRelease(
        applicationID=application, UUID=identity, allocationID=identity, terminationType=kind
    )
    return si.AllocationRequest(releases=si.AllocationReleasesRequest(allocationsToRelease=[entry]))


def running(belief: Belief) -> si.AllocationRequest:
    """Everything that runs."""
    return si.AllocationRequest(
        allocations=[allocation(identity, task) for identity, task in belief.running.items()]
    )
