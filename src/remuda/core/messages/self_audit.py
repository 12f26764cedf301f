"""Questions of the self-audit: one slice of one kind of object for each answer (HLT-21).

A slice compares each object with its own parts at one moment: a node with what runs on it, a parent
queue with its children. So a change between two slices never looks like a fault.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from remuda.base.message import message

# What a slice is about.
NODES: Final = "nodes"
APPLICATIONS: Final = "applications"
QUEUES: Final = "queues"
LIMITS: Final = "limits"
RESERVATIONS: Final = "reservations"
TOTALS: Final = "totals"

# All of them, in the order of a round.
PARTS: Final = (NODES, APPLICATIONS, QUEUES, LIMITS, RESERVATIONS, TOTALS)

# Where a slice begins: how many nodes, or up to which arrival number, the round has come; the name
# of the last node or of the next queue; and how many steps of that queue or partition are done.
SlicePlace: TypeAlias = tuple[int, str, int]

START: Final[SlicePlace] = (0, "", 0)


@message
class SelfAuditQuery:
    """A slice of one partition -> SelfAuditView, or None if the partition is unknown.

    ``part``: one of PARTS. ``place``: what the answer before said. Cost: about 2 ms.
    """

    partition: str
    rm_id: str
    part: str
    place: SlicePlace = START


@message
class Violation:
    """A value that is not what its parts say.

    ``kind``, ``name``: the object, as in an event record (EVT-2, EVT-13); ``reference``: an
    allocation or an ask of it, "" for none. ``what``: the value; it identifies the violation while
    the amounts change. ``text``: the value, and what it should be.
    """

    kind: int
    name: str
    what: str
    text: str
    reference: str = ""


@message
class SelfAuditView:
    """The violations in a slice. ``next``: where the next one begins, None after the last."""

    violations: tuple[Violation, ...]
    next: SlicePlace | None
