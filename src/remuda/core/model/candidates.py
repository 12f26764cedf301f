"""Which allocations may be victims of preemption, in an order that a search can use.

An attempt to preempt looks at a few allocations out of a hundred thousand, so they are sorted here
as they come and go: equal ones are of one *kind*, and of a kind it is known how many are on which
node and which of them came last. The index exists once an ask of the partition may preempt others.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from typing import Final, TypeAlias, final

from remuda.core.messages.tags import CREATION_TIME, REQUIRED_NODE
from remuda.core.model.allocation import Allocation
from remuda.core.model.queue import Queue
from remuda.core.model.vectors import Amounts

# What makes a victim a worse choice, added up (PRE-29). Below ORDINARY nothing of it is in a score.
ORIGINATOR: Final = 2**33
OPTED_OUT: Final = 2**34
ORDINARY: Final = 2**32

# Path of the leaf, number of the amounts, priority, what is bad about it.
KindKey: TypeAlias = tuple[str, int, int, int]

# When it came, allocation key, number of the application, allocation ID.
Place: TypeAlias = tuple[int, str, int, str]


def bits_of(allocation: Allocation) -> int:
    """Return what makes an allocation a worse victim than others. Rules: PRE-29, SI-36, SI-38."""
    ask = allocation.ask
    bits = ORIGINATOR if ask.originator else 0
    return bits if ask.allow_preempt_self else bits | OPTED_OUT


def came_ns(allocation: Allocation) -> int:
    """Return when an allocation came: as its RM says, else when it was placed. Rules: SI-45."""
    told = CREATION_TIME in allocation.ask.tags
    return allocation.requested_ns if told else allocation.created_ns


def is_candidate(allocation: Allocation) -> bool:
    """Whether an allocation may be a victim at all, whoever asks. Rules: PRE-13, GANG-19.

    Not one that is about to end anyway, in flight, or bound to its node.
    """
    bound = REQUIRED_NODE in allocation.ask.tags
    return allocation.ordered == 0 and allocation.replaces is None and not bound


@final
class Kind:
    """Candidates of one leaf that are equal but for their node and age.

    ``hosts``: how many are on a node, by its ID. ``places``: all of them, the last one to come at
    the end, with ``allocations`` by place.
    """

    __slots__ = ("allocations", "amounts", "bits", "hosts", "key", "leaf", "places", "priority")

    def __init__(self, key: KindKey, leaf: Queue, amounts: Amounts) -> None:
        self.key = key
        self.leaf = leaf
        self.amounts = amounts
        self.priority: int = key[2]
        self.bits: int = key[3]
        self.hosts: dict[str, int] = {}
        self.places: list[Place] = []
        self.allocations: dict[Place, Allocation] = {}


@final
class Candidates:
    """All allocations of a partition that may be victims, by kind. Change: O(log n).

    ``kinds``: by leaf path, then by key. ``on``: by node ID, how many there are of which kinds.
    Rules: PRE-13.
    """

    __slots__ = ("_kinds", "kinds", "on")

    def __init__(self) -> None:
        self._kinds: dict[KindKey, Kind] = {}
        self.kinds: dict[str, dict[KindKey, Kind]] = {}
        self.on: dict[str, dict[Kind, int]] = {}

    def add(self, allocation: Allocation) -> None:
        """Take an allocation in, if it may be a victim and is none yet."""
        leaf = allocation.application.queue
        if leaf is None or allocation.kind is not None or not is_candidate(allocation):
            return
        amounts = allocation.amounts
        key = (leaf.path, amounts.number, allocation.ask.priority, bits_of(allocation))
        kind = self._kinds.get(key)
        if kind is None:
            kind = Kind(key, leaf, amounts)
            self._kinds[key] = kind
            self.kinds.setdefault(leaf.path, {})[key] = kind
        allocation.kind = kind
        place = _place(allocation)
        insort(kind.places, place)
        kind.allocations[place] = allocation
        node_id = allocation.node.node_id
        on_node = self.on.setdefault(node_id, {})
        kind.hosts[node_id] = on_node[kind] = kind.hosts.get(node_id, 0) + 1

    def remove(self, allocation: Allocation) -> None:
        """Take an allocation out, if it is in."""
        kind = allocation.kind
        if kind is None:
            return
        allocation.kind = None
        place = _place(allocation)
        del kind.places[bisect_left(kind.places, place)]
        del kind.allocations[place]
        node_id = allocation.node.node_id
        left = kind.hosts[node_id] - 1
        kind.hosts[node_id] = self.on[node_id][kind] = left
        if not left:
            del kind.hosts[node_id]
            del self.on[node_id][kind]
            if not self.on[node_id]:
                del self.on[node_id]
        if not kind.places:
            self._end(kind)

    def willing(self) -> Candidates:
        """Return those that did not opt out of being preempted; only to be looked at. SI-36."""
        found = Candidates()
        for path, kinds in self.kinds.items():
            left = {key: kind for key, kind in kinds.items() if not kind.bits & OPTED_OUT}
            if left:
                found.kinds[path] = left
        for node_id, on_node in self.on.items():
            found.on[node_id] = {
                kind: count for kind, count in on_node.items() if not kind.bits & OPTED_OUT
            }
        return found

    def _end(self, kind: Kind) -> None:
        path = kind.leaf.path
        del self._kinds[kind.key]
        del self.kinds[path][kind.key]
        if not self.kinds[path]:
            del self.kinds[path]


def _place(allocation: Allocation) -> Place:
    application = allocation.application
    key, identity = allocation.ask.allocation_key, allocation.allocation_id
    return (came_ns(allocation), key, application.number, identity)
