"""The result on the terminal: tables for people, plain columns for pipes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final, TextIO

from remuda.sim.metrics import Figures
from remuda.sim.results import Speed
from remuda.sim.simulator import Progress
from remuda.sim.wording import queue_rows, speed_line, task_rows, use_rows

QUEUE_ROWS_LIMIT: Final = 20

_Table = tuple[str, Sequence[str], Sequence[Sequence[str]]]


def show(figures: Figures, speed: Speed, out: TextIO) -> None:
    """Write the figures of a run."""
    for title, header, rows in _tables(figures):
        if out.isatty():
            _show_rich(title, header, rows, out)
        else:
            _show_plain(title, header, rows, out)
    hidden = len(figures.queues) - QUEUE_ROWS_LIMIT
    if hidden > 0:
        out.write(f"... and {hidden} more queues\n")
    out.write(f"{speed_line(figures, speed)}\n")


@contextmanager
def progress_bar(total: int, err: TextIO) -> Iterator[Progress]:
    """Show how many tasks are through, on a terminal only."""
    if not err.isatty():
        yield _silent
        return
    from rich.console import Console  # noqa: PLC0415 - only terminals need it
    from rich.progress import Progress as Bar  # noqa: PLC0415

    with Bar(console=Console(file=err), transient=True) as bar:
        line = bar.add_task("simulating", total=total)
        yield lambda done: bar.update(line, completed=done)


def _silent(done: int) -> None:
    """Nobody is watching."""


def _tables(figures: Figures) -> list[_Table]:
    types = tuple(figures.utilisation)
    queue_header = ("queue", "tasks", "placed", "mean wait", *types)
    return [
        ("Tasks", (), task_rows(figures)),
        ("Utilisation", ("resource", "mean", "peak", "final"), use_rows(figures)),
        ("Share per queue", queue_header, queue_rows(figures)[:QUEUE_ROWS_LIMIT]),
    ]


def _show_rich(
    title: str, header: Sequence[str], rows: Sequence[Sequence[str]], out: TextIO
) -> None:
    from rich.console import Console  # noqa: PLC0415 - only terminals need it
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table(title=title, title_justify="left", show_header=bool(header))
    for place in range(len(header) or 2):
        name = header[place] if header else ""
        table.add_column(Text(name), justify="right" if place else "left")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    Console(file=out).print(table)


def _show_plain(
    title: str, header: Sequence[str], rows: Sequence[Sequence[str]], out: TextIO
) -> None:
    lines = [header, *rows] if header else list(rows)
    widths = [max(len(line[place]) for line in lines) for place in range(len(lines[0]))]
    out.write(f"{title}\n")
    for line in lines:
        first, *others = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        rest = [cell.strip().rjust(width) for cell, width in zip(others, widths[1:], strict=True)]
        out.write("  ".join(["", first, *rest]).rstrip() + "\n")
    out.write("\n")
