"""The interface of a backend that keeps event records.

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
    """A store that cannot be opened; the text is for operators and contains no value of an RM."""


@message
class Bounds:
    """The bounds of a store: the highest age in nanoseconds, 0 for any age, and the most bytes."""

    age_ns: int
    size_bytes: int


class Backend(Protocol):
    """Numbered records in files.

    ``instance``: the UUID of the series of IDs, made with the first record ever kept here.
    ``lowest``: the oldest kept ID, or ``next_id`` without any. ``next_id``: the ID after the
    newest. Any thread may read both at any time.
    """

    instance: str
    lowest: int
    next_id: int

    def append(self, entries: Sequence[Numbered]) -> None:
        """Keep records with ascending IDs, none below ``next_id``.

        If it fails, the records below ``next_id`` are kept and all others are not.

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
        """Close the files."""
        ...
