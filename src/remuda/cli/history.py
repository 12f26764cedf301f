"""The command ``remuda history``: how many applications and allocations ran, minute by minute."""

from __future__ import annotations

from typing import Final

from remuda.cli.server import AuthorityOption, ContextOption, ServerOption, TokenOption, server_at
from remuda.cli.viewing.kinds import HISTORY
from remuda.cli.viewing.options import (
    LimitOption,
    OutputOption,
    PartitionOption,
    RmOption,
    SortOption,
)
from remuda.cli.viewing.output import Output
from remuda.cli.viewing.selecting import Wanted
from remuda.cli.viewing.showing import asked, show

EXAMPLES: Final = """
Examples:

  remuda history

  remuda history --limit 0 -o csv

  remuda history --sort-by=-applications --limit 5
"""


def history(
    *,
    partition: PartitionOption = "default",
    rm: RmOption = "",
    sort_by: SortOption = "",
    limit: LimitOption = 60,
    output: OutputOption = Output.TABLE,
    server: ServerOption = None,
    context: ContextOption = "",
    token_file: TokenOption = None,
    server_ca: AuthorityOption = None,
) -> None:
    """Show how many applications and allocations ran, a line a minute, oldest first.

    A server keeps a day, unless its --history-samples says otherwise. --limit counts from the end.

    Exit codes: those of 'remuda get'.
    """
    wanted = Wanted(sort_by=sort_by, limit=limit)
    question = asked(HISTORY, wanted, output, partition, rm)
    called = server_at(server, token_file, server_ca, context)
    show(HISTORY, wanted, question, output, called)
