"""Snapshots in files: one line of JSON that says what it is, then the packed state.

A file is written whole or not at all, and is for its owner only: it has names of applications and
users. Whoever reads one gets a scheduler whose counters and indexes were all worked out anew.
"""

from __future__ import annotations

import hashlib
import os
import zlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

import msgspec

import remuda
from remuda.base.errors import SnapshotError
from remuda.core.messages.measures import QueueMeasuresPage, QueueMeasuresQuery
from remuda.core.messages.queries import PartitionsQuery, PartitionView
from remuda.core.messages.rows import rows
from remuda.core.scheduler import Scheduler
from remuda.runtime.build import core_build
from remuda.runtime.private_files import private

# The most bytes of a state in a file, unpacked; 100,000 allocations and as many asks take 57 MB.
STATE_BYTES_LIMIT: Final = 2**30

# The longest first line.
HEADER_BYTES_LIMIT: Final = 4_096

_FIRST: Final = b"remuda-snapshot "
_PIECE: Final = 1 << 20


class Header(msgspec.Struct, forbid_unknown_fields=True):
    """What a file is: who wrote it, and when.

    ``at_ns``: the time of the scheduler, which is Unix time unless the recording was made on a
    virtual clock. ``counts``: of partitions, nodes, applications, allocations and waiting asks.
    ``state_bytes``, ``digest``: the length of the state that is packed, and its SHA-256.
    """

    version: str
    build: str
    at_ns: int
    counts: dict[str, int]
    state_bytes: int
    digest: str


def write(path: Path, scheduler: Scheduler, at_ns: int) -> Header:
    """Write the state of a scheduler, and return what the file says of itself.

    Raises: SnapshotError if the state is too large or the file cannot be written; then nothing has
    changed.
    """
    if not path.name:
        raise SnapshotError(f"cannot write {path}: it is a directory")
    state = scheduler.snapshot()
    digest = hashlib.sha256(state).hexdigest()
    header = _header(path, at_ns, counts(scheduler), len(state), digest)
    _put(path, header, [zlib.compress(state, 1)])
    return header


def write_packed(
    path: Path, pieces: Callable[[], Iterable[bytes]], at_ns: int, counts: Mapping[str, int]
) -> None:
    """Write a snapshot with a packed state, which is read twice, piece by piece.

    Cost: no memory for the state. Raises: SnapshotError, as ``write`` does; OSError from reading.
    """
    digest, size, unpacking = hashlib.sha256(), 0, zlib.decompressobj()
    for piece in pieces():
        rest = piece
        while rest:
            unpacked = unpacking.decompress(rest, _PIECE)
            digest.update(unpacked)
            size += len(unpacked)
            rest = unpacking.unconsumed_tail
    unpacked = unpacking.flush()
    digest.update(unpacked)
    size += len(unpacked)
    _put(path, _header(path, at_ns, counts, size, digest.hexdigest()), pieces())


def _header(path: Path, at_ns: int, counts: Mapping[str, int], size: int, digest: str) -> Header:
    """Return what a file is to say of a state of ``size`` bytes. Raises: SnapshotError."""
    if size > STATE_BYTES_LIMIT:
        raise SnapshotError(f"{path}: the state has {size} bytes, more than a file may have")
    return Header(
        version=remuda.__version__,
        build=core_build(),
        at_ns=at_ns,
        counts=dict(counts),
        state_bytes=size,
        digest=digest,
    )


def _put(path: Path, header: Header, packed: Iterable[bytes]) -> None:
    """Write a file, whole or not at all. Raises: SnapshotError."""
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        try:
            with open(part, "xb", opener=private) as file:
                file.write(_FIRST + msgspec.json.encode(header) + b"\n")
                file.writelines(packed)
                file.flush()
                os.fsync(file.fileno())
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise SnapshotError(f"cannot write {path}: {error.strerror}") from None


def read(path: Path) -> tuple[Header, Scheduler]:
    """Return a scheduler with the state of a file, and what the file says of itself.

    Predicates pass there, as nobody can be asked. Cost: memory for some ten times the state.
    Raises: SnapshotError, one line, for every file that is no snapshot of this version, or whose
    state breaks an invariant. Rules: EXT-40.
    """
    header, scheduler = read_unchecked(path)
    try:
        scheduler.check()
    except Exception as error:  # noqa: BLE001 - any state may be in a file
        raise _contradiction(path, error) from None
    return header, scheduler


def read_unchecked(path: Path) -> tuple[Header, Scheduler]:
    """Return the same as ``read``, of a state that may break invariants, too.

    Raises: SnapshotError, one line, for every file that is no snapshot of this version.
    """
    header, packed = _parts(path)
    scheduler = Scheduler()
    try:
        scheduler.restore(_unpacked(header, packed))
    except SnapshotError as error:
        raise SnapshotError(f"{path}: {error}") from None
    except Exception as error:  # noqa: BLE001 - any state may be in a file
        raise _contradiction(path, error) from None
    return header, scheduler


def _contradiction(path: Path, error: Exception) -> SnapshotError:
    why = " ".join(str(error).split())[:200]
    return SnapshotError(f"{path}: the state contradicts itself: {why}")


def counts(scheduler: Scheduler) -> Mapping[str, int]:
    """Return how many objects of each kind a scheduler has."""
    partitions = rows(PartitionView, scheduler.view(PartitionsQuery()))
    page = scheduler.view(QueueMeasuresQuery())
    assert isinstance(page, QueueMeasuresPage)
    return {
        "partitions": len(partitions),
        "nodes": sum(each.total_nodes for each in partitions),
        "applications": sum(sum(each.states.values()) for each in page.applications),
        "allocations": sum(each.total_containers for each in partitions),
        "waiting asks": sum(each.pending_asks for each in page.applications),
    }


def _parts(path: Path) -> tuple[Header, bytes]:
    """Return the first line and the rest. Raises: SnapshotError."""
    try:
        with path.open("rb") as file:
            line = file.readline(HEADER_BYTES_LIMIT)
            if not line.startswith(_FIRST) or not line.endswith(b"\n"):
                raise SnapshotError(f"{path}: this is no snapshot of Remuda")
            # What cannot be packed any smaller grows by less than a thousandth.
            packed = file.read(STATE_BYTES_LIMIT + STATE_BYTES_LIMIT // 1_000 + 1)
    except OSError as error:
        raise SnapshotError(f"cannot read {path}: {error.strerror}") from None
    try:
        header = msgspec.json.decode(line[len(_FIRST) :], type=Header)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        raise SnapshotError(f"{path}: the snapshot is damaged: its first line") from None
    if not 0 <= header.state_bytes <= STATE_BYTES_LIMIT:
        raise SnapshotError(f"{path}: the snapshot is damaged: the length of its state")
    return header, packed


def _unpacked(header: Header, packed: bytes) -> bytes:
    """Return the state, never more than the header says. Raises: SnapshotError."""
    unpacking = zlib.decompressobj()
    try:
        state = unpacking.decompress(packed, header.state_bytes + 1)
    except zlib.error:
        raise SnapshotError("the snapshot is damaged: it cannot be unpacked") from None
    whole = unpacking.eof and not unpacking.unused_data and len(state) == header.state_bytes
    if not whole or hashlib.sha256(state).hexdigest() != header.digest:
        raise SnapshotError("the snapshot is damaged: it is not as long as it says, or was changed")
    return state
