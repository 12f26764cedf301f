"""A scheduler with something running and something waiting."""

from __future__ import annotations

import pytest

from remuda import Queue, Scheduler


@pytest.fixture
def job() -> Scheduler:
    """``small`` runs on its one node, ``large`` waits."""
    scheduler = Scheduler(Queue("a"))
    scheduler.add_node("n1", {"vcore": "4"})
    scheduler.submit("job", queue="root.a")
    scheduler.ask("job", "small", {"vcore": "1"})
    scheduler.ask("job", "large", {"vcore": "4"})
    scheduler.step()
    return scheduler


@pytest.fixture
def told(job: Scheduler) -> list[object]:
    """Whatever happens from now on."""
    heard: list[object] = []
    job.on_allocation(heard.append)
    job.on_application(heard.append)
    job.on_rejection(heard.append)
    job.on_release(heard.append)
    return heard
