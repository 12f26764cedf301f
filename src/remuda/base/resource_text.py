"""Resources as texts: in event messages and errors (RES-12) and in application tags (RES-10).

A tag comes from whoever submits an application, so reading one takes nothing for granted.
"""

from __future__ import annotations

import json

from remuda.base.errors import RemudaError
from remuda.base.resources import MAX, MIN, Resource


class ResourceTextError(RemudaError):
    """A tag value that should hold a resource does not."""


def printable(resource: Resource | None) -> str:
    """Return the form used in event messages and error texts. Implements: RES-12, EVT-14."""
    if resource is None:
        return "nil resource"
    return f"map[{' '.join(f'{name}:{value}' for name, value in sorted(resource.items()))}]"


def parse_tag(text: str) -> dict[str, int]:
    """Read a resource from the JSON form of the wire message, as application tags carry it.

    Keys the message does not have are skipped, as JSON readers of the wire do. Raises
    ResourceTextError if the text is not such a message. Implements: RES-10. Rules: RES-11.
    """
    try:
        message = json.loads(text)
    except (ValueError, RecursionError):
        raise ResourceTextError("the resource is not well-formed JSON") from None
    entries = _object(_object(message, "the resource").get("resources"), "resources")
    if not all(map(_is_unicode, entries)):
        raise ResourceTextError("the name of a type has half of a surrogate pair")
    return {
        name: _amount(_object(quantity, name).get("value"), name)
        for name, quantity in entries.items()
    }


def _is_unicode(name: str) -> bool:
    """Whether a name can be sent and written; JSON may escape half of a surrogate pair."""
    return not any("\ud800" <= character <= "\udfff" for character in name)


def _object(value: object, what: str) -> dict[str, object]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ResourceTextError(f"{what} must be a JSON object")
    return value


def _amount(value: object, name: str) -> int:
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int) or not MIN <= value <= MAX:
        raise ResourceTextError(f"the value of {name} must be a 64-bit integer")
    return value
