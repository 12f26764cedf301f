"""Whether something waits although there is room for it and the core has nothing to do (I37, I40).

The gates are read from the specification and kept simple: what this finds could clearly be placed.
Asks that wait for a reason that is hard to see from outside are let pass.
"""

from __future__ import annotations

from remuda.core.messages import queries as q
from remuda.core.messages.application_views import ApplicationView
from remuda.core.messages.ask_views import RequestView
from remuda.core.messages.tags import REQUIRED_NODE
from remuda.core.model.partition import Partition
from remuda.core.model.preemption.live import WAITING
from remuda.core.scheduler import Scheduler
from tests.simulation.faults.bounds import application
from tests.simulation.faults.shim import Shim
from tests.simulation.faults.taste import picky
from tests.simulation.faults.witness import node_views

# Applications in these states have passed all gates for starting (QUE-22, QUE-41).
STARTED = ("Starting", "Running")


def check_no_room(scheduler: Scheduler, shim: Shim, home: str) -> None:
    """Raise if an ask of an application at work waits beside a node that would take it."""
    partition = scheduler._cluster.partition(shim.rm_id, home)
    assert partition is not None
    wanting = [] if _is_promised(partition) else _wanting(partition)
    if not wanting:
        return
    root = scheduler.view(q.QueuesQuery(home, shim.rm_id))
    assert isinstance(root, q.QueueView)
    nodes = node_views(scheduler, shim.rm_id, home)
    limits = _Limits(scheduler, shim.rm_id, home)
    for name in wanting:
        app = application(scheduler, shim.rm_id, home, name)
        room = _headroom(root, app.queue)
        kept = {each.task_group for each in app.allocations if each.placeholder}
        awaited = {each.task_group for each in app.requests if each.placeholder}
        for request in app.requests:
            if not request.placeholder and request.task_group in awaited:
                continue  # its turn comes after that of the placeholder (GANG-11)
            if request.task_group in kept or app.backoff_deadline_ns:
                continue
            if not _fits(room, request.resource):
                continue
            if not all(_fits(left, request.resource) for left in limits.left(app)):
                continue
            shim.counts["ask looked at for room"] += 1
            for node in nodes:
                assert not _takes(shim, node, request), (
                    f"{app.application_id} {request.allocation_key} waits, {node.node_id} has room:"
                    f" {request.finding}"
                )


def _wanting(partition: Partition) -> list[str]:
    """The applications at work that want something; most often there are none."""
    apps = partition.applications.values()
    return [app.application_id for app in apps if app.waiting_asks and app.state in STARTED]


def _is_promised(partition: Partition) -> bool:
    """Whether room is kept for an ask that others are being ended for (PRE-6)."""
    return any(one.outcome == WAITING for one in partition.preempting.made.values())


def _headroom(root: q.QueueView, path: str) -> dict[str, int]:
    """What is left on the way to a leaf, of the types that are limited."""
    queue = root
    room: dict[str, int] = {}
    while True:
        for name, most in (queue.maximum or {}).items():
            left = most - queue.allocated.get(name, 0)
            room[name] = min(room.get(name, left), left)
        below = [child for child in queue.children if f"{path}.".startswith(f"{child.path}.")]
        if not below:
            return room
        queue = below[0]


class _Limits:
    """What is left for the user and the groups of an application, on every level of its path.

    All groups count, for which of them the core chose is not shown before something is allocated.
    """

    def __init__(self, scheduler: Scheduler, rm_id: str, home: str) -> None:
        self.users = self._views(scheduler.view(q.UsageQuery(home, False, rm_id)))
        self.groups = self._views(scheduler.view(q.UsageQuery(home, True, rm_id)))

    @staticmethod
    def _views(found: q.View) -> dict[str, q.UsageView]:
        assert isinstance(found, tuple)
        return {view.name: view for view in found if isinstance(view, q.UsageView)}

    def left(self, app: ApplicationView) -> list[dict[str, int]]:
        """What is left at each limit that may concern an application."""
        trees = [self.users[app.user].queues] if app.user in self.users else []
        trees += [self.groups[name].queues for name in app.groups if name in self.groups]
        found: list[dict[str, int]] = []
        for tree in trees:
            levels = [tree]
            for level in levels:
                if level.maximum is not None and f"{app.queue}.".startswith(f"{level.path}."):
                    used = level.used or {}
                    found.append({n: most - used.get(n, 0) for n, most in level.maximum.items()})
                levels += level.children
        return found


def _takes(shim: Shim, node: q.NodeView, request: RequestView) -> bool:
    """Whether a node would take an ask right now."""
    required = request.tags.get(REQUIRED_NODE, "")
    if required not in ("", node.node_id) or node.reservations:
        return False
    if not node.schedulable and not required:
        return False
    if any(node.available.get(name, 0) < amount for name, amount in request.resource.items()):
        return False
    if not shim.predicates:
        return True
    return not picky(shim.rm_id, request.allocation_key, node.node_id, True)


def _fits(room: dict[str, int], resource: object) -> bool:
    """Whether something fits what is left of the limited types."""
    assert isinstance(resource, dict)
    return all(resource.get(name, 0) <= left for name, left in room.items() if name in resource)
