"""Measure a forecast with many waiting asks: `python -m tools.forecast_cost`.

100 allocations run and 5,000 applications wait, all with declared run times. The forecast is for
the one that is served last, or for all of them.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from resource import RUSAGE_CHILDREN, getrusage
from time import perf_counter

from remuda import Queue, Scheduler

RUNNING = 100
WAITING = 5_000


@dataclass(frozen=True)
class Cost:
    """Seconds by the clock and of processor time, and what the forecast was."""

    wall: float
    cpu: float
    outcome: str


def crowded(waiting: int) -> Scheduler:
    """Return a scheduler in which so many applications wait."""
    scheduler = Scheduler([Queue(name) for name in ("a", "b", "c", "d")])
    scheduler.add_nodes({f"n{number}": {"vcore": "10"} for number in range(RUNNING // 10)})
    for number in range(RUNNING + waiting):
        seconds = 60 + number * 7_919 % 3_600
        name = f"job-{number:05}"
        queue = f"root.{'abcd'[number % 4]}"
        scheduler.submit(name, queue=queue, tags={"remuda/runTimeSeconds": str(seconds)})
        scheduler.ask(name, "task", {"vcore": "1"})
        if number == RUNNING - 1:
            scheduler.step(1)
    scheduler.step(2)
    return scheduler


def measure(waiting: int) -> Cost:
    """Ask for a forecast of the application that was submitted last."""
    scheduler = crowded(waiting)
    before, began = _children(), perf_counter()
    found = scheduler.forecast(f"job-{RUNNING + waiting - 1:05}")
    return Cost(perf_counter() - began, _children() - before, str(found))


def _children() -> float:
    """The processor time of all children that ended, and of theirs."""
    used = getrusage(RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> int:
    """Print the cost."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--waiting", type=int, default=WAITING)
    cost = measure(parser.parse_args().waiting)
    print(cost.outcome)
    print(f"{cost.wall:.2f} s by the clock, {cost.cpu:.2f} s of processor time")
    return 0


if __name__ == "__main__":
    sys.exit(main())
