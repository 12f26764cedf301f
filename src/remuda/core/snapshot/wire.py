"""Packs numbers and texts into bytes, and reads them with a check before memory is taken.

Everything is little-endian. A reader asks a ``Cursor`` for a count of items; more items than there
are bytes left is an error, so memory is proportional to the size of a snapshot. Rules: EXT-40.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable
from typing import Final, final

from remuda.base.errors import SnapshotError

_SWAPPED: Final = sys.byteorder != "little"

# Integers within these bounds take eight bytes; others are written apart.
_LOWEST: Final = -(2**63)
_HIGHEST: Final = 2**63 - 1

_U32: Final = "I"
_I64: Final = "q"
_F64: Final = "d"


def packed(numbers: array[int] | array[float]) -> bytes:
    """Return an array as bytes."""
    if _SWAPPED:
        numbers = numbers[:]
        numbers.byteswap()
    return numbers.tobytes()


def counts(numbers: Iterable[int]) -> bytes:
    """Return counts and places, each four bytes. Raises: OverflowError beyond 32 bits."""
    return packed(array(_U32, numbers))


def integers(numbers: Iterable[int]) -> bytes:
    """Return integers of any size: eight bytes for each, and the larger ones after them."""
    small: array[int] = array(_I64)
    large: list[bytes] = []
    for place, number in enumerate(numbers):
        if _LOWEST <= number <= _HIGHEST:
            small.append(number)
        else:
            small.append(0)
            size = number.bit_length() // 8 + 1
            large.append(counts((place, size)))
            large.append(number.to_bytes(size, "little", signed=True))
    return b"".join([packed(small), counts((len(large) // 2,)), *large])


def floats(numbers: Iterable[float]) -> bytes:
    """Return floating-point numbers, eight bytes each."""
    return packed(array(_F64, numbers))


def texts(given: Iterable[str]) -> bytes:
    """Return texts: their lengths in bytes, then all of them; lone surrogates survive."""
    encoded = [text.encode("utf-8", "surrogatepass") for text in given]
    return b"".join([counts(map(len, encoded)), *encoded])


@final
class Cursor:
    """Reads bytes from the first to the last. Raises: SnapshotError if there are too few."""

    __slots__ = ("_at", "_bytes")

    def __init__(self, given: bytes) -> None:
        self._bytes = given
        self._at: int = 0

    def left(self) -> int:
        """Return how many bytes were not read yet."""
        return len(self._bytes) - self._at

    def take(self, size: int) -> bytes:
        """Return the next bytes."""
        if size > self.left():
            raise SnapshotError("the snapshot is damaged: it ends too early")
        start = self._at
        self._at = start + size
        return self._bytes[start : self._at]

    def numbers(self, typecode: str, count: int) -> array[int]:
        """Return the next integers of a type of ``array``."""
        found: array[int] = array(typecode)
        found.frombytes(self.take(count * found.itemsize))
        if _SWAPPED:
            found.byteswap()
        return found

    def counts(self, count: int) -> array[int]:
        """Return the next counts, as ``counts`` packed them."""
        return self.numbers(_U32, count)

    def integers(self, count: int) -> list[int]:
        """Return the next integers, as ``integers`` packed them."""
        found = list(self.numbers(_I64, count))
        for _ in range(self.counts(1)[0]):
            place, size = self.counts(2)
            found[place] = int.from_bytes(self.take(size), "little", signed=True)
        return found

    def floats(self, count: int) -> list[float]:
        """Return the next floating-point numbers."""
        found: array[float] = array(_F64)
        found.frombytes(self.take(count * found.itemsize))
        if _SWAPPED:
            found.byteswap()
        return list(found)

    def texts(self, count: int) -> list[str]:
        """Return the next texts, as ``texts`` packed them."""
        lengths = self.counts(count)
        return [str(self.take(length), "utf-8", "surrogatepass") for length in lengths]
