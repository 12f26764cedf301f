"""The changes that may place an ask, worked out from its trace; whether they do is tried later.

Each edit removes all obstacles at once: it raises every limit that stops the ask, and makes room on
a node in one of several ways. The set is bounded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Final

from remuda.base.message import message
from remuda.base.resources import Resource
from remuda.config.schema import ROOT, Configuration, LimitConfig, PartitionConfig, QueueConfig
from remuda.core.messages import gates
from remuda.core.messages.ask import Ask
from remuda.core.messages.commands import (
    CREATE,
    DRAIN_TO_SCHEDULABLE,
    ApplicationRemoval,
    Command,
    NewApplication,
    NodeUpdate,
    UpdateAllocations,
    UpdateApplications,
    UpdateConfiguration,
    UpdateNodes,
)
from remuda.core.messages.trace_queries import DRAINING, AskTraceView, GateView

# Kinds of edits; an edit may combine several.
LIMITS: Final = "limits"
SMALLER: Final = "smaller ask"
UNDRAIN: Final = "undrain a node"
NODE: Final = "another node"
RELEASE: Final = "an application ends"
QUEUE: Final = "another queue"
PRIORITY: Final = "priority"

# What edits cost, for their order: what one person can do alone comes first.
COSTS: Final[Mapping[str, int]] = {
    PRIORITY: 1,
    QUEUE: 2,
    UNDRAIN: 3,
    SMALLER: 4,
    LIMITS: 5,
    RELEASE: 7,
    NODE: 9,
}

# How many edits of one kind are tried.
TRIED: Final = 4

# A checksum that no text has (CHK-5).
_CHECKSUM: Final = "edited"
_PARTITION: Final = "si/node-partition"


@message
class Edit:
    """A change: its kinds and what it is in words, part by part, and the requests that make it.

    ``application_id``: the application whose ask is placed by it, which differs for another queue.
    """

    kinds: tuple[str, ...]
    parts: tuple[str, ...]
    commands: tuple[Command, ...]
    application_id: str

    @property
    def text(self) -> str:
        """All of it in words."""
        return ", and ".join(self.parts)

    @property
    def cost(self) -> int:
        """What it costs, for the order of edits."""
        return sum([COSTS[kind] for kind in self.kinds])


@message
class Surroundings:
    """What edits need to know beside the trace of the ask.

    ``leaves``: other leaves whose queues let the user in. ``running``: applications with
    allocations, with what they use, those that free the least first. ``largest``: the capacity of
    the largest node. ``name``: an ID that no application and no node has. ``may_name_nodes``: no
    edit about a single node is proposed otherwise.
    """

    rm_id: str
    partition: str
    configuration: Configuration
    leaves: Sequence[str]
    running: Sequence[tuple[str, Resource]]
    largest: Resource
    name: str
    may_name_nodes: bool = True


def edits(trace: AskTraceView, around: Surroundings) -> list[Edit]:
    """Return the edits to try for an ask, cheapest first. Rules: EXT-47."""
    return sorted(_all(trace, around), key=lambda edit: edit.cost)


def _all(trace: AskTraceView, around: Surroundings) -> Iterator[Edit]:
    ask = trace.ask
    stops = [gate for gate in trace.gates if not gate.passed]
    limits = _raised(stops, around)
    higher = replace_ask(ask, priority=_higher(trace))
    text = f"raise the priority of the ask to {higher.priority}"
    first = Edit((PRIORITY,), (text,), (_ask(around, higher),), ask.application_id)
    yield first
    yield from _smaller(trace, around, stops)
    for leaf in around.leaves[:TRIED]:
        yield _elsewhere(trace, around, leaf)
    found: list[Edit] = []
    for application_id, _ in around.running[:TRIED]:
        removal = ApplicationRemoval(application_id, around.partition)
        command = UpdateApplications(around.rm_id, remove=(removal,))
        release = Edit(
            (RELEASE,), (f"application {application_id} ends",), (command,), ask.application_id
        )
        found.append(release if limits is None else _both(limits, release))
        if limits is not None:
            yield release
    room = list(_more_room(trace, around)) if _lacks_room(stops) else []
    found += room if limits is None else [_both(limits, more) for more in room] or [limits]
    for edit in found:
        # Without a higher priority others may take the room first.
        yield edit
        yield _both(edit, first)


def _lacks_room(stops: Sequence[GateView]) -> bool:
    """Whether the nodes stop an ask, or root's maximum, which is the size of the cluster."""
    return any(
        gate.gate in (gates.NODES, gates.REQUIRED_NODE)
        or (gate.gate == gates.QUEUE_QUOTA and gate.subject == ROOT)
        for gate in stops
    )


