"""Event records as lines of text in files that are only ever appended to.

The file of the given name gets the new records. When it is large or old enough it is renamed to
NAME.ID, where ID is its first record, and a new file begins. Old files are deleted as a whole, so
no file is ever rewritten. Each file begins with a line that has the UUID and the next ID. The rest
of a failed write is cut off before the next write.
"""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from uuid import UUID, uuid4

from remuda.telemetry.events.durable.backend import (
    SMALLEST_BYTES,
    Bounds,
    Numbered,
    StoreRefusedError,
)
from remuda.telemetry.events.durable.records import decode, encode, id_of

# The least number of files when the store is full, and the bounds of their sizes.
_FILES: Final = 16
_FILE_BYTES_LIMIT: Final = 8 * 1024 * 1024

# A file is closed when its first record reaches this part of the greatest age.
_AGES: Final = 8

_HEADER: Final = re.compile(rb'\{"InstanceUUID":"([0-9a-f-]{36})","NextID":([0-9]{1,20})\}\n')
_HEADER_BYTES: Final = 128
_HEADER_BEGIN: Final = b'{"InstanceUUID":"'
_DIGITS: Final = 20

_FLAGS: Final = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(slots=True)
class _File:
    """A file and what is in it; ``first_id`` is ``next_id`` while it has no record."""

    path: Path
    first_id: int
    next_id: int
    size: int
    oldest_ns: int
    newest_ns: int


