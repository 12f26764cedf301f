"""Works out anew the indexes of victims and of the room kept for the asks that preempted.

Rules: PRE-34, PRE-35, PRE-59, PRE-60, PRE-89 (I11, I12 of the invariants).
"""

from __future__ import annotations

from typing import TypeAlias

from remuda.core.invariants.require import Name, require, same
from remuda.core.messages.commands import PREEMPTED_BY_SCHEDULER
from remuda.core.model.allocation import Allocation
from remuda.core.model.applications.application import Application
from remuda.core.model.asks.request import Request
from remuda.core.model.partition import Partition
from remuda.core.model.preemption.candidates import Candidates, is_candidate
from remuda.core.model.preemption.live import WAITING
from remuda.core.model.vectors import Amounts, Vector

# By path of a queue, or name of a tracker.
_Parts: TypeAlias = dict[str, list[Amounts]]


def check_preemption(partition: Partition) -> None:
    """Victims and promised room are counted at the right queues and trackers.

    Rules: QUE-2, PRE-34, PRE-89.
    """
    victims: _Parts = {}
    promises: _Parts = {}
    for application in partition.applications.values():
        _victims(partition, application, victims)
        _promises(partition, application, promises)
    for queue in partition.queues(partition.root):
        path = queue.path
        going = victims.get(path, [])
        same(partition, Name("{} preempting", path), queue.preempting, going)
        _promised(partition, Name("queue {}", path), queue.promised, promises.get(path, []))
    for key, tracker in partition.trackers.items():
        due = promises.get(str(key), []) if promises else []
        _promised(partition, Name("tracker {}", key), tracker.promised, due)
    if partition.preempting.candidates is not None:
        _index(partition, partition.preempting.candidates)


def _victims(partition: Partition, application: Application, victims: _Parts) -> None:
    """Collect the victims of an application that have not ended yet. Rules: PRE-34."""
    for allocation in application.allocations.values():
        _indexed(partition, allocation)
        if allocation.preemption is not None:
            _victim(partition, allocation)
            for queue in application.queue.path_up:
                victims.setdefault(queue.path, []).append(allocation.amounts)


def _promises(partition: Partition, application: Application, promises: _Parts) -> None:
    """Collect the room promised to the asks of an application. Rules: PRE-89."""
    promised: list[Amounts] = []
    for request in application.requests.values():
        _live_preemption(partition, request)
        if request.preemption is not None and request.preemption.promised:
            promised.append(request.preemption.amounts)
    name = Name("application {}", application.application_id)
    _promised(partition, name, application.promised, promised)
    if not promised:
        return
    for queue in application.queue.path_up:
        promises.setdefault(queue.path, []).extend(promised)
    for tracker in application.limit_set.trackers if application.limit_set else ():
        promises.setdefault(str(tracker.key), []).extend(promised)


def _promised(
    partition: Partition, name: Name, kept: Vector | None, promised: list[Amounts]
) -> None:
    """The room that is promised somewhere is the sum of what was promised there."""
    if kept is not None or promised:
        same(partition, Name("{} promised", name), kept or Vector(), promised)


def _victim(partition: Partition, allocation: Allocation) -> None:
    preemption = allocation.preemption
    assert preemption is not None
    name = f"allocation {allocation.allocation_id}"
    ordered = allocation.release_type == PREEMPTED_BY_SCHEDULER
    require(ordered, partition, "{} is a victim and its release was not requested", name)
    victim = preemption.victims.get(allocation.key())
    listed = victim is not None and not victim.confirmed
    require(listed, partition, "{} is no victim that is still to go", name)
    known = partition.preempting.made.get(preemption.number) is preemption
    require(known, partition, "{} is a victim of an unknown preemption", name)
    left = sum(not each.confirmed for each in preemption.victims.values())
    require(preemption.left == left, partition, "{}: those still to go are miscounted", name)


def _live_preemption(partition: Partition, request: Request) -> None:
    """A preemption is in effect as long as its reservation exists. Rules: PRE-6 (Ours), PRE-89."""
    preemption = request.preemption
    if preemption is None:
        return
    name = f"preemption for {request.ask.allocation_key}"
    require(preemption.outcome == WAITING, partition, "{} has ended and is still in effect", name)
    reserved = preemption.node_id in request.reservations
    require(reserved, partition, "{} is in effect without a reservation", name)
    require(preemption.request is request, partition, "{} is for somebody else", name)


def _indexed(partition: Partition, allocation: Allocation) -> None:
    """The index has exactly the allocations that may be victims. Rules: PRE-13."""
    wanted = partition.preempting.candidates is not None and is_candidate(allocation)
    name = Name("allocation {}", allocation.allocation_id)
    right = (allocation.kind is not None) == wanted
    require(right, partition, "{}: is wrongly listed as a candidate, or is missing", name)


def _index(partition: Partition, index: Candidates) -> None:
    """The index of candidates equals one that is made now. Rules: PRE-13."""
    known = {application.number for application in partition.applications.values()}
    counted = 0
    for by_key in index.kinds.values():
        for kind in by_key.values():
            counted += len(kind.age_keys)
            require(bool(kind.age_keys), partition, "kind {} is empty", kind.key)
            require(
                kind.age_keys == sorted(kind.age_keys), partition, "kind {}: no order", kind.key
            )
            hosts: dict[str, int] = {}
            for place, allocation in kind.allocations.items():
                node_id = allocation.node.node_id
                hosts[node_id] = hosts.get(node_id, 0) + 1
                right = allocation.kind is kind and allocation.amounts.need == kind.amounts.need
                require(right, partition, "kind {} has {} of another kind", kind.key, place)
                require(place[2] in known, partition, "kind {}: no application", kind.key)
            require(hosts == kind.hosts, partition, "kind {}: nodes are miscounted", kind.key)
    on_nodes = sum(count for on_node in index.on.values() for count in on_node.values())
    require(on_nodes == counted, partition, "candidates on nodes are miscounted")
