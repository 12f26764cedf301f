"""The command ``remuda bench``: allocations per second, and what else costs how much."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import Annotated, Final

import typer

EXAMPLES: Final = """
Examples:

  remuda bench                            all shapes, once each

  remuda bench S1 S8 --runs 5             the median of five runs

  remuda bench idle                       a scheduler that can place nothing

  remuda bench preemption                 P1 to P10: attempts to preempt, in a full cluster

  remuda bench rest                       R1 and R2: a scheduler that is read over REST

  remuda bench --output json              figures for machines
"""


class Output(StrEnum):
    """How the figures are printed."""

    TABLE = "table"
    JSON = "json"


def bench(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SHAPE]...",
            help="Shapes to run: S1 to S10, idle, P1 to P10 or all of these as preemption, R1 and "
            "R2 or both as rest; S1 to S10 by default.",
        ),
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

    The shape idle has 10,000 nodes and 100,000 asks that fit none of them. It shows the CPU time
    of doing nothing and how many milliseconds after its request a placeable ask is placed.

    P1 to P10 have 5,000 nodes full of 100,000 allocations. P1 to P8 show how long one attempt to
    preempt takes, P9 that a fruitless one is not repeated without a reason, P10 how soon 1,000 asks
    that are owed room have it. They go through the core's door, on a clock that jumps.

    R1 has 10,000 nodes and 100,000 allocations, and one ask a millisecond: how soon each is placed
    while nobody reads, while the state dump is read over and over, and while all nodes are. R2 has
    5,000 nodes and 50,000 allocations in 100 leaves and schedules as fast as it can: how long the
    queue tree and the applications of a leaf take to read.
    """
    from remuda.bench.session import as_json, as_table, medians  # noqa: PLC0415 - keeps help fast

    results = medians(names or [], runs, sys.stderr)
    if output is Output.JSON:
        sys.stdout.write(as_json(results))
    else:
        as_table(results, sys.stdout)
