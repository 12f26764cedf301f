"""The values that the Python API takes and returns.

Their names are those of the scheduler interface, in Python spelling. Resources map the name of a
type to an amount in base units: thousandths of a core for ``vcore``, bytes for ``memory``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Literal, TypeAlias

from remuda.core.messages import commands as c

# What callers may write: whole base units, or a text as in a queue file ("4", "500m", "8Gi").
Amounts: TypeAlias = Mapping[str, int | str]


class TerminationType(IntEnum):
    """Why an allocation or an ask ends, with the names and numbers of the scheduler interface."""

    STOPPED_BY_RM = c.STOPPED_BY_RM
    TIMEOUT = c.TIMEOUT
    PREEMPTED_BY_SCHEDULER = c.PREEMPTED_BY_SCHEDULER
    PLACEHOLDER_REPLACED = c.PLACEHOLDER_REPLACED


@dataclass(frozen=True, slots=True)
class TaskGroup:
    """Members of a gang that are alike: room for all of them is reserved before one starts."""

    name: str
    min_member: int
    min_resource: Amounts
    priority: int = 0
    tags: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Ask:
    """What an application asks for: up to ``max_allocations`` allocations of the same size."""

    application_id: str
    allocation_key: str
    resource: Mapping[str, int]
    max_allocations: int = 1
    priority: int = 0
    task_group: str = ""
    placeholder: bool = False
    tags: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Allocation:
    """Room on a node, given to an ask. A placeholder only keeps it for a member of its gang."""

    application_id: str
    allocation_key: str
    allocation_id: str
    node_id: str
    resource: Mapping[str, int]
    priority: int = 0
    task_group: str = ""
    placeholder: bool = False
    tags: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Release:
    """An allocation that ended or has to end; without an ``allocation_id`` an ask that was dropped.

    ``ordered``: the scheduler wants it ended, and its room is taken until that is confirmed.
    """

    application_id: str
    allocation_key: str
    allocation_id: str
    termination_type: TerminationType
    message: str = ""

    @property
    def ordered(self) -> bool:
        """Whether this is an order, which is confirmed when the allocation has ended."""
        return bool(self.allocation_id) and self.termination_type != TerminationType.STOPPED_BY_RM


@dataclass(frozen=True, slots=True)
class Rejection:
    """Something the scheduler refused: which node, application or ask, why, and by which rule."""

    kind: Literal["node", "application", "ask", "release"]
    subject: str
    reason: str
    rule: str
    application_id: str = ""

    def __str__(self) -> str:
        """Return the refusal as one line."""
        where = f" of application {self.application_id!r}" if self.application_id else ""
        name = f" {self.subject!r}" if self.subject else ""
        return f"{self.kind}{name}{where} rejected: {self.reason} ({self.rule})"


@dataclass(frozen=True, slots=True)
class ApplicationUpdate:
    """An application entered a state; ``message`` is the event or the cause."""

    application_id: str
    state: str
    message: str = ""


@dataclass(frozen=True, slots=True)
class FairShare:
    """What one queue uses, and what it is owed.

    ``share``: by which its parent compares it with other queues; the one with the smallest is
    served first. ``owed``: by type, the part of its guarantee that is missing for the asks that
    wait in it now. ``guaranteed`` and ``maximum`` None: it has none.
    """

    queue: str
    leaf: bool
    allocated: Mapping[str, int]
    pending: Mapping[str, int]
    guaranteed: Mapping[str, int] | None
    maximum: Mapping[str, int] | None
    share: float
    priority: int
    owed: Mapping[str, int]


Outcome: TypeAlias = Allocation | Release | Rejection | ApplicationUpdate
