"""Events as JSON: of events.k8s.io, or of the core group for servers that lack it.

Source: the documentation of Kubernetes, "Event v1 events.k8s.io", and its limits on fields.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final

import msgspec

from remuda_kubernetes.api.bodies import cut
from remuda_kubernetes.api.event_series import Series
from remuda_kubernetes.objects.metadata import ObjectReference
from remuda_kubernetes.objects.values import plain

_GROUP: Final = "events.k8s.io"
_NOTE_BYTES: Final = 1024
_WORD_BYTES: Final = 128
_NAME_LENGTH: Final = 253


def namespace_of(regarding: ObjectReference, version: str) -> str:
    """Return the namespace of an object's events. ``version`` is that of events.k8s.io, or "".

    Events of objects of the cluster are in default. In events.k8s.io they are in kube-system, since
    servers of 1.20 take them nowhere else.
    """
    return regarding.namespace or ("kube-system" if version else "default")


def path(version: str, namespace: str, name: str = "") -> str:
    """Return the path of events. ``version`` is that of events.k8s.io, "" for the core group."""
    root = f"/apis/{_GROUP}/{version}" if version else "/api/v1"
    return f"{root}/namespaces/{namespace}/events" + (f"/{name}" if name else "")


def new_name(regarding: ObjectReference, number: int) -> str:
    """Return a name for an event; the number makes it unique."""
    ending = f".{number:x}"
    stem = regarding.name.lower()[: _NAME_LENGTH - len(ending)].rstrip("-.")
    return f"{stem}{ending}"


def event(series: Series, *, version: str, controller: str, instance: str) -> bytes:
    """Return a new event."""
    notice = series.notice
    regarding = plain(notice.regarding)
    metadata = {"name": series.name, "namespace": namespace_of(notice.regarding, version)}
    text = cut(notice.note, _NOTE_BYTES)
    common: dict[str, Any] = {
        "metadata": metadata,
        "reason": cut(notice.reason, _WORD_BYTES),
        "type": notice.type,
        "action": cut(notice.action, _WORD_BYTES),
        "reportingInstance": cut(instance, _WORD_BYTES),
    }
    if version:
        body = {
            "apiVersion": f"{_GROUP}/{version}",
            "kind": "Event",
            **common,
            "eventTime": micro_time(series.first),
            "reportingController": controller,
            "regarding": regarding,
            "note": text,
        }
        if series.count > 1:
            body["series"] = _series(series)
    else:
        body = {
            "apiVersion": "v1",
            "kind": "Event",
            **common,
            "involvedObject": regarding,
            "message": text,
            "reportingComponent": controller,
            "source": {"component": controller, "host": cut(instance, _WORD_BYTES)},
            "firstTimestamp": _time(series.first),
            "lastTimestamp": _time(series.last),
            "count": series.count,
        }
    return msgspec.json.encode(body)


def again(series: Series, *, version: str) -> bytes:
    """Return the merge patch that says that an event happened again."""
    if version:
        return msgspec.json.encode({"series": _series(series)})
    return msgspec.json.encode({"count": series.count, "lastTimestamp": _time(series.last)})


def _series(series: Series) -> dict[str, Any]:
    return {"count": series.count, "lastObservedTime": micro_time(series.last)}


def micro_time(seconds: float) -> str:
    """Return a time of day, in seconds since 1970, as the server writes microseconds."""
    whole, part = divmod(round(seconds * 1_000_000), 1_000_000)
    return f"{_second(whole)}.{part:06}Z"


def _time(seconds: float) -> str:
    return f"{_second(int(seconds))}Z"


@lru_cache(maxsize=16)
def _second(seconds: int) -> str:
    """Return a time without its zone. Many events are of the same second."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")
