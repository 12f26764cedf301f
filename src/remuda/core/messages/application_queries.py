"""Read-only questions about single applications, and about many of them in portions.

Ended applications are kept for a while, and there may be very many. A reader that wants all of them
asks for an index, sorts it on its own thread, and then asks for a portion at a time.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from remuda.base.message import message
from remuda.core.messages.commands import NewApplication

# Which applications an index lists (REST-82, REST-121).
ACTIVE: Final = "active"
COMPLETED: Final = "completed"
REJECTED: Final = "rejected"
PENDING: Final = "pending"

# Sort key, application ID, arrival number: unique, and sorted by these in turn.
ApplicationKey: TypeAlias = tuple[tuple[object, ...], str, int]


@message
class ApplicationQuery:
    """One application by ID -> Rows[ApplicationView], empty if there is none.

    The live one is returned. If there is none, ``completed`` and ``rejected`` ask for the last one
    that ended so (REST-83). ``queue`` not empty: only an application of that queue (REST-34);
    UnknownQueue if it does not exist. None: no such partition.
    """

    partition: str
    application_id: str
    queue: str = ""
    completed: bool = False
    rejected: bool = False
    rm_id: str = ""


@message
class LiveIdsQuery:
    """The IDs of the live applications -> LiveIds. ``queue`` not empty: those in this leaf.

    None: no such partition; UnknownQueue: no such queue. A parent queue has none (REST-76).
    """

    partition: str
    queue: str = ""
    rm_id: str = ""


@message
class LiveIds:
    """Application IDs, oldest application first."""

    ids: tuple[str, ...]


@message
class SubmissionsQuery:
    """The live applications as their RM submitted them -> Submissions.

    None: no such partition. Rules: EXT-68.
    """

    partition: str
    rm_id: str = ""


@message
class Submissions:
    """Submitted applications, oldest first, with the groups that were looked up for them."""

    records: tuple[NewApplication, ...]


@message
class ApplicationIndexQuery:
    """The keys of applications of one kind -> ApplicationIndex, in no particular order (REST-82).

    ``which``: COMPLETED (with failed ones) or REJECTED: all that are kept. ACTIVE: live ones among
    ``ids``. PENDING: live ones among ``ids`` with waiting asks; their keys sort in the order they
    are served (QUE-40). ``status``: of the active ones only those in this state; case does not
    matter. None: no such partition.
    """

    partition: str
    which: str
    status: str = ""
    ids: tuple[str, ...] = ()
    rm_id: str = ""


@message
class ApplicationIndex:
    """The keys of applications. They sort by ID; those of pending ones sort as they are served."""

    keys: tuple[ApplicationKey, ...]


@message
class ApplicationPortionQuery:
    """Some applications of an index -> Rows[ApplicationView], in the order of ``keys``.

    Applications that left the index since are left out. None: no such partition.
    """

    partition: str
    which: str
    keys: tuple[ApplicationKey, ...]
    rm_id: str = ""


@message
class PendingPortionQuery:
    """What some applications of an index wait for -> tuple[PendingView, ...].

    In the order of ``keys``; applications that no longer wait are left out (REST-121). None: no
    such partition.
    """

    partition: str
    keys: tuple[ApplicationKey, ...]
    rm_id: str = ""


@message
class PendingView:
    """One application with asks that wait (REST-121).

    ``requests``: how many asks wait. The fields after it describe the ask that is served first: its
    key, the gate that stops it, what is in the way ("" if it was not examined yet), and since when.
    """

    application_id: str
    state: str
    user: str
    submission_time_ns: int
    max_request_priority: int
    pending: dict[str, int]
    requests: int
    allocation_key: str
    gate: str
    subject: str
    since_ns: int


@message
class AskOrderQuery:
    """The waiting asks of a live application -> AskOrder (REST-120). None: no such partition."""

    partition: str
    application_id: str
    rm_id: str = ""


@message
class AskOrder:
    """Allocation keys in the order in which their application's asks are served (QUE-44)."""

    allocation_keys: tuple[str, ...]


ApplicationQueries: TypeAlias = (
    ApplicationQuery
    | LiveIdsQuery
    | SubmissionsQuery
    | ApplicationIndexQuery
    | ApplicationPortionQuery
    | PendingPortionQuery
    | AskOrderQuery
)
