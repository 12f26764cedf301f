"""The reference's queue trees: built, changed by a new configuration, made and cleaned up.

Chapters 10 (sections 7 to 9, 12 and 13) and 20 (sections 8 and 9). Every function returns what
it changed as event records, in the form of ``tests.reference.outcome``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from remuda.config.schema import PartitionConfig, QueueConfig, TemplateConfig
from remuda.core.messages import events as ev
from tests.reference import arithmetic as res
from tests.reference.access import RECOVERY, application_tag, lineage
from tests.reference.outcome import Record, record
from tests.reference.state import LIVE, Partition, Queue

QUOTA = "namespace.resourcequota"
PROMISE = "namespace.resourceguaranteed"
APPLICATIONS = "namespace.resourcemaxapps"


def walk(config: QueueConfig, above: str = "") -> list[tuple[str, QueueConfig]]:
    """Every configured queue with its path, root first, then depth first (EVT-71)."""
    path = f"{above}.{config.name}" if above else "root"
    return [(path, config), *(below for child in config.queues for below in walk(child, path))]


def obstacle(partition: Partition, config: PartitionConfig) -> str:
    """The first queue that must not become a parent, "" if there is none. Rules: D-C21, RLD-26."""
    used = {app.queue for app in partition.applications.values() if app.state in LIVE}
    for path, queue in walk(config.root):
        known = partition.queues.get(path)
        if known is not None and known.leaf and path in used and (queue.parent or queue.queues):
            return path
    return ""


def configure(partition: Partition, config: PartitionConfig) -> list[Record]:
    """Put a configuration in force. Rules: RLD-4, chapter 10 section 12, OBJ-2."""
    partition.rules = config.placement_rules
    partition.node_policy = config.node_sort_policy or "fair"
    partition.node_weights = dict(config.node_sort_weights)
    configured = dict(walk(config.root))
    records: list[Record] = []
    for path, queue in configured.items():
        known = partition.queues.get(path)
        partition.queues[path] = new = planned(partition, path, queue)
        records += changes(partition, known, new)
    for path, left in partition.queues.items():
        left.draining = left.managed and path not in configured
    partition.limits = {path: queue.limits for path, queue in configured.items() if queue.limits}
    return records


def planned(partition: Partition, path: str, config: QueueConfig) -> Queue:
    """A configured queue as it has to be. Rules: QUE-5, QUE-6, PRP-3, PRP-7, RLD-21, RLD-22,
    RLD-23, RLD-24, RLD-25."""
    root = path == "root"
    guaranteed = dict(config.guaranteed or {})
    above = {} if root else inherited(partition.queues[path.rpartition(".")[0]])
    return Queue(
        path=path,
        leaf=not root and not config.parent and not config.queues,
        maximum=dict(config.maximum) if config.maximum and not root else None,
        guaranteed=guaranteed if not root and res.positive(guaranteed) else None,
        properties={**above, **config.properties},
        managed=True,
        max_applications=config.max_applications,
        submit=config.submit_acl,
        admin=config.admin_acl,
        template=config.template,
    )


def changes(partition: Partition, old: Queue | None, new: Queue) -> list[Record]:
    """What a queue's change is told as. Rules: EVT-62, EVT-67, EVT-68, EVT-69, EVT-74."""
    if old is None:
        return [record(partition, ev.QUEUE, new.path, ev.ADD, ev.DETAILS_NONE)]
    records = amounts_changed(partition, old, new)
    if old.leaf != new.leaf:
        records.append(record(partition, ev.QUEUE, new.path, ev.SET, ev.QUEUE_TYPE))
    return records


def amounts_changed(partition: Partition, old: Queue, new: Queue) -> list[Record]:
    """Records of a new maximum and a new guarantee; a zero counts in both (QUE-5, D-C4, RES-52)."""
    triples = (
        (ev.QUEUE_MAX, old.maximum, new.maximum),
        (ev.QUEUE_GUARANTEED, old.guaranteed, new.guaranteed),
    )
    return [
        record(partition, ev.QUEUE, new.path, ev.SET, detail, amounts=after)
        for detail, before, after in triples
        if before != after
    ]


