"""The command ``remuda fairshare``: what each queue uses, is guaranteed and is owed."""

from __future__ import annotations

from typing import Final

from remuda.cli.server import AuthorityOption, ContextOption, ServerOption, TokenOption, server_at
from remuda.cli.viewing.kinds import FAIR_SHARES
from remuda.cli.viewing.options import (
    LimitOption,
    OutputOption,
    PartitionOption,
    QueueOption,
    RmOption,
    SortOption,
)
from remuda.cli.viewing.output import Output
from remuda.cli.viewing.selecting import Wanted
from remuda.cli.viewing.showing import asked, show

EXAMPLES: Final = """
Examples:

  remuda fairshare

  remuda fairshare --queue root.research --sort-by=-share

  remuda fairshare -o csv
"""


def fairshare(
    *,
    partition: PartitionOption = "default",
    rm: RmOption = "",
    queue: QueueOption = "",
    sort_by: SortOption = "",
    limit: LimitOption = 0,
    output: OutputOption = Output.TABLE,
    server: ServerOption = None,
    context: ContextOption = "",
    token_file: TokenOption = None,
    server_ca: AuthorityOption = None,
) -> None:
    """Show what each queue uses, is guaranteed and is owed.

    A queue is owed what it is guaranteed and waits for, but does not have; BELOW-FOR says for how
    long. SHARE is the number by which its parent compares it: the lowest is served first.

    Exit codes: those of 'remuda get'.
    """
    wanted = Wanted(queue=queue, sort_by=sort_by, limit=limit)
    question = asked(FAIR_SHARES, wanted, output, partition, rm)
    called = server_at(server, token_file, server_ca, context)
    show(FAIR_SHARES, wanted, question, output, called)
