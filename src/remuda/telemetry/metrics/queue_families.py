"""The metrics of queues and users (rules: chapter 97 section 3, MET-42).

Series are built anew from the current queues, so a removed queue or setting has none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from remuda.base.duration import SECOND
from remuda.base.resources import Resource
from remuda.telemetry.metrics.families import Families, Seen, sanitised
from remuda.telemetry.metrics.reading import QueueSum, Reading
from remuda.telemetry.metrics.scheduler_families import LIVE
from remuda.telemetry.metrics.settings import ALL, NONE, OTHERS, MetricsSettings

# MET-22 (of later releases): live states, by label.
_LIVE: Final = {"new": ("New",), "accepted": ("Accepted",), **LIVE}

_CONTAINERS: Final = "Allocations of a queue that came and went, by state."


def add_queues(families: Families, reading: Reading, settings: MetricsSettings, seen: Seen) -> None:
    """Add the metrics of each queue. Rules: chapter 97 section 3, MET-42.

    Queues may have equal names once characters are removed that a metric's name cannot have. Such
    queues share the metrics with the queue in the name, as sums; series with labels keep them apart
    (MET-3, MET-30).
    """
    seen.keep(reading.queues)
    named = _Named(families, settings.queue_names)
    for path, queue in reading.queues.items():
        resources = list(_resources(queue))
        _add_resources(families, path, queue, resources)
        named.add_resources(path, resources)
        if queue.leaf:
            counts = _counts(path, queue, seen)
            _add_applications(families, path, queue, counts)
            named.add_leaf(path, queue, counts)
            _add_containers(families, path, queue)
            _add_waiting(families, path, queue, reading.now_ns)
    named.finish()


def add_users(families: Families, held: Mapping[str, Resource], most: int) -> None:
    """Add the amounts that users hold: the first ``most`` by name singly, the others together.

    Implements: MET-42.
    """
    family = families.gauge("user_resource", "What the applications of a user hold.")
    others: dict[str, int] = {}
    for number, user in enumerate(sorted(held)):
        for name, amount in sorted(held[user].items()):
            if number < most:
                family.add(amount, user=user, resource=name)
            else:
                others[name] = others.get(name, 0) + amount
    for name, amount in sorted(others.items()):
        family.add(amount, user=OTHERS, resource=name)


def _counts(path: str, queue: QueueSum, seen: Seen) -> list[tuple[str, int]]:
    """Return the applications of a leaf by label. Implements: MET-29. Rules: MET-22."""
    live = queue.applications
    counts = [(label, sum([live.get(each, 0) for each in names])) for label, names in _LIVE.items()]
    counts += [("completed", queue.completed), ("failed", queue.failed)]
    return [(state, count) for state, count in counts if seen.exists(path, state, count)]


def _resources(queue: QueueSum) -> Iterator[tuple[str, str, int]]:
    """Yield state, resource type and amount for each amount of a queue.

    Implements: MET-28, MET-32. Rules: MET-25.
    """
    for state, amounts in (
        ("guaranteed", queue.guaranteed),
        ("max", queue.maximum),
        ("allocated", queue.allocated),
        ("pending", queue.pending),
        ("preempting", queue.preempting),
    ):
        for name, amount in (amounts or {}).items():
            yield state, name, amount
    if queue.max_applications:
        yield "maxRunningApps", "apps", queue.max_applications


def _add_resources(
    families: Families, path: str, queue: QueueSum, resources: list[tuple[str, str, int]]
) -> None:
    """Add the amounts of a queue and its limits.

    Implements: MET-25, MET-31, MET-37. Rules: MET-28, MET-32, MET-42.
    """
    gauge = families.gauge("queue_resource", "Resources of a queue and all below it, by state.")
    for state, name, amount in resources:
        gauge.add(amount, queue=path, state=state, resource=name)
    reserved = families.gauge(
        "queue_reserved_resource", "What the asks of a queue hold reserved on nodes."
    )
    for name, amount in queue.reserved.items():
        reserved.add(amount, queue=path, resource=name)


def _add_applications(
    families: Families, path: str, queue: QueueSum, counts: list[tuple[str, int]]
) -> None:
    """Add applications by state. Implements: MET-22, MET-27, MET-36. Rules: MET-29."""
    text = "Applications of a queue by state; those that ended are all so far."
    gauge = families.gauge("queue_app", text)
    for state, count in counts:
        gauge.add(count, queue=path, state=state)
    # Plain, for in OpenMetrics a counter of this name would be the same family as queue_app.
    text = "Applications of a queue that ended, by state."
    ended = families.plain_counter("queue_app_total", text)
    for state, count in (("completed", queue.completed), ("failed", queue.failed)):
        if count:
            ended.add(count, queue=path, state=state)


def _add_containers(families: Families, path: str, queue: QueueSum) -> None:
    """Add the allocations that came, went and were preempted.

    Implements: MET-34. Rules: MET-30, MET-42.
    """
    containers = families.plain_counter("queue_container", _CONTAINERS)
    containers.add(queue.came, queue=path, state="allocated")
    containers.add(queue.went, queue=path, state="released")
    preempted = families.counter(
        "queue_container_preempted_total", "Allocations of a queue that preemption took."
    )
    preempted.add(queue.preempted, queue=path)
    amounts = families.counter(
        "queue_resource_preempted_total", "What the allocations held that preemption took."
    )
    for name, amount in sorted(queue.preempted_amounts.items()):
        amounts.add(amount, queue=path, resource=name)


def _add_waiting(families: Families, path: str, queue: QueueSum, now_ns: int) -> None:
    """Add how much waits in a leaf, and for how long. Rules: MET-42."""
    text = "Allocations that the asks of a queue still want."
    families.gauge("queue_pending_asks", text).add(queue.pending_asks, queue=path)
    oldest_ns = queue.oldest_pending_ns
    age_ns = max(0, now_ns - oldest_ns) if oldest_ns else 0
    text = "Age of the oldest pending ask of a queue, 0 if there is none."
    families.gauge("queue_oldest_pending_seconds", text).add(age_ns / SECOND, queue=path)


class _Named:
    """The metrics with the queue in their name: sums over the queues that share one.

    Rules: MET-3, MET-23, MET-24, MET-26, MET-30.
    """

    def __init__(self, families: Families, choice: str) -> None:
        self._families = families
        self._choice = choice
        self._containers: dict[str, list[int]] = {}
        self._applications: dict[str, dict[str, int]] = {}
        self._resources: dict[str, dict[tuple[str, str], int]] = {}

    def add_resources(self, path: str, resources: list[tuple[str, str, int]]) -> None:
        """Note what a queue has. Implements: MET-26."""
        if self._choice == ALL:
            sums = self._resources.setdefault(sanitised(path), {})
            for state, name, amount in resources:
                sums[state, name] = sums.get((state, name), 0) + amount

    def add_leaf(self, path: str, queue: QueueSum, counts: list[tuple[str, int]]) -> None:
        """Note what a leaf counted. Implements: MET-23, MET-24."""
        if self._choice == NONE:
            return
        came_and_went = self._containers.setdefault(sanitised(path), [0, 0])
        came_and_went[0] += queue.came
        came_and_went[1] += queue.went
        if self._choice == ALL:
            sums = self._applications.setdefault(sanitised(path), {})
            for state, count in counts:
                sums[state] = sums.get(state, 0) + count

    def finish(self) -> None:
        """Add the series."""
        families = self._families
        for name, (came, went) in self._containers.items():
            containers = families.plain_counter(f"{name}_queue_container", _CONTAINERS)
            containers.add(came, state="allocated")
            containers.add(went, state="released")
        for name, states in self._applications.items():
            gauge = families.gauge(f"{name}_queue_app", "Deprecated: see queue_app.")
            for state, count in states.items():
                gauge.add(count, state=state)
        for name, amounts in self._resources.items():
            gauge = families.gauge(f"{name}_queue_resource", "Deprecated: see queue_resource.")
            for (state, resource), amount in amounts.items():
                gauge.add(amount, state=state, resource=resource)
