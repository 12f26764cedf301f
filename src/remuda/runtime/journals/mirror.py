"""A copy of the present end of a journal that another process writes elsewhere.

What reads a journal that grows reads the copy unchanged. Pieces are taken only when all that is
there was read, so a slow reader neither fills the disk nor memory: its source waits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, Protocol, final

from remuda.base.errors import UsageError
from remuda.runtime.journals.feed import Piece
from remuda.runtime.journals.following import Followed, Follower
from remuda.runtime.journals.layout import INPUTS, STATE, ending
from remuda.runtime.journals.past import Until
from remuda.runtime.journals.states import STATE_BYTES_LIMIT

# How long a piece is waited for at a time.
_SECONDS: Final = 0.2

_PART: Final = ".part"


class Source(Protocol):
    """Where the pieces of a journal come from."""

    def next(self, seconds: float) -> Piece | None:
        """Wait for a piece; None: none came in that time."""


@final
class Mirror:
    """Follows a journal through a copy of it.

    Args:
        folder: where the copy is; empty at the beginning.
        source: of the pieces.
        since: where it begins, None: with the first state that comes.
        once: whether it ends when all is there that the journal has at that time.
        goes_on: called while it waits; False: nothing more is wanted.

    Implements: EXT-165.
    """

    def __init__(
        self,
        folder: Path,
        source: Source,
        since: Until | None,
        *,
        once: bool,
        goes_on: Callable[[], bool],
    ) -> None:
        self._folder = folder
        self._source = source
        self._since = since
        self._once = once
        self._goes_on = goes_on
        self._complete = False
        self._first: Piece | None = None
        self._beginnings = 0

    def read(self) -> Iterator[Followed]:
        """Yield the inputs, each to be repeated before the next, until nothing more is wanted.

        Raises: UsageError, RemudaError, and what the source raises.
        """
        since = self._since
        while (directory := self._begun()) is not None:
            yield from Follower(directory, since, self._wait).read()
            if self._first is None:
                return
            since = None

    @property
    def _directory(self) -> Path:
        """The folder of the present copy; after missing inputs it is another one."""
        return self._folder / str(self._beginnings)

    def _begun(self) -> Path | None:
        """Wait until a copy has a segment; None: nothing more is wanted."""
        wanted = True
        while wanted:
            first, self._first = self._first, None
            if first is not None:
                self._begin(first)
            if any(self._directory.glob("*" + INPUTS)):
                return self._directory
            wanted = self._wait() or self._first is not None
        return None

    def _begin(self, first: Piece) -> None:
        """Begin another copy with a piece; the one before was read."""
        if self._beginnings:
            _clear(self._directory)
        self._beginnings += 1
        self._write(lambda: self._directory.mkdir(mode=0o700))
        self._store(first)

    def _wait(self) -> bool:
        """Take a piece if one comes; False: nothing more is wanted, or another copy begins."""
        if self._first is not None or not self._goes_on():
            return False
        if self._once and self._complete:
            return False
        piece = self._source.next(_SECONDS)
        if piece is None:
            return True
        self._complete = not piece.name
        if piece.begins:
            self._first = piece
            return False
        if piece.name:
            self._store(piece)
        return True

    def _store(self, piece: Piece) -> None:
        """Add a piece to its file.

        All older segments have been read when one begins: otherwise nothing would be waited for.
        """
        end = ending(piece.name)
        path = self._directory / piece.name
        part = path.with_name(path.name + _PART) if end == STATE else path
        known = part.stat().st_size if end and part.exists() else 0
        if not end or piece.offset != known:
            raise UsageError(f"the scheduler sent {piece.name!r:.80} at {piece.offset}: no journal")
        if end == STATE and known + len(piece.content) > STATE_BYTES_LIMIT:
            raise UsageError(f"the state in {piece.name} has more than {STATE_BYTES_LIMIT} bytes")
        if end == INPUTS and not known:
            _clear(self._directory, piece.name.removesuffix(INPUTS))

        def add() -> None:
            with part.open("ab") as file:
                file.write(piece.content)
            if piece.whole and part != path:
                part.replace(path)

        self._write(add)

    def _write(self, work: Callable[[], object]) -> None:
        """Do something to files. Raises: UsageError, one line, if that is not possible."""
        try:
            work()
        except OSError as error:
            text = f"cannot write the copy of the journal in {self._folder}: {error.strerror}"
            raise UsageError(text) from None


def _clear(directory: Path, but: str = "") -> None:
    """Remove the files of a copy, but for those of one segment."""
    for path in directory.iterdir():
        if not but or not path.name.startswith(but):
            path.unlink(missing_ok=True)
