"""Refuses requests whose answer is beyond the scope of the caller (EXT-32).

Each route says next to its path how much it shows. A route that says nothing shows the whole
scheduler, so it is refused to all callers with a scope.
"""

from __future__ import annotations

from remuda.edges.questions.reach import DEFAULT_PARTITION, Reach, beyond
from remuda.edges.rest.requests.asking import Asked
from remuda.edges.rest.requests.errors import ApiError


def require_scope(reach: Reach, asked: Asked) -> None:
    """Go on only if the caller may see what a route shows. Raises: ApiError 403.

    Implements: EXT-32.
    """
    partition = asked.path.get("partition", DEFAULT_PARTITION)
    fault = beyond(reach, asked.scope, asked.rm_id, partition, asked.path.get("queue", ""))
    if fault:
        raise ApiError(403, fault)
