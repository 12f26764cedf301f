"""Counts the instructions of Python that an allocation takes: exact, and the same in every run.

The noise of a machine hides no additional instruction, and a quick machine does not make up for
one. Time inside a single instruction is not counted, such as the copy of a long list; timing.py
measures that. It sees nothing of a compiled core, so the work of one is not counted.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, Final, cast

from remuda.bench.clusters.shapes import Shape
from remuda.bench.throughput.run import MEMORY, Receiver, judge, prepare, request_of
from remuda.config.load import load_configuration
from remuda.config.process_limits import DEFAULT_LIMITS
from remuda.config.settings import RESERVATION_DELAY_NS
from remuda.core.messages.effects import Effect
from remuda.core.ports import always_true, first_will_do
from remuda.core.scheduler import Scheduler
from remuda.edges.inproc import InProcessScheduler
from remuda.runtime.driver import SLICE
from remuda.runtime.ports import SchedulerFactory
from remuda.si.codec_in import RequestReader, registration
from remuda.si.codec_out import ResponseWriter
from remuda.si.pb import si_pb2 as si

_TICK_NS: Final = 1_000
_SETTLE_NS: Final = 10_000_000_000


class Alone:
    """What the in-process API does, but on the caller's thread and on a clock of its own.

    Threads take turns as they please, and with them batches differ from run to run.
    """

    def __init__(self, make: SchedulerFactory) -> None:
        self._scheduler = make(
            always_true,
            preemption=first_will_do,
            reservation_delay_ns=RESERVATION_DELAY_NS,
            limits=DEFAULT_LIMITS,
        )
        self._now_ns = 0

    def register_resource_manager(
        self, request: si.RegisterResourceManagerRequest, callback: Receiver
    ) -> None:
        """Register; ``callback`` hears of allocations."""
        self._reader = RequestReader(request.rmID)
        self._writer = ResponseWriter(self._reader.generation)
        self._receiver = callback
        self._answer(self._scheduler.handle(registration(request, load_configuration), self._now()))

    def update_node(self, request: si.NodeRequest) -> None:
        """Handle the request at once."""
        self._answer(self._scheduler.handle(self._reader.nodes(request), self._now()))

    def update_application(self, request: si.ApplicationRequest) -> None:
        """Handle the request at once."""
        self._answer(self._scheduler.handle(self._reader.applications(request), self._now()))

    def update_allocation(self, request: si.AllocationRequest) -> None:
        """Handle the request at once; asks are placed by ``wait_idle``."""
        self._answer(self._scheduler.handle(self._reader.allocations(request), self._now()))

    def wait_idle(self, _timeout: float) -> None:
        """Place all that can be placed."""
        while self._scheduler.has_work():
            self._answer(self._scheduler.step(self._now(), SLICE))

    def settle(self) -> None:
        """Let so much time pass that what waits costs nothing more."""
        self._now_ns += _SETTLE_NS
        self._answer(self._scheduler.step(self._now(), SLICE))
        self.wait_idle(0)

    def check(self) -> None:
        """Let the core verify its counters. Raises: InvariantViolation."""
        self._scheduler.check()

    def _now(self) -> int:
        self._now_ns += _TICK_NS
        return self._now_ns

    def _answer(self, effects: list[Effect]) -> None:
        for response in self._writer.responses(effects):
            if isinstance(response, si.AllocationResponse):
                self._receiver.update_allocation(response)


def allocation_work(shape: Shape, make: SchedulerFactory = Scheduler) -> float:
    """Return the instructions of Python that one allocation of a shape takes, end to end.

    Raises: RemudaError if an ask was not placed once, InvariantViolation if a counter is wrong.
    """
    receiver = Receiver()
    alone = Alone(make)
    prepare(cast("InProcessScheduler", alone), shape, receiver)
    alone.settle()
    request = request_of(shape, "k", range(shape.asks), MEMORY)
    receiver.awaited = shape.asks

    def place() -> None:
        alone.update_allocation(request)
        alone.wait_idle(0)

    count = instructions(place)
    judge(shape, receiver)
    alone.check()
    return round(count / shape.asks, 1)


def instructions(work: Callable[[], object]) -> int:
    """Return how many instructions of Python, calls and returns ``work`` takes on this thread."""
    count = 0

    def step(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        count += 1
        return step

    def enter(frame: FrameType, event: str, argument: Any) -> Any:
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        return step

    before = sys.gettrace()
    gc.collect()
    gc.disable()  # what it calls back would be counted, whenever it comes
    sys.settrace(enter)
    try:
        work()
    finally:
        sys.settrace(before)
        gc.enable()
    return count
