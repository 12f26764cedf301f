"""Keeps the applications that may replace placeholders where they stand (rules: GANG-10, GANG-16).

One whose placeholders could not be replaced is left alone until a node changes, or itself.
"""

from __future__ import annotations

from remuda.core.model.application import Application
from remuda.core.model.partition import Partition


def place_swaps(partition: Partition, application: Application) -> None:
    """Put an application among those that may replace placeholders, or take it out.

    Rules: GANG-10, GANG-37.
    """
    gang, leaf = application.gang, application.queue
    if gang is None or leaf is None:
        return
    if gang.may_replace(application.state):
        leaf.swaps.put(application)
        partition.unsettled[leaf.path] = leaf
    elif application.number in leaf.swaps.order.keys:
        leaf.swaps.drop(application)
        partition.unsettled[leaf.path] = leaf


def set_stuck(partition: Partition, application: Application) -> None:
    """Leave an application alone until a node changes, or itself. Rules: GANG-16."""
    assert application.gang is not None
    application.gang.stuck = True
    partition.stuck[application.number] = application
    place_swaps(partition, application)


def set_swaps_aside(partition: Partition, application: Application, *, aside: bool) -> None:
    """Leave an application alone until the next answer of its RM, or go on. Rules: EXT-14."""
    if application.gang is not None:
        application.gang.aside = aside
        place_swaps(partition, application)


def retry_swaps(partition: Partition) -> None:
    """Let those try again whose placeholders could not be replaced. Rules: GANG-16."""
    partition.changes += 1
    if not partition.stuck:
        return
    stuck, partition.stuck = partition.stuck, {}
    for application in stuck.values():
        if application.gang is not None:
            application.gang.stuck = False
            place_swaps(partition, application)
