"""Sums up the differences of two configurations in one line for the log.

It shows an administrator who changed a file whether the scheduler understood the change as meant,
without comparing trees by eye.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import fields, replace
from operator import attrgetter
from typing import Final

from remuda.config.schema import Configuration, PartitionConfig, QueueConfig

_log = logging.getLogger("remuda.config")


def log_change(origin: str, before: Configuration, after: Configuration, concerned: int) -> None:
    """Log that a configuration is in force, for how many RMs, and how it differs from the last."""
    if before.checksum == after.checksum:
        _log.info("%s: checksum %s is in force already", origin, after.checksum)
        return
    _log.info(
        "%s: checksum %s replaces %s; resource managers: %d; %s",
        origin,
        after.checksum,
        before.checksum,
        concerned,
        summary(before, after),
    )


def summary(before: Configuration, after: Configuration) -> str:
    """Return how many queues and which partitions were added, changed and removed."""
    old = {partition.name: partition for partition in before.partitions}
    new = {partition.name: partition for partition in after.partitions}
    parts = [
        f"partition {name} {what}"
        for what, names in (
            ("added", [name for name in new if name not in old]),
            ("left out", [name for name in old if name not in new]),
            ("changed", [name for name in new if name in old and _settings_differ(old, new, name)]),
        )
        for name in names
    ]
    counts = _Counts()
    for name in old.keys() | new.keys():
        counts.compare(_queues(old, name), _queues(new, name))
    told = [
        f"{count} {what}"
        for what, count in (
            ("added", counts.added),
            ("changed", counts.changed),
            ("left out", counts.left_out),
        )
        if count
    ]
    if told:
        parts.append(f"queues {', '.join(told)}")
    return "; ".join(parts) or "no setting changed"


class _Counts:
    """How many queues were added, changed and removed."""

    def __init__(self) -> None:
        self.added = self.changed = self.left_out = 0

    def compare(self, old: Sequence[QueueConfig], new: Sequence[QueueConfig]) -> None:
        """Count in siblings and all below them."""
        known = {queue.name: queue for queue in old}
        for queue in new:
            before = known.pop(queue.name, None)
            if before is None:
                self.added += 1
                self.compare((), queue.queues)
                continue
            self.changed += _own(before) != _own(queue)
            if before.queues or queue.queues:
                self.compare(before.queues, queue.queues)
        for queue in known.values():
            self.left_out += 1
            self.compare(queue.queues, ())


# All fields of one queue's configuration, except the queues below it.
_own: Final = attrgetter(*[each.name for each in fields(QueueConfig) if each.name != "queues"])


def _queues(partitions: dict[str, PartitionConfig], name: str) -> Sequence[QueueConfig]:
    return (partitions[name].root,) if name in partitions else ()


def _settings_differ(
    old: dict[str, PartitionConfig], new: dict[str, PartitionConfig], name: str
) -> bool:
    """Whether the partition's own settings differ, apart from its queues."""
    return replace(old[name], root=new[name].root) != new[name]
