"""The command ``remuda describe``: everything about one object."""

from __future__ import annotations

import sys
import time
from typing import Annotated, Final

import typer

from remuda.cli.server import AuthorityOption, ContextOption, ServerOption, TokenOption, server_at
from remuda.cli.viewing import completing
from remuda.cli.viewing.columns import Question
from remuda.cli.viewing.describing import described
from remuda.cli.viewing.kinds import kind_of
from remuda.cli.viewing.options import KindArgument, PartitionOption, RmOption
from remuda.cli.viewing.sections import Scene
from remuda.cli.viewing.selecting import Wanted, rows_of
from remuda.cli.viewing.tables import screen_of

EXAMPLES: Final = """
Examples:

  remuda describe app job-1

  remuda describe queue root.etl

  remuda describe node n7 --context live

  remuda describe preemption 12
"""


def describe(
    *,
    kind: KindArgument,
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", help="Which one.", autocompletion=completing.names),
    ],
    partition: PartitionOption = "default",
    rm: RmOption = "",
    server: ServerOption = None,
    context: ContextOption = "",
    token_file: TokenOption = None,
    server_ca: AuthorityOption = None,
) -> None:
    """Tell everything about one object, for people.

    That is: what 'remuda get' shows of it, what it contains, what waits and why, and its latest
    events. Programs read 'remuda get KIND NAME -o json'.

    Exit code 0: done; 1: the server does not answer; 2: the command line is wrong; 3: the object is
    not there; 4: the server refuses the caller.
    """
    sought = kind_of(kind)
    question = Question(partition, rm)
    called = server_at(server, token_file, server_ca, context)
    screen = screen_of(sys.stdout)
    for number, row in enumerate(rows_of(sought, called, question, Wanted((name,)))):
        if number:
            print()
        for line in described(sought, Scene(called, question, row, screen, time.time_ns())):
            print(line)
