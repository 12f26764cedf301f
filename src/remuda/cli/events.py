"""The command ``remuda events``: what has happened, and what happens now."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from datetime import datetime
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
from remuda.cli.viewing import event_words
from remuda.cli.viewing.columns import Kind, Question, Row
from remuda.cli.viewing.following import EventTail
from remuda.cli.viewing.kinds import kind_of
from remuda.cli.viewing.options import LimitOption, OutputOption, PartitionOption, QueueOption
from remuda.cli.viewing.output import Output, Tables, writer_of
from remuda.cli.viewing.selecting import Wanted, in_order, rows_of
from remuda.cli.viewing.tables import screen_of
from remuda.runtime.past_times import past_time_ns

EXAMPLES: Final = """
Examples:

  remuda events --since 14:05 --until 14:06

  remuda events job-1 --limit 20

  remuda events --follow --type node

  remuda events --follow --queue root.etl -o jsonl
"""

_BY_ROW: Final = (Output.TABLE, Output.WIDE, Output.JSONL, Output.NAME, Output.CSV)


def events(
    *,
    name: Annotated[
        str, typer.Argument(metavar="[OBJECT]", help="Only records about this object.")
    ] = "",
    partition: PartitionOption = "default",
    queue: QueueOption = "",
    type_: Annotated[
        str,
        typer.Option("--type", metavar="TYPE", help="ask, application, node, queue or user."),
    ] = "",
    since: Annotated[
        str,
        typer.Option(metavar="TIME", help="From 14:05, 2026-03-01T14:05 or 10m ago on."),
    ] = "",
    until: Annotated[str, typer.Option(metavar="TIME", help="Only up to this time.")] = "",
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on with the records to come.")
    ] = False,
    limit: LimitOption = 0,
    output: OutputOption = Output.TABLE,
    server: ServerOption = None,
    context: ContextOption = "",
    token_file: TokenOption = None,
    server_ca: AuthorityOption = None,
) -> None:
    """Show what has happened, oldest first; with --follow what happens now.

    --limit leaves the last records. With --follow it says how many come first (0: none), and a
    broken connection is made again without a gap.

    Exit codes: those of 'remuda get'.
    """
    kind = kind_of("events")
    options = event_words.options(type_, name)
    if since:
        options["since"] = str(_time_ns("--since", since))
    end_ns = _time_ns("--until", until) if until else None
    wanted = Wanted(queue=queue, limit=limit)
    called = server_at(server, token_file, server_ca, context)
    if follow:
        if output not in _BY_ROW:
            raise UsageError(f"--follow writes row by row, which -o {output} does not")
        if until:
            raise UsageError("--until and --follow exclude each other")
        tail = EventTail(called, options, limit)
        _follow(kind, tail.records(), Wanted(queue=queue), partition, output)
        return
    last = 0 if queue or until else limit
    _show(kind, wanted, Question(partition, options=options, last=last), end_ns, output, called)


def _time_ns(option: str, text: str) -> int:
    """Return a time in Unix nanoseconds. Raises: UsageError that names the option."""
    found = past_time_ns(text, datetime.now().astimezone())
    if found is None:
        raise UsageError(
            f"{option}: '{text}' is no time; write 14:05, 2026-01-31T14:05:00Z, or 15m for 15"
            " minutes ago"
        )
    return found


def _show(
    kind: Kind,
    wanted: Wanted,
    question: Question,
    end_ns: int | None,
    output: Output,
    server: Server,
) -> None:
    writer = writer_of(output, kind, sys.stdout, screen_of(sys.stdout), time.time_ns())
    rows = (
        (row, writer.prepared(row))
        for row in rows_of(kind, server, question, wanted)
        if end_ns is None or (row["record"].get("timestampNano") or 0) <= end_ns
    )
    for each in in_order(rows, kind, wanted):
        writer.put(each)
    writer.end()


def _follow(
    kind: Kind, records: Iterator[Row], wanted: Wanted, partition: str, output: Output
) -> None:
    """Write records as they come; does not return."""
    writer = writer_of(output, kind, sys.stdout, screen_of(sys.stdout), time.time_ns())
    for row in records:
        if row.get("partition") not in ("", partition) or not wanted.has_queue(kind, row):
            continue
        writer.put(writer.prepared(row))
        if isinstance(writer, Tables):
            writer.flush()
        sys.stdout.flush()
