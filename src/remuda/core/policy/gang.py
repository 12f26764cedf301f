"""Whether a queue can ever hold a gang as a whole (rules: PLC-6, GANG-1 to GANG-3)."""

from __future__ import annotations

from remuda.base.fits import fit_in_max_undef
from remuda.base.resource_text import printable
from remuda.base.resources import Resource, component_wise_min
from remuda.config.queue_properties import FAIR
from remuda.core.messages.commands import NewApplication
from remuda.core.model.queue import Queue
from remuda.core.model.vectors import ResourceTypes
from remuda.core.policy.tag_quota import tag_quota


def is_gang(record: NewApplication) -> bool:
    """Whether an application wants placeholders before it starts. Rules: GANG-1."""
    return any(record.placeholder_ask.values())


def gang_fault(types: ResourceTypes, leaf: Queue, record: NewApplication) -> tuple[str, str]:
    """Return why a leaf does not take a gang, with the rule; "" if it does.

    The quota the application brings by its tags counts already.
    Rules: SI-20, PLC-6, PLC-86 (Ours), QUE-43, GANG-2, GANG-3.
    """
    if not is_gang(record):
        return "", ""
    if leaf.settings.application_sort == FAIR:
        reason = f"queue {leaf.path} has an unsupported sort type for gang scheduling"
        return f"application {record.application_id}: {reason}", "GANG-2"
    limit = _path_maximum(types, leaf, record)
    if limit is None or fit_in_max_undef(limit, record.placeholder_ask):
        return "", ""
    asked = printable(record.placeholder_ask)
    reason = f"task group request {asked} is larger than max queue allocation {printable(limit)}"
    return f"application {record.application_id}: {reason}", "GANG-3"


def _path_maximum(types: ResourceTypes, leaf: Queue, record: NewApplication) -> Resource | None:
    """Return the smallest maximum per type on a path, None without any. Rules: GANG-3.

    Root's, the size of the cluster, does not count: clusters grow.
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
