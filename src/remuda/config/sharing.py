"""Lets a configuration share with an earlier one what both say alike.

Whoever puts a configuration in force compares it with the one before, thousands of queues for what
may be one other number. What is the same record needs no comparison, and no memory of its own. So
it is looked for where the text was read, before anybody has to wait for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any, Final, TypeVar

from remuda.config.schema import Configuration, PartitionConfig, QueueConfig

_Named = TypeVar("_Named", PartitionConfig, QueueConfig)

_FIELDS: Final = {
    kind: tuple([each.name for each in fields(kind)]) for kind in (PartitionConfig, QueueConfig)
}


def share(new: Configuration, old: Configuration) -> Configuration:
    """Return the new configuration, made of parts of the old one where these are equal.

    It equals the one that was given. What is alike in both, a whole tree of queues above all, is
    the same object. Cost: O(queues).
    """
    return replace(new, partitions=_all_shared(new.partitions, old.partitions))


def _all_shared(new: tuple[_Named, ...], old: Sequence[_Named]) -> tuple[_Named, ...]:
    known = {each.name: each for each in old}
    return tuple([_shared(each, known[each.name]) if each.name in known else each for each in new])


def _shared(new: _Named, old: _Named) -> _Named:
    """Return a partition or a queue, the old one if there is no difference."""
    found = {name: _part(getattr(new, name), getattr(old, name)) for name in _FIELDS[type(new)]}
    if all(part is getattr(old, name) for name, part in found.items()):
        return old
    return type(new)(**found)


def _part(new: Any, old: Any) -> Any:
    """Return what one field of a record is to hold."""
    if isinstance(new, QueueConfig) and isinstance(old, QueueConfig):
        return _shared(new, old)
    if isinstance(new, tuple) and new and isinstance(new[0], QueueConfig):
        new = _all_shared(new, old)
        same = len(new) == len(old) and all(map(_is, new, old))
        return old if same else new
    return old if new == old else new


def _is(new: object, old: object) -> bool:
    return new is old
