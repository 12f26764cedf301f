"""The facts a preemption is decided on, as plain records, and the sums of chapters 50 and 60.

Everything is summed up anew whenever it is asked for. Names follow the specification: ``stays``,
``due``, ``names`` and the paths of chapter 60 part F.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from tests.reference import arithmetic as res

ROOT = "root"
FENCE = "fence"
DISABLED = "disabled"

# What an allocation is besides running (PRE-13): ordered out for another reason, or a victim.
ORDERED = "ordered"
PREEMPTING = "preempting"


@dataclass(frozen=True)
class Queue:
    """A queue. ``policy``: its own preemption policy, "" if it has none. ``fenced``: by priority.

    ``guaranteed`` and ``maximum`` None: not set. Root's maximum is that of the nodes (QUE-6).
    """

    path: str
    guaranteed: Mapping[str, int] | None = None
    maximum: Mapping[str, int] | None = None
    policy: str = ""
    fenced: bool = False
    offset: int = 0


@dataclass(frozen=True)
class Reservation:
    """A reservation of a node, and what PRE-87 asks of it."""

    app: str
    key: str
    priority: int = 0
    required: bool = False
    preempting: bool = False
    age: int = 0


@dataclass(frozen=True)
class Node:
    """A node; draining is ``schedulable`` False."""

    name: str
    total: Mapping[str, int]
    occupied: Mapping[str, int] = field(default_factory=dict)
    schedulable: bool = True
    reservations: tuple[Reservation, ...] = ()


@dataclass(frozen=True, eq=False)
class Running:
    """An allocation, equal to itself only. ``state``: "", or why it cannot be a victim (PRE-13)."""

    identity: str
    app: str
    queue: str
    node: str
    resource: Mapping[str, int]
    priority: int = 0
    created: int = 0
    key: str = ""
    originator: bool = False
    opted_out: bool = False
    required: bool = False
    state: str = ""


@dataclass(frozen=True)
class Ask:
    """The ask that room is made for. ``required``: the node it has to go to, "" for any."""

    app: str
    key: str
    queue: str
    resource: Mapping[str, int]
    priority: int = 0
    required: str = ""

    @property
    def types(self) -> list[str]:
        """What it wants more than nothing of: T(a)."""
        return sorted(t for t, amount in self.resource.items() if amount > 0)


@dataclass(frozen=True)
class Check:
    """One question about a node (PRE-24): the keys of the victims in order, and the start index."""

    node: str
    victims: tuple[str, ...]
    start: int


# Check -> whether the node would do, and the index of the last victim that has to go (PRE-27).
Judge: TypeAlias = Callable[[Check], tuple[bool, int]]

# Node -> whether the ask could run there now (PRE-26).
Room: TypeAlias = Callable[[str], bool]


@dataclass(frozen=True)
class Scene:
    """All facts of one attempt.

    ``promised``: leaf and amounts of each ask whose preemption stands (PRE-89). ``judge``: the RM's
    preemption predicates, None without; ``room``: its ordinary ones. ``limit``: how old a
    reservation must be to be cancelled, 0: never (PRE-87).
    """

    queues: dict[str, Queue]
    nodes: tuple[Node, ...]
    running: tuple[Running, ...]
    ask: Ask
    promised: tuple[tuple[str, Mapping[str, int]], ...] = ()
    parity: bool = False
    tried: bool = False
    judge: Judge | None = None
    room: Room | None = None
    limit: int = 3_600


@dataclass
class Choice:
    """What an attempt comes to: a node and victims in order, or a ``reason`` why not.

    ``for_queue``: those of the victims that are not needed on the node. ``batches``: what was
    asked, batch by batch.
    """

    reason: str = ""
    node: str = ""
    victims: list[Running] = field(default_factory=list)
    for_queue: list[Running] = field(default_factory=list)
    batches: list[list[Check]] = field(default_factory=list)


# --------------------------------------------------------------------------------- the tree


def parent(path: str) -> str:
    """The queue above, "" above root."""
    return path.rpartition(".")[0]


def path_up(path: str) -> list[str]:
    """A queue and all above it, root last."""
    found = [path]
    while parent(found[-1]):
        found.append(parent(found[-1]))
    return found


def in_or_below(path: str, top: str) -> bool:
    """Whether a queue is another one or below it, by components (PRE-53)."""
    return path == top or path.startswith(top + ".")


def common(left: str, right: str) -> str:
    """The lowest queue that is above both, or one of them."""
    return next(path for path in path_up(left) if in_or_below(right, path))


def below(leaf: str, ancestor: str) -> list[str]:
    """A queue and those above it, up to an ancestor that is left out."""
    return [path for path in path_up(leaf) if path != ancestor and in_or_below(path, ancestor)]


def own_policy(scene: Scene, path: str) -> str:
    """The preemption policy of a queue; ``disabled`` is inherited. Rules: QUE-18."""
    if not path:
        return ""
    own = scene.queues[path].policy
    inherited = own_policy(scene, parent(path)) == DISABLED
    return own or (DISABLED if inherited else "")


def closed(scene: Scene, leaf: str) -> bool:
    """Whether a leaf is kept out by itself or an ancestor. Rules: PRE-12."""
    return any(own_policy(scene, path) == DISABLED for path in path_up(leaf))


# ------------------------------------------------------------------------------------- sums


def sum_of(running: Iterable[Running]) -> dict[str, int]:
    """What allocations hold together."""
    return res.total(one.resource for one in running)


def inside(scene: Scene, path: str) -> list[Running]:
    """The allocations in a queue and below."""
    return [one for one in scene.running if in_or_below(one.queue, path)]


def allocated(scene: Scene, path: str) -> dict[str, int]:
    """alloc(q): victims included until they are gone. Rules: QUE-2, PRE-35."""
    return sum_of(inside(scene, path))


def stays(scene: Scene, path: str, gone: Collection[Running] = ()) -> dict[str, int]:
    """stays(q) = alloc(q) - pre(q), without those ``gone``."""
    left = [one for one in inside(scene, path) if one.state != PREEMPTING and one not in gone]
    return sum_of(left)


def due(scene: Scene, path: str, gone: Collection[Running] = ()) -> dict[str, int]:
    """due(q) = stays(q) + promised(q); nothing is promised in parity. Rules: PRE-84, PRE-89."""
    promised = [] if scene.parity else [r for p, r in scene.promised if in_or_below(p, path)]
    return res.total([stays(scene, path, gone), *promised])


def named(scene: Scene, path: str) -> Mapping[str, int]:
    """guar(q): the types a queue names, zero included."""
    return scene.queues[path].guaranteed or {}


def maximum(scene: Scene, path: str) -> res.Limit:
    """max(q). Rules: QUE-6."""
    if path != ROOT:
        return scene.queues[path].maximum
    whole = res.total(node.total for node in scene.nodes)
    left = {t: amount for t, amount in whole.items() if amount}
    return left if res.positive(left) else None


def effective_maximum(scene: Scene, path: str) -> res.Limit:
    """M(q). Rules: QUE-15 as since 1.6."""
    limit: res.Limit = None
    for each in path_up(path):
        limit = res.smaller_of_each(limit, maximum(scene, each))
    return limit


def effective_guarantee(scene: Scene, path: str) -> Mapping[str, int]:
    """G(q). Rules: QUE-16."""
    limit: res.Limit = {}
    for each in path_up(path):
        limit = res.smaller_of_each(limit, scene.queues[each].guaranteed)
    return limit or {}


def available(scene: Scene, node: Node) -> dict[str, int]:
    """What is left on a node, may be negative. Rules: NOD-2."""
    here = sum_of(one for one in scene.running if one.node == node.name)
    return res.subtract(res.subtract(node.total, node.occupied), here)


def fits_headroom(scene: Scene) -> bool:
    """Whether the ask fits its queues, so that nodes are tried first. Rules: PRE-3, PRE-89."""
    for path in path_up(scene.ask.queue):
        limit = maximum(scene, path) or {}
        for used in (allocated(scene, path), due(scene, path)):
            left = {t: limit[t] - used.get(t, 0) for t in limit}
            if not res.fits_where_limited(left, scene.ask.resource):
                return False
    return True
