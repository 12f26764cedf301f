"""The texts that explain the result of an attempt (rules: PRE-58, PRE-91)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from remuda.base.resource_text import printable
from remuda.core.model.partition import Partition
from remuda.core.model.queues.queue import Queue
from remuda.core.model.vectors import Vector, define
from remuda.core.preempt.nodes import Found
from remuda.core.preempt.trial import Room, Trial

EXHAUSTED: Final = "Preemption max attempts exhausted"
NOT_YET: Final = "Preemption preconditions failed"
NO_GUARANTEE: Final = "Preemption queue guarantees check failed"
NO_HELP: Final = "Preemption does not help"
TOO_FEW: Final = "Preemption helped but short of resources"
NO_FIT_THERE: Final = "No fit on required node, preemption does not help"

# The RM was asked and answers later, so the result is not known yet.
ASKED: Final = "Preemption awaits the resource manager"


def owed_reasons(
    partition: Partition, leaf: Queue, trial: Trial, victims: Sequence[Found]
) -> tuple[str, ...]:
    """Return the reasons of a choice: the room owed below each common queue. Rules: PRE-91."""
    reasons: dict[str, None] = {}
    for _, option in victims:
        common = option.side.common
        room = printable(partition.types.resource(_vector(trial.owed[common])))
        reasons[f"below '{common.path}' queue '{leaf.path}' is owed {room}"] = None
    return tuple(reasons)


def _vector(room: Room) -> Vector:
    vector = Vector()
    for index, amount in room.items():
        define(vector, 1 << index)
        vector.amounts[index] = amount
    return vector
