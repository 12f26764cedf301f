"""The table of kinds: all that ``remuda get``, ``describe`` and ``top`` show is described here.

A kind has an entry in ``KINDS``. Its columns name the keys of the HTTP API; a value that is not
simply a key has a function in ``values``.
"""

from __future__ import annotations

from typing import Final

from remuda.base.errors import UsageError
from remuda.cli.viewing import event_words, reading, values
from remuda.cli.viewing.columns import Column, Form, Kind, column, key

_INCLUDED: Final = {"include": "completed,rejected"}
_OF_APPLICATION: Final = {
    "queueName": "queueName",
    "user": "user",
    "applicationID": "applicationID",
}

_QUEUES: Final = Kind(
    "queues",
    "queue",
    ("q",),
    (
        column("QUEUE", "name", "queuename"),
        column("STATE", "state", "status", Form.STATE),
        column("USED", "used", "allocatedResource", Form.AMOUNTS),
        column("PENDING", "pending", "pendingResource", Form.AMOUNTS),
        column("GUARANTEED", "guaranteed", "guaranteedResource", Form.AMOUNTS),
        column("MAXIMUM", "maximum", "maxResource", Form.AMOUNTS),
        column("APPS", "applications", "runningApps", Form.NUMBER),
        column("MAX-APPS", "max-applications", "maxRunningApps", Form.NUMBER, wide=True),
        column("PREEMPTING", "preempting", "preemptingResource", Form.AMOUNTS, wide=True),
        column("HEADROOM", "headroom", "headroom", Form.AMOUNTS, wide=True),
        Column("PRIORITY", "priority", values.queue_priority, Form.NUMBER, wide=True),
        column("SORTED-BY", "sorted-by", "sortingPolicy", wide=True),
        column("LEAF", "leaf", "isLeaf", wide=True),
    ),
    name_of=key("queuename"),
    read=reading.queue_tree,
    read_one=reading.single("queue"),
    queue_of=key("queuename"),
    state_of=key("status"),
    labels_of=values.labels("properties"),
)

_APPLICATIONS: Final = Kind(
    "applications",
    "application",
    ("app", "apps"),
    (
        column("APPLICATION", "name", "applicationID"),
        column("STATE", "state", "applicationState", Form.STATE),
        column("QUEUE", "queue", "queueName"),
        column("USER", "user", "user"),
        column("USED", "used", "usedResource", Form.AMOUNTS),
        column("PENDING", "pending", "pendingResource", Form.AMOUNTS),
        column("AGE", "age", "submissionTime", Form.AGE, flexible=False),
        column("GROUPS", "groups", "groups", wide=True),
        Column(
            "PRIORITY",
            "priority",
            values.highest_priority,
            Form.NUMBER,
            ("maxRequestPriority",),
            wide=True,
        ),
        column("FINISHED", "finished", "finishedTime", Form.TIME, wide=True),
        column("MESSAGE", "message", "rejectedMessage", wide=True),
    ),
    name_of=key("applicationID"),
    read=reading.applications,
    read_one=reading.single("application", options=_INCLUDED),
    needs=("applicationID", "queueName", "user", "applicationState"),
    queue_of=key("queueName"),
    user_of=key("user"),
    state_of=key("applicationState"),
)

_ASKS: Final = Kind(
    "asks",
    "ask",
    ("requests",),
    (
        column("APPLICATION", "application", "applicationID"),
        column("ASK", "name", "allocationKey"),
        column("QUEUE", "queue", "queueName"),
        column("AMOUNTS", "amounts", "resource", Form.AMOUNTS),
        column("COUNT", "count", "pendingCount", Form.NUMBER),
        Column("WAITS-FOR", "waits-for", values.waits_for),
        column("AGE", "age", "requestTime", Form.AGE, flexible=False),
        column("USER", "user", "user", wide=True),
        Column("PRIORITY", "priority", values.priority, Form.NUMBER, wide=True),
        column("NODE", "node", "requiredNodeId", wide=True),
        column("TASK-GROUP", "task-group", "taskGroupName", wide=True),
        column("TRIED", "tried", "finding.count", Form.NUMBER, wide=True),
    ),
    name_of=values.ask_name,
    read=reading.inside("requests", carried=_OF_APPLICATION),
    queue_of=key("queueName"),
    user_of=key("user"),
    state_of=values.ask_state,
    labels_of=values.labels("allocationTags"),
)

