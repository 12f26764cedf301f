"""A session of measurements: which shapes, how often, and the figures that are shown.

Each run has a process of its own, so that none inherits the memory and the warmed caches of the one
before. The median of several runs of a shape counts, because one disturbed run would change an
average.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import TextIO

import msgspec
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from remuda.base.errors import RemudaError
from remuda.base.message import message
from remuda.bench.suites.calibration import DRIFT, Calibration, calibrate
from remuda.bench.suites.catalogue import SUITES, AnySuite, Figures, Named, chosen
from remuda.bench.suites.machine import Machine, this_machine


@message
class Run:
    """One run of a shape: its raw figures, and how fast the machine was meanwhile."""

    figures: Figures
    calibration_milliseconds: Calibration


@message
class Measured:
    """All runs of a shape, in their order; ``median``: the figures of the median one."""

    shape: str
    median: Figures
    runs: tuple[Run, ...]


@message
class Session:
    """Everything that was measured, and where."""

    machine: Machine
    shapes: tuple[Measured, ...]

    def medians(self) -> list[Figures]:
        """Return the figures of the median run of each shape."""
        return [each.median for each in self.shapes]


def measure_all(names: Sequence[str], runs: int, err: TextIO) -> Session:
    """Measure the shapes these names stand for, S1 to S10 for none, each some times.

    Progress goes to ``err`` where that is a terminal. Raises: UsageError for a name that stands
    for nothing, RemudaError for a run that went wrong.
    """
    shapes = chosen(names)
    columns = (
        *(TextColumn("{task.description}"), BarColumn()),
        *(TextColumn("{task.completed:.0f} of {task.total:.0f} runs"), TimeElapsedColumn()),
    )
    progress = Progress(*columns, console=Console(file=err), disable=not err.isatty())
    measured: list[Measured] = []
    with progress:
        task = progress.add_task("", total=len(shapes) * runs)
        for suite, name in shapes:
            progress.update(task, description=name)
            measured.append(_measured(suite, name, runs, lambda: progress.advance(task)))
        progress.update(task, description="done")
    return Session(this_machine(), tuple(measured))


def _measured(suite: AnySuite, name: str, runs: int, done: Callable[[], None]) -> Measured:
    """Run a shape some times, each time in a new process."""
    measure, shape = suite.task(name)
    found: list[Run] = []
    for _ in range(runs):
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            found.append(pool.submit(_calibrated, measure, shape).result())
        done()
    return Measured(name, suite.median([run.figures for run in found]), tuple(found))


def _calibrated(measure: Callable[..., Figures], shape: Named) -> Run:
    before = calibrate()
    try:
        figures = measure(shape)
    except RemudaError as error:
        # Not every one of them can be sent to another process; a line of text can.
        raise RemudaError(str(error)) from None
    return Run(figures, Calibration(before, calibrate()))


def as_json(session: Session) -> str:
    """Return the figures of all runs for machines."""
    return msgspec.json.encode(session).decode() + "\n"


def as_table(session: Session, out: TextIO) -> None:
    """Write the median figures for people, and warnings where the machine was not equally fast."""
    console = Console(file=out)
    results = session.medians()
    for suite in SUITES:
        if (table := suite.shown(results)) is not None:
            console.print(table)
    for warning in warnings(session):
        console.print(f"warning: {warning}", soft_wrap=True)
    console.print(f"build: {session.machine.build}")


def warnings(session: Session) -> list[str]:
    """Return which runs were made while the speed of the machine changed by more than a tenth."""
    found: list[str] = []
    for each in session.shapes:
        drifts = [run.calibration_milliseconds.drift() for run in each.runs]
        if unsteady := [drift for drift in drifts if drift > DRIFT]:
            found.append(
                f"{each.shape}: the machine was not equally fast in {len(unsteady)} of "
                f"{len(drifts)} runs, by up to {max(unsteady):.0%}"
            )
    return found
