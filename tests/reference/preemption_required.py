"""Preemption for an ask that requires a node, as the specification has it (chapter 60, part B)."""

from __future__ import annotations

from fractions import Fraction

from tests.reference import arithmetic as res
from tests.reference.preemption_facts import Choice, Node, Running, Scene
from tests.reference.preemption_reach import free_without


def choose(scene: Scene) -> Choice:
    """Who has to go from the required node. Rules: PRE-40, PRE-41, PRE-42, PRE-43."""
    node = next(one for one in scene.nodes if one.name == scene.ask.required)
    wanted = scene.ask.resource
    chosen: list[Running] = []
    for one in order(scene, node):
        if enough(scene, node, chosen):
            break
        chosen.append(one)
    if not enough(scene, node, chosen):
        return Choice(reason="not enough")
    for one in reversed(list(chosen)):
        others = [other for other in chosen if other is not one]
        if enough(scene, node, others):
            chosen = others
    if not chosen:
        return Choice(reason=f"{wanted} fits as it is")
    return Choice(node=node.name, victims=chosen)


def enough(scene: Scene, node: Node, gone: list[Running]) -> bool:
    """Whether the ask fits without these. Rules: PRE-43."""
    return res.fits(free_without(scene, node, gone), scene.ask.resource)


def order(scene: Scene, node: Node) -> list[Running]:
    """Who may have to go, in order. Rules: PRE-41, PRE-42.

    By the largest share of a type, then by the sum of all: both grow with every amount.
    """
    ask = scene.ask
    found = [
        one
        for one in scene.running
        if one.node == node.name
        and not one.required
        and not one.state
        and one.priority <= ask.priority
        and one.resource.keys() & ask.resource.keys()
    ]

    def rank(one: Running) -> tuple[object, ...]:
        kind = 3 if one.originator else 2 if one.opted_out else 1
        parts = shares(node, one)
        size = max(parts, default=Fraction(0)), sum(parts)
        return kind, one.priority, -one.created, size, one.app, one.key, one.identity

    return sorted(found, key=rank)


def shares(node: Node, one: Running) -> list[Fraction]:
    """What part of each type of the node an allocation holds. Rules: RES-56."""
    return [
        Fraction(amount, node.total[t]) if node.total[t] else Fraction(bool(amount))
        for t, amount in one.resource.items()
        if t in node.total
    ]
