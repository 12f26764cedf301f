"""What one message from outside may carry, checked before it is unpacked.

A legal message of 4 MiB can hold 2.1 million empty asks, which unpack to 272 MiB while nothing
else runs. So elements are counted in the raw bytes first. Counting costs about 0.4 us per
element and is left out for messages too short to reach the limit, which is nearly all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias

from remuda.base.errors import ProtocolError
from remuda.si.errors import MessageTooLargeError

# Elements (asks, allocations, releases, nodes, applications, groups) one message may carry.
ELEMENTS_LIMIT: Final = 100_000

# Characters an identifier may have.
ID_LENGTH_LIMIT: Final = 1_024

# The shortest element on the wire: one byte of tag, one byte of length.
_ELEMENT_BYTES_MIN: Final = 2

# Which fields to count: field number -> the countable fields inside it.
Countable: TypeAlias = Mapping[int, "Countable"]

ALLOCATION_REQUEST: Final[Countable] = {1: {}, 4: {}, 2: {1: {}, 2: {}}}
APPLICATION_REQUEST: Final[Countable] = {1: {4: {2: {}}}, 2: {}}
NODE_REQUEST: Final[Countable] = {1: {6: {}}}

_TAG_LIMIT: Final = 2**32 - 1
_VARINT, _FIXED64, _LENGTH, _FIXED32 = 0, 1, 2, 5


def refuse_too_many(data: bytes, countable: Countable, limit: int = ELEMENTS_LIMIT) -> None:
    """Refuse a message with more than ``limit`` elements, wherever they are nested.

    Raises: MessageTooLargeError; ProtocolError if the bytes are no protobuf message.
    """
    if len(data) < limit * _ELEMENT_BYTES_MIN:
        return
    try:
        left = _count(memoryview(data), countable, limit)
    except IndexError:
        raise ProtocolError("the message ends in the middle of a field") from None
    if left < 0:
        raise MessageTooLargeError(
            f"the message has more than {limit} elements; split it into several"
        )


def _count(data: memoryview, countable: Countable, left: int) -> int:
    """Return how many elements are left of the budget; negative as soon as it is exceeded."""
    position, end = 0, len(data)
    while position < end and left >= 0:
        tag, position = _varint(data, position)
        if tag > _TAG_LIMIT:
            raise ProtocolError("the message has a field number of more than 29 bits")
        wire_type = tag & 7
        if wire_type == _LENGTH:
            size, position = _varint(data, position)
            inner = countable.get(tag >> 3)
            if inner is not None:
                left -= 1
                if inner:
                    left = _count(data[position : position + size], inner, left)
            position += size
        elif wire_type == _VARINT:
            _, position = _varint(data, position)
        elif wire_type in (_FIXED64, _FIXED32):
            position += 8 if wire_type == _FIXED64 else 4
        else:
            raise ProtocolError(f"the message has a field of unknown wire type {wire_type}")
    return left


def _varint(data: memoryview, position: int) -> tuple[int, int]:
    """Read one variable-length number; return it and the position after it."""
    byte = data[position]
    position += 1
    if byte < 128:
        return byte, position
    value, shift = byte & 127, 7
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, position
        shift += 7
        if shift > 63:
            raise ProtocolError("the message has a number of more than 64 bits")
