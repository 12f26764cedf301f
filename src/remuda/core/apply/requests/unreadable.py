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
    rm_id = command.rm_id
    if isinstance(command, UpdateAllocations) and command.unreadable_existing:
        existing = _rejections(command.unreadable_existing)
        turn.cluster.counts.totals.errors += len(existing)
        turn.emit(AllocationsRejected(rm_id, existing))
    if not command.unreadable:
        return
    refused = _rejections(command.unreadable)
    if isinstance(command, UpdateAllocations):
        turn.emit(AsksRejected(rm_id, refused))
    elif isinstance(command, UpdateApplications):
        turn.emit(ApplicationsAnswered(rm_id, (), refused))
    else:
        turn.emit(NodesAnswered(rm_id, (), refused))


def _rejections(elements: tuple[Unreadable, ...]) -> tuple[Rejection, ...]:
    return tuple(
        [Rejection(each.subject, each.reason, "SI-105", each.application_id) for each in elements]
    )
