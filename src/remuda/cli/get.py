"""The command ``remuda get``: lists of what a running scheduler has."""

from __future__ import annotations

import sys
import time
from typing import Annotated, Final

import typer

from remuda.base.errors import UsageError
from remuda.cli.server import (
    AuthorityOption,
    ContextOption,
    Server,
    ServerOption,
    TokenOption,
    server_at,
)
from remuda.cli.viewing import completing
from remuda.cli.viewing.columns import Kind, Question
from remuda.cli.viewing.kinds import kind_of
from remuda.cli.viewing.options import (
    EveryOption,
    LimitOption,
    OutputOption,
    PartitionOption,
    QueueOption,
    RmOption,
    SortOption,
    UserOption,
    check_every,
)
from remuda.cli.viewing.output import Output, Tables, writer_of
from remuda.cli.viewing.selecting import Wanted, in_order, rows_of
from remuda.cli.viewing.showing import asked, show
from remuda.cli.viewing.tables import Table, screen_of
from remuda.cli.viewing.watching import Changes, Frame, again, drawn

EXAMPLES: Final = """
Examples:

  remuda get queues

  remuda get apps --queue root.etl --sort-by=-used.memory --limit 10

  remuda get nodes --state draining -o name

  remuda get asks --user ann -o json

  remuda get nodes n7 --watch
"""

_KIND: Final = (
    "queues, applications, asks, allocations, nodes, users, groups, reservations, preemptions,"
    " partitions or events."
)

# Forms whose rows can be written again one by one.
_BY_ROW: Final = (Output.TABLE, Output.WIDE, Output.JSONL, Output.NAME, Output.CSV)

_TABLES: Final = (Output.TABLE, Output.WIDE)


def get(
    *,
    kind: Annotated[
        str, typer.Argument(metavar="KIND", help=_KIND, autocompletion=completing.kinds)
    ],
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="Only these.", autocompletion=completing.names),
    ] = None,
    partition: PartitionOption = "default",
    rm: RmOption = "",
    queue: QueueOption = "",
    user: UserOption = "",
    state: Annotated[
        str, typer.Option(metavar="STATE,...", help="Only what is in one of these states.")
    ] = "",
    selector: Annotated[
        str,
        typer.Option(
            "--selector",
            "-l",
            metavar="TEXT",
            help="NAME=VALUE, NAME!=VALUE, NAME or !NAME of attributes, tags or properties;"
            " several with commas.",
        ),
    ] = "",
    sort_by: SortOption = "",
    limit: LimitOption = 0,
    output: OutputOption = Output.TABLE,
    watch: Annotated[
        bool, typer.Option("--watch", "-w", help="Go on, and show what changes.")
    ] = False,
    every: EveryOption = 2.0,
    server: ServerOption = None,
    context: ContextOption = "",
    token_file: TokenOption = None,
    server_ca: AuthorityOption = None,
) -> None:
    """List what a running scheduler has.

    Tables have the units of people; the other forms have exact numbers, in bytes and thousandths of
    a core. A table is cut to the width of the terminal, but not in a pipe and not with -o wide.

    Exit code 0: done; 1: the server does not answer; 2: the command line is wrong; 3: a NAME is not
    there; 4: the server refuses the caller.
    """
    sought = kind_of(kind)
    states = tuple(word.strip().lower() for word in state.split(",") if word.strip())
    wanted = Wanted(tuple(names or ()), queue, user, states, selector, sort_by, limit)
    question = asked(sought, wanted, output, partition, rm)
    called = server_at(server, token_file, server_ca, context)
    if watch:
        if output not in _BY_ROW:
            raise UsageError(f"--watch writes row by row, which -o {output} does not")
        _watch(sought, wanted, question, output, check_every(every), called)
        return
    show(sought, wanted, question, output, called)


def _watch(
    kind: Kind,
    wanted: Wanted,
    question: Question,
    output: Output,
    every: float,
    server: Server,
) -> None:
    """Show the list again and again; does not return."""
    screen = screen_of(sys.stdout)
    columns = kind.shown_columns(wide=output is Output.WIDE)
    frame = Frame(sys.stdout)
    changes = Changes(kind, columns if output in _TABLES else kind.columns)
    lasting = writer_of(output, kind, sys.stdout, screen, time.time_ns())

    def in_place() -> None:
        now = screen_of(sys.stdout)  # it may have another size than before
        table = Table(columns, now, time.time_ns())
        rows = rows_of(kind, server, question, wanted)
        lines = drawn(table, list(in_order(((row, row) for row in rows), kind, wanted)), now)
        frame.draw(lines, now)

    def appended() -> None:
        rows = rows_of(kind, server, question, wanted)
        for row in changes.among(in_order(((row, row) for row in rows), kind, wanted)):
            lasting.put(lasting.prepared(row))
        if isinstance(lasting, Tables):
            lasting.flush()
        sys.stdout.flush()

    again(every, in_place if screen.room and output in _TABLES else appended)
