"""Writes the rows of a kind once: read, narrowed, sorted, in one of the forms."""

from __future__ import annotations

import sys
import time

from remuda.cli.server import Server
from remuda.cli.viewing.columns import Kind, Question
from remuda.cli.viewing.output import Output, fields_of, writer_of
from remuda.cli.viewing.selecting import Wanted, in_order, rows_of, sort_value
from remuda.cli.viewing.tables import screen_of


def asked(kind: Kind, wanted: Wanted, output: Output, partition: str, rm: str) -> Question:
    """Return what is read for rows that are wanted. Raises: UsageError for a wrong sort key."""
    if wanted.sort_by:
        sort_value(kind, wanted.sort_by)
    whole = wanted.sort_by or wanted.queue or wanted.user or wanted.states or wanted.selector
    last = wanted.limit if kind.from_end and not whole else 0
    fields = fields_of(output, kind, wanted.sort_by)
    return Question(partition, rm, fields, wanted.states, last)


def show(kind: Kind, wanted: Wanted, question: Question, output: Output, server: Server) -> None:
    """Write the rows to stdout, page by page. Raises: those of ``Server.get``, UsageError."""
    rows = rows_of(kind, server, question, wanted)
    writer = writer_of(output, kind, sys.stdout, screen_of(sys.stdout), time.time_ns())
    for each in in_order(((row, writer.prepared(row)) for row in rows), kind, wanted):
        writer.put(each)
    writer.end()
