"""What the scheduler's own faults did, for the health checks and the metrics (SI-15).

A fault that ends one registration ends no process, so that nobody would notice it otherwise.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Final

from remuda.runtime.faults import Faults, FaultsView
from remuda.telemetry.health.findings import Finding, listed
from remuda.telemetry.metrics.families import Families

_CHECK: Final = "Faults of the scheduler"
_CHECKED: Final = "Check whether the scheduler failed in work for a resource manager"

# How long a fault makes the scheduler unhealthy.
_SHOWN_NS: Final = 3_600_000_000_000


class FaultWatch:
    """Reports the faults that were contained. Any thread.

    Args:
        faults: knows them; None: every fault ends the process.
        now_ns: reads the clock, Unix nanoseconds.
    """

    def __init__(self, faults: Faults | None, now_ns: Callable[[], int] = time.time_ns) -> None:
        self._view = FaultsView if faults is None else faults.view
        self._now_ns = now_ns

    def findings(self) -> Sequence[Finding]:
        """Return the latest fault for an hour, and what is kept out until it starts again.

        Rules: SI-15, HLT-20.
        """
        view = self._view()
        found = []
        if view.latest and self._now_ns() - view.latest_ns < _SHOWN_NS:
            text = f"{view.count} so far, the latest: {view.latest}"
            found.append(Finding(_CHECK, _CHECKED, text, succeeded=False))
        if view.kept_out:
            names = listed([" ".join(filter(None, name)) for name in view.kept_out])
            text = f"kept out until the scheduler starts again: {names}"
            found.append(Finding(_CHECK, _CHECKED, text, succeeded=False))
        return found

    def add(self, families: Families) -> None:
        """Add how often the scheduler failed, and how much is kept out. Implements: MET-52."""
        view = self._view()
        text = "Faults of the scheduler that ended the registration of a resource manager."
        families.counter("scheduler_faults_total", text).add(view.count)
        text = "Elements that are refused because the scheduler failed when it handled them."
        families.gauge("scheduler_kept_out", text).add(len(view.kept_out))
