"""The command ``remuda wait``: wait for commands of the local node."""

from __future__ import annotations

from typing import Final

import typer

from remuda.base.texts import shown
from remuda.cli.local_answers import OVER
from remuda.cli.local_door import IdsArgument, LocalDirOption, LocalNode
from remuda.cli.server import AuthorityOption, ContextOption, ServerOption, TokenOption

EXAMPLES: Final = """
Examples:

  remuda wait train-7

  remuda wait train-7 train-8
"""


def wait(
    *,
    ids: IdsArgument,
    local_dir: LocalDirOption = None,
    server: ServerOption = None,
    context: ContextOption = "",
    token_file: TokenOption = None,
    server_ca: AuthorityOption = None,
) -> None:
    """Wait until commands have ended, and print with which code each of them did.

    Exit code 0: all of them ended with 0; else that of the first one, in the order in which they
    are named, that did not. If this command fails itself: 1: the scheduler does not answer; 2: the
    command line is wrong; 3: there is no such command; 4: the scheduler refuses the caller.
    """
    node = LocalNode(server, context, token_file, server_ca, local_dir)
    first = 0
    for each in ids:
        stage = ""
        while True:
            found = node.stage_after(each, stage)
            stage = found.stage
            if stage == OVER:
                break
        code = found.code or 0
        reason = f": {shown(found.reason)}" if found.reason else ""
        print(f"{shown(each)} ended with {code}{reason}", flush=True)
        first = first or code
    raise typer.Exit(first)
