"""The file with a whole state: one line that says what it is, then the packed state.

It is written in a copy of the process, where no lock may be taken; so its check sum is the one of
the packing, and not one of a library with locks of its own.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

from remuda.base.errors import SnapshotError, UsageError
from remuda.core.scheduler import Scheduler
from remuda.runtime.journals.layout import PART, STATE

_FIRST: Final = b"remuda-state 1\n"

_PIECE: Final = 1 << 20

# The most bytes of a state; 100,000 allocations and as many asks take 57 MB.
STATE_BYTES_LIMIT: Final = 2**31


def write_state(scheduler: Scheduler, stem: Path) -> bytes:
    """Write the state of a scheduler; return nothing, as an answer. Runs in a copy of the process.

    Raises: OSError.
    """
    part, path = stem.with_name(stem.name + PART), stem.with_name(stem.name + STATE)
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        left = memoryview(_FIRST + zlib.compress(scheduler.snapshot(), 1))
        while left:
            left = left[os.write(descriptor, left) :]
        os.fsync(descriptor)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    finally:
        os.close(descriptor)
    part.replace(path)
    return b""


def packed_pieces(path: Path) -> Iterator[bytes]:
    """Yield the packed state in a file, piece by piece. Raises: OSError."""
    with path.open("rb") as file:
        file.seek(len(_FIRST))
        while piece := file.read(_PIECE):
            yield piece


def read_state(path: Path, scheduler: Scheduler) -> None:
    """Give a scheduler the state in a file.

    Raises: UsageError, one line, if the file cannot be read, is damaged, or is one of another
    version.
    """
    try:
        with path.open("rb") as file:
            if file.read(len(_FIRST)) != _FIRST:
                raise UsageError(f"{path}: not a state of a journal of this version of Remuda")
            state = _unpacked(path, file)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    try:
        scheduler.restore(state)
    except SnapshotError as error:
        raise UsageError(f"{path}: {error}") from None


def _unpacked(path: Path, file: BinaryIO) -> bytes:
    """Return the rest of a file, unpacked; no more is read than that needs. Raises: UsageError."""
    unpacking = zlib.decompressobj()
    state = bytearray()
    try:
        while not unpacking.eof and (piece := file.read(_PIECE)):
            state += unpacking.decompress(piece, STATE_BYTES_LIMIT + 1 - len(state))
            if len(state) > STATE_BYTES_LIMIT:
                raise UsageError(f"{path}: the state is damaged; it is too large")
    except zlib.error:
        raise UsageError(f"{path}: the state is damaged; it cannot be unpacked") from None
    if not unpacking.eof:
        raise UsageError(f"{path}: the state is damaged; it has no end")
    return bytes(state)
