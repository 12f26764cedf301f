"""Times allocations and the fixed calibration by turns, in one process.

It times what ``remuda bench`` times: from the request with all asks to the last callback, through
the in-process API. It does not use the clock on the wall, because other programs on this machine
must not count. A cost is the CPU time of all threads, and the time in which none of them wanted to
run though there was work.
"""

from __future__ import annotations

import gc
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from remuda.base.errors import RemudaError
from remuda.bench.clusters.shapes import Shape
from remuda.bench.suites.machine import this_machine
from remuda.bench.throughput.run import MEMORY, TIMEOUT_S, Receiver, judge, prepare, request_of
from remuda.core.scheduler import Scheduler
from remuda.edges.inproc import InProcessScheduler
from remuda.runtime.clock import SteadyClock
from remuda.runtime.collection import COLLECTOR
from remuda.runtime.loop import SchedulerLoop
from remuda.runtime.ports import SchedulerFactory
from tools.gate.calibration import calibrate
from tools.gate.cases import Case
from tools.gate.company import MACHINE
from tools.gate.judge import Samples

# One piece of calibration takes about as long as one of S1: both have to be as lucky.
_CALIBRATIONS: Final = 4
# After so long a backlog costs nothing more, see SETTLE_S of the benchmark.
_SETTLE_NS: Final = 10_000_000_000
_TASKS: Final = Path("/proc/self/task")


class Jumping:
    """The machine's clocks, and how far both have jumped ahead."""

    def __init__(self) -> None:
        self._clock = SteadyClock()
        self.ahead_ns = 0

    def now_ns(self) -> int:
        """Unix time in nanoseconds, ahead of the true one."""
        return self._clock.now_ns() + self.ahead_ns

    def wall_ns(self) -> int:
        """Unix time in nanoseconds, as far ahead."""
        return self._clock.wall_ns() + self.ahead_ns


class Meter:
    """How much time a piece of work takes, from here to ``seconds()``."""

    def __init__(self) -> None:
        self._waited = _waited_seconds()
        self._wall = time.perf_counter()
        self._cpu = time.process_time()

    def seconds(self) -> float:
        """CPU seconds, and those in which this process slept."""
        cpu = time.process_time() - self._cpu
        wall = time.perf_counter() - self._wall
        waited = _waited_seconds()
        if self._waited is None or waited is None:
            return cpu
        return cpu + max(0.0, wall - cpu - (waited - self._waited))


def _waited_seconds() -> float | None:
    """Seconds that threads of this process were ready to run and could not; None: not known.

    They include the time that the host of a virtual machine took from it.
    """
    try:
        waits = [int(file.read_bytes().split()[1]) for file in _TASKS.glob("*/schedstat")]
        stolen = int(MACHINE.read_bytes().split(maxsplit=9)[8])
    except OSError:
        return None
    return sum(waits) / 1e9 + stolen / os.sysconf("SC_CLK_TCK")


def measure(
    cases: Sequence[Case],
    samples: Samples,
    make: SchedulerFactory = Scheduler,
    tell: Callable[[], object] = lambda: None,
) -> None:
    """Time each case in its rounds, a calibration before each, and add that to the samples.

    ``tell`` is called after each. Raises: RemudaError if an ask was not placed once,
    InvariantViolation if a counter is wrong.
    """
    _calibration(1)
    for turn in range(max([case.rounds for case in cases])):
        for case in cases:
            if turn < case.rounds:
                calibration = _calibration(case.scale)
                samples.add(case, calibration, allocation_seconds(case.shape, make))
                tell()


def _calibration(scale: int) -> float:
    """Seconds of a calibration: as it runs without the memory of others to look through."""
    repetitions = max(1, _CALIBRATIONS // scale)
    COLLECTOR.collect_all()
    gc.disable()
    try:
        meter = Meter()
        for _ in range(repetitions):
            calibrate(scale)
        return meter.seconds() / repetitions
    finally:
        gc.enable()


def allocation_seconds(
    shape: Shape, make: SchedulerFactory = Scheduler, clock: Jumping | None = None
) -> float:
    """Run a shape once and return what one allocation took.

    ``clock``: of the scheduler, by default the machine's. Raises: RemudaError, InvariantViolation.
    """
    clock = clock or Jumping()
    loop = SchedulerLoop(make, clock=clock)
    loop.start()
    receiver = Receiver()
    try:
        scheduler = InProcessScheduler(core=loop)
        prepare(scheduler, shape, receiver)
        clock.ahead_ns = _SETTLE_NS
        loop.barrier().result(TIMEOUT_S)
        scheduler.wait_idle(TIMEOUT_S)
        request = request_of(shape, "k", range(shape.asks), MEMORY)
        receiver.awaited = shape.asks
        COLLECTOR.collect_all()  # and with it the scheduler of the run before
        meter = Meter()
        scheduler.update_allocation(request)
        if not receiver.done.wait(TIMEOUT_S):
            raise RemudaError(f"{shape.name}: not done after {TIMEOUT_S:.0f} s")
        spent = meter.seconds()
        scheduler.wait_idle(TIMEOUT_S)
        judge(shape, receiver)
        loop.check().result(TIMEOUT_S)
    finally:
        loop.stop()
    return spent / shape.asks


def build() -> str:
    """Return what runs, as figures are recorded for it: the build, and which Python."""
    kind = "interpreted" if is_interpreted() else "compiled"
    return f"{kind}, {sys.implementation.name} {sys.version_info.major}.{sys.version_info.minor}"


def processor() -> str:
    """Return what the processor is called, with the number of its model where Linux tells it."""
    listed = Path("/proc/cpuinfo")
    lines = listed.read_text(encoding="utf-8").splitlines() if listed.exists() else []
    fields = [line.partition(":") for line in lines]
    numbers = {name.strip(): value.strip() for name, _, value in fields}
    model = f"{numbers.get('cpu family', '')}.{numbers.get('model', '')}"
    return f"{this_machine().cpu} {model}".rstrip(" .")


def is_interpreted() -> bool:
    """Whether the core runs as Python code."""
    module = sys.modules[Scheduler.__module__]
    return (module.__file__ or "").endswith(".py")
