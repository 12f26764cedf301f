"""What the self-audit costs in a large cluster that has nothing else to do (rules: HLT-21).

    python -m tools.gate.self_audit [SHAPE]     share of a core, and the longest question; 2 minutes

SHAPE is one of `remuda bench`, S6 by default: 10,000 nodes, 100,000 allocations.
"""

from __future__ import annotations

import sys
import time
from typing import Final

from remuda.bench.clusters.shapes import SHAPES, Shape
from remuda.bench.throughput.run import MEMORY, TIMEOUT_S, Receiver, prepare, request_of
from remuda.core.messages.health_queries import PartitionCountsQuery, PartitionCountsView
from remuda.core.messages.rows import rows
from remuda.core.messages.self_audit import (
    PARTS,
    START,
    SelfAuditQuery,
    SelfAuditView,
    SlicePlace,
)
from remuda.edges.inproc import InProcessScheduler
from remuda.runtime.build import core_build
from remuda.runtime.interpreter import tune_interpreter
from remuda.runtime.loop import SchedulerLoop
from remuda.telemetry.health.checker import HealthChecker
from remuda.telemetry.self_audit import ROUND_SECONDS, SelfAudit

_ROUNDS: Final = 3


def measure(shape: Shape) -> None:
    """Fill a cluster and print the cost of the audit, and for comparison of a health check."""
    with InProcessScheduler() as scheduler:
        prepare(scheduler, shape, Receiver())
        scheduler.update_allocation(request_of(shape, "k", range(shape.asks), MEMORY))
        scheduler.wait_idle(TIMEOUT_S)
        tune_interpreter()
        core = scheduler.core
        print(f"{shape.name}: {shape.nodes} nodes, {shape.asks} allocations, {core_build()}")
        spent = _spent(core)
        print(f"a round: {spent * 1e3:.0f} ms of a core, {spent / ROUND_SECONDS:.2%}")
        for part in PARTS:
            times = min((_part(core, part) for _ in range(_ROUNDS)), key=max)
            text = f"{len(times)} questions, {sum(times):.1f} ms, longest {max(times):.1f} ms"
            print(f"  {part}: {text}")
        began = time.process_time()
        HealthChecker(core).run()
        print(f"a health check: {(time.process_time() - began) * 1e3:.0f} ms of a core")


def _spent(core: SchedulerLoop) -> float:
    """Return the processor seconds of the process for a round, at the pace of a service."""
    audit = SelfAudit(core)
    audit.start()
    time.sleep(ROUND_SECONDS)  # the first round is not spread yet
    began, used = time.monotonic(), time.process_time()
    time.sleep(_ROUNDS * ROUND_SECONDS)
    share = (time.process_time() - used) / (time.monotonic() - began)
    audit.stop()
    return share * ROUND_SECONDS


def _part(core: SchedulerLoop, part: str) -> list[float]:
    """Return the milliseconds of processor time of each question of a part."""
    found: list[float] = []
    (partition,) = rows(PartitionCountsView, core.query(PartitionCountsQuery()).result(TIMEOUT_S))
    place: SlicePlace | None = START
    while place is not None:
        query = SelfAuditQuery(partition.name, partition.rm_id, part, place)
        began = time.process_time()
        view = core.query(query).result(TIMEOUT_S)
        found.append((time.process_time() - began) * 1e3)
        assert isinstance(view, SelfAuditView)
        assert not view.violations
        place = view.next
    return found


if __name__ == "__main__":
    name = sys.argv[1] if len(sys.argv) > 1 else "S6"
    measure(next(each for each in SHAPES if each.name == name))
