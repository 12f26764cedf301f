"""The effects of preemption in a run, in figures.

Definitions: a victim is an allocation whose release was requested. Lost work is resource x time of
the starts that were cut short, from the start to the end of the victim; if a gang loses one member,
the work of all its members counts. Its share is its part of all resource x time that was allocated.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from remuda.base.message import message
from remuda.sim.simulator import Outcome, Scenario
from remuda.sim.workload import SECOND_NS


@message
class Lost:
    """Lost work of one resource type, in base units x seconds, and as a share of 1."""

    unit_seconds: float
    share: float


@message
class QueueLosses:
    """One queue: preemptions for its tasks, victims among them, their lost work by type."""

    preemptions: int
    victims: int
    lost: Mapping[str, float]


@message
class PreemptionFigures:
    """The figures of a run; ``queues``: by path, the queues with preemptions or victims.

    ``tasks_cut_short``: tasks that had to begin anew at least once. ``asks_evicted_repeatedly``:
    asks that lost allocations more than once; ``evictions_of_one_ask``: the most evictions of one
    ask.
    """

    preemptions: int
    victims: int
    tasks_cut_short: int
    asks_evicted_repeatedly: int
    evictions_of_one_ask: int
    lost_work: Mapping[str, Lost]
    queues: Mapping[str, QueueLosses]


def measure_losses(scenario: Scenario, outcome: Outcome) -> PreemptionFigures | None:
    """Return the effects of preemption, None if nothing may be preempted."""
    preemptions = outcome.preemptions
    if preemptions is None:
        return None
    paths = scenario.queues.paths
    types = outcome.timeline.types
    victims = [victim for each in preemptions for victim in each.victims]
    often = Counter(victim.allocation_key for victim in victims)
    caused = Counter(paths[each.task] for each in preemptions)
    suffered = Counter(paths[victim.task] for victim in victims)
    lost = _work(scenario, outcome, preempted_only=True)
    given = _work(scenario, outcome, preempted_only=False)
    return PreemptionFigures(
        preemptions=len(preemptions),
        victims=len(victims),
        tasks_cut_short=len({each.task for each in outcome.placements if each.preempted}),
        asks_evicted_repeatedly=sum(times > 1 for times in often.values()),
        evictions_of_one_ask=max(often.values(), default=0),
        lost_work={
            name: Lost(_total(lost, name) / SECOND_NS, _share(lost, given, name)) for name in types
        },
        queues={
            path: QueueLosses(
                caused[path],
                suffered[path],
                {name: lost[path, name] / SECOND_NS for name in types},
            )
            for path in sorted({*caused, *suffered})
        },
    )


def _work(
    scenario: Scenario, outcome: Outcome, *, preempted_only: bool
) -> Counter[tuple[str, str]]:
    """Return resource x time by queue and type, in base units x nanoseconds."""
    found: Counter[tuple[str, str]] = Counter()
    for placement in outcome.placements:
        if placement.end_ns is None or (preempted_only and not placement.preempted):
            continue
        path = scenario.queues.paths[placement.task]
        time_ns = placement.end_ns - placement.start_ns
        for name, amount in scenario.workload.tasks[placement.task].resource.items():
            found[path, name] += amount * time_ns
    return found


def _total(work: Counter[tuple[str, str]], name: str) -> int:
    return sum(amount for (_, each), amount in work.items() if each == name)


def _share(lost: Counter[tuple[str, str]], given: Counter[tuple[str, str]], name: str) -> float:
    total = _total(given, name)
    return _total(lost, name) / total if total else 0.0


def by_losses(queues: Mapping[str, QueueLosses]) -> Sequence[str]:
    """Return the queues, those with most preemptions first."""
    return sorted(queues, key=lambda path: (-queues[path].victims - queues[path].preemptions, path))
