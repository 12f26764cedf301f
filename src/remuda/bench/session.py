"""A session of measurements: which shapes, how often, and the figures that are shown.

Each run has a process of its own, so that none inherits the memory and the warmed caches of the
one before; of several runs of a shape the median counts, because an average would hold the
disturbance of one.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import TextIO

import msgspec
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from remuda.base.errors import UsageError
from remuda.bench.run import Result, measure
from remuda.bench.shapes import SHAPES, Shape, shape_named


def medians(names: list[str], runs: int, err: TextIO) -> list[Result]:
    """Measure the shapes of these names, all for none, and return the median run of each.

    Raises: UsageError for a name no shape has, RemudaError for a run that went wrong.
    """
    return [_median(group) for group in _measure_all(_chosen(names), runs, err)]


def as_json(results: list[Result]) -> str:
    """Return the figures for machines."""
    return msgspec.json.encode(results).decode() + "\n"


def as_table(results: list[Result], out: TextIO) -> None:
    """Write the figures for people."""
    table = Table(box=None, header_style="bold")
    for heading in ("shape", "allocations/s", "us p50", "us p99", "resident MiB"):
        table.add_column(heading, justify="left" if heading == "shape" else "right")
    for result in results:
        cost = result.microseconds_per_allocation
        table.add_row(
            result.shape,
            f"{result.allocations_per_second:,.0f}",
            f"{cost.p50:.1f}",
            f"{cost.p99:.1f}",
            f"{result.resident_bytes / 2**20:.0f}",
        )
    console = Console(file=out)
    console.print(table)
    console.print(f"build: {results[0].build}")


def _chosen(names: list[str]) -> list[Shape]:
    if not names:
        return list(SHAPES)
    chosen: list[Shape] = []
    for name in names:
        shape = shape_named(name)
        if shape is None:
            known = ", ".join(each.name for each in SHAPES)
            raise UsageError(f"there is no shape {name!r}; known shapes: {known}")
        chosen.append(shape)
    return chosen


def _measure_all(shapes: list[Shape], runs: int, err: TextIO) -> Iterable[list[Result]]:
    """Measure each shape some times, each time in a new process."""
    progress = Progress(console=Console(file=err), disable=not err.isatty())
    with progress:
        task = progress.add_task("measuring", total=len(shapes) * runs)
        for shape in shapes:
            results: list[Result] = []
            for _ in range(runs):
                with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
                    results.append(pool.submit(measure, shape).result())
                progress.advance(task)
            yield results


def _median(results: list[Result]) -> Result:
    """Return the run with the median rate (the lower one of two)."""
    middle = statistics.median_low(result.allocations_per_second for result in results)
    return next(result for result in results if result.allocations_per_second == middle)
