"""Read-only questions about single applications, and about many of them in portions.

Applications that ended are kept for a while, and there may be very many: who wants them all asks
for an index, puts that in order by himself, and then asks for some of them at a time.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from remuda.base.message import message

# Which applications an index lists (REST-82, REST-121).
ACTIVE: Final = "active"
COMPLETED: Final = "completed"
REJECTED: Final = "rejected"
PENDING: Final = "pending"

# Place in an order, application ID, arrival number: unique, and sorted this way.
ApplicationKey: TypeAlias = tuple[tuple[object, ...], str, int]


@message
class ApplicationQuery:
    """One application by ID -> tuple[ApplicationView, ...], empty if there is none.

    A live one comes first; without one the last that ended, if ``completed`` or ``rejected`` are
    wanted (REST-83). ``queue`` not empty: only in that one (REST-34); UnknownQueue if it does not
    exist. None: no such partition.
    """

    partition: str
    application_id: str
    queue: str = ""
    completed: bool = False
    rejected: bool = False
    rm_id: str = ""


@message
class LiveIdsQuery:
    """What live applications there are -> LiveIds. ``queue`` not empty: those in this leaf.

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
class ApplicationIndexQuery:
    """What applications there are -> ApplicationIndex, in no particular order (REST-82).

    ``which``: COMPLETED (failed ones among them) or REJECTED: all that are kept. ACTIVE, or
    PENDING, those with asks that wait, to be sorted as they are served (QUE-40): as far as they are
    among ``ids``. ``status``: of the active ones only those in this state, in any case. None: no
    such partition.
    """

    partition: str
    which: str
    status: str = ""
    ids: tuple[str, ...] = ()
    rm_id: str = ""


@message
class ApplicationIndex:
    """The keys of applications. Sorted they are in order of ID, the pending ones as served."""

    keys: tuple[ApplicationKey, ...]


@message
class ApplicationPortionQuery:
    """Some applications of an index -> tuple[ApplicationView, ...], in the order of ``keys``.

    Those that went elsewhere meanwhile are left out. None: no such partition.
    """

    partition: str
    which: str
    keys: tuple[ApplicationKey, ...]
    rm_id: str = ""


@message
class PendingPortionQuery:
    """What some applications of an index wait for -> tuple[PendingView, ...].

    In the order of ``keys``, without those that wait no longer (REST-121). None: no such partition.
    """

    partition: str
    keys: tuple[ApplicationKey, ...]
    rm_id: str = ""


@message
class PendingView:
    """One application with asks that wait (REST-121).

    ``requests``: how many asks; the others tell about the one that is served first: its key, the
    gate it waits for and what is in the way ("" if nobody looked at it yet), and since when.
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
    | ApplicationIndexQuery
    | ApplicationPortionQuery
    | PendingPortionQuery
    | AskOrderQuery
)
