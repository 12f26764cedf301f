"""The end of a run: what the core has must be what the RM runs, and nothing be left half done."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TypeAlias

from remuda.base.resources import Resource
from remuda.core.messages import queries as q
from remuda.core.model.preemption.live import WAITING
from remuda.core.scheduler import Scheduler
from tests.simulation.faults.host import Host
from tests.simulation.faults.room import check_no_room
from tests.simulation.faults.shim import Shim
from tests.simulation.faults.truth import Container
from tests.simulation.faults.witness import applications, node_views

Amounts: TypeAlias = dict[str, int]


def agree(host: Host, shims: list[Shim]) -> None:
    """Raise unless the core and each RM have the same idea of everything."""
    scheduler = host.scheduler
    for shim in shims:
        same(f"nodes of {shim.rm_id}", core_nodes(scheduler, shim), true_nodes(shim))
        same(f"{shim.rm_id} runs", core_runs(scheduler, shim), true_runs(shim))
        same(f"{shim.rm_id} waits for", core_asks(scheduler, shim), true_asks(shim))
        for home in homes_of(scheduler, shim.rm_id):
            check_applications(scheduler, shim, home)
            check_sums(scheduler, shim, home)
            check_nothing_half_done(scheduler, shim, home)
            check_preemptions(scheduler, shim, home)
            check_no_room(scheduler, shim, home)


def nothing_left(host: Host, shims: list[Shim]) -> None:
    """Raise if anything is still used, wanted or reserved after all that ran has ended."""
    for shim in shims:
        same(f"{shim.rm_id} still runs", core_runs(host.scheduler, shim), {})
        same(f"{shim.rm_id} still waits for", core_asks(host.scheduler, shim), {})
        for home in homes_of(host.scheduler, shim.rm_id):
            check_sums(host.scheduler, shim, home)
            for app in applications(host.scheduler, shim.rm_id, home):
                assert app.state in ("New", "Accepted"), f"{app.application_id} is {app.state}"
            for queue in queues(host.scheduler, shim.rm_id, home):
                assert not any(queue.pending.values()), f"{queue.path} wants {queue.pending}"
                assert queue.running_applications == 0, f"{queue.path} counts applications"


def same(what: str, core: dict[object, object], truth: dict[object, object]) -> None:
    """Raise naming the first difference."""
    for name in sorted({*core, *truth}, key=repr):
        one, other = core.get(name), truth.get(name)
        assert one == other, f"{what}: {name} is {one} in the core, {other} in truth"


# ---------------------------------------------------------------------------- views


def homes_of(scheduler: Scheduler, rm_id: str) -> list[str]:
    """The partitions of an RM that are not about to go."""
    found = scheduler.view(q.PartitionsQuery())
    assert isinstance(found, tuple)
    views = [view for view in found if isinstance(view, q.PartitionView)]
    return [view.name for view in views if view.rm_id == rm_id and view.state != "Draining"]


def queues(scheduler: Scheduler, rm_id: str, home: str) -> list[q.QueueView]:
    """All queues of a partition, parents first."""
    root = scheduler.view(q.QueuesQuery(home, rm_id))
    assert isinstance(root, q.QueueView)
    found = [root]
    for queue in found:
        found += queue.children
    return found


def core_nodes(scheduler: Scheduler, shim: Shim) -> dict[object, object]:
    """Name -> partition, size, schedulable."""
    return {
        node.node_id: (home, positive(node.capacity), node.schedulable)
        for home in homes_of(scheduler, shim.rm_id)
        for node in node_views(scheduler, shim.rm_id, home)
    }


def true_nodes(shim: Shim) -> dict[object, object]:
    """The same, as it is."""
    return {
        node.name: (node.home, positive(node.capacity), not node.draining)
        for node in shim.truth.nodes.values()
    }


def core_runs(scheduler: Scheduler, shim: Shim) -> dict[object, object]:
    """Allocation -> where it is and how large; once per application, once per node."""
    by_app: dict[object, object] = {}
    by_node: dict[object, object] = {}
    for home in homes_of(scheduler, shim.rm_id):
        for app in applications(scheduler, shim.rm_id, home):
            for each in app.allocations:
                name = (home, app.application_id, each.allocation_id)
                assert name not in by_app, f"{name} is listed twice"
                by_app[name] = (each.node_id, positive(each.resource))
        for node in node_views(scheduler, shim.rm_id, home):
            for each in node.allocations:
                name = (home, each.application_id, each.allocation_id)
                assert name not in by_node, f"{name} is on two nodes"
                by_node[name] = (node.node_id, positive(each.resource))
    same("applications and nodes", by_app, by_node)
    return by_app


def true_runs(shim: Shim) -> dict[object, object]:
    """The same, as it is."""
    return {
        (each.task.app.home, *each.name): (each.node, positive(each.resource))
        for each in shim.truth.containers.values()
    }


def core_asks(scheduler: Scheduler, shim: Shim) -> dict[object, object]:
    """Ask -> how many it still wants, and how large."""
    return {
        (home, app.application_id, request.allocation_key): (
            request.pending_count,
            positive(request.resource),
        )
        for home in homes_of(scheduler, shim.rm_id)
        for app in applications(scheduler, shim.rm_id, home)
        for request in app.requests
    }


def true_asks(shim: Shim) -> dict[object, object]:
    """The same, as it is."""
    return {
        (task.app.home, task.app.name, task.key): (task.waiting(), positive(task.resource))
        for task in shim.truth.waiting()
    }


# --------------------------------------------------------------------------- checks


def check_applications(scheduler: Scheduler, shim: Shim, home: str) -> None:
    """No application lives on in the core that its RM took for ended."""
    alive = {app.name for app in shim.truth.live() if app.home == home}
    for view in applications(scheduler, shim.rm_id, home):
        name = view.application_id
        assert name in alive, f"{name} is {view.state} in the core and over for its RM"


def check_sums(scheduler: Scheduler, shim: Shim, home: str) -> None:
    """What queues, nodes and users use is the sum over what the RM runs."""
    running = [each for each in shim.truth.containers.values() if each.task.app.home == home]
    where = {a.application_id: a.queue for a in applications(scheduler, shim.rm_id, home)}
    for queue in queues(scheduler, shim.rm_id, home):
        inside = [x for x in running if is_below(where[x.task.app.name], queue.path)]
        assert positive(queue.allocated) == total(inside), f"{queue.path}: {queue.allocated}"
    for node in node_views(scheduler, shim.rm_id, home):
        here = [x for x in running if x.node == node.node_id]
        assert positive(node.allocated) == total(here), f"{node.node_id}: {node.allocated}"
    used = usage(scheduler, shim.rm_id, home)
    for user in {*used, *(x.task.app.user for x in running)}:
        own = total(x for x in running if x.task.app.user == user)
        assert used.get(user, {}) == own, f"{user} uses {used.get(user)}, not {own}"


def usage(scheduler: Scheduler, rm_id: str, home: str) -> dict[str, Amounts]:
    """What each user uses in the whole partition."""
    found = scheduler.view(q.UsageQuery(home, False, rm_id))
    assert isinstance(found, tuple)
    views = [view for view in found if isinstance(view, q.UsageView)]
    return {view.name: positive(view.queues.used or {}) for view in views}


def check_nothing_half_done(scheduler: Scheduler, shim: Shim, home: str) -> None:
    """No order is open, no placeholder left, no node kept for an ask that is gone."""
    apps = applications(scheduler, shim.rm_id, home)
    asks = {(app.application_id, ask.allocation_key) for app in apps for ask in app.requests}
    for app in apps:
        kept = [each.allocation_id for each in app.allocations if each.placeholder]
        assert not kept, f"{app.application_id} is {app.state} with {kept}"
    for node in node_views(scheduler, shim.rm_id, home):
        for reservation in node.reservations:
            assert reservation in asks, f"{node.node_id} is reserved for {reservation}"
        for each in node.allocations:
            open_order = each.release_type or each.replacement
            assert not open_order, f"{each.allocation_id}: {each.release_type} {each.replacement}"
    for container in shim.truth.containers.values():
        assert not container.ordered, f"{container.name} was ordered out and never ended"


def check_preemptions(scheduler: Scheduler, shim: Shim, home: str) -> None:
    """No victim is forgotten, and each preemption has ended (PRE-35, PRE-89)."""
    for queue in queues(scheduler, shim.rm_id, home):
        assert not any(queue.preempting.values()), f"{queue.path}: {queue.preempting}"
    partition = scheduler._cluster.partition(shim.rm_id, home)
    assert partition is not None
    for record in partition.preempting.made.values():
        shim.counts[f"preemption {record.outcome} {record.cause}".strip()] += 1
        shim.counts[f"preempted for {record.kind}"] += 1
        assert not record.left, f"preemption {record.number} waits for {record.left} victims"
        assert record.outcome != WAITING, f"preemption {record.number} stands"


def is_below(path: str, above: str) -> bool:
    """Whether a queue is another one or below it."""
    return path == above or path.startswith(f"{above}.")


def total(containers: Iterable[Container]) -> Amounts:
    """What containers use together."""
    found: Counter[str] = Counter()
    for container in containers:
        found.update(container.resource)
    return positive(found)


def positive(resource: Resource | Counter[str]) -> Amounts:
    """The amounts that are not zero; negative ones stay, to be seen."""
    return {name: amount for name, amount in sorted(resource.items()) if amount}
