"""Takes nothing new while the process runs short of memory (rule EXT-39).

The core does not measure: it is told. What runs already, and whatever ends something, is taken in
any case. So are applications of a resource manager that still reports what ran before it
registered, because their allocations would be lost without them.
"""

from __future__ import annotations

from remuda.config.process_limits import MEMORY
from remuda.core.accounting.tags import characters
from remuda.core.apply.process_limits import waits_anew
from remuda.core.apply.turn import Turn
from remuda.core.messages import events
from remuda.core.messages.commands import Ask, LimitGrowth
from remuda.core.model.applications.application import Application
from remuda.core.model.applications.submission import Submission
from remuda.core.model.partition import Partition
from remuda.core.model.refusal import NO_REFUSAL, Refusal
from remuda.core.policy.placement import forced

_ENDED = "New asks and applications are accepted again"


def limit_growth(turn: Turn, command: LimitGrowth) -> None:
    """Begin or end to refuse what is new, and tell it to each partition. Implements: EXT-39.

    Emits: EventRecord.
    """
    cluster = turn.cluster
    before, cluster.shortage = cluster.shortage, command.reason
    if bool(before) == bool(command.reason):
        return
    text = f"New asks and applications are refused: {command.reason}" if not before else _ENDED
    for partition in cluster.partitions():
        turn.rm_id = partition.rm_id
        turn.event(
            partition,
            events.QUEUE,
            partition.root.path,
            events.NONE,
            events.DETAILS_NONE,
            message=text,
        )
    turn.rm_id = ""


def application_shortage(turn: Turn, partition: Partition, submitted: Submission) -> Refusal | None:
    """Return why an application is refused for want of memory, None if it is not. Rules: EXT-39."""
    shortage = turn.cluster.shortage
    if not shortage or not turn.cluster.managers[partition.rm_id].asked:
        return None
    if forced(submitted.record.tags):
        return None
    partition.totals.limit_hits[MEMORY] += 1
    subject = f"application {submitted.application_id} cannot be added"
    return Refusal(f"{subject}: {shortage}", "EXT-39")


def ask_shortage(
    partition: Partition, application: Application, ask: Ask, shortage: str
) -> Refusal:
    """Return why an ask is refused for want of memory, NO_REFUSAL if it is not.

    One that waits already may be sent again, without longer tags. Rules: EXT-39, SI-33.
    """
    known = application.requests.get(ask.allocation_key)
    grows = known is None or characters(ask.tags) > characters(known.ask.tags)
    if not grows and not waits_anew(known, ask):
        return NO_REFUSAL
    partition.totals.limit_hits[MEMORY] += 1
    return Refusal(f"ask '{ask.allocation_key}' cannot be added: {shortage}", "EXT-39")
