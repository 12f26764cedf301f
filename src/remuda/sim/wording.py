"""Figures as people read them; the terminal and the report use the same words and tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from remuda.base.message import message
from remuda.sim.gangs import GangCounts
from remuda.sim.losses import PreemptionFigures, by_losses
from remuda.sim.metrics import Figures
from remuda.sim.obstacles import explained
from remuda.sim.results import Speed


@message
class Unit:
    """A unit of time: its seconds, symbol and name."""

    seconds: int
    symbol: str
    name: str


WAITING_HEADER: Final = ("waits because of", "tasks", "for example", "in its way")

_SECOND: Final = Unit(1, "s", "seconds")
_HOUR: Final = Unit(3_600, "h", "hours")
_UNITS: Final = (Unit(86_400, "d", "days"), _HOUR, Unit(60, "min", "minutes"))

# Resource type -> base units in the unit of people, and its symbol.
_AMOUNTS: Final = {"memory": (2**30, "GiB"), "vcore": (1_000, "core")}


@message
class Table:
    """One table; its first column names the rows. Without a header it is label and value."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]


def unit_of(seconds: float) -> Unit:
    """Return the largest unit of which a duration has at least two, else the second."""
    return next((unit for unit in _UNITS if seconds >= 2 * unit.seconds), _SECOND)


def duration(seconds: float) -> str:
    """Return a duration in its unit, with one decimal; a shorter one is shown as "less than"."""
    unit = unit_of(seconds)
    return f"{_decimal(seconds / unit.seconds)} {unit.symbol}"


def percent(share: float) -> str:
    """Return a share of 1 as a percentage with one decimal."""
    return f"{_decimal(share * 100)} %"


def work(name: str, unit_seconds: float, most: float = 0.0) -> str:
    """Return resource x time, given in base units x seconds, in the units that people use.

    Memory is shown in GiB, vcore in whole cores; other types have no unit that is known here.
    ``most``: the largest of those that it is compared with, so that all have the same unit.
    """
    size, symbol = _AMOUNTS.get(name, (1, "unit"))
    unit = unit_of(max(unit_seconds, most) / size)
    if unit.seconds > _HOUR.seconds:
        unit = _HOUR
    return f"{_decimal(unit_seconds / size / unit.seconds)} {symbol} {unit.symbol}"


def _decimal(number: float) -> str:
    """Return a number with one decimal; 0 only for nothing at all."""
    return "< 0.1" if 0 < number < 0.05 else f"{number:,.1f}"


def count(number: int) -> str:
    """Return a number with its thousands apart."""
    return f"{number:,}"


def tables(figures: Figures, queues_limit: int) -> list[Table]:
    """Return the tables of tasks, of use and of the first ``queues_limit`` queues.

    After that of tasks come one of gangs, if they are, those of preemption, if there may be any,
    and one that says why some tasks still wait, if they do.
    """
    types = tuple(figures.utilisation)
    waiting = [Table("Waiting", WAITING_HEADER, _waiting_rows(figures))] if figures.waiting else []
    gangs = [] if figures.gangs is None else [Table("Gangs", (), _gang_rows(figures.gangs))]
    preemption = []
    if figures.preemption is not None:
        preemption = _preemption_tables(figures.preemption, queues_limit)
    return [
        Table("Tasks", (), _task_rows(figures)),
        *gangs,
        *preemption,
        *waiting,
        Table("Utilisation", ("resource", "mean", "peak", "final"), _use_rows(figures)),
        Table(
            "Queues",
            ("queue", "tasks", "placed", "mean wait", *types),
            _queue_rows(figures)[:queues_limit],
        ),
    ]


def _task_rows(figures: Figures) -> list[tuple[str, str]]:
    """Return what became of the tasks and how long they waited, label and value."""
    wait = figures.wait_seconds
    return [
        ("tasks", count(figures.tasks_total)),
        ("placed", count(figures.tasks_placed)),
        ("finished", count(figures.tasks_finished)),
        ("pending", count(figures.tasks_pending)),
        ("rows skipped", count(figures.tasks_skipped)),
        ("tasks that waited", count(figures.tasks_waited)),
        ("mean wait", duration(wait.mean)),
        ("wait p50 / p95 / p99", " / ".join(map(duration, (wait.p50, wait.p95, wait.p99)))),
        ("longest wait", duration(wait.max)),
        ("nodes used", f"{count(figures.nodes_used)} of {count(figures.nodes_total)}"),
        ("simulated time", duration(figures.makespan_seconds)),
    ]


def _gang_rows(gangs: GangCounts) -> list[tuple[str, str]]:
    """Return what became of the gangs, label and value; the usual zeros are left out."""
    unusual = (
        ("failed", gangs.failed),
        ("larger than their queue", gangs.too_large),
        ("members started alone", gangs.started_in_part),
    )
    return [
        ("gangs", count(gangs.gangs)),
        ("of more than one member", count(gangs.of_several)),
        ("members", count(gangs.members)),
        ("reservations timed out", count(gangs.timed_out)),
        *((label, count(number)) for label, number in unusual if number),
    ]


def _preemption_tables(figures: PreemptionFigures, queues_limit: int) -> list[Table]:
    """Return what was preempted and lost, and if anything was, by queue."""
    rows = [
        ("preemptions", count(figures.preemptions)),
        ("victims", count(figures.victims)),
        ("tasks that begin anew", count(figures.tasks_cut_short)),
        ("asks evicted repeatedly", count(figures.asks_evicted_repeatedly)),
        ("most evictions of one ask", count(figures.evictions_of_one_ask)),
    ]
    for name, lost in figures.lost_work.items():
        amount = work(name, lost.unit_seconds)
        rows.append((f"lost {name}", f"{amount}, {percent(lost.share)} of all use"))
    found = [Table("Preemption", (), rows)]
    if figures.queues:
        lost_of = (f"lost {name}" for name in figures.lost_work)
        most = {
            name: max(queue.lost[name] for queue in figures.queues.values())
            for name in figures.lost_work
        }
        header = ("queue", "preemptions for it", "victims in it", *lost_of)
        by_queue = [
            (
                path,
                count(figures.queues[path].preemptions),
                count(figures.queues[path].victims),
                *(work(name, lost, most[name]) for name, lost in figures.queues[path].lost.items()),
            )
            for path in by_losses(figures.queues)
        ]
        found.append(Table("Preemption by queue", header, by_queue[:queues_limit]))
    return found


def _use_rows(figures: Figures) -> list[tuple[str, ...]]:
    """Return one row per resource: name, mean, peak and final use."""
    return [
        (name, percent(use.mean), percent(use.peak), percent(use.final))
        for name, use in figures.utilisation.items()
    ]


def _queue_rows(figures: Figures) -> list[tuple[str, ...]]:
    """Return one row per queue: path, tasks, placed, mean wait, then its share per resource."""
    return [
        (
            path,
            count(queue.tasks),
            count(queue.placed),
            duration(queue.wait_mean),
            *(percent(share) for share in queue.share.values()),
        )
        for path, queue in figures.queues.items()
    ]


def _waiting_rows(figures: Figures) -> list[tuple[str, ...]]:
    """Return one row per gate: its name, tasks it holds up, one of them, what is in its way."""
    return [
        (each.gate, count(each.tasks), f"{each.example} in {each.queue}", explained(each))
        for each in figures.waiting
    ]


def speed_line(figures: Figures, speed: Speed) -> str:
    """Return how fast the run was."""
    rate = f"{speed.allocations_per_second:,.0f} allocations/s"
    return f"{count(figures.tasks_placed)} tasks placed in {speed.wall_seconds:.1f} s, {rate}"
