"""What a report says about the state of a scheduler: figures, waiting asks, configurations."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import Any, Final

from remuda.base.reason_text import reason_text
from remuda.config.schema import ROOT, Configuration
from remuda.config.setting_table import SETTINGS
from remuda.core.messages import application_queries, gates
from remuda.core.messages.application_queries import (
    ApplicationIndex,
    ApplicationIndexQuery,
    ApplicationQuery,
    LiveIds,
    LiveIdsQuery,
    PendingPortionQuery,
    PendingView,
)
from remuda.core.messages.application_views import ApplicationView
from remuda.core.messages.measures import QueueMeasures, QueueMeasuresPage, QueueMeasuresQuery
from remuda.core.messages.queries import (
    ConfigurationsQuery,
    ConfigurationView,
    NodesQuery,
    NodeView,
    PartitionsQuery,
    PartitionView,
)
from remuda.core.messages.rows import rows
from remuda.core.messages.trace_queries import ConfigurationInForceQuery
from remuda.core.scheduler import Scheduler
from remuda.runtime.reports import names as kinds
from remuda.runtime.reports.configuration import partition_outline
from remuda.runtime.reports.names import Names, amounts

# How many waiting applications, and how many oddities of a kind, a report names.
SHOWN: Final = 20

# How many reasons of one of them.
REASONS_SHOWN: Final = 5

_KNOWN_SETTINGS: Final = frozenset({each.key for each in SETTINGS})

_QUEUE_GATES: Final = (
    gates.QUEUE_QUOTA,
    gates.MAX_APPLICATIONS,
    gates.BACKOFF,
    gates.HALTED,
    gates.GANG,
)
_SUBJECTS: Final = {
    gates.TURN: kinds.APPLICATION,
    gates.ENDING: kinds.APPLICATION,
    gates.REQUIRED_NODE: kinds.NODE,
    gates.PAUSED: kinds.RM,
}

# The limit of a user or a group as an obstacle.
_QUOTA: Final = re.compile(r"(user|group) (.+) at (root(?:\..+)?)", re.DOTALL)


def partition_figures(scheduler: Scheduler, names: Names) -> list[dict[str, Any]]:
    """Return how many objects each partition has, and its amounts."""
    page = _measures(scheduler)
    found = []
    for view in rows(PartitionView, scheduler.view(PartitionsQuery())):
        place = (view.rm_id, view.name)
        queues = [each for each in page.queues if (each.rm_id, each.partition) == place]
        found.append(
            {
                "rm": names.of(kinds.RM, view.rm_id),
                "partition": names.of(kinds.PARTITION, view.name),
                "status": view.state,
                "queues": len(queues),
                "leaves": len([each for each in queues if each.leaf]),
                "nodes": view.total_nodes,
                "applications": dict(sorted(view.applications.items())),
                "allocations": view.total_containers,
                "placeholders": view.placeholders,
                "waiting asks": _waiting_asks(page, view),
                "reservations": view.reservations,
                "capacity": amounts(names, view.capacity),
                "allocated": amounts(names, view.allocated),
            }
        )
    return found


def _measures(scheduler: Scheduler) -> QueueMeasuresPage:
    page = scheduler.view(QueueMeasuresQuery())
    assert isinstance(page, QueueMeasuresPage)
    return page


def _waiting_asks(page: QueueMeasuresPage, view: PartitionView) -> int:
    """Return how many asks of a partition wait."""
    place = (view.rm_id, view.name)
    own = [each for each in page.applications if (each.rm_id, each.partition) == place]
    return sum([each.pending_asks for each in own])


def waiting_applications(scheduler: Scheduler, names: Names, now_ns: int) -> list[dict[str, Any]]:
    """Return the applications that wait longest, each with the ask that is served next."""
    found: list[tuple[int, str, PartitionView, PendingView]] = []
    for view in rows(PartitionView, scheduler.view(PartitionsQuery())):
        live = scheduler.view(LiveIdsQuery(view.name, rm_id=view.rm_id))
        ids = live.ids if isinstance(live, LiveIds) else ()
        query = ApplicationIndexQuery(
            view.name, application_queries.PENDING, ids=ids, rm_id=view.rm_id
        )
        index = scheduler.view(query)
        keys = index.keys if isinstance(index, ApplicationIndex) else ()
        portion = scheduler.view(PendingPortionQuery(view.name, keys, view.rm_id))
        found += [
            (each.since_ns or each.submission_time_ns, each.application_id, view, each)
            for each in rows(PendingView, portion)
        ]
    found.sort(key=lambda each: (each[0], each[1], each[2].rm_id, each[2].name))
    return [
        {
            **_waiting_application(scheduler, names, view, pending),
            "seconds": max(0, now_ns - since_ns) // 10**9,
        }
        for since_ns, _, view, pending in found[:SHOWN]
    ]


def _waiting_application(
    scheduler: Scheduler, names: Names, view: PartitionView, pending: PendingView
) -> dict[str, Any]:
    query = ApplicationQuery(view.name, pending.application_id, rm_id=view.rm_id)
    found = rows(ApplicationView, scheduler.view(query))
    return {
        "application": names.of(kinds.APPLICATION, pending.application_id),
        "queue": names.of(kinds.QUEUE, found[0].queue if found else ""),
        "ask": names.of(kinds.ASK, pending.allocation_key),
        "asks": pending.requests,
        "pending": amounts(names, pending.pending),
        "reason": reason_text(pending.gate, _subject(names, pending.gate, pending.subject)),
        "reasons": _reasons(names, found[0]) if found else [],
    }


def _reasons(names: Names, application: ApplicationView) -> list[dict[str, Any]]:
    """Return why the asks of an application wait, the most frequent reasons first.

    None are told of an application with more asks than one answer has.
    """
    counts = Counter(
        (each.finding.gate, each.finding.subject) if each.finding else ("", "")
        for each in application.requests
    )
    ordered = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    told = [
        {"reason": reason_text(gate, _subject(names, gate, subject)), "asks": count}
        for (gate, subject), count in ordered[:REASONS_SHOWN]
    ]
    rest = sum([count for _, count in ordered[REASONS_SHOWN:]])
    return [*told, {"reason": "other reasons", "asks": rest}] if rest else told


def _subject(names: Names, gate: str, subject: str) -> str:
    """Return what is in the way of an ask; a text with several names counts as one name."""
    if gate in _QUEUE_GATES and (subject == ROOT or subject.startswith(f"{ROOT}.")):
        return names.of(kinds.QUEUE, subject)
    quota = _QUOTA.fullmatch(subject)
    if quota is not None:
        who = names.of(kinds.USER if quota[1] == kinds.USER else kinds.GROUP, quota[2])
        return f"{quota[1]} {who} at {names.of(kinds.QUEUE, quota[3])}"
    return names.of(_SUBJECTS.get(gate, kinds.OBJECT), subject)


def configurations(scheduler: Scheduler, names: Names) -> list[dict[str, Any]]:
    """Return the configuration of each RM; of its extra map the keys only, which may be secret."""
    found = []
    for view in rows(ConfigurationView, scheduler.view(ConfigurationsQuery())):
        config = scheduler.view(ConfigurationInForceQuery(view.rm_id))
        parts = config.partitions if isinstance(config, Configuration) else ()
        found.append(
            {
                "rm": names.of(kinds.RM, view.rm_id),
                "policy group": names.of(kinds.POLICY_GROUP, view.policy_group),
                "settings": sorted([_setting(names, each) for each in view.extra_config]),
                "partitions": [partition_outline(names, each) for each in parts],
            }
        )
    return found


def _setting(names: Names, key: str) -> str:
    return key if key in _KNOWN_SETTINGS else names.of(kinds.PROPERTY, key)


def oddities(scheduler: Scheduler, names: Names) -> list[str]:
    """Return what is allowed and seldom meant, a sentence each."""
    page = _measures(scheduler)
    found = [text for each in page.queues for text in _over_maximum(names, each)][:SHOWN]
    for view in rows(PartitionView, scheduler.view(PartitionsQuery())):
        waiting = _waiting_asks(page, view)
        where = f"partition {names.of(kinds.PARTITION, view.name)}"
        if waiting and not view.total_nodes:
            found.append(f"{where} has {waiting} waiting asks and no node")
        found += _closed_nodes(scheduler, names, view)
    return found


def _over_maximum(names: Names, queue: QueueMeasures) -> list[str]:
    """Say which types a queue uses more of than it may."""
    path = names.of(kinds.QUEUE, queue.path)
    return [
        f"queue {path} uses {queue.allocated[kind]} of {names.of(kinds.RESOURCE, kind)}, "
        f"its maximum is {most}"
        for kind, most in sorted((queue.maximum or {}).items())
        if queue.allocated.get(kind, 0) > most
    ]


def _closed_nodes(scheduler: Scheduler, names: Names, view: PartitionView) -> list[str]:
    """Say which nodes take no more work and still have some."""
    nodes = rows(NodeView, scheduler.view(NodesQuery(view.name, view.rm_id)))
    closed = [each for each in nodes if not each.schedulable and each.allocations]
    return [
        f"node {names.of(kinds.NODE, each.node_id)} takes no new work and has "
        f"{len(each.allocations)} allocations"
        for each in closed[:SHOWN]
    ]


def attempted(work: Callable[[], Any]) -> Any:
    """Return what some work returns, or in a text that it failed: a state may be wrong anyhow.

    The text has the kind of the fault only, because its words may hold names.
    """
    try:
        return work()
    except Exception as error:  # noqa: BLE001 - as above
        return f"this part of the state cannot be read: {type(error).__name__}"