def inherited(parent: Queue) -> dict[str, str]:
    """The properties a child starts from. Rules: PRP-5, QUE-18."""
    properties = dict(parent.properties)
    for key, neutral in (("priority.policy", "default"), ("priority.offset", "0")):
        if key in properties:
            properties[key] = neutral
    if properties.get("preemption.policy", "disabled").lower() != "disabled":
        properties["preemption.policy"] = "default"
    return properties


# ------------------------------------------------------------------------------ dynamic queues


def template(partition: Partition, path: str) -> TemplateConfig:
    """The nearest template above a new queue. Rules: TPL-4, TPL-5, TPL-8."""
    for here in lineage(path)[1:]:
        found = partition.queues[here].template
        if found is not None:
            return found
    return TemplateConfig()


def create_missing(partition: Partition, path: str) -> list[Record]:
    """Make the queues of a path that do not exist, the last a leaf. Rules: PLC-64, PLC-66."""
    records = []
    for here in reversed(lineage(path)):
        if here not in partition.queues:
            partition.queues[here] = made(partition, here, leaf=here == path)
            records.append(record(partition, ev.QUEUE, here, ev.ADD, ev.QUEUE_DYNAMIC))
    return records


def made(partition: Partition, path: str, *, leaf: bool) -> Queue:
    """One dynamic queue. Rules: D-C24, TPL-4, PLC-72, D-C13, PRP-8."""
    if path == RECOVERY:
        return Queue(path, leaf=True)
    properties = inherited(partition.queues[path.rpartition(".")[0]])
    if not leaf:
        return Queue(path, leaf=False, properties=properties)
    taken = template(partition, path)
    return Queue(
        path,
        leaf=True,
        maximum=dict(taken.maximum) if taken.maximum else None,
        guaranteed=dict(taken.guaranteed) if taken.guaranteed else None,
        properties={**properties, **taken.properties},
        max_applications=taken.max_applications,
    )


def removable(partition: Partition) -> list[str]:
    """The queues the cleaner would take away now, children first. Rules: OBJ-5, OBJ-6."""
    used = {app.queue for app in partition.applications.values() if app.state in LIVE}
    gone: list[str] = []
    for path in sorted(partition.queues, key=lambda path: (-path.count("."), path)):
        queue = partition.queues[path]
        below = [one for one in partition.queues.values() if one.parent == path]
        empty = path not in used and all(one.path in gone for one in below)
        if empty and path != "root" and (queue.draining or not queue.managed):
            gone.append(path)
    return gone


def clean(partition: Partition) -> list[Record]:
    """Take away what is empty. Rules: OBJ-5, EVT-64, EVT-72."""
    records = []
    for path in removable(partition):
        queue = partition.queues.pop(path)
        detail = ev.DETAILS_NONE if queue.managed else ev.QUEUE_DYNAMIC
        records.append(record(partition, ev.QUEUE, path, ev.REMOVE, detail))
    return records


# ------------------------------------------------------------------------- quotas of namespaces


def apply_quota(partition: Partition, path: str, tags: Mapping[str, str]) -> list[Record]:
    """What an accepted application's tags do to its dynamic leaf. Rules: chapter 20 section 9."""
    queue = partition.queues[path]
    if queue.managed or path == RECOVERY:
        return []
    before = Queue(path, leaf=True, maximum=queue.maximum, guaranteed=queue.guaranteed)
    quota, promise = amounts(tags, QUOTA), amounts(tags, PROMISE)
    if quota or promise:
        queue.maximum, queue.guaranteed = quota, promise
    count = application_tag(tags, APPLICATIONS)
    if count.isascii() and count.isdigit() and 0 < int(count) < 2**64:
        queue.max_applications = int(count)
    return amounts_changed(partition, before, queue)


def amounts(tags: Mapping[str, str], name: str) -> dict[str, int] | None:
    """The amounts a tag means, None if it is ignored. Rules: PLC-80, PLC-82."""
    try:
        parsed = json.loads(application_tag(tags, name) or "null")
        found = {key: int(one.get("value", 0)) for key, one in parsed["resources"].items()}
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
    return found if res.positive(found) else None
