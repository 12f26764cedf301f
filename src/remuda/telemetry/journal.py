"""Whether the journal of this process is written, for the health checks and the metrics.

A journal that cannot be written costs no decision, so nobody would notice until it is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

from remuda.telemetry.health.findings import Finding
from remuda.telemetry.metrics.families import Families

_CHECK: Final = "Journal"
_CHECKED: Final = "Check whether the inputs get into the journal"


class Kept(Protocol):
    """A journal that is written; Journal in production. Any thread may read."""

    @property
    def failure(self) -> str:
        """Why nothing is written at present; "" while all is well."""
        ...

    @property
    def lost_inputs(self) -> int:
        """How many inputs are missing."""
        ...

    @property
    def size(self) -> int:
        """The bytes of all files when they were counted last."""
        ...

    @property
    def segments(self) -> int:
        """The number of segments then."""
        ...

    @property
    def states_failed(self) -> int:
        """How many states could not be written."""
        ...


class JournalWatch:
    """Reports the state of a journal. Any thread."""

    def __init__(self, journal: Kept) -> None:
        self._journal = journal

    def findings(self) -> Sequence[Finding]:
        """Return what is wrong with the journal. Rules: EXT-53, HLT-20."""
        failure = self._journal.failure
        if not failure:
            return ()
        advice = "it goes on by itself when there is room"
        return (Finding(_CHECK, _CHECKED, f"{failure}; {advice}", succeeded=False),)

    def add(self, families: Families) -> None:
        """Add whether it is written, how large it is, what is missing. Implements: MET-61."""
        journal = self._journal
        text = "1 if the journal of this process cannot be written at present, else 0."
        families.gauge("journal_broken", text).add(bool(journal.failure))
        text = "Inputs that are missing in the journal."
        families.counter("journal_lost_inputs_total", text).add(journal.lost_inputs)
        text = "Size of the journal when its files were looked at last."
        families.gauge("journal_bytes", text).add(journal.size)
        text = "Segments of the journal then."
        families.gauge("journal_segments", text).add(journal.segments)
        text = "States that could not be written into the journal."
        families.counter("journal_states_failed_total", text).add(journal.states_failed)
