"""Whether the recording of this process is still written, for the health checks and the metrics.

A recording that broke off costs no decision, so nobody would notice until it is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

from remuda.telemetry.health.findings import Finding
from remuda.telemetry.metrics.families import Families

_CHECK: Final = "Recording"
_CHECKED: Final = "Check whether the inputs get into the file that is to keep them"


class Recording(Protocol):
    """A recording that is written; JournalWriter in production. Any thread may read."""

    @property
    def failure(self) -> str:
        """Why nothing is written any more; "" while all is well."""
        ...

    @property
    def lost_inputs(self) -> int:
        """How many inputs are missing since then."""
        ...


class RecordingWatch:
    """Reports the state of a recording, nothing if there is none. Any thread."""

    def __init__(self, recording: Recording | None) -> None:
        self._recording = recording

    def findings(self) -> Sequence[Finding]:
        """Return what is wrong with the recording. Rules: HLT-20."""
        failure = "" if self._recording is None else self._recording.failure
        if not failure:
            return ()
        advice = "make room and start the scheduler anew to record again"
        return (Finding(_CHECK, _CHECKED, f"{failure}; {advice}", succeeded=False),)

    def add(self, families: Families) -> None:
        """Add whether it is written, and what is missing. Rules: MET-42."""
        if self._recording is None:
            return
        text = "1 if the recording of this process broke off, 0 while it is written."
        families.gauge("recording_broken", text).add(bool(self._recording.failure))
        text = "Inputs that are missing at the end of the recording."
        families.counter("recording_lost_inputs_total", text).add(self._recording.lost_inputs)
