"""The command ``remuda top``: what uses most, on the whole terminal."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, Final

import typer

from remuda.base.errors import RemudaError, UsageError
from remuda.base.texts import shown
from remuda.cli.failures import NotThereError
from remuda.cli.server import (
    AuthorityOption,
    ContextOption,
    RefusedError,
    Server,
    ServerOption,
    TokenOption,
    server_at,
)
from remuda.cli.viewing import amounts, reading
from remuda.cli.viewing.browsing import BLIND, Act, Browsing, Listing
from remuda.cli.viewing.columns import Kind, Question, Row
from remuda.cli.viewing.describing import described
from remuda.cli.viewing.keyboard import Keyboard, WholeTerminal
from remuda.cli.viewing.kinds import kind_of
from remuda.cli.viewing.options import EveryOption, PartitionOption, RmOption, check_every
from remuda.cli.viewing.output import Output, fields_of
from remuda.cli.viewing.ranking import capacity_of, ranked
from remuda.cli.viewing.sections import Scene
from remuda.cli.viewing.selecting import Wanted, rows_of
from remuda.cli.viewing.tables import Screen, Table, screen_of
from remuda.cli.viewing.text import cut

EXAMPLES: Final = """
Examples:

  remuda top queues

  remuda top nodes --every 5

  remuda top users --once
