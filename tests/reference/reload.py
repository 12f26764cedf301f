"""What a new configuration changes while the scheduler runs: chapter 10, section 12."""

from __future__ import annotations

from typing import TYPE_CHECKING

from remuda.core.messages import commands as c
from tests.reference import limits, queues
from tests.reference.state import Partition

if TYPE_CHECKING:
    from tests.reference.model import Reference


def update(reference: Reference, command: c.UpdateConfiguration) -> bool:
    """Change everything or nothing; False: refused. Rules: SI-85, SI-86, SI-87, SI-88, CHK-5,
    RLD-3."""
    rm_id, checksum = command.rm_id, command.config.checksum
    if checksum and checksum == reference.checksums[rm_id]:
        keep_extra(reference, command)
        return True
    wanted = {(rm_id, config.name): config for config in command.config.partitions}
    for name, config in wanted.items():
        known = reference.partitions.get(name)
        if known is not None and queues.obstacle(known, config):
            return False
    if command.dry_run:
        return True
    reference.checksums[rm_id] = checksum
    keep_extra(reference, command)
    for name, config in wanted.items():
        partition = reference.partitions.setdefault(name, Partition(*name))
        reference.adjust(partition)
        before = partition.limits
        reference.records += queues.configure(partition, config)
        limits.cut_links(partition, before)
        if any(queue.draining for queue in partition.queues.values()):
            reference.sweep_later(name)
    for name in [name for name in reference.partitions if name[0] == rm_id]:
        if name not in wanted:
            reference.remove_partition(name)
    return True


def keep_extra(reference: Reference, command: c.UpdateConfiguration) -> None:
    """The extra map of an update that is in force. Rules: SI-85, EXT-24."""
    if command.extra_config is not None and not command.dry_run:
        reference.keep_settings(command.rm_id, command.extra_config)
