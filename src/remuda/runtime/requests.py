"""Resource managers' requests in a bounded queue: their weight, cutting one, merging several."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, Final, TypeAlias, TypeGuard, TypeVar

from remuda.base.scopes import Scope
from remuda.core.messages.commands import (
    NewApplication,
    NodeUpdate,
    UpdateAllocations,
    UpdateApplications,
    UpdateNodes,
)

Request: TypeAlias = UpdateApplications | UpdateAllocations | UpdateNodes
R = TypeVar("R", bound=Request)

# Elements of a part of a long request. So many take the core some milliseconds.
PART: Final = 256

# Elements that count as several. The other elements of a list are many, so they are not looked at.
_HEAVY: Final = (NodeUpdate, NewApplication)

# A new application goes through placement rules. Their filters look at the user and each group, and
# many of them take for each as long as so many asks take.
_RULES: Final = 16

# The lists of a request about allocations, in the order in which they are handled; before them the
# elements are refused that could not be read.
_OF_ALLOCATIONS: Final = ("allocations", "asks", "ask_releases", "releases")
_LISTS: Final[Mapping[type, Sequence[str]]] = {
    UpdateAllocations: ("unreadable_existing", "unreadable", *_OF_ALLOCATIONS),
    UpdateApplications: ("unreadable", "new", "remove"),
    UpdateNodes: ("unreadable", "nodes"),
}


def limited(request: R, scope: Scope) -> R:
    """Return a request whose applications and nodes may only come into a scope. Rules: EXT-33."""
    if isinstance(request, UpdateApplications):
        return replace(request, new=tuple([replace(each, within=scope) for each in request.new]))
    if isinstance(request, UpdateNodes):
        nodes = tuple([replace(each, within=scope) for each in request.nodes])
        return replace(request, nodes=nodes)
    return request


def weight(request: Request) -> int:
    """How many elements a request carries, plus one for itself."""
    if isinstance(request, UpdateAllocations):
        return (
            1
            + len(request.asks)
            + len(request.allocations)
            + len(request.releases)
            + len(request.ask_releases)
            + len(request.unreadable)
            + len(request.unreadable_existing)
        )
    unreadable = len(request.unreadable)
    if isinstance(request, UpdateApplications):
        return 1 + unreadable + len(request.new) + len(request.remove)
    return 1 + unreadable + sum(1 + len(node.existing) for node in request.nodes)


def effort(request: Request) -> int:
    """How many elements take the core as long as the request does. Rules: SI-2."""
    if isinstance(request, UpdateApplications):
        return weight(request) - len(request.new) + sum(map(_effort, request.new))
    return weight(request)


def joined(parts: Sequence[R]) -> R:
    """Return one request with the elements of several of one kind and one RM, in their order."""
    first = parts[0]
    if len(parts) == 1:
        return first
    lists: dict[str, Any] = {
        name: tuple(chain.from_iterable([getattr(each, name) for each in parts]))
        for name in _LISTS[type(first)]
    }
    return replace(first, **lists, continued=parts[-1].continued)


def parts_of(request: R, most: int = PART) -> list[R]:
    """Cut a request into parts that are handled one after the other, with the same outcome.

    A request of an effort of up to ``most`` is its only part. Of a longer one, each part has
    elements of one list only, and the core decides nothing for the RM between two parts. Rules:
    SI-2, SI-3.
    """
    if effort(request) <= most + 1:
        return [request]
    found: list[R] = []
    for name in _LISTS[type(request)]:
        for some in _portions(getattr(request, name), most):
            lists: dict[str, Any] = dict.fromkeys(_LISTS[type(request)], ())
            lists[name] = some
            found.append(replace(request, **lists, continued=True))
    found[-1] = replace(found[-1], continued=request.continued)
    return found


def elements_of(request: Request) -> Iterator[tuple[str, Any]]:
    """Yield each element that could be read, with the name of its list, in their order."""
    for name in _LISTS[type(request)]:
        if not name.startswith("unreadable"):
            for element in getattr(request, name):
                yield name, element


def single_parts(request: R, alone: Collection[int]) -> list[R]:
    """Cut a request into parts, so that each element whose ``id`` is given is the only one of one.

    They are handled as those of ``parts_of``.
    """
    runs: list[tuple[str, list[Any]]] = []
    for name in _LISTS[type(request)]:
        joinable = False
        for element in getattr(request, name):
            single = id(element) in alone
            if single or not joinable:
                runs.append((name, []))
            runs[-1][1].append(element)
            joinable = not single
    nothing: dict[str, Any] = dict.fromkeys(_LISTS[type(request)], ())
    found = [
        replace(request, **{**nothing, name: tuple(some)}, continued=True) for name, some in runs
    ]
    found[-1] = replace(found[-1], continued=request.continued)
    return found


def _portions(elements: tuple[Any, ...], most: int) -> Iterator[tuple[Any, ...]]:
    """Yield the elements of a list, up to ``most`` at a time; some count as several."""
    if elements and not isinstance(elements[0], _HEAVY):
        for begin in range(0, len(elements), most):
            yield elements[begin : begin + most]
        return
    begin = heft = 0
    for place, element in enumerate(elements):
        own = _effort(element)
        if heft and heft + own > most:
            yield elements[begin:place]
            begin, heft = place, 0
        heft += own
    if heft:
        yield elements[begin:]


def _effort(element: NodeUpdate | NewApplication) -> int:
    """Return as how many asks an element counts: a node with what is on it, placement rules."""
    if isinstance(element, NodeUpdate):
        return 1 + len(element.existing)
    return _RULES * (1 + len(element.groups))


class Moments:
    """When a request counts as handled: all its parts at the moment of the first one."""

    def __init__(self) -> None:
        # By RM, while a request of it was handled in part.
        self._begun_ns: dict[str, int] = {}

    def of(self, request: Request, now_ns: int) -> int:
        """Return the moment of a request or part that is handled now. Rules: SI-2."""
        moment_ns = self._begun_ns.pop(request.rm_id, now_ns)
        if request.continued:
            self._begun_ns[request.rm_id] = moment_ns
        return moment_ns

    def begun(self, rm_id: str) -> bool:
        """Return whether a request of an RM was handled in part."""
        return rm_id in self._begun_ns

    def forget(self, rm_id: str) -> None:
        """Forget an RM that left."""
        self._begun_ns.pop(rm_id, None)


def with_those_behind(request: Request, behind: deque[Any], *, begun: bool = False) -> Request:
    """Merge a request with those right behind it that may be handled together; remove these.

    If an RM sends asks one by one, the fixed cost of a request is paid once for all that wait. The
    parts of one request are merged with each other only, since they share a moment.

    ``begun``: the request is a part, and not the first one.
    Implements: SI-2. Rules: SI-7.
    """
    if not isinstance(request, UpdateAllocations):
        return request
    run = [request]
    part = begun or request.continued
    while behind and _continues(run[-1], behind[0]) and run[-1].continued == part:
        run.append(behind.popleft())
    return joined(run)


def _continues(request: UpdateAllocations, following: object) -> TypeGuard[UpdateAllocations]:
    """Whether a following request may be merged: no list of it may come earlier than it would."""
    if not isinstance(following, UpdateAllocations) or following.rm_id != request.rm_id:
        return False
    lists, after = _lists(request), _lists(following)
    return bool(lists) and bool(after) and lists[-1] <= after[0]


def _lists(request: UpdateAllocations) -> list[int]:
    """Return the numbers of the lists that hold something."""
    return [number for number, name in enumerate(_OF_ALLOCATIONS) if getattr(request, name)]
