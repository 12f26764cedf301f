"""Counts again what the limits of a partition bound (rule SI-14)."""

from __future__ import annotations

from remuda.core.accounting.tags import characters
from remuda.core.invariants.require import Name, require
from remuda.core.model.partition import Partition


def check_counts(partition: Partition) -> None:
    """The counts of queues, waiting asks and characters of tags are right.

    Raises: InvariantViolation. Rules: SI-14.
    """
    queues = len(partition.queues(partition.root))
    require(partition.queue_count == queues, partition, "{} queues are miscounted", queues)
    waiting = tags = 0
    own = dict(partition.waiting.own_tags)
    for application in partition.applications.values():
        name = Name("application {}", application.application_id)
        requests = application.requests.values()
        pending = len([request for request in requests if request.pending])
        require(application.waiting_asks == pending, partition, "{}: asks are miscounted", name)
        found = characters(application.record.tags)
        found += sum([characters(request.ask.tags) for request in requests])
        for allocation in application.allocations.values():
            found += own.pop(allocation, 0)
        require(application.tag_characters == found, partition, "{}: tags are miscounted", name)
        waiting += pending
        tags += found
    for ended in partition.kept.applications.values():
        require(not ended.record.tags, partition, "an ended application keeps its tags")
    require(not own, partition, "tags of an allocation that ended are counted")
    require(partition.ask_count == waiting, partition, "waiting asks are miscounted")
    require(partition.tag_characters == tags, partition, "the tags kept are miscounted")
