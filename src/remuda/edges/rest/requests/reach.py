"""How much an answer shows, and who may see it whose reading has a scope (EXT-32).

Each route says so next to its path. A route that says nothing shows the whole scheduler, so it is
refused to all callers with a scope.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import Final

from remuda.config.findings import cut
from remuda.edges.rest.requests.asking import Asked
from remuda.edges.rest.requests.errors import ApiError

# The partition that routes without one are about (REST-86).
DEFAULT_PARTITION: Final = "default"


class Reach(Enum):
    """What the answers of a route show.

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


def require_scope(reach: Reach, asked: Asked) -> None:
    """Go on only if the caller may see what a route shows. Raises: ApiError 403.

    Implements: EXT-32.
    """
    missing = "" if asked.scope is None else _missing(reach, asked)
    if missing:
        raise ApiError(403, f"The scope of the caller does not include {missing}")


def _missing(reach: Reach, asked: Asked) -> str:
    """Return what is not in the scope of a caller that has one, "" if nothing is missing."""
    scope = asked.scope
    assert scope is not None
    partition = asked.path.get("partition", DEFAULT_PARTITION)
    match reach:
        case Reach.RECORDS:
            return ""
        case Reach.PARTITIONS:
            return "partitions as a whole" if scope.queues else ""
        case Reach.PARTITION if asked.sees(partition):
            return ""
        case Reach.PARTITION:
            return f"partition {cut(partition)} as a whole"
        case Reach.QUEUE if scope.includes(asked.rm_id, partition, asked.path["queue"]):
            return ""
        case Reach.QUEUE:
            return f"queue {cut(asked.path['queue'])} of partition {cut(partition)}"
        case Reach.APPLICATION if scope.has_partition(asked.rm_id, partition):
            return ""
        case Reach.APPLICATION:
            return f"partition {cut(partition)}"
        case Reach.WHOLE:
            return "the whole scheduler"
