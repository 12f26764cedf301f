"""How often the intervals of forecasts hold the true start: `python -m tools.forecast_calibration`.

A trace is played through the Python API, each task as an application that declares its run time.
At moments that chance chooses one of the waiting applications gets a forecast. What happens then
says whether its interval held. Traces have true run times only; with --noise tasks declare what
people would: each true time is multiplied by a factor of its own (log-normal). REMUDA_DATA names
the directory of the traces.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from math import exp
from pathlib import Path
from random import Random
from time import perf_counter

import msgspec

from remuda import Allocation, Forecast, Queue, Scheduler
from remuda.insight.forecast import ForecastQuestion, forecast
from remuda.library.engine import RM_ID
from remuda.library.stepped import Stepped
from remuda.runtime.forks.forecasts import Forecasts
from remuda.sim.traces.detect import AUTO, read_workload
from remuda.sim.workload import Task, replayable

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("REMUDA_DATA") or ROOT.parent / "shared" / "data")
SECOND = 1_000_000_000
DAY = 86_400


@dataclass(frozen=True)
class Played:
    """A trace and the machine that it runs on. ``load``: how much closer together tasks come."""

    name: str
    file: str
    resource: str
    amount: int
    load: float = 1.0


PHILLY = Played("Philly", "philly/philly_jobs_by_vc.csv.gz", "gpu", 1_024_000)
NASA = Played("NASA", "swf/NASA-iPSC-1993-3.1-cln.swf.gz", "processor", 128, 1.6)
TRACES = {each.name.lower(): each for each in (PHILLY, NASA)}


@dataclass
class Result:
    """Forecasts and what happened. ``late``, ``early``: starts after, before the interval.

    ``wide``, ``wide_held``: intervals that are no single moment, and those that held.
    """

    held: int = 0
    late: int = 0
    early: int = 0
    asked: int = 0
    unknown: int = 0
    wide: int = 0
    wide_held: int = 0
    widths: list[float] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def count(self) -> int:
        """Intervals whose truth is known."""
        return self.held + self.late + self.early

    @property
    def share(self) -> float:
        """The part of the intervals that held the truth."""
        return self.held / self.count if self.count else 0.0

    def judge(self, asked_at: float, told: Forecast, began: float) -> None:
        """Compare an interval with the truth."""
        after = began - asked_at
        early = told.low_seconds is None or after < told.low_seconds - 1e-6
        late = told.high_seconds is not None and after > told.high_seconds + 1e-6
        self.early += early
        self.late += late and not early
        self.held += not (early or late)
        if told.low_seconds != told.high_seconds:
            self.wide += 1
            self.wide_held += not (early or late)
        if told.low_seconds is not None and told.high_seconds is not None:
            self.widths.append(told.high_seconds - told.low_seconds)


class Play:
    """A trace under way."""

    def __init__(
        self, played: Played, forecasts: int, seed: int, *, arrivals: bool, noise: float
    ) -> None:
        self._played = played
        self._noise = noise
        self._errors = Random(seed + 1)  # noqa: S311 - nothing secret
        self._chance = Random(seed)  # noqa: S311 - nothing secret
        self._arrivals = arrivals
        self._left = forecasts
        self._forecasts = Forecasts()
        self.result = Result()
        trace = replayable(read_workload(DATA / played.file, AUTO))
        tasks = [each for each in trace.tasks if each.resource.get(played.resource)]
        tasks = [each for each in tasks if each.resource[played.resource] <= played.amount]
        self._tasks = sorted(tasks, key=lambda each: (each.submit_ns, each.task_id))
        self._scheduler = Scheduler([Queue("jobs", maximum={played.resource: played.amount})])
        self._scheduler.add_node("machine", {played.resource: played.amount})
        self._scheduler.on_allocation(self._began)
        self._ends: list[tuple[float, int, Allocation]] = []
        self._number = 0
        self._durations: dict[str, float] = {}
        self._waiting: dict[str, None] = {}
        self._asked: dict[str, tuple[float, Forecast]] = {}

    def run(self, first: int, every: int) -> Result:
        """Play it; from task ``first`` on, one in ``every`` moments of arrival gets a forecast."""
        for number, task in enumerate(self._tasks):
            at = task.submit_ns / SECOND / self._played.load
            self._until(at)
            self._submit(task, at)
            wants = number >= first and self._left > 0 and not self._chance.randrange(every)
            if wants and self._waiting:
                self._ask(at)
            if not self._left and not self._asked:
                break
        while self._ends and self._asked:
            self._until(self._ends[0][0])
        return self.result

    def _submit(self, task: Task, at: float) -> None:
        assert task.duration_ns is not None
        duration = max(1e-3, task.duration_ns / SECOND)
        name = f"job-{task.task_id}"
        self._durations[name] = duration
        self._waiting[name] = None
        declared = duration * exp(self._errors.gauss(0, self._noise)) if self._noise else duration
        tags = {"remuda/runTimeSeconds": f"{max(1e-3, declared):.3f}"}
        self._scheduler.submit(name, queue="root.jobs", user="anybody", tags=tags)
        size = {self._played.resource: task.resource[self._played.resource]}
        self._scheduler.ask(name, "task", size)
        self._scheduler.step(at)

    def _until(self, at: float) -> None:
        """End what ends by then, one instant after another."""
        while self._ends and self._ends[0][0] <= at:
            end = self._ends[0][0]
            self._scheduler.step(max(end, self._scheduler.now))
            while self._ends and self._ends[0][0] <= end:
                self._scheduler.release(heappop(self._ends)[2])
            self._scheduler.step()

    def _began(self, allocation: Allocation) -> None:
        self._number += 1
        name, now = allocation.application_id, self._scheduler.now
        heappush(self._ends, (now + self._durations.pop(name), self._number, allocation))
        del self._waiting[name]
        if name in self._asked:
            asked_at, told = self._asked.pop(name)
            self.result.judge(asked_at, told, now)

    def _ask(self, at: float) -> None:
        fresh = [name for name in self._waiting if name not in self._asked]
        if not fresh:
            return
        name = fresh[self._chance.randrange(len(fresh))]
        began = perf_counter()
        told = self._forecast(name)
        self.result.seconds += perf_counter() - began
        self.result.asked += 1
        self._left -= 1
        if told.outcome == "expected":
            self._asked[name] = (at, told)
        else:
            self.result.unknown += 1

    def _forecast(self, name: str) -> Forecast:
        """Ask as `Scheduler.forecast` does, without the limit of time that copies have."""
        engine = self._scheduler._engine  # noqa: SLF001 - the API has a limit of time
        assert isinstance(engine, Stepped)
        question = ForecastQuestion(
            "default", name, within_ns=30 * DAY * SECOND, arrivals=self._arrivals, rm_id=RM_ID
        )
        now_ns = engine.clock.at_ns
        core = engine._core  # noqa: SLF001 - as above
        asked = self._forecasts.with_promises(question)
        answer = forecast(core, now_ns, now_ns, asked, _in_children)
        return self._forecasts.told(question, msgspec.json.encode(answer)).forecasts[0]


def _in_children(works: Sequence[Callable[[], bytes]]) -> list[bytes | None]:
    """Do each work in a child of its own, two at a time."""
    found: list[bytes | None] = []
    for first in range(0, len(works), 2):
        pipes = [_child(work) for work in works[first : first + 2]]
        for pid, pipe in pipes:
            with os.fdopen(pipe, "rb") as file:
                found.append(file.read())
            os.waitpid(pid, 0)
    return found


def _child(work: Callable[[], bytes]) -> tuple[int, int]:
    reads, writes = os.pipe()
    pid = os.fork()
    if pid == 0:
        with os.fdopen(writes, "wb") as file:
            file.write(work())
        os._exit(0)
    os.close(writes)
    return pid, reads


def main() -> int:
    """Print how often the intervals held."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("trace", choices=sorted(TRACES))
    parser.add_argument("--forecasts", type=int, default=200)
    parser.add_argument("--first", type=int, default=500, help="tasks before the first forecast")
    parser.add_argument("--every", type=int, default=50, help="one in so many moments")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--noise", type=float, default=0.0, help="sigma of what tasks declare")
    parser.add_argument("--no-arrivals", action="store_true", help="nothing more is submitted")
    given = parser.parse_args()
    arrivals = not given.no_arrivals
    played = TRACES[given.trace]
    play = Play(played, given.forecasts, given.seed, arrivals=arrivals, noise=given.noise)
    found = play.run(given.first, given.every)
    print(
        f"{found.asked} forecasts, {found.count} intervals with a known start: {found.held} held"
        f" ({100 * found.share:.1f} %), {found.early} started before, {found.late} after"
    )
    print(f"{found.wide} of them are no single moment: {found.wide_held} of these held")
    widths = sorted(found.widths) or [0.0]
    print(
        f"half of the intervals are narrower than {widths[len(widths) // 2] / 3_600:.1f} h;"
        f" {found.unknown} without one; {found.seconds / max(1, found.asked):.2f} s each"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
