"""The weight of resource managers' requests in a bounded queue, and the merging of several."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, Final, TypeAlias, TypeGuard, TypeVar

from remuda.core.messages.commands import UpdateAllocations, UpdateApplications, UpdateNodes

Request: TypeAlias = UpdateApplications | UpdateAllocations | UpdateNodes
R = TypeVar("R", bound=Request)

# The parts of a request about allocations, in the order in which they are handled.
_PARTS: Final = ("allocations", "asks", "ask_releases", "releases")
_LISTS: Final[Mapping[type, Sequence[str]]] = {
    UpdateAllocations: _PARTS,
    UpdateApplications: ("new", "remove"),
    UpdateNodes: ("nodes",),
}


def weight(request: Request) -> int:
    """How many elements a request carries, plus one for itself."""
    if isinstance(request, UpdateAllocations):
        return (
            1
            + len(request.asks)
            + len(request.allocations)
            + len(request.releases)
            + len(request.ask_releases)
        )
    if isinstance(request, UpdateApplications):
        return 1 + len(request.new) + len(request.remove)
    return 1 + sum(1 + len(node.existing) for node in request.nodes)


def joined(parts: Sequence[R]) -> R:
    """Return one request with the elements of several of one kind and one RM, in their order."""
    first = parts[0]
    if len(parts) == 1:
        return first
    lists: dict[str, Any] = {
        name: tuple(chain.from_iterable([getattr(each, name) for each in parts]))
        for name in _LISTS[type(first)]
    }
    return replace(first, **lists)


def with_those_behind(request: Request, behind: deque[Any]) -> Request:
    """Merge a request with those right behind it that may be handled together; remove these.

    If an RM sends asks one by one, the fixed cost of a request is paid once for all that wait.
    Implements: SI-2. Rules: SI-7.
    """
    if not isinstance(request, UpdateAllocations):
        return request
    run = [request]
    while behind and _continues(run[-1], behind[0]):
        run.append(behind.popleft())
    return joined(run)


def _continues(request: UpdateAllocations, following: object) -> TypeGuard[UpdateAllocations]:
    """Whether a following request may be merged: no part of it may come earlier than it would."""
    if not isinstance(following, UpdateAllocations) or following.rm_id != request.rm_id:
        return False
    parts, after = _parts(request), _parts(following)
    return bool(parts) and bool(after) and parts[-1] <= after[0]


def _parts(request: UpdateAllocations) -> list[int]:
    """Return the numbers of the parts that hold something."""
    return [number for number, name in enumerate(_PARTS) if getattr(request, name)]
