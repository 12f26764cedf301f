"""Label and field selectors of lists and watches, read from text.

Sources: the documentation of Kubernetes, "Labels and Selectors" and "Field Selectors"; the fields
that each kind can be selected by are those that a real server of release 1.20 accepts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from remuda_kubernetes.testing.statuses import Json, bad_request

Test: TypeAlias = Callable[[Mapping[str, str]], bool]
Matcher: TypeAlias = Callable[[Json], bool]

_KEY: Final = r"[A-Za-z0-9](?:[-A-Za-z0-9_./]*[A-Za-z0-9])?"
_VALUE: Final = r"(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?)?"
_SET: Final = re.compile(rf"({_KEY})\s+(in|notin)\s*\(([^()]*)\)")
_EQUALITY: Final = re.compile(rf"({_KEY})\s*(==|=|!=)\s*({_VALUE})")
_EXISTS: Final = re.compile(rf"(!?)\s*({_KEY})")
_COMPARISON: Final = re.compile(rf"({_KEY})\s*([<>])\s*(-?[0-9]+)")


def labels_matcher(text: str) -> Matcher | None:
    """Return whether an object's labels match a selector; None: all do. Raises: Refusal 400."""
    tests = [_label_test(part.strip(), text) for part in _requirements(text) if part.strip()]
    if not tests:
        return None

    def matches(item: Json) -> bool:
        labels = item["metadata"].get("labels") or {}
        return all(test(labels) for test in tests)

    return matches


def _requirements(text: str) -> Iterator[str]:
    """Yield the requirements of a label selector: commas within parentheses belong to one."""
    part: list[str] = []
    within = False
    for piece in text.split(","):
        part.append(piece)
        opened, closed = piece.rfind("("), piece.rfind(")")
        within = opened > closed or (within and closed < 0)
        if not within:
            yield ",".join(part)
            part = []
    if part:
        yield ",".join(part)


def _label_test(part: str, text: str) -> Test:
    if found := _SET.fullmatch(part):
        key, operator, listed = found.groups()
        values = frozenset(value.strip() for value in listed.split(","))
        if operator == "in":
            return lambda labels: labels.get(key) in values
        return lambda labels: labels.get(key) not in values
    if found := _EQUALITY.fullmatch(part):
        key, operator, value = found.groups()
        if operator == "!=":
            return lambda labels: labels.get(key) != value
        return lambda labels: labels.get(key) == value
    if found := _COMPARISON.fullmatch(part):
        return _compared(*found.groups())
    if found := _EXISTS.fullmatch(part):
        absent, key = bool(found[1]), found[2]
        return lambda labels: (key in labels) != absent
    raise bad_request(f"unable to parse requirement: {part!r} in the selector {text!r}")


def _compared(key: str, operator: str, limit: str) -> Test:
    bound = int(limit)

    def test(labels: Mapping[str, str]) -> bool:
        try:
            value = int(labels[key])
        except (KeyError, ValueError):
            return False
        return value > bound if operator == ">" else value < bound

    return test


Getter: TypeAlias = Callable[[Json], str]


def _at(path: str) -> Getter:
    """Return what reads a field as text; absent and null fields are "", false is "false"."""
    steps = path.split(".")

    def read(item: Json) -> str:
        value: Any = item
        for step in steps:
            value = (value or {}).get(step)
        return _text(value)

    return read


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _unschedulable(item: Json) -> str:
    return _text((item.get("spec") or {}).get("unschedulable", False))


def _event_source(item: Json) -> str:
    component = (item.get("source") or {}).get("component")
    return _text(component or item.get("reportingComponent"))


_METADATA: Final = {path: _at(path) for path in ("metadata.name", "metadata.namespace")}
_POD_FIELDS: Final = (
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.serviceAccountName",
    "status.phase",
    "status.podIP",
    "status.nominatedNodeName",
)
_EVENT_FIELDS: Final = (
    *(
        f"involvedObject.{name}"
        for name in (
            "kind",
            "namespace",
            "name",
            "uid",
            "apiVersion",
            "resourceVersion",
            "fieldPath",
        )
    ),
    "reason",
    "reportingComponent",
    "type",
)
_FIELDS: Final[Mapping[str, Mapping[str, Getter]]] = {
    "pods": {path: _at(path) for path in _POD_FIELDS},
    "nodes": {"spec.unschedulable": _unschedulable},
    "namespaces": {"status.phase": _at("status.phase")},
    "events": {**{path: _at(path) for path in _EVENT_FIELDS}, "source": _event_source},
    "secrets": {"type": _at("type")},
    "jobs": {"status.successful": _at("status.succeeded")},
    "replicasets": {"status.replicas": _at("status.replicas")},
    "replicationcontrollers": {"status.replicas": _at("status.replicas")},
    "resourceslices": {path: _at(path) for path in ("spec.nodeName", "spec.driver")},
}
_FIELD_TERM: Final = re.compile(r"([^=!]+)(==|=|!=)(.*)")


def fields_matcher(plural: str, text: str) -> Matcher | None:
    """Return whether an object's fields match a selector; None: all do. Raises: Refusal 400."""
    tests = [_field_test(plural, part) for part in text.split(",") if part]
    if not tests:
        return None
    return lambda item: all(test(item) for test in tests)


def _field_test(plural: str, part: str) -> Matcher:
    found = _FIELD_TERM.fullmatch(part)
    if found is None:
        raise bad_request(
            f"invalid selector: '{part}'; can't understand '{part}'",
        )
    path, operator, value = found.groups()
    getter = _METADATA.get(path) or _FIELDS.get(plural, {}).get(path)
    if getter is None:
        raise bad_request(f"field label not supported: {path}")
    if operator == "!=":
        return lambda item: getter(item) != value
    return lambda item: getter(item) == value


def matcher(plural: str, labels: str, fields: str) -> Matcher | None:
    """Return whether an object matches both selectors; None: all do. Raises: Refusal 400."""
    by_labels, by_fields = labels_matcher(labels), fields_matcher(plural, fields)
    if by_labels is None or by_fields is None:
        return by_labels or by_fields
    return lambda item: by_labels(item) and by_fields(item)
