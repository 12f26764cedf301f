"""What a running shim reports: its parts, their problems, their figures as metrics."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from remuda_kubernetes.api.calls import Calls
from remuda_kubernetes.api.connection import Connection
from remuda_kubernetes.api.events import Events
from remuda_kubernetes.api.reflectors import Reflectors
from remuda_kubernetes.figures import Histogram
from remuda_kubernetes.service import Service

_PREFIX: Final = "remuda_kubernetes"
# Counters by kind of object: name, figure of a reflector, meaning.
_OF_WATCHES: Final = (
    ("lists", "lists", "Lists that were read."),
    ("watches", "watches", "Watches that were opened."),
    ("watch_events", "events", "Events of watches."),
    ("bookmarks", "bookmarks", "Bookmarks of watches."),
    ("watch_failures", "failures", "Lists and watches that failed."),
    ("unreadable", "unreadable", "Objects that were left as they were known."),
)


class Sources:
    """The parts of a running shim."""

    def __init__(
        self,
        service: Service,
        reflectors: Reflectors,
        calls: Calls,
        events: Events,
        connection: Connection,
    ) -> None:
        self._service = service
        self._reflectors = reflectors
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(_Figures(service, reflectors, calls, events, connection))

    def unsynced(self) -> dict[str, str]:
        """Return the kinds of objects that are not known yet, and why."""
        return self._reflectors.unsynced

    def problems(self) -> dict[str, str]:
        """Return what keeps the shim from scheduling, by part."""
        found = self.unsynced()
        if self._service.scheduler_problem:
            found["scheduler"] = self._service.scheduler_problem
        return found

    def metrics(self) -> str:
        """Return all figures in the text format of Prometheus."""
        return generate_latest(self._registry).decode()

    def state(self) -> dict[str, Any]:
        """Return what the shim knows."""
        return {"problems": self._reflectors.problems, **self._service.shim.dump()}


class _Figures(Collector):
    """Reads the figures at each scrape."""

    def __init__(
        self,
        service: Service,
        reflectors: Reflectors,
        calls: Calls,
        events: Events,
        connection: Connection,
    ) -> None:
        self._service = service
        self._reflectors = reflectors
        self._calls = calls
        self._events = events
        self._connection = connection

    def collect(self) -> Iterator[Metric]:
        """Yield all metrics."""
        yield from self._latencies()
        yield from self._watches()
        yield from self._writes()
        yield from self._queues()

    def _latencies(self) -> Iterator[Metric]:
        figures = self._service.figures
        for name, text, histogram in (
            ("decision_seconds", "From the ask of a pod to its node.", figures.decide),
            ("binding_seconds", "From a pod's node to the API server's answer.", figures.bind),
            ("pod_seconds", "From a pod being seen to its binding being sent.", figures.seen),
            ("step_seconds", "One input of the state machine with its effects.", figures.step),
        ):
            yield _histogram(name, text, histogram)

    def _watches(self) -> Iterator[Metric]:
        known = _gauge("objects", "Objects that are known.", "kind")
        counters = [_counter(name, text, "kind") for name, _, text in _OF_WATCHES]
        for kind, each in self._reflectors.by_kind.items():
            known.add_metric([kind.name], len(each.objects))
            for counter, (_, figure, _) in zip(counters, _OF_WATCHES, strict=True):
                counter.add_metric([kind.name], getattr(each.figures, figure))
        yield from (known, *counters)

    def _writes(self) -> Iterator[Metric]:
        figures = self._calls.figures
        calls = CounterMetricFamily(
            f"{_PREFIX}_calls", "Calls to the API server that ended.", labels=["verb", "result"]
        )
        for (verb, result), count in figures.ended.items():
            calls.add_metric([verb, result], count)
        yield calls
        yield _count("call_retries", "Calls that were sent again.", figures.retries)
        yield _count(
            "throttled", "Requests that waited for kubernetes.qps.", self._connection.throttled
        )
        events = self._events.figures
        told = _counter("events", "Events for people.", "result")
        for result in ("posted", "counted", "written", "held_back", "dropped", "failed"):
            told.add_metric([result], getattr(events, result))
        yield told

    def _queues(self) -> Iterator[Metric]:
        figures = self._service.figures
        yield _count("requests_sent", "Requests to the scheduler.", figures.requests_sent)
        yield _count("responses", "Responses of the scheduler.", figures.responses)
        yield _count("questions", "Questions of the scheduler about nodes.", figures.questions)
        yield _count("verdicts", "Nodes that were asked about.", figures.verdicts)
        counts = _gauge("calls_waiting", "Calls that have not ended.", "state")
        counts.add_metric(["open"], self._calls.figures.open)
        counts.add_metric(["in_flight"], self._calls.figures.in_flight)
        yield counts
        yield GaugeMetricFamily(
            f"{_PREFIX}_leads", "Whether this replica schedules.", value=self._service.begun
        )
        tasks = _gauge("tasks", "Pods of this scheduler.", "state")
        for state, count in self._service.shim.task_counts().items():
            tasks.add_metric([state], count)
        yield tasks


def _histogram(name: str, text: str, histogram: Histogram) -> Metric:
    return HistogramMetricFamily(
        f"{_PREFIX}_{name}", text, buckets=histogram.buckets(), sum_value=histogram.sum
    )


def _counter(name: str, text: str, label: str) -> CounterMetricFamily:
    return CounterMetricFamily(f"{_PREFIX}_{name}", text, labels=[label])


def _count(name: str, text: str, value: float) -> Metric:
    return CounterMetricFamily(f"{_PREFIX}_{name}", text, value=value)


def _gauge(name: str, text: str, label: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"{_PREFIX}_{name}", text, labels=[label])
