"""Queue preemption as the specification has it: slow, and nothing but its text (chapter 60, F).

Written from docs/spec alone and sharing nothing with the scheduler. ``choose`` is the algorithm of
part F; the one of part A, ``scheduler.parity: 1.5``, is in ``preemption_parity``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from tests.reference import arithmetic as res
from tests.reference.preemption_facts import (
    ROOT,
    Choice,
    Node,
    Running,
    Scene,
    below,
    common,
    due,
    maximum,
    named,
    parent,
    path_up,
    stays,
    sum_of,
)
from tests.reference.preemption_reach import (
    Candidate,
    Plan,
    best_plan,
    candidates,
    free_without,
    node_order,
    queue_order,
    shortage,
    usable,
)


def choose(scene: Scene) -> Choice:
    """What an attempt for an ask comes to. Rules: PRE-85, PRE-86, PRE-87, PRE-88."""
    choice = Choice()
    found = [one for one in candidates(scene) if possible(scene, one.running)]
    if not found:
        choice.reason = "nobody"  # nobody is asked either
        return choice
    nodes = [node for node in scene.nodes if usable(scene, node)]
    reachable = {node.name for node in nodes}
    found = [one for one in found if one.running.node in reachable]
    plans = [plan for node in nodes if (plan := node_side(scene, node, found)) is not None]
    best = best_plan(scene, plans, choice)
    if best is None:
        choice.reason = "no node"
        return choice
    plan, index = best
    taken = list(plan.listed[: index + 1])
    others = [c for c in found if c.running not in taken]
    more = queue_side(scene, taken, queue_order(scene, others))
    if more is None:
        choice.reason = "queues"
    elif not taken + more:
        choice.reason = "no victims"
    else:
        if scene.judge is None:
            taken = needed(scene, plan.node, taken, more)
        choice.node, choice.victims, choice.for_queue = plan.node, taken + more, more
    return choice


def needed(scene: Scene, name: str, taken: list[Running], more: list[Running]) -> list[Running]:
    """The victims of the node without those that neither it nor a queue needs. Rules: PRE-88."""
    (node,) = (one for one in scene.nodes if one.name == name)
    for one in reversed(list(taken)):
        rest = [other for other in taken if other is not one]
        here = [other for other in rest + more if other.node == name]
        fits = res.fits(free_without(scene, node, here), scene.ask.resource)
        if fits and not over(scene, rest + more):
            taken = rest
    return taken


def meeting(scene: Scene, one: Running) -> str:
    """c(v): the lowest queue above an allocation and the ask."""
    return common(one.queue, scene.ask.queue)


# --------------------------------------------------------------------------- what is owed


def rooms(scene: Scene, ancestor: str) -> dict[str, int]:
    """room_c of every type: what the ask's side is guaranteed and lacks. Rules: PRE-85."""
    leaf = scene.ask.queue
    found: dict[str, int] = {}
    for path in below(leaf, ancestor)[1:]:
        used = due(scene, path)
        for t, amount in named(scene, path).items():
            room = amount - used.get(t, 0)
            found[t] = min(room, found.get(t, room))
    used = due(scene, leaf)
    found |= {t: amount - used.get(t, 0) for t, amount in named(scene, leaf).items()}
    return found


def owed(scene: Scene, ancestor: str) -> bool:
    """Whether what is below a common ancestor owes the ask its room. Rules: PRE-85."""
    room = rooms(scene, ancestor)
    types = [t for t in scene.ask.types if t in room]
    return bool(types) and all(room[t] >= scene.ask.resource[t] for t in types)


# ----------------------------------------------------------------------------- victim test


def protected(scene: Scene, one: Running, gone: Collection[Running]) -> bool:
    """Whether a victim would take a queue below what it is guaranteed. Rules: PRE-86 (1)."""
    for path in below(one.queue, meeting(scene, one)):
        left = stays(scene, path, gone)
        for t, amount in named(scene, path).items():
            taken = one.resource.get(t, 0)
            if taken > 0 and left.get(t, 0) - taken < amount:
                return True
    return False


def above_guarantee(scene: Scene, one: Running, gone: Collection[Running]) -> bool:
    """Whether the victim's side uses more than it is guaranteed. Rules: PRE-86 (2)."""
    lacks: dict[str, int] = {}
    for path in below(one.queue, meeting(scene, one)):
        left = stays(scene, path, gone)
        for t, amount in named(scene, path).items():
            lack = amount - left.get(t, 0)
            lacks[t] = min(lack, lacks.get(t, lack))
    if not lacks:
        return True
    all_used = all(lack <= 0 for lack in lacks.values())
    return (all_used and any(lacks.values())) or any(lacks.get(t, 0) < 0 for t in scene.ask.types)


