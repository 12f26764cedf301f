"""A REST application over a scheduler, without the thread and the clock between them."""

from __future__ import annotations

from concurrent.futures import Future

from starlette.testclient import TestClient

from remuda.core.messages.queries import Query, View
from remuda.core.scheduler import Scheduler
from remuda.edges.rest.transport.app import build_app

BASE = "/ws/v1/partition/default"


class CoreViews:
    """Answers at once what a scheduler says."""

    turns = 0

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler

    def query(self, query: Query) -> Future[View]:
        """Return the answer as a future that is done."""
        future: Future[View] = Future()
        future.set_result(self._scheduler.view(query))
        return future


def serve(scheduler: Scheduler) -> TestClient:
    """Return a client of the REST application over a scheduler."""
    return TestClient(build_app(CoreViews(scheduler)), "http://remuda", follow_redirects=False)


def error(status: int, text: str) -> dict[str, object]:
    """The body of an error (REST-12)."""
    return {"status_code": status, "message": text, "description": text}
