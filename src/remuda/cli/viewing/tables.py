"""Tables for people: as wide as a terminal, as wide as needed anywhere else.

A table is written in batches, so that a long list needs little memory. Its columns have the widths
of the first batch and become wider with later ones.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TextIO

from remuda.cli.viewing.amounts import compact
from remuda.cli.viewing.columns import Column, Form, Row
from remuda.cli.viewing.text import cut, width

_GAP: Final = "  "

# Columns to which the cells of a flexible column are cut, those of the first one later.
_NARROW: Final = 8
_NARROW_FIRST: Final = 24

# A column that is left out rather than a narrower one.
_WIDE: Final = 10

_RESET: Final = "\x1b[0m"
_BOLD: Final = "\x1b[1m"
_GREEN, _YELLOW, _RED = "\x1b[32m", "\x1b[33m", "\x1b[31m"

_COLOURS: Final = {
    **dict.fromkeys(("Active", "Running", "Ready", "Completed", "placed", "done"), _GREEN),
    **dict.fromkeys(
        ("Draining", "Accepted", "Starting", "Resuming", "Completing", "Placeholder", "waiting"),
        _YELLOW,
    ),
    **dict.fromkeys(
        ("Stopped", "NotReady", "Rejected", "Failing", "Failed", "Preempted", "lost"), _RED
    ),
}


@dataclass(frozen=True)
class Screen:
    """Where a table goes. ``room``: columns of the terminal, 0 for any; ``lines``: its height."""

    room: int = 0
    lines: int = 0
    colours: bool = False


def screen_of(out: TextIO) -> Screen:
    """Return what is known of an output: a file or pipe has any width and no colours."""
    if not out.isatty():
        return Screen()
    size = shutil.get_terminal_size()
    plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
    return Screen(size.columns, size.lines, not plain)


class Table:
    """Rows as lines.

    Args:
        columns: all that may be shown. Where they have no room, amounts get short units first; then
            texts are cut, and columns are left out.
        screen: if it has a width, lines keep to it; ``left_out`` has titles of what is left out.
        now_ns: the time from which ages are counted.
    """

    def __init__(self, columns: Sequence[Column], screen: Screen, now_ns: int) -> None:
        self.columns = list(columns)
        self.left_out: list[str] = []
        self._screen = screen
        self._now_ns = now_ns
        self._widths: list[int] = []
        self._compact = False

    def cells(self, row: Row) -> list[str]:
        """Return what the columns show of a row, whole."""
        return [column.cell(row, self._now_ns) for column in self.columns]

    def lines(self, batch: Sequence[Sequence[str]]) -> list[str]:
        """Return a batch of cells as lines, the first batch with a line of titles above it."""
        first = not self._widths
        self._widen(batch)
        if first and self._screen.room and self._excess(dict(enumerate(self._widths))) > 0:
            self._compact, self._widths = True, []
        if self._compact:
            batch = [self._compacted(cells) for cells in batch]
            self._widen(batch)
        places = self._places()
        lines = [self._line(cells, places, row=True) for cells in batch]
        if first:
            titles = self._line([column.title for column in self.columns], places, row=False)
            lines.insert(0, f"{_BOLD}{titles}{_RESET}" if self._screen.colours else titles)
        return lines

    def _widen(self, batch: Sequence[Sequence[str]]) -> None:
        natural = self._widths or [len(column.title) for column in self.columns]
        widest = [max(map(width, column)) for column in zip(*batch, strict=True)] or natural
        self._widths = [max(pair) for pair in zip(natural, widest, strict=True)]

    def _compacted(self, cells: Sequence[str]) -> list[str]:
        """Return cells whose amounts have short units."""
        return [
            compact(cell) if column.form is Form.AMOUNTS else cell
            for column, cell in zip(self.columns, cells, strict=True)
        ]

    def _places(self) -> dict[int, int]:
        """Return the columns that are shown, by number, and how wide each is."""
        places = dict(enumerate(self._widths))
        if not self._screen.room:
            return places
        while self._excess(places) > 0:
            fit = [at for at in places if places[at] > self._least(at)]
            if fit:
                widest = max(fit, key=lambda at: (places[at] - self._least(at), at))
                places[widest] -= 1
            elif len(places) > 1:
                self._leave_out(places)
            else:
                places[0] = self._screen.room
        return places

    def _leave_out(self, places: dict[int, int]) -> None:
        """Leave out the last wide column, or the last one if none is wide; never the first."""
        at = max((at for at in places if at and places[at] >= _WIDE), default=max(places))
        if self.columns[at].title not in self.left_out:
            self.left_out.append(self.columns[at].title)
        del places[at]

    def _excess(self, places: dict[int, int]) -> int:
        return sum(places.values()) + len(_GAP) * (len(places) - 1) - self._screen.room

    def _least(self, at: int) -> int:
        """Return the width to which a column may be cut."""
        column = self.columns[at]
        if column.right or not column.flexible or column.form is Form.AMOUNTS:
            return self._widths[at]
        narrow = _NARROW_FIRST if at == 0 else _NARROW
        return min(max(narrow, len(column.title)), self._widths[at])

    def _line(self, cells: Sequence[str], places: dict[int, int], *, row: bool) -> str:
        parts = []
        for at, room in places.items():
            text = cut(cells[at], room) if self._screen.room else cells[at]
            fill = " " * (room - width(text))
            column = self.columns[at]
            if row and column.form is Form.STATE and self._screen.colours:
                colour = _COLOURS.get(text, "")
                text = f"{colour}{text}{_RESET}" if colour else text
            parts.append(fill + text if column.right else text + fill)
        return _GAP.join(parts).rstrip()
