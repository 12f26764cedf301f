"""Works out anew the indexes of placeholders and their replacement (part of ``check``)."""

from __future__ import annotations

from remuda.config.queue_properties import GREEDY
from remuda.core.invariants.require import Name, require, same
from remuda.core.model import states
from remuda.core.model.allocation import Allocation
from remuda.core.model.applications.application import Application
from remuda.core.model.applications.gang import Gang, TaskGroup
from remuda.core.model.partition import Partition
from remuda.core.model.queues.queue import Queue


def check_gangs(partition: Partition) -> None:
    """Placeholders, replacements and admissions agree with the allocations and asks.

    Rules: GANG-4, GANG-6, GANG-7, GANG-10, GANG-11, GANG-14, GANG-35, GANG-37, APP-19.
    """
    count = 0
    able: dict[str, list[int]] = {}
    for application in partition.applications.values():
        gang = application.gang
        asks = application.requests.values()
        named = [each for each in asks if each.ask.task_group and each.pending]
        name = Name("application {}", application.application_id)
        require(gang is not None or not named, partition, "{} knows no task groups", name)
        if gang is None:
            continue
        count += len(gang.placeholders)
        _gang(partition, application, gang, name)
        if gang.may_replace(application.state):
            able.setdefault(application.queue_path, []).append(application.number)
        failed = partition.waiting.failed_swaps.get(application.number) is application
        require(
            failed == gang.swap_failed, partition, "{} has the wrong mark of failed swaps", name
        )
    require(count == partition.placeholder_count, partition, "placeholders are miscounted")
    live = {each.number: each for each in partition.applications.values()}
    lost = [number for number in partition.waiting.failed_swaps if number not in live]
    require(not lost, partition, "failed swaps of applications {} are gone", lost)
    queues = partition.queues(partition.root)
    _lacks(partition, queues)
    for queue in queues:
        expected = sorted(able.get(queue.path, []))
        require(queue.swaps.numbers() == expected, partition, "swaps of {} are wrong", queue.path)
        for number, key in queue.swaps.order.keys.items():
            right = number in live and live[number].sort_key == key
            require(right, partition, "swaps of {} have wrong sort keys", queue.path)
        listed = queue.path in partition.waiting.swapping
        if listed or expected:
            stopped = any(each.state == states.STOPPED for each in queue.path_up)
            right = listed == (len(expected) > 0 and not stopped)
            require(right, partition, "{} has the wrong mark of possible swaps", queue.path)


def _lacks(partition: Partition, queues: list[Queue]) -> None:
    """Each queue below root keeps the amounts that gangs started below it still lack."""
    expected: dict[str, dict[int, int]] = {}
    for application in partition.applications.values():
        gang, leaf = application.gang, application.queue
        if gang is None:
            continue
        lack = gang.still_lacks(application.state)
        require(gang.lacks == lack, partition, "{} lacks {}", application.application_id, lack)
        for queue in leaf.path_up[:-1] if lack else ():
            for index, amount in lack:
                kept = expected.setdefault(queue.path, {})
                kept[index] = kept.get(index, 0) + amount
    for queue in queues:
        if queue.lacking is None and not expected:
            continue
        lacking = queue.lacking.amounts if queue.lacking is not None else []
        kept = {index: amount for index, amount in enumerate(lacking) if amount}
        right = kept == expected.get(queue.path, {})
        require(right, partition, "{} keeps {} for gangs that began", queue.path, kept)


def _gang(partition: Partition, application: Application, gang: Gang, name: Name) -> None:
    """One application's placeholders, its allocations in flight, and the admission of its asks."""
    placeholders = [each for each in application.allocations.values() if each.ask.placeholder]
    kept = list(gang.placeholders.values())
    require(kept == placeholders, partition, "{} lists wrong placeholders", name)
    same(partition, Name("{} placeholders", name), gang.usage, [each.amounts for each in kept])
    asked = [each for each in application.requests.values() if each.ask.placeholder]
    pending = sum([each.pending for each in asked])
    require(gang.pending == pending, partition, "{} awaits wrong placeholders", name)
    require(gang.timer is None or bool(kept), partition, "{} has a timer for nothing", name)
    for identity, real in gang.replacing.items():
        _in_flight(partition, gang, identity, real, name)
    leaf = application.queue
    greedy = leaf.settings.gang_admission == GREEDY
    right = (gang.needs_gang_quota, gang.real_asks_wait) == gang.conditions(
        application.state, greedy=greedy
    )
    require(right, partition, "{} has the wrong admission", name)
    for group in gang.groups.values():
        _group(partition, application, gang, group, Name("{} task group {}", name, group.name))


def _in_flight(
    partition: Partition, gang: Gang, identity: str, real: Allocation, name: Name
) -> None:
    """A real allocation in flight has one placeholder being released; only its node lists it."""
    placeholder = gang.placeholders.get(identity)
    linked = (
        placeholder is not None and real.replaces is placeholder and placeholder.release_type > 0
    )
    require(linked, partition, "{}: {} replaces no placeholder", name, real.allocation_id)
    request = real.application.requests.get(real.ask.allocation_key)
    require(request is not None, partition, "{}: {} has no ask", name, real.allocation_id)
    alone = real.application.allocations.get(real.allocation_id) is None
    require(alone, partition, "{}: {} counts already", name, real.allocation_id)
    on_node = real in real.node.allocations
    elsewhere = placeholder is not None and real.node is not placeholder.node
    require(on_node == elsewhere, partition, "{}: {} is on a wrong node", name, real.allocation_id)


def _group(
    partition: Partition, application: Application, gang: Gang, group: TaskGroup, name: Name
) -> None:
    """The counters and lists of one task group."""
    mine = [each for each in gang.placeholders.values() if each.ask.task_group == group.name]
    free = [each.allocation_id for each in mine if not each.release_type]
    require(sorted(group.free) == sorted(free), partition, "{} lists wrong free ones", name)
    asks = [
        each.number
        for each in application.requests.values()
        if each.pending and each.is_member() and each.ask.task_group == group.name
    ]
    listed = [each.number for each in group.order.asks()]
    require(sorted(listed) == sorted(asks), partition, "{} lists wrong asks", name)
    if asks:
        first = min(group.order.asks(), key=lambda each: each.sort_key)
        require(group.order.first() is first, partition, "{} orders wrong asks", name)
    fair = group.timed_out >= 0 and group.replaced + group.timed_out <= group.count
    require(fair, partition, "{} counts more than it has", name)
    given_up = 0 <= group.given_up <= len(mine) - len(free)
    require(given_up, partition, "{} has given up more than it has", name)
    right = (group.name in gang.able) == bool(group.free and asks)
    require(right, partition, "{} has the wrong list of possible swaps", name)
    right = (group.name in gang.expecting) == group.expects()
    require(right, partition, "{} is wrong about pending placeholders", name)
