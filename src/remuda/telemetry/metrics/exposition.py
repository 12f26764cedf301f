"""Prints the metrics of one scheduler for scraping (rules: MET-1, REST-46)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Final

from remuda.core.messages.effects import AllocationsRejected, AsksRejected, Effect
from remuda.telemetry.metrics.event_families import (
    NoPipeline,
    NoStores,
    PipelineCounts,
    StoreCounts,
    add_events,
)
from remuda.telemetry.metrics.families import Families, Seen
from remuda.telemetry.metrics.process_families import RequestTimes, add_runtime
from remuda.telemetry.metrics.queue_families import add_queues, add_users
from remuda.telemetry.metrics.reading import Reader, Source
from remuda.telemetry.metrics.scheduler_families import add_latencies, add_scheduler
from remuda.telemetry.metrics.settings import MetricsSettings
from remuda.telemetry.metrics.standard_families import standard_families
from remuda.telemetry.metrics.text import Sample, preferred

_REFUSALS: Final = (AsksRejected, AllocationsRejected)


class Refusals:
    """Asks and allocations that were refused; observes a SchedulerLoop.

    Cost: a look at the type of each effect.
    """

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, effects: Sequence[Effect]) -> None:
        """Count the refusals of a batch. Core thread. Rules: MET-6."""
        for effect in effects:
            if type(effect) in _REFUSALS:
                assert isinstance(effect, AsksRejected | AllocationsRejected)
                self.count += len(effect.rejected)


class Metrics:
    """All metrics of one scheduler.

    Args:
        source: the scheduler; asked when somebody reads.
        settings: prefix and optional metrics.
        events: returns the counts of the event system.
        stores: the counts of what is stored for resource managers.
        reader: how state is read; by default at most once a second.
        more: what else adds families of its own, from any thread.

    ``refusals`` observes the scheduler's effects, ``requests`` the HTTP requests.
    """

    def __init__(
        self,
        source: Source,
        settings: MetricsSettings | None = None,
        *,
        events: Callable[[], PipelineCounts] = NoPipeline,
        stores: StoreCounts | None = None,
        reader: Reader | None = None,
        more: Sequence[Callable[[Families], None]] = (),
    ) -> None:
        self._settings = settings or MetricsSettings()
        self._source = source
        self._reader = reader or Reader(
            source, users=self._settings.users > 0, most_queues=self._settings.queues
        )
        self._events = events
        self._stores = stores or NoStores()
        self._more = tuple(more)
        self._seen = Seen()
        self._types: dict[str, None] = {}
        self._lock = threading.Lock()
        self.refusals = Refusals()
        self.requests = RequestTimes()

    def families(self) -> Families:
        """Return all families with their present samples. Any thread but the core's.

        Raises: LoopStoppedError. Rules: chapter 97.
        """
        with self._lock:
            reading = self._reader.read()
            families = Families(self._settings.prefix)
            add_scheduler(families, reading, self.refusals.count, self._seen, self._types)
            add_latencies(families, self._source.timings())
            add_queues(families, reading, self._settings, self._seen)
        if self._settings.users:
            add_users(families, reading.users, self._settings.users)
        add_events(families, self._events(), self._stores)
        add_runtime(families, reading.lag_ns)
        self.requests.add(families)
        for add in self._more:
            add(families)
        return families

    def samples(self) -> list[Sample]:
        """Return all samples, those of the process included; their names are those of the text.

        Any thread but the core's. Raises: LoopStoppedError. Rules: MET-1, EXT-25.
        """
        everything = (*self.families().all(), *standard_families())
        return [sample for metric in everything for sample in metric.samples]

    def render(self, accept: str = "") -> tuple[bytes, str]:
        """Return the metrics in the format a client prefers, and its content type.

        Not on the core thread. Raises: LoopStoppedError. Implements: MET-1. Rules: REST-46.
        """
        printer, content_type = preferred(accept)
        return printer((*self.families().all(), *standard_families())), content_type
