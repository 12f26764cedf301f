"""The changes that may place an ask, worked out from its trace; whether they do is tried later.

An edit joins changes that together remove all obstacles that the trace shows: it raises every limit
that stops the ask, and makes room on a node in one of several ways. The set is bounded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from remuda.config.schema import ROOT
from remuda.core.messages import gates
from remuda.core.messages.commands import ApplicationRemoval, UpdateApplications
from remuda.core.messages.tags import REQUIRED_NODE
from remuda.core.messages.trace_queries import DRAINING, RESERVED, AskTraceView, GateView
from remuda.insight.changed_nodes import larger_node, more_nodes, more_room
from remuda.insight.changed_queues import higher_guarantee, higher_limits
from remuda.insight.changes import (
    PRIORITY,
    QUEUE,
    RELEASE,
    REQUIREMENT,
    SMALLER,
    TRIED,
    Change,
    Edit,
    Surroundings,
    amounts,
    joined,
)

# How many applications end together in edits that are tried last.
_ENDINGS: Final = (1, 2, 4, 8)

# The highest priority that an ask can have.
_HIGHEST: Final = 2**31 - 1


def edits(trace: AskTraceView, around: Surroundings) -> list[Edit]:
    """Return the edits to try for an ask, cheapest first. Rules: EXT-47."""
    return _sorted(trace, around, _first(trace, around))


def last_edits(trace: AskTraceView, around: Surroundings) -> list[Edit]:
    """Return the edits to try if those of ``edits`` do not place the ask, cheapest first.

    Each changes more at once, so that neither the asks that are served before nor reservations
    take what it makes free. Implements: EXT-119.
    """
    return _sorted(trace, around, _last(trace, around))


def _sorted(
    trace: AskTraceView, around: Surroundings, found: Iterator[tuple[Change, ...]]
) -> list[Edit]:
    made = [joined(trace, around, changes) for changes in found if changes]
    known: dict[tuple[str, ...], Edit] = {}
    for edit in made:
        if edit is not None:
            known.setdefault(edit.parts, edit)
    return sorted(known.values(), key=lambda edit: edit.cost)


def _first(trace: AskTraceView, around: Surroundings) -> Iterator[tuple[Change, ...]]:
    stops = [gate for gate in trace.gates if not gate.passed]
    higher = _higher(trace)
    yield higher
    for smaller in _smaller(trace, stops):
        yield (smaller,)
    for leaf in around.leaves:
        yield (_elsewhere(trace, leaf),)
    limits = _raised(trace, around, higher_limits(stops))
    found: list[tuple[Change, ...]] = []
    for application_id in around.running[:TRIED]:
        release = _release(around, application_id)
        found.append((*limits, release))
        if limits:
            yield (release,)
    found += [(*limits, guarantee) for guarantee in higher_guarantee(trace, around)]
    found += [(*limits, *room) for room in _rooms(trace, around, stops)]
    for changes in found:
        # Without a higher priority others may take the room first.
        if changes:
            yield changes
            yield (*changes, *higher)


def _raised(
    trace: AskTraceView, around: Surroundings, limits: tuple[Change, ...]
) -> tuple[Change, ...]:
    """Return changes of limits; none if the configuration has not all of these limits."""
    return () if joined(trace, around, limits) is None else limits


def _rooms(
    trace: AskTraceView, around: Surroundings, stops: Sequence[GateView]
) -> Iterator[tuple[Change, ...]]:
    """Yield ways to have room on a node; an empty one if the nodes do not stop the ask."""
    if not _lacks_room(stops):
        yield ()
        return
    required = trace.ask.tags.get(REQUIRED_NODE, "")
    if not required:
        yield from [(room,) for room in more_room(trace, around)]
        return
    free = _unbound(required)
    yield (free,)
    yield from [(free, room) for room in more_room(trace, around)]
    yield from [(room,) for room in larger_node(trace, around, required)]


def _last(trace: AskTraceView, around: Surroundings) -> Iterator[tuple[Change, ...]]:
    higher = _higher(trace)
    for changes in _wider(trace, around):
        yield changes
        yield (*changes, *higher)


def _wider(trace: AskTraceView, around: Surroundings) -> Iterator[tuple[Change, ...]]:
    stops = [gate for gate in trace.gates if not gate.passed]
    wide = higher_limits(stops, around.reserving, around.reserving_amounts)
    limits = _raised(trace, around, wide)
    required = trace.ask.tags.get(REQUIRED_NODE, "")
    free = (_unbound(required),) if required else ()
    room = more_nodes(trace, around, around.reserved + 1)
    yield (*limits, *free, room)
    for leaf in (*around.leaves, *around.full_leaves)[:TRIED]:
        yield (_elsewhere(trace, leaf), *free)
        yield (_elsewhere(trace, leaf), *free, room)
    for count in _ENDINGS:
        releases = [_release(around, each) for each in around.running[:count]]
        if releases:
            yield (*limits, *free, *releases)
            yield (*limits, *free, *releases, room)


def _lacks_room(stops: Sequence[GateView]) -> bool:
    """Whether the nodes stop an ask, or root's maximum, which is the size of the cluster."""
    return any(
        gate.gate in (gates.NODES, gates.REQUIRED_NODE)
        or (gate.gate == gates.QUEUE_QUOTA and gate.subject == ROOT)
        for gate in stops
    )


def _higher(trace: AskTraceView) -> tuple[Change, ...]:
    """Return a priority above that of everything that is served before; none if there is none."""
    ahead = [rival.priority for level in trace.levels for rival in level.ahead]
    priority = min(max([trace.ask.priority, *ahead]) + 1, _HIGHEST)
    if priority == trace.ask.priority:
        return ()
    text = f"raise the priority of the ask to {priority}"
    return (Change(PRIORITY, text, ask={"priority": priority}),)


def _smaller(trace: AskTraceView, stops: Sequence[GateView]) -> Iterator[Change]:
    """Yield the ask in the size that fits the limits and the nearest node."""
    nodes = [node for node in trace.nearest if node.verdict not in (DRAINING, RESERVED)]
    wanted = trace.ask.resource
    for node in nodes[:1]:
        size = {name: amount - node.lacking.get(name, 0) for name, amount in wanted.items()}
        for gate in stops:
            for name, left in (gate.available or {}).items():
                if name in size:
                    size[name] = min(size[name], left)
        if size != wanted and all(size[name] > 0 for name in size if wanted[name] > 0):
            text = f"ask for {amounts(size)} instead of {amounts(wanted)}"
            yield Change(SMALLER, text, ask={"resource": size})


def _elsewhere(trace: AskTraceView, leaf: str) -> Change:
    """Return the ask in an application of another queue."""
    return Change(QUEUE, f"submit it to queue {leaf} instead of {trace.queue}", leaf=leaf)


def _unbound(required: str) -> Change:
    """Return the ask without the requirement of a node."""
    return Change(REQUIREMENT, f"do not require node {required}", unbound=True)


def _release(around: Surroundings, application_id: str) -> Change:
    removal = ApplicationRemoval(application_id, around.partition)
    command = UpdateApplications(around.rm_id, remove=(removal,))
    return Change(RELEASE, f"application {application_id} ends", commands=(command,))
