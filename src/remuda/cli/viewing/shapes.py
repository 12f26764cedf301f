"""The shapes of the answers that commands read, by route: which type a member has.

An answer is compared with its shape before anything of it is used. A member that no command reads
is not in a shape, and may have any type; each member may be missing or null, unless it says
``Required``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Final, Required, TypeAlias, TypedDict

import msgspec

from remuda.cli.server import NotReachableError, odd_answer

# Amounts and times are no larger than this, as the scheduler's are.
Int: TypeAlias = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
_Number: TypeAlias = Int | None
_Text: TypeAlias = str | None
_Name: TypeAlias = Annotated[str, msgspec.Meta(min_length=1)]
_Amounts: TypeAlias = dict[str, Int] | None
_Texts: TypeAlias = dict[str, str] | None


class _Finding(TypedDict, total=False):
    gate: _Text
    subject: _Text
    count: _Number
    requested: _Amounts
    available: _Amounts
    nodes: _NodesTried | None
    preemption: _Text


class _NodesTried(TypedDict, total=False):
    total: _Number
    draining: _Number
    reserved: _Number
    tooSmall: _Number
    noRoom: _Number
    refused: _Number
    reasons: _Amounts


class _Queue(TypedDict, total=False):
    queuename: Required[_Name]
    status: _Text
    allocatedResource: _Amounts
    pendingResource: _Amounts
    guaranteedResource: _Amounts
    maxResource: _Amounts
    preemptingResource: _Amounts
    headroom: _Amounts
    runningApps: _Number
    maxRunningApps: _Number
    currentPriority: _Number
    sortingPolicy: _Text
    isLeaf: bool | None
    properties: _Texts
    children: list[_Queue] | None


class _Held(TypedDict, total=False):
    """An ask or an allocation."""

    applicationId: _Text
    allocationKey: _Text
    allocationID: _Text
    allocationTags: _Texts
    nodeId: _Text
    requiredNodeId: _Text
    taskGroupName: _Text
    priority: _Text
    resource: _Amounts
    pendingCount: _Number
    requestTime: _Number
    allocationTime: _Number
    placeholder: bool | None
    preempted: bool | None
    finding: _Finding | None


class _State(TypedDict, total=False):
    time: _Number
    applicationState: _Text


class _TaskGroup(TypedDict, total=False):
    taskGroupName: _Text
    count: _Number
    replaced: _Number
    timedout: _Number
    minResource: _Amounts


class _Application(TypedDict, total=False):
    applicationID: _Name
    applicationState: _Text
    queueName: _Text
    user: _Text
    groups: list[str] | None
    usedResource: _Amounts
    pendingResource: _Amounts
    submissionTime: _Number
    finishedTime: _Number
    maxRequestPriority: _Number
    rejectedMessage: _Text
    requests: list[_Held] | None
    allocations: list[_Held] | None
    reservations: list[str] | None
    stateLog: list[_State] | None
    placeholderData: list[_TaskGroup] | None
    preemptions: list[Int] | None
    evictions: list[Int] | None


class _Node(TypedDict, total=False):
    nodeID: _Text
    hostName: _Text
    rackName: _Text
    schedulable: bool | None
    drainedByOperator: bool | None
    ready: bool | None
    attributes: _Texts
    capacity: _Amounts
    allocated: _Amounts
    available: _Amounts
    occupied: _Amounts
    utilized: _Amounts
    allocations: list[_Held] | None
    reservations: list[str] | None


class _UsedQueue(TypedDict, total=False):
    queuePath: _Text
    resourceUsage: _Amounts
    maxResources: _Amounts
    maxApplications: _Number
    runningApplications: list[str] | None
    children: list[_UsedQueue] | None


class _User(TypedDict, total=False):
    userName: _Text
    groups: _Texts
    queues: _UsedQueue | None


class _Group(TypedDict, total=False):
    groupName: _Text
    queues: _UsedQueue | None


class _Victim(TypedDict, total=False):
    applicationId: _Text
    allocationID: _Text
    queueName: _Text
    nodeId: _Text
    resource: _Amounts
    confirmed: bool | None


class _Preemption(TypedDict, total=False):
    number: _Number
    kind: _Text
    outcome: _Text
    queueName: _Text
    applicationId: _Text
    allocationKey: _Text
    nodeId: _Text
    cause: _Text
    freed: _Amounts
    time: _Number
    finishedTime: _Number
    victims: list[_Victim] | None
    reasons: list[str] | None


class _Preemptions(TypedDict, total=False):
    preemptions: Required[list[_Preemption]]


class _Whole(TypedDict, total=False):
    capacity: _Amounts
    usedCapacity: _Amounts


class _Sorting(TypedDict, total=False):
    type: _Text


class _Partition(TypedDict, total=False):
    name: _Text
    clusterId: _Text
    state: _Text
    capacity: _Whole | None
    applications: _Amounts
    totalNodes: _Number
    totalContainers: _Number
    nodeSortingPolicy: _Sorting | None
    preemptionEnabled: bool | None


class _Share(TypedDict, total=False):
    queueName: _Text
    share: float | None
    allocated: _Amounts
    pending: _Amounts
    guaranteed: _Amounts
    maximum: _Amounts
    owed: _Amounts
    belowSince: _Number
    priority: _Number
    isLeaf: bool | None


class _ShareOfQueue(TypedDict):
    queue: _Share


class _Waiting(TypedDict, total=False):
    """An application in the order of service of its queue."""

    position: _Number
    applicationID: _Text
    user: _Text
    pendingRequests: _Number
    allocationKey: _Text
    reason: _Text
    subject: _Text


class _WaitingAsk(TypedDict, total=False):
    allocationKey: _Text
    reason: _Text
    subject: _Text
    since: _Number
    finding: _Finding | None


class _Pending(TypedDict, total=False):
    position: _Number
    of: _Number
    queueName: _Text
    requests: list[_WaitingAsk] | None


class _Value(TypedDict, total=False):
    value: _Number


class _Resources(TypedDict, total=False):
    resources: dict[str, _Value] | None


class _Record(TypedDict, total=False):
    type: _Number
    objectID: _Text
    referenceID: _Text
    message: _Text
    timestampNano: _Number
    eventChangeType: _Number
    eventChangeDetail: _Number
    resource: _Resources | None


class _Event(TypedDict, total=False):
    id: Required[Int]
    record: Required[_Record]
    partition: _Text
    queue: _Text
    rmID: _Text


class _Batch(TypedDict, total=False):
    EventRecords: list[_Event] | None


class _Line(TypedDict, total=False):
    """A line of the stream of events: which process it is of, a gap, or a record."""

    InstanceUUID: str
    id: Int
    record: _Record
    partition: _Text
    queue: _Text
    rmID: _Text


_Count: TypeAlias = Annotated[str, msgspec.Meta(pattern=r"^[0-9]{1,18}$")]


class _Applications(TypedDict):
    timestamp: Int
    totalApplications: _Count


class _Containers(TypedDict):
    timestamp: Int
    totalContainers: _Count


# A route below /ws/v1/, with * for each name -> the shape of its answer.
_SHAPES: Final[Mapping[str, Any]] = {
    "partitions": list[_Partition],
    "partition/*/queues": _Queue,
    "partition/*/queue/*": _Queue,
    "partition/*/queue/*/applications": list[_Application],
    "partition/*/queue/*/pending": list[_Waiting],
    "partition/*/queue/*/fairshare": _ShareOfQueue,
    "partition/*/fairshare": list[_Share],
    "partition/*/applications/active": list[_Application],
    "partition/*/applications/completed": list[_Application],
    "partition/*/applications/rejected": list[_Application],
    "partition/*/application/*": _Application,
    "partition/*/application/*/pending": _Pending,
    "partition/*/nodes": list[_Node],
    "partition/*/node/*": _Node,
    "partition/*/usage/users": list[_User],
    "partition/*/usage/user/*": _User,
    "partition/*/usage/groups": list[_Group],
    "partition/*/usage/group/*": _Group,
    "partition/*/preemptions": _Preemptions,
    "partition/*/preemption/*": _Preemption,
    "events/batch": _Batch,
    "events/stream": _Line,
    "history/apps": list[_Applications],
    "history/containers": list[_Containers],
}

_PATTERNS: Final = tuple(
    (re.compile(f"/ws/v1/{route.replace('*', '[^/]+')}"), shape) for route, shape in _SHAPES.items()
)


def check_shape(found: object, path: str) -> None:
    """Check that an answer has the types that the route of ``path`` has. Implements: EXT-114.

    Raises: NotReachableError that names the member with another type.
    """
    shape = next(shape for pattern, shape in _PATTERNS if pattern.fullmatch(path))
    try:
        msgspec.convert(found, shape)
    except msgspec.ValidationError as error:
        raise strange(path, str(error)) from None
    except RecursionError:
        raise strange(path, "it is nested too deeply") from None


def strange(path: str, why: str) -> NotReachableError:
    """Return the error for an answer that is not the one of a scheduler of this version."""
    what = why.replace("`", "'").replace("Expected ", "expected ", 1)
    return odd_answer(f"the server answered {path} with what no command reads: {what}")
