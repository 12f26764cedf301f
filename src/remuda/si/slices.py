"""Cuts long requests into short ones of the same kind, before anything is unpacked.

To unpack a request holds the interpreter's lock until it is done, and takes ten times its size. A
slice has few elements, so other threads run between two slices. A protobuf message is a row of
fields, so a slice is some of these fields; the elements come in the order in which a whole request
is handled (SI-3).
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import Final, NamedTuple

from remuda.base.errors import ProtocolError
from remuda.si.limits import FIXED32, FIXED64, LENGTH, VARINT, varint
from remuda.si.wire import varint as encoded

# Elements and bytes of one slice; an element that is longer is a slice of its own.
ELEMENTS: Final = 256
BYTES: Final = 32 * 1024


class Lists(NamedTuple):
    """The fields of a request that hold its elements, in the order in which they are handled.

    ``inner``: those of the message in field ``wrapper``, which come last.
    """

    outer: tuple[int, ...]
    wrapper: int = 0
    inner: tuple[int, ...] = ()


ALLOCATION_REQUEST: Final = Lists((4, 1), wrapper=2, inner=(2, 1))
APPLICATION_REQUEST: Final = Lists((1, 2))
NODE_REQUEST: Final = Lists((1,))


def slices(data: bytes, lists: Lists) -> Iterator[bytes]:
    """Yield messages that together say the same as ``data``; the first has all other fields.

    Raises: ProtocolError, before the first slice, if the bytes are no protobuf message.
    """
    view = memoryview(data)
    try:
        outer, others = _spans(view, 0, len(view), lists.outer, lists.wrapper)
        inner: dict[int, array[int]] = {}
        for start, end in _pairs(outer.pop(lists.wrapper, array("Q"))):
            found, _ = _spans(view, *_content(view, start, end), lists.inner)
            for field, spans in found.items():
                inner.setdefault(field, array("Q")).extend(spans)
    except IndexError:
        raise ProtocolError("the message ends in the middle of a field") from None
    if others:
        yield b"".join([view[start:end] for start, end in _pairs(others)])
    for field in lists.outer:
        yield from _batches(view, outer.get(field, array("Q")))
    tag = encoded(lists.wrapper << 3 | LENGTH)
    for field in lists.inner:
        for part in _batches(view, inner.get(field, array("Q"))):
            yield tag + encoded(len(part)) + part


def _batches(view: memoryview, spans: array[int]) -> Iterator[bytes]:
    """Yield the bytes of a list's elements, some at a time."""
    batch: list[memoryview] = []
    size = 0
    for start, end in _pairs(spans):
        if batch and (len(batch) == ELEMENTS or size + end - start > BYTES):
            yield b"".join(batch)
            batch, size = [], 0
        batch.append(view[start:end])
        size += end - start
    if batch:
        yield b"".join(batch)


def _pairs(spans: array[int]) -> Iterator[tuple[int, int]]:
    numbers = iter(spans)
    return zip(numbers, numbers, strict=True)


def _spans(
    view: memoryview, position: int, end: int, lists: tuple[int, ...], wrapper: int = 0
) -> tuple[dict[int, array[int]], array[int]]:
    """Return where the fields of each list begin and end, and where all other fields do.

    Other fields that follow each other are one span: a message may have a million of them.

    Raises: IndexError for a message that ends early, ProtocolError for one that is none.
    """
    found: dict[int, array[int]] = {field: array("Q") for field in (*lists, wrapper) if field}
    others = array("Q")
    while position < end:
        start = position
        tag, position = varint(view, position)
        kind = tag & 7
        if kind == LENGTH:
            size, position = varint(view, position)
            position += size
        elif kind == VARINT:
            _, position = varint(view, position)
        elif kind in (FIXED64, FIXED32):
            position += 8 if kind == FIXED64 else 4
        else:
            raise ProtocolError(f"the message has a field of unknown wire type {kind}")
        if position > end:
            raise IndexError
        spans = found.get(tag >> 3) if kind == LENGTH else None
        if spans is not None:
            spans.append(start)
            spans.append(position)
        elif others and others[-1] == start:
            others[-1] = position
        else:
            others.append(start)
            others.append(position)
    return found, others


def _content(view: memoryview, start: int, end: int) -> tuple[int, int]:
    """Return where the content of a field begins and ends."""
    _, position = varint(view, start)
    _, position = varint(view, position)
    return position, end
