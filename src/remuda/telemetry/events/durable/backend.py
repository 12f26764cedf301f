"""What a way of keeping event records has to be able to do; a new one is added by writing it.

One thread writes, any may read meanwhile.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol, TypeAlias

from remuda.base.errors import RemudaError
from remuda.base.message import message
from remuda.core.messages.effects import EventRecord

Numbered: TypeAlias = tuple[int, EventRecord]

SMALLEST_BYTES: Final = 1024 * 1024


class StoreRefusedError(RemudaError):
    """A store that cannot be opened; the text is for operators and has no value of an RM in it."""


@message
class Bounds:
    """How much is kept: records of that age in nanoseconds, 0 for any age, and so many bytes."""

    age_ns: int
    size_bytes: int


class Backend(Protocol):
    """Numbered records in files.

    ``instance``: the UUID of the count of IDs, made with the first record ever kept here.
    ``lowest``: the oldest ID that is there, ``next_id`` if none is. ``next_id``: the one after the
    newest. Both are plain numbers that any thread may read at any time.
    """

    instance: str
    lowest: int
    next_id: int

    def append(self, entries: Sequence[Numbered]) -> None:
        """Keep records with ascending IDs, none below ``next_id``.

        If it fails, those below ``next_id`` then are kept and all others are not.

        Raises: OSError or another error of the file; it may be tried again.
        """
        ...

    def read(self, first_id: int, end_id: int, count: int) -> list[Numbered]:
        """Return the first records from ``first_id`` on and below ``end_id``, ascending."""
        ...

    def prune(self, now_ns: int) -> None:
        """Drop the oldest records beyond the bounds. Raises: as ``append``."""
        ...

    def close(self) -> None:
        """Let go of the files."""
        ...
