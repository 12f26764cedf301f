"""Takes back real allocations that were to replace placeholders (rules: SI-53, GANG-18)."""

from __future__ import annotations

from remuda.core.accounting.replacement import undo_replacement
from remuda.core.apply.turn import Turn
from remuda.core.messages import events
from remuda.core.model.allocation import Allocation
from remuda.core.model.applications.application import Application
from remuda.core.model.asks.request import Request
from remuda.core.model.partition import Partition


def cancel_swap(turn: Turn, partition: Partition, placeholder: Allocation, *, again: bool) -> None:
    """Undo a replacement in flight, also on its node; the placeholder's release stays requested.

    ``again``: the ask is to get the allocation later. Rules: GANG-18. Emits: EventRecord.
    """
    real = undo_replacement(partition, placeholder, again=again)
    if real.node is not placeholder.node:
        turn.node_event(partition, real, events.REMOVE)


def cancel_swaps(
    turn: Turn, partition: Partition, application: Application, *, again: bool
) -> None:
    """Undo all replacements of an application.

    Implements: GANG-19. Rules: SI-29. Emits: EventRecord.
    """
    gang = application.gang
    if gang is not None:
        for identity in list(gang.replacing):
            cancel_swap(turn, partition, gang.placeholders[identity], again=again)


def cancel_swaps_of(turn: Turn, partition: Partition, request: Request) -> None:
    """Undo the replacements of an ask that is removed.

    Implements: SI-53 (Ours). Emits: EventRecord.
    """
    gang = request.application.gang
    if gang is None or not gang.replacing:
        return
    key = request.ask.allocation_key
    for identity, real in list(gang.replacing.items()):
        if real.ask.allocation_key == key:
            cancel_swap(turn, partition, gang.placeholders[identity], again=False)
