"""The result on the terminal: tables for people, plain columns for pipes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Final, TextIO

from remuda.sim.metrics import Figures
from remuda.sim.results import Speed
from remuda.sim.simulator import Progress
from remuda.sim.wording import Table, speed_line, tables

QUEUE_ROWS_LIMIT: Final = 20


def show(figures: Figures, speed: Speed, out: TextIO) -> None:
    """Write the figures of a run."""
    for table in tables(figures, QUEUE_ROWS_LIMIT):
        show_table(table, out)
    hidden = len(figures.queues) - QUEUE_ROWS_LIMIT
    if hidden > 0:
        out.write(f"... and {hidden} more queues\n")
    out.write(f"{speed_line(figures, speed)}\n")


def show_table(table: Table, out: TextIO) -> None:
    """Write one table."""
    if _is_rich(out):
        _show_rich(table, out)
    else:
        _show_plain(table, out)


@contextmanager
def progress_bar(total: int, err: TextIO) -> Iterator[Progress]:
    """Show how many tasks are done, on a terminal only."""
    if not _is_rich(err):
        yield _silent
        return
    from rich.console import Console  # noqa: PLC0415 - only terminals need it
    from rich.progress import Progress as Bar  # noqa: PLC0415

    with Bar(console=Console(file=err), transient=True) as bar:
        line = bar.add_task("simulating", total=total)
        yield lambda done: bar.update(line, completed=done)


@contextmanager
def runs_bar(err: TextIO) -> Iterator[Callable[[int, int], None]]:
    """Show how many runs of how many are done, and the time left, on a terminal only."""
    if not _is_rich(err):
        yield lambda done, total: None
        return
    from rich import progress as rich_progress  # noqa: PLC0415 - only terminals need it
    from rich.console import Console  # noqa: PLC0415

    columns = (
        rich_progress.TextColumn("playing runs"),
        rich_progress.BarColumn(),
        rich_progress.MofNCompleteColumn(),
        rich_progress.TimeRemainingColumn(),
    )
    with rich_progress.Progress(*columns, console=Console(file=err), transient=True) as bar:
        line = bar.add_task("", total=None)
        yield lambda done, total: bar.update(line, completed=done, total=total)


def _is_rich(stream: TextIO) -> bool:
    """Whether a stream is a terminal, and the extra ``simulate`` with rich is installed."""
    return stream.isatty() and find_spec("rich") is not None


def _silent(done: int) -> None:
    """Show no progress, because the output is no terminal."""


def _show_rich(table: Table, out: TextIO) -> None:
    from rich import table as rich_table  # noqa: PLC0415 - only terminals need it
    from rich.console import Console  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    header = table.header
    shown = rich_table.Table(title=table.title, title_justify="left", show_header=bool(header))
    for place in range(len(header) or 2):
        name = header[place] if header else ""
        shown.add_column(Text(name), justify="right" if place else "left")
    for row in table.rows:
        shown.add_row(*(Text(cell) for cell in row))
    Console(file=out).print(shown)


def _show_plain(table: Table, out: TextIO) -> None:
    lines = [table.header, *table.rows] if table.header else list(table.rows)
    widths = [max(len(line[place]) for line in lines) for place in range(len(lines[0]))]
    out.write(f"{table.title}\n")
    for line in lines:
        first, *others = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        rest = [cell.strip().rjust(width) for cell, width in zip(others, widths[1:], strict=True)]
        out.write("  ".join(["", first, *rest]).rstrip() + "\n")
    out.write("\n")
