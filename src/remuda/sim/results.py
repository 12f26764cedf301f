"""The files of a run: summary.json, allocations.csv and the page report.html.

The same input gives the same bytes, apart from the two figures of summary.json that are about
this run's speed and not about the schedule.
"""

from __future__ import annotations

import csv
import io
import json
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryFile
from typing import Final

from remuda.base.errors import UsageError
from remuda.base.message import message
from remuda.sim.metrics import Figures
from remuda.sim.simulator import Outcome, Scenario
from remuda.sim.workload import SECOND_NS

SUMMARY: Final = "summary.json"
ALLOCATIONS: Final = "allocations.csv"
REPORT: Final = "report.html"
COLUMNS: Final = ("task", "queue", "application", "node", "submit", "start", "end")
# What a spreadsheet takes for the beginning of a formula; the last two hide one.
_BEGINNINGS: Final = ("=", "+", "-", "@", "\t", "\r")
# Where tasks may be preempted there is one more column.
PREEMPTED: Final = "preempted"


@message
class Speed:
    """How fast a run was, by the wall clock."""

    wall_seconds: float
    allocations_per_second: float


def summary(figures: Figures, run: dict[str, str], speed: Speed) -> dict[str, object]:
    """Return the content of summary.json; ``run`` names input and options."""
    return {"run": run, **asdict(figures), **asdict(speed)}


def claim(directory: Path) -> None:
    """Make a directory if it is missing and see that the files can be written there.

    Called before a run, which may take long and would be lost. Files of an earlier run stay as
    they are until ``write``.

    Raises: UsageError.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=directory):
            pass
        for path in (directory / name for name in (SUMMARY, ALLOCATIONS, REPORT)):
            if path.exists():
                path.open("r+b").close()
    except OSError as error:
        raise _unwritable(directory, error) from None


def write(directory: Path, content: dict[str, str]) -> None:
    """Write files into a directory that was claimed.

    Raises: UsageError.
    """
    try:
        for name, text in content.items():
            (directory / name).write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise _unwritable(directory, error) from None


def _unwritable(directory: Path, error: OSError) -> UsageError:
    where = error.filename or directory
    return UsageError(f"--output: {where}: {error.strerror or error}")


def summary_text(content: dict[str, object]) -> str:
    """Return a summary as JSON."""
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def allocations_text(scenario: Scenario, outcome: Outcome) -> str:
    """Return one CSV row per start, in the order of the decisions; times in seconds.

    Names that a spreadsheet would take for formulas have an apostrophe before them. A gang has a
    row for each of its members. If tasks may be preempted, a start that was cut short is marked.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    tells = outcome.preemptions is not None
    writer.writerow((*COLUMNS, PREEMPTED) if tells else COLUMNS)
    for placement in outcome.placements:
        task = scenario.workload.tasks[placement.task]
        names = (task.task_id, scenario.queues.paths[placement.task], task.application_id)
        what = [plain_cell(each) for each in names]
        when = (
            seconds_text(placement.submit_ns),
            seconds_text(placement.start_ns),
            "" if placement.end_ns is None else seconds_text(placement.end_ns),
        )
        more = ("yes" if placement.preempted else "no",) if tells else ()
        writer.writerows(
            (*what, plain_cell(node_id), *when, *more) for node_id in placement.node_ids
        )
    return text.getvalue()


def seconds_text(time_ns: int) -> str:
    """Return nanoseconds as exact decimal seconds, without needless zeros."""
    seconds, rest = divmod(time_ns, SECOND_NS)
    return f"{seconds}.{rest:09}".rstrip("0") if rest else str(seconds)


def plain_cell(text: str) -> str:
    """Return a text, with an apostrophe before it if a spreadsheet would take it for a formula."""
    return f"'{text}" if text.startswith(_BEGINNINGS) else text
