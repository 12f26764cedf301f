"""Frames as bytes: the fields before a body, and the head of a frame before it is unpacked.

A frame is a protobuf message, and a protobuf message is a row of fields. So a body is encoded once
and kept as bytes until the peer has it. Each time it is sent, the two numbers that change are put
before it. The elements of an incoming frame are counted before it is unpacked (SI-105).
"""

from __future__ import annotations

from typing import Final, NamedTuple, TypeAlias

from google.protobuf.message import Message

from remuda.base.errors import ProtocolError
from remuda.si import limits
from remuda.si.pb import extension_pb2 as ext
from remuda.si.wire import varint

Frame: TypeAlias = ext.RMFrame | ext.CoreFrame

# Fields of both kinds of frames that carry no number of their own (EXT-3).
UNNUMBERED: Final = frozenset({"hello", "welcome", "ack_only", "heartbeat", "goodbye"})

# Fields 20 to 29 are requests and responses, 30 to 39 belong to calls, fields from 40 on get no
# answer (extension.proto). An unknown field is treated by its kind (EXT-21).
REQUESTS: Final = range(20, 30)
ANSWERS: Final = range(30, 40)

_SEQ_TAG: Final = 1 << 3
_ACK_TAG: Final = 2 << 3
_FIRST_BODY: Final = 10

# Asking a descriptor costs as much as unpacking a small frame.
_NUMBERS: Final[dict[type[Frame], dict[str, int]]] = {
    frame: {field.name: field.number for field in frame.DESCRIPTOR.fields}
    for frame in (ext.RMFrame, ext.CoreFrame)
}

# The most bytes of a frame besides the content of its body.
HEAD_BYTES: Final = 64

# Fields of a frame that are looked at; it has three, and may get some more.
_FIELDS_LIMIT: Final = 1_000

# What is counted in frames of RMs: their requests, and the parts of their answers.
RM_FRAME: Final = limits.Countable(
    elements={
        10: {2: {}},
        20: limits.APPLICATION_REQUEST.elements,
        21: limits.ALLOCATION_REQUEST.elements,
        22: limits.NODE_REQUEST.elements,
        24: {1: limits.ALLOCATION_REQUEST.elements, 2: {}},
        30: {3: {4: {}}},
        31: {3: {}},
    },
    entries={
        10: {2: {}, 3: limits.REGISTRATION.entries},
        20: limits.APPLICATION_REQUEST.entries,
        21: limits.ALLOCATION_REQUEST.entries,
        22: limits.NODE_REQUEST.entries,
        23: {2: limits.CONFIGURATION_UPDATE.entries},
        24: {1: limits.ALLOCATION_REQUEST.entries},
        30: {3: {4: {}}},
        31: {3: {}},
    },
    single=limits.Elements(
        {},
        {
            20: limits.APPLICATION_REQUEST.single,
            21: limits.ALLOCATION_REQUEST.single,
            22: limits.NODE_REQUEST.single,
            24: limits.Elements({}, {1: limits.ALLOCATION_REQUEST.single}),
        },
    ),
)


class Head(NamedTuple):
    """The head of a frame: its number, the number it acknowledges, the field of its body.

    ``field`` 0: it has no body.
    """

    number: int
    acknowledged: int
    field: int


def body(frame: type[Frame], name: str, inside: Message | bytes) -> bytes:
    """Encode a body: the field ``name`` of a kind of frame, with its content."""
    encoded = inside if isinstance(inside, bytes) else inside.SerializeToString()
    return varint(field_number(frame, name) << 3 | limits.LENGTH) + varint(len(encoded)) + encoded


def content(encoded: bytes) -> tuple[int, bytes]:
    """Return the field and the content of a body that ``body`` encoded."""
    view = memoryview(encoded)
    tag, position = limits.varint(view, 0)
    _, position = limits.varint(view, position)
    return tag >> 3, encoded[position:]


def numbered(number: int, acknowledged: int, inside: bytes) -> bytes:
    """Return a frame: its number, what it acknowledges, its body; zeros are left out.

    Implements: EXT-3.
    """
    head = b""
    if number:
        head = varint(_SEQ_TAG) + varint(number)
    if acknowledged:
        head += varint(_ACK_TAG) + varint(acknowledged)
    return head + inside


def peek(data: bytes) -> Head:
    """Read the head of a frame without unpacking it; a later field replaces an earlier one.

    Raises: ProtocolError if the bytes are no protobuf message, or have fields without end.
    """
    view, position = memoryview(data), 0
    number = acknowledged = field = fields = 0
    try:
        while position < len(view):
            fields += 1
            if fields > _FIELDS_LIMIT:
                raise ProtocolError(f"the frame has more than {_FIELDS_LIMIT} fields")
            tag, position = limits.varint(view, position)
            value, position = _value(view, position, tag & 7)
            if tag == _SEQ_TAG:
                number = value
            elif tag == _ACK_TAG:
                acknowledged = value
            elif tag >> 3 >= _FIRST_BODY:
                field = tag >> 3
    except IndexError:
        raise ProtocolError("the frame ends in the middle of a field") from None
    return Head(number, acknowledged, field)


def refuse_too_many(data: bytes, countable: limits.Countable) -> None:
    """Refuse a frame with too many elements; an invalid one is refused after few fields.

    Raises: MessageTooLargeError, ProtocolError. Rules: SI-105.
    """
    if len(data) > _FIELDS_LIMIT:
        peek(data)
    limits.refuse_too_many(data, countable)


def _value(view: memoryview, position: int, wire_type: int) -> tuple[int, int]:
    """Read or skip the value of a field; return a number, 0 for others, and the place after it."""
    if wire_type == limits.VARINT:
        return limits.varint(view, position)
    if wire_type == limits.LENGTH:
        size, position = limits.varint(view, position)
        return 0, position + size
    if wire_type in (limits.FIXED64, limits.FIXED32):
        return 0, position + (8 if wire_type == limits.FIXED64 else 4)
    raise ProtocolError(f"the frame has a field of unknown wire type {wire_type}")


def field_number(frame: type[Frame], name: str) -> int:
    """Return the number of a field of a kind of frame."""
    return _NUMBERS[frame][name]
