"""Starts and stops queues, partitions and nodes at an operator's request.

Rules: chapter 80 section 2, EXT-25.
"""

from __future__ import annotations

from typing import Final

from remuda.core.apply.requests.node_drains import change_node_state
from remuda.core.apply.requests.partitions import change_state
from remuda.core.apply.turn import Turn
from remuda.core.messages import commands
from remuda.core.messages.commands import ChangeObjectState
from remuda.core.messages.effects import ObjectStateAnswered
from remuda.core.model import states
from remuda.core.model.cluster import unknown_partition
from remuda.core.model.partition import Partition
from remuda.core.model.queues.queue import Queue

_EVENTS: Final = {commands.START: states.START, commands.STOP: states.STOP}
_VERBS: Final = {commands.START: "started", commands.STOP: "stopped"}


def change_object_state(turn: Turn, command: ChangeObjectState) -> None:
    """Start or stop a queue, a node or a partition, if its state allows that.

    Implements: OBJ-4. Rules: OBJ-8, OBJ-10, EXT-25, EXT-176. Emits: ObjectStateAnswered.
    """
    rm_id, name = command.rm_id, command.partition
    event = _EVENTS.get(command.action)
    if event is None:
        reason = f"action {command.action} is none: {commands.START} starts, {commands.STOP} stops"
        turn.emit(ObjectStateAnswered(rm_id, reason, "EXT-25"))
        return
    partition = turn.cluster.partition(rm_id, name)
    if partition is None:
        turn.emit(ObjectStateAnswered(rm_id, unknown_partition(name), "EXT-25"))
        return
    if command.node:
        turn.emit(change_node_state(turn, partition, command.node, command.action))
        return
    queue = partition.queue(command.queue) if command.queue else None
    if command.queue and queue is None:
        reason = f"queue '{command.queue}' doesn't exist in partition {partition.name}"
        turn.emit(ObjectStateAnswered(rm_id, reason, "EXT-25"))
        return
    previous = partition.state if queue is None else queue.state
    done = _send(turn, partition, queue, event)
    current = partition.state if queue is None else queue.state
    what = f"partition {partition.name}" if queue is None else f"queue {queue.path}"
    reason = "" if done else f"{what} is {previous} and cannot be {_VERBS[command.action]}"
    rule = "" if done else "OBJ-4" if queue is not None else "OBJ-8"
    turn.emit(ObjectStateAnswered(rm_id, reason, rule, previous, current))


def _send(turn: Turn, partition: Partition, queue: Queue | None, event: str) -> bool:
    """Send an event to a queue, or without one to its partition; return whether it was accepted."""
    if queue is None:
        return change_state(turn, partition, event)
    entered = states.OBJECT.get((queue.state, event))
    if entered is None:
        return False
    if entered != queue.state:
        queue.state = entered
        # The order of the queues below is worked out anew too, because this one may have children.
        partition.renew_shares(queue)
    return True
