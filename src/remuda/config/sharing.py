"""Lets a configuration share its equal records with an earlier configuration.

When a configuration is put in force, it is compared with the one before: thousands of queues,
although often one number changed. Records that are the same object need no comparison and no
further memory. The reader of the text looks for them, so that the core need not.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from remuda.config.schema import Configuration, PartitionConfig, QueueConfig

_Part = TypeVar("_Part")


def share(new: Configuration, old: Configuration) -> Configuration:
    """Return the new configuration, made of partitions and queues of the old one where these equal.

    Where they do not, they share their larger parts. It equals the one that was given. Cost:
    O(queues).
    """
    known = {each.name: each for each in old.partitions}
    return replace(
        new, partitions=tuple([_partition(each, known.get(each.name)) for each in new.partitions])
    )


def _partition(new: PartitionConfig, old: PartitionConfig | None) -> PartitionConfig:
    if old is None:
        return new
    found = replace(new, root=_queue(new.root, old.root))
    return old if found == old else found


def _queue(new: QueueConfig, old: QueueConfig | None) -> QueueConfig:
    """Return a queue that shares with the old one; that one itself if there is no difference."""
    if old is None:
        return new
    if new.queues:
        # Children first, for comparing looks at those that are shared by identity only.
        known = {each.name: each for each in old.queues}
        queues = tuple([_queue(each, known.get(each.name)) for each in new.queues])
        new = replace(new, queues=queues)
    if new == old:
        return old
    return replace(
        new,
        maximum=_same(new.maximum, old.maximum),
        guaranteed=_same(new.guaranteed, old.guaranteed),
        limits=_same(new.limits, old.limits),
        properties=_same(new.properties, old.properties),
        submit_acl=_same(new.submit_acl, old.submit_acl),
        admin_acl=_same(new.admin_acl, old.admin_acl),
    )


def _same(new: _Part, old: _Part) -> _Part:
    return old if new == old else new
