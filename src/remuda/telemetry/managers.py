"""How many resource managers are in which state, for the metrics (MET-56).

One that is away keeps its objects for a while and then loses them; an operator wants to know
before that happens.
"""

from __future__ import annotations

from collections import Counter

from remuda.runtime.roster import RmState, Roster
from remuda.telemetry.metrics.families import Families


class ManagerWatch:
    """Counts the resource managers of a roster by state. Any thread."""

    def __init__(self, roster: Roster) -> None:
        self._roster = roster

    def add(self, families: Families) -> None:
        """Add the number of each state, 0 included. Implements: MET-56."""
        counts = Counter(status.state for status in self._roster.all())
        text = "Resource managers by the state of their connection."
        family = families.gauge("scheduler_resource_managers", text)
        for state in RmState:
            family.add(counts[state], state=state.value.lower())
