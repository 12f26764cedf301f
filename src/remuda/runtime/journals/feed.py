"""Reads the files of a journal piece by piece, for somebody who follows it from elsewhere.

No file stays open between two pieces. So a slow reader keeps no segment on the disk that the bounds
of the journal remove: it is told instead, and begins again.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final, final

import msgspec

from remuda.base.errors import RemudaError
from remuda.base.message import message
from remuda.base.texts import shortened
from remuda.runtime.journal import HEADER_BYTES_LIMIT, EndLine
from remuda.runtime.journals.following import first_segment, next_known
from remuda.runtime.journals.layout import SegmentFile, after, begins_empty, segment_files
from remuda.runtime.journals.past import Until

# Bytes of a piece.
PIECE_BYTES: Final = 256 << 10

# More than the last line of a complete segment has.
_END_BYTES: Final = 100


class LostError(RemudaError):
    """What comes next in a journal is not there (any more); one line says why."""


@message
class Piece:
    """Bytes of a file of a journal.

    ``name``: of the file, "": all that is there now was read. ``offset``: of the first byte.
    ``whole``: they are the last ones of a state. ``begins``: they do not go on from what was sent
    before.
    """

    name: str = ""
    offset: int = 0
    content: bytes = b""
    whole: bool = False
    begins: bool = False


@message
class Place:
    """A place in a journal: the name of a segment, and how many bytes of it are known."""

    name: str
    offset: int


@final
class Feed:
    """The files of a journal from a moment on. One thread at a time.

    ``since`` None: the latest segment with a state. ``place``: go on there instead, without the
    state. ``begun``: whether it is known where to begin. Implements: EXT-164.
    """

    def __init__(self, directory: Path, since: Until | None, place: Place | None = None) -> None:
        self._directory: Final = directory
        self._since: Final = since
        self._place: Final = place
        self._file: SegmentFile | None = None
        self._state: Path | None = None
        self._offset = 0

    @property
    def begun(self) -> bool:
        """Whether a segment was found from which the moment is reached."""
        return self._file is not None

    def read(self) -> Piece | None:
        """Return what comes next, None if nothing is there now.

        Raises: LostError if inputs are missing next; OSError.
        """
        try:
            if self._file is None:
                self._begin()
            if self._file is None:
                return None
            if self._state is not None:
                return self._of_state(self._state)
            return self._of_segment(self._file)
        except FileNotFoundError as error:
            if not self._directory.is_dir():
                raise
            name = Path(error.filename).name
            raise LostError(f"{name} was removed by the bounds of the journal") from None

    def _begin(self) -> None:
        files = segment_files(self._directory)
        if self._place is None:
            self._file = first_segment(files, self._since)
            self._state = None if self._file is None else self._file.state
            return
        for file in files:
            if file.inputs.name == self._place.name:
                size = file.inputs.stat().st_size
                if self._place.offset > size:
                    text = (
                        f"{file.inputs.name} has {size} bytes, and {self._place.offset} are known"
                    )
                    raise LostError(text)
                self._file, self._offset = file, self._place.offset
                return
        raise LostError(f"{shortened(self._place.name, 80)!r} is not there (any more)")

    def _of_state(self, path: Path) -> Piece:
        """Return bytes of a state; it does not change once it is there. Raises: OSError."""
        content, offset = _bytes(path, self._offset), self._offset
        self._offset += len(content)
        whole = self._offset >= path.stat().st_size
        if whole:
            self._state, self._offset = None, 0
        return Piece(path.name, offset, content, whole=whole)

    def _of_segment(self, file: SegmentFile) -> Piece | None:
        """Return bytes of a segment, or of the next one if it is over. Raises: LostError, OSError.

        A newer one is seen before the last bytes are read: lines may have come before it did.
        """
        content = _bytes(file.inputs, self._offset)
        if not content:
            files = segment_files(self._directory)
            newer = after(file, files)
            content = _bytes(file.inputs, self._offset)
            if not content:
                if newer is None or not _leads_to(file, newer, files):
                    return None
                file, self._file, self._offset = newer, newer, 0
                content = _bytes(file.inputs, 0)
        piece = Piece(file.inputs.name, self._offset, content)
        self._offset += len(content)
        return piece if content else None


def _bytes(path: Path, offset: int) -> bytes:
    """Return the next bytes of a file. Raises: OSError."""
    with path.open("rb", buffering=0) as file:
        file.seek(offset)
        return file.read(PIECE_BYTES)


def _leads_to(file: SegmentFile, newer: SegmentFile, files: Sequence[SegmentFile]) -> bool:
    """Whether a segment that is over is followed by another one; False: that is not known yet.

    A new process begins with an empty scheduler; else no input may be missing between them. If some
    are, a later state is waited for: a reader who begins again needs one, and would begin with what
    it has read otherwise. Raises: LostError, OSError.
    """
    with file.inputs.open("rb") as content:
        content.seek(max(0, content.seek(0, os.SEEK_END) - _END_BYTES))
        lines = content.read(_END_BYTES).splitlines() or [b""]
    try:
        end = msgspec.json.decode(lines[-1], type=EndLine)
        if file.first + end.inputs == newer.first:
            return True
    except (msgspec.MsgspecError, UnicodeDecodeError):
        pass
    with newer.inputs.open("rb") as content:
        if b"\n" not in content.read(HEADER_BYTES_LIMIT):
            return False
    if begins_empty(newer):
        return True
    if next_known(file, files) is None:
        return False
    raise LostError(f"inputs before input {newer.first} are missing in the journal")
