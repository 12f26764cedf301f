"""Shared by both ends of the wire: kinds of messages, a metadata key, amounts.

The scheduler's edges, the client and the demo's resource manager speak the same interface, and
share this code.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias

from remuda.si.pb import si_pb2 as si

Request: TypeAlias = si.AllocationRequest | si.ApplicationRequest | si.NodeRequest
Response: TypeAlias = si.AllocationResponse | si.ApplicationResponse | si.NodeResponse

# Metadata key that names the RM of a stream before its first message does (SI-101).
RM_ID_METADATA: Final = "remuda-rm-id"

# Metadata key of the fencing token: of the scheduler's in an answer, of the highest that a client
# has seen in a call (EXT-36).
FENCING_METADATA: Final = "remuda-fencing-token"

# More digits than a number of 64 bits has.
_TOKEN_DIGITS: Final = 21

# Each byte by itself: nearly all numbers in front of a message are made of one or two of them.
_BYTES: Final = tuple([bytes((value,)) for value in range(256)])


def token_of(value: str | bytes | None) -> int:
    """Return the fencing token in the metadata of a call; 0 if it is none. Rules: EXT-36."""
    text = value.decode(errors="replace") if isinstance(value, bytes) else value or ""
    return int(text) if text.isdecimal() and len(text) < _TOKEN_DIGITS else 0


def resource(amounts: Mapping[str, int] | None) -> si.Resource:
    """Return amounts in base units (vcore thousandths, memory bytes) as a message.

    Zeros are sent, nothing at all is an empty message.
    Implements: RES-11.
    """
    message = si.Resource()
    if amounts:
        for name, amount in amounts.items():
            message.resources[name].value = amount
    return message


def varint(value: int) -> bytes:
    """Encode a number that is not negative."""
    if value < 128:
        return _BYTES[value]
    if value < 16_384:
        return _BYTES[value & 127 | 128] + _BYTES[value >> 7]
    encoded = bytearray()
    while value > 127:
        encoded.append(value & 127 | 128)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)
