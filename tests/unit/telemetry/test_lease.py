"""What probes, health checks and metrics say of the lease."""

from __future__ import annotations

import pytest

from remuda.base.duration import SECOND
from remuda.runtime.lease.candidacy import Candidacy, Held, Look, Seen, State, Take, Taken
from remuda.runtime.lease.fence import Fence
from remuda.telemetry.lease import LeaseWatch
from remuda.telemetry.metrics.families import Families


class Part:
    """A candidate, as a process shows it."""

    def __init__(self) -> None:
        self.fence = Fence(lambda: 100 * SECOND)
        self.candidacy = Candidacy("me", self.fence)
        assert self.candidacy.request(0) == Look()

    @property
    def state(self) -> State:
        return self.candidacy.state

    @property
    def problem(self) -> str:
        return self.candidacy.problem

    @property
    def failures(self) -> int:
        return self.candidacy.failures

    def become_active(self) -> None:
        self.candidacy.answered(Seen(None), 0)
        assert self.candidacy.request(99 * SECOND) == Take()
        self.candidacy.answered(Taken(Held(1, 42), 6 * SECOND), 0)


def values(watch: LeaseWatch) -> dict[str, float]:
    families = Families("y")
    watch.add(families)
    found = [(each.name, each.value) for one in families.all() for each in one.samples]
    return {name.removeprefix("y_scheduler_lease_"): value for name, value in found}


@pytest.mark.remuda_rule("EXT-34", "EXT-35", "HLT-20", "MET-59")
def test_a_standby_whose_store_does_not_answer() -> None:
    part = Part()
    watch = LeaseWatch(part)
    assert watch.standing_by()
    assert watch.findings() == ()
    part.candidacy.failed("etcd at h:1: refused", 0)
    (finding,) = watch.findings()
    assert (finding.succeeded, finding.diagnosis) == (False, "etcd at h:1: refused")
    assert values(watch) == {
        "active": 0,
        "fencing_token": 0,
        "remaining_seconds": 0,
        "failures_total": 1,
    }


@pytest.mark.remuda_rule("EXT-34", "EXT-35", "MET-59")
def test_the_active_process() -> None:
    part = Part()
    watch = LeaseWatch(part)
    part.become_active()
    assert not watch.standing_by()
    assert watch.findings() == ()
    assert values(watch) == {
        "active": 1,
        "fencing_token": 42,
        "remaining_seconds": 4,
        "failures_total": 0,
    }


@pytest.mark.remuda_rule("MET-59")
def test_a_process_without_a_lease_says_nothing() -> None:
    watch = LeaseWatch()
    assert not watch.standing_by()
    assert watch.findings() == ()
    assert values(watch) == {}
