"""Counts the characters of the tags that a partition keeps (rule SI-14).

The tags of an ask are kept by the ask, and by its allocations without a copy. So they count once,
with the ask. An allocation whose ask is gone, or has other tags now, counts its own.
"""

from __future__ import annotations

from remuda.core.messages.ask import Tags
from remuda.core.model.allocation import Allocation
from remuda.core.model.applications.application import Application
from remuda.core.model.asks.request import Request
from remuda.core.model.partition import Partition


def characters(tags: Tags) -> int:
    """Return the characters of all names and texts. Rules: SI-14."""
    if not tags:
        return 0  # as of most asks
    return sum([len(name) + len(text) for name, text in tags.items()])


def count_tags(partition: Partition, application: Application, change: int) -> None:
    """Count so many characters more, or less if negative. Rules: SI-14."""
    application.tag_characters += change
    partition.tag_characters += change


def uncount_application(partition: Partition, application: Application) -> None:
    """Count nothing of an application any more, because it is not live. Rules: SI-14."""
    if application.tag_characters:
        count_tags(partition, application, -application.tag_characters)


def keep_own_tags(partition: Partition, request: Request) -> None:
    """Count the tags of an ask's allocations apart, because the ask goes or changes.

    Rules: SI-14.
    """
    allocations = request.application.allocations
    for identity in request.allocation_ids():
        allocation = allocations.get(identity)
        if allocation is not None:
            count_own_tags(partition, allocation)


def count_own_tags(partition: Partition, allocation: Allocation) -> None:
    """Count the tags of an allocation, if it has any and they are not counted yet. Rules: SI-14."""
    own = partition.waiting.own_tags
    if allocation.ask.tags and allocation not in own:
        own[allocation] = characters(allocation.ask.tags)
        count_tags(partition, allocation.application, own[allocation])


def drop_own_tags(partition: Partition, allocation: Allocation) -> None:
    """Count the tags of an allocation that ended no more. Rules: SI-14."""
    count = partition.waiting.own_tags.pop(allocation, 0)
    if count:
        count_tags(partition, allocation.application, -count)
