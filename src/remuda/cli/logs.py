"""The command ``remuda logs``: what a command of the local node wrote."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from remuda.cli.local_answers import Printer
from remuda.cli.local_door import IdArgument, LocalDirOption, LocalNode
from remuda.cli.server import AuthorityOption, ContextOption, ServerOption, TokenOption

EXAMPLES: Final = """
Examples:

  remuda logs train-7

  remuda logs train-7 --follow
"""


def logs(
    *,
    identity: IdArgument,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on until the command has ended.")
    ] = False,
    local_dir: LocalDirOption = None,
    server: ServerOption = None,
    context: ContextOption = "",
    token_file: TokenOption = None,
    server_ca: AuthorityOption = None,
) -> None:
    """Print what a command wrote: its stdout to stdout, its stderr to stderr.

    Of each task the last 32 to 64 MiB are kept; a line on stderr tells how much is gone. Lines of a
    gang begin with the number of their task.

    Exit code 0: done; 1: the scheduler does not answer; 2: the command line is wrong; 3: there is
    no such command; 4: the scheduler refuses the caller.
    """
    node = LocalNode(server, context, token_file, server_ca, local_dir)
    printer = Printer()
    places: list[int] = []
    while True:
        found = node.output(identity, places, wait=20 if follow else 0)
        printer.show(found)
        places = found.next
        if found.over or (not follow and not found.records):
            printer.close()
            return
