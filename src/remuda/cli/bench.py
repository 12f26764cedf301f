"""``remuda bench``: how many allocations per second, and what else costs how much."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer

from remuda.cli.extras import require

EXAMPLES: Final = """
Examples:

  remuda bench                            S1 to S10, once each

  remuda bench S1 S8 --runs 5             the median of five runs

  remuda bench curves --plot curves.svg   what grows with the cluster, drawn

  remuda bench idle preemption rest       what else costs how much

  remuda bench --output json > now.json   figures of every run, for machines

  remuda bench --compare now.json         what is faster, or decided otherwise
"""


class Output(StrEnum):
    """How the figures are printed."""

    TABLE = "table"
    JSON = "json"


def bench(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME",
            help="Shapes, or suites of them, as explained above; S1 to S10 by default.",
        ),
    ] = None,
    runs: Annotated[
        int, typer.Option(min=1, max=99, help="Runs of each shape; the median is printed.")
    ] = 1,
    output: Annotated[Output, typer.Option(help="A table for people, or JSON.")] = Output.TABLE,
    compare: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Also compare rates and decisions with a file of --output json.",
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw rates and curves to a .svg or .png file."),
    ] = None,
) -> None:
    """Measure allocations per second through the in-process API, and other costs.

    Each run has a process of its own. The time runs from the request with all
    asks to the last callback, with events and effects on. Every run checks that
    each ask was placed once and that all counters are right. A fixed loop before
    and after each run shows whether the machine was equally fast.

    \b
    Throughput
      core          S1 to S10; they run if no name is given
      S1, S2        1,000 and 5,000 nodes, 10 queues of 10 applications
      S3, S7        100 queues; 1,000 applications in fair order
      S4, S5        S1 and S2 with packed nodes
      S6            10,000 nodes, 100 queues, 100,000 asks
      S8            S1 behind 100,000 asks that fit nowhere
      S9            S1 with limits of users and groups everywhere
      S10           S6 with unequal nodes and asks, four types, priorities
      wide          W1 to W5: YuniKorn's own benchmarks, and 16 kinds of asks
      W1, W2        1,000 and 5,000 nodes, 2 queues of one application
      W3            5,000 nodes, 5 queues of 80 applications
      W4, W5        5,000 nodes, 100 queues of 5 applications, 16 kinds of
                    asks; the same on packed nodes
      mixed         M1 to M11: sizes in random order, nodes of four sizes, a
                    maximum on each of 100 queues, 50,000 asks
      M1, M2, M3    1,000, 10,000 and 50,000 nodes, 1,000 applications
      M4, M5        M2 with packed nodes; 5,000 nodes with applications in
                    fair order
      M6, M7        10,000 and 20,000 applications, 40,000 asks
      M8, M9        1,000 and 5,000 queues, 10,000 applications, 40,000 asks
      M10, M11      full clusters of 100 and 1,000 queues, in which half of
                    20,000 allocations end while as many asks come

    \b
    Scaling: the cost of an allocation while one number grows, and its exponent
      curves        all six of these
      nodes         100 to 20,000 nodes
      queues        10 to 10,000 leaf queues
      applications  10 to 10,000 applications
      backlog       0 to 100,000 asks that fit nowhere
      types         2 to 32 types of resources
      asks          1,000 to 100,000 asks of one application

    \b
    Other costs
      idle          10,000 nodes and 100,000 asks that fit none of them: the
                    CPU time of doing nothing, and how soon an ask is placed
      preemption    P1 to P10, in 5,000 nodes full of 100,000 allocations:
                    attempts of all kinds (P1 to P8), repeats of attempts in
                    vain (P9), 1,000 asks below their guarantee (P10)
      rest          R1, R2: scheduling while clients read over REST, and the
                    time of the answers
      grpc          G1 to G6: a scheduler in a process of its own, asked over
                    gRPC by one and by four clients, at full and at a fixed rate
      predicates    Q1, Q2: 5,000 nodes and 50,000 asks, where the resource
                    manager is asked about nodes over a session; without
                    predicate classes and with ten
      recovery      V1, V2: the time to report 10,000 nodes with 100,000
                    allocations, over gRPC
      pauses        the longest wait of an ask while 2,000 queues are loaded
                    anew, dumps are read, garbage is collected
      gang          1,000 gangs of 2 to 512 members on 5,000 nodes
      saturated     releases in a full cluster, until the next ask is placed
      events        S1 without events, with them, and with ten streams
      memory        bytes for a node, an allocation, a pending ask
      churn         whether memory grows while 9,000 asks a second come and
                    end, for ten minutes
      startup       seconds to --help and to serving, and memory then
    """  # noqa: D301 - the character itself keeps the lines of a paragraph apart
    require("bench", "remuda bench", "rich")
    if plot is not None:
        require("plot", "--plot", "matplotlib")
    from remuda.bench.suites.compare import as_comparison, read_session  # noqa: PLC0415 - quick help
    from remuda.bench.suites.session import as_json, as_table, measure_all  # noqa: PLC0415 - quick help

    earlier = None if compare is None else read_session(compare)
    if plot is not None:
        from remuda.bench.suites.plot import check_target  # noqa: PLC0415 - Matplotlib only if needed

        check_target(plot)
    session = measure_all(names or [], runs, sys.stderr)
    if output is Output.JSON:
        sys.stdout.write(as_json(session))
    else:
        as_table(session, sys.stdout)
    if earlier is not None:
        as_comparison(session, earlier, sys.stderr if output is Output.JSON else sys.stdout)
    if plot is not None:
        from remuda.bench.suites.plot import draw  # noqa: PLC0415 - Matplotlib only if needed

        draw(session, plot)
