"""The command ``remuda tree``: the queues with bars."""

from __future__ import annotations

import sys
import time
from typing import Annotated, Final

import typer

from remuda.cli.server import AuthorityOption, ContextOption, ServerOption, TokenOption, server_at
from remuda.cli.viewing import completing, reading
from remuda.cli.viewing.columns import Question
from remuda.cli.viewing.options import PartitionOption, RmOption
from remuda.cli.viewing.tables import Table, screen_of
from remuda.cli.viewing.trees import COLUMNS, marks_for, tree_rows

EXAMPLES: Final = """
Examples:

  remuda tree

  remuda tree root.research --resource nvidia.com/gpu
"""


def tree(
    *,
    queue: Annotated[
        str,
        typer.Argument(
            metavar="[QUEUE]",
            help="The queue to begin with.",
            autocompletion=completing.queues,
        ),
    ] = "root",
    resource: Annotated[
        str,
        typer.Option(metavar="NAME", help="Resource type, such as memory, vcore or gpu."),
    ] = "",
    partition: PartitionOption = "default",
    rm: RmOption = "",
    server: ServerOption = None,
    context: ContextOption = "",
    token_file: TokenOption = None,
    server_ca: AuthorityOption = None,
) -> None:
    """Show the queues as a tree with bars.

    A bar is as long as what the queue may use, given the maxima above it. It shows what is used,
    then what waits; a line stands at the guarantee. Without --resource each queue shows the type
    that is nearest to its maximum.

    Exit codes: those of 'remuda get'.
    """
    called = server_at(server, token_file, server_ca, context)
    root = reading.one("queue", _read, called, Question(partition, rm), queue)
    screen = screen_of(sys.stdout)
    table = Table(COLUMNS, screen, time.time_ns())
    rows = tree_rows(root, resource, marks_for(sys.stdout.encoding))
    for line in table.lines([table.cells(row) for row in rows]):
        print(line)
    if table.left_out:
        print(f"no room for: {', '.join(table.left_out)}", file=sys.stderr)


_read = reading.single("queue", options={"subtree": ""})
