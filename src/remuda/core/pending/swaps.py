"""Keeps the order of applications that may replace placeholders (rules: GANG-10, GANG-16).

An application whose placeholders could not be replaced is skipped until a node or the application
itself changes.
"""

from __future__ import annotations

from remuda.core.model.applications.application import Application
from remuda.core.model.partition import Partition
from remuda.core.pending.marks import leaf_changed


def renew_swaps(partition: Partition, application: Application) -> None:
    """Add an application to those that may replace placeholders, or remove it.

    Rules: GANG-10, GANG-37.
    """
    gang, leaf = application.gang, application.queue
    if gang is None:
        return
    if gang.may_replace(application.state):
        leaf.swaps.put(application)
        leaf_changed(partition, leaf)
    elif application.number in leaf.swaps.order.keys:
        leaf.swaps.drop(application)
        leaf_changed(partition, leaf)


def note_failed_swap(partition: Partition, application: Application) -> None:
    """Skip an application until a node or the application itself changes. Rules: GANG-16."""
    assert application.gang is not None
    application.gang.swap_failed = True
    partition.waiting.failed_swaps[application.number] = application
    partition.waiting.retries.stale = partition.settings.predicates
    renew_swaps(partition, application)


def set_swaps_await(partition: Partition, application: Application, *, awaits_answer: bool) -> None:
    """Skip an application until the next answer of its RM, or end that. Rules: EXT-14."""
    if application.gang is not None:
        application.gang.awaits_answer = awaits_answer
        renew_swaps(partition, application)


def retry_swaps(partition: Partition) -> None:
    """Try the applications again whose placeholders could not be replaced. Rules: GANG-16."""
    partition.waiting.changes += 1
    if not partition.waiting.failed_swaps:
        return
    failed, partition.waiting.failed_swaps = partition.waiting.failed_swaps, {}
    for application in failed.values():
        if application.gang is not None:
            application.gang.swap_failed = False
            renew_swaps(partition, application)
