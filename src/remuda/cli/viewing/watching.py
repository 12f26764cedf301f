"""A list that is read again and again: in place on a terminal, as changes in a pipe."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, TextIO

from remuda.cli.server import (
    NotNowError,
    NotReachableError,
    RefusedError,
    WrongRequestError,
)
from remuda.cli.viewing.columns import Column, Kind, Row
from remuda.cli.viewing.tables import Screen, Table

# Back to the first line that was drawn, and away with what is right of or below the cursor. A line
# is cleared before it is drawn: after one as wide as the terminal the cursor is on its last letter.
_UP: Final = "\x1b[{}A\r"
_REST_OF_LINE: Final = "\x1b[K"
_REST: Final = "\x1b[J"
_HOME: Final = "\x1b[H\x1b[J"


class Frame:
    """Lines that are drawn over those that were drawn before."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._drawn = 0
        self._screen = Screen()

    def draw(self, lines: Sequence[str], screen: Screen) -> None:
        """Replace the lines on the terminal.

        One that has another size now has moved them, so all that it shows is cleared first.
        """
        back = _UP.format(self._drawn) if self._drawn else ""
        if self._drawn and screen != self._screen:
            back = _HOME
        self._screen = screen
        body = "".join(f"{_REST_OF_LINE}{line}\n" for line in lines)
        self._out.write(back + body + _REST)
        self._out.flush()
        self._drawn = len(lines)


def again(
    seconds: float, once: Callable[[], None], sleep: Callable[[float], None] = time.sleep
) -> None:
    """Do something again and again, until the process is interrupted.

    A server that does not answer, or was started again and has no partition yet, is called again
    later; that is said once. The first failure ends it, because then the address is probably wrong.
    Raises: what ``once`` raises.
    """
    once()
    silent = False
    while True:
        sleep(seconds)
        try:
            once()
        except RefusedError:
            raise
        except (NotReachableError, NotNowError, WrongRequestError) as error:
            if not silent:
                print(f"remuda: {error}; trying again", file=sys.stderr)
            silent = True
        else:
            silent = False


class Changes:
    """Tells which rows are new, or differ from what they were when they were read before."""

    def __init__(self, kind: Kind, columns: Iterable[Column]) -> None:
        self._kind = kind
        self._columns = tuple(columns)
        self._known: dict[str, Any] = {}

    def among(self, rows: Iterable[Row]) -> list[Row]:
        """Return the rows that changed; those that are gone are forgotten."""
        found = {}
        changed = []
        for row in rows:
            name = self._kind.name_of(row)
            found[name] = [column.value(row) for column in self._columns]
            if self._known.get(name) != found[name]:
                changed.append(row)
        self._known = found
        return changed


def drawn(table: Table, rows: Sequence[Row], screen: Screen) -> list[str]:
    """Return the lines of a table that a terminal has room for, and how many rows are left out."""
    room = max(screen.lines - 3, 1)
    lines = table.lines([table.cells(row) for row in rows[:room]])
    if len(rows) > room:
        lines.append(f"... and {len(rows) - room:,} more")
    return lines
