"""The command ``remuda bench``: allocations per second on fixed shapes."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from enum import StrEnum
from multiprocessing import get_context
from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from remuda.base.errors import UsageError
from remuda.bench.run import Result, measure
from remuda.bench.shapes import SHAPES, Shape, shape_named

EXAMPLES = """
Examples:

  remuda bench                            all shapes, once each

  remuda bench S1 S8 --runs 5             the median of five runs

  remuda bench --output json              figures for machines
"""


class Output(StrEnum):
    """How the figures are printed."""

    TABLE = "table"
    JSON = "json"


def bench(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[SHAPE]...", help="Shapes to run, S1 to S8; all by default."),
    ] = None,
    runs: Annotated[
        int, typer.Option(min=1, max=99, help="Runs of each shape; the median is printed.")
    ] = 1,
    output: Annotated[Output, typer.Option(help="A table for people, or JSON.")] = Output.TABLE,
) -> None:
    """Measure allocations per second through the in-process API.

    Each shape runs in a process of its own. The time is taken from the request with all asks to
    the last callback, with events and effects on; every run checks that each ask was placed once
    and that all counters are right.
    """
    shapes = _chosen(names or [])
    results = [_median(group) for group in _measure_all(shapes, runs)]
    if output is Output.JSON:
        sys.stdout.write(msgspec.json.encode(results).decode() + "\n")
    else:
        _print_table(results)


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


def _measure_all(shapes: list[Shape], runs: int) -> Iterable[list[Result]]:
    """Measure each shape some times, each time in a new process."""
    progress = Progress(console=Console(stderr=True), disable=not sys.stderr.isatty())
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


def _print_table(results: list[Result]) -> None:
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
    console = Console()
    console.print(table)
    console.print(f"build: {results[0].build}")
