"""How far an ask reaches: fences, priorities, candidates and nodes, and how nodes are checked.

What both modes of PRE-84 have in common: chapter 60 sections A.2 and A.3, PRE-18, PRE-19 and
chapter 60 section A.6.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tests.reference import arithmetic as res
from tests.reference.preemption_facts import (
    FENCE,
    ROOT,
    Check,
    Choice,
    Node,
    Running,
    Scene,
    available,
    below,
    closed,
    common,
    due,
    in_or_below,
    maximum,
    own_policy,
    path_up,
)

BATCH = 10
BATCHES = 50
ORIGINATOR = 2**33
OPTED_OUT = 2**34
GOOD = 2**32
FAILED = 2**35


@dataclass(frozen=True, eq=False)
class Candidate:
    """An allocation that may be a victim. ``urgency``: its effective priority (PRE-87)."""

    running: Running
    urgency: int


# ------------------------------------------------------------------------ fence and priority


def priorities(scene: Scene) -> dict[str, int]:
    """The fence root, last, and the queues on the way there with their priority. Rules: PRE-7."""
    found: dict[str, int] = {}
    priority = scene.ask.priority
    for path in path_up(scene.ask.queue):
        queue = scene.queues[path]
        priority = queue.offset if queue.fenced else priority + queue.offset
        found[path] = priority
        if path == ROOT or own_policy(scene, path) == FENCE:
            break
        if not scene.parity and exhausted(scene, path):
            break
    return found


def exhausted(scene: Scene, path: str) -> bool:
    """Whether the ask is too much for a queue whatever ends outside of it. Rules: PRE-51."""
    limit, used = maximum(scene, path) or {}, due(scene, path)
    wanted = scene.ask.resource
    return any(used.get(t, 0) + wanted[t] > limit[t] for t in scene.ask.types if t in limit)


def urgency_within(scene: Scene, leaf: str, base: int, priority: int) -> int | None:
    """The priority of an allocation relative to the ask's, None: out of reach by a fence.

    ``base``: the ask's priority as seen at the queue both are below. At most 0 is acceptable.
    Below a fence nothing else counts (QUE-29); in parity further fences do.
    Rules: PRE-8, PRE-9, PRE-10, PRE-84, PRE-87.
    """
    threshold, fenced = base, None
    for path in reversed(below(leaf, common(leaf, scene.ask.queue))):
        queue = scene.queues[path]
        if queue.fenced:
            fenced = queue.offset - threshold
            if fenced > 0:
                return None
            if not scene.parity:
                return fenced
        else:
            threshold -= queue.offset
    return priority - threshold if fenced is None else fenced


# -------------------------------------------------------------------------------- candidates


def leaves(scene: Scene) -> list[str]:
    """The queues without queues below them."""
    tops = {path.rpartition(".")[0] for path in scene.queues}
    return sorted(path for path in scene.queues if path not in tops)


def candidates(scene: Scene) -> list[Candidate]:
    """All allocations within reach. Rules: PRE-7, PRE-8, PRE-9, PRE-10, PRE-12, PRE-13, PRE-51,
    PRE-86."""
    found = []
    seen = priorities(scene)
    fence = list(seen)[-1]
    for leaf in leaves(scene):
        if leaf == scene.ask.queue or not in_or_below(leaf, fence) or closed(scene, leaf):
            continue
        base = seen[below(scene.ask.queue, common(leaf, scene.ask.queue))[-1]]
        for one in scene.running:
            if one.queue != leaf or one.state or one.required:
                continue
            urgency = urgency_within(scene, leaf, base, one.priority)
            shares_a_type = any(one.resource.get(t, 0) > 0 for t in scene.ask.types)
            if urgency is not None and urgency <= 0 and (shares_a_type or scene.parity):
                found.append(Candidate(one, urgency))
    return found


def node_order(scene: Scene, found: Iterable[Candidate]) -> list[Running]:
    """Candidates of one node in order. Rules: PRE-19, PRE-84, PRE-87."""

    def rank(one: Candidate) -> tuple[object, ...]:
        run = one.running
        urgency = 0 if scene.parity else one.urgency
        return run.opted_out, run.originator, urgency, -run.created, *last(scene, run)

    return [one.running for one in sorted(found, key=rank)]


def queue_order(scene: Scene, found: Iterable[Candidate]) -> list[Running]:
    """Candidates of all nodes in the order of the queue side. Rules: PRE-31, PRE-84, PRE-88."""

    def kind(run: Running) -> tuple[object, ...]:
        return run.originator + 2 * run.opted_out, -run.created

    ordered = sorted(
        (one.running for one in found),
        key=lambda run: last(scene, run),
        reverse=not scene.parity,
    )
    return sorted(ordered, key=kind)


def last(scene: Scene, run: Running) -> tuple[object, ...]:
    """What decides between allocations that are equal in all else."""
    arrivals = list(dict.fromkeys(one.app for one in scene.running))
    return run.key, arrivals.index(run.app), run.identity


# ------------------------------------------------------------------------------------- nodes


def usable(scene: Scene, node: Node) -> bool:
    """Whether a node may be chosen at all. Rules: PRE-18, PRE-50, PRE-84, PRE-87."""
    return res.fits(node.total, scene.ask.resource) and free_for(scene, node)


def free_for(scene: Scene, node: Node) -> bool:
    """Whether nothing but its size keeps the ask from a node. Rules: PRE-18, PRE-87."""
    others = [c for c in node.reservations if (c.app, c.key) != (scene.ask.app, scene.ask.key)]
    if not node.schedulable:
        return False
    if scene.parity:
        return not others
    return all(
        not (reservation.required or reservation.preempting)
        and reservation.priority < scene.ask.priority
        and 0 < scene.limit < reservation.age
        for reservation in others
    )


def shortage(scene: Scene, free: res.Amounts) -> dict[str, int]:
    """What the ask lacks where so much is free, of the types it wants. Rules: PRE-21, PRE-87."""
    return {t: max(0, scene.ask.resource[t] - free.get(t, 0)) for t in scene.ask.types}


def free_without(scene: Scene, node: Node, gone: Iterable[Running]) -> dict[str, int]:
    """What is available on a node when some of what runs there is gone."""
    return res.total([available(scene, node), *(one.resource for one in gone)])


# ------------------------------------------------------------------------------------ checks


def score(index: int, listed: Sequence[Running]) -> int:
    """How bad it is to take the victims up to an index, less is better. Rules: PRE-29."""
    if index == -1:
        return 0
    taken = listed[: index + 1]
    bits = ORIGINATOR if any(one.originator for one in taken) else 0
    bits |= OPTED_OUT if any(one.opted_out for one in taken) else 0
    return bits + index + 1


@dataclass(frozen=True)
class Plan:
    """What a node would have to give: acceptable victims in order, and where to start."""

    node: str
    listed: tuple[Running, ...]
    start: int

    def check(self) -> Check:
        """The question about it. Rules: PRE-24."""
        return Check(self.node, tuple(one.key for one in self.listed), self.start)


def best_plan(scene: Scene, plans: list[Plan], choice: Choice) -> tuple[Plan, int] | None:
    """The plan that is best by what the RM says, and its last victim. Rules: PRE-24, PRE-25,
    PRE-26, PRE-27, PRE-28, PRE-29."""
    worth = [p for p in plans if p.start >= 0 or not scene.tried]
    if scene.parity:
        worth.sort(key=lambda p: (p.start, p.node))
    else:
        worth.sort(key=lambda p: (score(p.start, p.listed), p.node))
    if scene.judge is None and scene.parity:
        worth = [p for p in worth if answer(scene, p) is not None][:1]  # PRE-28
    best: tuple[tuple[int, int, str], Plan, int] | None = None
    for first in range(0, len(worth), BATCH)[: None if scene.parity else BATCHES]:
        batch = worth[first : first + BATCH]
        choice.batches.append([p.check() for p in batch])
        for plan in batch:
            index = answer(scene, plan)
            if index is None:
                continue
            rank = score(index, plan.listed), plan.start, plan.node
            if best is None or rank < best[0]:
                best = rank, plan, index
        if best is not None and best[0][0] < GOOD:
            break
    return None if best is None else best[1:]


def answer(scene: Scene, plan: Plan) -> int | None:
    """The index of the last victim that has to go, None: the node will not do.

    Rules: PRE-26, PRE-27, PRE-28, PRE-87.
    """
    if plan.start < 0:
        return -1 if scene.room is None or scene.room(plan.node) else None
    if scene.judge is None:
        return plan.start
    success, index = scene.judge(plan.check())
    if not success or index >= len(plan.listed):
        return None
    return max(index, plan.start)
