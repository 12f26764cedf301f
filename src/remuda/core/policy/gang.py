"""Checks whether a queue can ever have room for a whole gang.

Rules: PLC-6, GANG-1, GANG-2, GANG-3.
"""

from __future__ import annotations

from remuda.base.fits import fit_in_max_undef
from remuda.base.resource_text import printable
from remuda.base.resources import Resource, component_wise_min
from remuda.config.queue_properties import FAIR
from remuda.core.messages.commands import NewApplication
from remuda.core.model.queues.queue import Queue
from remuda.core.model.refusal import NO_REFUSAL, Refusal
from remuda.core.model.vectors import ResourceTypes
from remuda.core.policy.tag_quota import tag_quota


def is_gang(record: NewApplication) -> bool:
    """Whether an application announces placeholders. Implements: GANG-1."""
    return any(record.placeholder_ask.values())


def gang_fault(types: ResourceTypes, leaf: Queue, record: NewApplication) -> Refusal:
    """Return why a leaf refuses a gang, with the rule; NO_REFUSAL if it accepts it.

    The quota in the tags of the application is considered, too.
    Implements: PLC-6, PLC-86 (Ours), QUE-43, GANG-2, GANG-3. Rules: SI-20.
    """
    if not is_gang(record):
        return NO_REFUSAL
    if leaf.settings.application_sort == FAIR:
        reason = f"queue {leaf.path} has an unsupported sort type for gang scheduling"
        return Refusal(f"application {record.application_id}: {reason}", "GANG-2")
    limit = _path_maximum(types, leaf, record)
    if limit is None or fit_in_max_undef(limit, record.placeholder_ask):
        return NO_REFUSAL
    asked = printable(record.placeholder_ask)
    reason = f"task group request {asked} is larger than max queue allocation {printable(limit)}"
    return Refusal(f"application {record.application_id}: {reason}", "GANG-3")


def _path_maximum(types: ResourceTypes, leaf: Queue, record: NewApplication) -> Resource | None:
    """Return the smallest maximum per type on a path, None if there is none. Rules: GANG-3.

    The maximum of root does not count: it is the size of the cluster, which may grow.
    """
    quota = tag_quota(leaf, record.tags)
    found: Resource | None = None
    for queue in leaf.path_up[:-1]:
        own: Resource | None = None
        if queue is leaf and quota is not None and quota.has_resources():
            own = quota.maximum
        elif queue.maximum is not None:
            own = types.resource(queue.maximum)
        found = component_wise_min(found, own)
    return found