def within_room(scene: Scene, one: Running, counted: Collection[Running]) -> bool:
    """Whether no more is taken than the ask's side lacks. Rules: PRE-86 (3)."""
    together = sum_of([*counted, one])
    room = rooms(scene, meeting(scene, one))
    return all(together[t] <= room[t] for t, v in one.resource.items() if v > 0 and t in room)


def acceptable(scene: Scene, one: Running, gone: Collection[Running]) -> bool:
    """Tests (1) and (2) of PRE-86."""
    return above_guarantee(scene, one, gone) and not protected(scene, one, gone)


def possible(scene: Scene, one: Running) -> bool:
    """Whether its side owes the ask, and it could be the first victim.

    Who cannot be the first cannot be a later one. Rules: PRE-85, PRE-86.
    """
    owes = owed(scene, meeting(scene, one))
    return owes and acceptable(scene, one, ()) and within_room(scene, one, ())


# ------------------------------------------------------------------------------- node side


def node_side(scene: Scene, node: Node, found: list[Candidate]) -> Plan | None:
    """What a node would have to give, None: it cannot give enough. Rules: PRE-87."""
    wanted = scene.ask.resource
    if res.fits(free_without(scene, node, ()), wanted):
        return Plan(node.name, (), -1)
    listed: list[Running] = []
    index = -1
    ordered = node_order(scene, [one for one in found if one.running.node == node.name])
    for one in first_pass(scene, node, ordered):
        if acceptable(scene, one, listed):
            listed.append(one)
            if index < 0 and res.fits(free_without(scene, node, listed), wanted):
                index = len(listed) - 1
    return None if index < 0 else trimmed(scene, node, listed, index)


def first_pass(scene: Scene, node: Node, ordered: list[Running]) -> list[Running]:
    """Victims that help first, then those that do not. Rules: PRE-87 step 2."""
    head: list[Running] = []
    tail: list[Running] = []
    for one in ordered:
        if not acceptable(scene, one, head) or not within_room(scene, one, head):
            continue
        before = shortage(scene, free_without(scene, node, head))
        after = shortage(scene, free_without(scene, node, [*head, one]))
        (tail if res.equal(before, after) else head).append(one)
    return head + tail


def trimmed(scene: Scene, node: Node, listed: list[Running], index: int) -> Plan:
    """Superfluous victims go behind the others, in their order. Rules: PRE-87 step 4."""
    stay, moved = listed[: index + 1], list[Running]()
    for one in reversed(listed[: index + 1]):
        others = [other for other in stay if other is not one]
        if res.fits(free_without(scene, node, others), scene.ask.resource):
            stay = others
            moved.insert(0, one)
    return Plan(node.name, (*stay, *moved, *listed[index + 1 :]), len(stay) - 1)


# ------------------------------------------------------------------------------ queue side


def over(scene: Scene, gone: Collection[Running]) -> dict[str, Mapping[str, int]]:
    """By how much the ask is too much for its queues, above zero only. Rules: PRE-88."""
    found: dict[str, Mapping[str, int]] = {}
    for path in path_up(scene.ask.queue):
        limit, used = maximum(scene, path) or {}, due(scene, path, gone)
        excess = {
            t: used.get(t, 0) + scene.ask.resource[t] - limit.get(t, 0)
            for t in scene.ask.types
            if t in limit or path == ROOT
        }
        if left := {t: amount for t, amount in excess.items() if amount > 0}:
            found[path] = left
    return found


def queue_side(scene: Scene, taken: list[Running], others: list[Running]) -> list[Running] | None:
    """The victims that bring the ask under the maximum of its queues, None: it cannot be done.

    Rules: PRE-88.
    """
    chosen: list[Running] = []
    for one in others:
        excess = over(scene, taken + chosen)
        if not excess:
            break
        helps = any(
            amounts.keys() & {t for t, v in one.resource.items() if v > 0}
            for path, amounts in excess.items()
            if path in path_up(parent(one.queue))
        )
        gone = taken + chosen
        if helps and acceptable(scene, one, gone) and within_room(scene, one, gone):
            chosen.append(one)
    if over(scene, taken + chosen):
        return None
    for one in reversed(list(chosen)):
        others = [other for other in chosen if other is not one]
        if not over(scene, taken + others):
            chosen = others
    return chosen