def _both(first: Edit, second: Edit) -> Edit:
    return Edit(
        first.kinds + second.kinds,
        first.parts + second.parts,
        first.commands + second.commands,
        second.application_id,
    )


def _higher(trace: AskTraceView) -> int:
    """Return a priority above that of everything that is served before the ask."""
    ahead = [rival.priority for level in trace.levels for rival in level.ahead]
    return min(max([trace.ask.priority, *ahead]) + 1, 2**31 - 1)


def replace_ask(ask: Ask, **changes: object) -> Ask:
    """Return an ask with other values: a compiled class has no ``__slots__``, but has fields."""
    values = {field.name: getattr(ask, field.name) for field in fields(ask)}
    return Ask(**{**values, **changes})


def _ask(around: Surroundings, ask: Ask) -> UpdateAllocations:
    return UpdateAllocations(around.rm_id, asks=(ask,))


def _smaller(
    trace: AskTraceView, around: Surroundings, stops: Sequence[GateView]
) -> Iterator[Edit]:
    """Yield the ask in the size that fits the limits and the nearest node."""
    nodes = [node for node in trace.nearest if node.verdict not in (DRAINING, "reserved")]
    wanted = trace.ask.resource
    for node in nodes[:1]:
        size = {name: amount - node.lacking.get(name, 0) for name, amount in wanted.items()}
        for gate in stops:
            for name, left in (gate.available or {}).items():
                if name in size:
                    size[name] = min(size[name], left)
        if size != wanted and all(size[name] > 0 for name in size if wanted[name] > 0):
            text = f"ask for {_amounts(size)} instead of {_amounts(wanted)}"
            smaller = replace_ask(trace.ask, resource=size)
            yield Edit((SMALLER,), (text,), (_ask(around, smaller),), trace.ask.application_id)


def _elsewhere(trace: AskTraceView, around: Surroundings, leaf: str) -> Edit:
    """Return the ask in an application of another queue."""
    name = around.name
    application = NewApplication(name, leaf, around.partition, trace.user, trace.groups)
    moved = replace_ask(trace.ask, application_id=name)
    return Edit(
        (QUEUE,),
        (f"submit it to queue {leaf} instead of {trace.queue}",),
        (UpdateApplications(around.rm_id, (application,)), _ask(around, moved)),
        name,
    )


def _more_room(trace: AskTraceView, around: Surroundings) -> Iterator[Edit]:
    """Yield ways to have room on a node: a draining one, or one more."""
    ask = trace.ask
    nodes = trace.nearest if around.may_name_nodes else ()
    fitting = [each for each in nodes if each.verdict == DRAINING and not each.lacking]
    attributes = {_PARTITION: around.partition}
    for node in fitting[:TRIED]:
        update = NodeUpdate(node.node_id, DRAIN_TO_SCHEDULABLE, attributes=attributes)
        command = UpdateNodes(around.rm_id, (update,))
        yield Edit((UNDRAIN,), (f"use node {node.node_id} again",), (command,), ask.application_id)
    size = dict(around.largest)
    for name, amount in ask.resource.items():
        size[name] = max(size.get(name, 0), amount)
    update = NodeUpdate(around.name, CREATE, size, attributes=attributes)
    text = f"one more node with {_amounts(size)}"
    yield Edit((NODE,), (text,), (UpdateNodes(around.rm_id, (update,)),), ask.application_id)


