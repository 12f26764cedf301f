"""How much of the cluster each queue uses over time, and how much it is owed.

Both are shares of one resource type, the contended one: that of which the trace asks for the
largest part of the cluster. A run is cut into equal pieces of time. In each piece, a queue wants
the mean of what it uses and what its tasks wait for. On each level of the tree, room is first given
to guarantees, as far as it is wanted, and scaled down if it is not enough; the rest is divided into
equal parts among the queues that want more. No queue is owed more than it wants or may use. So the
guarantees and maxima of the configuration decide what is owed, and no order of service does.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final, TypeAlias

from remuda.base.message import message
from remuda.config.schema import QueueConfig
from remuda.sim.queues import PARTITION
from remuda.sim.simulator import Outcome, Scenario

PIECES: Final = 120

# (when, what is added from then on).
_Changes: TypeAlias = list[tuple[int, int]]


@message
class Level:
    """A queue and those below it; amounts of the contended type, ``maximum`` None: no limit."""

    path: str
    entitled: float
    maximum: float | None
    below: tuple[Level, ...]


@message
class QueueShares:
    """One queue in each piece of time, as shares of the cluster."""

    used: list[float]
    owed: list[float]


@message
class Course:
    """A run in equal pieces of time; ``edges_ns`` has one more member than the lists.

    ``pending``: tasks that wait. ``used``: share of the contended type. ``queues``: by path, the
    queues that tasks were sent to.
    """

    resource: str
    edges_ns: list[int]
    pending: list[float]
    used: list[float]
    queues: dict[str, QueueShares]


def contended(scenario: Scenario) -> str:
    """Return the resource type of which the tasks want most, compared with the cluster."""
    capacity: dict[str, int] = defaultdict(int)
    for node in scenario.nodes:
        for name, amount in node.capacity.items():
            capacity[name] += amount
    wanted: dict[str, int] = dict.fromkeys(sorted(name for name in capacity if capacity[name]), 0)
    for task in scenario.workload.tasks:
        for name, amount in task.resource.items():
            if name in wanted:
                wanted[name] += amount * (task.duration_ns or 0)
    return max(wanted, key=lambda name: wanted[name] / capacity[name])


def course(scenario: Scenario, outcome: Outcome, resource: str) -> Course:
    """Return how a run went. Implements: EXT-58."""
    samples = outcome.timeline.samples
    first = samples[0].at
    # A run in which nothing is ever placed is over at once.
    last = max(samples[-1].at, first + 1)
    pieces = min(PIECES, last - first)
    edges = [first + (last - first) * number // pieces for number in range(pieces + 1)]
    using, waiting, count = _changes(scenario, outcome, resource, last)
    used = {path: means(changes, edges) for path, changes in using.items()}
    pending = {path: means(changes, edges) for path, changes in waiting.items()}
    capacity = outcome.timeline.capacity[outcome.timeline.types.index(resource)]
    top = _top(scenario, resource)
    queues = {path: QueueShares([], []) for path in sorted(using)}
    for piece in range(pieces):
        wanted = {path: used[path][piece] + pending[path][piece] for path in queues}
        due = owed(top, capacity, wanted)
        for path, shares in queues.items():
            shares.used.append(used[path][piece] / capacity)
            shares.owed.append(due.get(path, 0.0) / capacity)
    total = [sum(used[path][piece] for path in queues) / capacity for piece in range(pieces)]
    return Course(resource, edges, means(count, edges), total, queues)


def shortfall(queue: QueueShares) -> float:
    """Return the mean share of the cluster that a queue was owed and did not use."""
    if not queue.used:
        return 0.0
    lacks = [max(0.0, due - got) for got, due in zip(queue.used, queue.owed, strict=True)]
    return sum(lacks) / len(lacks)


def means(changes: _Changes, edges: Sequence[int]) -> list[float]:
    """Return the mean of a step function, 0 at first, between each two neighbouring edges."""
    found: list[float] = []
    changes = sorted(changes)
    level = place = 0
    for left, right in pairwise(edges):
        at, area = left, 0
        while place < len(changes) and changes[place][0] < right:
            when, more = changes[place]
            if when > at:
                area += level * (when - at)
                at = when
            level += more
            place += 1
        area += level * (right - at)
        found.append(area / (right - left) if right > left else float(level))
    return found


def owed(top: Level, room: float, wanted: Mapping[str, float]) -> dict[str, float]:
    """Return what each leaf is owed of some room, given what it wants."""
    found: dict[str, float] = {}
    _divide(top, min(room, _wants(top, wanted)), wanted, found)
    return found


def _divide(
    level: Level, room: float, wanted: Mapping[str, float], found: dict[str, float]
) -> None:
    if not level.below:
        found[level.path] = room
        return
    want = [_wants(each, wanted) for each in level.below]
    due = [min(each.entitled, much) for each, much in zip(level.below, want, strict=True)]
    total = sum(due)
    scale = room / total if total > room else 1.0
    due = _fill([much * scale for much in due], want, max(0.0, room - total))
    for each, much in zip(level.below, due, strict=True):
        _divide(each, much, wanted, found)


def _fill(due: list[float], want: Sequence[float], rest: float) -> list[float]:
    """Divide the rest equally among those that want more, none beyond what it wants."""
    filled = list(due)
    order = sorted(range(len(due)), key=lambda place: (want[place] - due[place], place))
    for number, place in enumerate(order):
        more = min(want[place] - due[place], rest / (len(order) - number))
        filled[place] += more
        rest -= more
    return filled


def _wants(level: Level, wanted: Mapping[str, float]) -> float:
    if level.below:
        total = sum(_wants(each, wanted) for each in level.below)
    else:
        total = wanted.get(level.path, 0.0)
    return total if level.maximum is None else min(total, level.maximum)


def _top(scenario: Scenario, resource: str) -> Level:
    partitions = scenario.queues.configuration.partitions
    root = next(each.root for each in partitions if each.name == PARTITION)
    return _level(root, root.name, resource)


def _level(queue: QueueConfig, path: str, resource: str) -> Level:
    below = tuple(_level(each, f"{path}.{each.name}", resource) for each in queue.queues)
    own = float((queue.guaranteed or {}).get(resource, 0))
    maximum = (queue.maximum or {}).get(resource)
    entitled = max(own, sum(each.entitled for each in below))
    return Level(path, entitled, None if maximum is None else float(maximum), below)


def _changes(
    scenario: Scenario, outcome: Outcome, resource: str, last: int
) -> tuple[dict[str, _Changes], dict[str, _Changes], _Changes]:
    """Return what each queue uses and waits for, and the number of waiting tasks, as changes."""
    tasks, paths = scenario.workload.tasks, scenario.queues.paths
    using: dict[str, _Changes] = {path: [] for path in paths}
    waiting: dict[str, _Changes] = {path: [] for path in paths}
    count: _Changes = []
    # From when a task waits for its next start.
    since = [task.submit_ns for task in tasks]
    placed = [False] * len(tasks)
    for start in outcome.placements:
        path, amount = paths[start.task], tasks[start.task].resource.get(resource, 0)
        end_ns = last if start.end_ns is None else start.end_ns
        using[path] += ((start.start_ns, amount), (end_ns, -amount))
        waiting[path] += ((since[start.task], amount), (start.start_ns, -amount))
        count += ((since[start.task], 1), (start.start_ns, -1))
        since[start.task] = end_ns
        placed[start.task] = not start.preempted
    for place, task in enumerate(tasks):
        if not placed[place]:
            waiting[paths[place]].append((since[place], task.resource.get(resource, 0)))
            count.append((since[place], 1))
    return using, waiting, count
