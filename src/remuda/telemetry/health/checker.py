"""Runs the health checks at the start and then at intervals, and keeps the latest result.

A separate thread waits for the answers of the core, so that no other thread does. Readers get the
stored result (rules: HLT-1, HLT-2, HLT-3).
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from remuda.config.findings import one_line
from remuda.config.schema import Configuration
from remuda.config.settings import read_settings
from remuda.runtime.errors import LoopStoppedError
from remuda.telemetry.health.checks import findings
from remuda.telemetry.health.findings import ExtraFindings, Finding, Health
from remuda.telemetry.health.survey import Questions, Surveyor, Trouble, attempted

# The logger that the specification calls core.scheduler.health (KV-2).
_log = logging.getLogger("remuda.runtime.health")

# Between two questions to the core, so that scheduling goes on in between.
_PAUSE_SECONDS: Final = 0.002

# The pause after a run is at least this many times as long, for any interval.
_REST: Final = 9

_SECOND_NS: Final = 1_000_000_000


class HealthChecker:
    """The health checks of a running scheduler.

    Args: questions: answers questions about the core. extra: sources of findings of other parts,
        added in this order after the checks. now_ns: reads the clock, Unix nanoseconds.

    It is a watcher of configurations, and applies ``health.checkInterval``. Any thread may read
    ``latest``. Rules: chapter 97 section 6.
    """

    def __init__(
        self,
        questions: Questions,
        extra: Sequence[ExtraFindings] = (),
        now_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self._questions = questions
        self._extra = tuple(extra)
        self._now_ns = now_ns
        self._before = Trouble()
        self._changed = threading.Condition()
        self._interval_ns = read_settings({})[0].health_check_interval_ns
        self._since_ns = 0
        self._rest_until_ns = 0
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._work, name="remuda-health", daemon=True)
        # The entries of the checks themselves in the last run; None before the first.
        self._checked: Sequence[Finding] | None = None
        self._storing = threading.Lock()
        self.latest: Health | None = None

    # ------------------------------------------------------------------------ any thread

    def start(self) -> None:
        """Begin with the first run, then one after each interval. Implements: HLT-2."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread; a run that waits for the core is not awaited. Repeating is harmless."""
        self._stopping.set()
        with self._changed:
            self._changed.notify_all()

    def __call__(
        self, rm_id: str, configuration: Configuration, extra: Mapping[str, str] | None
    ) -> None:
        """Take over the interval of an extra map; None: the map stays as it was. Core thread."""
        if extra is not None:
            self.change_interval(read_settings(extra)[0].health_check_interval_ns)

    def change_interval(self, interval_ns: int) -> None:
        """Begin a new interval, unless it is the old one; 0: no more runs. Rules: HLT-2."""
        with self._changed:
            if interval_ns != self._interval_ns:
                self._interval_ns = interval_ns
                self._since_ns = time.monotonic_ns()
                self._changed.notify_all()

    def run(self) -> Health:
        """Check everything now, on the calling thread, and store the result.

        Raises: LoopStoppedError; TimeoutError if the core does not answer. Implements: HLT-1,
        HLT-3.
        """
        found = Surveyor(self._questions, self._now_ns(), self._pause).survey()
        entries = findings(found, self._before)
        self._before = found.trouble
        health = self._store(entries)
        for entry in health.findings:
            if not entry.succeeded:
                _log.warning("health check failed: %s: %s", entry.name, one_line(entry.diagnosis))
        return health

    def renew(self) -> None:
        """Ask the other parts anew for their findings; those of the last run stay.

        Any thread. Rules: HLT-22.
        """
        with self._storing:
            checked = self._checked
        if checked is not None:
            self._store(checked)

    def _store(self, checked: Sequence[Finding]) -> Health:
        """Store the entries of the checks with those of the other parts."""
        with self._storing:
            entries = [*checked]
            for source in self._extra:
                entries += _findings_of(source)
            self._checked = checked
            self.latest = Health(tuple(entries), self._now_ns())
            return self.latest

    # ----------------------------------------------------------------- thread of the checks

    def _work(self) -> None:
        self._since_ns = time.monotonic_ns()
        while not self._stopping.is_set():
            began_ns = time.monotonic_ns()
            if not attempted("health check", self.run):
                return
            ended_ns = time.monotonic_ns()
            with self._changed:
                self._rest_until_ns = ended_ns + _REST * (ended_ns - began_ns)
            self._await_next()

    def _await_next(self) -> None:
        """Wait until the interval is over; a change of it begins a new one. Rules: HLT-2."""
        with self._changed:
            while not self._stopping.is_set():
                wait_ns: float | None = None
                if self._interval_ns > 0:
                    now_ns = time.monotonic_ns()
                    due_ns = max(self._since_ns + self._interval_ns, self._rest_until_ns)
                    wait_ns = due_ns - now_ns
                    if wait_ns <= 0:
                        self._since_ns = now_ns
                        return
                longest = threading.TIMEOUT_MAX
                seconds = None if wait_ns is None else min(wait_ns / _SECOND_NS, longest)
                self._changed.wait(seconds)

    def _pause(self) -> None:
        if self._stopping.wait(_PAUSE_SECONDS):
            raise LoopStoppedError("the health checks were stopped")


def _findings_of(source: ExtraFindings) -> Sequence[Finding]:
    """Return the findings of a source, none if the source fails."""
    try:
        return list(source())
    except Exception as error:  # noqa: BLE001 - theirs, not ours
        _log.error("the health check leaves out a part that failed: %r", error)
        return ()
