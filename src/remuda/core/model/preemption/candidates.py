"""Indexes the allocations that may be victims of preemption.

An attempt to preempt needs a few allocations out of a hundred thousand. So the index is kept up to
date: equal candidates form a *kind*, and a kind counts its candidates by node and sorts them by
age. The index exists as soon as an ask of the partition may preempt others.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from typing import Final, TypeAlias, final

from remuda.core.messages.tags import CREATION_TIME, REQUIRED_NODE
from remuda.core.model.allocation import Allocation
from remuda.core.model.queues.queue import Queue
from remuda.core.model.vectors import Amounts

# Bits that make a victim a worse choice (PRE-29). A score below ORDINARY has none of them.
ORIGINATOR: Final = 2**33
OPTED_OUT: Final = 2**34
ORDINARY: Final = 2**32

# Path of the leaf, number of the amounts, priority, bits.
KindKey: TypeAlias = tuple[str, int, int, int]

# Creation time, allocation key, number of the application, allocation ID.
AgeKey: TypeAlias = tuple[int, str, int, str]


def bits_of(allocation: Allocation) -> int:
    """Return the bits that make an allocation a worse victim.

    Implements: SI-38. Rules: PRE-29, SI-36.
    """
    ask = allocation.ask
    bits = ORIGINATOR if ask.originator else 0
    return bits if ask.allow_preempt_self else bits | OPTED_OUT


def came_ns(allocation: Allocation) -> int:
    """Return when an allocation was created: as its RM says, else when it was placed.

    Rules: SI-45.
    """
    given = CREATION_TIME in allocation.ask.tags
    return allocation.requested_ns if given else allocation.created_ns


def is_candidate(allocation: Allocation) -> bool:
    """Whether an allocation may be a victim, for any ask.

    False if it has a release request, is in flight, or requires its node.

    Implements: PRE-13. Rules: GANG-19.
    """
    bound = REQUIRED_NODE in allocation.ask.tags
    return allocation.release_type == 0 and allocation.replaces is None and not bound


@final
class Kind:
    """Candidates of one leaf that differ only in node and age.

    ``hosts``: node ID -> how many are on the node. ``age_keys``: the keys of all, oldest first;
    ``allocations``: the candidates by age key.
    """

    __slots__ = ("age_keys", "allocations", "amounts", "bits", "hosts", "key", "leaf", "priority")

    def __init__(self, key: KindKey, leaf: Queue, amounts: Amounts) -> None:
        self.key = key
        self.leaf = leaf
        self.amounts = amounts
        self.priority: int = key[2]
        self.bits: int = key[3]
        self.hosts: dict[str, int] = {}
        self.age_keys: list[AgeKey] = []
        self.allocations: dict[AgeKey, Allocation] = {}


@final
class Candidates:
    """All allocations of a partition that may be victims, by kind. Change: O(log n).

    ``kinds``: by leaf path, then by key. ``on``: by node ID, kind -> how many candidates are on the
    node.
    Rules: PRE-13.
    """

    __slots__ = ("_kinds", "kinds", "on")

    def __init__(self) -> None:
        self._kinds: dict[KindKey, Kind] = {}
        self.kinds: dict[str, dict[KindKey, Kind]] = {}
        self.on: dict[str, dict[Kind, int]] = {}

    def add(self, allocation: Allocation) -> None:
        """Add an allocation, if it may be a victim and is not indexed yet."""
        leaf = allocation.application.queue
        if allocation.kind is not None or not is_candidate(allocation):
            return
        amounts = allocation.amounts
        key = (leaf.path, amounts.number, allocation.ask.priority, bits_of(allocation))
        kind = self._kinds.get(key)
        if kind is None:
            kind = Kind(key, leaf, amounts)
            self._kinds[key] = kind
            self.kinds.setdefault(leaf.path, {})[key] = kind
        allocation.kind = kind
        age_key = _age_key(allocation)
        insort(kind.age_keys, age_key)
        kind.allocations[age_key] = allocation
        node_id = allocation.node.node_id
        on_node = self.on.setdefault(node_id, {})
        kind.hosts[node_id] = on_node[kind] = kind.hosts.get(node_id, 0) + 1

    def remove(self, allocation: Allocation) -> None:
        """Remove an allocation, if it is indexed."""
        kind = allocation.kind
        if kind is None:
            return
        allocation.kind = None
        age_key = _age_key(allocation)
        del kind.age_keys[bisect_left(kind.age_keys, age_key)]
        del kind.allocations[age_key]
        node_id = allocation.node.node_id
        left = kind.hosts[node_id] - 1
        kind.hosts[node_id] = self.on[node_id][kind] = left
        if not left:
            del kind.hosts[node_id]
            del self.on[node_id][kind]
            if not self.on[node_id]:
                del self.on[node_id]
        if not kind.age_keys:
            self._end(kind)

    def willing(self) -> Candidates:
        """Return a read-only index of candidates that did not opt out of being preempted. SI-36."""
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


def _age_key(allocation: Allocation) -> AgeKey:
    application = allocation.application
    key, identity = allocation.ask.allocation_key, allocation.allocation_id
    return (came_ns(allocation), key, application.number, identity)
