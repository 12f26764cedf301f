"""The tables of figures for people, one for each kind of result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from rich.table import Table

from remuda.bench.clusters.shapes import SHARE_OF
from remuda.bench.preemption.attempts import AttemptResult
from remuda.bench.preemption.crowd import CrowdResult
from remuda.bench.preemption.repeats import RepeatResult
from remuda.bench.services.rest import RestResult
from remuda.bench.throughput.curves import CurveResult, exponent
from remuda.bench.throughput.idle import IdleResult, Reaction
from remuda.bench.throughput.run import Result


class Held(Protocol):
    """A result that knows how much memory was held."""

    @property
    def resident_bytes(self) -> int:
        """The resident memory of this process, when all was placed."""


def busy_table(results: Sequence[Result]) -> Table:
    """Return the table of shapes that were placed as fast as possible."""
    shares = _shares(results)
    headings = ("shape", "allocations/s", "us p50", "us p99", "resident MiB")
    table = table_of(*headings, *(("share",) if shares else ()))
    for result in results:
        cost = result.microseconds_per_allocation
        table.add_row(
            result.shape,
            f"{result.allocations_per_second:,.0f}",
            f"{cost.p50:.1f}",
            f"{cost.p99:.1f}",
            mebibytes(result),
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


def curve_table(results: Sequence[CurveResult]) -> Table:
    """Return the table of one scaling curve, with its exponent beside the last point."""
    table = table_of("curve", "at", "allocations/s", "us", "resident MiB", "exponent")
    slope = exponent(results)
    for result in results:
        last = result is results[-1]
        table.add_row(
            result.curve,
            f"{result.at:,}",
            f"{result.allocations_per_second:,.0f}",
            f"{result.microseconds_per_allocation:.1f}",
            mebibytes(result),
            f"{slope:+.2f}" if last and slope is not None else "",
        )
    return table


def idle_table(results: Sequence[IdleResult]) -> Table:
    """Return the table of schedulers with nothing to do."""
    table = table_of(
        "shape", "nodes", "waiting", "CPU", "ms p50", "ms p99", "ms max", "resident MiB"
    )
    for result in results:
        table.add_row(
            result.shape,
            f"{result.nodes:,}",
            f"{result.waiting:,}",
            f"{result.cpu_share:.2%}",
            *percentiles(result.reaction_milliseconds),
            mebibytes(result),
        )
    return table


def attempt_table(results: Sequence[AttemptResult]) -> Table:
    """Return the table of attempts to preempt."""
    table = table_of(
        *("shape", "leaves", "attempts", "victims"),
        *("ms p50", "ms p99", "ms max", "resident MiB"),
    )
    for result in results:
        table.add_row(
            result.shape,
            f"{result.leaves:,}",
            f"{result.attempts:,}",
            f"{result.victims:,}",
            *percentiles(result.attempt_milliseconds),
            mebibytes(result),
        )
    return table


def repeat_table(results: Sequence[RepeatResult]) -> Table:
    """Return the table of attempts that are not repeated."""
    table = table_of(
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
            mebibytes(result),
        )
    return table


def crowd_table(results: Sequence[CrowdResult]) -> Table:
    """Return the table of crowds that are owed room."""
    table = table_of(
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
            mebibytes(result),
        )
    return table


def rest_table(results: Sequence[RestResult]) -> Table:
    """Return the table of schedulers that were read."""
    table = table_of(
        *("shape", "what", "ms p50", "ms p99", "ms max"),
        *("read", "KiB", "placed/s", "+MiB"),
    )
    for result in results:
        for part in result.parts:
            table.add_row(
                result.shape,
                part.what,
                *percentiles(part.milliseconds),
                f"{part.answers:,}",
                f"{part.kibibytes:,}",
                f"{part.rate:,.0f}",
                f"{part.grown_bytes / 2**20:,.0f}",
            )
    return table


def percentiles(times: Reaction) -> tuple[str, str, str]:
    """Return the cells of p50, p99 and the longest."""
    return (f"{times.p50:.2f}", f"{times.p99:.2f}", f"{times.max:.2f}")


def table_of(*headings: str) -> Table:
    """Return a table with nothing in it yet; numbers stand on the right."""
    table = Table(box=None, header_style="bold")
    for heading in headings:
        table.add_column(heading, justify="left" if heading in {"shape", "curve"} else "right")
    return table


def mebibytes(result: Held) -> str:
    """Return the cell of what was held."""
    return f"{result.resident_bytes / 2**20:.0f}"
