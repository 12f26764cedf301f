"""Works out anew what is kept of placeholders and their replacement (part of ``check``)."""

from __future__ import annotations

from remuda.config.queue_properties import GREEDY
from remuda.core.invariants.require import require, same
from remuda.core.model import states
from remuda.core.model.allocation import Allocation
from remuda.core.model.application import Application
from remuda.core.model.gang import Gang, TaskGroup
from remuda.core.model.partition import Partition


def check_gangs(partition: Partition) -> None:
    """Placeholders, replacements and who may go on are those of the allocations and asks.

    Rules: GANG-4, GANG-6, GANG-7, GANG-10, GANG-11, GANG-14, GANG-35, GANG-37, APP-19.
    """
    count = 0
    able: dict[str, list[int]] = {}
    for application in partition.applications.values():
        gang = application.gang
        asks = application.requests.values()
        named = [each for each in asks if each.ask.task_group and each.pending]
        name = f"application {application.application_id}"
        require(gang is not None or not named, partition, f"{name} knows no task groups")
        if gang is None:
            continue
        count += len(gang.placeholders)
        _gang(partition, application, gang, name)
        if gang.may_replace(application.state):
            able.setdefault(application.queue_path, []).append(application.number)
        stuck = partition.stuck.get(application.number) is application
        require(stuck == gang.stuck, partition, f"{name} is stuck, or not")
    require(count == partition.placeholder_count, partition, "placeholders are miscounted")
    live = {each.number: each for each in partition.applications.values()}
    lost = [number for number in partition.stuck if number not in live]
    require(not lost, partition, f"stuck applications {lost} are gone")
    for queue in partition.queues(partition.root):
        expected = sorted(able.get(queue.path, []))
        require(queue.swaps.numbers() == expected, partition, f"swaps of {queue.path} are wrong")
        for number, key in queue.swaps.order.keys.items():
            right = number in live and live[number].standing == key
            require(right, partition, f"swaps of {queue.path} stand wrong")
        stopped = any(each.state == states.STOPPED for each in queue.path_up)
        listed = queue.path in partition.swapping
        right = listed == (bool(expected) and not stopped)
        require(right, partition, f"{queue.path} may replace placeholders, or not")


def _gang(partition: Partition, application: Application, gang: Gang, name: str) -> None:
    """One application's placeholders, what is in flight, and what its asks are let through by."""
    placeholders = [each for each in application.allocations.values() if each.ask.placeholder]
    kept = list(gang.placeholders.values())
    require(kept == placeholders, partition, f"{name} lists wrong placeholders")
    same(partition, f"{name} placeholders", gang.usage, [each.amounts for each in kept])
    asked = [each for each in application.requests.values() if each.ask.placeholder]
    pending = sum(each.pending for each in asked)
    require(gang.pending == pending, partition, f"{name} awaits wrong placeholders")
    require(gang.timer is None or bool(kept), partition, f"{name} has a timer for nothing")
    for identity, real in gang.replacing.items():
        _in_flight(partition, gang, identity, real, name)
    leaf = application.queue
    greedy = leaf is not None and leaf.settings.gang_admission == GREEDY
    right = (gang.gated, gang.holding) == gang.gates(application.state, greedy=greedy)
    require(right, partition, f"{name} is let through wrongly")
    for group in gang.groups.values():
        _group(partition, application, gang, group, f"{name} task group {group.name}")


def _in_flight(
    partition: Partition, gang: Gang, identity: str, real: Allocation, name: str
) -> None:
    """A real allocation in flight has one ordered placeholder, and is in no list but a node's."""
    placeholder = gang.placeholders.get(identity)
    linked = placeholder is not None and real.replaces is placeholder and placeholder.ordered > 0
    require(linked, partition, f"{name}: {real.allocation_id} replaces no placeholder")
    request = real.application.requests.get(real.ask.allocation_key)
    require(request is not None, partition, f"{name}: {real.allocation_id} has no ask")
    alone = real.application.allocations.get(real.allocation_id) is None
    require(alone, partition, f"{name}: {real.allocation_id} counts already")
    on_node = real in real.node.allocations
    elsewhere = placeholder is not None and real.node is not placeholder.node
    require(on_node == elsewhere, partition, f"{name}: {real.allocation_id} is on a wrong node")


def _group(
    partition: Partition, application: Application, gang: Gang, group: TaskGroup, name: str
) -> None:
    """The counters and lists of one task group."""
    mine = [each for each in gang.placeholders.values() if each.ask.task_group == group.name]
    free = [each.allocation_id for each in mine if not each.ordered]
    require(sorted(group.free) == sorted(free), partition, f"{name} lists wrong free ones")
    asks = [
        each.number
        for each in application.requests.values()
        if each.pending and each.is_member() and each.ask.task_group == group.name
    ]
    listed = [each.number for each in group.order.asks()]
    require(sorted(listed) == sorted(asks), partition, f"{name} lists wrong asks")
    if asks:
        first = min(group.order.asks(), key=lambda each: each.sort_key)
        require(group.order.first() is first, partition, f"{name} orders wrong asks")
    fair = group.timed_out >= 0 and group.replaced + group.timed_out <= group.count
    require(fair, partition, f"{name} counts more than it has")
    right = (group.name in gang.able) == bool(group.free and asks)
    require(right, partition, f"{name} may replace, or not")
    right = (group.name in gang.expecting) == group.expects()
    require(right, partition, f"{name} expects placeholders, or not")
