"""Messages as one line of text, close to YAML in flow style, for the report of a failure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from remuda.base.texts import shortened
from remuda.si.pb import si_pb2 as si

# Characters of one described message in a report.
_LENGTH_LIMIT: Final = 600

# Characters after which a text inside a message is cut.
_TEXT_LIMIT: Final = 120

_BARE: Final = frozenset("-_.@/[]")


def words(message: Message) -> str:
    """Return the fields that are set; a resource is its amounts."""
    return cut(_message(message), _LENGTH_LIMIT)


def cut(text: str, limit: int = _LENGTH_LIMIT) -> str:
    """Return a text of at most ``limit`` characters, with dots where it was cut."""
    return shortened(text, limit)


def amounts_of(resource: si.Resource) -> dict[str, int]:
    """Return the amounts of a resource that are not zero; absent and zero are the same."""
    return {name: entry.value for name, entry in resource.resources.items() if entry.value}


def counted(number: int, noun: str) -> str:
    """Return a number with its noun in the right form."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _message(message: Message) -> str:
    if isinstance(message, si.Resource):
        sizes = {name: str(entry.value) for name, entry in sorted(message.resources.items())}
        return _mapping(sizes)
    return _mapping({field.name: _field(field, value) for field, value in message.ListFields()})


def _field(field: FieldDescriptor, value: object) -> str:
    if isinstance(value, Mapping):
        return _mapping({str(key): _value(field, entry) for key, entry in sorted(value.items())})
    if isinstance(value, Iterable) and not isinstance(value, str | Message):
        return f"[{', '.join(_value(field, entry) for entry in value)}]"
    return _value(field, value)


def _value(field: FieldDescriptor, value: object) -> str:
    if isinstance(value, Message):
        return _message(value)
    if field.enum_type is not None and isinstance(value, int):
        known = field.enum_type.values_by_number.get(value)
        return known.name if known is not None else str(value)
    if isinstance(value, str):
        return _text(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _text(value: str) -> str:
    plain = bool(value) and all(c.isalnum() or c in _BARE for c in value)
    return cut(value if plain else repr(value), _TEXT_LIMIT)


def _mapping(entries: Mapping[str, str]) -> str:
    return f"{{{', '.join(f'{key}: {value}' for key, value in entries.items())}}}"