"""

_KINDS: Final = ("queues", "nodes", "applications", "users")

# How often another size of the terminal is looked for, in seconds.
_GLANCE: Final = 0.25

_HOME: Final = "\x1b[H"
_REST_OF_LINE: Final = "\x1b[K"
_REST: Final = "\x1b[J"


def top(
    *,
    kind: Annotated[
        str, typer.Argument(metavar="KIND", help="queues, nodes, applications or users.")
    ] = "queues",
    once: Annotated[
        bool, typer.Option("--once", help="Print one table and end, as in a pipe.")
    ] = False,
    every: EveryOption = 2.0,
    partition: PartitionOption = "default",
    rm: RmOption = "",
    server: ServerOption = None,
    context: ContextOption = "",
    token_file: TokenOption = None,
    server_ca: AuthorityOption = None,
) -> None:
    """Show what uses most, the highest share of the cluster first, and keep it current.

    The share of an object is the largest one of its resource types. On a terminal, keys change
    what is shown: ? lists them, q or Ctrl-C ends it.

    Exit codes: those of 'remuda get'.
    """
    sought = kind_of(kind)
    if sought.name not in _KINDS:
        raise UsageError(f"there is no top of {sought.name}; there is of: {', '.join(_KINDS)}")
    called = server_at(server, token_file, server_ca, context)
    check_every(every)
    if once or not _can_draw():
        for line in _table(sought, Question(partition, rm), called, screen_of(sys.stdout)):
            print(line)
        return
    browsing = Browsing([kind_of(name) for name in _KINDS], Listing(sought))
    terminal = _Terminal(called, Question(partition, rm), every, browsing)
    terminal.read()
    with WholeTerminal() as whole:
        terminal.serve(Keyboard(sys.stdin.fileno()), whole)


def _can_draw() -> bool:
    """Whether there is a terminal that has keys and can put lines over others."""
    return sys.stdout.isatty() and sys.stdin.isatty() and os.environ.get("TERM") != "dumb"


class _Terminal:
    """Keeps a terminal current: reads, draws, and does what keys say."""

    def __init__(
        self, server: Server, question: Question, every: float, browsing: Browsing
    ) -> None:
        self._server = server
        self._question = question
        self._every = every
        self._browsing = browsing
        self._partition: Row = {}
        self._trouble = ""

    def read(self) -> None:
        """Read what is shown. Raises: the errors of ``Server``."""
        browsing, kind = self._browsing, self._browsing.listing.kind
        if browsing.page is not None and browsing.opened:
            browsing.page = self._description(kind, browsing.opened)
        else:
            self._partition, rows = _read(kind, self._question, self._server)
            browsing.take(rows, capacity_of(self._partition))
        self._trouble = ""

    def serve(self, keyboard: Keyboard, whole: WholeTerminal) -> None:
        """Go on until a key ends it. Raises: RefusedError."""
        due = time.monotonic() + self._every
        wanted = False
        while True:
            place = whole.entered, screen_of(sys.stdout)
            self._draw(place[1])
            key = self._key(keyboard, due, whole, place)
            if wanted and key not in BLIND:
                self._read_again()
                wanted = False
            act = self._browsing.press(key) if key else Act.DRAW
            if act is Act.LEAVE:
                return
            wanted = wanted or act is Act.READ
            past = time.monotonic() >= due and not self._browsing.paused
            # A key that is held down must not make the server answer for each of its repetitions.
            if past or (wanted and not keyboard.waiting()):
                self._read_again()
                wanted = False
                due = time.monotonic() + self._every

    def _key(
        self, keyboard: Keyboard, due: float, whole: WholeTerminal, place: tuple[int, Screen]
    ) -> str:
        """Wait for a key, the time to read again, or an empty screen or one of another size."""
        while (whole.entered, screen_of(sys.stdout)) == place:
            left = _GLANCE if self._browsing.paused else min(due - time.monotonic(), _GLANCE)
            key = keyboard.key(max(left, 0))
            if key or (left <= 0 and not self._browsing.paused):
                return key
        return ""

    def _read_again(self) -> None:
        """Read; what a server says or does not say is told on the screen, and it is called again.

        One that was just started may have no partition yet.
        """
        try:
            self.read()
        except RefusedError:
            raise
        except RemudaError as error:
            self._trouble = f"{error}; trying again"

    def _description(self, kind: Kind, name: str) -> list[str]:
        screen = screen_of(sys.stdout)
        try:
            rows = list(rows_of(kind, self._server, self._question, Wanted((name,))))
        except NotThereError:
            return [shown(f"{kind.singular} {name} is not there any more")]
        now = time.time_ns()
        return [
            line
            for row in rows
            for line in described(kind, Scene(self._server, self._question, row, screen, now))
        ]

    def _draw(self, screen: Screen) -> None:
        above = cut(shown(self._trouble), screen.room) or _head(self._partition, screen)
        lines = (above, *self._browsing.lines(screen, time.time_ns()))[: max(screen.lines, 1)]
        # What is there is removed before a line, for the cursor stays on the last letter of a line
        # that is as wide as the terminal.
        upper = "".join([f"{_REST_OF_LINE}{line}\n" for line in lines[:-1]])
        sys.stdout.write(f"{_HOME}{upper}{_REST}{lines[-1]}")
        sys.stdout.flush()


def _table(kind: Kind, question: Question, server: Server, screen: Screen) -> list[str]:
    partition, rows = _read(kind, question, server)
    table = Table(kind.shown_columns(wide=False), screen, time.time_ns())
    cells = [table.cells(row) for row in ranked(rows, capacity_of(partition))]
    return [_head(partition, screen), *table.lines(cells)]


def _read(kind: Kind, question: Question, server: Server) -> tuple[Row, Iterator[Row]]:
    """Return the partition, and the rows with what a table shows of them."""
    fields = fields_of(Output.TABLE, kind, "")
    return _partition(question, server), kind.read(server, replace(question, fields=fields))


def _partition(question: Question, server: Server) -> Row:
    for row in reading.pages("partitions", identity="", partition=False)(server, Question()):
        if row.get("name") == question.partition and question.rm in ("", row.get("clusterId")):
            return row
    raise UsageError(f"no partition '{shown(question.partition)}'; see 'remuda get partitions'")


def _head(partition: Row, screen: Screen) -> str:
    """Return the line about the whole partition."""
    found = partition.get("capacity") or {}
    used, most = found.get("usedCapacity") or {}, found.get("capacity") or {}
    parts = [
        f"{amounts.compact(amounts.amount(name, used.get(name, 0)))}"
        f"/{amounts.compact(amounts.amount(name, most[name]))}"
        for name in amounts.in_order(most)
    ]
    counts = (
        f"{(partition.get('applications') or {}).get('total', 0):,} applications",
        f"{partition.get('totalNodes') or 0:,} nodes",
        f"{partition.get('totalContainers') or 0:,} allocations",
    )
    text = shown(f"{partition.get('name')}: {', '.join((*parts, *counts))}")
    return cut(text, screen.room) if screen.room else text
