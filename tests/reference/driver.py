"""Feed recorded inputs to the real scheduler and compare what comes out."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

from remuda.core.messages import queries as q
from remuda.core.messages.effects import AllocationNew, Effect
from remuda.core.ports import Predicates
from remuda.core.scheduler import Scheduler
from tests.reference import sums
from tests.reference.outcome import Outcome, outcomes, settled
from tests.reference.state import Partition
from tests.reference.workloads import Input, Run, Step, refuse_some


def apply(scheduler: Scheduler, given: Input) -> list[Effect]:
    """One input, a step's limit taken as that many decisions."""
    now, what = given
    if isinstance(what, Step):
        return scheduler.step(now, what.limit)
    return scheduler.handle(what, now)


def answer(scheduler: Scheduler, given: Input) -> list[Effect]:
    """One input, a step's limit taken as that many allocations."""
    now, what = given
    if isinstance(what, Step):
        return place(scheduler, now, what.limit)
    return scheduler.handle(what, now)


def place(scheduler: Scheduler, now: int, limit: int) -> list[Effect]:
    """Step until ``limit`` allocations were placed or nothing is left to try.

    The scheduler counts decisions, and finding out that something fits nowhere is one.
    """
    effects = scheduler.step(now, 0)
    left = limit
    while left > 0 and scheduler.has_work():
        found = scheduler.step(now, left)
        effects += found
        left -= sum(isinstance(effect, AllocationNew) for effect in found)
    return effects


def play(inputs: Iterable[Input], predicates: Predicates = refuse_some) -> list[list[Effect]]:
    """All inputs on a new scheduler."""
    scheduler = Scheduler(predicates)
    return [apply(scheduler, given) for given in inputs]


def digest(effects: Iterable[Effect]) -> str:
    """A short name for exactly these effects in this order."""
    hasher = hashlib.sha256()
    for effect in effects:
        hasher.update(repr(effect).encode())
    return hasher.hexdigest()


def difference(run: Run) -> str:
    """Where the scheduler and the reference part, "" if they do not."""
    scheduler = Scheduler(refuse_some)
    for number, (given, wanted) in enumerate(zip(run.inputs, run.expected, strict=True)):
        found = outcomes(answer(scheduler, given))
        stepping = isinstance(given[1], Step)
        if settled(found, stepping) != settled(wanted, stepping):
            return f"input {number} {given[1]}:\n  reference {wanted}\n  scheduler {found}"
        due, known = run.deadlines[number], scheduler.next_deadline()
        if due is not None and (known is None or known > due):
            return f"input {number} {given[1]}:\n  next timer at {due}, scheduler says {known}"
    for partition in run.reference.partitions.values():
        if fault := state_difference(scheduler, partition):
            return f"at the end, partition {partition.rm_id}/{partition.name}: {fault}"
    return ""


def state_difference(scheduler: Scheduler, partition: Partition) -> str:
    """Where the sums the scheduler keeps differ from sums over the reference's facts."""
    wanted: dict[str, object] = {}
    found: dict[str, object] = {}
    root = scheduler.view(q.QueuesQuery(partition.name, partition.rm_id))
    assert isinstance(root, q.QueueView)
    for queue in flat(root):
        if queue.path in partition.queues:  # an empty dynamic one may be gone already
            found[queue.path] = (plain(queue.allocated), plain(queue.pending))
            wanted[queue.path] = (
                plain(sums.allocated(partition, queue.path)),
                plain(sums.pending(partition, queue.path)),
            )
    nodes = scheduler.view(q.NodesQuery(partition.name, partition.rm_id))
    assert isinstance(nodes, tuple)
    for node in nodes:
        assert isinstance(node, q.NodeView)
        found[node.node_id] = (plain(node.available), node.schedulable)
    free = sums.available(partition)
    for known in partition.nodes.values():
        wanted[known.identity] = (plain(free[known.identity]), known.schedulable)
    if found == wanted:
        return ""
    wrong = sorted(k for k in {*found, *wanted} if found.get(k) != wanted.get(k))
    return ", ".join(f"{k}: reference {wanted.get(k)}, scheduler {found.get(k)}" for k in wrong)


def flat(queue: q.QueueView) -> list[q.QueueView]:
    """A queue and everything below it."""
    return [queue, *(below for child in queue.children for below in flat(child))]


def plain(resource: Mapping[str, int]) -> dict[str, int]:
    """A resource without the types it has nothing of."""
    return {t: v for t, v in resource.items() if v}


def comparable(effects: Iterable[Iterable[Effect]]) -> list[Outcome]:
    """Many answers as one list."""
    return [o for answer in effects for o in outcomes(answer)]
