"""What a scheduler has, as its views show it."""

from __future__ import annotations

from remuda.core.messages.application_views import AllocationView, ApplicationView
from remuda.core.messages.queries import ApplicationsQuery
from remuda.core.scheduler import Scheduler


def applications(scheduler: Scheduler, rm: str = "rm") -> list[ApplicationView]:
    """The live applications of a resource manager."""
    found = scheduler.view(ApplicationsQuery("default", "", rm))
    assert isinstance(found, tuple)
    return [view for view in found if isinstance(view, ApplicationView)]


def allocations(scheduler: Scheduler, rm: str = "rm") -> list[AllocationView]:
    """All allocations of live applications."""
    return [allocation for view in applications(scheduler, rm) for allocation in view.allocations]


def waiting(scheduler: Scheduler) -> set[tuple[str, str]]:
    """The asks that wait, by application and key."""
    return {
        (view.application_id, request.allocation_key)
        for view in applications(scheduler)
        for request in view.requests
    }


def replacing(scheduler: Scheduler) -> set[tuple[str, str]]:
    """The asks that wait for the end of their placeholders."""
    return {
        (each.application_id, each.replacement.rpartition("-")[0])
        for each in allocations(scheduler)
        if each.replacement
    }


def reserved(scheduler: Scheduler) -> int:
    """How many reservations there are."""
    return sum(len(r.reservations) for view in applications(scheduler) for r in view.requests)


def state_of(scheduler: Scheduler, rm: str = "rm") -> list[str]:
    """Everything that the views show of applications, with their asks and allocations."""
    return [repr(view) for view in applications(scheduler, rm)]
