"""Changes of queues and limits that may let an ask be placed (rules: EXT-47)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from remuda.base.resources import Resource
from remuda.config.schema import ROOT, LimitConfig, PartitionConfig, QueueConfig
from remuda.core.messages import gates
from remuda.core.messages.trace_queries import AskTraceView, GateView
from remuda.insight.changes import GUARANTEE, LIMITS, Change, Surroundings, amounts


def higher_limits(
    stops: Sequence[GateView], applications: int = 0, more: Resource | None = None
) -> tuple[Change, ...]:
    """Return one change that raises all limits that stop an ask; none if no limit does.

    ``applications`` and ``more``: beside the ask, so many others and so much have to fit.
    """
    wanted = [_passed(gate, applications, more or {}) for gate in stops if _raisable(gate)]
    if not wanted:
        return ()

    def configure(partition: PartitionConfig) -> PartitionConfig | None:
        root: QueueConfig | None = partition.root
        for gate in wanted:
            names = gate.subject.rpartition(" at ")[2].split(".")[1:]
            root = None if root is None else _limited(root, names, gate)
        return None if root is None else replace(partition, root=root)

    text = "; ".join([_limit_text(gate) for gate in wanted])
    return (Change(LIMITS, text, configure=configure),)


def _raisable(gate: GateView) -> bool:
    """Whether a gate is a limit that the configuration sets; root's is the size of the cluster."""
    if gate.gate in (gates.QUEUE_QUOTA, gates.GANG):
        return gate.maximum is not None and gate.subject != ROOT
    return gate.gate in (gates.USER_QUOTA, gates.MAX_APPLICATIONS)


def _passed(gate: GateView, applications: int, more: Resource) -> GateView:
    """Return a gate with the smallest limit with which it is passed, with others that also pass."""
    if gate.gate == gates.MAX_APPLICATIONS:
        return replace(gate, max_applications=gate.applications + 1 + applications)
    limits = dict(gate.maximum or {})
    for name, amount in (gate.requested or {}).items():
        left = (gate.available or {}).get(name)
        needed = amount + more.get(name, 0)
        if left is not None and amount > left:
            limits[name] += needed - left
    return replace(gate, maximum=limits)


def _limit_text(gate: GateView) -> str:
    if gate.gate == gates.MAX_APPLICATIONS:
        return f"let {gate.subject} run {gate.max_applications} applications"
    return f"raise the limit of {gate.subject} to {amounts(gate.maximum or {})}"


def _limited(queue: QueueConfig, names: Sequence[str], gate: GateView) -> QueueConfig | None:
    """Return a queue with a limit raised there or below; None if the configuration has none."""
    if names:
        return _with_child(queue, names[0], lambda child: _limited(child, names[1:], gate))
    if " at " in gate.subject:
        return _with_user_limit(queue, gate)
    if gate.gate == gates.MAX_APPLICATIONS:
        return replace(queue, max_applications=gate.max_applications)
    return replace(queue, maximum=gate.maximum)


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
        return replace(limit, max_applications=gate.max_applications)
    return replace(limit, maximum=gate.maximum)


# ----------------------------------------------------------------------------- guarantees


def higher_guarantee(trace: AskTraceView, around: Surroundings) -> tuple[Change, ...]:
    """Return a guarantee of the leaf with which an ask may preempt; none if it may not preempt.

    The leaf is owed what it uses and the ask. Queues above with a guarantee are guaranteed as much
    more, since those of their children have to fit (CFG-73).
    """
    if not trace.ask.allow_preempt_other:
        return ()
    wanted = {name: amount for name, amount in trace.ask.resource.items() if amount > 0}
    owed = {name: max(around.used.get(name, 0), 0) + amount for name, amount in wanted.items()}

    def configure(partition: PartitionConfig) -> PartitionConfig | None:
        root = _guaranteed(partition.root, trace.queue.split(".")[1:], owed)
        return None if root is None else replace(partition, root=root)

    text = f"guarantee {trace.queue} {amounts(owed)}"
    return (Change(GUARANTEE, text, configure=configure),)


def _guaranteed(queue: QueueConfig, names: Sequence[str], owed: Resource) -> QueueConfig | None:
    """Return a queue of which the leaf below is guaranteed an amount; None if it is not there."""
    if not names:
        return replace(queue, guaranteed=_larger(queue.guaranteed or {}, owed))
    found = _with_child(queue, names[0], lambda child: _guaranteed(child, names[1:], owed))
    if found is None or not any((queue.guaranteed or {}).values()):
        return found
    needed = _sum([_passed_up(child) for child in found.queues])
    return replace(found, guaranteed=_larger(queue.guaranteed or {}, needed))


def _passed_up(queue: QueueConfig) -> Resource:
    """Return what the guarantees of a queue count as in the one above. Rules: CFG-73, CFG-75."""
    if any((queue.guaranteed or {}).values()):
        return queue.guaranteed or {}
    return _sum([_passed_up(child) for child in queue.queues])


def _sum(resources: Sequence[Resource]) -> Resource:
    found: dict[str, int] = {}
    for resource in resources:
        for name, amount in resource.items():
            found[name] = found.get(name, 0) + amount
    return found


def _larger(first: Resource, second: Resource) -> Resource:
    names = [*first, *(name for name in second if name not in first)]
    return {name: max(first.get(name, 0), second.get(name, 0)) for name in names}


def _with_child(
    queue: QueueConfig, name: str, change: Callable[[QueueConfig], QueueConfig | None]
) -> QueueConfig | None:
    """Return a queue with another child; None if it has no child of that name."""
    for number, child in enumerate(queue.queues):
        if child.name == name:
            below = change(child)
            if below is None:
                return None
            return replace(
                queue, queues=(*queue.queues[:number], below, *queue.queues[number + 1 :])
            )
    return None
