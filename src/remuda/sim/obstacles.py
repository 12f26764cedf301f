"""Why tasks are left waiting when a run is over: what the scheduler says is in their way.

Tasks are counted by the gate that holds them up; of each gate one task is shown with what it
wants and what there is. A gate is one of the conditions that an ask must pass to be placed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from operator import itemgetter
from typing import Final

from remuda.base.message import message
from remuda.core.messages import gates
from remuda.core.messages.queries import (
    ApplicationsQuery,
    ApplicationView,
    NodeTallyView,
    PartitionsQuery,
    PartitionView,
    RequestView,
)
from remuda.runtime.ports import Door
from remuda.runtime.rows import rows

# In place of a gate for what the scheduler has not looked at.
NOT_TRIED: Final = "not tried yet"

_ORDER: Final = (*gates.ORDER, NOT_TRIED)


@message
class Obstacle:
    """One gate, how many tasks it holds up, and an example: the first of them by its place.

    ``subject``: what is in the example's way. ``available``: what is left there, None if amounts
    are not the reason. ``nodes``: why each node did not take it, None if none was asked.
    """

    gate: str
    tasks: int
    example: str
    queue: str
    subject: str
    requested: Mapping[str, int]
    available: Mapping[str, int] | None
    nodes: NodeTallyView | None


def obstacles(door: Door, place_of: Callable[[RequestView], int]) -> tuple[Obstacle, ...]:
    """Return what holds up the tasks that wait now, in the order in which gates are asked.

    ``place_of``: where in the workload the task of an ask is. Of a task with several asks the
    first one speaks.
    """
    first: dict[int, tuple[int, str, RequestView]] = {}
    for queue, request in _requests(door):
        place = place_of(request)
        first.setdefault(place, (place, queue, request))
    waiting: dict[str, list[tuple[int, str, RequestView]]] = {}
    for place, queue, request in first.values():
        gate = NOT_TRIED if request.finding is None else request.finding.gate
        waiting.setdefault(gate, []).append((place, queue, request))
    found: list[Obstacle] = []
    for gate in sorted(waiting, key=_rank):
        _, queue, request = min(waiting[gate], key=itemgetter(0))
        found.append(_obstacle(gate, len(waiting[gate]), queue, request))
    return tuple(found)


def _requests(door: Door) -> Iterator[tuple[str, RequestView]]:
    """Every ask that waits, with its queue."""
    for partition in rows(PartitionView, door.view(PartitionsQuery())):
        query = ApplicationsQuery(partition.name, rm_id=partition.rm_id)
        for application in rows(ApplicationView, door.view(query)):
            for request in application.requests:
                yield application.queue, request


def _rank(gate: str) -> tuple[int, str]:
    return (_ORDER.index(gate) if gate in _ORDER else len(_ORDER), gate)


def _obstacle(gate: str, tasks: int, queue: str, request: RequestView) -> Obstacle:
    finding = request.finding
    return Obstacle(
        gate=gate,
        tasks=tasks,
        example=request.allocation_key,
        queue=queue,
        subject="" if finding is None else finding.subject,
        requested=dict(request.resource),
        available=None if finding is None or finding.available is None else dict(finding.available),
        nodes=None if finding is None else finding.nodes,
    )


def explained(obstacle: Obstacle) -> str:
    """Return what is in the way of an example, for people; amounts in base units."""
    if obstacle.nodes is not None:
        return _tally(obstacle.nodes)
    parts = [obstacle.subject] if obstacle.subject else []
    if obstacle.available is not None:
        parts.append(f"has {_amounts(obstacle.available)} left")
    return " ".join(parts)


def _tally(nodes: NodeTallyView) -> str:
    """Return how many nodes did not take an ask, for each reason that counted."""
    counts = (
        (nodes.draining, "draining"),
        (nodes.reserved, "reserved"),
        (nodes.too_small, "too small"),
        (nodes.no_room, "without room"),
        (nodes.refused, "refused"),
    )
    told = [f"{number:,} {what}" for number, what in counts if number]
    return f"of {nodes.total:,} nodes {', '.join(told)}" if told else f"{nodes.total:,} nodes"


def _amounts(amounts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {amount:,}" for name, amount in sorted(amounts.items())) or "nothing"
