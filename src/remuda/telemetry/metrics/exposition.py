"""The metrics of one scheduler, printed for whoever scrapes them (rules: MET-1, REST-46)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeAlias

from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, choose_encoder, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from prometheus_client.samples import Sample

from remuda.telemetry.metrics.effects import Refusals
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

_OPENMETRICS: Final = "application/openmetrics-text"

_Encoder: TypeAlias = Callable[[Collector], bytes]

# Characters of an Accept header that are looked at.
_ACCEPT_LIMIT: Final = 2_000


class Metrics:
    """Everything there is to measure, in one registry of this process.

    Args:
        source: the scheduler; asked when somebody reads.
        settings: prefix and optional metrics.
        events: returns the counts of the event system.
        stores: the counts of what is stored for resource managers.
        reader: how state is read; by default at most once a second.

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
    ) -> None:
        self._settings = settings or MetricsSettings()
        self._source = source
        self._reader = reader or Reader(source, users=self._settings.users > 0)
        self._events = events
        self._stores = stores or NoStores()
        self._seen = Seen()
        self._types: dict[str, None] = {}
        self._lock = threading.Lock()
        self._process = CollectorRegistry()
        ProcessCollector(registry=self._process)
        PlatformCollector(registry=self._process)
        GCCollector(registry=self._process)
        self.refusals = Refusals()
        self.requests = RequestTimes()

    def families(self) -> Families:
        """Return all families with what they are now. Any thread but the core's.

        Raises: LoopStoppedError. Rules: MET-1 to MET-42.
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
        return families

    def samples(self) -> list[Sample]:
        """Return all samples, those of the process included; their names are those of the text.

        Any thread but the core's. Raises: LoopStoppedError. Rules: MET-1, EXT-25.
        """
        families = self.families()
        everything = [*families.all(), *families.plain.values(), *self._process.collect()]
        return [sample for metric in everything for sample in metric.samples]

    def render(self, accept: str = "") -> tuple[bytes, str]:
        """Return the metrics in the format a client prefers, and its content type.

        Not on the core thread. Raises: LoopStoppedError. Rules: MET-1, REST-46.
        """
        encoder, content_type = _encoder(accept)
        families = self.families()
        if content_type.startswith(_OPENMETRICS):
            everything = [*families.all(), *families.plain.values(), *self._process.collect()]
            return encoder(_Given(everything)), content_type
        known = encoder(_Given([*families.all(), *self._process.collect()]))
        plain = encoder(_Given(families.plain.values()))
        # The format has counters by any name. No other line ends so: samples end in a number.
        return known + plain.replace(b" untyped\n", b" counter\n"), content_type


class _Given(Collector):
    """Hands families to the library that are there already."""

    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterator[Metric]:
        """Return them."""
        return iter(self._families)


def _encoder(accept: str) -> tuple[_Encoder, str]:
    """Return what prints the format that an Accept header asks for; plain text if it is unclear."""
    try:
        return choose_encoder(accept[:_ACCEPT_LIMIT])
    except (TypeError, ValueError):
        return generate_latest, CONTENT_TYPE_PLAIN_0_0_4
