"""How the figures of served schedulers are shown to people."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from remuda.bench.over_grpc import GrpcResult
from remuda.bench.recovery import RecoveryResult


def grpc_table(results: Sequence[GrpcResult]) -> Table:
    """Return the table of what was measured over gRPC."""
    table = _table(
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
            f"{result.resident_bytes / 2**20:.0f}",
        )
    return table


def recovery_table(results: Sequence[RecoveryResult]) -> Table:
    """Return the table of recoveries."""
    table = _table("shape", "way", "nodes", "allocations", "s", "s CPU", "resident MiB")
    for result in results:
        table.add_row(
            result.shape,
            "in bulk" if result.bulk else "by node",
            f"{result.nodes:,}",
            f"{result.allocations:,}",
            f"{result.seconds:.2f}",
            f"{result.server_seconds:.2f}",
            f"{result.resident_bytes / 2**20:.0f}",
        )
    return table


def _table(*headings: str) -> Table:
    table = Table(box=None, header_style="bold")
    for heading in headings:
        table.add_column(heading, justify="left" if heading == "shape" else "right")
    return table
