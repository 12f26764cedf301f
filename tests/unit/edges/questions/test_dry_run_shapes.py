"""What a reader with a scope is shown of a dry run."""

from __future__ import annotations

import pytest

from remuda.edges.questions.dry_runs import dry_run
from remuda.insight.dry_run import WAITS, DryRun, Placement, Victim

QUEUES = {"job": "root.day", "train": "root.night"}


@pytest.mark.remuda_rule("EXT-65")
@pytest.mark.parametrize(
    "preemptor, told, reasons",
    [("job", "job", ["below root.night"]), ("train", "", []), ("unknown", "", [])],
)
def test_a_victim_in_the_scope_names_no_application_beyond_it(
    preemptor: str, told: str, reasons: list[str]
) -> None:
    victim = Victim("job", "k", "k-0", "n1", "root.day", preemptor, ("below root.night",))
    others = (Placement("train", "t", "n1", 0.0), Placement("job", "k", "n2", 0.0))
    found = DryRun(WAITS, "new", "root.day", "Accepted", 0, 0.0, victims=(victim,), others=others)
    shown = dry_run(found, QUEUES, lambda queue: queue == "root.day", version=1, wall_ns=1)
    (entry,) = shown.victims
    assert (entry.preemptor, entry.reasons) == (told, reasons)
    assert [each.application_id for each in shown.others] == ["job"]
    assert shown.hidden == 1
    line = f"  k-0 of job on n1 would be preempted for {told or 'another application'}"
    assert line in shown.text