class NdjsonBackend:
    """Records in files of lines, rotated. See Backend.

    Raises: StoreRefusedError for a file of another program, OSError.
    Rules: EVT-132.
    """

    def __init__(self, path: Path, bounds: Bounds) -> None:
        self._path = path
        self._bounds = bounds
        self._size_limit = max(bounds.size_bytes, SMALLEST_BYTES)
        self._file_limit = min(self._size_limit // _FILES, _FILE_BYTES_LIMIT)
        self._lock = threading.Lock()
        self._closed = [_look_into(each) for each in _rotated(path)]
        last = self._closed[-1] if self._closed else None
        self.next_id = last.next_id if last is not None else 0
        self.instance = _instance(last.path) if last is not None else str(uuid4())
        self._fd: int | None = None
        self._current = _File(path, self.next_id, self.next_id, 0, 0, 0)
        self._open()
        self.lowest = self._lowest()

    def append(self, entries: Sequence[Numbered]) -> None:
        """Keep records, see Backend."""
        with self._lock:
            lines: list[bytes] = []
            size = 0
            began = 0
            for place, (number, record) in enumerate(entries):
                lines.append(encode(number, record) + b"\n")
                size += len(lines[-1])
                if self._current.size + size >= self._file_limit or place == len(entries) - 1:
                    self._write(b"".join(lines), entries[began : place + 1])
                    lines, size, began = [], 0, place + 1

    def read(self, first_id: int, end_id: int, count: int) -> list[Numbered]:
        """Return records, see Backend."""
        found: list[Numbered] = []
        with self._lock:
            for file in (*self._closed, self._current):
                if len(found) >= count or file.first_id >= end_id:
                    break
                if file.next_id > first_id and file.first_id < file.next_id:
                    found += _records(file, first_id, end_id, count - len(found))
        return found

    def prune(self, now_ns: int) -> None:
        """Close a file that is old enough, delete those beyond the bounds. See Backend."""
        with self._lock:
            age_ns = self._bounds.age_ns
            current = self._current
            if age_ns and _filled(current) and current.oldest_ns < now_ns - age_ns // _AGES:
                self._rotate()
            while self._closed and self._exceeded(now_ns):
                self._closed[0].path.unlink(missing_ok=True)
                del self._closed[0]
            self.lowest = self._lowest()

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            if self._fd is not None:
                os.close(self._fd)
                self._fd = None

    # ------------------------------------------------------------------ one thread at a time

    def _exceeded(self, now_ns: int) -> bool:
        too_old = self._bounds.age_ns and self._closed[0].newest_ns < now_ns - self._bounds.age_ns
        size = sum(each.size for each in self._closed) + self._current.size
        return bool(too_old) or size > self._size_limit - self._file_limit

    def _write(self, data: bytes, entries: Sequence[Numbered]) -> None:
        if self._current.size >= self._file_limit and _filled(self._current):
            self._rotate()
        fd = self._usable()
        _write_all(fd, data, self._current.size)
        current = self._current
        if not _filled(current):
            current.first_id, current.oldest_ns = entries[0][0], entries[0][1].timestamp_ns
        current.size += len(data)
        current.next_id = self.next_id = entries[-1][0] + 1
        current.newest_ns = entries[-1][1].timestamp_ns
        self.lowest = self._lowest()

    def _usable(self) -> int:
        """Return the open file, whole and still where it should be."""
        if self._fd is not None:
            now = os.fstat(self._fd)
            if now.st_nlink == 0 or now.st_size < self._current.size:  # the file was deleted
                os.close(self._fd)
                self._fd = None
        if self._fd is None:
            self._open()
        assert self._fd is not None
        if os.fstat(self._fd).st_size > self._current.size:  # the rest of a write that failed
            os.ftruncate(self._fd, self._current.size)
        return self._fd

    def _rotate(self) -> None:
        """Give the current file its final name and begin another one."""
        final = self._path.with_name(f"{self._path.name}.{self._current.first_id:0{_DIGITS}}")
        self._path.rename(final)
        self._current.path = final
        self._closed.append(self._current)
        self._current = _File(self._path, self.next_id, self.next_id, 0, 0, 0)
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None
        self._open()

    def _open(self) -> None:
        """Open or begin the current file; cut off an incomplete line at its end."""
        fd = os.open(self._path, _FLAGS, 0o600)
        try:
            self._current = self._begin(fd)
        except BaseException:
            os.close(fd)
            raise
        self._fd = fd

    def _begin(self, fd: int) -> _File:
        head = os.pread(fd, _HEADER_BYTES, 0)
        known = _HEADER.match(head)
        if known is None:
            begun = _HEADER_BEGIN[: len(head)]
            if b"\n" in head or not head.startswith(begun):
                raise StoreRefusedError(
                    "the file of the event store has something else in it; name another one"
                )
            os.ftruncate(fd, 0)
            content = {"InstanceUUID": self.instance, "NextID": self.next_id}
            header = json.dumps(content, separators=(",", ":")).encode() + b"\n"
            _write_all(fd, header, 0)
            return _File(self._path, self.next_id, self.next_id, len(header), 0, 0)
        self.instance = known[1].decode()
        self.next_id = max(self.next_id, int(known[2]))
        found = _look_into(self._path)
        os.ftruncate(fd, found.size)
        if not _filled(found):
            found.first_id = found.next_id = self.next_id
        self.next_id = max(self.next_id, found.next_id)
        return found

    def _lowest(self) -> int:
        return next(
            (each.first_id for each in (*self._closed, self._current) if _filled(each)),
            self.next_id,
        )


def _filled(file: _File) -> bool:
    return file.first_id < file.next_id


def _write_all(fd: int, data: bytes, size: int) -> None:
    """Append to a file of ``size``; if that fails, it has the same size again."""
    rest = memoryview(data)
    try:
        while rest:
            rest = rest[os.write(fd, rest) :]
    except OSError:
        # An incomplete record; if it cannot be cut off now, it is before the next write.
        with contextlib.suppress(OSError):
            os.ftruncate(fd, size)
        raise


def _rotated(path: Path) -> list[Path]:
    """Return the closed files of a store, oldest first."""
    name = re.compile(re.escape(path.name) + rf"\.[0-9]{{{_DIGITS}}}")
    found = [each for each in path.parent.iterdir() if name.fullmatch(each.name)]
    return sorted([each for each in found if each.is_file() and not each.is_symlink()])


def _instance(path: Path) -> str:
    with path.open("rb") as file:
        known = _HEADER.match(file.read(_HEADER_BYTES))
    if known is None:
        raise StoreRefusedError("an older file of the event store has something else in it")
    return str(UUID(known[1].decode()))


def _look_into(path: Path) -> _File:
    """Return the description of a file, up to its last good line."""
    with (
        path.open("rb") as file,
        # Only the needed part is read, and no other code shortens the file meanwhile.
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data,
    ):
        header = _HEADER.match(data)
        begin = header.end() if header is not None else len(data)
        end, last = _last(data, begin)
        first = _first(data, begin, end)
    if first is None or last is None:
        return _File(path, 0, 0, begin, 0, 0)
    return _File(path, first[0], last[0] + 1, end, first[1].timestamp_ns, last[1].timestamp_ns)


def _last(data: mmap.mmap, begin: int) -> tuple[int, Numbered | None]:
    """Return where the last good line ends, and what it says."""
    end = max(data.rfind(b"\n") + 1, begin)
    while end > begin:
        start = max(data.rfind(b"\n", begin, end - 1) + 1, begin)
        found = decode(data[start : end - 1])
        if found is not None:
            return end, found
        end = start
    return end, None


def _first(data: mmap.mmap, begin: int, end: int) -> Numbered | None:
    while begin < end:
        line_end = data.find(b"\n", begin)
        found = decode(data[begin:line_end])
        if found is not None:
            return found
        begin = line_end + 1
    return None


def _records(file: _File, first_id: int, end_id: int, count: int) -> list[Numbered]:
    """Return records of one file; damaged lines are left out."""
    try:
        with file.path.open("rb") as opened:
            data = opened.read(file.size)
    except FileNotFoundError:
        return []
    at = _find(data, first_id)
    found: list[Numbered] = []
    while at < len(data) and len(found) < count:
        end = data.find(b"\n", at)
        if end < 0:
            break
        entry = decode(data[at:end])
        at = end + 1
        if entry is None or entry[0] < first_id:
            continue
        if entry[0] >= end_id:
            break
        found.append(entry)
    return found


def _find(data: bytes, first_id: int) -> int:
    """Return where the first line may begin whose ID is not below ``first_id``."""
    low = data.find(b"\n") + 1
    high = len(data)
    while low < high:
        middle = (low + high) // 2
        start = max(data.rfind(b"\n", low, middle) + 1, low)
        end = data.find(b"\n", middle)
        number = id_of(data[start : start + 64])
        if number is None or end < 0:  # a damaged line: look at all from here on
            return low
        if number < first_id:
            low = end + 1
        else:
            high = start
    return low
