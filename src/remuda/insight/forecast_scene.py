"""What a forecast knows of a scheduler: what runs, what waits, what came and ended before.

It is read once, before the state is copied for the simulations. All times are those of the core.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from remuda.base.duration import SECOND
from remuda.base.message import message
from remuda.base.resources import Resource
from remuda.core.messages.application_queries import (
    COMPLETED,
    ApplicationIndex,
    ApplicationIndexQuery,
    ApplicationPortionQuery,
)
from remuda.core.messages.application_views import AllocationView, ApplicationView
from remuda.core.messages.ask_views import RequestView
from remuda.core.messages.commands import Ask
from remuda.core.messages.rows import ApplicationRowsQuery, Rows
from remuda.core.scheduler import Scheduler
from remuda.insight.explanation import waiting_asks
from remuda.insight.run_times import Ended, Possible, RunTimes, declared_ns

# Ended applications that are looked at: those that came last.
HISTORY_LIMIT: Final = 5_000

# Applications that have to have come, and for how long they came, for others to come as they did.
ARRIVALS_LEARNED_FROM: Final = 20
ARRIVALS_LEARNED_IN_NS: Final = 3_600 * SECOND

# How the names of all begin that exists in a forecast only.
PREFIX: Final = "remuda-forecast"

# The state in which an application waits for more asks after its last allocation ended.
_COMPLETING: Final = "Completing"


@message
class Wanted:
    """Equal allocations that an application asks for, or asked for."""

    resource: Resource
    count: int
    priority: int = 0


@message
class Held:
    """A real allocation that runs. ``declared_ns``: what its ask declared, None: nothing."""

    allocation_id: str
    since_ns: int
    declared_ns: int | None


@message
class Arrival:
    """An application that came in the past.

    ``ran_ns``: how long each of its allocations ran, or will run; None: not known. ``declared_ns``:
    what the application declared.
    """

    application_id: str
    at_ns: int
    queue: str
    user: str
    groups: tuple[str, ...]
    tags: Mapping[str, str]
    wanted: tuple[Wanted, ...]
    ran_ns: int | None
    declared_ns: int | None = None


@message
class Living:
    """A live application. ``declared_ns``: its own tag. ``waiting``: its asks, by key.

    ``members``: what will be asked for when a gang has all its places.
    """

    application_id: str
    queue: str
    user: str
    declared_ns: int | None
    held: tuple[Held, ...]
    waiting: tuple[RequestView, ...]
    members: tuple[Ask, ...] = ()

    def gang_pending(self) -> int:
        """How many members of a gang have no place yet."""
        return sum([each.pending_count for each in self.waiting if each.placeholder])

    def waits(self) -> bool:
        """Whether it has not started: a gang has to get all its places, others a first one."""
        return bool(self.waiting) and (not self.held or self.gang_pending() > 0)


@message
class Scene:
    """What is known at ``now_ns``.

    ``since_ns``: from when on ``arrivals``, in order of time, is complete.
    """

    now_ns: int
    living: Mapping[str, Living]
    run_times: RunTimes
    arrivals: tuple[Arrival, ...]
    since_ns: int

    def arrivals_known(self) -> bool:
        """Whether enough came in enough time to say how applications come."""
        enough = len(self.arrivals) >= ARRIVALS_LEARNED_FROM
        return enough and self.now_ns - self.since_ns >= ARRIVALS_LEARNED_IN_NS

    def leaves_to_chance(self) -> bool:
        """Whether a run time of what runs or waits is not certain. Rules: EXT-122."""
        return not all(
            found is not None and found.certain()
            for living in self.living.values()
            for found, _ in self._run_times(living)
        )

    def unknown_run_times(self) -> tuple[int, int]:
        """Count the real allocations, running and waiting, whose run time is not known, and all."""
        unknown = count = 0
        for living in self.living.values():
            for found, allocations in self._run_times(living):
                count += allocations
                unknown += allocations if found is None else 0
        return unknown, count

    def _run_times(self, living: Living) -> Iterator[tuple[Possible | None, int]]:
        """Yield the run times of what an application has and waits for, and of how many."""
        for held in living.held:
            yield self.goes_on(living, held), 1
        for ask in living.waiting:
            own_ns = declared_ns(ask.tags)
            found = Possible((own_ns,)) if own_ns else self.runs(living)
            yield found, ask.pending_count

    def goes_on(self, living: Living, held: Held) -> Possible | None:
        """Return how long an allocation that runs will run in all; None: not known."""
        age_ns = self.now_ns - held.since_ns
        if held.declared_ns is not None and held.declared_ns > age_ns:
            return Possible((held.declared_ns,))
        return self.runs(living, age_ns)

    def runs(self, living: Living, age_ns: int = -1) -> Possible | None:
        """Return how long what declares nothing of its own runs, if longer than ``age_ns``."""
        name, queue, user = living.application_id, living.queue, living.user
        return self.run_times.after(
            name, queue, user, age_ns=age_ns, declared_ns=living.declared_ns
        )


def scene(core: Scheduler, partition: str, rm_id: str, now_ns: int, wall_ns: int) -> Scene:
    """Read a partition. ``wall_ns``: the time on the clock that views show."""
    ahead_ns = wall_ns - now_ns
    living: dict[str, Living] = {}
    arrivals: list[Arrival] = []
    for view in _applications(core.view(ApplicationRowsQuery(partition, rm_id=rm_id))):
        found = _living(core, view, ahead_ns)
        living[view.application_id] = found
        arrivals.append(_came(view, found, ahead_ns))
    ended: list[Ended] = []
    views = list(_applications(_ended(core, partition, rm_id)))
    for view in views:
        ran_ns = _ran_ns(view)
        if ran_ns is None:
            continue
        name, declared = view.application_id, declared_ns(view.tags)
        ended.append(Ended(name, view.queue, view.user, ran_ns, declared))
        peak = (Wanted(view.max_used, 1, view.max_request_priority),)
        at_ns = view.submission_time_ns - ahead_ns
        arrivals.append(Arrival(name, at_ns, view.queue, view.user, view.groups, {}, peak, ran_ns))
    arrivals.sort(key=lambda each: each.at_ns)
    since_ns = _complete_since(views, arrivals, ahead_ns)
    recent = tuple([each for each in arrivals if each.at_ns >= since_ns])
    return Scene(now_ns, living, RunTimes(ended), recent, since_ns)


def _complete_since(
    views: Sequence[ApplicationView], arrivals: Sequence[Arrival], ahead_ns: int
) -> int:
    """Return from when on every application that came is known.

    The core forgets those that ended long ago. What came after the first end that it still knows
    has not been forgotten: it lives, or it ended later.
    """
    if not arrivals:
        return 0
    if not views:
        return arrivals[0].at_ns
    if len(views) < HISTORY_LIMIT:
        return min([each.finished_time_ns for each in views]) - ahead_ns
    return min([each.submission_time_ns for each in views]) - ahead_ns


def _living(core: Scheduler, view: ApplicationView, ahead_ns: int) -> Living:
    own = declared_ns(view.tags)
    held = [
        Held(each.allocation_id, each.allocation_time_ns - ahead_ns, declared_ns(each.tags))
        for each in view.allocations
        if not each.placeholder
    ]
    waiting = tuple(waiting_asks(core.view, view))
    members = tuple(_members(view, waiting))
    return Living(view.application_id, view.queue, view.user, own, tuple(held), waiting, members)


def _members(view: ApplicationView, waiting: Sequence[RequestView]) -> Iterator[Ask]:
    """Yield the asks that take the places of placeholders, unless such asks wait already."""
    asked = {each.task_group for each in waiting if not each.placeholder}
    places: list[tuple[AllocationView | RequestView, int]] = []
    places += [(each, 1) for each in view.allocations if each.placeholder]
    places += [(each, each.pending_count) for each in waiting if each.placeholder]
    for number, (place, count) in enumerate(places):
        if place.task_group not in asked:
            yield Ask(
                view.application_id,
                f"{PREFIX}-{number}",
                place.resource,
                view.partition,
                count,
                priority=place.priority,
                tags=place.tags,
                task_group=place.task_group,
            )


def _came(view: ApplicationView, found: Living, ahead_ns: int) -> Arrival:
    """Return a live application as one that came; a gang as asks of the size of its members."""
    wanted = [Wanted(each.resource, 1, each.priority) for each in view.allocations]
    wanted += [Wanted(each.resource, each.pending_count, each.priority) for each in found.waiting]
    at_ns = view.submission_time_ns - ahead_ns
    ran_ns = None
    for each in found.waiting:
        ran_ns = declared_ns(each.tags) or ran_ns
    for held in found.held:
        ran_ns = held.declared_ns or ran_ns
    return Arrival(
        view.application_id,
        at_ns,
        view.queue,
        view.user,
        view.groups,
        view.tags,
        tuple(wanted),
        ran_ns,
        found.declared_ns,
    )


def _ran_ns(view: ApplicationView) -> int | None:
    """Return how long an ended application ran, None if it never did."""
    if not view.start_time_ns or not view.max_used:
        return None
    ended_ns = view.finished_time_ns
    for at_ns, state in view.state_log:
        if state == _COMPLETING:
            ended_ns = at_ns
    return ended_ns - view.start_time_ns if ended_ns > view.start_time_ns else None


def _ended(core: Scheduler, partition: str, rm_id: str) -> object:
    """Return the ended applications that came last."""
    index = core.view(ApplicationIndexQuery(partition, COMPLETED, rm_id=rm_id))
    assert isinstance(index, ApplicationIndex)
    keys: Sequence[tuple[tuple[object, ...], str, int]] = index.keys
    latest = tuple(sorted(keys, key=lambda key: key[2])[-HISTORY_LIMIT:])
    return core.view(ApplicationPortionQuery(partition, COMPLETED, latest, rm_id=rm_id))


def _applications(found: object) -> Iterable[ApplicationView]:
    assert isinstance(found, tuple | Rows)
    return [view for view in found if isinstance(view, ApplicationView)]
