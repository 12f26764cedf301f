"""The main loop: takes inputs from the inbox to the core, and effects from it to delivery.

A single thread, started here, touches the scheduler. It takes a bounded batch of inputs, handles
each, steps with a limit so that no burst delays other threads for long, delivers the effects, and
sleeps until an input or the core's next deadline. It never polls: an idle scheduler costs nothing.
Everything else in the process talks to it through the methods below, which any thread may call.

A fault of ours (InvariantViolation or any other exception out of the core) ends the loop, unless it
can be held against one RM and ``contain`` says what to do then: the scheduler must not go on with
state that may be wrong. The fault is reported in one line, and waiting calls fail.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from time import monotonic_ns, perf_counter_ns
from typing import Final, TypeVar

from remuda.config.process_limits import DEFAULT_LIMITS, Limits
from remuda.config.settings import RESERVATION_DELAY_NS
from remuda.core.messages.commands import RegisterResourceManager
from remuda.core.messages.effects import EventRecord, RegistrationAnswered
from remuda.core.messages.queries import Query, View
from remuda.core.ports import Predicates, PreemptionPredicates
from remuda.core.scheduler import Scheduler
from remuda.runtime.answers import Answers
from remuda.runtime.clock import SteadyClock
from remuda.runtime.configuration.documents import StoredDocuments
from remuda.runtime.configuration.errands import ConfigurationErrands
from remuda.runtime.connections import Connections
from remuda.runtime.delivery import Delivery, Session, always, no_sink, nobody
from remuda.runtime.driver import Driver, Removed, StepWatch
from remuda.runtime.dumps import DumpSources
from remuda.runtime.entries import Entry, cut, is_large, nothing, pass_error
from remuda.runtime.errand import Errand, promise
from remuda.runtime.errors import LoopStoppedError
from remuda.runtime.event_store import EventFeeds, EventStore
from remuda.runtime.faults import Faults, Reporter
from remuda.runtime.growth import Growth
from remuda.runtime.inbox import CAPACITY, Inbox, anything
from remuda.runtime.operations import Operations
from remuda.runtime.pace import MOST, Pace, Portion
from remuda.runtime.ports import Clock, EffectSink, Recorder, SchedulerFactory
from remuda.runtime.requests import Request, weight, with_those_behind
from remuda.runtime.roster import IN_PROCESS, Roster
from remuda.runtime.standstill import Standstill
from remuda.runtime.timings import Stopwatch, Timings, TimingsView
from remuda.runtime.users.choice import Resolvers
from remuda.runtime.users.intake import Intake
from remuda.runtime.users.line import LINE_CAPACITY

_log = logging.getLogger("remuda.runtime")

T = TypeVar("T")

# Bounds of one sleep: a deadline that does not go away costs little, an hour fits every platform.
_PAUSE_NS_MIN: Final = 1_000_000
_PAUSE_NS_LIMIT: Final = 3_600_000_000_000

STOPPED: Final = "the scheduler was stopped"


class SchedulerLoop:
    """A scheduler and the thread that drives it.

    Args:
        make_scheduler: builds the core around the ports of predicates; called once.
        clock: the time inputs carry, and that of the wall; the clocks of the machine by default.
        recorder: gets every input, predicate answer and effect, see journal.py.
        inbox_capacity: elements that may wait before ``submit`` blocks.
        documents: the configurations of RMs that register without one; the built-in by default.
        resolvers: who looks up the groups of users, for configurations that ask for it.
        line_capacity: elements per RM that may wait for such lookups before ``submit`` blocks.
        reservation_delay_ns: how old an ask must be to reserve a node; None: never (RSV-3).
        limits: how much each partition may keep (SI-14).
        contain: writes reports about faults of the core in work for one RM, which end the
            registration of that RM only; None: every fault ends the loop (SI-15).
        stopwatch: what measures the core, see timings.py.
        standstill: what holds timers after the process stood still; none beside a ``clock``.
        acts: whether it decides anything; not if it shows a moment of the past.

    ``configurations`` changes configurations while it runs, ``operations`` is for what else
    operators want. ``connections`` learns when one breaks or comes back, ``roster`` returns the
    states of all RMs, ``dumps`` asks them about themselves. ``intake`` holds the requests that wait
    for lookups, ``answers`` takes those of predicates that come later. ``room`` returns what
    completes when ``try_submit`` may succeed again. ``timings()`` tells how long steps, cycles and
    predicates took so far; ``watch_steps`` reports each step. ``feeds`` has the event records that
    wait for RMs, and counts them; ``tell`` hands a record to all who follow events. ``faults``:
    those that were contained. ``limit_growth``: see growth.py. ``recorder``: as given.
    ``running()``: whether the core thread lives, ``turns``: how many rounds of its loop it made.

    Implements: SI-10, RM-11. Rules: CYC-31, SI-2, SI-6, SI-7, SI-9, SI-24, SI-88, RM-2, RM-4, RM-9,
    RM-20.
    """

    def __init__(
        self,
        make_scheduler: SchedulerFactory = Scheduler,
        *,
        clock: Clock | None = None,
        recorder: Recorder | None = None,
        inbox_capacity: int = CAPACITY,
        documents: StoredDocuments | None = None,
        resolvers: Resolvers | None = None,
        line_capacity: int = LINE_CAPACITY,
        reservation_delay_ns: int | None = RESERVATION_DELAY_NS,
        limits: Limits = DEFAULT_LIMITS,
        contain: Reporter | None = None,
        stopwatch: Stopwatch = perf_counter_ns,
        standstill: Standstill | None = None,
        acts: bool = True,
    ) -> None:
        self.documents = documents or StoredDocuments()
        self.recorder: Final[Recorder | None] = recorder
        self.resolvers = resolvers or Resolvers()
        self.feeds = EventFeeds()
        self._delivery = Delivery(self.feeds)
        self.tell: Final[Callable[[EventRecord], Future[None]]] = partial(
            _tell, self._send, self._delivery
        )
        self._clock = clock or SteadyClock()
        if standstill is None and clock is None:
            standstill = Standstill()
        self._standstill = standstill
        self.roster = Roster()
        self.faults: Final[Faults | None] = contain and Faults(self._clock.wall_ns, contain)
        self._driver = Driver(
            make_scheduler,
            self._delivery,
            self._clock,
            recorder,
            documents=self.documents,
            reservation_delay_ns=reservation_delay_ns,
            limits=limits,
            timings=Timings(stopwatch),
            roster=self.roster,
            faults=self.faults,
            acts=acts,
        )
        self.timings: Final[Callable[[], TimingsView]] = self._driver.timings.view
        self.watch_steps: Final[Callable[[StepWatch], None]] = self._driver.watch_steps
        self.configurations = ConfigurationErrands(
            self._driver.configurations, self._driver.hand_out, self._send, self.resolvers
        )
        self.connections = Connections(self._driver, self._send, self.roster, self._clock)
        self.operations = Operations(self._driver, self._send)
        self.dumps = DumpSources(self.roster)
        timings = self._driver.timings
        self.answers = Answers(self._delivery, self._driver.handle, self._send, timings)
        self._inbox: Inbox[Entry] = Inbox(inbox_capacity, cut)
        self.intake = Intake(self._inbox.put_now, self.resolvers, line_capacity)
        self._driver.left = self.intake.close
        self.room: Final[Callable[[str], Future[None] | None]] = partial(
            _room, self.intake, self._inbox
        )
        self.configurations.watch(self.intake.configure)
        self.configurations.watch(self.feeds.configure)
        self._batch: deque[Entry] = deque()
        self._idle_waiters: list[Future[None]] = []
        self._progressing = False
        self._growth = Growth(self._driver.handle, lambda: self._send(Errand(nothing)))
        self.limit_growth: Final[Callable[[str], None]] = self._growth.limit
        self._pace = Pace()
        self._portion = Portion()
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="remuda-core", daemon=True)
        self.running: Final[Callable[[], bool]] = self._thread.is_alive
        self.turns = 0
        self.failure = ""
        self.ended: Future[None] = promise()

    # ------------------------------------------------------------------ any thread

    @property
    def failed(self) -> bool:
        """Whether a fault of ours ended the loop; ``failure`` says which, in one line."""
        return bool(self.failure)

    def start(self) -> None:
        """Start the core thread; once only."""
        self._thread.start()

    def stop(self) -> None:
        """End the core thread and wait for it; what is still in the inbox is dropped.

        ``ended`` completes, with LoopStoppedError if the loop had failed. Repeating is harmless.
        Implements: RM-20.
        """
        self._stopping = True
        if self._thread.ident is None:
            self._end()
            return
        self._inbox.close(STOPPED)
        if not self.on_core_thread():
            self._thread.join()

    def on_core_thread(self) -> bool:
        """Whether the caller runs on the core thread, where waiting for the core is a deadlock."""
        return threading.get_ident() == self._thread.ident

    def submit(self, request: Request, check: Callable[[], None] = anything) -> None:
        """Queue a request; waits while there is no room, except on the core thread.

        While users are looked up, this and later requests of the RM wait in a line (SI-2, SI-24).
        ``check`` is called at the last moment, and its error keeps the request out: what was sent
        to one registration must not get into the next (RM-9). It may be called on any thread, more
        than once, and must return at once.

        Raises: LoopStoppedError; what ``check`` raises.
        Implements: CYC-2, SI-6.
        """
        may_wait = not self.on_core_thread()
        ready = self.intake.admit(request, check, wait=may_wait)
        if ready is None:
            return
        if may_wait:
            self._inbox.put(ready, weight(ready), check)
        else:
            self._inbox.put_now(ready, weight(ready), check)

    def try_submit(self, request: Request, check: Callable[[], None] = anything) -> bool:
        """Queue a request if there is room now; False if not. Never waits; else as ``submit``.

        Unlike one that was submitted it may wait a moment for others, see pace.py.
        """
        if self.intake.room(request.rm_id) is not None:
            return False
        ready = self.intake.admit(request, check, wait=False)
        return ready is None or self._inbox.offer(ready, weight(ready), check)

    def registered(self, rm_id: str) -> bool:
        """Whether requests of this RM are taken at this moment (SI-1, RM-2)."""
        return self.roster.registered(rm_id)

    def register(
        self,
        command: RegisterResourceManager,
        sink: EffectSink | None = None,
        predicates: Predicates | None = None,
        *,
        preemption: PreemptionPredicates | None = None,
        stored: bool = False,
        process_wide: bool = True,
        transport: str = IN_PROCESS,
        ended: Callable[[], None] = nobody,
        events: EventStore | None = None,
        records: Callable[[], bool] = always,
    ) -> Future[RegistrationAnswered]:
        """Register an RM; afterwards ``sink`` gets its effects, in order, on the core thread.

        An earlier sink of the same RM hears nothing from the moment the registration is
        handled (RM-9). ``predicates`` is asked when ``command.predicates`` is set, ``preemption``
        when ``command.preemption_predicates`` is. ``stored``: whatever ``command.config`` says,
        the document of the policy group counts (RM-5). ``process_wide`` off: its extra map changes
        only what is its own (KV-6).
        ``transport``: how the RM is connected, see roster.py. ``ended`` is called on the core
        thread when this registration is over, whatever the cause; not if it fails. ``events``: one
        of the stores of ``feeds``, for an RM that takes event records from it (EVT-92).
        ``records``: whether ``sink`` gets those, too; asked on the core thread, again and again.
        """
        session = Session(
            sink or no_sink,
            predicates if command.predicates else None,
            ended,
            preemption if command.preemption_predicates else None,
            events,
            records,
        )
        work = partial(
            self._driver.register,
            command,
            session,
            stored=stored,
            process_wide=process_wide,
            transport=transport,
        )
        errand = Errand(work, command.rm_id, touches_core=True, large=True)
        self.roster.announce(command.rm_id, transport, self._clock.wall_ns())
        self.intake.close(command.rm_id)
        return self._send(errand)

    def unregister(self, rm_id: str) -> Future[Removed]:
        """Remove an RM and all it owns; fails with ProtocolError if it is unknown (RM-19)."""
        self.intake.close(rm_id)
        work = partial(self._driver.unregister, rm_id)
        return self._send(Errand(work, rm_id, touches_core=True, large=True))

    def query(self, query: Query) -> Future[View]:
        """Answer a read-only question on the core thread, in its turn among the inputs."""
        return self._send(Errand(partial(self._driver.view, query), large=is_large(query)))

    def check(self) -> Future[None]:
        """Let the core recompute all it counts; fails with InvariantViolation (slow)."""
        return self._send(Errand(self._driver.check))

    def barrier(self, rm_id: str = "") -> Future[None]:
        """Completes when all earlier inputs were handled and their effects handed out.

        Those that wait in the line of an RM count if it is named.
        """
        errand: Errand[None] = Errand(nothing, rm_id)
        self.intake.passed(rm_id).add_done_callback(lambda _: self._send(errand))
        return errand.future

    def idle(self) -> Future[None]:
        """Completes when no input waits, nothing can be placed and all was handed out."""
        waiter: Future[None] = promise()
        errand = Errand(partial(self._idle_waiters.append, waiter))
        errand.future.add_done_callback(partial(pass_error, waiter))
        self._send(errand)
        return waiter

    def subscribe(self, observer: EffectSink, *, records: bool = True) -> Callable[[], None]:
        """Show every batch of effects, of all RMs, to ``observer``; calling the result ends that.

        ``observer`` is called on the core thread and must return quickly. ``records``: whether it
        is shown the event records among them.
        """
        return self._delivery.observe(observer, records=records)

    def _send(self, errand: Errand[T]) -> Future[T]:
        try:
            self._inbox.put_now(errand)
        except LoopStoppedError as error:
            errand.give_up(error)
        return errand.future

    # ------------------------------------------------------------------ core thread

    def _run(self) -> None:
        try:
            while not self._stopping:
                self._turn()
        except BaseException as error:  # noqa: BLE001 - whatever it is, nobody may wait for ever
            self._fail(error)
        self._end()

    def _turn(self) -> None:
        """One batch of inputs, one step, one delivery."""
        self.turns += 1
        pause = self._pause()
        rest_ns = self._pace.rest_ns(monotonic_ns())
        if pause != 0 and rest_ns > 0:
            self._inbox.rest(rest_ns / 1e9, MOST)
        self._batch = self._inbox.take(self._portion.elements, pause)
        came = len(self._batch)
        self._growth.settle()
        still = self._standstill
        if still is not None:
            still.waited(came=came > 0)
        began_ns = monotonic_ns() if came else 0
        if came:
            self._pace.begin(came, began_ns)
        while self._batch:
            entry = self._batch.popleft()
            if isinstance(entry, Errand):
                self._driver.hand_out()
                entry.carry_out()
            else:
                begun = self._driver.begun(entry.rm_id)
                self._driver.handle(with_those_behind(entry, self._batch, begun=begun))
        self._driver.hand_out()
        if came:
            self._portion.note(self._inbox.taken, monotonic_ns() - began_ns)
        if still is not None:
            still.look()
        self._progressing = self._driver.advance(timers=still is None or not still.holding)
        if came:
            self._pace.end(monotonic_ns())

    def _pause(self) -> float | None:
        """Seconds the inbox may be waited for; None: until something arrives."""
        still = self._standstill
        if self._progressing:
            return 0 if still is None else still.plan(0)
        # In this order: what leaves a line is in the inbox before it is out of the line.
        if self._idle_waiters and self.intake.empty() and self._inbox.empty():
            waiters, self._idle_waiters[:] = list(self._idle_waiters), []
            for waiter in waiters:
                waiter.set_result(None)
        rest_ns = self._driver.rest_ns()
        if still is not None:
            rest_ns = still.plan(None if rest_ns is None else max(rest_ns, _PAUSE_NS_MIN))
        if rest_ns is None:
            return None
        return min(max(rest_ns, _PAUSE_NS_MIN), _PAUSE_NS_LIMIT) / 1e9

    def _fail(self, error: BaseException) -> None:
        first_line = str(error).partition("\n")[0]
        self.failure = f"{type(error).__name__}: {first_line}"
        _log.critical("the scheduler stopped itself after a fault of its own: %s", self.failure)
        _log.debug("traceback of the fault", exc_info=error)

    def _end(self) -> None:
        """Fail all waiting futures, because the loop has ended."""
        error = LoopStoppedError(
            f"the scheduler failed: {self.failure}" if self.failure else STOPPED
        )
        self._inbox.close(str(error))
        self.intake.stop()
        for entry in (*self._batch, *self._inbox.leftovers()):
            if isinstance(entry, Errand):
                entry.give_up(error)
        for waiter in self._idle_waiters:
            waiter.set_exception(error)
        self._driver.close()
        self.configurations.close()
        if not self.ended.done():
            if self.failure:
                self.ended.set_exception(error)
            else:
                self.ended.set_result(None)


def _room(intake: Intake, inbox: Inbox[Entry], rm_id: str) -> Future[None] | None:
    """Return what completes when ``try_submit`` may succeed again; None if it may now."""
    return intake.room(rm_id) or inbox.room(rm_id)


def _tell(
    send: Callable[[Errand[None]], Future[None]], delivery: Delivery, record: EventRecord
) -> Future[None]:
    """Hand a record to its RM and all observers, after the effects that came before it."""
    return send(Errand(partial(delivery.deliver, (record,))))
