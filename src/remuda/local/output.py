"""What a task wrote, on disk: two streams in the order in which they came, with a bound.

A file is a row of records: a letter for the stream, four bytes with the length, the bytes. The name
of a file has the place of its first byte in everything the task ever wrote. When the newest file is
full another one begins, and only the last two stay. So the output of a task never takes more than
its bound, and a place means the same before and after older output was dropped.

The keeper of a task writes, and the service reads meanwhile. Standard library only: each keeper
imports this.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Final

OUT: Final = b"o"
ERR: Final = b"e"

# Letter and length.
HEAD: Final = 5

# Bytes of one record.
RECORD_LIMIT: Final = 64 * 1024

_PREFIX: Final = "output."
_DIGITS: Final = 20


class OutputWriter:
    """Appends to the output of a task; ``limit``: bytes on disk, at least two records.

    An error of the disk drops what was to be written and is counted in ``dropped``; the task goes
    on.
    """

    def __init__(self, directory: Path, limit: int) -> None:
        self._directory = directory
        self._half = max(limit // 2, RECORD_LIMIT + HEAD)
        self._place = 0
        self._size = 0
        self._file: BinaryIO | None = None
        self.dropped = 0

    def write(self, stream: bytes, data: bytes) -> None:
        """Append what came on a stream, at most RECORD_LIMIT bytes."""
        record = stream + len(data).to_bytes(4, "big") + data
        try:
            if self._file is None or self._size + len(record) > self._half:
                self._begin()
            assert self._file is not None
            whole = self._file.write(record) == len(record)
        except OSError:
            whole = False
        if not whole:
            self.dropped += len(data)
            self._cut()
            return
        self._size += len(record)
        self._place += len(record)

    def close(self) -> None:
        """Close the newest file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _begin(self) -> None:
        """Begin another file, and remove all but the one before it."""
        self.close()
        for _, old in output_files(self._directory)[:-1]:
            old.unlink(missing_ok=True)
        path = self._directory / f"{_PREFIX}{self._place:0{_DIGITS}d}"
        # Without a buffer: what a reader sees is what was written.
        self._file = path.open("ab", buffering=0)
        self._size = 0

    def _cut(self) -> None:
        """Cut off a record that was written in part, so that what follows can be read."""
        if self._file is not None:
            with suppress(OSError):
                os.ftruncate(self._file.fileno(), self._size)


def output_files(directory: Path) -> list[tuple[int, Path]]:
    """Return the files with output and the place at which each begins, oldest first."""
    found = []
    for path in directory.glob(f"{_PREFIX}*"):
        digits = path.name.removeprefix(_PREFIX)
        if digits.isdecimal():
            found.append((int(digits), path))
    return sorted(found)


def read_output(
    directory: Path, place: int, limit: int
) -> tuple[list[tuple[bytes, bytes]], int, int]:
    """Return records from a place on, the place after them, and how many bytes were lost before.

    ``limit``: about how many bytes are returned at most. A record that is still being written is
    not returned. A file that is removed meanwhile counts as lost. Raises: OSError.
    """
    files = output_files(directory)
    if not files:
        return [], place, 0
    lost = max(files[0][0] - place, 0)
    place += lost
    records: list[tuple[bytes, bytes]] = []
    for number, (start, path) in enumerate(files):
        end = files[number + 1][0] if number + 1 < len(files) else None
        if end is not None and place >= end:
            continue
        try:
            with path.open("rb") as file:
                # A place that nobody was told may be beyond what a file can have.
                file.seek(min(place - start, file.seek(0, os.SEEK_END)))
                content = file.read(limit + RECORD_LIMIT + HEAD)
        except FileNotFoundError:
            return records, place, lost
        found, used = _records(content)
        records += found
        place += used
        limit -= used
        if limit <= 0 or end is None or place < end:
            break
    return records, place, lost


def _records(content: bytes) -> tuple[list[tuple[bytes, bytes]], int]:
    """Return the whole records at the beginning of ``content`` and how long they are."""
    records = []
    used = 0
    while used + HEAD <= len(content):
        length = int.from_bytes(content[used + 1 : used + HEAD], "big")
        end = used + HEAD + length
        if end > len(content):
            break
        records.append((content[used : used + 1], content[used + HEAD : end]))
        used = end
    return records, used
