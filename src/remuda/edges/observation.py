"""Builds the observers of a running scheduler and connects them with HTTP and gRPC.

The package `telemetry` observes; this module turns its results into answers. A scheduler without
observers makes the same decisions.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import field
from pathlib import Path

from remuda.base.message import message
from remuda.core.messages.application_queries import (
    COMPLETED,
    REJECTED,
    ApplicationIndex,
    ApplicationIndexQuery,
    ApplicationKey,
    ApplicationPortionQuery,
)
from remuda.core.messages.application_views import ApplicationView
from remuda.core.messages.queries import PartitionView
from remuda.core.messages.rows import rows
from remuda.edges.grpc.measured import measurements
from remuda.edges.grpc.measurements import Measurements
from remuda.edges.questions.insight import Insight
from remuda.edges.questions.questions import Questions
from remuda.edges.rest.requests.endpoint import Routes
from remuda.edges.rest.routes.applications import PORTION, in_order
from remuda.edges.rest.routes.cluster import CLUSTER_NAME, Clusters
from remuda.edges.rest.routes.debug import debug_routes
from remuda.edges.rest.routes.dump import DumpParts, StateDump, dump_routes
from remuda.edges.rest.routes.events import event_routes
from remuda.edges.rest.routes.fair_shares import fair_share_routes
from remuda.edges.rest.routes.health import (
    application_history,
    container_history,
    health,
    health_routes,
)
from remuda.edges.rest.routes.insight import InsightRoutes
from remuda.edges.rest.routes.metrics import metrics_routes
from remuda.edges.rest.shapes import dao
from remuda.edges.watching import look_every
from remuda.runtime.configuration.process_settings import finest_level
from remuda.runtime.journals.writer import Journal
from remuda.runtime.loop import SchedulerLoop
from remuda.runtime.reports.evidence import AuditReports
from remuda.telemetry.descriptors import DescriptorWatch
from remuda.telemetry.events.durable.choice import StoreChoice
from remuda.telemetry.events.pipeline import EventSystem
from remuda.telemetry.fair_shares import FairShares
from remuda.telemetry.faults import FaultWatch
from remuda.telemetry.health.checker import HealthChecker
from remuda.telemetry.history import SAMPLES, History
from remuda.telemetry.journal import JournalWatch
from remuda.telemetry.lease import Lease, LeaseWatch
from remuda.telemetry.managers import ManagerWatch
from remuda.telemetry.memory_watch import MemoryWatch, this_process
from remuda.telemetry.metrics.exposition import Metrics
from remuda.telemetry.metrics.families import Families
from remuda.telemetry.metrics.settings import MetricsSettings
from remuda.telemetry.pulse import Pulse
from remuda.telemetry.recording import RecordingWatch
from remuda.telemetry.self_audit import SelfAudit


@message
class ObservationSettings:
    """How a scheduler is observed.

    ``cluster_name``: the name of the cluster (REST-56). ``history_samples`` 0: no history
    (MET-44). ``event_directory``: below it records may be kept in files (EVT-132); None: nowhere.
    ``self_audit``: whether its sums are compared with their parts all the time (HLT-21).
    ``memory_limit``: bytes of memory that the process may have; 0: any number, None: what the
    system allows (EXT-39). ``fault_reports``: where reports about violations that the self-audit
    finds are written (EXT-148); None: nowhere.
    """

    cluster_name: str = CLUSTER_NAME
    history_samples: int = SAMPLES
    metrics: MetricsSettings = field(default_factory=MetricsSettings)
    event_directory: Path | None = None
    self_audit: bool = True
    memory_limit: int | None = None
    fault_reports: Path | None = None


class Observation:
    """The observers of a scheduler.

    Build before the core starts, ``start``, ``stop`` at the end.

    ``routes``: what HTTP shows of them; ``dump``: the state dump; ``measurements``: what gRPC
    shows; ``insight``: what answers questions of both. ``metrics`` must get each HTTP request.
    ``keep`` must run meanwhile. ``memory`` knows whether the process runs short of it. ``extra``:
    what else adds metrics. ``lease``: by which the active process is chosen.
    """

    def __init__(
        self,
        core: SchedulerLoop,
        settings: ObservationSettings,
        extra: Sequence[Callable[[Families], None]] = (),
        lease: Lease | None = None,
    ) -> None:
        store = StoreChoice(settings.event_directory)
        core.configurations.watch(store.configure)
        self._events = EventSystem(core, choose=store.sink)
        recording = _recording_watch(core)
        faults = FaultWatch(core.faults)
        self._descriptors = DescriptorWatch()
        self.memory = MemoryWatch(self._limit_growth, this_process(settings.memory_limit))
        managers = ManagerWatch(core.roster)
        leases = LeaseWatch(lease)
        means = (self._descriptors, self.memory)
        sources = [each.findings for each in (store, recording, faults, *means, leases)]
        adding = (recording, faults, *means, managers, leases)
        more = [*[each.add for each in adding], *extra]
        audit = _self_audit(core, settings, self._renew_health) if settings.self_audit else None
        self._audit = audit
        if audit is not None:
            core.configurations.watch(audit)
            sources.append(audit.findings)
            more.append(audit.add)
        self._checker = HealthChecker(core, sources)
        core.configurations.watch(self._checker)
        self._history = History(core, settings.history_samples)
        self._shares = FairShares(core)
        self.metrics = Metrics(
            core,
            settings.metrics,
            events=self._events.counters,
            stores=core.feeds,
            more=more,
        )
        core.subscribe(self.metrics.refusals, records=False)
        self._core = core
        self._clusters = Clusters(core.roster, time.time_ns(), settings.cluster_name)
        self.dump = StateDump(core, self._dump_parts())
        self.measurements: Measurements = measurements(self.metrics, self._checker, self._events)
        self.insight = Insight(Questions(core, self.memory.scarce), self._shares)
        self.routes: Routes = {
            **event_routes(self._events),
            **health_routes(self._checker, self._history, Pulse(core), leases.standing_by),
            **metrics_routes(self.metrics),
            **debug_routes(),
            **fair_share_routes(self._shares),
            **InsightRoutes(self.insight.questions).routes(),
            **self._clusters.routes(),
            **dump_routes(self.dump),
        }

    def start(self) -> None:
        """Begin to check and to take samples; the core runs."""
        self._checker.start()
        self._history.start()
        self._shares.start()
        if self._audit is not None:
            self._audit.start()

    async def keep(self) -> None:
        """Look at the means of the process, until cancelled. Rules: EXT-39, MET-55."""
        await asyncio.gather(
            look_every(lambda: 1.0, self._descriptors.look),
            look_every(self.memory.pause, self.memory.look),
        )

    def end_streams(self) -> None:
        """End the streams of events, so that servers can stop. Rules: REST-2."""
        self._events.end_streams()

    def stop(self) -> None:
        """End everything, after the core."""
        self._history.stop()
        self._shares.stop()
        if self._audit is not None:
            self._audit.stop()
        self._checker.stop()
        self._events.close()

    def _renew_health(self) -> None:
        """Show at once what the self-audit found. Rules: HLT-22."""
        self._checker.renew()

    def _limit_growth(self, shortage: str) -> None:
        """Have the core refuse what is new, and show at once why. Rules: EXT-39."""
        self._core.limit_growth(shortage)
        self._checker.renew()

    def _dump_parts(self) -> DumpParts:
        """Return the parts of a dump that come from the observers.

        Implements: DMP-5, DMP-7. Rules: DMP-4, DMP-9, DMP-12, DMP-14.
        """
        return DumpParts(
            application_history=lambda: application_history(self._history.samples()),
            container_history=lambda: container_history(self._history.samples()),
            clusters=lambda: self._clusters.shown(self._core),
            log_level=finest_level,
            event_streams=self._streams,
            health=self._health,
            event_range=self._event_range,
            ended=self._ended,
        )

    def _streams(self) -> list[dict[str, str]]:
        """Return the open streams of events. Implements: DMP-12. Rules: EVT-121."""
        return [
            {"Name": each.name, "CreatedAt": dao.rfc3339(each.created_ns)}
            for each in self._events.streams()
        ]

    def _health(self) -> object:
        """Return the latest result, None before the first. Rules: DMP-14."""
        latest = self._checker.latest
        return None if latest is None else health(latest)

    def _event_range(self) -> dict[str, int]:
        """Return the IDs that can be read. Rules: DMP-14."""
        found = self._events.range()
        return {"lowest": found.lowest, "highest": found.highest}

    async def _ended(self, partition: PartitionView) -> Sequence[ApplicationView]:
        """Return the ended applications of a partition, a portion at a time. Implements: DMP-4."""
        found: list[ApplicationView] = []
        for which in (COMPLETED, REJECTED):
            keys = await self._keys(partition, which)
            for at in range(0, len(keys), PORTION):
                some = tuple(keys[at : at + PORTION])
                query = ApplicationPortionQuery(partition.name, which, some, partition.rm_id)
                view = await asyncio.wrap_future(self._core.query(query))
                found += rows(ApplicationView, view or ())
        return found

    async def _keys(self, partition: PartitionView, which: str) -> list[ApplicationKey]:
        query = ApplicationIndexQuery(partition.name, which, rm_id=partition.rm_id)
        view = await asyncio.wrap_future(self._core.query(query))
        assert isinstance(view, ApplicationIndex | None)
        return [] if view is None else await asyncio.to_thread(in_order, view.keys)


def _self_audit(
    core: SchedulerLoop, settings: ObservationSettings, changed: Callable[[], None]
) -> SelfAudit:
    """Return what compares sums with their parts, and reports differences. Rules: EXT-148."""
    if settings.fault_reports is None:
        return SelfAudit(core, changed)
    journal = core.recorder.directory if isinstance(core.recorder, Journal) else None
    report = AuditReports(settings.fault_reports, core.operations.answer_on_copy, journal)
    return SelfAudit(core, changed, report=report)


def _recording_watch(core: SchedulerLoop) -> RecordingWatch | JournalWatch:
    """Return what watches the recorder of a scheduler. Rules: HLT-20, MET-42, MET-61."""
    if isinstance(core.recorder, Journal):
        return JournalWatch(core.recorder)
    return RecordingWatch(core.recorder)
