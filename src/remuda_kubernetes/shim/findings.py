"""The scheduler's findings about an ask, in words and units that people who run pods use.

The texts that come in are those of chapter 90 of the specification (EVT-36, EVT-38, EVT-39): they
name asks by their keys, and amounts in base units of every type, also of those that would do.
"""

from __future__ import annotations

import re
from typing import Final

_MEMORY: Final = frozenset({"memory", "ephemeral-storage"})
_UNITS: Final = (("Ti", 2**40), ("Gi", 2**30), ("Mi", 2**20), ("Ki", 2**10))
_AMOUNTS: Final = r"\(requested map\[(?P<wanted>[^\]]*)\], available map\[(?P<left>[^\]]*)\]\)"
_QUEUE: Final = re.compile(rf"does not fit in queue '(?P<queue>[^']*)' {_AMOUNTS}")
_USER: Final = re.compile(rf"exceeds the available user quota {_AMOUNTS}")
# Findings about nodes, which a look at all nodes says better.
_ABOUT_NODES: Final = (
    "Predicate failed for request",
    "Unschedulable request",
    "request is waiting for cluster resources",
)
# That an obstacle is gone says nothing about why the ask still waits.
_GOOD_NEWS: Final = ("has become schedulable", "fits in the available user quota")


_OVER_USER_QUOTA: Final = "exceeds the available user quota"
_WITHIN_USER_QUOTA: Final = "fits in the available user quota"


def over_quota(text: str, *, before: bool) -> bool:
    """Return whether the quota of a user is in the way of an ask after a finding about it.

    The quota of a queue shows in the scheduler's word that an ask waits for nodes, which it does
    not give then; a finding about a queue is also made when all nodes are full.
    """
    if _OVER_USER_QUOTA in text:
        return True
    return before and _WITHIN_USER_QUOTA not in text


def for_people(text: str) -> str | None:
    """Return a finding for people; "" if it holds no obstacle any more, None if nodes say more."""
    if text.startswith(_ABOUT_NODES):
        return None
    if any(each in text for each in _GOOD_NEWS):
        return ""
    found = _QUEUE.search(text)
    if found is not None:
        return f"queue {found['queue']} lacks {_lacks(found['wanted'], found['left'])}"
    found = _USER.search(text)
    if found is not None:
        return f"the quota of its user lacks {_lacks(found['wanted'], found['left'])}"
    return text


def _lacks(wanted: str, left: str) -> str:
    """Return the types of which too little is left, with both amounts."""
    available = _amounts(left)
    parts = [
        f"{_name(name)}: {_shown(name, amount)} wanted, {_shown(name, available[name])} left"
        for name, amount in _amounts(wanted).items()
        if name in available and amount > available[name]
    ]
    return ", ".join(parts) or "room"


def _amounts(text: str) -> dict[str, int]:
    found = {}
    for part in text.split():
        name, _, amount = part.rpartition(":")
        if amount.lstrip("-").isdecimal():
            found[name] = int(amount)
    return found


def _name(name: str) -> str:
    return "cpu" if name == "vcore" else name


def _shown(name: str, amount: int) -> str:
    """Return an amount as a person would write it in a manifest, at most rounded down a little."""
    if name == "vcore":
        return str(amount // 1000) if amount % 1000 == 0 else f"{amount}m"
    if name in _MEMORY or name.startswith("hugepages-"):
        for unit, size in _UNITS:
            if abs(amount) >= size:
                whole = amount / size
                return f"{whole:.0f}{unit}" if amount % size == 0 else f"{whole:.1f}{unit}"
    return str(amount)
