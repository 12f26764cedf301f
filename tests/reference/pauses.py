"""Back-off of the reference: CYC-33, README decision 53.

An ask waits because no node takes it from the moment it was tried in vain until a node would take
it. One that never waited before and comes to wait may begin a pause of its application.
"""

from __future__ import annotations

from tests.reference import arithmetic as res
from tests.reference import reserving, sums
from tests.reference.state import Application, Ask, Partition, Queue

SECOND = 10**9
DELAY = "application.unschedasks.backoff.delay"


def limit(leaf: Queue) -> int:
    """How many asks may wait before an application pauses, 0: any. Rules: QUE-18."""
    text = leaf.properties.get("application.unschedasks.backoff", "0")
    return int(text) if text.isascii() and text.isdigit() else 0


def delay(leaf: Queue) -> int:
    """How long a pause is. Rules: QUE-18."""
    return int(leaf.properties.get(DELAY, "30s").removesuffix("s")) * SECOND


def waiting(partition: Partition, app: Application) -> list[Ask]:
    """The asks that no node took and that still want something."""
    return [
        ask
        for ask in app.asks.values()
        if ask.waited and ask.pending and not reserving.of_ask(partition, app, ask.key)
    ]


def note_room(partition: Partition) -> None:
    """Let no ask wait for a node that a node would take now. Rules: CYC-25, README decision 3."""
    free = sums.available(partition)
    closed = reserving.closed_nodes(partition)
    for app in partition.applications.values():
        for ask in app.asks.values():
            ask.in_vain = ask.in_vain and not any(
                node.schedulable
                and node.identity not in closed
                and res.fits(node.capacity, ask.resource)
                and res.fits(free[node.identity], ask.resource)
                for node in partition.nodes.values()
            )


def found_no_node(partition: Partition, leaf: Queue, app: Application, ask: Ask, now: int) -> bool:
    """Note an ask that was tried in vain; whether its application pauses now. Rules: CYC-33.

    A type that the cluster does not have is a matter of root's maximum (QUE-8), not of nodes.
    """
    if ask.in_vain or not sums.charge_fits(partition, app.queue, ask.resource):
        return False
    new, ask.in_vain, ask.waited = not ask.waited, True, True
    most = limit(leaf)
    if not new or not most or len(waiting(partition, app)) < most:
        return False
    app.paused_until = now + delay(leaf)
    return True
