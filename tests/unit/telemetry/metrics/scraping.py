"""Metrics of a scheduler that is driven through its door, read as Prometheus does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future

from remuda.core.messages.queries import Query, View
from remuda.core.scheduler import Scheduler
from remuda.runtime.timings import Timings, TimingsView
from remuda.telemetry.metrics.event_families import NoPipeline, NoStores
from remuda.telemetry.metrics.exposition import Metrics
from remuda.telemetry.metrics.reading import Reader
from remuda.telemetry.metrics.settings import MetricsSettings
from tests.exposition import Series, samples, series
from tests.unit.core.door import SECOND, START, Caller

S = "yunikorn_scheduler_"
Q = "yunikorn_queue_"


class Source:
    """Answers at once, on the caller's thread; ``asked``: the questions so far."""

    turns = 0

    def __init__(self, scheduler: Scheduler) -> None:
        self.scheduler = scheduler
        self.stopwatch = Timings()
        self.asked: list[Query] = []

    @property
    def timings(self) -> Callable[[], TimingsView]:
        return self.stopwatch.view

    def query(self, query: Query) -> Future[View]:
        self.asked.append(query)
        future: Future[View] = Future()
        future.set_result(self.scheduler.view(query))
        return future


class Scraper:
    """Reads the metrics of one scheduler again and again; ``now`` is the time of the reading."""

    def __init__(
        self,
        caller: Caller,
        settings: MetricsSettings | None = None,
        events: NoPipeline | None = None,
        stores: NoStores | None = None,
    ) -> None:
        chosen = settings or MetricsSettings()
        self.source = Source(caller.scheduler)
        self.now = START
        reader = Reader(
            self.source,
            users=chosen.users > 0,
            most_queues=chosen.queues,
            clock=lambda: self.now,
        )
        self.metrics = Metrics(
            self.source,
            chosen,
            events=lambda: events or NoPipeline(),
            stores=stores,
            reader=reader,
        )

    def text(self) -> str:
        """A fresh scrape."""
        self.now += SECOND
        content, _ = self.metrics.render()
        return content.decode()

    def samples(self) -> Mapping[Series, float]:
        """The series of a fresh scrape."""
        return samples(self.text())

    def values(self, name: str, label: str = "state", **fixed: str) -> dict[str, float]:
        """The values of one metric by one of its labels, where the others are ``fixed``."""
        return chosen(self.samples(), name, label, **fixed)


def chosen(
    found: Mapping[Series, float], name: str, label: str = "state", **fixed: str
) -> dict[str, float]:
    """The values of one metric by one of its labels, where the others are ``fixed``."""
    values: dict[str, float] = {}
    for (each, labels), value in found.items():
        by_name = dict(labels)
        if each == name and label in by_name and by_name.items() >= fixed.items():
            values[by_name[label]] = value
    return values


def value(found: Mapping[Series, float], name: str, **labels: str) -> float | None:
    """One value, None if there is no such series."""
    return found.get(series(name, **labels))
