"""The steps of the core thread with its scheduler, one at a time, without any waiting.

The loop has the threads, sleeping and stopping. This module has the order of handling, recording
and handing out. Only the core thread calls this.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, TypeAlias

from remuda.base.message import message
from remuda.config.process_limits import DEFAULT_LIMITS, Limits
from remuda.config.settings import RESERVATION_DELAY_NS
from remuda.core.messages.commands import (
    ChangeObjectState,
    Command,
    PauseResourceManager,
    RegisterResourceManager,
    ResumeResourceManager,
    UnregisterResourceManager,
)
from remuda.core.messages.effects import (
    Effect,
    ObjectStateAnswered,
    RegistrationAnswered,
    ResourceManagerFailed,
    ResourceManagerStopped,
)
from remuda.core.messages.queries import (
    PartitionsQuery,
    PartitionView,
    Query,
    View,
)
from remuda.core.messages.rows import ApplicationRowsQuery, Rows, rows
from remuda.core.scheduler import Scheduler
from remuda.runtime.build import core_build
from remuda.runtime.clock import CoreTime
from remuda.runtime.configuration.configurations import Configurations
from remuda.runtime.configuration.documents import StoredDocuments
from remuda.runtime.configuration.needs import unmet
from remuda.runtime.delivery import Delivery, Session
from remuda.runtime.errors import FaultError, NotRegisteredError
from remuda.runtime.faults import Faults
from remuda.runtime.guarded import GuardedScheduler
from remuda.runtime.ports import (
    Clock,
    Containing,
    Door,
    EffectSink,
    Recorder,
    SchedulerFactory,
    Watchable,
)
from remuda.runtime.requests import Moments, Request
from remuda.runtime.roster import IN_PROCESS, Roster
from remuda.runtime.timings import Timings

_log = logging.getLogger("remuda.runtime")

# A burst ends after this many decisions or this time, because inputs, queries and the receivers of
# allocations wait for its end. In the compiled build other threads wait too, because the core keeps
# the interpreter. In plain Python they do not, so bursts are longer, as each one costs a response
# for every RM. The clock is read between slices of this many decisions; effects do not depend on
# the slices (CYC-1).
BURST: Final = 256
BURST_NS: Final = 2_000_000 if core_build() == "compiled" else 6_000_000
SLICE: Final = 32


@message
class Removed:
    """The objects of an RM when it left; only live applications are counted (RM-19)."""

    partitions: int
    applications: int
    nodes: int


# Called with the duration and the effects of a step, on the core thread; must return at once.
StepWatch: TypeAlias = Callable[[int, Sequence[Effect]], None]


@message
class AskedAt:
    """The moment of a state: when a question is answered, and on what.

    ``version``: how many inputs the core has got; the state is the same while it is.
    ``now_ns``: the time of the core; ``wall_ns``: that of the wall clock, which views show.
    """

    version: int
    now_ns: int
    wall_ns: int


# Answers a question on a copy of the core, which it may change.
Question: TypeAlias = Callable[[Scheduler, AskedAt], bytes]


def nobody_left(rm_id: str) -> None:
    """Ignore that an RM left."""


class Driver:
    """A scheduler, its clock and its recorder, and the effects not handed out yet.

    ``on_copy`` returns what answers a question in a copy of the process. ``left`` is called for
    each RM that the core dropped by itself (RM-18, SI-15). ``faults``: what is done about faults
    of the core; None: they are raised. ``acts`` False: the core never steps (EXT-101).
    """

    def __init__(
        self,
        make_scheduler: SchedulerFactory,
        delivery: Delivery,
        clock: Clock,
        recorder: Recorder | None,
        *,
        documents: StoredDocuments,
        reservation_delay_ns: int | None = RESERVATION_DELAY_NS,
        limits: Limits = DEFAULT_LIMITS,
        timings: Timings | None = None,
        roster: Roster | None = None,
        faults: Faults | None = None,
        acts: bool = True,
    ) -> None:
        self._acts = acts
        self.timings = timings or Timings()
        predicates = self.timings.listen(delivery.predicates)
        victims = self.timings.listen_about_victims(delivery.preemption)
        if recorder is not None:
            recorder.begin(reservation_delay_ns, limits)
            predicates = recorder.listen(predicates)
            victims = recorder.listen_about_victims(victims)
        scheduler = make_scheduler(
            predicates,
            preemption=victims,
            reservation_delay_ns=reservation_delay_ns,
            limits=limits,
        )
        if recorder is not None:
            recorder.write_states_of(scheduler)
        if isinstance(scheduler, Watchable):
            scheduler.watch_attempts(self.timings.attempt)
        if faults is not None and isinstance(scheduler, Containing):
            scheduler.contain_faults(partial(faults.note, scheduler))
        self._faults = faults
        self._scheduler = GuardedScheduler(scheduler, recorder, faults)
        self._delivery = delivery
        self._wall_ns = clock.wall_ns
        self._time = CoreTime(clock, self.handle)
        self._recorder = recorder
        self._outgoing: list[Effect] = []
        self._roster = roster or Roster()
        self.left: Callable[[str], None] = nobody_left
        self._watch_step: StepWatch | None = None
        self._away: dict[str, None] = {}
        self._moments = Moments()
        self.begun: Final[Callable[[str], bool]] = self._moments.begun
        self.configurations = Configurations(self.handle, documents)
        self.on_copy: Final[Callable[[Question], Callable[[], bytes]]] = partial(
            _on_copy, scheduler, self._scheduler, self._time, self._wall_ns
        )

    def watch_steps(self, watch: StepWatch) -> None:
        """Call ``watch`` after each step with its duration in ns and its effects.

        It is called on the core thread and must return at once.
        """
        self._watch_step = watch

    def handle(self, command: Command, now_ns: int | None = None) -> Sequence[Effect]:
        """Apply one command and keep its effects for the next ``hand_out``.

        ``now_ns`` None: now.
        """
        if now_ns is None:
            now_ns = self._time.now_ns()
        if isinstance(command, Request):
            now_ns = self._moments.of(command, now_ns)
        return self._note(self._scheduler.handle(command, now_ns))

    def hand_out(self) -> None:
        """Deliver the effects gathered so far, then the questions asked meanwhile. Rules: EXT-4."""
        if self._outgoing:
            outgoing, self._outgoing = self._outgoing, []
            self._delivery.deliver(outgoing)
        self._delivery.flush()

    def advance(self, *, timers: bool = True) -> bool:
        """Make a step if there is work; return whether there is more.

        With predicates that are answered at once one decision at a time, so that the RM knows of
        each allocation before it is asked about the next (SI-9). Every step ends or blocks
        something, so this comes to rest; a backlog that cannot be placed is no reason (SI-10).
        ``timers`` False: those that are due are held (CYC-34).
        """
        if not self._acts:
            return False
        now_ns = self._time.now_ns()
        if not self._scheduler.has_work():
            if not timers:
                return False
            deadline_ns = self._scheduler.next_deadline()
            if deadline_ns is None or deadline_ns > now_ns:
                return False
        limit, slices = (1, 1) if self._delivery.asks_predicates else (SLICE, BURST // SLICE)
        began = self.timings.read()
        took_ns = 0
        effects: list[Effect] = []
        for _ in range(slices):
            effects += self._scheduler.step(now_ns, limit, timers=timers)
            took_ns = self.timings.read() - began
            if took_ns >= BURST_NS or not self._scheduler.has_work():
                break
        if self._watch_step is not None:
            self._watch_step(took_ns, effects)
        self._note(effects)
        self.hand_out()
        more = self._scheduler.has_work()
        self.timings.step(took_ns, effects, rests=not more)
        return more

    def rest_ns(self) -> int | None:
        """Return how long the core has no work unless an input arrives; None: for ever."""
        deadline_ns = self._scheduler.next_deadline() if self._acts else None
        return None if deadline_ns is None else max(0, deadline_ns - self._time.now_ns())

    def view(self, query: Query) -> View:
        """Answer a read-only question, with times by the present wall clock."""
        self._time.now_ns()
        return self._scheduler.view(query)

    def views(self, queries: Sequence[Query]) -> tuple[View, ...]:
        """Answer several questions about this moment."""
        self._time.now_ns()
        return tuple([self._scheduler.view(query) for query in queries])

    def change_object_state(self, command: ChangeObjectState) -> ObjectStateAnswered:
        """Start or stop a queue, a partition or a node. Rules: OBJ-4, OBJ-8, EXT-25, EXT-176."""
        if self._delivery.session(command.rm_id) is None:
            raise NotRegisteredError(command.rm_id)
        effects = self.handle(command)
        self.hand_out()
        for effect in effects:
            if isinstance(effect, ObjectStateAnswered):
                return effect
        raise FaultError(command.rm_id)

    def check(self) -> None:
        """Recompute all counters of the core; raises InvariantViolation."""
        self._scheduler.check()

    def register(
        self,
        command: RegisterResourceManager,
        session: Session,
        *,
        stored: bool = False,
        process_wide: bool = True,
        transport: str = IN_PROCESS,
    ) -> RegistrationAnswered:
        """Register an RM: its session is replaced by a new one, or on failure by none.

        ``stored``: its configuration is the present document of its policy group. ``process_wide``
        off: its extra map changes only what is its own (KV-6).

        Implements: RM-13, RM-6. Rules: RM-5, RM-9.
        """
        self._close(command.rm_id)
        if stored:
            command = self.configurations.complete(command)
        if not process_wide:
            command = self.configurations.limited(command)
        answer = self._answer(command)
        if not answer.reason:
            self._delivery.open(command.rm_id, session)
            now_ns = self._wall_ns()
            self.configurations.enter(command, now_ns, stored=stored)
            self._roster.run(command, transport, now_ns)
        else:
            self._roster.stop(command.rm_id, answer.reason, self._wall_ns())
        self._roster.settle(command.rm_id)
        self.hand_out()
        return answer

    def _answer(self, command: RegisterResourceManager) -> RegistrationAnswered:
        """Return the answer to a registration; one that fails in the core is refused.

        Rules: EXT-191.
        """
        refusal = "" if self._faults is None else self._faults.refusal(command.rm_id)
        lacking = unmet(command.build_info, command.config)
        if refusal or lacking:
            self.handle(UnregisterResourceManager(command.rm_id))
            rule = "SI-15" if refusal else "EXT-191"
            return RegistrationAnswered(command.rm_id, refusal or lacking, rule)
        for effect in self.handle(command):
            if isinstance(effect, RegistrationAnswered):
                return effect
        return RegistrationAnswered(command.rm_id, str(FaultError(command.rm_id)), "SI-15")

    def unregister(self, rm_id: str) -> Removed:
        """Remove an RM and count what it owned. Implements: RM-19. Rules: RM-17."""
        if self._delivery.session(rm_id) is None:
            raise NotRegisteredError(rm_id)
        views = rows(PartitionView, self._scheduler.view(PartitionsQuery()))
        own = [view for view in views if view.rm_id == rm_id]
        removed = Removed(
            partitions=len(own),
            applications=sum(_live_applications(self._scheduler, view) for view in own),
            nodes=sum(view.total_nodes for view in own),
        )
        self._close(rm_id)
        self.handle(UnregisterResourceManager(rm_id))
        self._roster.stop(rm_id, "unregistered", self._wall_ns())
        self.hand_out()
        return removed

    def connection_lost(self, rm_id: str, cause: str, sink: EffectSink | None) -> bool:
        """Pause an RM until its connection is back; False if it is not registered.

        ``sink``: identifies the registration of the connection, None: the present one.
        Implements: RM-14. Rules: RM-15, RM-18.
        """
        if not self._has(rm_id, sink):
            return False
        if self._roster.pause(rm_id, cause, self._wall_ns()):
            self._away[rm_id] = None
            self.handle(PauseResourceManager(rm_id))
        self.hand_out()
        return self._has(rm_id, sink)

    def connection_back(self, rm_id: str, sink: EffectSink | None) -> bool:
        """Resume an RM; False if it is no longer registered. Rules: RM-15."""
        if not self._has(rm_id, sink):
            return False
        if self._roster.resume(rm_id, self._wall_ns()):
            del self._away[rm_id]
            self.handle(ResumeResourceManager(rm_id))
        return self._has(rm_id, sink)

    def hold(self, rm_id: str, sink: EffectSink | None, *, on: bool) -> bool:
        """Stop or go on deciding for an RM; False if it is not registered. Rules: EXT-6."""
        if not self._has(rm_id, sink):
            return False
        kind = PauseResourceManager if on else ResumeResourceManager
        self.handle(kind(rm_id, timers=False))
        return self._has(rm_id, sink)

    def _has(self, rm_id: str, sink: EffectSink | None) -> bool:
        """Whether an RM is registered with this sink."""
        session = self._delivery.session(rm_id)
        return session is not None and (sink is None or session.sink is sink)

    def _close(self, rm_id: str) -> None:
        """End everything of an RM outside the core."""
        self._away.pop(rm_id, None)
        self._moments.forget(rm_id)
        self._delivery.close(rm_id)
        self.timings.forget(rm_id)
        self.configurations.leave(rm_id)

    def _give_up(self, effects: Sequence[Effect]) -> None:
        """End the RMs that the core dropped: because they stayed away, or after a fault.

        Rules: RM-17, RM-18, SI-15.
        """
        for effect in effects:
            if isinstance(effect, ResourceManagerStopped):
                self._close(effect.rm_id)
                cause = "stayed away longer than rm.pauseTimeout"
                self._roster.stop(effect.rm_id, cause, self._wall_ns())
                _log.warning("resource manager %r is stopped: %s", effect.rm_id, cause)
            elif isinstance(effect, ResourceManagerFailed) and self._faults is not None:
                self._faults.failed.pop(effect.rm_id, None)
                cause = f"the scheduler failed in work for it: {effect.fault}"
                # First: what notes the end of a registration looks up why it ended.
                self._roster.stop(effect.rm_id, cause, self._wall_ns())
                self._close(effect.rm_id)
            else:
                continue
            self.left(effect.rm_id)

    def close(self) -> None:
        """Finish the recording."""
        if self._recorder is not None:
            self._recorder.close()

    def _note(self, effects: Sequence[Effect]) -> Sequence[Effect]:
        """Keep effects for the next ``hand_out``."""
        if self._away or (self._faults is not None and self._faults.failed):
            self._give_up(effects)
        self._outgoing.extend(effects)
        return effects


def _live_applications(scheduler: GuardedScheduler, partition: PartitionView) -> int:
    found = scheduler.view(ApplicationRowsQuery(partition.name, rm_id=partition.rm_id))
    return len(found) if isinstance(found, Rows) else 0


def _on_copy(
    core: Door,
    scheduler: GuardedScheduler,
    time: CoreTime,
    wall_ns: Callable[[], int],
    question: Question,
) -> Callable[[], bytes]:
    """Return what answers a question about this moment in a copy of the process.

    The recording and the receivers of effects have no part in it.
    """
    assert isinstance(core, Scheduler)
    now_ns = time.now_ns()
    return partial(question, core, AskedAt(scheduler.inputs, now_ns, wall_ns()))
