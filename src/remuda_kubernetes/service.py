"""The running shim: carries inputs into the state machine and its effects to the two servers.

Everything runs on one event loop, so the state machine has one writer. Before ``begin`` it follows:
it takes in changes of objects and writes nothing.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Final

import msgspec

from remuda.base.errors import RemudaError
from remuda.si.pb import si_pb2 as si
from remuda.si.predicates import NodesPredicatesItem, NodesPredicatesItemResult
from remuda.si.wire import Response
from remuda_kubernetes.figures import Figures
from remuda_kubernetes.link.session import SchedulerLink
from remuda_kubernetes.objects.changes import Change
from remuda_kubernetes.objects.outcomes import Outcome
from remuda_kubernetes.objects.pods import PodCondition
from remuda_kubernetes.ports import Doing, Posting
from remuda_kubernetes.shim.effects import (
    AnnotatePod,
    BindPod,
    BindVolume,
    Call,
    CreatePod,
    DeletePod,
    Effect,
    EvictPod,
    FailPod,
    PostEvent,
    ReadObject,
    Reconfigure,
    Register,
    SelectNode,
    SetCondition,
    ToScheduler,
)
from remuda_kubernetes.shim.shim import Shim
from remuda_kubernetes.translation.settings import Settings

_log = logging.getLogger("remuda.kubernetes")

# So many events are kept for the time when this replica leads; the oldest are left out.
_HELD: Final = 1_000


class ShimStoppedError(RemudaError):
    """The state machine raised something, so what it knows may be wrong."""


class Service:
    """Connects the state machine with the API server and the scheduler.

    A fault of the state machine is the end: nothing is taken in after it, and nothing is done. The
    next process starts from what the API server says.

    Args:
        shim: the state machine.
        calls, events: the ways to the API server.
    """

    def __init__(self, shim: Shim, calls: Doing, events: Posting) -> None:
        self.shim: Final = shim
        self.figures: Final = Figures()
        self.scheduler_problem = "not registered yet"
        self._calls: Final[Doing] = calls
        self._events: Final[Posting] = events
        self._link: SchedulerLink | None = None
        self._held: Final = _Held()
        self._loop: Final = asyncio.get_running_loop()
        self._running: Final[set[asyncio.Task[None]]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._timer_due_ns = 0
        self._halted = False
        self._fault: Exception | None = None
        self._failed: Final = asyncio.Event()

    @property
    def begun(self) -> bool:
        """Whether this replica schedules."""
        return self._link is not None

    async def watch_over(self) -> None:
        """Wait for a fault of ours. Raises: ShimStoppedError; RemudaError as it is."""
        await self._failed.wait()
        error = self._fault
        if isinstance(error, RemudaError):
            raise error
        raise ShimStoppedError(
            f"stopped after a fault of the shim: {type(error).__name__}: {error}"
        )

    # ------------------------------------------------------------------ the API server

    def deliver(self, changes: Sequence[Change]) -> None:
        """Take in changes of objects."""

        def take_in() -> None:
            for change in changes:
                self.shim.changed(change.kind, change.old, change.new)

        self._step(take_in)

    def begin(self, connect: Callable[[str, Settings], SchedulerLink]) -> None:
        """Schedule: all objects are known, and no other replica does.

        ``connect`` returns the way to the scheduler for a name and the settings of the beginning.
        """

        def take_in() -> None:
            self._link = connect(*self.shim.synced())
            for event in self._held.take():
                self._do(event)

        self._step(take_in)

    # ------------------------------------------------------------------ the scheduler

    def registered(self, fault: str = "", *, refused: bool = False) -> None:
        """Tell the scheduler all there is, or try again after a while."""
        self.scheduler_problem = fault
        self._step(lambda: self.shim.registered(fault, refused=refused))

    def lost(self, reason: str) -> None:
        """Register again."""
        self.scheduler_problem = reason

        def take_in() -> None:
            self.shim.lost()
            self.shim.register_again()

        self._step(take_in)

    def answered(self, responses: Sequence[Response]) -> None:
        """Take in responses."""
        self.figures.responses += len(responses)
        self._step(lambda: self.shim.answered(responses))

    def reconfigured(self, token: object, fault: str) -> None:
        """Take in whether a configuration counts now."""
        self._step(lambda: self.shim.reconfigured(token, fault))

    def events(self, records: Sequence[si.EventRecord]) -> None:
        """Take in events."""
        self._step(lambda: self.shim.events(records))

    def waits(self, update: si.UpdateContainerSchedulingStateRequest) -> None:
        """Take in that an ask waits."""
        self._step(lambda: self.shim.waits(update))

    def judge(self, items: Sequence[NodesPredicatesItem]) -> list[NodesPredicatesItemResult]:
        """Judge nodes."""
        self.figures.questions += 1
        found = self.shim.judge(items)
        self.figures.verdicts += sum([len(item.node_ids) for item in items])
        return found

    def victims(self, args: si.PreemptionPredicatesArgs) -> si.PreemptionPredicatesResponse:
        """Judge victims."""
        self.figures.questions += 1
        self.shim.tick(time.monotonic_ns())
        return self.shim.victims(args)

    def dump(self) -> str:
        """Return the state as JSON."""
        return msgspec.json.encode(self.shim.dump()).decode()

    # ------------------------------------------------------------------ inputs and effects

    def _step(self, take_in: Callable[[], object]) -> None:
        """Bring the time up to date, take in one input, and carry out its effects."""
        if self._halted or self._failed.is_set():
            return
        began = time.monotonic_ns()
        try:
            self.shim.tick(began)
            take_in()
            for effect in self.shim.take():
                self._do(effect)
            for name, seconds in self.shim.take_latencies():
                getattr(self.figures, name).observe(seconds)
            self._arm()
        except Exception as error:  # noqa: BLE001 - whatever it is, the state may be wrong
            self._fail(error)
        self.figures.step.observe((time.monotonic_ns() - began) / 1e9)

    def _fail(self, error: Exception) -> None:
        """End after a fault of ours, which has to be seen whole."""
        _log.error("the shim stops after a fault of its own", exc_info=error)
        self._fault = error
        self._failed.set()

    def _arm(self) -> None:
        """Set the timer to the next moment at which the state machine has something to do."""
        due = self.shim.due_ns()
        if due is None or (self._timer is not None and self._timer_due_ns <= due):
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer_due_ns = due
        seconds = max(0.0, (due - time.monotonic_ns()) / 1e9)
        # The loop may call a moment too early; then the timer is set again.
        over = partial(setattr, self, "_timer", None)
        self._timer = self._loop.call_later(seconds, self._step, over)

    def _do(self, effect: Effect) -> None:
        if self._link is None:
            self._held.put(effect)
        elif isinstance(effect, ToScheduler):
            self.figures.requests_sent += 1
            self._link.send(effect.request)
        elif isinstance(effect, PostEvent):
            event = effect.event
            self._events.post(
                event.about, event.reason, event.message, type=event.type, action=event.action
            )
        elif isinstance(effect, Register):
            self._link.register(effect.queues, effect.extra)
        elif isinstance(effect, Reconfigure):
            self._link.reconfigure(effect.queues, effect.extra, effect.about)
        else:
            task = self._loop.create_task(self._call(effect))
            self._running.add(task)
            task.add_done_callback(self._running.discard)

    async def _call(self, call: Call) -> None:
        try:
            outcome = await _carry_out(self._calls, call)
        except Exception as error:  # noqa: BLE001 - the state machine would wait for it for ever
            self._fail(error)
            return
        if not outcome.done:
            _log.info("%s: %s: %s", type(call).__name__, outcome.result.value, outcome.message)
        self._step(lambda: self.shim.ended(call.number, outcome))

    async def halt(self) -> None:
        """Begin no call any more, and drop those that run."""
        self._halted = True
        if self._timer is not None:
            self._timer.cancel()
        for task in list(self._running):
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)

    async def close(self) -> None:
        """Halt, and end the session, which may take as long as the scheduler is busy."""
        await self.halt()
        if self._link is not None:
            await self._link.close()


async def _carry_out(calls: Doing, call: Call) -> Outcome:
    """Make a call to the API server."""
    match call:
        case BindPod():
            return await calls.bind(call.pod, call.node)
        case CreatePod():
            return await calls.create_pod(call.namespace, call.manifest)
        case DeletePod():
            return await calls.delete_pod(call.pod, grace_seconds=call.grace_seconds)
        case EvictPod():
            return await calls.evict(call.pod)
        case SetCondition():
            condition = PodCondition(
                type="PodScheduled",
                status="False",
                reason=call.reason,
                message=call.message,
                last_transition_time=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            )
            return await calls.patch_pod_conditions(call.pod, (condition,))
        case FailPod():
            return await calls.fail_pod(call.pod, call.reason, call.message)
        case AnnotatePod():
            return await calls.annotate_pod(call.pod, call.annotations)
        case BindVolume() | SelectNode() | ReadObject():
            return await _carry_out_about_others(calls, call)


async def _carry_out_about_others(
    calls: Doing, call: BindVolume | SelectNode | ReadObject
) -> Outcome:
    """Make a call that is not about a pod."""
    match call:
        case BindVolume():
            return await calls.give_volume(call.volume, call.claim)
        case SelectNode():
            return await calls.select_node(call.claim, call.node)
        case ReadObject():
            return await calls.read(call.path)


class _Held:
    """Events of the time before the beginning: the last for each object and reason.

    The replica that leads tells the same, so they are told when this one does.
    """

    def __init__(self) -> None:
        self._events: dict[tuple[str, str, str, str], PostEvent] = {}

    def put(self, effect: Effect) -> None:
        """Keep an event."""
        assert isinstance(effect, PostEvent)
        about = effect.event.about
        key = (about.kind, about.namespace, about.name, effect.event.reason)
        self._events.pop(key, None)
        self._events[key] = effect
        if len(self._events) > _HELD:
            del self._events[next(iter(self._events))]

    def take(self) -> list[PostEvent]:
        """Return what was kept, once."""
        taken, self._events = self._events, {}
        return list(taken.values())
