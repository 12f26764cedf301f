"""Rows of text files, plain or gzip, and complaints that name file, line and column.

Traces come from elsewhere: a reader must not trust them, and a bad one must not crash it. Every
value is taken out of a row by a method that checks it, and every failure is one line that tells the
person where to look. Sizes are bounded, so that a small compressed file cannot fill the memory.
"""

from __future__ import annotations

import csv
import gzip
import zlib
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from decimal import ROUND_HALF_EVEN, Decimal, InvalidOperation
from pathlib import Path
from typing import Final, Protocol, final

from remuda.base.errors import UsageError
from remuda.sim.shape import AMOUNT_LIMIT
from remuda.sim.workload import SECOND_NS, Task

BYTES_LIMIT: Final = 4 << 30
LINE_LIMIT: Final = 1 << 16
# 9e9 seconds are 285 years: past every Unix time, and still a signed 64-bit number of ns.
SECONDS_LIMIT: Final = 9_000_000_000
NAME_LIMIT: Final = 256

_GZIP: Final = b"\x1f\x8b"


@final
class Row:
    """One row: where it stands, and its values by column name."""

    __slots__ = ("_columns", "_values", "line", "source")

    def __init__(
        self, source: str, line: int, columns: Mapping[str, int], values: Sequence[str]
    ) -> None:
        self.source = source
        self.line = line
        self._columns = columns
        self._values = values

    def text(self, column: str) -> str:
        """Return a value without the blanks around it, "" if the file has no such column."""
        place = self._columns.get(column)
        return "" if place is None else self._values[place].strip()

    def name(self, column: str) -> str:
        """Return a value that identifies something: not empty, not long, printable."""
        text = self.text(column)
        if not text:
            raise self.bad(column, "is empty")
        if len(text) > NAME_LIMIT or not text.isprintable():
            raise self.bad(column, f"is not a printable name of at most {NAME_LIMIT} characters")
        return text

    def amount(self, column: str, unit: int = 1) -> int:
        """Return a whole number >= 0 times ``unit``; an empty value is 0."""
        text = self.text(column)
        if not text:
            return 0
        number = self.whole(column)
        if not 0 <= number * unit <= AMOUNT_LIMIT:
            raise self.bad(column, f"'{text}' is not between 0 and {AMOUNT_LIMIT // unit}")
        return number * unit

    def whole(self, column: str) -> int:
        """Return a whole number, which may be negative."""
        text = self.text(column)
        digits = text.removeprefix("-")
        if not (digits.isascii() and digits.isdecimal() and len(digits) <= 19):
            raise self.bad(column, f"'{text}' is not a whole number")
        return int(text)

    def seconds(self, column: str) -> int:
        """Return a time or a duration, given in seconds, in nanoseconds."""
        try:
            return nanoseconds(self.text(column))
        except ValueError as error:
            raise self.bad(column, str(error)) from None

    def bad(self, column: str, why: str) -> UsageError:
        """Return the complaint about one value of this row."""
        return UsageError(f"{self.source}:{self.line}: column '{column}' {why}")


def nanoseconds(text: str) -> int:
    """Return decimal seconds as whole nanoseconds; digits beyond them are rounded.

    Raises: ValueError, with what is wrong, for anything but 0 to SECONDS_LIMIT.
    """
    try:
        number = Decimal(text)
    except InvalidOperation:
        raise ValueError(f"'{text}' is not a number of seconds") from None
    if not number.is_finite() or not 0 <= number <= SECONDS_LIMIT:
        raise ValueError(f"'{text}' is not between 0 and {SECONDS_LIMIT} seconds")
    return int((number * SECOND_NS).to_integral_value(ROUND_HALF_EVEN))


def lines(path: Path) -> Generator[str]:
    """Yield the lines of a UTF-8 file, plain or gzip.

    Raises: UsageError, when the file cannot be read, is no text or is too large.
    """
    try:
        with path.open("rb") as file:
            compressed = file.read(2) == _GZIP
            file.seek(0)
            if compressed:
                with gzip.GzipFile(fileobj=file) as unpacked:
                    yield from _decoded(path, unpacked)
            else:
                yield from _decoded(path, file)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise UsageError(f"{path}: not a whole gzip file: {error}") from None
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from None


class _Bytes(Protocol):
    """What a plain and an unpacked file have in common."""

    def readline(self, size: int, /) -> bytes:
        """Return the next line, or its first ``size`` bytes."""
        ...


def _decoded(path: Path, file: _Bytes) -> Iterator[str]:
    number = 0
    size = 0
    while raw := file.readline(LINE_LIMIT + 1):
        number += 1
        size += len(raw)
        if len(raw) > LINE_LIMIT:
            raise UsageError(f"{path}:{number}: the line is longer than {LINE_LIMIT} bytes")
        if size > BYTES_LIMIT:
            raise UsageError(f"{path}:{number}: the file is larger than {BYTES_LIMIT} bytes")
        try:
            text = raw.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError:
            raise UsageError(f"{path}:{number}: the line is not UTF-8 text") from None
        if "\0" in text:
            raise UsageError(f"{path}:{number}: the line holds a NUL, this is no text file")
        yield text


def unique(row: Row, column: str, name: str, seen: dict[str, int]) -> str:
    """Return a name that no row before had; ``seen`` remembers them with their lines.

    Raises: UsageError.
    """
    before = seen.setdefault(name, row.line)
    if before != row.line:
        raise row.bad(column, f"'{name}' is there already, in line {before}")
    return name


def gather(tasks: Iterable[Task]) -> tuple[tuple[Task, ...], int]:
    """Return the tasks that ask for something, and how many rows ask for nothing."""
    wanted: list[Task] = []
    skipped = 0
    for task in tasks:
        if task.resource:
            wanted.append(task)
        else:
            skipped += 1
    return tuple(wanted), skipped


def csv_header(path: Path) -> list[str]:
    """Return the column names of a CSV file; no names for an empty file."""
    return _header(path, csv.reader(lines(path)))


def csv_rows(path: Path, required: Sequence[str]) -> Iterator[Row]:
    """Yield the rows of a CSV file below its header line; empty lines are passed over.

    Raises: UsageError, when a required column is missing or a row has a wrong length.
    """
    source = str(path)
    with closing(lines(path)) as text:
        reader = csv.reader(text)
        header = _header(path, reader)
        missing = [column for column in required if column not in header]
        if missing:
            raise UsageError(f"{source}:1: column '{missing[0]}' is missing")
        twice = [column for number, column in enumerate(header) if column in header[:number]]
        if twice:
            raise UsageError(f"{source}:1: column '{twice[0]}' is there twice")
        columns = {column: place for place, column in enumerate(header)}
        for values in _records(path, reader):
            if len(values) != len(header):
                found = f"{len(values)} columns, the header has {len(header)}"
                raise UsageError(f"{source}:{reader.line_num}: the row has {found}")
            yield Row(source, reader.line_num, columns, values)


def _header(path: Path, reader: Iterator[list[str]]) -> list[str]:
    for values in _records(path, reader):
        return [value.strip() for value in values]
    return []


def _records(path: Path, reader: Iterator[list[str]]) -> Iterator[list[str]]:
    try:
        for values in reader:
            if any(value.strip() for value in values):
                yield values
    except csv.Error as error:
        raise UsageError(f"{path}: not a CSV file: {error}") from None
