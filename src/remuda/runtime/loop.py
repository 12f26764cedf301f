"""The one loop of the product: inputs from the inbox to the core, effects from it to delivery.

A single thread, started here, touches the scheduler. It takes a bounded batch of inputs,
handles each, steps with a limit so that no burst holds other threads up for long, hands the
effects out, and sleeps until an input or the core's next deadline. It never polls: an idle
scheduler costs nothing. Everything else in the process talks to it through the methods below,
which any thread may call.

A fault of ours (InvariantViolation or any other exception out of the core) ends the loop: state
that may be wrong must not schedule. It is reported in one line, and whoever waits is told.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import TypeAlias

from remuda.base.message import message
from remuda.core.messages.commands import (
    Command,
    RegisterResourceManager,
    UnregisterResourceManager,
    UpdateAllocations,
    UpdateApplications,
    UpdateNodes,
)
from remuda.core.messages.effects import Effect, RegistrationAnswered
from remuda.core.messages.queries import PartitionsQuery, PartitionView, Query, View
from remuda.core.ports import Predicates
from remuda.core.scheduler import Scheduler
from remuda.runtime.clock import WallClock
from remuda.runtime.delivery import Delivery, Session
from remuda.runtime.errors import LoopStopped
from remuda.runtime.inbox import CAPACITY, Inbox
from remuda.runtime.ports import Clock, EffectSink, Recorder, SchedulerFactory

_log = logging.getLogger("remuda.runtime")

Request: TypeAlias = UpdateApplications | UpdateAllocations | UpdateNodes

# Allocations per step: about 10 ms interpreted, 2 ms compiled, the longest the core thread
# keeps the interpreter and the longest an observer waits (performance study, section 5.6).
BURST = 256

# Elements handled before the next step.
BATCH = 1_024

# A step that found nothing although the core has work is repeated after this long (SI-10).
RETRY_NS = 100_000_000


@message
class Removed:
    """What an RM owned when it left (RM-19)."""

    partitions: int
    applications: int
    nodes: int


class _Errand:
    """Work for the core thread whose result somebody waits for."""

    __slots__ = ("future", "work")

    def __init__(self, work: Callable[[], None], future: Future[object]) -> None:
        self.work = work
        self.future = future


def weight(request: Request) -> int:
    """How many elements a request carries, plus one for itself."""
    if isinstance(request, UpdateAllocations):
        return (
            1
            + len(request.asks)
            + len(request.allocations)
            + len(request.releases)
            + len(request.ask_releases)
        )
    if isinstance(request, UpdateApplications):
        return 1 + len(request.new) + len(request.remove)
    return 1 + sum(1 + len(node.existing) for node in request.nodes)


class SchedulerLoop:
    """A scheduler and the thread that drives it.

    Args:
        make_scheduler: builds the core around a predicate port; called once.
        clock: the time inputs carry; the wall clock by default.
        recorder: gets every input, predicate answer and effect, see journal.py.
        inbox_capacity: elements that may wait before ``submit`` blocks.
        burst: allocations per step; 1 whenever an RM answers predicates (SI-9).

    Rules: SI-2, SI-6, SI-7, SI-9, SI-10, RM-2, RM-9, RM-11, RM-20.
    """

    def __init__(
        self,
        make_scheduler: SchedulerFactory = Scheduler,
        *,
        clock: Clock | None = None,
        recorder: Recorder | None = None,
        inbox_capacity: int = CAPACITY,
        burst: int = BURST,
    ) -> None:
        self._clock = clock or WallClock()
        self._recorder = recorder
        self._burst = burst
        self._delivery = Delivery()
        port: Predicates = self._delivery.fits
        if recorder is not None:
            port = recorder.listen(port)
        self._scheduler = make_scheduler(port)
        self._inbox: Inbox[Request | _Errand] = Inbox(inbox_capacity)
        self._idle_waiters: list[Future[None]] = []
        self._thread = threading.Thread(target=self._run, name="remuda-core", daemon=True)
        self._stopping = False
        self.failure = ""
        self.ended: Future[None] = Future()

    # ------------------------------------------------------------------ any thread

    @property
    def failed(self) -> bool:
        """Whether a fault of ours ended the loop; ``failure`` says which, in one line."""
        return bool(self.failure)

    def start(self) -> None:
        """Start the core thread; once only."""
        self._thread.start()

    def stop(self) -> None:
        """End the core thread and wait for it; what is still in the inbox is dropped (RM-20).

        ``ended`` completes, with an exception if the loop had failed. Calling again is harmless.
        """
        self._stopping = True
        if not self._thread.ident:
            self._end("the scheduler was stopped")
            return
        self._inbox.put_now(_Errand(lambda: None, Future()))
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def submit(self, request: Request) -> None:
        """Queue a request; waits while the inbox is full, except on the core thread (SI-6).

        Raises: LoopStopped.
        """

    def try_submit(self, request: Request) -> bool:
        """Queue a request if there is room now; False if not. Never waits.

        Raises: LoopStopped.
        """
        raise NotImplementedError

    def registered(self, rm_id: str) -> bool:
        """Whether requests of this RM are taken at this moment (SI-1, RM-2)."""
        return self._delivery.registered(rm_id)

    def register(
        self,
        command: RegisterResourceManager,
        sink: EffectSink | None = None,
        predicates: Predicates | None = None,
    ) -> Future[RegistrationAnswered]:
        """Register an RM; afterwards ``sink`` gets its effects, in order, on the core thread.

        An earlier sink of the same RM hears nothing from the moment the registration is
        handled (RM-9). ``predicates`` is asked when ``command.predicates`` is set.
        """
        raise NotImplementedError

    def unregister(self, rm_id: str) -> Future[Removed]:
        """Remove an RM and all it owns; fails with KeyError if it is not registered (RM-19)."""
        raise NotImplementedError

    def query(self, query: Query) -> Future[View]:
        """Answer a read-only question on the core thread, between two batches."""
        raise NotImplementedError

    def barrier(self) -> Future[None]:
        """Completes when all earlier inputs were handled and their effects handed out."""
        raise NotImplementedError

    def idle(self) -> Future[None]:
        """Completes when the inbox is empty, nothing can be placed and all was handed out."""
        raise NotImplementedError

    def subscribe(self, observer: EffectSink) -> Callable[[], None]:
        """Show every batch of effects, of all RMs, to ``observer``; the result ends that.

        Called on the core thread; it must return quickly.
        """
        return self._delivery.observe(observer)
