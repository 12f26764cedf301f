"""A session of measurements: which shapes, how often, and the figures that are shown.

Each run has a process of its own, so that none inherits the memory and the warmed caches of the
one before; of several runs of a shape the median counts, because an average would hold the
disturbance of one.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import TextIO, TypeAlias, TypeVar

import msgspec
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from remuda.base.errors import UsageError
from remuda.bench.attempts import AttemptResult, AttemptShape, measure_attempts
from remuda.bench.crowd import CrowdResult, CrowdShape, measure_crowd
from remuda.bench.idle import IdleResult, Reaction, measure_idle
from remuda.bench.preemption import GROUP, PREEMPTION, PreemptionShape
from remuda.bench.repeats import RepeatResult, RepeatShape, measure_repeats
from remuda.bench.rest import GROUP as REST_GROUP
from remuda.bench.rest import REST, RestResult, RestShape, measure_rest
from remuda.bench.run import Result, measure
from remuda.bench.shapes import IDLE, SHAPES, SHARE_OF, Shape

AnyShape: TypeAlias = Shape | PreemptionShape | RestShape
Figures: TypeAlias = Result | IdleResult | AttemptResult | RepeatResult | CrowdResult | RestResult

S = TypeVar("S")
R = TypeVar("R")


def medians(names: list[str], runs: int, err: TextIO) -> list[Figures]:
    """Measure the shapes of these names, S1 to S10 for none, and return the median run of each.

    Raises: UsageError for a name no shape has, RemudaError for a run that went wrong.
    """
    shapes = _chosen(names)
    progress = Progress(console=Console(file=err), disable=not err.isatty())
    with progress:
        task = progress.add_task("measuring", total=len(shapes) * runs)

        def done() -> None:
            progress.advance(task)

        return [_measured(shape, runs, done) for shape in shapes]


def _measured(shape: AnyShape, runs: int, done: Callable[[], None]) -> Figures:
    """Return the median run of a shape."""
    if isinstance(shape, AttemptShape):
        return _median(
            _repeated(measure_attempts, shape, runs, done),
            lambda result: result.attempt_milliseconds.p99,
        )
    if isinstance(shape, RepeatShape):
        return _median(
            _repeated(measure_repeats, shape, runs, done), lambda result: result.quiet_milliseconds
        )
    if isinstance(shape, CrowdShape):
        return _median(
            _repeated(measure_crowd, shape, runs, done),
            lambda result: result.all_placed.wall_seconds,
        )
    if isinstance(shape, RestShape):
        return _median(
            _repeated(measure_rest, shape, runs, done),
            lambda result: max(part.milliseconds.p99 for part in result.parts),
        )
    if shape == IDLE:
        return _median(
            _repeated(measure_idle, shape, runs, done),
            lambda result: result.reaction_milliseconds.p99,
        )
    return _median(
        _repeated(measure, shape, runs, done), lambda result: result.allocations_per_second
    )


def as_json(results: Sequence[Figures]) -> str:
    """Return the figures for machines."""
    return msgspec.json.encode(results).decode() + "\n"


def as_table(results: Sequence[Figures], out: TextIO) -> None:
    """Write the figures for people."""
    console = Console(file=out)
    if busy := [each for each in results if isinstance(each, Result)]:
        console.print(_busy_table(busy))
    if idle := [each for each in results if isinstance(each, IdleResult)]:
        console.print(_idle_table(idle))
    if attempts := [each for each in results if isinstance(each, AttemptResult)]:
        console.print(_attempt_table(attempts))
    if repeats := [each for each in results if isinstance(each, RepeatResult)]:
        console.print(_repeat_table(repeats))
    if crowds := [each for each in results if isinstance(each, CrowdResult)]:
        console.print(_crowd_table(crowds))
    if read := [each for each in results if isinstance(each, RestResult)]:
        console.print(_rest_table(read))
    console.print(f"build: {results[0].build}")


def _busy_table(results: Sequence[Result]) -> Table:
    shares = _shares(results)
    headings = ("shape", "allocations/s", "us p50", "us p99", "resident MiB")
    table = _table(*headings, *(("share",) if shares else ()))
    for result in results:
        cost = result.microseconds_per_allocation
        table.add_row(
            result.shape,
            f"{result.allocations_per_second:,.0f}",
            f"{cost.p50:.1f}",
            f"{cost.p99:.1f}",
            _mebibytes(result),
            shares.get(result.shape, ""),
        )
    return table


def _shares(results: Sequence[Result]) -> dict[str, str]:
    """Return how fast shapes are as a share of those they were made from, where both ran."""
    rates = {result.shape: result.allocations_per_second for result in results}
    return {
        shape: f"{rates[shape] / rates[origin]:.0%} of {origin}"
        for shape, origin in SHARE_OF.items()
        if shape in rates and origin in rates
    }


def _idle_table(results: Sequence[IdleResult]) -> Table:
    table = _table("shape", "nodes", "waiting", "CPU", "ms p50", "ms p99", "ms max", "resident MiB")
    for result in results:
        table.add_row(
            result.shape,
            f"{result.nodes:,}",
            f"{result.waiting:,}",
            f"{result.cpu_share:.2%}",
            *_percentiles(result.reaction_milliseconds),
            _mebibytes(result),
        )
    return table


def _attempt_table(results: Sequence[AttemptResult]) -> Table:
    table = _table(
        *("shape", "leaves", "attempts", "victims"),
        *("ms p50", "ms p99", "ms max", "resident MiB"),
    )
    for result in results:
        table.add_row(
            result.shape,
            f"{result.leaves:,}",
            f"{result.attempts:,}",
            f"{result.victims:,}",
            *_percentiles(result.attempt_milliseconds),
            _mebibytes(result),
        )
    return table


def _repeat_table(results: Sequence[RepeatResult]) -> Table:
    table = _table(
        *("shape", "waiting", "attempts", "quiet hours", "attempts then"),
        *("unrelated change", "related change", "ms quiet", "resident MiB"),
    )
    for result in results:
        table.add_row(
            result.shape,
            f"{result.waiting:,}",
            f"{result.first:,}",
            f"{result.hours:,}",
            f"{result.quiet:,}",
            f"{result.unrelated:,}",
            f"{result.related:,}",
            f"{result.quiet_milliseconds:.2f}",
            _mebibytes(result),
        )
    return table


def _crowd_table(results: Sequence[CrowdResult]) -> Table:
    table = _table(
        *("shape", "asks", "half after s", "all after s", "by the clock", "victims per ask"),
        "resident MiB",
    )
    for result in results:
        table.add_row(
            result.shape,
            f"{result.asks:,}",
            f"{result.half.wall_seconds:.2f}",
            f"{result.all_placed.wall_seconds:.2f}",
            f"{result.all_placed.clock_seconds:.2f}",
            f"{result.victims:.2f}",
            _mebibytes(result),
        )
    return table


def _rest_table(results: Sequence[RestResult]) -> Table:
    table = _table(
        *("shape", "what", "times", "ms p50", "ms p99", "ms max"),
        *("read", "KiB", "placed/s"),
    )
    for result in results:
        for part in result.parts:
            table.add_row(
                result.shape,
                part.what,
                f"{part.count:,}",
                *_percentiles(part.milliseconds),
                f"{part.answers:,}",
                f"{part.kibibytes:,}",
                f"{part.rate:,.0f}",
            )
    return table


def _percentiles(times: Reaction) -> tuple[str, str, str]:
    return (f"{times.p50:.2f}", f"{times.p99:.2f}", f"{times.max:.2f}")


def _table(*headings: str) -> Table:
    table = Table(box=None, header_style="bold")
    for heading in headings:
        table.add_column(heading, justify="left" if heading == "shape" else "right")
    return table


def _mebibytes(result: Figures) -> str:
    return f"{result.resident_bytes / 2**20:.0f}"


def _chosen(names: list[str]) -> list[AnyShape]:
    if not names:
        return list(SHAPES)
    chosen: list[AnyShape] = []
    for name in names:
        if name.lower() == GROUP:
            chosen += PREEMPTION
        elif name.lower() == REST_GROUP:
            chosen += REST
        else:
            chosen.append(shape_named(name))
    return chosen


def shape_named(name: str) -> AnyShape:
    """Return the shape of a name in any case. Raises: UsageError if there is none."""
    every: tuple[AnyShape, ...] = (*SHAPES, IDLE, *PREEMPTION, *REST)
    for shape in every:
        if shape.name.lower() == name.lower():
            return shape
    known = ", ".join([*(each.name for each in every), GROUP, REST_GROUP])
    raise UsageError(f"there is no shape {name!r}; known shapes: {known}")


def _repeated(run: Callable[[S], R], shape: S, runs: int, done: Callable[[], None]) -> list[R]:
    """Measure a shape some times, each time in a new process."""
    results: list[R] = []
    for _ in range(runs):
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            results.append(pool.submit(run, shape).result())
        done()
    return results


def _median(results: list[R], figure: Callable[[R], float]) -> R:
    """Return the run with the median figure (the lower one of two)."""
    middle = statistics.median_low(figure(result) for result in results)
    return next(result for result in results if figure(result) == middle)
