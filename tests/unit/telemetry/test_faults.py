"""What health checks and metrics say about faults that were contained (SI-15)."""

from __future__ import annotations

import pytest

from remuda.core.messages import commands as c
from remuda.core.scheduler import Scheduler
from remuda.runtime.faults import Faults
from remuda.telemetry.faults import FaultWatch
from remuda.telemetry.metrics.families import Families

START = 1_700_000_000_000_000_000
HOUR = 3_600_000_000_000


def values(watch: FaultWatch) -> dict[str, float]:
    families = Families("yunikorn")
    watch.add(families)
    return {each.name: each.value for metric in families.all() for each in metric.samples}


@pytest.mark.remuda_rule("SI-15", "HLT-20")
def test_a_fault_is_shown_for_an_hour_and_what_is_kept_out_for_ever() -> None:
    now = [START]
    faults = Faults(lambda: START)
    watch = FaultWatch(faults, lambda: now[0])
    assert watch.findings() == []
    ask = c.Ask("app", "k1", {"vcore": 1})
    faults.command = c.UpdateAllocations("rm", asks=(ask,))
    faults.note(Scheduler(), "rm", ValueError("why"))
    assert len(watch.findings()) == 1
    faults.note(Scheduler(), "rm", ValueError("why"))
    first, second = watch.findings()
    assert first.diagnosis == "2 so far, the latest: ValueError: why"
    assert second.diagnosis == "kept out until the scheduler starts again: [ask default app k1]"
    assert not first.succeeded
    assert not second.succeeded
    now[0] += HOUR
    (rest,) = watch.findings()
    assert rest == second


@pytest.mark.remuda_rule("MET-52")
def test_faults_and_what_is_kept_out_are_counted() -> None:
    faults = Faults(lambda: START)
    watch = FaultWatch(faults)
    names = ("yunikorn_scheduler_faults_total", "yunikorn_scheduler_kept_out")
    assert values(watch) == dict.fromkeys(names, 0)
    faults.command = c.UpdateNodes("rm", (c.NodeUpdate("n1", c.CREATE, {}),))
    faults.note(Scheduler(), "rm", ValueError("why"))
    faults.note(Scheduler(), "rm", ValueError("why"))
    faults.command = None
    faults.note(Scheduler(), "rm", ValueError("why"))
    assert values(watch) == dict(zip(names, (3, 1), strict=True))


def test_a_scheduler_that_contains_nothing_has_nothing_to_tell() -> None:
    assert FaultWatch(None).findings() == []
