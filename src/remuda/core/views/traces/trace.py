"""Puts together everything that decides when one ask is placed (rules: EXT-44, EXT-45, EXT-46)."""

from __future__ import annotations

from remuda.core.messages import gates
from remuda.core.messages.trace_queries import AskTraceQuery, AskTraceView, GateView
from remuda.core.model.partition import Partition
from remuda.core.views.findings import note_finding
from remuda.core.views.traces.gates import gate_views
from remuda.core.views.traces.levels import level_views
from remuda.core.views.traces.node_verdicts import NodeVerdicts


def ask_trace(partition: Partition, query: AskTraceQuery) -> AskTraceView | None:
    """Return the trace of an ask; None if nothing of it is pending.

    Cost: the nodes, and the groups of all waiting asks. Rules: EXT-44, EXT-45, EXT-46.
    """
    application = partition.applications.get(query.application_id)
    request = None if application is None else application.requests.get(query.allocation_key)
    if application is None or request is None or request.group is None:
        return None
    limit_group = request.group.limit_group
    ask_class = limit_group.class_queue.ask_class
    verdicts = NodeVerdicts(partition, request, ask_class)
    found = list(gate_views(partition, request, limit_group))
    gate = gates.REQUIRED_NODE if ask_class.required_node else gates.NODES
    found.append(GateView(gate, ask_class.required_node, verdicts.takes > 0))
    why = note_finding(partition, request)
    return AskTraceView(
        ask=request.ask,
        queue=application.queue_path,
        user=application.user,
        groups=application.user_groups,
        pending=request.pending,
        gates=tuple(found),
        levels=level_views(partition, request),
        nodes=verdicts.summary(),
        takes=verdicts.takes,
        nearest=verdicts.nearest(),
        preemption="" if why is None else why.preemption,
    )
