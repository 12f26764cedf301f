"""A stream of bytes cut into lines, each of bounded length."""

from __future__ import annotations


class LineTooLongError(Exception):
    """A line is longer than anything that the server sends."""


class Lines:
    """Collects pieces of a stream. The work is linear in the length of a line."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, piece: bytes) -> list[bytes]:
        """Return the lines that are complete now, without their ends. Raises: LineTooLongError."""
        end = piece.rfind(b"\n")
        if end < 0:
            self._keep(piece)
            return []
        first, *others = piece[:end].split(b"\n")
        self._parts.append(first)
        lines = [b"".join(self._parts), *others]
        self._parts = []
        self._size = 0
        self._keep(piece[end + 1 :])
        return [line for line in lines if line.strip()]

    def _keep(self, piece: bytes) -> None:
        if not piece:
            return
        self._parts.append(piece)
        self._size += len(piece)
        if self._size > self._limit:
            raise LineTooLongError(f"a line of more than {self._limit} bytes")

    def end(self) -> bytes:
        """Return what came after the last end of a line."""
        rest = b"".join(self._parts).strip()
        self._parts = []
        self._size = 0
        return rest
