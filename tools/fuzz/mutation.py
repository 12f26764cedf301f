"""Random changes of inputs, for the short run of the tests; the long one is guided by coverage."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Final

_BYTES: Final = (0, 1, 0x7F, 0x80, 0xFF, 0x0A, 0x20, 0x22, 0x2A, 0x3A, 0x5B, 0x7B)
_COPIES_LIMIT: Final = 32


def changed(seed: bytes, words: Sequence[bytes], random: Random, most: int) -> bytes:
    """Return an input that differs from ``seed`` in a few places; it has at most ``most`` bytes."""
    data = bytearray(seed)
    for _ in range(random.choice((1, 1, 1, 2, 4))):
        random.choice(_CHANGES)(data, words, random)
    return bytes(data[:most])


def _flip(data: bytearray, words: Sequence[bytes], random: Random) -> None:
    if data:
        data[random.randrange(len(data))] ^= 1 << random.randrange(8)


def _replace(data: bytearray, words: Sequence[bytes], random: Random) -> None:
    if data:
        data[random.randrange(len(data))] = random.choice(_BYTES)


def _insert(data: bytearray, words: Sequence[bytes], random: Random) -> None:
    at = random.randint(0, len(data))
    data[at:at] = random.choice(words) if words else bytes((random.choice(_BYTES),))


def _drop(data: bytearray, words: Sequence[bytes], random: Random) -> None:
    start, end = _span(data, random)
    del data[start:end]


def _repeat(data: bytearray, words: Sequence[bytes], random: Random) -> None:
    start, end = _span(data, random)
    data[end:end] = data[start:end] * random.randint(1, _COPIES_LIMIT)


def _move(data: bytearray, words: Sequence[bytes], random: Random) -> None:
    start, end = _span(data, random)
    part = data[start:end]
    del data[start:end]
    at = random.randint(0, len(data))
    data[at:at] = part


def _span(data: bytearray, random: Random) -> tuple[int, int]:
    start, end = sorted((random.randint(0, len(data)), random.randint(0, len(data))))
    return start, end


_CHANGES: Final[Sequence[Callable[[bytearray, Sequence[bytes], Random], None]]] = (
    _flip,
    _replace,
    _insert,
    _drop,
    _repeat,
    _move,
)
