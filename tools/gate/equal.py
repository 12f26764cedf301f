"""Queues of equal share: many wait while one tenant has the whole cluster.

    python -m tools.gate.equal [QUEUES [LEVELS]]     print what a release and a burst cost

The pending amounts of no two queues can be compared: one wants more of one type, the other more of
the other. The cost of a release must grow with the asks that it lets in, not with those that wait
(QUE-35, CYC-25).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Final, final

from remuda.base.errors import RemudaError
from remuda.config.process_limits import DEFAULT_LIMITS
from remuda.config.schema import AccessList, Configuration, PartitionConfig, QueueConfig
from remuda.config.settings import RESERVATION_DELAY_NS
from remuda.core.messages import commands as c
from remuda.core.messages.effects import AllocationNew
from remuda.core.ports import always_true, first_will_do
from remuda.core.scheduler import Scheduler
from remuda.runtime.driver import SLICE
from remuda.runtime.interpreter import tune_interpreter
from remuda.runtime.ports import SchedulerFactory
from tools.gate.work import instructions

NODES: Final = 100
# Allocations of the tenant on each node.
EACH: Final = 20
_SIZE: Final = 100
_RM: Final = "equal"
_TICK_NS: Final = 1_000
_RELEASES: Final = 20
# Asks of each queue in a burst.
_BURST: Final = 5


@final
class Crowd:
    """A tenant that has all nodes and ``count`` queues that wait; or these alone, and much room."""

    def __init__(
        self, count: int, levels: int, make: SchedulerFactory = Scheduler, *, full: bool = True
    ) -> None:
        self._scheduler = make(
            always_true,
            preemption=first_will_do,
            reservation_delay_ns=RESERVATION_DELAY_NS,
            limits=DEFAULT_LIMITS,
        )
        self._now_ns = 0
        width = round(count ** (1 / levels))
        self._paths: list[str] = []
        queues = self._queues("root", levels, width if levels > 1 else count)
        everybody = AccessList(everybody=True)
        top = (QueueConfig("tenant"), *queues)
        root = QueueConfig("root", parent=True, queues=top, submit_acl=everybody)
        partition = PartitionConfig("default", root)
        self._handle(c.RegisterResourceManager(_RM, Configuration((partition,))))
        each = EACH * _SIZE if full else _BURST * count * (count + _SIZE)
        room = {"memory": each, "vcore": each}
        nodes = [c.NodeUpdate(f"node-{number:03}", c.CREATE, room) for number in range(NODES)]
        self._handle(c.UpdateNodes(_RM, tuple(nodes)))
        new = [c.NewApplication("tenant", "root.tenant", user="tenant")]
        new += [
            c.NewApplication(f"app-{number}", path, user="tenant")
            for number, path in enumerate(self._paths)
        ]
        self._handle(c.UpdateApplications(_RM, tuple(new)))
        size = {"memory": _SIZE, "vcore": _SIZE}
        if full:
            ask = c.Ask("tenant", "tenant", size, max_allocations=NODES * EACH)
            self._handle(c.UpdateAllocations(_RM, asks=(ask,)))
            self._running = [new.allocation_id for new in self.place()]
            self._wish()

    def _queues(self, above: str, levels: int, width: int) -> tuple[QueueConfig, ...]:
        found: list[QueueConfig] = []
        for number in range(width):
            name = f"q{number:05}"
            path = f"{above}.{name}"
            if levels == 1:
                self._paths.append(path)
                found.append(QueueConfig(name))
            else:
                below = self._queues(path, levels - 1, width)
                found.append(QueueConfig(name, parent=True, queues=below))
        return tuple(found)

    def burst(self) -> int:
        """Let each queue ask for some of a size that none of another exceeds; how many it got."""
        count = len(self._paths)
        asks: list[c.Ask] = []
        for turn in range(_BURST):
            for number in range(count):
                size = {"memory": _SIZE + number, "vcore": _SIZE + count - number}
                asks.append(c.Ask(f"app-{number}", f"app-{number}-{turn}", size))
        self._handle(c.UpdateAllocations(_RM, asks=tuple(asks)))
        return len(self.place())

    def _wish(self) -> None:
        """Let each queue ask for more of this and less of that than the one before."""
        count = len(self._paths)
        asks: list[c.Ask] = []
        for number in range(count):
            name = f"app-{number}"
            flat, tall = {"memory": 100, "vcore": 50}, {"memory": 50, "vcore": 100}
            asks.append(c.Ask(name, f"{name}-a", flat, max_allocations=number + 1))
            asks.append(c.Ask(name, f"{name}-b", tall, max_allocations=count - number))
        self._handle(c.UpdateAllocations(_RM, asks=tuple(asks)))
        self.place()

    def release(self) -> None:
        """End one allocation of the tenant. Raises: RemudaError if that does not let one in."""
        gone = c.AllocationRelease("tenant", self._running.pop(), termination_type=c.STOPPED_BY_RM)
        self._handle(c.UpdateAllocations(_RM, releases=(gone,)))
        let_in = len(self.place())
        if let_in != 1:
            raise RemudaError(f"a release let in {let_in}")

    def place(self) -> list[AllocationNew]:
        """Place all that can be placed."""
        placed: list[AllocationNew] = []
        while self._scheduler.has_work():
            self._now_ns += _TICK_NS
            effects = self._scheduler.step(self._now_ns, SLICE)
            placed += [effect for effect in effects if isinstance(effect, AllocationNew)]
        return placed

    def check(self) -> None:
        """Let the core verify its counters. Raises: InvariantViolation."""
        self._scheduler.check()

    def _handle(self, command: c.Command) -> None:
        self._now_ns += _TICK_NS
        self._scheduler.handle(command, self._now_ns)


def release_work(count: int, levels: int, make: SchedulerFactory = Scheduler) -> float:
    """Return the instructions of Python that a release takes, and what it lets in."""
    crowd = Crowd(count, levels, make)
    crowd.release()  # the first one of all goes where nobody was let in yet

    def work() -> None:
        for _ in range(_RELEASES):
            crowd.release()

    found = instructions(work) / _RELEASES
    crowd.check()
    return round(found, 1)


def _seconds(work: Callable[[], object]) -> float:
    begun = time.process_time()
    work()
    return time.process_time() - begun


def main(arguments: list[str]) -> None:
    """Print what a release and a burst cost, in processor time."""
    tune_interpreter()
    count = int(arguments[0]) if arguments else 10_000
    levels = int(arguments[1]) if len(arguments) > 1 else 1
    crowd = Crowd(count, levels)
    crowd.release()
    costs = sorted([_seconds(crowd.release) for _ in range(5 * _RELEASES)])
    print(
        f"{count:,} queues on {levels} levels, a release: "
        f"{costs[len(costs) // 2] * 1e3:.2f} ms, at most {costs[-1] * 1e3:.2f} ms"
    )
    empty = Crowd(count, levels, full=False)
    placed = 0

    def burst() -> None:
        nonlocal placed
        placed = empty.burst()

    took = _seconds(burst)
    print(f"a burst into them: {placed:,} allocations, {placed / took:,.0f} per second")


if __name__ == "__main__":
    main(sys.argv[1:])
