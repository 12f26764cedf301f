"""Why tasks are still pending at the end of a run, by the scheduler's findings.

Tasks are counted by the gate that stops them. For each gate one task is shown, with the amounts
that it wants and the amounts that are left. A gate is one of the conditions that an ask must pass
to be placed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from operator import itemgetter
from typing import Final

from remuda.base.message import message
from remuda.core.messages import gates
from remuda.core.messages.application_views import ApplicationView
from remuda.core.messages.ask_views import NodeSummaryView, RequestView
from remuda.core.messages.queries import ApplicationsQuery, PartitionsQuery, PartitionView
from remuda.core.messages.rows import rows
from remuda.runtime.ports import Door

# In place of a gate for what the scheduler has not looked at.
NOT_TRIED: Final = "not tried yet"

_ORDER: Final = (*gates.ORDER, NOT_TRIED)


@message
class Obstacle:
    """One gate, how many tasks it stops, and an example: the first of them in order.

    ``subject``: the object in the example's way. ``available``: the amounts left there, None if
    amounts are not the reason. ``nodes``: the reasons of the nodes, None if no node was tried.
    """

    gate: str
    tasks: int
    example: str
    queue: str
    subject: str
    requested: Mapping[str, int]
    available: Mapping[str, int] | None
    nodes: NodeSummaryView | None


def obstacles(door: Door, place_of: Callable[[RequestView], int]) -> tuple[Obstacle, ...]:
    """Return the obstacles of the tasks that wait now, in the order in which gates are checked.

    ``place_of``: the place in the workload of the task of an ask. A task with several asks is
    counted by its first one.
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
    """Describe the obstacle of an example for people; amounts are in base units."""
    if obstacle.nodes is not None:
        return _tally(obstacle.nodes)
    parts = [obstacle.subject] if obstacle.subject else []
    if obstacle.available is not None:
        parts.append(f"has {_amounts(obstacle.available)} left")
    return " ".join(parts)


def _tally(nodes: NodeSummaryView) -> str:
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
