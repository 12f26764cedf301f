"""The files of the audit log: the one that is written, and a bounded number of older ones.

FILE is written. When it is full it becomes FILE.1, FILE.1 becomes FILE.2 and so on. A file is never
shortened apart from a line that could not be written whole, and only its owner can read it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
from pathlib import Path
from typing import Final

from remuda.base.errors import UsageError

_OPTION: Final = "--audit-log"
_FLAGS: Final = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK


class AuditFiles:
    """Appends lines to a file that is renamed when it is full. One thread at a time.

    Args:
        path: the file.
        size_bytes: it has no more than that, or a single line.
        older: how many full files are kept, at least 1.

    Raises: UsageError, one line, if it cannot be written.
    """

    def __init__(self, path: Path, size_bytes: int, older: int) -> None:
        self._path = path
        self._limit = size_bytes
        self._older = older
        self._file: int | None = None
        self._size = 0
        self._torn = False
        _require_place(path)
        try:
            self._open()
        except BlockingIOError:
            raise UsageError(f"{_OPTION} {path}: another process writes it") from None
        except OSError as error:
            raise UsageError(f"{_OPTION} {path}: {error.strerror}") from None

    def append(self, line: bytes) -> None:
        """Append a line, which ends with a line break, or nothing of it. Raises: OSError."""
        if self._file is not None and self._moved():
            self.close()
        if self._file is None:
            self._open()
        if self._size and self._size + len(line) > self._limit:
            self.close()
            self._shift()
            self._open()
        self._write(b"\n" + line if self._torn else line)
        self._torn = False

    def close(self) -> None:
        """Close the file; the next line opens it again."""
        file, self._file = self._file, None
        if file is not None:
            os.close(file)

    def _open(self) -> None:
        """Open the file, make it if there is none. Raises: OSError."""
        file = os.open(self._path, _FLAGS, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            size = os.fstat(file).st_size
            # A process that was killed may have left half a line.
            torn = size > 0 and os.pread(file, 1, size - 1) != b"\n"
        except OSError:
            os.close(file)
            raise
        self._file, self._size, self._torn = file, size, torn

    def _moved(self) -> bool:
        """Whether somebody else removed or renamed the file."""
        assert self._file is not None
        own = os.fstat(self._file)
        try:
            found = self._path.stat()
        except FileNotFoundError:
            return True
        return (own.st_dev, own.st_ino) != (found.st_dev, found.st_ino)

    def _shift(self) -> None:
        """Rename the files, up to the first number that is free; with none the oldest goes.

        If one cannot be renamed, a later call goes on there and loses nothing. Raises: OSError.
        """
        last = 1
        while last < self._older and self._numbered(last).exists():
            last += 1
        for number in range(last, 0, -1):
            self._numbered(number - 1).replace(self._numbered(number))

    def _numbered(self, number: int) -> Path:
        return self._path.with_name(f"{self._path.name}.{number}") if number else self._path

    def _write(self, data: bytes) -> None:
        """Write all of it or nothing. Raises: OSError."""
        assert self._file is not None
        written = 0
        try:
            while written < len(data):
                written += os.write(self._file, data[written:])
        except OSError:
            if written:
                self._torn = True
                with contextlib.suppress(OSError):
                    os.ftruncate(self._file, self._size)
                    self._torn = False
            raise
        self._size += written


def _require_place(path: Path) -> None:
    """Raise UsageError unless there may be a file, and others beside it."""
    with contextlib.suppress(OSError):
        if not stat.S_ISREG(path.stat().st_mode):
            raise UsageError(f"{_OPTION} {path}: is not a regular file; name another")
    directory = path.parent
    if not directory.is_dir():
        raise UsageError(f"{_OPTION} {path}: there is no directory {directory}; make it first")
    if not os.access(directory, os.W_OK | os.X_OK):
        raise UsageError(f"{_OPTION} {path}: this user may not make files in {directory}")
