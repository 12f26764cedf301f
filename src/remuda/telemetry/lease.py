"""Whether this process is the active scheduler or a standby, for probes, health checks and metrics.

Two schedulers that wait for each other look healthy one by one; only both together show whether
somebody schedules.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

from remuda.base.duration import SECOND
from remuda.runtime.lease.candidacy import State
from remuda.runtime.lease.fence import Fence
from remuda.telemetry.health.findings import Finding
from remuda.telemetry.metrics.families import Families

_CHECK: Final = "Lease"
_CHECKED: Final = "Check whether the store of the lease answers"


class Lease(Protocol):
    """The part of a process in the choice of the active one; LeaseKeeper in production."""

    @property
    def fence(self) -> Fence:
        """Until when it may act."""
        ...

    @property
    def state(self) -> State:
        """What this process is."""
        ...

    @property
    def problem(self) -> str:
        """Why the store was not reached the last time, "" if it was."""
        ...

    @property
    def failures(self) -> int:
        """How often the store was not reached."""
        ...


class LeaseWatch:
    """Reports about a lease, nothing if there is none. Any thread."""

    def __init__(self, lease: Lease | None = None) -> None:
        self._lease = lease

    def standing_by(self) -> bool:
        """Whether another process is active, or none; a standby is ready to take over."""
        return self._lease is not None and self._lease.state is State.STANDBY

    def findings(self) -> Sequence[Finding]:
        """Return what is wrong with the store. Rules: EXT-34, HLT-20."""
        if self._lease is None or not self._lease.problem:
            return ()
        return (Finding(_CHECK, _CHECKED, self._lease.problem, succeeded=False),)

    def add(self, families: Families) -> None:
        """Add whether this process is active. Implements: MET-59."""
        lease = self._lease
        if lease is None:
            return
        text = "1 if this process is the active scheduler, 0 on a standby."
        families.gauge("scheduler_lease_active", text).add(lease.fence.open)
        text = "Fencing token of this process, 0 on a standby; a later one is higher."
        families.gauge("scheduler_lease_fencing_token", text).add(lease.fence.token)
        text = "Seconds for which the lease is held without a further renewal."
        families.gauge("scheduler_lease_remaining_seconds", text).add(
            lease.fence.remaining_ns() / SECOND
        )
        text = "How often the store of the lease did not answer."
        families.counter("scheduler_lease_failures_total", text).add(lease.failures)
