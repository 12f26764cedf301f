"""The tables of all figures but the rates of placing."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from remuda.bench.reports.tables import mebibytes, percentiles, table_of
from remuda.bench.services.events import EventResult
from remuda.bench.services.over_grpc import GrpcResult
from remuda.bench.services.pauses import PauseResult
from remuda.bench.services.predicates import PredicateResult
from remuda.bench.services.recovery import RecoveryResult
from remuda.bench.services.startup import StartupResult
from remuda.bench.throughput.churn import ChurnResult
from remuda.bench.throughput.gang import GangResult
from remuda.bench.throughput.memory import MemoryResult
from remuda.bench.throughput.saturated import SaturatedResult
from remuda.bench.throughput.turnover import TurnoverResult


def pause_table(results: Sequence[PauseResult]) -> Table:
    """Return the table of how long asks waited while something disturbed."""
    table = table_of(
        *("shape", "what", "times", "ms p50", "ms p99", "ms max"),
        *("step ms", "machine", "MiB"),
    )
    for result in results:
        for part in result.parts:
            table.add_row(
                result.shape,
                part.what,
                f"{part.times:,}",
                *percentiles(part.milliseconds),
                f"{part.step_milliseconds:.2f}",
                f"{part.machine_milliseconds:.2f}",
                mebibytes(result),
            )
    return table


def memory_table(results: Sequence[MemoryResult]) -> Table:
    """Return the table of bytes for one object."""
    table = table_of("shape", "what", "count", "bytes each", "traced", "resident MiB")
    for result in results:
        for kind in result.kinds:
            table.add_row(
                result.shape,
                kind.what,
                f"{kind.count:,}",
                f"{kind.resident:,.0f}",
                f"{kind.traced:,.0f}",
                mebibytes(result),
            )
    return table


def churn_table(results: Sequence[ChurnResult]) -> Table:
    """Return the table of memory while asks come and end."""
    columns = ("MiB warm", "MiB most", "MiB last", "growth")
    table = table_of("shape", "asks ended", "asks/s", *columns)
    for result in results:
        table.add_row(
            result.shape,
            f"{result.ended:,}",
            f"{result.per_second:,.0f}",
            *(
                f"{n / 2**20:,.1f}"
                for n in (result.warm_bytes, result.most_bytes, result.last_bytes)
            ),
            f"{100 * result.growth():.1f} %",
        )
    return table


def gang_table(results: Sequence[GangResult]) -> Table:
    """Return the table of gangs: from the last placeholder until the first and last member."""
    table = table_of(
        *("shape", "gangs", "members", "gangs/s", "us CPU", "until"),
        *("ms p50", "ms p99", "ms max"),
    )
    for result in results:
        for until, times in (
            ("first", result.first_milliseconds),
            ("last", result.whole_milliseconds),
        ):
            table.add_row(
                result.shape,
                f"{result.gangs:,}",
                f"{result.members:,}",
                f"{result.gangs_per_second:,.1f}",
                f"{result.cpu_microseconds:.1f}",
                until,
                *percentiles(times),
            )
    return table


def predicate_table(results: Sequence[PredicateResult]) -> Table:
    """Return the table of asks with predicates, about which the resource manager is asked."""
    table = table_of(
        *("shape", "asks", "classes", "allocations/s", "verdicts each", "items each"),
        *("us CPU scheduler", "us CPU RM"),
    )
    for result in results:
        table.add_row(
            result.shape,
            f"{result.asks:,}",
            "named" if result.classed else "none",
            f"{result.allocations_per_second:,.0f}",
            f"{result.verdicts:.2f}",
            f"{result.items:.3f}",
            f"{result.server_microseconds:.1f}",
            f"{result.client_microseconds:.1f}",
        )
    return table


def event_table(results: Sequence[EventResult]) -> Table:
    """Return the table of event tracking."""
    table = table_of(
        "shape", "tracking", "allocations/s", "loss", "us CPU", "events", "lost", "MiB"
    )
    for result in results:
        for part in result.parts:
            table.add_row(
                result.shape,
                part.what,
                f"{part.allocations_per_second:,.0f}",
                f"{part.loss:.1%}",
                f"{part.cpu_microseconds:.1f}",
                f"{part.created:,}",
                f"{part.lost:,}",
                mebibytes(result),
            )
    return table


def saturated_table(results: Sequence[SaturatedResult]) -> Table:
    """Return the table of releases in a full cluster."""
    table = table_of(
        *("shape", "waiting", "releases", "at once"),
        *("us p50", "us p99", "us max", "us mean", "us CPU"),
    )
    for result in results:
        for part in result.parts:
            times = part.microseconds
            table.add_row(
                result.shape,
                f"{result.waiting:,}",
                f"{part.releases:,}",
                f"{part.batch:,}",
                *(f"{each:.0f}" for each in (times.p50, times.p99, times.max)),
                f"{part.mean_microseconds:.0f}",
                f"{part.cpu_microseconds:.0f}",
            )
    return table


def turnover_table(results: Sequence[TurnoverResult]) -> Table:
    """Return the table of allocations that end in a full cluster while as many asks come."""
    table = table_of(
        *("shape", "allocations/s", "at a rate of", "ms p50", "ms p99", "ms max", "resident MiB")
    )
    for result in results:
        times = result.milliseconds
        table.add_row(
            result.shape,
            f"{result.allocations_per_second:,.0f}",
            f"{result.per_second:,}/s",
            *(f"{each:.2f}" for each in (times.p50, times.p99, times.max)),
            mebibytes(result),
        )
    return table


def startup_table(results: Sequence[StartupResult]) -> Table:
    """Return the table of starts."""
    table = table_of("shape", "s to help", "s to serving", "resident MiB")
    for result in results:
        table.add_row(
            result.shape,
            f"{result.help_seconds:.2f}",
            f"{result.serving_seconds:.2f}",
            mebibytes(result),
        )
    return table


def grpc_table(results: Sequence[GrpcResult]) -> Table:
    """Return the table of measurements over gRPC."""
    table = table_of(
        *("shape", "RMs", "at once", "asks/s", "placed/s"),
        *("ms p50", "ms p99", "us", "us RMs", "MiB"),
    )
    for result in results:
        times = result.milliseconds
        table.add_row(
            result.shape,
            str(result.clients),
            str(result.per_message),
            f"{result.rate:,.0f}" if result.rate else "all",
            f"{result.allocations_per_second:,.0f}",
            *(f"{each:.2f}" for each in (times.p50, times.p99)),
            f"{result.server_microseconds:.1f}",
            f"{result.client_microseconds:.1f}",
            mebibytes(result),
        )
    return table


def recovery_table(results: Sequence[RecoveryResult]) -> Table:
    """Return the table of recoveries."""
    table = table_of("shape", "way", "nodes", "allocations", "s", "s CPU", "resident MiB")
    for result in results:
        table.add_row(
            result.shape,
            "in bulk" if result.bulk else "by node",
            f"{result.nodes:,}",
            f"{result.allocations:,}",
            f"{result.seconds:.2f}",
            f"{result.server_seconds:.2f}",
            mebibytes(result),
        )
    return table
