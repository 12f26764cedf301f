"""The elements of a response, and the elements that a check expects.

The rules mostly leave open how many elements one response has, so checks compare elements. The
number of the response of an element is kept for the rules that require one response.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeAlias, cast

from google.protobuf.message import Message

from remuda.conformance.wording import amounts_of, words
from remuda.si.pb import si_pb2 as si

Request: TypeAlias = si.AllocationRequest | si.ApplicationRequest | si.NodeRequest
Response: TypeAlias = si.AllocationResponse | si.ApplicationResponse | si.NodeResponse


class Kind(Enum):
    """The three streams, by their method."""

    ALLOCATION = "UpdateAllocation"
    APPLICATION = "UpdateApplication"
    NODE = "UpdateNode"


class What(Enum):
    """The kinds of elements, in the words of reports."""

    RELEASED_ASK = "released ask"
    RELEASED = "released allocation"
    NEW = "new allocation"
    REJECTED_ASK = "rejected ask"
    REJECTED_ALLOCATION = "rejected allocation"
    ACCEPTED_APPLICATION = "accepted application"
    REJECTED_APPLICATION = "rejected application"
    UPDATED = "updated application"
    ACCEPTED_NODE = "accepted node"
    REJECTED_NODE = "rejected node"


KIND_OF: Final[Mapping[What, Kind]] = {
    What.RELEASED_ASK: Kind.ALLOCATION,
    What.RELEASED: Kind.ALLOCATION,
    What.NEW: Kind.ALLOCATION,
    What.REJECTED_ASK: Kind.ALLOCATION,
    What.REJECTED_ALLOCATION: Kind.ALLOCATION,
    What.ACCEPTED_APPLICATION: Kind.APPLICATION,
    What.REJECTED_APPLICATION: Kind.APPLICATION,
    What.UPDATED: Kind.APPLICATION,
    What.ACCEPTED_NODE: Kind.NODE,
    What.REJECTED_NODE: Kind.NODE,
}


# What is different about an element of another kind than the expected one.
OTHER_KIND: Final = "another kind of element"


@dataclass(frozen=True, slots=True)
class Heard:
    """One element that came: its kind, the number of its response (from 1), and the time.

    ``at`` is on the monotonic clock, in seconds.
    """

    what: What
    element: Message
    response: int
    at: float

    def text(self) -> str:
        """Return the element for a report."""
        return f"{self.what.value} {words(self.element)}"


def elements(response: Response, number: int, at: float) -> Iterator[Heard]:
    """Yield what a response holds, in the order in which a receiver handles it (SI-75)."""
    for what, found in _lists(response):
        for element in found:
            yield Heard(what, element, number, at)


def _lists(response: Response) -> Iterator[tuple[What, list[Message]]]:
    if isinstance(response, si.AllocationResponse):
        yield What.RELEASED_ASK, list(response.releasedAsks)
        yield What.RELEASED, list(response.released)
        yield What.NEW, list(response.new)
        yield What.REJECTED_ASK, list(response.rejected)
        yield What.REJECTED_ALLOCATION, list(response.rejectedAllocations)
    elif isinstance(response, si.ApplicationResponse):
        yield What.ACCEPTED_APPLICATION, list(response.accepted)
        yield What.REJECTED_APPLICATION, list(response.rejected)
        yield What.UPDATED, list(response.updated)
    else:
        yield What.ACCEPTED_NODE, list(response.accepted)
        yield What.REJECTED_NODE, list(response.rejected)


@dataclass(frozen=True, slots=True)
class OneOf:
    """Any of these values is right."""

    values: tuple[object, ...]

    def __str__(self) -> str:
        return " or ".join(str(value) for value in self.values)


class Filled:
    """Any text is right, except the empty one."""

    def __str__(self) -> str:
        return "any text"


@dataclass(frozen=True, slots=True)
class Expected:
    """One element that has to come: its kind, and the values of the fields that count.

    ``optional``: it may come, before an element that has to come.
    """

    what: What
    fields: Mapping[str, object]
    optional: bool = False

    def text(self) -> str:
        """Return what is expected, for a report."""
        inner = ", ".join(f"{name}: {_shown(name, value)}" for name, value in self.fields.items())
        return f"{self.what.value} {{{inner}}}{' (or not)' if self.optional else ''}"

    def but(self, *, optional: bool = False, **fields: object) -> Expected:
        """Return the same with other values of some fields."""
        return Expected(self.what, {**self.fields, **fields}, optional)

    def difference(self, heard: Heard) -> str:
        """Return "" for the expected element, else the difference."""
        if heard.what is not self.what:
            return OTHER_KIND
        for name, value in self.fields.items():
            found = _plain(getattr(heard.element, name))
            if not _equal(value, found):
                return f"{name} is {_shown(name, found)}"
        return ""


def _equal(wanted: object, found: object) -> bool:
    if isinstance(wanted, OneOf):
        return found in wanted.values
    if isinstance(wanted, Filled):
        return bool(found)
    return found == wanted


def _plain(value: object) -> object:
    """Return a field as something that can be compared."""
    if isinstance(value, si.Resource):
        return amounts_of(value)
    if isinstance(value, Mapping):
        return dict(value)
    return value


def _shown(name: str, value: object) -> str:
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key}: {entry}' for key, entry in value.items())}}}"
    if name == "terminationType" and value in si.TerminationType.values():
        return si.TerminationType.Name(cast("si.TerminationType.ValueType", value))
    if isinstance(value, bool):
        return str(value).lower()
    return "''" if value == "" else str(value)
