"""How much an answer shows, and what of it is beyond the scope of a caller (EXT-32)."""

from __future__ import annotations

from enum import Enum, auto
from typing import Final

from remuda.base.scopes import Scope
from remuda.config.findings import cut

# The partition that routes without one are about (REST-86).
DEFAULT_PARTITION: Final = "default"


class Reach(Enum):
    """What answers show.

    ``WHOLE``: the whole scheduler. ``PARTITION``: one partition as a whole, that of the path.
    ``PARTITIONS``: several as a whole; the handler leaves out those the caller may not see.
    ``QUEUE``: the queue of the path, and what is below it. ``APPLICATION``: one application of the
    partition of the path; the handler compares its queue with the scope. ``RECORDS``: event
    records; the handler leaves out those the caller may not see.
    """

    WHOLE = auto()
    PARTITION = auto()
    PARTITIONS = auto()
    QUEUE = auto()
    APPLICATION = auto()
    RECORDS = auto()


def beyond(
    reach: Reach,
    scope: Scope | None,
    rm_id: str,
    partition: str = DEFAULT_PARTITION,
    queue: str = "",
) -> str:
    """Return why a caller with a scope may not have an answer, "" if it may. Rules: EXT-32."""
    missing = "" if scope is None else _missing(reach, scope, rm_id, partition, queue)
    return f"The scope of the caller does not include {missing}" if missing else ""


def _missing(reach: Reach, scope: Scope, rm_id: str, partition: str, queue: str) -> str:
    """Return what is not in a scope, "" if nothing is missing."""
    match reach:
        case Reach.RECORDS:
            return ""
        case Reach.PARTITIONS:
            return "partitions as a whole" if scope.queues else ""
        case Reach.PARTITION if scope.includes(rm_id, partition, ""):
            return ""
        case Reach.PARTITION:
            return f"partition {cut(partition)} as a whole"
        case Reach.QUEUE if scope.includes(rm_id, partition, queue):
            return ""
        case Reach.QUEUE:
            return f"queue {cut(queue)} of partition {cut(partition)}"
        case Reach.APPLICATION if scope.has_partition(rm_id, partition):
            return ""
        case Reach.APPLICATION:
            return f"partition {cut(partition)}"
        case Reach.WHOLE:
            return "the whole scheduler"
