"""All gates of an ask, checked at once, name the same obstacle as the cycle that tried the ask."""

from __future__ import annotations

from collections import Counter

import pytest

from remuda.core.messages import gates
from remuda.core.messages.trace_queries import AskTraceQuery, AskTraceView
from remuda.core.scheduler import Scheduler
from tests.property.test_findings import STEPS, Story


def trace_of(scheduler: Scheduler, application_id: str, key: str) -> AskTraceView:
    """Everything about one ask that waits."""
    found = scheduler.view(AskTraceQuery("default", application_id, key))
    assert isinstance(found, AskTraceView)
    return found


def compare(story: Story, seen: Counter[str]) -> None:
    """See that the gate that the cycle found is among those that stop an ask."""
    for view in story.door.apps().values():
        for request in view.requests:
            finding = request.finding
            assert finding is not None
            trace = trace_of(story.door.scheduler, view.application_id, request.allocation_key)
            stops = [(gate.gate, gate.subject) for gate in trace.gates if not gate.passed]
            where = f"{view.application_id} {request.allocation_key}: {finding} {trace}"
            assert stops, where
            # What the cycle found earlier stays true; a gate before it may have closed since.
            assert (finding.gate, finding.subject) in stops, where
            seen[finding.gate] += 1
            seen["first"] += stops[0] == (finding.gate, finding.subject)
            seen["all"] += 1
            seen["more than one"] += len({gate for gate, _ in stops}) > 1
            # Room that is kept for an ask does not stop it (PRE-89).
            if not request.preemption:
                check_numbers(trace)


def check_numbers(trace: AskTraceView) -> None:
    """See that the numbers of each gate say what it says."""
    for gate in trace.gates:
        if gate.max_applications and not gate.passed:
            assert gate.applications >= gate.max_applications, gate
        if gate.maximum is None or gate.requested is None or gate.available is None:
            continue
        short = any(
            amount > gate.available[kind]
            for kind, amount in gate.requested.items()
            if amount > 0 and kind in gate.maximum
        )
        strange = any(
            amount > 0 and kind not in gate.maximum for kind, amount in gate.requested.items()
        )
        if gate.subject == "root":
            assert gate.passed != (short or strange), gate
        else:
            assert gate.passed != short, gate
    summary = trace.nodes
    parts = (summary.draining, summary.reserved, summary.too_small, summary.no_room)
    assert sum(parts) + summary.refused + trace.takes == summary.total
    assert bool(trace.takes) == trace.gates[-1].passed


@pytest.mark.remuda_rule("EXT-44", "EXT-46")
def test_all_gates_name_first_what_the_cycle_found() -> None:
    seen: Counter[str] = Counter()
    for seed in range(20):
        story = Story(seed)
        for _ in range(STEPS):
            story.act()
            if story.dice.random() < 0.4 and story.door.node_views():
                story.rest()
                compare(story, seen)
    for gate in (gates.TURN, gates.MAX_APPLICATIONS, gates.USER_QUOTA, gates.QUEUE_QUOTA):
        assert seen[gate] >= 10, seen
    assert seen[gates.NODES] >= 10
    assert seen["more than one"] >= 10
    assert seen["first"] >= 0.9 * seen["all"]
