"""What the charts of a report draw, worked out of a run.

A chart is at most some hundred points wide: longer histories are cut into equal pieces of time,
each drawn as its mean, so that no short event can hide a long one and files stay small.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final

from remuda.base.message import message
from remuda.sim.losses import PreemptionFigures, QueueLosses, by_losses
from remuda.sim.metrics import Figures
from remuda.sim.simulator import Outcome, Scenario
from remuda.sim.timeline import Sample, Timeline
from remuda.sim.wording import unit_of
from remuda.sim.workload import SECOND_NS

PIECES: Final = 400

_WAITS: Final = (
    (0, "not at all"),
    (1, "up to 1 s"),
    (10, "up to 10 s"),
    (60, "up to 1 min"),
    (600, "up to 10 min"),
    (3_600, "up to 1 h"),
    (6 * 3_600, "up to 6 h"),
    (86_400, "up to 1 day"),
    (7 * 86_400, "up to 1 week"),
)


@message
class History:
    """Use and pending over an axis; values hold from their place to the next.

    ``axis`` has one number more than each list of values. ``used``: shares by resource type.
    """

    label: str
    axis: list[float]
    pending: list[float]
    used: dict[str, list[float]]


@message
class Bars:
    """Named bars, each with one value per series.

    ``resources``: the resource types that the series are, or if there is one series, the bars, by
    their place among all types; so each has its colour everywhere. Empty if they are none.
    """

    series: tuple[str, ...]
    names: list[str]
    values: list[list[float]]
    resources: tuple[int, ...] = ()


def history(scenario: Scenario, timeline: Timeline) -> History:
    """Return how the run went, over time or, in a fill, over its decisions."""
    samples = timeline.samples
    if scenario.mode == "fill":
        samples = [*samples, Sample(samples[-1].at + 1, 0, ())]
        return _history(timeline, samples, 1, "tasks placed, in the order of the decisions")
    seconds = (samples[-1].at - samples[0].at) / SECOND_NS
    if not seconds:
        samples = [*samples, Sample(samples[-1].at + SECOND_NS, 0, ())]
    unit = unit_of(seconds)
    label = f"{unit.name} since the first submission"
    return _history(timeline, samples, unit.seconds * SECOND_NS, label)


def _history(timeline: Timeline, samples: Sequence[Sample], unit: int, label: str) -> History:
    """Cut samples into pieces; the last sample only says where the axis ends."""
    first = samples[0].at
    span = samples[-1].at - first
    if len(samples) > PIECES:
        edges = [first + span * piece / PIECES for piece in range(PIECES + 1)]
    else:
        edges = [float(sample.at) for sample in samples]
    columns = [[float(sample.pending) for sample in samples[:-1]]]
    for place, total in enumerate(timeline.capacity):
        columns.append([sample.used[place] / total for sample in samples[:-1]])
    starts = [sample.at for sample in samples]
    pending, *used = (_means(starts, column, edges) for column in columns)
    axis = [(edge - first) / unit for edge in edges]
    return History(label, axis, pending, dict(zip(timeline.types, used, strict=True)))


def _means(starts: Sequence[int], values: Sequence[float], edges: Sequence[float]) -> list[float]:
    """Return the mean of a step function between each two neighbouring edges."""
    means: list[float] = []
    place = 0
    for left, right in pairwise(edges):
        area = 0.0
        at = left
        while at < right:
            while place + 1 < len(values) and starts[place + 1] <= at:
                place += 1
            until = min(right, starts[place + 1]) if place + 1 < len(values) else right
            area += values[place] * (until - at)
            at = until
        means.append(area / (right - left))
    return means


def victims(scenario: Scenario, outcome: Outcome) -> History:
    """Return how many allocations had been preempted so far, in the place of pending.

    A piece of time has the count at its end: the mean of a count that only grows says nothing.
    """
    past = history(scenario, outcome.timeline)
    first = outcome.timeline.samples[0].at
    unit = unit_of((outcome.timeline.samples[-1].at - first) / SECOND_NS).seconds * SECOND_NS
    waiting = sorted((each.at_ns, len(each.victims)) for each in outcome.preemptions or ())
    place, total = 0, 0
    so_far: list[float] = []
    for edge in past.axis[1:]:
        # To a nanosecond, which an edge does not keep as a fraction of its unit.
        end = round(first + edge * unit)
        while place < len(waiting) and (waiting[place][0] < end or edge == past.axis[-1]):
            total += waiting[place][1]
            place += 1
        so_far.append(float(total))
    return replace(past, pending=so_far)


def roles(queues: Mapping[str, QueueLosses], limit: int) -> Bars:
    """Return the queues that got room by preemption and those that lost it; at most ``limit``."""
    shown = list(by_losses(queues))[:limit]
    values = [[float(queues[path].preemptions), float(queues[path].victims)] for path in shown]
    return Bars(("preemptions for it", "victims in it"), shown, values)


def losses(figures: PreemptionFigures, limit: int) -> Bars:
    """Return the part of all use that was lost, of the first ``limit`` resource types."""
    names = list(figures.lost_work)[:limit]
    values = [[figures.lost_work[name].share] for name in names]
    return Bars(("lost",), names, values, tuple(range(len(names))))


def waits(scenario: Scenario, outcome: Outcome) -> Bars:
    """Return how many tasks waited how long; tasks never placed come last."""
    counts = [0] * (len(_WAITS) + 1)
    for placement in outcome.lasting():
        wait_ns = placement.start_ns - placement.submit_ns
        for place, (limit, _) in enumerate(_WAITS):
            if wait_ns <= limit * SECOND_NS:
                counts[place] += 1
                break
        else:
            counts[-1] += 1
    names = [name for _, name in _WAITS] + ["longer"]
    while len(counts) > 1 and not counts[-1]:
        counts.pop()
        names.pop()
    pending = len(scenario.workload.tasks) - sum(counts)
    if pending:
        counts.append(pending)
        names.append("never placed")
    return Bars(("tasks",), names, [[float(number)] for number in counts])


def shares(figures: Figures, types: Sequence[str], limit: int) -> Bars:
    """Return the queues' shares of some resource types, largest first, the small ones as one."""
    ranked = sorted(
        figures.queues,
        key=lambda path: (-max(figures.queues[path].share[name] for name in types), path),
    )
    shown = ranked if len(ranked) <= limit else ranked[: limit - 1]
    names = list(shown)
    values = [[figures.queues[path].share[name] for name in types] for path in shown]
    others = ranked[len(shown) :]
    if others:
        names.append(f"{len(others)} other queues")
        rest = [sum(figures.queues[path].share[name] for path in others) for name in types]
        values.append(rest)
    places = list(figures.utilisation)
    return Bars(tuple(types), names, values, tuple(places.index(name) for name in types))
