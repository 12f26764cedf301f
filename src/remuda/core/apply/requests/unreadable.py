"""Refuses elements of requests that could not be read; their neighbours count (rules: SI-105)."""

from __future__ import annotations

from remuda.core.apply.turn import Turn
from remuda.core.messages.commands import (
    Unreadable,
    UpdateAllocations,
    UpdateApplications,
    UpdateNodes,
)
from remuda.core.messages.effects import (
    AllocationsRejected,
    ApplicationsAnswered,
    AsksRejected,
    NodesAnswered,
    Rejection,
)


def refuse_unreadable(
    turn: Turn, command: UpdateApplications | UpdateAllocations | UpdateNodes
) -> None:
    """Answer the elements that could not be read. Rules: SI-4, SI-105.

    Emits: AsksRejected, AllocationsRejected, ApplicationsAnswered, NodesAnswered.
    """
    refused = _rejections(command.unreadable)
    if isinstance(command, UpdateAllocations):
        existing = _rejections(command.unreadable_existing)
        if existing:
            turn.cluster.counts.totals.errors += len(existing)
            turn.emit(AllocationsRejected(command.rm_id, existing))
        if refused:
            turn.emit(AsksRejected(command.rm_id, refused))
    elif refused and isinstance(command, UpdateApplications):
        turn.emit(ApplicationsAnswered(command.rm_id, (), refused))
    elif refused:
        turn.emit(NodesAnswered(command.rm_id, (), refused))


def _rejections(elements: tuple[Unreadable, ...]) -> tuple[Rejection, ...]:
    return tuple(
        [Rejection(each.subject, each.reason, "SI-105", each.application_id) for each in elements]
    )