# ------------------------------------------------------------------------------ limits


def _raised(stops: Sequence[GateView], around: Surroundings) -> Edit | None:
    """Return an edit that raises all limits that stop an ask, None if none does or can be."""
    wanted = [gate for gate in stops if _raisable(gate)]
    if not wanted:
        return None
    partitions: list[PartitionConfig] = []
    for partition in around.configuration.partitions:
        changed: PartitionConfig | None = partition
        if partition.name == around.partition:
            changed = _with_limits(partition, wanted)
        if changed is None:
            return None
        partitions.append(changed)
    config = Configuration(tuple(partitions), _CHECKSUM, "")
    text = "; ".join([_limit_text(gate) for gate in wanted])
    return Edit((LIMITS,), (text,), (UpdateConfiguration(around.rm_id, config),), "")


def _raisable(gate: GateView) -> bool:
    """Whether a gate is a limit that the configuration sets; root's is the size of the cluster."""
    if gate.gate in (gates.QUEUE_QUOTA, gates.GANG):
        return gate.maximum is not None and gate.subject != ROOT
    return gate.gate in (gates.USER_QUOTA, gates.MAX_APPLICATIONS)


def _limit_text(gate: GateView) -> str:
    if gate.gate == gates.MAX_APPLICATIONS:
        return f"let {gate.subject} run {gate.applications + 1} applications"
    return f"raise the limit of {gate.subject} to {_amounts(raised(gate))}"


def raised(gate: GateView) -> dict[str, int]:
    """Return the smallest maximum with which a gate would be passed."""
    found = dict(gate.maximum or {})
    for name, amount in (gate.requested or {}).items():
        left = (gate.available or {}).get(name)
        if left is not None and amount > left:
            found[name] += amount - left
    return found


def _with_limits(partition: PartitionConfig, wanted: Sequence[GateView]) -> PartitionConfig | None:
    """Return a partition with limits raised; None if its configuration does not name one."""
    root: QueueConfig | None = partition.root
    for gate in wanted:
        names = gate.subject.rpartition(" at ")[2].split(".")[1:]
        root = None if root is None else _changed(root, names, gate)
    return None if root is None else replace(partition, root=root)


def _changed(queue: QueueConfig, names: Sequence[str], gate: GateView) -> QueueConfig | None:
    if names:
        for number, child in enumerate(queue.queues):
            if child.name == names[0]:
                below = _changed(child, names[1:], gate)
                if below is None:
                    return None
                queues = (*queue.queues[:number], below, *queue.queues[number + 1 :])
                return replace(queue, queues=queues)
        return None
    if " at " in gate.subject:
        return _with_user_limit(queue, gate)
    if gate.gate == gates.MAX_APPLICATIONS:
        return replace(queue, max_applications=gate.applications + 1)
    return replace(queue, maximum=raised(gate))


def _with_user_limit(queue: QueueConfig, gate: GateView) -> QueueConfig | None:
    """Return a queue with a limit of a user or group raised, for all whom the entry is for."""
    kind, _, rest = gate.subject.partition(" ")
    name = rest.rpartition(" at ")[0]
    for wanted in (name, "*"):
        for number, limit in enumerate(queue.limits):
            if wanted in (limit.users if kind == "user" else limit.groups):
                limits = list(queue.limits)
                limits[number] = _raised_limit(limit, gate)
                return replace(queue, limits=tuple(limits))
    return None


def _raised_limit(limit: LimitConfig, gate: GateView) -> LimitConfig:
    if gate.gate == gates.MAX_APPLICATIONS:
        return replace(limit, max_applications=gate.applications + 1)
    return replace(limit, maximum=raised(gate))


def _amounts(resource: Resource) -> str:
    return ", ".join(f"{name} {amount}" for name, amount in sorted(resource.items()))
