"""Everything that can happen to the scheduler, as flat records.

One command is one request of a resource manager (RM). Its lists are processed in the order of SI-3,
and its verdicts are answered together (SI-4). The caller finds out what the core
cannot know before it builds a command: it parses configuration text and looks up user groups.

Names are those of the scheduler interface, in Python spelling. Resources are sparse maps from
type name to an amount in base units (RES-1, RES-2). Partition names are as the RM sent them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Final, TypeAlias

from remuda.base.message import message
from remuda.base.resources import Resource
from remuda.base.scopes import Scope
from remuda.config.schema import Configuration
from remuda.core.messages.ask import Ask as Ask  # noqa: PLC0414 - offered here, with the rest
from remuda.core.messages.ask import Tags as Tags  # noqa: PLC0414

# TerminationType of si.proto: why an allocation or ask ends.
UNKNOWN_TERMINATION_TYPE: Final = 0
STOPPED_BY_RM: Final = 1
TIMEOUT: Final = 2
PREEMPTED_BY_SCHEDULER: Final = 3
PLACEHOLDER_REPLACED: Final = 4


@message
class RegisterResourceManager:
    """An RM registers; an RM with the same ID is removed first (chapter 70 section 2).

    ``predicates``: the RM answers predicate questions, so the scheduler's port is asked about its
    nodes. ``preemption_predicates``: the same for questions about victims. Answered by
    RegistrationAnswered.
    """

    rm_id: str
    config: Configuration
    version: str = ""
    policy_group: str = ""
    build_info: Mapping[str, str] = field(default_factory=dict)
    extra_config: Mapping[str, str] = field(default_factory=dict)
    predicates: bool = False
    preemption_predicates: bool = False


@message
class UnregisterResourceManager:
    """An RM leaves, or stayed away too long: all its objects end (RM-17, RM-19). No answer."""

    rm_id: str


@message
class PauseResourceManager:
    """The core decides nothing for an RM until it is resumed. No answer. Repeating is harmless.

    ``timers`` True: its connection is lost. Its timers stand still too, and it is stopped if that
    lasts too long (RM-15, RM-18). False: it only takes no messages at the moment (EXT-6). An RM may
    be paused for both reasons; each pause ends separately.
    """

    rm_id: str
    timers: bool = True


@message
class ResumeResourceManager:
    """A pause of an RM is over; its timers go on with their remaining time. No answer.

    ``timers``: which of the two pauses, as in PauseResourceManager. Repeating is harmless. Rules:
    RM-15, EXT-6.
    """

    rm_id: str
    timers: bool = True


# What ChangeObjectState asks for, as ChangeObjectStateRequest.Action of extension.proto.
START: Final = 1
STOP: Final = 2


@message
class ChangeObjectState:
    """An operator starts or stops a queue, a node, or a partition without either (OBJ-4, EXT-25).

    A node that is stopped is drained (EXT-176). Answered by ObjectStateAnswered.
    """

    rm_id: str
    partition: str = ""
    queue: str = ""
    action: int = 0
    node: str = ""


@message
class UpdateConfiguration:
    """The configuration of a registered RM changes while it runs (chapter 70 section 10).

    A ``config`` with the checksum in force changes no queue (CHK-5). ``extra_config`` replaces the
    whole map; None leaves it as it is. ``dry_run``: only answer whether it could be applied
    (EXT-24). Answered by ConfigurationAnswered.
    """

    rm_id: str
    config: Configuration
    extra_config: Mapping[str, str] | None = None
    dry_run: bool = False


@message
class NewApplication:
    """One application to add (SI-20). ``queue`` is what the RM asks for, input to placement.

    ``groups``: the RM's, or else those looked up before this command was built. ``user_fault``: why
    the lookup failed, "" if it did not (UGR-2, UGR-6). ``within``: only a queue in this scope may
    take it (EXT-33); None: any.
    """

    application_id: str
    queue: str = ""
    partition: str = ""
    user: str = ""
    groups: tuple[str, ...] = ()
    tags: Tags = field(default_factory=dict)
    execution_timeout_ms: int = 0
    placeholder_ask: Resource = field(default_factory=dict)
    gang_scheduling_style: str = ""
    user_fault: str = ""
    within: Scope | None = None


@message
class ApplicationRemoval:
    """One application to remove with all its asks and allocations (SI-29)."""

    application_id: str
    partition: str = ""


@message
class Unreadable:
    """An element of a request that is no record, because something in it is too large.

    ``subject``: its ID or key, cut; ``reason``: what is wrong and what to do.
    """

    subject: str
    reason: str
    application_id: str = ""


@message
class UpdateApplications:
    """ApplicationRequest: adds first, then removals.

    ``continued``, ``unreadable``: as in UpdateAllocations.
    """

    rm_id: str
    new: tuple[NewApplication, ...] = ()
    remove: tuple[ApplicationRemoval, ...] = ()
    continued: bool = False
    unreadable: tuple[Unreadable, ...] = ()


@message
class ExistingAllocation:
    """An allocation the RM already runs (chapter 70 section 6).

    ``allocation_id`` "": its key identifies it. ``identity_fault``: why neither identifies it, ""
    if one does.
    """

    ask: Ask
    allocation_id: str
    node_id: str
    identity_fault: str = ""


@message
class AskRelease:
    """Asks to drop: one key, or all of the application when the key is empty (SI-50)."""

    application_id: str
    allocation_key: str = ""
    partition: str = ""
    termination_type: int = STOPPED_BY_RM


@message
class AllocationRelease:
    """Allocations to end, or the confirmation of a release request of the core (SI-60, SI-61)."""

    application_id: str
    allocation_id: str = ""
    allocation_key: str = ""
    partition: str = ""
    termination_type: int = STOPPED_BY_RM
    message: str = ""

    def by_rm(self) -> bool:
        """Whether the RM ends it on its own, and confirms no release request.

        Rules: SI-60.
        """
        return self.termination_type in (UNKNOWN_TERMINATION_TYPE, STOPPED_BY_RM)


@message
class UpdateAllocations:
    """AllocationRequest: existing allocations, asks, ask releases, releases, in that order.

    ``continued``: only a part of a request, of which more follows; nothing is decided for the RM
    until the last part was handled. ``unreadable``: asks that are refused; ``unreadable_existing``:
    allocations that are.
    """

    rm_id: str
    allocations: tuple[ExistingAllocation, ...] = ()
    asks: tuple[Ask, ...] = ()
    ask_releases: tuple[AskRelease, ...] = ()
    releases: tuple[AllocationRelease, ...] = ()
    continued: bool = False
    unreadable: tuple[Unreadable, ...] = ()
    unreadable_existing: tuple[Unreadable, ...] = ()


# ActionFromRM of si.proto: what to do with a node.
UNKNOWN_ACTION: Final = 0
CREATE: Final = 1
UPDATE: Final = 2
DRAIN_NODE: Final = 3
DECOMISSION: Final = 4
DRAIN_TO_SCHEDULABLE: Final = 5
CREATE_DRAIN: Final = 6


@message
class NodeUpdate:
    """One action on one node (chapter 70 section 9).

    ``capacity`` and ``occupied`` None: not in the message. The partition comes from the
    attribute ``si/node-partition``. ``within``: only a partition in this scope may get a new node
    (EXT-33); None: any.
    """

    node_id: str
    action: int
    capacity: Resource | None = None
    occupied: Resource | None = None
    attributes: Mapping[str, str] = field(default_factory=dict)
    existing: tuple[ExistingAllocation, ...] = ()
    within: Scope | None = None


@message
class UpdateNodes:
    """NodeRequest: actions in list order.

    ``continued``, ``unreadable``: as in UpdateAllocations.
    """

    rm_id: str
    nodes: tuple[NodeUpdate, ...] = ()
    continued: bool = False
    unreadable: tuple[Unreadable, ...] = ()


@message
class PredicateVerdict:
    """An RM's verdicts on the nodes of one question (EXT-13, EXT-17).

    ``ticket``: the number of the question. ``passed``: acceptable nodes. ``refused``: other nodes,
    each with the reason. ``void``: nodes whose verdicts are out of date (EXT-5). All other nodes
    were not evaluated. ``unknown``: the RM no longer has the ask.
    """

    ticket: int
    passed: tuple[str, ...] = ()
    refused: tuple[tuple[str, str], ...] = ()
    void: tuple[str, ...] = ()
    unknown: bool = False


@message
class PredicateVerdicts:
    """Answers to questions the predicate port left open; also the news that none will come.

    No answer.
    """

    rm_id: str
    verdicts: tuple[PredicateVerdict, ...] = ()


@message
class BindPredicates:
    """An RM begins or stops to answer predicate questions (EXT-12). No answer.

    Its open questions end. ``preemption``: whether it answers questions about victims.
    """

    rm_id: str
    predicates: bool
    preemption: bool = False


@message
class PreemptionVerdicts:
    """The answer to a question about victims that the port left open (EXT-18). No answer.

    ``verdicts``: for each item of the question, from the first one on: whether the node would do,
    and the index of the last victim needed, -1 if none is. Empty: no answer came.
    """

    rm_id: str
    ticket: int
    verdicts: tuple[tuple[bool, int], ...] = ()


@message
class LimitGrowth:
    """The process runs short of memory: refuse what is new for ``reason`` (EXT-39). No answer.

    ``reason`` "": there is enough again. No RM sends this.
    """

    reason: str = ""
    rm_id: str = ""


@message
class MoveWallClock:
    """The wall clock is ahead of the scheduler's time by another amount from now on (CYC-34).

    No RM sends this. It moves no timer. All times in messages are wall-clock times.
    """

    ahead_ns: int
    rm_id: str = ""


Command: TypeAlias = (
    RegisterResourceManager
    | UnregisterResourceManager
    | PauseResourceManager
    | ResumeResourceManager
    | ChangeObjectState
    | UpdateConfiguration
    | UpdateApplications
    | UpdateAllocations
    | UpdateNodes
    | PredicateVerdicts
    | PreemptionVerdicts
    | BindPredicates
    | LimitGrowth
    | MoveWallClock
)
