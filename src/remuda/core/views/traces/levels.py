"""Says on each level of the queue tree what is served before an ask (rules: EXT-45)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Final

from remuda.config.queue_properties import FAIR
from remuda.core.messages.trace_queries import (
    APPLICATIONS,
    ASKS,
    QUEUES,
    LevelView,
    RivalView,
)
from remuda.core.model.applications.application import Application
from remuda.core.model.asks.request import Request
from remuda.core.model.partition import Partition
from remuda.core.model.queues.queue import Queue
from remuda.core.policy.service_order import children_in_order
from remuda.core.policy.shares import usage_shares
from remuda.core.views.shares import share_of, share_terms

# How many of those that are served before an ask are shown on each level.
SHOWN: Final = 10

PRIORITY: Final = "priority"
SHARE: Final = "share"
DEMAND: Final = "demand"
AGE: Final = "age"


def level_views(partition: Partition, request: Request) -> tuple[LevelView, ...]:
    """Return the place of a waiting ask on each level, from root to its application.

    Cost: the groups of all waiting asks, and the waiting applications of the leaf.
    Implements: EXT-45. Rules: QUE-32, QUE-33, QUE-36, QUE-40, QUE-44.
    """
    application = request.application
    path = list(reversed(application.queue.path_up))
    levels = [_among_queues(partition, parent, child) for parent, child in pairwise(path)]
    levels.append(_among_applications(partition, application))
    levels.append(_among_asks(partition, request))
    return tuple(levels)


def waiting_below(partition: Partition, top: Queue) -> int:
    """Return how many asks wait in and below a queue."""
    return sum(
        [
            group.order.count
            for queue in partition.queues(top)
            for class_queue in queue.class_queues.values()
            for limit_group in class_queue.limit_groups.values()
            for group in limit_group.groups.values()
        ]
    )


def _among_queues(partition: Partition, parent: Queue, child: Queue) -> LevelView:
    children = children_in_order(parent, partition.waiting.scale)
    before = _before(children, child)
    asks = [waiting_below(partition, queue) for queue in before]
    by_priority = parent.settings.sort_by_priority
    order = (PRIORITY, SHARE) if by_priority else (SHARE, PRIORITY)
    return LevelView(
        path=parent.path,
        kind=QUEUES,
        name=child.name,
        order=(*order, DEMAND),
        place=len(before) + 1,
        count=len(children),
        priority=child.shown_priority,
        share=share_of(partition, child),
        since_ns=0,
        terms=share_terms(partition, child),
        asks_ahead=sum(asks),
        ahead=_nearest(
            len(before),
            lambda place: RivalView(
                before[place].name,
                before[place].shown_priority,
                share_of(partition, before[place]),
                0,
                asks[place],
            ),
        ),
    )


def _before(children: Sequence[Queue], child: Queue) -> list[Queue]:
    """Return the queues that are served before one; all of them if it is not among them."""
    found: list[Queue] = []
    for each in children:
        if each is child:
            break
        found.append(each)
    return found


def _among_applications(partition: Partition, application: Application) -> LevelView:
    leaf = application.queue
    waiting = [each for each in leaf.applications.values() if each.request_groups]
    before = sorted(
        [each for each in waiting if each.sort_key < application.sort_key],
        key=lambda each: each.sort_key,
    )
    asks = [_asks_of(each) for each in before]
    fair = leaf.settings.application_sort == FAIR
    second = SHARE if fair else AGE
    order = (PRIORITY, second) if leaf.settings.sort_by_priority else (second, PRIORITY)
    to_wall = partition.calendar.to_wall

    def share(each: Application) -> float:
        shares = usage_shares(each.allocated, leaf.guaranteed) if fair else ()
        return shares[0] if shares else 0.0

    return LevelView(
        path=leaf.path,
        kind=APPLICATIONS,
        name=application.application_id,
        order=order,
        place=len(before) + 1,
        count=len(waiting),
        priority=application.priority,
        share=share(application),
        since_ns=to_wall(application.submitted_ns),
        terms=(),
        asks_ahead=sum(asks),
        ahead=_nearest(
            len(before),
            lambda place: RivalView(
                before[place].application_id,
                before[place].priority,
                share(before[place]),
                to_wall(before[place].submitted_ns),
                asks[place],
            ),
        ),
    )


def _asks_of(application: Application) -> int:
    return sum([group.order.count for group in application.request_groups.values()])


def _among_asks(partition: Partition, request: Request) -> LevelView:
    application = request.application
    waiting = [each for group in application.request_groups.values() for each in group.order.asks()]
    before = sorted(
        [each for each in waiting if each.sort_key < request.sort_key],
        key=lambda each: each.sort_key,
    )
    to_wall = partition.calendar.to_wall
    return LevelView(
        path=application.application_id,
        kind=ASKS,
        name=request.ask.allocation_key,
        order=(PRIORITY, AGE),
        place=len(before) + 1,
        count=len(waiting),
        priority=request.ask.priority,
        share=0.0,
        since_ns=to_wall(request.created_ns),
        terms=(),
        asks_ahead=len(before),
        ahead=_nearest(
            len(before),
            lambda place: RivalView(
                before[place].ask.allocation_key,
                before[place].ask.priority,
                0.0,
                to_wall(before[place].created_ns),
                1,
            ),
        ),
    )


def _nearest(count: int, make: Callable[[int], RivalView]) -> tuple[RivalView, ...]:
    """Return the last of those that are served before, the last one first."""
    return tuple([make(place) for place in range(count - 1, max(-1, count - 1 - SHOWN), -1)])
