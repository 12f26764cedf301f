"""Which events may be written.

Source: answers of a real server, release 1.20.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from remuda_kubernetes.testing.settings import OLDEST
from remuda_kubernetes.testing.statuses import Cause, Json, invalid_value, required

_NOTE_LIMIT: Final = 1024
_TYPES: Final = frozenset({"Normal", "Warning"})
_REQUIRED: Final = (
    ("reportingComponent", "reportingController"),
    ("reportingInstance", "reportingInstance"),
    ("action", "action"),
    ("reason", "reason"),
)


def event_causes(item: Json, *, new_api: bool, minor: int) -> Iterator[Cause]:
    """Yield what is wrong with a new event, as it is stored. ``new_api``: of events.k8s.io."""
    if not _namespace_fits(item, minor):
        named = (item.get("involvedObject") or {}).get("namespace") or ""
        yield invalid_value("involvedObject.namespace", named, "does not match event.namespace")
    if item.get("eventTime"):
        for name, shown in _REQUIRED:
            if not item.get(name):
                yield required(shown)
        if len(item.get("message") or "") > _NOTE_LIMIT:
            yield invalid_value("message", "", f"can have at most {_NOTE_LIMIT} characters")
    elif new_api:
        yield required("eventTime")
    if new_api and item.get("type") not in _TYPES:
        yield invalid_value("type", "", f"has invalid value: {item.get('type') or ''}")


def _namespace_fits(item: Json, minor: int) -> bool:
    """Whether an event is where events of its object belong."""
    own = item["metadata"].get("namespace", "")
    named = (item.get("involvedObject") or {}).get("namespace") or ""
    if not item.get("eventTime"):
        return bool(own == (named or "default"))
    if named:
        return True
    # Release 1.20 wants events of nodes, and of all that has no namespace, in this one only.
    return own == "kube-system" or (own == "default" and minor > OLDEST)
