"""The command ``remuda simulate``: options to a scenario, a run to files and a table."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer

from remuda.base.errors import UsageError
from remuda.cli.extras import require
from remuda.config.schema import NODE_SORT_BINPACKING, NODE_SORT_FAIR
from remuda.config.settings import RESERVATION_DELAY

EXAMPLES: Final = r"""
Examples:

  remuda simulate --nodes nodes.csv --workload tasks.csv --output result

  remuda simulate --workload NASA-iPSC-1993-3.1-cln.swf.gz --output result

  remuda simulate --nodes 10xmemory=64000000000,vcore=32000 \
      --workload tasks.csv --output result

  remuda simulate --nodes nodes.csv --workload tasks.csv \
      --config queues.yaml --output result

  remuda simulate --nodes 128xgpu=8000 --workload philly_jobs.csv \
      --gangs --output result

  remuda simulate --nodes nodes.csv --workload tasks.csv \
      --preemption on --output result
"""


class Format(StrEnum):
    """Formats of a workload file."""

    AUTO = "auto"
    ALIBABA_GPU = "alibaba-gpu"
    PHILLY = "philly"
    SWF = "swf"
    REMUDA = "remuda"


class Mode(StrEnum):
    """How tasks come and go."""

    REPLAY = "replay"
    FILL = "fill"


class QueueBy(StrEnum):
    """What decides the queue of a task."""

    USER = "user"
    CLASS = "class"
    VC = "vc"
    NONE = "none"


class GangStyle(StrEnum):
    """What happens to a gang whose placeholders do not all get room in time."""

    SOFT = "soft"
    HARD = "hard"


class Switch(StrEnum):
    """Whether something happens."""

    ON = "on"
    OFF = "off"


class NodeSort(StrEnum):
    """Which node comes first."""

    FAIR = NODE_SORT_FAIR
    BINPACKING = NODE_SORT_BINPACKING


def simulate(
    *,
    workload: Annotated[Path, typer.Option(metavar="FILE", help="The tasks; plain or gzip (.gz).")],
    nodes: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|SHAPE",
            help="The cluster: a node list, or equal nodes such as 10xmemory=1000,vcore=4000. "
            "An swf log brings its own: one node of MaxProcs.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Write summary.json, allocations.csv and report.html into this directory.",
        ),
    ] = None,
    format_: Annotated[
        Format, typer.Option("--format", help="The workload's format; auto looks at the file.")
    ] = Format.AUTO,
    config: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Queue configuration (YAML). Without it: one first-in-first-out queue per "
            "value of --queue-by, no limits, every resource type weighs 1.",
        ),
    ] = None,
    mode: Annotated[
        Mode,
        typer.Option(
            help="replay: arrivals and run times of the trace. "
            "fill: all tasks are submitted at once, and none ends."
        ),
    ] = Mode.REPLAY,
    queue_by: Annotated[
        QueueBy | None,
        typer.Option(
            help="The column that decides a task's queue; vc is also 'queue' of the remuda "
            "format. Default: vc if the trace has it, else none."
        ),
    ] = None,
    node_sort: Annotated[
        NodeSort | None,
        typer.Option(
            help="Which node a task gets: the least used one (fair, the default) or the most "
            "used one that fits (binpacking). Overrides --config."
        ),
    ] = None,
    from_: Annotated[
        str | None,
        typer.Option("--from", metavar="S", help="Only tasks submitted at second S or later."),
    ] = None,
    to: Annotated[
        str | None, typer.Option(metavar="S", help="Only tasks submitted before second S.")
    ] = None,
    seed: Annotated[
        int,
        typer.Option(
            help="Recorded in the results. No part of a simulation is random, so every "
            "seed gives the same schedule."
        ),
    ] = 0,
    reservation_delay: Annotated[
        str,
        typer.Option(
            metavar="TIME|off",
            help="How long a task waits before it may reserve a node that is large enough, on "
            "the clock of the trace; off: no reservations.",
        ),
    ] = RESERVATION_DELAY,
    gangs: Annotated[
        bool,
        typer.Option(
            "--gangs",
            help="Each task is a gang: its GPUs (philly), processors (swf) or members (remuda) "
            "start together, on one node or many.",
        ),
    ] = False,
    gang_style: Annotated[
        GangStyle,
        typer.Option(
            help="A gang that did not get room for all members within 15 minutes goes on as an "
            "ordinary application (soft) or fails (hard)."
        ),
    ] = GangStyle.SOFT,
    preemption: Annotated[
        Switch,
        typer.Option(
            help="on: tasks may preempt others, which begin anew. Without --config each queue is "
            "guaranteed an equal share of the cluster then."
        ),
    ] = Switch.OFF,
) -> int:
    """Play a trace of real or made-up work through the scheduler, on a virtual clock.

    The production scheduler decides. The result shows how long tasks waited, how full the cluster
    was and what each queue got. Times are seconds, amounts base units of the scheduler.
    """
    if gang_style is GangStyle.HARD and not gangs:
        raise UsageError("--gang-style: there are no gangs without --gangs")
    if output is not None:
        require("simulate", "the report of --output", "matplotlib")
    from remuda.sim.experiment import Options, run  # noqa: PLC0415 - keeps help fast

    options = Options(
        workload=workload,
        nodes=nodes,
        output=output,
        format=format_.value,
        config=config,
        mode=mode.value,
        queue_by=queue_by and queue_by.value,
        node_sort=node_sort and node_sort.value,
        from_seconds=from_,
        to_seconds=to,
        seed=seed,
        reservation_delay=reservation_delay,
        gangs=gangs,
        gang_style="Hard" if gang_style is GangStyle.HARD else "Soft",
        preemption=preemption is Switch.ON,
    )
    run(options, sys.stdout, sys.stderr)
    return 0
