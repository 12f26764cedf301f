"""Turns shapes of answers into messages, and messages into mappings, by the names of fields.

The shapes have the facts of the HTTP API. A message that is filled from one by name cannot tell
something else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, Final, TypeVar

import msgspec
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

from remuda.si.pb import si_pb2 as si
from remuda.si.wire import resource

Q = TypeVar("Q", bound=Message)

# The message that stands for a map of amounts.
_RESOURCE: Final = si.Resource.DESCRIPTOR.full_name


def filled(kind: type[Q], shape: object) -> Q:
    """Return a message with all that a shape has; KeyError if it has no field for something.

    An amount that is None is not set. Implements: EXT-157.
    """
    message = kind()
    _fill(message, msgspec.to_builtins(shape))
    return message


def packed(kind: type[Message], shape: object) -> bytes:
    """Return the bytes of such a message."""
    return filled(kind, shape).SerializeToString()


def mapping(message: Message) -> dict[str, object]:
    """Return what is set in a message, with camel-case keys and amounts as maps."""
    return {field.json_name: _value(field, value) for field, value in message.ListFields()}


def _fill(message: Message, found: Mapping[str, object]) -> None:
    fields = _fields(message.DESCRIPTOR)
    for key, value in found.items():
        if value is not None:
            _put(message, fields[key], value)


def _put(message: Message, field: FieldDescriptor, value: Any) -> None:
    """Set one field."""
    inner = field.message_type
    if inner is None:
        if isinstance(value, list | tuple):
            getattr(message, field.name).extend(value)
        else:
            setattr(message, field.name, value)
        return
    target: Any = getattr(message, field.name)
    if inner.full_name == _RESOURCE:
        target.CopyFrom(resource(value))
    elif inner.GetOptions().map_entry:
        target.update(value)
    elif isinstance(value, list | tuple):
        for each in value:
            _fill(target.add(), each)
    else:
        target.SetInParent()
        _fill(target, value)


@cache
def _fields(kind: Descriptor) -> Mapping[str, FieldDescriptor]:
    """Return the fields of a message by their names, and by those of JSON."""
    return {name: each for each in kind.fields for name in (each.name, each.json_name)}


def _value(field: FieldDescriptor, value: Any) -> object:
    inner = field.message_type
    if inner is None:
        return list(value) if isinstance(value, Iterable) and not isinstance(value, str) else value
    if inner.GetOptions().map_entry:
        return dict(value)
    if inner.full_name == _RESOURCE:
        return {name: amount.value for name, amount in value.resources.items()}
    return mapping(value) if isinstance(value, Message) else [mapping(each) for each in value]
