"""What has to be true of every queue preemption, worked out from the cluster before it (PRE-82).

Nothing here knows how victims are found: each law is read off the amounts, the priorities as each
queue shows them to those beside it (QUE-29), and the tree.
"""

from __future__ import annotations

from tests.reference import arithmetic as res
from tests.reference.preemption_facts import (
    FENCE,
    Node,
    Running,
    Scene,
    available,
    below,
    common,
    due,
    effective_maximum,
    in_or_below,
    maximum,
    named,
    own_policy,
    path_up,
    stays,
    sum_of,
)


def broken(scene: Scene, node: str, victims: list[Running]) -> list[str]:
    """The laws that a preemption breaks, (a) to (h) without (g), which is ``superfluous``."""
    laws = {
        "a": not within_maximum(scene, victims),
        "b": not within_guarantee(scene, victims),
        "c": any(harmed(scene, one, victims) for one in victims),
        "d": any(shown(scene, one) > wanted(scene, one) for one in victims),
        "e": any(not in_or_below(one.queue, fence(scene)) for one in victims),
        "f": not fits_node(scene, node, victims),
        "h": any(one.state or one.required for one in victims),
        "own": any(one.queue == scene.ask.queue or one.app == scene.ask.app for one in victims),
    }
    return [letter for letter, fault in laws.items() if fault]


def superfluous(scene: Scene, node: str, victims: list[Running]) -> list[Running]:
    """The victims that could stay with (a), (b) and (f) still true. Rules: PRE-82 (g)."""
    found = []
    for one in victims:
        rest = [other for other in victims if other is not one]
        if within_maximum(scene, rest) and fits_node(scene, node, rest):
            found.append(one)
    return found


def meeting(scene: Scene, one: Running) -> str:
    """The lowest common ancestor of a victim and the ask."""
    return common(one.queue, scene.ask.queue)


def within_maximum(scene: Scene, victims: list[Running]) -> bool:
    """(a): the queues of the ask hold no more than they may, promises included."""
    for path in path_up(scene.ask.queue):
        limit = effective_maximum(scene, path) or {}
        used = due(scene, path, victims)
        for t in scene.ask.types:
            if t in limit and used.get(t, 0) + scene.ask.resource[t] > limit[t]:
                return False
    return True


def within_guarantee(scene: Scene, victims: list[Running]) -> bool:
    """(b): with the ask its side has no more than it is guaranteed, and is guaranteed something.

    The leaf counts for the types it names, else each queue up to where a victim's side begins.
    """
    for one in victims:
        side = below(scene.ask.queue, meeting(scene, one)) or [scene.ask.queue]
        guaranteed = False
        for t in scene.ask.types:
            own = side[:1] if t in named(scene, side[0]) else side
            for path in own:
                if t in named(scene, path):
                    guaranteed = True
                    used = due(scene, path).get(t, 0) + scene.ask.resource[t]
                    if used > named(scene, path)[t]:
                        return False
        if not guaranteed:
            return False
    return True


def harmed(scene: Scene, one: Running, victims: list[Running]) -> bool:
    """(c): whether a queue on a victim's side has less than it is guaranteed of a type it freed."""
    for path in below(one.queue, meeting(scene, one)):
        left = stays(scene, path, victims)
        for t, amount in named(scene, path).items():
            if one.resource.get(t, 0) > 0 and left.get(t, 0) < amount:
                return True
    return False


def as_shown(scene: Scene, priority: int, side: list[str]) -> int:
    """A priority as it is seen from outside of some queues. Rules: QUE-29, without its bounds."""
    for path in side:
        queue = scene.queues[path]
        priority = queue.offset if queue.fenced else priority + queue.offset
    return priority


def shown(scene: Scene, one: Running) -> int:
    """(d): the priority of a victim inside the common ancestor."""
    return as_shown(scene, one.priority, below(one.queue, meeting(scene, one)))


def wanted(scene: Scene, one: Running) -> int:
    """(d): the priority of the ask inside the same."""
    return as_shown(scene, scene.ask.priority, below(scene.ask.queue, meeting(scene, one)))


def fence(scene: Scene) -> str:
    """(e): the lowest queue that is a fence, or that the ask is too much for."""
    for path in path_up(scene.ask.queue):
        used, limit = due(scene, path), maximum(scene, path) or {}
        full = any(
            used.get(t, 0) + scene.ask.resource[t] > limit[t] for t in scene.ask.types if t in limit
        )
        if own_policy(scene, path) == FENCE or full:
            return path
    return "root"


def fits_node(scene: Scene, name: str, victims: list[Running]) -> bool:
    """(f): the ask fits the chosen node when the victims there are gone."""
    node: Node = next(one for one in scene.nodes if one.name == name)
    freed = sum_of(one for one in victims if one.node == name)
    room = res.add(available(scene, node), freed)
    return res.fits(room, scene.ask.resource) and res.fits(node.total, scene.ask.resource)
