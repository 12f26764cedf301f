"""Queue preemption of 1.5.1 without the defects that PRE-84 names (chapter 60, part A)."""

from __future__ import annotations

from collections.abc import Collection

from tests.reference import arithmetic as res
from tests.reference.preemption_facts import (
    ROOT,
    Choice,
    Node,
    Running,
    Scene,
    allocated,
    below,
    common,
    effective_guarantee,
    effective_maximum,
    in_or_below,
    named,
    parent,
    stays,
)
from tests.reference.preemption_reach import (
    Candidate,
    Plan,
    best_plan,
    candidates,
    free_for,
    free_without,
    node_order,
    queue_order,
    shortage,
    usable,
)


def choose(scene: Scene) -> Choice:
    """What an attempt for an ask comes to. Rules: chapter 60 part A, PRE-84."""
    choice = Choice()
    found = [one for one in candidates(scene) if possible(scene, one.running)]
    if not found or not within(scene, scene.ask.queue, [one.running for one in found]):
        choice.reason = "guarantees"  # PRE-16
        return choice
    nodes = [node for node in scene.nodes if usable(scene, node)]
    free = {node.name for node in scene.nodes if free_for(scene, node)}
    found = [one for one in found if one.running.node in free]
    plans = [plan for node in nodes if (plan := node_side(scene, node, found)) is not None]
    best = best_plan(scene, plans, choice)
    if best is None:
        choice.reason = "no node"
        return choice
    plan, index = best
    taken = list(plan.listed[: index + 1])
    others = queue_order(scene, (one for one in found if one.running not in taken))
    more = queue_side(scene, taken, others)
    if more is None:
        choice.reason = "queues"
    elif not taken + more:
        choice.reason = "no victims"
    else:
        choice.node, choice.victims, choice.for_queue = plan.node, taken + more, more
    return choice


def possible(scene: Scene, one: Running) -> bool:
    """Whether it could be the first victim; who cannot be that cannot be a later one.

    So those who could are as good as all for PRE-16. Rules: PRE-14, PRE-16, PRE-17.
    """
    return exposed(scene, one.queue) and not protected(scene, one, ())


def exposed(scene: Scene, leaf: str) -> bool:
    """Whether a leaf uses more than it is guaranteed, or is guaranteed nothing. Rules: PRE-14."""
    guaranteed = effective_guarantee(scene, leaf)
    return not guaranteed or not res.fits_where_limited(guaranteed, allocated(scene, leaf))


# ------------------------------------------------------------------------------ guarantees


def used(scene: Scene, path: str, gone: Collection[Running]) -> dict[str, int]:
    """used(q) with the ask in its leaf and some victims gone."""
    left = stays(scene, path, gone)
    return res.add(left, scene.ask.resource) if in_or_below(scene.ask.queue, path) else left


def allowance(scene: Scene, path: str) -> res.Amounts:
    """A(q): the effective guarantee, types without one bounded by the maximum."""
    bound = effective_maximum(scene, path)
    return res.smaller_of_each(effective_guarantee(scene, path), bound) or {}


def within(scene: Scene, path: str, gone: Collection[Running]) -> bool:
    """W(q) with the ask in its leaf. Rules: PRE-15."""
    if not path:
        return True
    if path == scene.ask.queue and not effective_guarantee(scene, path):
        return False
    fits = res.fits(allowance(scene, path), used(scene, path, gone))
    return fits and within(scene, parent(path), gone)


def remaining(scene: Scene, path: str, gone: Collection[Running]) -> dict[str, int]:
    """How far a queue, or one above it, is over its guarantee: never positive. Rules: PRE-32."""
    left = res.subtract(allowance(scene, path), used(scene, path, gone))
    above = {} if path == ROOT else remaining(scene, parent(path), gone)
    return {t: min(left.get(t, 0), above.get(t, 0)) for t in sorted({*left, *above})}


def protected(scene: Scene, one: Running, gone: Collection[Running]) -> bool:
    """Whether a victim would take a queue below its guarantee. Rules: PRE-17, PRE-84."""
    bounds = [(path, named(scene, path)) for path in below(one.queue, meeting(scene, one))]
    bounds.append((one.queue, effective_guarantee(scene, one.queue)))
    for path, guaranteed in bounds:
        left = stays(scene, path, gone)
        for t, amount in guaranteed.items():
            taken = one.resource.get(t, 0)
            if taken > 0 and left.get(t, 0) - taken < amount:
                return True
    return False


def meeting(scene: Scene, one: Running) -> str:
    """c(v): the lowest queue above an allocation and the ask."""
    return common(one.queue, scene.ask.queue)


# ------------------------------------------------------------------------------- node side


def node_side(scene: Scene, node: Node, found: list[Candidate]) -> Plan | None:
    """What a node would have to give, None: it cannot give enough. Rules: PRE-20, PRE-21, PRE-22,
    PRE-23."""
    wanted = scene.ask.resource
    if res.fits(free_without(scene, node, ()), wanted):
        return Plan(node.name, (), -1)
    listed: list[Running] = []
    index = -1
    ordered = node_order(scene, [one for one in found if one.running.node == node.name])
    for one in first_pass(scene, node, ordered):
        if not protected(scene, one, listed):
            listed.append(one)
            if index < 0 and res.fits(free_without(scene, node, listed), wanted):
                index = len(listed) - 1
    return None if index < 0 else Plan(node.name, tuple(listed), index)


def first_pass(scene: Scene, node: Node, ordered: list[Running]) -> list[Running]:
    """Victims that help first, then those that do not. Rules: PRE-21."""
    head: list[Running] = []
    tail: list[Running] = []
    for one in ordered:
        if protected(scene, one, head):
            continue
        before = shortage(scene, free_without(scene, node, head))
        after = shortage(scene, free_without(scene, node, [*head, one]))
        (tail if res.equal(before, after) else head).append(one)
    return head + tail


# ------------------------------------------------------------------------------ queue side


def queue_side(scene: Scene, taken: list[Running], others: list[Running]) -> list[Running] | None:
    """The victims that bring the ask within its guarantee, None: it cannot be done.

    Rules: PRE-31, PRE-33.
    """
    leaf = scene.ask.queue
    chosen: list[Running] = []
    for one in others:
        gone = taken + chosen
        if within(scene, leaf, gone):
            break
        if protected(scene, one, gone):
            continue
        if not res.equal(remaining(scene, leaf, gone), remaining(scene, leaf, [*gone, one])):
            chosen.append(one)
    return chosen if within(scene, leaf, taken + chosen) else None
