"""The numbers of event records in words (EVT-2, EVT-3, EVT-4), and what narrows a batch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from remuda.base.errors import UsageError
from remuda.cli.viewing.columns import Row

# Type of object -> its number.
TYPES: Final[Mapping[str, int]] = {"ask": 1, "application": 2, "node": 3, "queue": 4, "user": 5}

_TYPES: Final = {number: name for name, number in TYPES.items()}
_CHANGES: Final = {1: "set", 2: "added", 3: "removed"}

_DETAILS: Final[Mapping[int, str]] = {
    100: "ask cancelled",
    101: "ask allocated",
    102: "ask timed out",
    200: "allocation",
    201: "ask",
    202: "rejected",
    203: "new",
    204: "accepted",
    205: "starting",
    206: "running",
    207: "completing",
    208: "completed",
    209: "failing",
    210: "failed",
    211: "resuming",
    212: "expired",
    213: "waits: applications of the queue",
    214: "may run: applications of the queue",
    215: "waits: applications of the user",
    216: "may run: applications of the user",
    300: "decommissioned",
    301: "ready",
    302: "schedulable",
    303: "allocation",
    304: "capacity",
    305: "occupied",
    306: "reservation",
    400: "configuration",
    401: "dynamic queue",
    402: "leaf or parent",
    403: "maximum",
    404: "guaranteed",
    405: "application",
    406: "allocation",
    407: "preemption",
    500: "allocation cancelled",
    501: "allocation preempted",
    502: "allocation timed out",
    503: "placeholder replaced",
    504: "allocation ended with its node",
    600: "limit",
    601: "limit of a group",
    602: "application linked",
    603: "usage",
    604: "usage of a group",
}


def type_of(row: Row) -> str:
    """Return which type of object a record is about."""
    number = _record(row).get("type") or 0
    return _TYPES.get(number, f"type {number}")


def what(row: Row) -> str:
    """Return what happened, in a few words."""
    record = _record(row)
    detail, change = record.get("eventChangeDetail") or 0, record.get("eventChangeType") or 0
    name = _DETAILS.get(detail, f"detail {detail}") if detail else ""
    done = _CHANGES.get(change, "")
    # Of what is set or is already a deed, the detail alone says it.
    if change < 2 or detail in range(500, 505) or 100 <= detail <= 102:
        return name or done
    return f"{name} {done}".strip()


def resources(row: Row) -> dict[str, int]:
    """Return the amounts of a record."""
    found = (_record(row).get("resource") or {}).get("resources") or {}
    return {name: each.get("value") or 0 for name, each in found.items()}


def options(type_: str, about: str) -> dict[str, str]:
    """Return the options of the routes for records of a type and about an object ("" for any).

    Raises: UsageError for another type.
    """
    found = {}
    if type_:
        if type_ not in TYPES:
            raise UsageError(f"--type: '{type_}' is none of {', '.join(TYPES)}")
        found["type"] = str(TYPES[type_])
    if about:
        found["objectID"] = about
    return found


def _record(row: Row) -> Mapping[str, Any]:
    found = row.get("record")
    return found if isinstance(found, Mapping) else {}
