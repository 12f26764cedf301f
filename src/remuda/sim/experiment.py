"""One run of ``remuda simulate``: from options to files and figures.

This is the only module of the simulator that looks at the wall clock, and only to say how fast
the run was.
"""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import TextIO

from remuda.base.errors import UsageError
from remuda.base.message import message
from remuda.config.schema import NODE_SORT_FAIR
from remuda.config.settings import RESERVATION_DELAY
from remuda.runtime.reservation import read_delay
from remuda.sim import results
from remuda.sim.gangs import Style, as_gangs
from remuda.sim.metrics import Figures, measure
from remuda.sim.queues import NONE, QueuePlan, given_queues, own_queues
from remuda.sim.results import Speed
from remuda.sim.simulator import Mode, Outcome, Scenario, simulate
from remuda.sim.terminal import progress_bar, show
from remuda.sim.traces.detect import AUTO, read_nodes, read_workload
from remuda.sim.traces.rows import nanoseconds
from remuda.sim.workload import VC, NodeSpec, Workload, replayable, select


@message
class Options:
    """The options of a run, named as on the command line; None: not given."""

    workload: Path
    nodes: str | None = None
    output: Path | None = None
    format: str = AUTO
    config: Path | None = None
    mode: Mode = "replay"
    queue_by: str | None = None
    node_sort: str | None = None
    from_seconds: str | None = None
    to_seconds: str | None = None
    seed: int = 0
    reservation_delay: str = RESERVATION_DELAY
    gangs: bool = False
    gang_style: Style = "Soft"
    preemption: bool = False


def run(options: Options, out: TextIO, err: TextIO) -> Figures:
    """Play a trace, show the figures on ``out`` and write the files.

    Raises: UsageError, ConfigError.
    """
    scenario, about = prepare(options)
    if options.output is not None:
        results.claim(options.output)
    began = perf_counter()
    with progress_bar(len(scenario.workload.tasks), err) as progress:
        outcome = simulate(scenario, progress)
    wall_seconds = perf_counter() - began
    figures = measure(scenario, outcome)
    allocations = sum(len(placement.node_ids) for placement in outcome.placements)
    rate = allocations / wall_seconds if wall_seconds else 0.0
    speed = Speed(wall_seconds, rate)
    if options.output is not None:
        files = _files(scenario, outcome, figures, about, speed)
        results.write(options.output, files)
    show(figures, speed, out)
    if options.output is not None:
        out.write(f"results: {options.output}\n")
    return figures


def prepare(options: Options) -> tuple[Scenario, dict[str, str]]:
    """Return the workload to play, and the names of input and options for the results.

    Raises: UsageError, ConfigError.
    """
    delay_ns = read_delay("--reservation-delay", options.reservation_delay)
    if options.preemption and options.mode == "fill":
        text = "no time passes in a fill, and nobody preempts at once; use --mode replay"
        raise UsageError(f"--preemption on: {text}")
    trace = read_workload(options.workload, options.format)
    if options.mode == "replay":
        trace = replayable(trace)
    trace = select(
        trace,
        _nanoseconds("--from", options.from_seconds),
        _nanoseconds("--to", options.to_seconds),
    )
    if options.gangs:
        trace = as_gangs(trace)
    nodes = read_nodes(options.nodes, trace)
    queue_by = options.queue_by or (VC if VC in trace.labels else NONE)
    plan = _queues(options, trace, nodes, queue_by)
    style = options.gang_style if options.gangs else None
    about = {
        "workload": options.workload.name,
        "nodes": _nodes_name(options.nodes or ""),
        "format": trace.format,
        "mode": options.mode,
        "config": options.config.name if options.config else "",
        "queue_by": queue_by,
        "node_sort": plan.configuration.partitions[0].node_sort_policy,
        "from": options.from_seconds or "",
        "to": options.to_seconds or "",
        "seed": str(options.seed),
        "reservation_delay": options.reservation_delay,
        "gangs": style or "",
        "preemption": "on" if options.preemption else "off",
    }
    return Scenario(nodes, trace, plan, options.mode, delay_ns, style, options.preemption), about


def _nodes_name(text: str) -> str:
    """Return the name of a node list's file; a shape as it is, whose types may have slashes."""
    path = Path(text)
    return path.name if path.is_file() else text


def _queues(
    options: Options, trace: Workload, nodes: tuple[NodeSpec, ...], queue_by: str
) -> QueuePlan:
    if options.config is None:
        node_sort = options.node_sort or NODE_SORT_FAIR
        return own_queues(
            trace,
            queue_by,
            nodes,
            node_sort,
            gangs=options.gangs,
            preemption=options.preemption,
        )
    # Imported here because few runs need YAML.
    from remuda.runtime.configuration.text import read_configuration  # noqa: PLC0415

    configuration = read_configuration(options.config)
    return given_queues(
        trace, queue_by, configuration, options.node_sort, preemption=options.preemption
    )


def _nanoseconds(option: str, text: str | None) -> int | None:
    try:
        return None if text is None else nanoseconds(text)
    except ValueError as error:
        raise UsageError(f"{option}: {error}") from None


def _files(
    scenario: Scenario,
    outcome: Outcome,
    figures: Figures,
    about: dict[str, str],
    speed: Speed,
) -> dict[str, str]:
    from remuda.sim.report import page  # noqa: PLC0415 - drawing takes a second to import

    return {
        results.SUMMARY: results.summary_text(results.summary(figures, about, speed)),
        results.ALLOCATIONS: results.allocations_text(scenario, outcome),
        results.REPORT: page(scenario, outcome, figures, about),
    }
