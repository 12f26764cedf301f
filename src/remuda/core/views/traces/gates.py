"""Checks all gates of one ask, also those behind the gate that stops it (rules: EXT-44)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from remuda.config.queue_properties import STATEAWARE
from remuda.core.messages import gates
from remuda.core.messages.trace_queries import GateView
from remuda.core.model import states
from remuda.core.model.asks.class_queue import LimitGroup
from remuda.core.model.asks.request import Request
from remuda.core.model.partition import Partition
from remuda.core.model.queues.bound import Bound
from remuda.core.model.queues.queue import Queue
from remuda.core.model.queues.trackers import QueueTracker
from remuda.core.model.vectors import Amounts, Vector
from remuda.core.policy.headroom import room_at, room_for_gang


def gate_views(
    partition: Partition, request: Request, limit_group: LimitGroup
) -> Iterator[GateView]:
    """Yield the gates before the nodes in the order in which they are checked, with their numbers.

    Implements: EXT-44. Rules: CYC-11, CYC-12, QUE-41, CYC-33, GANG-4, LIM-54.
    """
    yield from _halts(partition, request)
    yield from _closings(request)
    yield from _starts(request, limit_group)
    ask_class = limit_group.class_queue.ask_class
    leaf = limit_group.class_queue.leaf
    if ask_class.total is not None:
        for queue in leaf.path_up:
            if queue.parent is not None:
                room = _room(partition, gates.GANG, queue, ask_class.total, room_for_gang(queue))
                yield replace(room, passed=queue.fits_gang(ask_class.total))
    for tracker in limit_group.limit_set.limited:
        room = _room(partition, gates.USER_QUOTA, tracker, ask_class.amounts, room_at(tracker))
        yield replace(room, passed=ask_class.fits(tracker))
    for queue in leaf.path_up:
        if queue.maximum is not None:
            room = _room(partition, gates.QUEUE_QUOTA, queue, ask_class.amounts, room_at(queue))
            yield replace(room, passed=ask_class.fits(queue))


def _halts(partition: Partition, request: Request) -> Iterator[GateView]:
    """Yield what an operator or a lost connection stops. Rules: RM-15, EXT-6, OBJ-4, OBJ-8."""
    yield GateView(gates.PAUSED, partition.rm_id, not partition.resting)
    stopped = [queue.path for queue in request.application.queue.path_up if _stopped(queue)]
    if partition.state == states.STOPPED:
        stopped = [partition.name]
    yield GateView(gates.HALTED, stopped[0] if stopped else "", not stopped)


def _stopped(queue: Queue) -> bool:
    return queue.state == states.STOPPED


def _closings(request: Request) -> Iterator[GateView]:
    """Yield whether the application is served at all.

    Rules: QUE-41, CYC-33, APP-12, GANG-6, GANG-11.
    """
    application = request.application
    name = application.application_id
    yield GateView(gates.ENDING, name, application.state != states.FAILING)
    gang = application.gang
    if gang is not None and not request.ask.placeholder:
        group = request.ask.task_group
        holds = gang.keeps_waiting(group) or application.state == states.RESUMING
        yield GateView(gates.GANG, group or name, not holds)
    leaf = application.queue
    if leaf.settings.application_sort == STATEAWARE and application.state == states.ACCEPTED:
        holder = leaf.turns.holder
        first = "" if holder is None else holder.application_id
        yield GateView(gates.TURN, first, holder is application)
    if leaf.settings.backoff or application.backoff_until_ns:
        yield GateView(gates.BACKOFF, application.queue_path, application.backoff_until_ns == 0)


def _starts(request: Request, limit_group: LimitGroup) -> Iterator[GateView]:
    """Yield the limits on the number of applications; a running one has passed them.

    Rules: QUE-22, QUE-24, LIM-61.
    """
    application = request.application
    starts = application.state in (states.NEW, states.ACCEPTED)
    for queue in application.queue.path_up:
        if queue.max_applications:
            yield _count(queue, starts=starts and not application.counted_early)
    for tracker in limit_group.limit_set.application_limits:
        yield _count(tracker, starts=starts)


def _count(bound: Bound, *, starts: bool) -> GateView:
    return GateView(
        gates.MAX_APPLICATIONS,
        subject_of(bound),
        not (starts and bound.full()),
        applications=bound.running + bound.counted_early,
        max_applications=bound.max_applications,
    )


def _room(
    partition: Partition, gate: str, bound: Bound, amounts: Amounts, room: Vector
) -> GateView:
    """Return the numbers of a gate that compares amounts, in the types that it limits."""
    types = partition.types
    maximum = bound.maximum
    if maximum is None:
        return GateView(gate, subject_of(bound), True, requested=dict(amounts.resource))
    limits = types.resource(maximum)
    used = types.resource(bound.allocated)
    return GateView(
        gate,
        subject_of(bound),
        True,
        requested=dict(amounts.resource),
        used={name: used.get(name, 0) for name in limits},
        maximum=limits,
        available=types.resource(room),
    )


def subject_of(bound: Bound) -> str:
    """Return what findings call a limit: a queue path, or a user or group at one. REST-120."""
    if isinstance(bound, QueueTracker):
        kind, name, path = bound.key
        return f"{kind} {name} at {path}"
    assert isinstance(bound, Queue)
    return bound.path
