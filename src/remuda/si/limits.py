"""The limits of one message from outside, checked before it is unpacked.

A legal message of 4 MiB can hold 2.1 million empty asks, which unpack to 272 MiB while nothing
else runs. So elements are counted in the raw bytes first. Counting costs about 0.4 us per
element and is left out for messages too short to reach the limit, which is nearly all of them.
Entries of maps unpack to ten times their size and are counted in the same way, but only in
messages long enough to hold too many of them, since walking through every ask costs 4 us each.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple, TypeAlias

from remuda.base.errors import ProtocolError

# Elements (asks, allocations, releases, nodes, applications, groups) one message may carry.
ELEMENTS_LIMIT: Final = 100_000

# Elements, their resources, and entries of maps (types, tags, attributes) one message may carry.
ENTRIES_LIMIT: Final = 1_000_000

# Entries of maps that one element may carry. One with more than TYPES_LIMIT or TEXTS_LIMIT is
# refused alone, but has to be unpacked for that, and an entry unpacks to 150 bytes.
ELEMENT_ENTRIES_LIMIT: Final = 65_536

# The most fields that are read in one message. Legal messages have fewer; reading one field costs
# 0.7 us, and no other thread runs meanwhile.
FIELDS_LIMIT: Final = 2_000_000

# The most fields of the message of a call that has one, and of a Hello. Legal ones have 2,100: a
# few, and two maps. They are read on the event loop, where everybody else waits.
CALL_FIELDS_LIMIT: Final = 10_000

# Characters an identifier may have.
ID_LENGTH_LIMIT: Final = 1_024

# Groups of the user of an application. Placement filters look at each.
GROUPS_LIMIT: Final = 1_024

# Types of one resource, and entries of one map of texts (tags, attributes, build information).
TYPES_LIMIT: Final = 1_024
TEXTS_LIMIT: Final = 1_024

# Characters of all names and texts of one such map.
TEXTS_LENGTH_LIMIT: Final = 1_048_576

# The shortest element on the wire: one byte of tag, one byte of length.
_ELEMENT_BYTES_MIN: Final = 2

# The shortest element that can have too many entries of maps.
_LONG_ELEMENT_BYTES: Final = ELEMENT_ENTRIES_LIMIT * _ELEMENT_BYTES_MIN

# The shortest entry of a map with a name of two bytes; shorter names soon repeat each other,
# and what repeats takes no room.
_ENTRY_BYTES_MIN: Final = 6

# Which fields to count: field number -> the countable fields inside it.
Fields: TypeAlias = Mapping[int, "Fields"]


class MessageTooLargeError(ProtocolError):
    """A message carries more elements than one message may (SI-105).

    The sender gets it at once, before anything reaches the scheduler. Over gRPC it has its own
    status.
    """


class Elements(NamedTuple):
    """Where elements are in a message, by field.

    ``maps``: the maps of the elements in a field; ``within``: the elements inside of what it has.
    """

    maps: Fields
    within: Mapping[int, Elements] = {}


class Countable(NamedTuple):
    """The fields that are counted in messages of one type: elements; elements and map entries.

    ``single``: where the elements are that may not have too many entries, each for itself.
    """

    elements: Fields
    entries: Fields
    single: Elements = Elements({})


_RESOURCE: Final[Fields] = {1: {}}
_ASK: Final[Fields] = {4: _RESOURCE, 8: {}}
_ALLOCATION: Final[Fields] = {2: {}, 5: _RESOURCE}
_NODE_MAPS: Final[Fields] = {3: {}, 4: _RESOURCE, 5: _RESOURCE}
_NODE: Final[Fields] = {**_NODE_MAPS, 6: _ALLOCATION}
_APPLICATION: Final[Fields] = {4: {2: {}}, 5: {}, 7: _RESOURCE}
_RELEASES: Final[Fields] = {1: {}, 2: {}}

ALLOCATION_REQUEST: Final = Countable(
    elements={1: {}, 4: {}, 2: _RELEASES},
    entries={1: _ASK, 4: _ALLOCATION, 2: _RELEASES},
    single=Elements({1: _ASK, 4: _ALLOCATION}),
)
APPLICATION_REQUEST: Final = Countable(
    elements={1: {4: {2: {}}}, 2: {}},
    entries={1: _APPLICATION, 2: {}},
    single=Elements({1: _APPLICATION}),
)
# Existing allocations of a node are elements of their own.
NODE_REQUEST: Final = Countable(
    elements={1: {6: {}}},
    entries={1: _NODE},
    single=Elements({1: _NODE_MAPS}, {1: Elements({6: _ALLOCATION})}),
)
REGISTRATION: Final = Countable(elements={}, entries={4: {}, 6: {}})
CONFIGURATION_UPDATE: Final = Countable(elements={}, entries={5: {}})
DOCUMENT: Final = Countable(elements={}, entries={3: {}})
NEW_DOCUMENT: Final = Countable(elements={}, entries={1: DOCUMENT.entries})
SAMPLE_FILTER: Final = Countable(elements={1: {}}, entries={2: {}})
FLAT: Final = Countable(elements={}, entries={})

_TAG_LIMIT: Final = 2**32 - 1

# Wire types of fields.
VARINT, FIXED64, LENGTH, FIXED32 = 0, 1, 2, 5


def refuse_long(data: bytes, bytes_limit: int) -> None:
    """Refuse a request that is longer than any sensible one. Raises: MessageTooLargeError."""
    if len(data) > bytes_limit:
        text = f"the request has {len(data)} bytes; at most {bytes_limit} are taken"
        raise MessageTooLargeError(text)


def refuse_many_fields(data: bytes, countable: Countable) -> None:
    """Refuse the message of a call that has one if it has more fields than any legal one.

    Entries of maps are fields. Raises: MessageTooLargeError; ProtocolError if the bytes are no
    protobuf message.
    """
    if len(data) > CALL_FIELDS_LIMIT * _ELEMENT_BYTES_MIN:
        _refuse_beyond(data, countable.entries, CALL_FIELDS_LIMIT, "fields", CALL_FIELDS_LIMIT)


def refuse_too_many(
    data: bytes,
    countable: Countable,
    limit: int = ELEMENTS_LIMIT,
    entries_limit: int = ENTRIES_LIMIT,
) -> None:
    """Refuse a message with more elements or entries than allowed, wherever they are nested.

    No element may have more than ELEMENT_ENTRIES_LIMIT entries. ``entries_limit`` is for elements,
    resources and entries of maps together. Unknown fields are not counted, but all fields together
    are bounded (FIELDS_LIMIT).

    Raises: MessageTooLargeError; ProtocolError if the bytes are no protobuf message.
    """
    if len(data) >= limit * _ELEMENT_BYTES_MIN:
        _refuse_beyond(data, countable.elements, limit, "elements")
    if len(data) >= entries_limit * _ENTRY_BYTES_MIN:
        _refuse_beyond(data, countable.entries, entries_limit, "elements and entries of maps")
    if len(data) >= _LONG_ELEMENT_BYTES:
        try:
            _refuse_long_elements(memoryview(data), countable.single)
        except IndexError:
            raise _cut_short() from None


def _refuse_long_elements(data: memoryview, elements: Elements) -> None:
    """Refuse a message for one element with far more entries of maps than any may have.

    Only long elements are looked into. The fields of the message were counted before.
    """
    position, end = 0, len(data)
    while position < end:
        tag, position = varint(data, position)
        wire_type = tag & 7
        if wire_type == VARINT:
            _, position = varint(data, position)
        elif wire_type in (FIXED64, FIXED32):
            position += 8 if wire_type == FIXED64 else 4
        elif wire_type == LENGTH:
            size, position = varint(data, position)
            if size >= _LONG_ELEMENT_BYTES:
                _refuse_long_element(data[position : position + size], tag >> 3, elements)
            position += size
        else:
            raise ProtocolError(f"the message has a field of unknown wire type {wire_type}")


def _refuse_long_element(data: memoryview, field: int, elements: Elements) -> None:
    """Refuse one element, or one of those inside of it; it may be no element."""
    maps, within = elements.maps.get(field), elements.within.get(field)
    if maps is not None:
        left, fields = _count(data, maps, ELEMENT_ENTRIES_LIMIT, FIELDS_LIMIT)
        if fields < 0:
            raise MessageTooLargeError(f"an element has more than {FIELDS_LIMIT} fields")
        if left < 0:
            text = f"an element has more than {ELEMENT_ENTRIES_LIMIT} entries of maps"
            raise MessageTooLargeError(f"{text}; the message is refused")
    if within is not None:
        _refuse_long_elements(data, within)


def _refuse_beyond(
    data: bytes, countable: Fields, limit: int, what: str, fields_limit: int | None = None
) -> None:
    most = FIELDS_LIMIT if fields_limit is None else fields_limit
    try:
        left, fields = _count(memoryview(data), countable, limit, most)
    except IndexError:
        raise _cut_short() from None
    if fields < 0:
        raise MessageTooLargeError(f"the message has more than {most} fields; split it")
    if left < 0:
        raise MessageTooLargeError(f"the message has more than {limit} {what}; split it")


def _cut_short() -> ProtocolError:
    return ProtocolError("the message ends in the middle of a field")


def _count(data: memoryview, countable: Fields, left: int, fields: int) -> tuple[int, int]:
    """Return the rest of the budgets of elements and of fields; negative: one is exceeded."""
    position, end = 0, len(data)
    while position < end and left >= 0 and fields >= 0:
        fields -= 1
        tag, position = varint(data, position)
        if tag > _TAG_LIMIT:
            raise ProtocolError("the message has a field number of more than 29 bits")
        wire_type = tag & 7
        if wire_type == LENGTH:
            size, position = varint(data, position)
            inner = countable.get(tag >> 3)
            if inner is not None:
                left -= 1
                if inner:
                    inside = data[position : position + size]
                    left, fields = _count(inside, inner, left, fields)
            position += size
        elif wire_type == VARINT:
            _, position = varint(data, position)
        elif wire_type in (FIXED64, FIXED32):
            position += 8 if wire_type == FIXED64 else 4
        else:
            raise ProtocolError(f"the message has a field of unknown wire type {wire_type}")
    return left, fields


def varint(data: memoryview, position: int) -> tuple[int, int]:
    """Read one variable-length number; return it and the position after it.

    Raises: IndexError at the end of the data, ProtocolError for more than 64 bits.
    """
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
