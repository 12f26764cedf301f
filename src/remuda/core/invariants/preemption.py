"""What must hold of victims and of the room that is kept for those they went for.

Rules: PRE-34, PRE-35, PRE-59, PRE-60, PRE-89 (I11, I12 of the invariants).
"""

from __future__ import annotations

from typing import TypeAlias

from remuda.core.invariants.require import require, same
from remuda.core.messages.commands import PREEMPTED_BY_SCHEDULER
from remuda.core.model.allocation import Allocation
from remuda.core.model.application import Application
from remuda.core.model.candidates import Candidates, is_candidate
from remuda.core.model.partition import Partition
from remuda.core.model.preemption import WAITING
from remuda.core.model.request import Request
from remuda.core.model.vectors import Amounts, Vector

# By path of a queue, or name of a tracker.
_Parts: TypeAlias = dict[str, list[Amounts]]


def check_preemption(partition: Partition) -> None:
    """Victims and promises are counted where they belong. Rules: QUE-2, PRE-34, PRE-89."""
    victims: _Parts = {}
    promises: _Parts = {}
    for application in partition.applications.values():
        _victims(partition, application, victims)
        _promises(partition, application, promises)
    for queue in partition.queues(partition.root):
        same(partition, f"{queue.path} preempting", queue.preempting, victims.get(queue.path, []))
        held = queue.promised or Vector()
        same(partition, f"{queue.path} promised", held, promises.get(queue.path, []))
    for key, tracker in partition.trackers.items():
        held = tracker.promised or Vector()
        same(partition, f"{key} promised", held, promises.get(str(key), []))
    if partition.candidates is not None:
        _index(partition, partition.candidates)


def _victims(partition: Partition, application: Application, victims: _Parts) -> None:
    """Collect the victims of an application that are still to go. Rules: PRE-34."""
    assert application.queue is not None
    for allocation in application.allocations.values():
        _indexed(partition, allocation)
        if allocation.preemption is not None:
            _victim(partition, allocation)
            for queue in application.queue.path_up:
                victims.setdefault(queue.path, []).append(allocation.amounts)


def _promises(partition: Partition, application: Application, promises: _Parts) -> None:
    """Collect what is promised to the asks of an application. Rules: PRE-89."""
    assert application.queue is not None
    promised: list[Amounts] = []
    for request in application.requests.values():
        _standing(partition, request)
        if request.preemption is not None and request.preemption.promised:
            promised.append(request.preemption.amounts)
    name = f"application {application.application_id} promised"
    same(partition, name, application.promised or Vector(), promised)
    for queue in application.queue.path_up:
        promises.setdefault(queue.path, []).extend(promised)
    for tracker in application.account.trackers if application.account else ():
        promises.setdefault(str(tracker.key), []).extend(promised)


def _victim(partition: Partition, allocation: Allocation) -> None:
    preemption = allocation.preemption
    assert preemption is not None
    name = f"allocation {allocation.allocation_id}"
    ordered = allocation.ordered == PREEMPTED_BY_SCHEDULER
    require(ordered, partition, f"{name} is a victim and was not ordered out as one")
    victim = preemption.victims.get(allocation.key())
    listed = victim is not None and not victim.confirmed
    require(listed, partition, f"{name} is no victim that is still to go")
    known = partition.preemptions.get(preemption.number) is preemption
    require(known, partition, f"{name} went for a preemption nobody knows")
    left = sum(not each.confirmed for each in preemption.victims.values())
    require(preemption.left == left, partition, f"{name}: those still to go are miscounted")


def _standing(partition: Partition, request: Request) -> None:
    """A preemption stands as long as its reservation. Rules: PRE-6 (Ours), PRE-89."""
    preemption = request.preemption
    if preemption is None:
        return
    name = f"preemption for {request.ask.allocation_key}"
    require(preemption.outcome == WAITING, partition, f"{name} stands and is over")
    reserved = preemption.node_id in request.reservations
    require(reserved, partition, f"{name} stands without a reservation")
    require(preemption.request is request, partition, f"{name} is for somebody else")


def _indexed(partition: Partition, allocation: Allocation) -> None:
    """Who may be a victim is in the index, and nobody else. Rules: PRE-13."""
    wanted = partition.candidates is not None and is_candidate(allocation)
    name = f"allocation {allocation.allocation_id}"
    require((allocation.kind is not None) == wanted, partition, f"{name}: candidate or not")


def _index(partition: Partition, index: Candidates) -> None:
    """The index of candidates is what it would be if it were made now. Rules: PRE-13."""
    known = {application.number for application in partition.applications.values()}
    counted = 0
    for by_key in index.kinds.values():
        for kind in by_key.values():
            counted += len(kind.places)
            require(bool(kind.places), partition, f"kind {kind.key} is empty")
            require(kind.places == sorted(kind.places), partition, f"kind {kind.key}: no order")
            hosts: dict[str, int] = {}
            for place, allocation in kind.allocations.items():
                node_id = allocation.node.node_id
                hosts[node_id] = hosts.get(node_id, 0) + 1
                right = allocation.kind is kind and allocation.amounts.need == kind.amounts.need
                require(right, partition, f"kind {kind.key} has {place} of another kind")
                require(place[2] in known, partition, f"kind {kind.key}: no application")
            require(hosts == kind.hosts, partition, f"kind {kind.key}: nodes are miscounted")
    on_nodes = sum(count for on_node in index.on.values() for count in on_node.values())
    require(on_nodes == counted, partition, "candidates on nodes are miscounted")
