"""Calls that a type checker has to refuse: each needs its comment, or the comment is an error."""

from __future__ import annotations

from remuda import (  # type: ignore[attr-defined]
    Allocation,
    Queue,
    Release,
    Scheduler,
    TaskGroup,
    Unheard,  # noqa: F401 - there is none
)


def hears_of_releases(release: Release) -> None:
    """No callback for allocations."""


def mistakes(scheduler: Scheduler, allocation: Allocation) -> None:
    """Never called."""
    scheduler.add_node("n1", {"vcore": 1.5})  # type: ignore[dict-item]
    scheduler.add_node("n1")  # type: ignore[call-arg]
    scheduler.submit("job", "root.jobs")  # type: ignore[call-arg]
    scheduler.submit("job", gang_scheduling_style="hard")  # type: ignore[arg-type]
    scheduler.ask("job", "task", {"vcore": 1}, count=3)  # type: ignore[call-arg]
    scheduler.explain("task")  # type: ignore[arg-type]
    scheduler.release("task")  # type: ignore[arg-type]
    scheduler.confirm(allocation)  # type: ignore[arg-type]
    scheduler.on_allocation(hears_of_releases)  # type: ignore[type-var]
    scheduler.step("soon")  # type: ignore[arg-type]
    allocation.node_id = "n2"  # type: ignore[misc]
    scheduler.schedule()  # type: ignore[attr-defined]
    Scheduler(Queue("a", limit={"vcore": 1}))  # type: ignore[call-arg]
    TaskGroup("g", "2", {"vcore": 1})  # type: ignore[arg-type]