_ALLOCATIONS: Final = Kind(
    "allocations",
    "allocation",
    ("alloc", "allocs"),
    (
        column("APPLICATION", "application", "applicationID"),
        column("ALLOCATION", "name", "allocationID"),
        column("QUEUE", "queue", "queueName"),
        column("NODE", "node", "nodeId"),
        column("AMOUNTS", "amounts", "resource", Form.AMOUNTS),
        column("AGE", "age", "allocationTime", Form.AGE, flexible=False),
        column("USER", "user", "user", wide=True),
        column("ASK", "ask", "allocationKey", wide=True),
        Column("PRIORITY", "priority", values.priority, Form.NUMBER, wide=True),
        column("TASK-GROUP", "task-group", "taskGroupName", wide=True),
        Column("STATE", "state", values.allocation_state, Form.STATE, wide=True),
    ),
    name_of=values.allocation_name,
    read=reading.inside("allocations", carried=_OF_APPLICATION),
    queue_of=key("queueName"),
    user_of=key("user"),
    state_of=values.allocation_state,
    labels_of=values.labels("allocationTags"),
)

_NODES: Final = Kind(
    "nodes",
    "node",
    ("no",),
    (
        column("NODE", "name", "nodeID"),
        Column("STATE", "state", values.node_state, Form.STATE, ("schedulable", "ready")),
        column("USED", "used", "allocated", Form.AMOUNTS),
        column("FREE", "free", "available", Form.AMOUNTS),
        column("CAPACITY", "capacity", "capacity", Form.AMOUNTS),
        Column("USE", "use", values.highest_use, Form.PERCENT, ("utilized",)),
        Column(
            "RUNS", "runs", values.length("allocations"), Form.NUMBER, ("allocations",), wide=True
        ),
        column("OCCUPIED", "occupied", "occupied", Form.AMOUNTS, wide=True),
        column("HOST", "host", "hostName", wide=True),
        column("RACK", "rack", "rackName", wide=True),
        column("RESERVED-FOR", "reserved-for", "reservations", wide=True),
        Column(
            "DRAINED-BY",
            "drained-by",
            values.drained_by,
            Form.TEXT,
            ("schedulable", "drainedByOperator"),
            wide=True,
        ),
    ),
    name_of=key("nodeID"),
    read=reading.pages("nodes", identity="nodeID"),
    read_one=reading.single("node"),
    needs=("nodeID", "schedulable", "ready", "attributes"),
    state_of=values.node_state,
    labels_of=values.labels("attributes"),
)

_USERS: Final = Kind(
    "users",
    "user",
    (),
    (
        column("USER", "name", "userName"),
        column("USED", "used", "queues.resourceUsage", Form.AMOUNTS),
        column("MAXIMUM", "maximum", "queues.maxResources", Form.AMOUNTS),
        Column("APPS", "applications", values.running_below, Form.NUMBER, ("queues",)),
        column("MAX-APPS", "max-applications", "queues.maxApplications", Form.NUMBER),
        Column("GROUPS", "groups", values.groups_of_user, needs=("groups",), wide=True),
    ),
    name_of=key("userName"),
    read=reading.pages("usage", "users", identity="userName"),
    read_one=reading.single("usage", "user"),
    needs=("userName",),
    user_of=key("userName"),
)

_GROUPS: Final = Kind(
    "groups",
    "group",
    (),
    (
        column("GROUP", "name", "groupName"),
        column("USED", "used", "queues.resourceUsage", Form.AMOUNTS),
        column("MAXIMUM", "maximum", "queues.maxResources", Form.AMOUNTS),
        Column("APPS", "applications", values.running_below, Form.NUMBER, ("queues",)),
        column("MAX-APPS", "max-applications", "queues.maxApplications", Form.NUMBER),
    ),
    name_of=key("groupName"),
    read=reading.pages("usage", "groups", identity="groupName"),
    read_one=reading.single("usage", "group"),
    needs=("groupName",),
)

_RESERVATIONS: Final = Kind(
    "reservations",
    "reservation",
    (),
    (
        column("NODE", "node", "nodeID"),
        column("APPLICATION", "application", "applicationID"),
        column("ASK", "name", "allocationKey"),
        column("QUEUE", "queue", "queueName"),
        column("USER", "user", "user"),
    ),
    name_of=values.reservation_name,
    read=reading.inside("reservations", carried=_OF_APPLICATION),
    queue_of=key("queueName"),
    user_of=key("user"),
)

