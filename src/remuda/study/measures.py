"""The figures that runs are compared by."""

from __future__ import annotations

from typing import Final

from remuda.base.message import message

SECONDS: Final = "s"
PART: Final = "%"
TIMES: Final = "x"
COUNT: Final = ""

LESS: Final = -1
MORE: Final = 1


@message
class Measure:
    """One figure: its key in results, its title, its unit, and whether less or more is better."""

    key: str
    title: str
    unit: str
    better: int


MEASURES: Final = (
    Measure("wait_mean", "mean wait", SECONDS, LESS),
    Measure("wait_p50", "median wait", SECONDS, LESS),
    Measure("wait_p95", "95th percentile of wait", SECONDS, LESS),
    Measure("wait_p99", "99th percentile of wait", SECONDS, LESS),
    Measure("slowdown_mean", "mean slowdown", TIMES, LESS),
    Measure("slowdown_p95", "95th percentile of slowdown", TIMES, LESS),
    Measure("utilisation", "mean utilisation", PART, MORE),
    Measure("makespan", "time to the last end", SECONDS, LESS),
    Measure("shortfall", "share owed and not had", PART, LESS),
    Measure("pending", "tasks never placed", COUNT, LESS),
    Measure("victims", "preempted allocations", COUNT, LESS),
    Measure("cut_short", "starts cut short", COUNT, LESS),
    Measure("lost_work", "work lost", PART, LESS),
    Measure("gangs_timed_out", "gangs timed out", COUNT, LESS),
    Measure("gangs_failed", "gangs failed", COUNT, LESS),
)
BY_KEY: Final = {measure.key: measure for measure in MEASURES}
# Those that tables, differences and conclusions are about.
MAIN: Final = ("wait_mean", "wait_p95", "slowdown_mean", "utilisation", "makespan", "shortfall")
