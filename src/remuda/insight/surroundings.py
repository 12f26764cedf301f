"""What the changes that may place an ask depend on beside its trace (rules: EXT-47).

Applications come in the order in which their ends help, and nothing is named that the caller may
not read about.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import count
from typing import Final

from remuda.base.message import message
from remuda.base.resources import Resource
from remuda.base.scopes import Scope
from remuda.config.schema import Configuration
from remuda.core.messages import gates
from remuda.core.messages.application_views import ApplicationView
from remuda.core.messages.queries import (
    AccessQuery,
    AccessView,
    NodesQuery,
    NodeView,
    PartitionsQuery,
    PartitionView,
    QueuesQuery,
    QueueView,
)
from remuda.core.messages.rows import ApplicationRowsQuery, rows
from remuda.core.messages.tags import REQUIRED_NODE
from remuda.core.messages.trace_queries import (
    QUEUES,
    AskTraceView,
    ConfigurationInForceQuery,
    GateView,
)
from remuda.core.scheduler import Scheduler
from remuda.insight.changes import TRIED, Surroundings

_NAME: Final = "what-if"
# A number of more digits is never reached.
_NUMBERED: Final = re.compile(rf"{_NAME}-[0-9]{{1,9}}")


@message
class WaysOutQuestion:
    """The ask that should be placed. ``within_ns``: how soon, in the scheduler's time.

    ``rm_id``: whose partition it is; "": that of the first RM by ID. ``scope``: what the caller may
    read; other queues, their applications and single nodes are not named. None: everything.
    """

    partition: str
    application_id: str
    allocation_key: str
    within_ns: int = 0
    rm_id: str = ""
    scope: Scope | None = None

    def sees(self, queue: str) -> bool:
        """Whether the caller may read about a queue; "": about the partition. Rules: EXT-32."""
        scope = self.scope
        return scope is None or scope.includes(self.rm_id, self.partition, queue)


def visible(question: WaysOutQuestion, trace: AskTraceView) -> AskTraceView:
    """Return a trace without the queues that the caller may not read about.

    Otherwise the priority that an edit proposes would tell theirs. Rules: EXT-65.
    """
    levels = []
    for level in trace.levels:
        ahead = level.ahead
        if level.kind == QUEUES:
            ahead = tuple([each for each in ahead if question.sees(f"{level.path}.{each.name}")])
        levels.append(replace(level, ahead=ahead))
    return replace(trace, levels=tuple(levels))


def surroundings(
    scheduler: Scheduler, question: WaysOutQuestion, trace: AskTraceView
) -> Surroundings:
    """Return what is around an ask. Cost: all queues, nodes, applications and allocations."""
    partition = question.partition
    (home,) = [
        view
        for view in rows(PartitionView, scheduler.view(PartitionsQuery()))
        if view.name == partition and question.rm_id in ("", view.rm_id)
    ][:1]
    config = scheduler.view(ConfigurationInForceQuery(home.rm_id))
    assert isinstance(config, Configuration)
    nodes = rows(NodeView, scheduler.view(NodesQuery(partition, question.rm_id)))
    known = applications(scheduler, question)
    queues = list(_queues(scheduler, question))
    own = (question.application_id, question.allocation_key)
    visible = [view for view in known if question.sees(view.queue)]
    names = {view.application_id for view in visible}
    reserved = [
        {each[0] for each in node.reservations if each != own and each[0] in names}
        for node in nodes
    ]
    reserving = set[str]().union(*reserved)
    leaves, full_leaves = _leaves(scheduler, question, trace, queues)
    taken = {view.application_id for view in known} | {node.node_id for node in nodes}
    return Surroundings(
        home.rm_id,
        partition,
        config,
        leaves,
        full_leaves,
        _helpful(trace, visible, nodes),
        next((queue.allocated for queue in queues if queue.path == trace.queue), {}),
        {node.node_id: node for node in nodes},
        max([node.capacity for node in nodes], key=_size, default={}),
        sum(map(bool, reserved)),
        len(reserving),
        _total([view.pending for view in visible if view.application_id in reserving]),
        free_name(taken),
        may_name_nodes=question.sees(""),
    )


def applications(scheduler: Scheduler, question: WaysOutQuestion) -> list[ApplicationView]:
    """Return the live applications of the partition."""
    query = ApplicationRowsQuery(question.partition, rm_id=question.rm_id)
    return rows(ApplicationView, scheduler.view(query))


def free_name(taken: Iterable[str]) -> str:
    """Return a name that none of these begins with, however many somebody has taken."""
    begun: set[str] = set()
    for name in taken:
        found = _NUMBERED.match(name)
        if found is not None:
            begun.update(name[:end] for end in range(len(_NAME) + 2, found.end() + 1))
    return next(name for name in map(f"{_NAME}-{{}}".format, count(1)) if name not in begun)


def _size(resource: Resource) -> tuple[int, ...]:
    return tuple([resource[name] for name in sorted(resource, reverse=True)])


# ----------------------------------------------------------------------------- queues


def _queues(scheduler: Scheduler, question: WaysOutQuestion) -> Iterator[QueueView]:
    root = scheduler.view(QueuesQuery(question.partition, question.rm_id))
    assert isinstance(root, QueueView)
    ahead = [root]
    while ahead:
        queue = ahead.pop()
        ahead += queue.children
        yield queue


def _leaves(
    scheduler: Scheduler,
    question: WaysOutQuestion,
    trace: AskTraceView,
    queues: Sequence[QueueView],
) -> tuple[list[str], list[str]]:
    """Return the first other leaves by path that let the user in: with room now, and without."""
    roomy: list[str] = []
    full: list[str] = []
    for queue in sorted(queues, key=lambda each: each.path):
        found = roomy if _fits(trace, queue.headroom) else full
        if len(found) < TRIED and _lets_in(scheduler, question, trace, queue):
            found.append(queue.path)
    return roomy, full


def _lets_in(
    scheduler: Scheduler, question: WaysOutQuestion, trace: AskTraceView, queue: QueueView
) -> bool:
    """Whether a queue is another leaf in which the user may submit, and which is not too small."""
    if not (queue.leaf and queue.managed and question.sees(queue.path)):
        return False
    if queue.path == trace.queue or not _fits(trace, queue.maximum):
        return False
    access = AccessQuery(
        question.partition, queue.path, trace.user, trace.groups, rm_id=question.rm_id
    )
    answer = scheduler.view(access)
    return isinstance(answer, AccessView) and answer.allowed


def _fits(trace: AskTraceView, room: Resource | None) -> bool:
    """Whether an ask fits in what is limited; types that are not named are not limited."""
    return all(
        (room or {}).get(name, amount) >= amount for name, amount in trace.ask.resource.items()
    )


# ----------------------------------------------------------------------------- applications


def _helpful(
    trace: AskTraceView, known: Sequence[ApplicationView], nodes: Sequence[NodeView]
) -> list[str]:
    """Return the other applications whose end may help, by ID.

    First come those that remove most of what stops the ask, and of these the smallest.
    """
    stops = [gate for gate in trace.gates if not gate.passed]
    freeing = _freeing(trace, nodes)
    ahead = _turns(trace)
    found: list[tuple[int, tuple[int, ...], str]] = []
    for view in known:
        name = view.application_id
        if name == trace.ask.application_id:
            continue
        helps = sum([_removes(view, gate) for gate in stops]) + (name in freeing)
        if helps or name in ahead or any(view.used.values()):
            found.append((-helps, _size(view.used), name))
    return [name for _, _, name in sorted(found)]


def _turns(trace: AskTraceView) -> set[str]:
    """Return the applications whose turn comes before, if the ask waits for a turn."""
    if all(gate.passed for gate in trace.gates if gate.gate == gates.TURN):
        return set()
    levels = [level for level in trace.levels if level.path == trace.queue]
    return {rival.name for level in levels for rival in level.ahead}


def _removes(view: ApplicationView, stop: GateView) -> bool:
    """Whether the end of an application removes a stop that is no node."""
    if stop.gate == gates.TURN:
        return stop.subject == view.application_id
    kind, at, path = stop.subject.rpartition(" at ")
    if not f"{view.queue}.".startswith(f"{path}."):
        return False
    if at and kind not in (f"user {view.user}", *(f"group {each}" for each in view.groups)):
        return False
    if stop.gate == gates.MAX_APPLICATIONS:
        return bool(view.start_time_ns)
    left = stop.available or {}
    return bool(left) and all(
        left.get(name, amount) + view.used.get(name, 0) >= amount
        for name, amount in (stop.requested or {}).items()
    )


def _freeing(trace: AskTraceView, nodes: Sequence[NodeView]) -> set[str]:
    """Return the applications of which each one's end makes room for the ask on a node."""
    required = trace.ask.tags.get(REQUIRED_NODE, "")
    own = trace.ask.application_id
    found: set[str] = set()
    for node in nodes:
        if node.node_id != required and (required or not node.schedulable):
            continue
        holders = {name for name, _ in node.reservations if name != own}
        held: dict[str, dict[str, int]] = {name: {} for name in holders}
        for allocation in node.allocations:
            amounts = held.setdefault(allocation.application_id, {})
            for name, amount in allocation.resource.items():
                amounts[name] = amounts.get(name, 0) + amount
        found.update(
            name
            for name, amounts in held.items()
            if holders <= {name} and _has(trace, _total([node.available, amounts]))
        )
    return found


def _has(trace: AskTraceView, free: Resource) -> bool:
    """Whether amounts are enough for an ask; types that are not named are not there."""
    return all(free.get(name, 0) >= amount for name, amount in trace.ask.resource.items())


def _total(resources: Sequence[Resource]) -> dict[str, int]:
    found: dict[str, int] = {}
    for resource in resources:
        for name, amount in resource.items():
            found[name] = found.get(name, 0) + amount
    return found
