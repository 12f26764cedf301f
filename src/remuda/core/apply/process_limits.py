"""Refuses what would make a partition keep more than it may (rule SI-14).

Only what a resource manager newly asks for is refused. Reported allocations exist, so no limit
refuses them; they count, however, where later elements are checked.
"""

from __future__ import annotations

from remuda.config.process_limits import (
    APPLICATION_ASKS,
    APPLICATIONS,
    ASKS,
    MANAGERS,
    NODES,
    QUEUES,
    TAG_CHARACTERS,
    Limit,
)
from remuda.core.accounting.tags import characters
from remuda.core.messages.commands import Ask, NewApplication
from remuda.core.model.applications.application import Application
from remuda.core.model.asks.request import Request
from remuda.core.model.cluster import Cluster
from remuda.core.model.partition import Partition
from remuda.core.model.refusal import NO_REFUSAL, Refusal


def manager_limit(cluster: Cluster, rm_id: str) -> Refusal:
    """Return why one RM more is refused, NO_REFUSAL if it is not. Rules: SI-14.

    An RM that is registered may register again.
    """
    most = cluster.limits[MANAGERS.name]
    if rm_id in cluster.managers or len(cluster.managers) < most:
        return NO_REFUSAL
    cluster.counts.totals.limit_hits[MANAGERS.name] += 1
    return _refusal(MANAGERS, most, f"resource manager '{rm_id}' cannot register")


def application_limits(partition: Partition, record: NewApplication) -> Refusal | None:
    """Return why a limit refuses one application more, None if none does. Rules: SI-14."""
    limits = partition.settings.limits
    subject = f"application {record.application_id} cannot be added"
    if len(partition.applications) >= limits[APPLICATIONS.name]:
        return _exceeded(partition, APPLICATIONS, subject)
    more = characters(record.tags)
    if more and partition.tag_characters + more > limits[TAG_CHARACTERS.name]:
        return _exceeded(partition, TAG_CHARACTERS, subject)
    return None


def node_limit(partition: Partition, node_id: str) -> Refusal:
    """Return why the limit of nodes refuses one more, NO_REFUSAL if it does not. Rules: SI-14."""
    if len(partition.nodes) < partition.settings.limits[NODES.name]:
        return NO_REFUSAL
    return _exceeded(partition, NODES, f"node '{node_id}' cannot be added")


def queue_limit(partition: Partition, more: int, subject: str) -> Refusal | None:
    """Return why so many queues more are refused, None if they are not. Rules: SI-14.

    ``subject``: what cannot be done without them.
    """
    if partition.queue_count + more <= partition.settings.limits[QUEUES.name]:
        return None
    return _exceeded(partition, QUEUES, subject)


def ask_limits(partition: Partition, application: Application, ask: Ask) -> Refusal:
    """Return why a limit refuses an ask, NO_REFUSAL if none does.

    An ask that waits already does not count twice, and one with nothing pending does not wait.
    Rules: SI-14, SI-33.
    """
    limits = partition.settings.limits
    known = application.requests.get(ask.allocation_key)
    if waits_anew(known, ask):
        if application.waiting_asks >= limits[APPLICATION_ASKS.name]:
            return _exceeded(partition, APPLICATION_ASKS, _cannot_wait(ask))
        if partition.ask_count >= limits[ASKS.name]:
            return _exceeded(partition, ASKS, _cannot_wait(ask))
    if ask.tags:
        more = characters(ask.tags) - (0 if known is None else characters(known.ask.tags))
        if more > 0 and partition.tag_characters + more > limits[TAG_CHARACTERS.name]:
            return _exceeded(partition, TAG_CHARACTERS, _cannot_wait(ask))
    return NO_REFUSAL


def waits_anew(known: Request | None, ask: Ask) -> bool:
    """Whether an ask will wait that does not wait now. ``known``: that of its key. Rules: SI-33."""
    return known is None or (known.pending == 0 and ask.max_allocations > known.made)


def _cannot_wait(ask: Ask) -> str:
    return f"ask '{ask.allocation_key}' cannot be added"


def _exceeded(partition: Partition, limit: Limit, subject: str) -> Refusal:
    """Count that a limit refuses something, and return the refusal.

    Implements: SI-14. Rules: MET-51.
    """
    partition.totals.limit_hits[limit.name] += 1
    return _refusal(limit, partition.settings.limits[limit.name], subject)


def _refusal(limit: Limit, most: int, subject: str) -> Refusal:
    reason = f"{subject}: the limit '{limit.name}' is reached, at most {most} {limit.bounds}"
    return Refusal(f"{reason}; {limit.remedy}, or raise the limit of the scheduler", "SI-14")
