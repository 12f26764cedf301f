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
from remuda.bench.idle import IdleResult, measure_idle
from remuda.bench.run import Result, measure
from remuda.bench.shapes import IDLE, SHAPES, Shape, shape_named

Figures: TypeAlias = Result | IdleResult

R = TypeVar("R")


def medians(names: list[str], runs: int, err: TextIO) -> list[Figures]:
    """Measure the shapes of these names, S1 to S9 for none, and return the median run of each.

    Raises: UsageError for a name no shape has, RemudaError for a run that went wrong.
    """
    shapes = _chosen(names)
    found: list[Figures] = []
    progress = Progress(console=Console(file=err), disable=not err.isatty())
    with progress:
        task = progress.add_task("measuring", total=len(shapes) * runs)

        def done() -> None:
            progress.advance(task)

        for shape in shapes:
            if shape == IDLE:
                found.append(_median(_repeated(measure_idle, shape, runs, done), _slowness))
            else:
                found.append(_median(_repeated(measure, shape, runs, done), _rate))
    return found


def as_json(results: Sequence[Figures]) -> str:
    """Return the figures for machines."""
    return msgspec.json.encode(results).decode() + "\n"


def as_table(results: Sequence[Figures], out: TextIO) -> None:
    """Write the figures for people."""
    console = Console(file=out)
    busy = [each for each in results if isinstance(each, Result)]
    if busy:
        console.print(_busy_table(busy))
    idle = [each for each in results if isinstance(each, IdleResult)]
    if idle:
        console.print(_idle_table(idle))
    console.print(f"build: {results[0].build}")


def _busy_table(results: Sequence[Result]) -> Table:
    table = _table("shape", "allocations/s", "us p50", "us p99", "resident MiB")
    for result in results:
        cost = result.microseconds_per_allocation
        table.add_row(
            result.shape,
            f"{result.allocations_per_second:,.0f}",
            f"{cost.p50:.1f}",
            f"{cost.p99:.1f}",
            _mebibytes(result),
        )
    return table


def _idle_table(results: Sequence[IdleResult]) -> Table:
    table = _table("shape", "nodes", "waiting", "CPU", "ms p50", "ms p99", "ms max", "resident MiB")
    for result in results:
        reaction = result.reaction_milliseconds
        table.add_row(
            result.shape,
            f"{result.nodes:,}",
            f"{result.waiting:,}",
            f"{result.cpu_share:.2%}",
            f"{reaction.p50:.2f}",
            f"{reaction.p99:.2f}",
            f"{reaction.max:.2f}",
            _mebibytes(result),
        )
    return table


def _table(*headings: str) -> Table:
    table = Table(box=None, header_style="bold")
    for heading in headings:
        table.add_column(heading, justify="left" if heading == "shape" else "right")
    return table


def _mebibytes(result: Figures) -> str:
    return f"{result.resident_bytes / 2**20:.0f}"


def _chosen(names: list[str]) -> list[Shape]:
    if not names:
        return list(SHAPES)
    chosen: list[Shape] = []
    for name in names:
        shape = shape_named(name)
        if shape is None:
            known = ", ".join(each.name for each in (*SHAPES, IDLE))
            raise UsageError(f"there is no shape {name!r}; known shapes: {known}")
        chosen.append(shape)
    return chosen


def _repeated(
    run: Callable[[Shape], R], shape: Shape, runs: int, done: Callable[[], None]
) -> list[R]:
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


def _rate(result: Result) -> float:
    return result.allocations_per_second


def _slowness(result: IdleResult) -> float:
    return result.reaction_milliseconds.p99
