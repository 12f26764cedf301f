"""The observers of a scheduler are connected as its settings say."""

from __future__ import annotations

from pathlib import Path

import pytest

from remuda.edges.observation import Observation, ObservationSettings
from remuda.runtime import snapshots
from remuda.runtime.loop import SchedulerLoop
from tests.audited import violations
from tests.unit.runtime.reports import named
from tests.waiting import wait

ROUNDS = "yunikorn_scheduler_self_audit_rounds_total"


def values(observed: Observation) -> dict[str, float]:
    """The metrics by name; of several series the last."""
    return {each.name: each.value for each in observed.metrics.samples()}


@pytest.mark.remuda_rule("HLT-21", "MET-53")
def test_a_scheduler_is_audited_from_the_start() -> None:
    core = SchedulerLoop()
    observed = Observation(core, ObservationSettings())
    core.start()
    observed.start()
    wait(lambda: values(observed)[ROUNDS] > 0)
    assert values(observed)["yunikorn_scheduler_self_audit_violations"] == 0
    core.stop()
    observed.stop()


@pytest.mark.remuda_rule("HLT-21", "MET-53")
def test_without_the_self_audit_there_are_no_metrics_of_it() -> None:
    core = SchedulerLoop()
    observed = Observation(core, ObservationSettings(self_audit=False))
    core.start()
    observed.start()
    assert ROUNDS not in values(observed)
    core.stop()
    observed.stop()


@pytest.mark.remuda_rule("EXT-148")
def test_a_violation_that_the_audit_finds_leaves_a_report_where_reports_go(tmp_path: Path) -> None:
    scheduler = named.worked()
    named.break_amounts(scheduler)
    core = SchedulerLoop(lambda *_, **__: scheduler)
    observed = Observation(core, ObservationSettings(fault_reports=tmp_path))
    core.start()
    observed.start()
    wait(lambda: list(tmp_path.glob("audit-*/report.json")) != [])
    core.stop()
    observed.stop()
    (snapshot,) = tmp_path.glob("audit-*/state.snapshot")
    _, copy = snapshots.read_unchecked(snapshot)
    assert violations(copy) == violations(scheduler)
