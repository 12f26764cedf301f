"""The base of all records of Kubernetes objects, and how they are read."""

from __future__ import annotations

from typing import Any, Final, TypeVar

import msgspec

from remuda.base.errors import RemudaError

T = TypeVar("T")

# What the JSON reader raises for bytes that hold no such object: also for those that are no text,
# and for nests that are too deep.
UNDECODABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class ObjectError(RemudaError):
    """An object does not have the form that Kubernetes gives it; says which field."""


class Value(
    msgspec.Struct, frozen=True, kw_only=True, gc=False, rename="camel", omit_defaults=True
):
    """A part of an object. Absent fields have their default; fields without a name are ignored.

    The records form trees, so the collector need not track them.
    """


def read(kind: type[T], data: bytes) -> T:
    """Return an object from JSON. Raises: ObjectError."""
    try:
        return msgspec.json.decode(data, type=kind)
    except RecursionError:
        raise ObjectError(f"{kind.__name__}: it nests too many objects in each other") from None
    except UNDECODABLE as error:
        raise ObjectError(f"{kind.__name__}: {error}") from None


def convert(kind: type[T], data: Any) -> T:
    """Return an object from what a JSON or YAML reader made of it. Raises: ObjectError."""
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        raise ObjectError(f"{kind.__name__}: {error}") from None


def plain(value: Value) -> Any:
    """Return a record as dictionaries and lists, in the names of Kubernetes."""
    return msgspec.to_builtins(value)
