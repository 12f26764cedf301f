"""The forms in which rows are written: a table for people, and data for programs.

Data has the exact values of the server, one row at a time. Rules: EXT-76.
"""

from __future__ import annotations

import csv
import json
import re
import sys
from enum import StrEnum
from io import StringIO
from typing import Any, Final, Protocol, TextIO

from remuda.base.texts import shown
from remuda.cli.server import odd_answer
from remuda.cli.viewing.columns import Column, Form, Kind, Row
from remuda.cli.viewing.tables import Screen, Table

# Rows of a table that are written at a time.
BATCH: Final = 500

# A cell that begins like this is a formula to a spreadsheet.
_FORMULA: Final = ("=", "+", "-", "@")

_TOO_DEEP: Final = "the answer of the server is nested too deeply"

_SUSPECT: Final = re.compile(r"[^ -~\n]")


class Output(StrEnum):
    """How rows are written."""

    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    JSONL = "jsonl"
    YAML = "yaml"
    NAME = "name"
    CSV = "csv"


class Writer(Protocol):
    """Writes rows in one form."""

    def prepared(self, row: Row) -> Any:
        """Return what will be written of a row; it is small, and can be kept to be sorted."""
        ...

    def put(self, each: Any) -> None:
        """Write one row, as ``prepared`` returned it; perhaps with those after it."""
        ...

    def end(self) -> None:
        """Write what is left."""
        ...


class Tables:
    """Writes a table. ``out``: where to; ``kind``: of the rows."""

    def __init__(
        self, out: TextIO, kind: Kind, columns: tuple[Column, ...], screen: Screen, now_ns: int
    ) -> None:
        self._out = out
        self._kind = kind
        self._table = Table(columns, screen, now_ns)
        self._batch: list[list[str]] = []
        self._some = False

    def prepared(self, row: Row) -> list[str]:
        """Return the cells of a row."""
        return self._table.cells(row)

    def put(self, each: list[str]) -> None:
        """Add a row to the batch."""
        self._batch.append(each)
        if len(self._batch) == BATCH:
            self.flush()

    def flush(self) -> None:
        """Write the batch."""
        if self._batch:
            self._out.writelines(f"{line}\n" for line in self._table.lines(self._batch))
            self._out.flush()
            self._batch.clear()
            self._some = True

    def end(self) -> None:
        """Write what is left, and say on stderr what is not shown."""
        self.flush()
        if not self._some:
            print(f"no {self._kind.name}", file=sys.stderr)
        if self._table.left_out:
            names = ", ".join(self._table.left_out)
            print(f"no room for: {names} (-o wide shows all)", file=sys.stderr)


class Lines:
    """Writes lines of JSON, or the names."""

    def __init__(self, out: TextIO, kind: Kind, output: Output) -> None:
        self._out = out
        self._kind = kind
        self._names = output is Output.NAME

    def prepared(self, row: Row) -> str:
        """Return the line of a row."""
        return shown(self._kind.name_of(row)) if self._names else as_json(row)

    def put(self, each: str) -> None:
        """Write a line."""
        self._out.write(f"{each}\n")

    def end(self) -> None:
        """Write nothing more."""


class JsonList:
    """Writes one list in JSON."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._before = "[\n"

    def prepared(self, row: Row) -> str:
        """Return the text of a row."""
        return "  " + as_json(row, indent=2).replace("\n", "\n  ")

    def put(self, each: str) -> None:
        """Write an element."""
        self._out.write(self._before + each)
        self._before = ",\n"

    def end(self) -> None:
        """Close the list."""
        self._out.write("[]\n" if self._before == "[\n" else "\n]\n")


class YamlList:
    """Writes one list in YAML."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._some = False

    def prepared(self, row: Row) -> str:
        """Return the text of a row."""
        import yaml  # noqa: PLC0415 - one form of seven

        try:
            return yaml.safe_dump([row], sort_keys=False, width=1_000)
        except RecursionError:
            raise odd_answer(_TOO_DEEP) from None

    def put(self, each: str) -> None:
        """Write an element."""
        self._out.write(each)
        self._some = True

    def end(self) -> None:
        """Write an empty list if there was no element."""
        if not self._some:
            self._out.write("[]\n")


class CsvTable:
    """Writes comma-separated values, all columns, with a line of their names first.

    A text that a spreadsheet would take for a formula has an apostrophe before it.
    """

    def __init__(self, out: TextIO, kind: Kind) -> None:
        self._out = out
        self._columns = kind.columns
        self._out.write(_csv_line([column.key for column in kind.columns]))

    def prepared(self, row: Row) -> str:
        """Return the line of a row."""
        return _csv_line([_csv_cell(column, row) for column in self._columns])

    def put(self, each: str) -> None:
        """Write a line."""
        self._out.write(each)

    def end(self) -> None:
        """Write nothing more."""


def writer_of(output: Output, kind: Kind, out: TextIO, screen: Screen, now_ns: int) -> Writer:
    """Return what writes rows of a kind in a form."""
    if output is Output.TABLE:
        return Tables(out, kind, kind.shown_columns(wide=False), screen, now_ns)
    if output is Output.WIDE:
        wide = Screen(0, screen.lines, screen.colours)
        return Tables(out, kind, kind.shown_columns(wide=True), wide, now_ns)
    if output is Output.JSON:
        return JsonList(out)
    if output is Output.YAML:
        return YamlList(out)
    if output is Output.CSV:
        return CsvTable(out, kind)
    return Lines(out, kind, output)


def fields_of(output: Output, kind: Kind, sort_by: str) -> tuple[str, ...]:
    """Return the keys of an element that an output needs, none for all of them."""
    if output in (Output.JSON, Output.JSONL, Output.YAML):
        return ()
    shown_ = () if output is Output.NAME else kind.columns
    if output is Output.TABLE:
        shown_ = kind.shown_columns(wide=False)
    sorting = sort_by.removeprefix("-").partition(".")[0]
    needed = (c for c in kind.columns if c in shown_ or c.key == sorting)
    names = (*kind.needs, *(name for column in needed for name in column.needs))
    return tuple(dict.fromkeys(names)) if kind.needs else ()


def as_json(value: object, indent: int | None = None) -> str:
    """Return a value in JSON, with escapes for all that a terminal does not print."""
    try:
        text = json.dumps(value, ensure_ascii=False, indent=indent)
    except RecursionError:
        raise odd_answer(_TOO_DEEP) from None
    return _SUSPECT.sub(_printed, text)


def _printed(found: re.Match[str]) -> str:
    letter = found[0]
    return letter if letter.isprintable() else _json_escape(letter)


def _json_escape(letter: str) -> str:
    text = json.dumps(letter)[1:-1]
    return text if text != letter else f"\\u{ord(letter):04x}"


def _csv_cell(column: Column, row: Row) -> str:
    text = shown(column.exact(row))
    if text.startswith(_FORMULA) and column.form in (Form.TEXT, Form.STATE):
        return f"'{text}"
    return text


def _csv_line(cells: list[str]) -> str:
    line = StringIO()
    csv.writer(line, lineterminator="\n").writerow(cells)
    return line.getvalue()
