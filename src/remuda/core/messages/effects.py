"""Everything the scheduler does or reports, as flat records, in the order it happened.

A response of the scheduler interface is built from one effect, or from several of one kind in a
row. EventRecord is for observers and never changes a decision. Partition names are plain.

Implements: RM-23.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias, final

from remuda.base.message import message
from remuda.base.native import mypyc_attr
from remuda.core.messages.commands import Ask


@message
class Rejection:
    """One refused element: what it was, why, and the rule that refuses it."""

    subject: str
    reason: str
    rule: str
    application_id: str = ""


@message
class RegistrationAnswered:
    """Answer to RegisterResourceManager; an empty reason means success (RM-2)."""

    rm_id: str
    reason: str
    rule: str = ""


@message
class ConfigurationAnswered:
    """Answer to UpdateConfiguration.

    An empty reason: it is in force, or for a dry run could be (SI-85). ``problems``: one text for
    each obstacle; the first is the reason.
    """

    rm_id: str
    reason: str
    rule: str = ""
    problems: tuple[str, ...] = ()


@message
class ObjectStateAnswered:
    """Answer to ChangeObjectState.

    An empty reason: the object is in state ``current`` now (OBJ-4).
    """

    rm_id: str
    reason: str
    rule: str = ""
    previous: str = ""
    current: str = ""


@message
class ResourceManagerStopped:
    """An RM was paused too long: all its objects ended, without effects sent to it (RM-17)."""

    rm_id: str


@message
class ResourceManagerFailed:
    """A fault of the scheduler in work for an RM: all it had was dropped; it may register again.

    ``fault``: what kind of fault. No effect of the same call is sent to the RM (SI-15).
    """

    rm_id: str
    fault: str


@message
class RequestRefused:
    """The whole request was refused because its RM is not registered (SI-1)."""

    rm_id: str
    reason: str
    rule: str


@message
class ReleaseRefused:
    """A contradictory release: nothing happened, and the RM gets no answer (SI-64)."""

    rm_id: str
    reason: str
    rule: str


@message
class ApplicationsAnswered:
    """The verdicts on one request's new applications (SI-21). ``subject`` is the ID."""

    rm_id: str
    accepted: tuple[str, ...]
    rejected: tuple[Rejection, ...]


@message
class ApplicationUpdated:
    """An application entered a state (APP-1); ``message`` is the event's name or a cause."""

    rm_id: str
    application_id: str
    state: str
    timestamp_ns: int
    message: str


@final
@mypyc_attr(acyclic=True)
@dataclass(init=False, slots=True)
class AllocationNew:
    """An allocation was placed, or one reported by the RM was accepted (SI-42, SI-76).

    Its constructor is written out for speed, because every allocation makes one (see
    ``base.message``).
    """

    rm_id: Final[str]
    partition: Final[str]
    allocation_id: Final[str]
    node_id: Final[str]
    ask: Final[Ask]

    def __init__(
        self, rm_id: str, partition: str, allocation_id: str, node_id: str, ask: Ask
    ) -> None:
        self.rm_id = rm_id
        self.partition = partition
        self.allocation_id = allocation_id
        self.node_id = node_id
        self.ask = ask


@message
class ReleasedAllocation:
    """One ended allocation (SI-77)."""

    partition: str
    application_id: str
    allocation_id: str
    allocation_key: str
    termination_type: int
    message: str


@message
class AllocationsReleased:
    """Acknowledged or requested releases; one response."""

    rm_id: str
    released: tuple[ReleasedAllocation, ...]


@message
class ReleasedAsk:
    """One ask that the core dropped on its own (SI-70)."""

    partition: str
    application_id: str
    allocation_key: str
    termination_type: int
    message: str


@message
class AsksReleased:
    """Asks the core dropped at a timeout; one response (GANG-23, SI-70)."""

    rm_id: str
    released: tuple[ReleasedAsk, ...]


@message
class AsksRejected:
    """Refused asks of one request; ``subject`` is the allocation key (SI-31)."""

    rm_id: str
    rejected: tuple[Rejection, ...]


@message
class AllocationsRejected:
    """Refused existing allocations of one request; ``subject`` is the key (SI-40)."""

    rm_id: str
    rejected: tuple[Rejection, ...]


@message
class NodesAnswered:
    """The verdicts on one request's nodes (NODE-1, NODE-9, NODE-10)."""

    rm_id: str
    accepted: tuple[str, ...]
    rejected: tuple[Rejection, ...]


@final
@mypyc_attr(acyclic=True)
@dataclass(init=False, slots=True)
class EventRecord:
    """One record of the event system (EVT-1); ``resource`` None is the empty resource.

    ``kind``, ``change`` and ``detail`` are the numbers of events.py. ``rm_id``, ``partition`` and
    ``queue`` locate the event; they are not part of the wire record (EVT-13, EVT-130). ``queue``:
    the queue of the application concerned, "" without one.

    Its constructor is written out for speed, because each allocation makes several (see
    ``base.message``).

    Implements: EVT-1.
    """

    rm_id: Final[str]
    partition: Final[str]
    kind: Final[int]
    object_id: Final[str]
    reference_id: Final[str]
    change: Final[int]
    detail: Final[int]
    timestamp_ns: Final[int]
    resource: Final[Mapping[str, int] | None]
    message: Final[str]
    queue: Final[str]

    def __init__(
        self,
        rm_id: str,
        partition: str,
        kind: int,
        object_id: str,
        reference_id: str,
        change: int,
        detail: int,
        timestamp_ns: int,
        resource: Mapping[str, int] | None = None,
        message: str = "",
        queue: str = "",
    ) -> None:
        self.rm_id = rm_id
        self.partition = partition
        self.kind = kind
        self.object_id = object_id
        self.reference_id = reference_id
        self.change = change
        self.detail = detail
        self.timestamp_ns = timestamp_ns
        self.resource = resource
        self.message = message
        self.queue = queue


# The only SchedulingState of si.proto sent today: no node could take the ask.
FAILED: Final = 4


@message
class ContainerStateUpdated:
    """The state of an ask, for the RM's users; sent when the cluster is too small (CYC-30).

    ``state``: a SchedulingState of si.proto.
    """

    rm_id: str
    application_id: str
    allocation_key: str
    state: int
    reason: str


Effect: TypeAlias = (
    RegistrationAnswered
    | ConfigurationAnswered
    | ObjectStateAnswered
    | ResourceManagerStopped
    | ResourceManagerFailed
    | RequestRefused
    | ReleaseRefused
    | ApplicationsAnswered
    | ApplicationUpdated
    | AllocationNew
    | AllocationsReleased
    | AsksReleased
    | AsksRejected
    | AllocationsRejected
    | NodesAnswered
    | ContainerStateUpdated
    | EventRecord
)
