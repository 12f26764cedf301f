"""Everything the reference model derives from its facts: sums, limits, priorities and orders.

Each function answers one question of chapter 50 by looking at all facts again.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from tests.reference import arithmetic as res
from tests.reference.state import (
    LIVE,
    MAX_PRIORITY,
    MIN_PRIORITY,
    Application,
    Ask,
    Node,
    Partition,
    Queue,
)


def within(partition: Partition, path: str) -> list[Application]:
    """The live applications in a queue and below, in no particular order."""
    return [
        app
        for app in partition.applications.values()
        if app.state in LIVE and (app.queue == path or app.queue.startswith(path + "."))
    ]


def directly_in(partition: Partition, leaf: Queue) -> list[Application]:
    """The live applications of a queue itself."""
    return [app for app in within(partition, leaf.path) if app.queue == leaf.path]


def children(partition: Partition, path: str) -> list[Queue]:
    """The queues right below a path."""
    return [queue for queue in partition.queues.values() if queue.parent == path]


def application_allocated(app: Application) -> dict[str, int]:
    """What an application holds."""
    return res.total(a.resource for a in app.allocations.values())


def application_pending(app: Application) -> dict[str, int]:
    """What an application still wants. Rules: SI-32."""
    return res.total(res.times(ask.resource, ask.pending) for ask in app.asks.values())


def allocated(partition: Partition, path: str) -> dict[str, int]:
    """What a queue and everything below it holds. Rules: QUE-2."""
    return res.total(application_allocated(app) for app in within(partition, path))


def pending(partition: Partition, path: str) -> dict[str, int]:
    """What a queue and everything below it still wants. Rules: QUE-2."""
    return res.total(application_pending(app) for app in within(partition, path))


def root_maximum(partition: Partition) -> dict[str, int] | None:
    """The sum of all nodes, schedulable or not; None if there is none. Rules: QUE-6."""
    capacity = res.total(node.capacity for node in partition.nodes.values())
    left = {name: amount for name, amount in capacity.items() if amount != 0}  # RES-15
    return left if res.positive(left) else None


def maximum(partition: Partition, path: str) -> dict[str, int] | None:
    """The own limit of a queue."""
    return root_maximum(partition) if path == "root" else partition.queues[path].maximum


def headroom(partition: Partition, path: str) -> res.Limit:
    """What may still be placed in a queue. Rules: QUE-13."""
    own = maximum(partition, path)
    left: res.Limit = None
    if own is not None:
        used = allocated(partition, path)
        left = {t: limit - used.get(t, 0) for t, limit in own.items()}
    if path == "root":
        return left
    return res.smaller_of_each(left, headroom(partition, partition.queues[path].parent))


def charge_fits(partition: Partition, path: str, wanted: res.Amounts) -> bool:
    """Whether every queue up to root may grow by wanted. Rules: QUE-8 as since 1.6."""
    used = allocated(partition, path)
    after = {t: used.get(t, 0) + amount for t, amount in wanted.items() if amount}
    if path == "root":
        return res.fits(root_maximum(partition) or {}, after)
    if not res.fits_where_limited(maximum(partition, path), after):
        return False
    return charge_fits(partition, partition.queues[path].parent, wanted)


def fair_maximum(partition: Partition, path: str) -> res.Limit:
    """The limit fair shares are measured against. Rules: QUE-38."""
    own = maximum(partition, path)
    if path == "root":
        return own
    above = fair_maximum(partition, partition.queues[path].parent)
    if not above or own is None:
        return above
    return {**above, **own}


# ------------------------------------------------------------------------------- priorities


def application_priority(app: Application) -> int:
    """The highest priority among asks with something pending. Rules: QUE-27."""
    return max((a.priority for a in app.asks.values() if a.pending), default=MIN_PRIORITY)


def current_priority(partition: Partition, queue: Queue) -> int:
    """The highest priority inside a queue. Rules: QUE-28."""
    own = [application_priority(app) for app in directly_in(partition, queue)]
    below = [visible_priority(partition, child) for child in children(partition, queue.path)]
    return max(own + below, default=MIN_PRIORITY)


def visible_priority(partition: Partition, queue: Queue) -> int:
    """The priority a queue shows to its siblings. Rules: QUE-29."""
    current = current_priority(partition, queue)
    if current == MIN_PRIORITY:
        return MIN_PRIORITY
    if queue.fenced:
        return queue.offset
    return min(MAX_PRIORITY, max(MIN_PRIORITY, current + queue.offset))


# ----------------------------------------------------------------------------------- orders


def queue_order(partition: Partition, parent: Queue) -> list[Queue]:
    """The children worth visiting, in order. Rules: QUE-32, QUE-33, QUE-34, QUE-35, QUE-36, RES-49,
    KV-5."""
    candidates = [
        queue
        for queue in children(partition, parent.path)
        if res.positive(pending(partition, queue.path))
    ]

    def rank(queue: Queue) -> tuple[Any, Any]:
        used = allocated(partition, queue.path)
        if partition.parity:
            ratio = tuple(share for share in res.shares(used, queue.guaranteed) if share)
        else:
            fair_max = fair_maximum(partition, queue.path)
            ratio = (res.fair_share(used, queue.guaranteed, fair_max),)
        urgency = -visible_priority(partition, queue)
        return (urgency, ratio) if parent.by_priority else (ratio, urgency)

    ranked: dict[tuple[Any, Any], list[Queue]] = {}
    for queue in candidates:
        ranked.setdefault(rank(queue), []).append(queue)
    return [queue for key in sorted(ranked) for queue in by_demand(partition, ranked[key])]


def by_demand(partition: Partition, tied: list[Queue]) -> list[Queue]:
    """Queues equal in all else, by what they want, then by name.

    With parity always the first by name that no other exceeds, if that is not too much to compare.
    Rules: QUE-35, QUE-36, KV-5.
    """
    wanted = {queue.path: pending(partition, queue.path) for queue in tied}
    kinds = {tuple(sorted((t, a) for t, a in each.items() if a)) for each in wanted.values()}
    if not partition.parity or len(kinds) > 64:
        whole = root_maximum(partition) or {}

        def demand(queue: Queue) -> tuple[Fraction, int, str]:
            wants = wanted[queue.path]
            parts = sum((Fraction(wants[t], whole[t]) for t in wants if whole.get(t)), Fraction(0))
            others = sum(wants[t] for t in wants if not whole.get(t))
            return -parts, -others, queue.path.rpartition(".")[2]

        return sorted(tied, key=demand)
    left = sorted(tied, key=lambda queue: queue.path.rpartition(".")[2])
    ordered = []
    while left:
        first = next(
            one
            for one in left
            if not any(res.exceeds(wanted[other.path], wanted[one.path]) for other in left)
        )
        ordered.append(first)
        left.remove(first)
    return ordered


def application_order(partition: Partition, leaf: Queue) -> list[Application]:
    """The applications worth visiting, in order. Rules: QUE-39, QUE-40."""
    wanting = directly_in(partition, leaf)
    candidates = [app for app in wanting if res.positive(application_pending(app))]
    return ranked(leaf, candidates)


def one_start_at_a_time(partition: Partition, leaf: Queue) -> list[Application]:
    """The same for the regular pass, of a stateaware leaf fewer. Rules: QUE-41."""
    found = application_order(partition, leaf)
    if not leaf.stateaware:
        return found
    accepted = [app for app in found if app.state == "Accepted"]
    starting = any(app.state == "Starting" for app in directly_in(partition, leaf))
    oldest = min(accepted, key=lambda app: (app.submitted, app.arrival), default=None)
    return [app for app in found if app.state != "Accepted" or (app is oldest and not starting)]


def ranked(leaf: Queue, candidates: list[Application]) -> list[Application]:
    """Applications of a leaf in its order. Rules: QUE-40."""
    usage = res.usage_key(leaf.guaranteed)

    def rank(app: Application) -> tuple[Any, ...]:
        age = usage(application_allocated(app)) if leaf.fair else app.submitted
        urgency = -application_priority(app)
        return (urgency, age, app.arrival) if leaf.by_priority else (age, urgency, app.arrival)

    return sorted(candidates, key=rank)


def ask_order(app: Application) -> list[Ask]:
    """The asks with something pending, in order. Rules: QUE-44, QUE-46."""
    wanting = [ask for ask in app.asks.values() if ask.pending]
    return sorted(wanting, key=lambda ask: (-ask.priority, ask.created, ask.arrival))


def occupied(node: Node) -> res.Amounts:
    """What others use of a node. Rules: CYC-29."""
    return res.total(node.foreign.values()) if node.counts_foreign else node.occupied


def available(partition: Partition) -> dict[str, dict[str, int]]:
    """What is left on each node; may be negative. Rules: NODE-3."""
    left = {n.identity: res.subtract(n.capacity, occupied(n)) for n in partition.nodes.values()}
    for app in partition.applications.values():
        for allocation in app.allocations.values():
            left[allocation.node_id] = res.subtract(left[allocation.node_id], allocation.resource)
    return left


def node_score(partition: Partition, node: Node, free: res.Amounts, policy: str) -> float:
    """The lower, the earlier. Rules: NOD-16, NOD-17, NOD-18, NOD-19."""
    weights = partition.node_weights or {"vcore": 1.0, "memory": 1.0}
    weighted = whole = 0.0
    for type_name in sorted(node.capacity):
        weight, size = weights.get(type_name, 0.0), node.capacity[type_name]
        if weight and size > 0:
            weighted += weight * (1 - free[type_name] / size)
            whole += weight
    usage = weighted / whole if whole else 0.0
    return 1 - usage if policy == "binpacking" else usage


def node_order(partition: Partition, app: Application) -> list[Node]:
    """All nodes in the order of an application. Rules: NOD-15, NOD-23."""
    free = available(partition)
    policy = app.node_policy or partition.node_policy

    def rank(node: Node) -> tuple[float, str]:
        return node_score(partition, node, free[node.identity], policy), node.identity

    return sorted(partition.nodes.values(), key=rank)
