"""The shape pauses: for how long scheduling stands still while something large happens.

One ask comes each millisecond, from the first part of the measurement to the last. The pause is the
longest time from an ask to its callback: if something holds the core thread, the interpreter or the
delivery for a moment, an ask of that moment waits until the moment ends.

The cluster has 2,000 leaves with quotas, and is full of allocations. First nothing happens; then
its configuration is loaded over and over, with one quota changed, with every tenth and with all;
then another process reads full state dumps; then cyclic garbage is made, so that the collector
looks as often as it ever does. Meanwhile an idle process notes for how long the machine itself
stood still. A wait that is no longer than that says nothing about the scheduler.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import Final, TypeAlias, final

from remuda.base.message import message
from remuda.bench.clusters.shapes import Shape
from remuda.bench.services.paced import Manager, ask_each_millisecond, fill, reading, served
from remuda.bench.services.rest import DUMP
from remuda.bench.services.witness import Witness, witness
from remuda.bench.throughput.idle import Reaction, reaction
from remuda.bench.throughput.run import (
    MEMORY,
    RM_ID,
    TIMEOUT_S,
    VCORE,
    build,
    configuration,
    prepare,
    resident_bytes,
)
from remuda.core.messages.effects import Effect
from remuda.edges.inproc import InProcessScheduler
from remuda.runtime.collection import COLLECTOR
from remuda.runtime.interpreter import tune_interpreter
from remuda.si.pb import si_pb2 as si

# Objects of cyclic garbage made at once, and the pause after them: 50,000 a second.
_GARBAGE: Final = 500
_GARBAGE_PAUSE_S: Final = 0.01


@message
class PauseShape:
    """A cluster that is disturbed.

    ``cluster``: nodes large enough for its asks, of which ``filled`` are placed before anything is
    measured. ``seconds``: how long each part takes, during which 1,000 asks a second come.
    """

    name: str
    cluster: Shape
    filled: int
    seconds: float


PAUSES: Final = PauseShape("pauses", Shape("pauses", 10_000, 2_000, 1, 200_000), 100_000, 10.0)


@message
class Disturbance:
    """One part of a measurement.

    ``milliseconds``: from an ask to its callback. ``times``: how often what disturbs began.
    ``step_milliseconds``: the longest burst of decisions. ``machine_milliseconds``: for how long
    the machine itself stood still at most, see witness.py.
    """

    what: str
    milliseconds: Reaction
    times: int
    step_milliseconds: float
    machine_milliseconds: float


@message
class PauseResult:
    """A measured shape."""

    shape: str
    parts: tuple[Disturbance, ...]
    resident_bytes: int
    build: str

    def longest_milliseconds(self) -> float:
        """Return the longest pause of all parts."""
        return max(part.milliseconds.max for part in self.parts)


# Disturbs until the event is set, on a thread of its own; returns how often.
_Disturber: TypeAlias = Callable[[threading.Event], int]

# How often something disturbed; it is known afterwards.
_Times: TypeAlias = AbstractContextManager[Callable[[], int]]


def measure_pauses(shape: PauseShape) -> PauseResult:
    """Run a shape once, in this process and one that reads.

    Raises: RemudaError if something was refused, InvariantViolation if a counter is wrong.
    """
    manager = Manager()
    steps = _Steps()
    with InProcessScheduler() as scheduler:
        scheduler.core.watch_steps(steps)
        prepare(scheduler, shape.cluster, manager)
        _load(scheduler, shape.cluster, 0, 1)
        fill(scheduler, shape.cluster, shape.filled)
        tune_interpreter()
        with served(scheduler.core) as port, witness() as beside:
            parts = tuple(_parts(scheduler, shape, manager, steps=steps, port=port, beside=beside))
        resident = resident_bytes()
        scheduler.wait_idle(TIMEOUT_S)
        scheduler.core.check().result(TIMEOUT_S)
    return PauseResult(shape.name, parts, resident, build())


@final
class _Steps:
    """The longest step since it was last asked for. Called on the core thread."""

    def __init__(self) -> None:
        self._longest_ns = 0

    def __call__(self, took_ns: int, effects: Sequence[Effect]) -> None:
        """Note how long a step took."""
        self._longest_ns = max(self._longest_ns, took_ns)

    def taken(self) -> float:
        """Return the milliseconds of the longest, and begin anew."""
        longest_ns, self._longest_ns = self._longest_ns, 0
        return round(longest_ns / 1e6, 3)


def _parts(
    scheduler: InProcessScheduler,
    shape: PauseShape,
    manager: Manager,
    *,
    steps: _Steps,
    port: int,
    beside: Witness,
) -> Iterator[Disturbance]:
    queues = shape.cluster.queues
    load = partial(_reload, scheduler, shape.cluster)
    disturbances: tuple[tuple[str, Callable[[], _Times]], ...] = (
        ("nothing", lambda: nullcontext(lambda: 0)),
        ("reload, one quota", partial(_meanwhile, partial(load, queues))),
        ("reload, every tenth", partial(_meanwhile, partial(load, 10))),
        ("reload, all quotas", partial(_meanwhile, partial(load, 1))),
        ("dumps are read", partial(_dumping, port)),
        ("garbage is made", partial(_meanwhile, _make_garbage)),
    )
    count = int(shape.seconds * 1_000)
    for part, (what, disturbance) in enumerate(disturbances):
        numbers = range(part * count, (part + 1) * count)
        steps.taken()
        began = time.monotonic()
        with disturbance() as times:
            waits = ask_each_millisecond(scheduler, shape.cluster, manager, numbers)
        still = beside.longest_milliseconds(began, time.monotonic())
        yield Disturbance(what, reaction(waits), times(), steps.taken(), still)


@contextmanager
def _meanwhile(disturber: _Disturber) -> Iterator[Callable[[], int]]:
    """Disturb on a thread of its own. Raises: what went wrong there."""
    over = threading.Event()
    with ThreadPoolExecutor(1, thread_name_prefix="disturber") as threads:
        times = threads.submit(disturber, over)
        try:
            yield times.result
        finally:
            over.set()


# ------------------------------------------------------------------------------ what disturbs


def _reload(
    scheduler: InProcessScheduler, cluster: Shape, every: int, over: threading.Event
) -> int:
    """Load the configuration over and over, there and back, at least once each."""
    times = 0
    while times % 2 or times == 0 or not over.is_set():
        times += 1
        _load(scheduler, cluster, times % 2, every)
    return times


def _load(scheduler: InProcessScheduler, cluster: Shape, change: int, every: int) -> None:
    """Load the configuration with quotas that do not bind; one in ``every`` is ``change`` more."""
    lines = configuration(cluster).splitlines()
    queue = 0
    for place, line in enumerate(lines):
        if "guaranteed:" in line:
            memory = MEMORY * cluster.asks + (change if queue % every == 0 else 0)
            quota = f"max: {{memory: {memory}, vcore: {VCORE * cluster.asks}}}"
            lines[place] = line.replace("{guaranteed:", f"{{{quota}, guaranteed:")
            queue += 1
    text = "\n".join(lines) + "\n"
    scheduler.update_configuration(si.UpdateConfigurationRequest(rmID=RM_ID, config=text))


@contextmanager
def _dumping(port: int) -> Iterator[Callable[[], int]]:
    """Have the state dump read over and over; the last one counts, too."""
    with reading(port, DUMP) as read:
        yield lambda: len(read.result()[DUMP])


def _make_garbage(over: threading.Event) -> int:
    """Make cycles that only the collector frees, and count how often it looked."""
    before = COLLECTOR.looked
    while not over.is_set():
        for _ in range(_GARBAGE):
            cycle: list[object] = []
            cycle.append(cycle)
        time.sleep(_GARBAGE_PAUSE_S)
    return COLLECTOR.looked - before
