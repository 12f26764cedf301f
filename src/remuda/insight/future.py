"""One possible future of a scheduler, played on a core that is used up.

What runs ends after run times that chance chooses among those that are possible, what waits runs
when it is placed, and applications may come as they came before.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterator
from heapq import heappop, heappush
from random import Random
from typing import Final, final

from remuda.base.duration import SECOND
from remuda.core.messages.commands import (
    AllocationRelease,
    ApplicationRemoval,
    Ask,
    NewApplication,
    UpdateAllocations,
    UpdateApplications,
)
from remuda.core.messages.effects import AllocationNew
from remuda.core.scheduler import Scheduler
from remuda.insight.forecast_scene import PREFIX, Arrival, Held, Living, Scene
from remuda.insight.run_times import declared_ns
from remuda.insight.throwaway import Throwaway

# How long a piece of the past is that comes again, so that days stay days.
_PIECE_NS: Final = 86_400 * SECOND


@final
class Future:
    """A future, from a moment on. ``began``: applications that start in it, and when.

    Args:
        core: a core that nobody else uses.
        scene: what was known of the partition at that moment.
        seed: chooses all that chance chooses; equal seeds give equal futures.
        arrivals: whether more applications come.

    Implements: EXT-121.
    """

    def __init__(
        self,
        core: Scheduler,
        scene: Scene,
        *,
        partition: str,
        rm_id: str,
        seed: int,
        arrivals: bool,
    ) -> None:
        self._trial = Throwaway(core, scene.now_ns)
        self._now_ns = scene.now_ns
        self._scene = scene
        self._partition = partition
        self._rm_id = rm_id
        self._chance = Random(seed)  # noqa: S311 - nothing secret depends on it
        self.began: dict[str, int] = {}
        # (end, number, application, allocation): what ends next, oldest first.
        self._ends: list[tuple[int, int, str, str]] = []
        self._number = 0
        # Real allocations that run, and asks that wait, of each application that ends some time.
        self._open: dict[str, int] = {}
        # Members of each gang that have no place yet.
        self._missing: dict[str, int] = {}
        self._ran_ns: dict[str, int | None] = {}
        self._place()
        comes = arrivals and scene.arrivals_known()
        self._coming = self._arrivals() if comes else iter(())
        self._next = next(self._coming, None)

    def play(self, wanted: Collection[str], until_ns: int, instants: int) -> int:
        """Let time pass until each application that is wanted began, or until a time.

        Returns the time up to which all that happens is known. It is earlier if something ends,
        comes or is due at more than so many ``instants`` before.
        """
        left = len(wanted)
        for _ in range(instants):
            left -= self._settle(wanted)
            due_ns = self._due()
            if left <= 0 or due_ns is None or due_ns > until_ns:
                return until_ns
            self._trial.now_ns = max(self._trial.now_ns, due_ns)
            self._end()
            self._arrive()
        return self._trial.now_ns - 1

    # ------------------------------------------------------------------------- what runs

    def _place(self) -> None:
        """Choose when what runs now ends."""
        for living in self._scene.living.values():
            name = living.application_id
            real = [each.pending_count for each in living.waiting if not each.placeholder]
            members = [each.max_allocations for each in living.members]
            self._open[name] = len(living.held) + sum(real) + sum(members)
            self._missing[name] = living.gang_pending()
            if not self._missing[name]:
                self._members(living)
            self._ran_ns[name] = self._runs(living)
            for held in living.held:
                self._ends_after(
                    name, held.allocation_id, held.since_ns, self._goes_on(living, held)
                )

    def _runs(self, living: Living) -> int | None:
        """Choose a run time; of an application that runs, one that it has not reached yet."""
        began_ns = min([held.since_ns for held in living.held], default=self._now_ns + 1)
        found = self._scene.runs(living, self._now_ns - began_ns) or self._scene.runs(living)
        return found.drawn(self._chance) if found else None

    def _goes_on(self, living: Living, held: Held) -> int | None:
        """Return how long an allocation runs in all: longer than it has run; None: not known."""
        ran_ns = self._ran_ns[living.application_id] or 0
        if not held.declared_ns and ran_ns > self._now_ns - held.since_ns:
            return ran_ns
        found = self._scene.goes_on(living, held)
        return found.drawn(self._chance) if found else None

    def _ends_after(
        self, application_id: str, allocation_id: str, since_ns: int, ran_ns: int | None
    ) -> None:
        """Note when an allocation ends; None: never."""
        if ran_ns is not None:
            self._number += 1
            end_ns = max(since_ns + ran_ns, self._now_ns + 1)
            heappush(self._ends, (end_ns, self._number, application_id, allocation_id))

    def _end(self) -> None:
        """End what is due, and applications of which nothing is left."""
        releases: list[AllocationRelease] = []
        removals: list[ApplicationRemoval] = []
        while self._ends and self._ends[0][0] <= self._trial.now_ns:
            _, _, name, allocation_id = heappop(self._ends)
            releases.append(AllocationRelease(name, allocation_id, partition=self._partition))
            self._open[name] -= 1
            if not self._open[name]:
                removals.append(ApplicationRemoval(name, self._partition))
        if releases:
            self._trial.send(UpdateAllocations(self._rm_id, releases=tuple(releases)))
        if removals:
            self._trial.send(UpdateApplications(self._rm_id, remove=tuple(removals)))

    # ---------------------------------------------------------------------- what is placed

    def _settle(self, wanted: Collection[str]) -> int:
        """Decide all there is at this instant; return how many that are wanted began."""
        self._trial.settle()
        began = self._heard(wanted)
        while self._trial.scheduler.has_work():  # members of a gang were asked for
            self._trial.settle()
            began += self._heard(wanted)
        return began

    def _heard(self, wanted: Collection[str]) -> int:
        """Take note of what was placed; return how many applications that are wanted began."""
        effects, self._trial.effects = self._trial.effects, []
        began = 0
        for at_ns, effect in effects:
            if not isinstance(effect, AllocationNew) or effect.rm_id != self._rm_id:
                continue
            name = effect.ask.application_id
            if effect.ask.placeholder:
                self._missing[name] = self._missing.get(name, 0) - 1
                if not self._missing[name]:
                    self._members(self._scene.living.get(name))
            else:
                ran_ns = declared_ns(effect.ask.tags) or self._ran_ns.get(name)
                self._ends_after(name, effect.allocation_id, at_ns, ran_ns)
            if name not in self.began and self._missing.get(name, 0) <= 0:
                self.began[name] = at_ns
                began += name in wanted
        return began

    def _members(self, gang: Living | None) -> None:
        """Ask for the members of a gang that has all its places."""
        if gang is not None and gang.members:
            self._trial.send(UpdateAllocations(self._rm_id, asks=gang.members))

    # ------------------------------------------------------------------------- what comes

    def _due(self) -> int | None:
        """Return when something happens next."""
        times = [self._ends[0][0]] if self._ends else []
        if self._next is not None:
            times.append(self._next[0])
        deadline_ns = self._trial.scheduler.next_deadline()
        if deadline_ns is not None:
            times.append(deadline_ns)
        return min(times, default=None)

    def _arrivals(self) -> Iterator[tuple[int, Arrival]]:
        """Yield what comes and when: pieces of the past that chance chooses, one after another."""
        known = self._scene.arrivals
        since_ns = self._scene.since_ns
        length_ns = min(_PIECE_NS, (self._now_ns - since_ns) // 2)
        times = [each.at_ns for each in known]
        begin_ns = self._now_ns
        while True:
            from_ns = since_ns + self._chance.randrange(self._now_ns - since_ns - length_ns + 1)
            for place in range(bisect_left(times, from_ns), len(times)):
                if times[place] >= from_ns + length_ns:
                    break
                yield begin_ns + times[place] - from_ns, known[place]
            begin_ns += length_ns

    def _arrive(self) -> None:
        """Submit what comes now."""
        while self._next is not None and self._next[0] <= self._trial.now_ns:
            self._submit(self._next[1])
            self._next = next(self._coming, None)

    def _submit(self, arrival: Arrival) -> None:
        self._number += 1
        name = f"{PREFIX}-{self._number}"
        new = NewApplication(
            name, arrival.queue, self._partition, arrival.user, arrival.groups, arrival.tags
        )
        asks = [
            Ask(
                name,
                f"{number}",
                each.resource,
                self._partition,
                max_allocations=each.count,
                priority=each.priority,
            )
            for number, each in enumerate(arrival.wanted)
        ]
        self._open[name] = sum(each.count for each in arrival.wanted)
        ran_ns = arrival.ran_ns
        if ran_ns is None:
            found = self._scene.run_times.after(
                arrival.application_id,
                arrival.queue,
                arrival.user,
                declared_ns=arrival.declared_ns,
            )
            ran_ns = found.drawn(self._chance) if found else None
        self._ran_ns[name] = ran_ns
        self._trial.send(UpdateApplications(self._rm_id, (new,)))
        self._trial.send(UpdateAllocations(self._rm_id, asks=tuple(asks)))
