"""What distinguishes two configurations, in one line for the log.

An administrator who changed a file wants to see that the scheduler understood the change as it
was meant, without comparing trees by eye.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace

from remuda.config.schema import Configuration, PartitionConfig, QueueConfig

_log = logging.getLogger("remuda.config")


def log_change(origin: str, before: Configuration, after: Configuration, concerned: int) -> None:
    """Log that a configuration is in force, for how many RMs, and what distinguishes it."""
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
    """Return how many queues and which partitions were added, changed and left out."""
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
    old_queues = dict(entry for partition in old.values() for entry in _queues(partition))
    new_queues = dict(entry for partition in new.values() for entry in _queues(partition))
    counts = {
        "added": len(new_queues.keys() - old_queues.keys()),
        "changed": sum(
            path in old_queues and old_queues[path] != new_queues[path] for path in new_queues
        ),
        "left out": len(old_queues.keys() - new_queues.keys()),
    }
    told = [f"{count} {what}" for what, count in counts.items() if count]
    if told:
        parts.append(f"queues {', '.join(told)}")
    return "; ".join(parts) or "no setting changed"


def _settings_differ(
    old: dict[str, PartitionConfig], new: dict[str, PartitionConfig], name: str
) -> bool:
    """Whether the partition's own settings differ, its queues apart."""
    return replace(old[name], root=new[name].root) != new[name]


def _queues(partition: PartitionConfig) -> Iterator[tuple[tuple[str, str], QueueConfig]]:
    """Yield each queue, without those below it, by partition and path."""
    waiting = [(partition.root.name, partition.root)]
    while waiting:
        path, queue = waiting.pop()
        waiting.extend((f"{path}.{child.name}", child) for child in queue.queues)
        yield (partition.name, path), replace(queue, queues=())
