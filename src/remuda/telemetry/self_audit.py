"""Compares the sums of the scheduler with their parts while it runs, and tells what differs.

A thread asks the core one small question after another, so that a round over everything takes a
steady, small share of a core (HLT-21). A difference is a fault of the scheduler that no message
would show (HLT-22).
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as LateError
from typing import Final, Protocol, TypeAlias

from remuda.config.findings import one_line
from remuda.config.schema import Configuration
from remuda.config.settings import read_settings
from remuda.core.messages import events
from remuda.core.messages.effects import EventRecord
from remuda.core.messages.health_queries import PartitionCountsQuery, PartitionCountsView
from remuda.core.messages.queries import Query, View
from remuda.core.messages.rows import rows
from remuda.core.messages.self_audit import (
    PARTS,
    START,
    SelfAuditQuery,
    SelfAuditView,
    SlicePlace,
    Violation,
)
from remuda.runtime.errors import LoopStoppedError
from remuda.telemetry.health.findings import Finding, listed
from remuda.telemetry.health.survey import ANSWER_SECONDS, attempted
from remuda.telemetry.metrics.families import Families

_log = logging.getLogger("remuda.runtime.health")

_CHECK: Final = "Self-audit"
_CHECKED: Final = "Check whether the sums of the scheduler are those of their parts"

# How long a round takes, with its rest: a difference is found when its object has its turn again.
ROUND_SECONDS: Final = 28.0

# Questions come in groups, since a question alone costs a third more: threads wake up, and others
# have used the caches. So many are a group, with this pause in between.
_GROUP: Final = 8
_PAUSE_SECONDS: Final = 0.002

# Between two groups: at least, so that a very large cluster takes longer instead of more of a core,
# and at most.
_REST_MIN: Final = 0.16
_REST_MAX: Final = 4.0

# How many violations of a round are logged and told; further ones are only counted and shown.
_TOLD_LIMIT: Final = 100

_KINDS: Final = {
    events.NODE: "node",
    events.APP: "application",
    events.QUEUE: "queue",
    events.USERGROUP: "limit",
}

# The RM, the partition, the kind of object, its name, and the value.
_Key: TypeAlias = tuple[str, str, int, str, str]


class Audited(Protocol):
    """A running scheduler; SchedulerLoop in production."""

    @property
    def tell(self) -> Callable[[EventRecord], object]:
        """A function that hands an event record to all who follow events."""
        ...

    def query(self, query: Query) -> Future[View]:
        """Return the future answer to a question."""
        ...


def nobody() -> None:
    """Ignore that the violations changed."""


def no_report(violations: Sequence[str]) -> None:
    """Write no report about violations."""


class SelfAudit:
    """Audits a scheduler for as long as it runs.

    Args:
        core: the scheduler.
        changed: called when the violations changed.
        report: called with new violations, as texts, when they are found; may take its time.
        now_ns: reads the clock, Unix nanoseconds.
        clock: seconds that only grow.

    It is a watcher of configurations: without event tracking there are no records (EVT-12). Any
    thread may read findings and metrics. Rules: HLT-21, HLT-22.
    """

    def __init__(
        self,
        core: Audited,
        changed: Callable[[], None] = nobody,
        *,
        report: Callable[[Sequence[str]], object] = no_report,
        now_ns: Callable[[], int] = time.time_ns,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._core = core
        self._changed = changed
        self._report = report
        self._now_ns = now_ns
        self._clock = clock
        self._tracking = True
        self._lock = threading.Lock()
        self._shown: dict[_Key, Violation] = {}
        self._found: dict[_Key, Violation] = {}
        self._counts = dict.fromkeys(_KINDS.values(), 0)
        self._rounds = 0
        self._since = clock()
        self._due = 0.0
        self._told = 0
        self._slices = 0
        self._last_slices = 0
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._work, name="remuda-audit", daemon=True)

    # ------------------------------------------------------------------------ any thread

    def start(self) -> None:
        """Begin with the first round."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread; an answer that it waits for is not awaited. Repeating is harmless."""
        self._stopping.set()

    def __call__(
        self, rm_id: str, configuration: Configuration, extra: Mapping[str, str] | None
    ) -> None:
        """Take over from an extra map whether there are event records. Core thread."""
        if extra is not None:
            self._tracking = read_settings(extra)[0].event_tracking

    def findings(self) -> Sequence[Finding]:
        """Return what differs, until a whole round does not find it. Rules: HLT-20, HLT-22."""
        with self._lock:
            texts = [_text(key, each) for key, each in self._shown.items()]
        if not texts:
            return ()
        return (Finding(_CHECK, _CHECKED, listed(texts), succeeded=False),)

    def add(self, families: Families) -> None:
        """Add how many differences there were, and how old the last round is.

        Implements: MET-53.
        """
        with self._lock:
            counts, rounds, now = dict(self._counts), self._rounds, len(self._shown)
            age = self._clock() - self._since
        text = "Sums of the scheduler that were found to differ from their parts, by object."
        family = families.counter("scheduler_self_audit_violations_total", text)
        for kind, count in counts.items():
            family.add(count, object=kind)
        text = "Sums of the scheduler that differ from their parts now."
        families.gauge("scheduler_self_audit_violations", text).add(now)
        text = "Rounds of the self-audit over the whole scheduler."
        families.counter("scheduler_self_audit_rounds_total", text).add(rounds)
        text = "Seconds since the last round of the self-audit ended, or since the start."
        families.gauge("scheduler_self_audit_age_seconds", text).add(age)

    def round(self) -> None:
        """Audit everything once, on the calling thread.

        Raises: LoopStoppedError; TimeoutError if the core does not answer. Implements: HLT-22.
        """
        self._found = {}
        self._told = 0
        self._slices = 0
        counts = self._core.query(PartitionCountsQuery()).result(ANSWER_SECONDS)
        for each in rows(PartitionCountsView, counts):
            for part in PARTS:
                self._audit(each.rm_id, each.name, part)
        with self._lock:
            healed = len(self._shown) - len(self._found)
            self._shown = self._found
            self._rounds += 1
            self._since = self._clock()
        self._last_slices = self._slices
        if healed:
            self._changed()

    # ------------------------------------------------------------------ thread of the audit

    def _work(self) -> None:
        while not self._stopping.is_set():
            self._due = self._clock() + ROUND_SECONDS
            if not attempted("self-audit", self.round):
                return
            self._stopping.wait(max(_REST_MIN, self._due - self._clock()))

    def _audit(self, rm_id: str, partition: str, part: str) -> None:
        """Audit one kind of object of a partition; one that is removed meanwhile is left out."""
        place: SlicePlace | None = START
        while place is not None:
            self._pause()
            view = self._ask(SelfAuditQuery(partition, rm_id, part, place))
            if view is None:
                return
            new = [each for each in view.violations if self._note(rm_id, partition, each)]
            if new:
                self._changed()
                self._report([_text(_key(rm_id, partition, each), each) for each in new])
            place = view.next

    def _ask(self, query: SelfAuditQuery) -> SelfAuditView | None:
        """Return the answer, None for an unknown partition. A question that fails is a violation.

        What makes the question fail is wrong in the scheduler, or in the question.
        """
        try:
            view = self._core.query(query).result(ANSWER_SECONDS)
        except (LoopStoppedError, LateError):
            raise
        except Exception as error:  # noqa: BLE001 - the state may be wrong in any way
            what = f"audit of {query.part}"
            text = f"the {what} failed: {type(error).__name__}: {error}"
            return SelfAuditView((Violation(events.QUEUE, "root", what, text),), None)
        return view if isinstance(view, SelfAuditView) else None

    def _pause(self) -> None:
        """Wait so long that the groups to come are spread over the rest of the round.

        There will be about as many as in the round before.
        """
        pause = _PAUSE_SECONDS
        if self._slices % _GROUP == 0:
            coming = (self._last_slices - self._slices) / _GROUP
            rest = (self._due - self._clock()) / coming if coming > 0 else 0.0
            pause = min(max(rest, _REST_MIN), _REST_MAX)
        self._slices += 1
        if self._stopping.wait(pause):
            raise LoopStoppedError("the self-audit was stopped")

    def _note(self, rm_id: str, partition: str, violation: Violation) -> bool:
        """Keep a violation and return whether it is new; a new one is counted, logged and told."""
        key = _key(rm_id, partition, violation)
        with self._lock:
            new = key not in self._shown
            self._found[key] = violation
            self._shown[key] = violation
            if new:
                self._counts[_KINDS[violation.kind]] += 1
        if new and self._told < _TOLD_LIMIT:
            self._told += 1
            _log.error("self-audit: %s", one_line(_text(key, violation)))
            if self._tracking:
                self._core.tell(self._record(rm_id, partition, violation))
        return new

    def _record(self, rm_id: str, partition: str, violation: Violation) -> EventRecord:
        """Return the event record of a violation. Rules: EVT-7, EVT-11."""
        return EventRecord(
            rm_id=rm_id,
            partition=partition,
            kind=violation.kind,
            object_id=violation.name,
            reference_id=violation.reference,
            change=events.NONE,
            detail=events.DETAILS_NONE,
            timestamp_ns=self._now_ns(),
            resource={},
            message=events.cut_message(f"Self-audit: {violation.text}"),
            queue=violation.name if violation.kind == events.QUEUE else "",
        )


def _key(rm_id: str, partition: str, violation: Violation) -> _Key:
    return rm_id, partition, violation.kind, violation.name, violation.what


def _text(key: _Key, violation: Violation) -> str:
    """Return a violation with its object. Rules: HLT-16."""
    rm_id, partition, kind, name, _ = key
    return f"partition=[{rm_id}]{partition}, {_KINDS[kind]}={name}: {violation.text}"