_PREEMPTIONS: Final = Kind(
    "preemptions",
    "preemption",
    (),
    (
        column("NUMBER", "name", "number", Form.NUMBER),
        column("KIND", "kind", "kind"),
        column("OUTCOME", "outcome", "outcome", Form.STATE),
        column("QUEUE", "queue", "queueName"),
        column("APPLICATION", "application", "applicationId"),
        Column("VICTIMS", "victims", values.length("victims"), Form.NUMBER),
        column("FREED", "freed", "freed", Form.AMOUNTS),
        column("AGE", "age", "time", Form.AGE, flexible=False),
        column("ASK", "ask", "allocationKey", wide=True),
        column("NODE", "node", "nodeId", wide=True),
        column("FINISHED", "finished", "finishedTime", Form.TIME, wide=True),
        column("CAUSE", "cause", "cause", wide=True),
    ),
    name_of=values.number_name,
    read=reading.preemptions,
    read_one=reading.single("preemption"),
    queue_of=key("queueName"),
    state_of=key("outcome"),
)

_PARTITIONS: Final = Kind(
    "partitions",
    "partition",
    (),
    (
        column("PARTITION", "name", "name"),
        column("STATE", "state", "state", Form.STATE),
        column("USED", "used", "capacity.usedCapacity", Form.AMOUNTS),
        column("CAPACITY", "capacity", "capacity.capacity", Form.AMOUNTS),
        column("NODES", "nodes", "totalNodes", Form.NUMBER),
        column("APPS", "applications", "applications.total", Form.NUMBER),
        column("ALLOCATIONS", "allocations", "totalContainers", Form.NUMBER),
        column("RM", "rm", "clusterId", wide=True),
        column("NODES-BY", "nodes-by", "nodeSortingPolicy.type", wide=True),
        column("PREEMPTION", "preemption", "preemptionEnabled", wide=True),
    ),
    name_of=values.partition_name,
    read=reading.pages("partitions", identity="", partition=False),
    needs=("name", "clusterId", "state"),
    state_of=key("state"),
)

_EVENTS: Final = Kind(
    "events",
    "event",
    ("ev",),
    (
        column("TIME", "time", "record.timestampNano", Form.TIME, flexible=False),
        Column("TYPE", "type", event_words.type_of),
        column("OBJECT", "object", "record.objectID"),
        Column("WHAT", "what", event_words.what),
        column("ABOUT", "about", "record.referenceID"),
        Column("AMOUNTS", "amounts", event_words.resources, Form.AMOUNTS),
        column("MESSAGE", "message", "record.message"),
        column("NUMBER", "name", "id", Form.NUMBER, wide=True),
        column("QUEUE", "queue", "queue", wide=True),
        column("RM", "rm", "rmID", wide=True),
    ),
    name_of=values.id_name,
    read=reading.events,
    read_one=reading.events_about,
    queue_of=key("queue"),
    from_end=True,
)

FAIR_SHARES: Final = Kind(
    "fair shares",
    "fair share",
    (),
    (
        column("QUEUE", "name", "queueName"),
        Column("SHARE", "share", values.share, Form.NUMBER, ("share",)),
        column("USED", "used", "allocated", Form.AMOUNTS),
        column("PENDING", "pending", "pending", Form.AMOUNTS),
        column("GUARANTEED", "guaranteed", "guaranteed", Form.AMOUNTS),
        column("OWED", "owed", "owed", Form.AMOUNTS),
        column("BELOW-FOR", "below-for", "belowSince", Form.AGE, flexible=False),
        column("MAXIMUM", "maximum", "maximum", Form.AMOUNTS, wide=True),
        Column("PRIORITY", "priority", values.key_priority, Form.NUMBER, ("priority",), wide=True),
        column("LEAF", "leaf", "isLeaf", wide=True),
    ),
    name_of=key("queueName"),
    read=reading.pages("fairshare", identity="queueName"),
    needs=("queueName",),
    queue_of=key("queueName"),
)

HISTORY: Final = Kind(
    "samples of history",
    "sample of history",
    (),
    (
        column("TIME", "time", "timestamp", Form.TIME, flexible=False),
        column("APPS", "applications", "applications", Form.NUMBER),
        column("ALLOCATIONS", "allocations", "allocations", Form.NUMBER),
    ),
    name_of=values.timestamp_name,
    read=reading.history,
    from_end=True,
)

KINDS: Final = (
    _QUEUES,
    _APPLICATIONS,
    _ASKS,
    _ALLOCATIONS,
    _NODES,
    _USERS,
    _GROUPS,
    _RESERVATIONS,
    _PREEMPTIONS,
    _PARTITIONS,
    _EVENTS,
)


def kind_of(name: str) -> Kind:
    """Return the kind with a name, singular or plural, or an alias. Raises: UsageError."""
    wanted = name.lower()
    for kind in KINDS:
        if wanted in (kind.name, kind.singular, *kind.aliases):
            return kind
    raise UsageError(f"no kind '{name}'; there are: {', '.join(kind.name for kind in KINDS)}")
