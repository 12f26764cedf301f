"""The command ``remuda cancel``: end commands of the local node."""

from __future__ import annotations

from typing import Final

from remuda.base.texts import shown
from remuda.cli.local_answers import OVER
from remuda.cli.local_door import IdsArgument, LocalDirOption, LocalNode
from remuda.cli.server import AuthorityOption, ContextOption, ServerOption, TokenOption

EXAMPLES: Final = """
Examples:

  remuda cancel train-7

  remuda cancel train-7 train-8 --token-file ada.token
"""


def cancel(
    *,
    ids: IdsArgument,
    local_dir: LocalDirOption = None,
    server: ServerOption = None,
    context: ContextOption = "",
    token_file: TokenOption = None,
    server_ca: AuthorityOption = None,
) -> None:
    """Cancel commands that 'remuda run' or 'remuda submit' brought, whether they run or wait.

    A command that runs gets SIGTERM, and SIGKILL 10 s later; 'remuda wait' waits for its end. One
    that has ended stays as it is.

    Exit code 0: done; 1: the scheduler does not answer; 2: the command line is wrong; 3: there is
    no such command; 4: the scheduler refuses the caller.
    """
    node = LocalNode(server, context, token_file, server_ca, local_dir)
    for each in ids:
        found = node.cancel(each)
        print(f"{shown(each)}: {'over' if found.stage == OVER else 'ends'}")
