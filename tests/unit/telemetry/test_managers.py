"""What the metrics say about the states of resource managers (MET-56)."""

from __future__ import annotations

import pytest

from remuda.runtime.roster import STREAMS, Roster
from remuda.telemetry.managers import ManagerWatch
from remuda.telemetry.metrics.families import Families
from tests.unit.runtime.fakes import registration

NAME = "yunikorn_scheduler_resource_managers"


def counts(roster: Roster) -> dict[str, float]:
    families = Families("yunikorn")
    ManagerWatch(roster).add(families)
    (metric,) = families.all()
    assert {each.name for each in metric.samples} == {NAME}
    return {dict(each.labels)["state"]: each.value for each in metric.samples}


@pytest.mark.remuda_rule("MET-56")
def test_each_state_has_its_number_from_the_start() -> None:
    roster = Roster()
    none = {"init": 0, "running": 0, "paused": 0, "stopped": 0}
    assert counts(roster) == none
    for name in ("a", "b", "c", "d"):
        roster.announce(name, STREAMS, 1)
    assert counts(roster) == {**none, "init": 4}
    for name in ("a", "b", "c"):
        roster.run(registration(name), STREAMS, 2)
        roster.settle(name)
    assert counts(roster) == {**none, "init": 1, "running": 3}
    roster.pause("a", "connection lost", 3)
    roster.stop("b", "it said so", 3)
    assert counts(roster) == {"init": 1, "running": 1, "paused": 1, "stopped": 1}
    roster.resume("a", 4)
    assert counts(roster) == {"init": 1, "running": 2, "paused": 0, "stopped": 1}
