"""Quotas of namespaces: annotations that limit the queue which a namespace's pods share.

The scheduler applies them to queues that it made itself (chapter 20 section 9), each time
an application is added.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from remuda.base.go_text import parse_uint64
from remuda_kubernetes.objects.cluster import Namespace
from remuda_kubernetes.objects.quantities import amount
from remuda_kubernetes.objects.values import ObjectError
from remuda_kubernetes.translation import names
from remuda_kubernetes.translation.findings import Finding, shown
from remuda_kubernetes.translation.resources import Amounts, check_types, scheduler_amounts

_EXAMPLE: Final = '{"cpu": "64", "memory": "256Gi"}'


class NamespaceLimits(msgspec.Struct, frozen=True, kw_only=True):
    """What the annotations of a namespace say; amounts under the scheduler's names.

    None: not given, or not understood; ``findings`` has what was not understood. ``parent_queue``:
    "" if not given.
    """

    quota: Amounts | None = None
    guaranteed: Amounts | None = None
    max_applications: int | None = None
    parent_queue: str = ""
    findings: tuple[Finding, ...] = ()

    def tags(self) -> dict[str, str]:
        """Return the tags of an application of this namespace that pass the limits on."""
        found = {}
        if self.quota is not None:
            found[names.TAG_QUOTA] = _resource_json(self.quota)
        if self.guaranteed is not None:
            found[names.TAG_GUARANTEED] = _resource_json(self.guaranteed)
        if self.max_applications is not None:
            found[names.TAG_MAX_APPLICATIONS] = str(self.max_applications)
        if self.parent_queue:
            found[names.TAG_PARENT] = self.parent_queue
        return found


def namespace_limits(namespace: Namespace) -> NamespaceLimits:
    """Return what the annotations of a namespace say. A wrong one is a finding and left out."""
    annotations = namespace.annotations
    if not annotations:
        return _NONE
    findings: list[Finding] = []
    return NamespaceLimits(
        quota=_quota(annotations, findings),
        guaranteed=_amounts(annotations, names.NAMESPACE_GUARANTEED, findings),
        max_applications=_max_applications(annotations, findings),
        parent_queue=_parent(annotations, findings),
        findings=tuple(findings),
    )


def _quota(annotations: Mapping[str, str], findings: list[Finding]) -> Amounts | None:
    """Return the quota. The older annotations count only where the newer one is not there."""
    older = {
        resource: (name, annotations[name])
        for resource, name in (
            ("cpu", names.OLD_NAMESPACE_CPU),
            ("memory", names.OLD_NAMESPACE_MEMORY),
        )
        if annotations.get(name)
    }
    if not annotations.get(names.NAMESPACE_QUOTA):
        return _older_quota(older, findings)
    for name, text in older.values():
        findings.append(
            Finding(
                f"annotation {name}",
                f"{shown(text)} does not count beside {names.NAMESPACE_QUOTA}",
                "remove it",
            )
        )
    return _amounts(annotations, names.NAMESPACE_QUOTA, findings)


def _older_quota(older: Mapping[str, tuple[str, str]], findings: list[Finding]) -> Amounts | None:
    found = {}
    for resource, (name, text) in older.items():
        try:
            found[resource] = _limit(resource, text)
        except ObjectError as error:
            findings.append(_left_out(name, str(error), 'write a quantity such as "64" or "256Gi"'))
    return scheduler_amounts(found) if found else None


def _amounts(annotations: Mapping[str, str], name: str, findings: list[Finding]) -> Amounts | None:
    text = annotations.get(name)
    if not text:
        return None
    try:
        return _read_amounts(text)
    except ObjectError as error:
        findings.append(_left_out(name, str(error), f"write JSON such as {_EXAMPLE}"))
        return None


def _read_amounts(text: str) -> Amounts:
    """Return amounts from a JSON object of quantities. Raises: ObjectError."""
    try:
        given = msgspec.json.decode(text, type=dict[str, str | int | float])
    except (msgspec.DecodeError, RecursionError) as error:
        raise ObjectError(f"{shown(text)} is no JSON object of quantities ({error})") from None
    if not given:
        raise ObjectError(f"{shown(text)} limits nothing")
    check_types(given)
    # The scheduler's own name of cpu is understood, too.
    return scheduler_amounts(
        {
            key: _limit("cpu" if key == names.VCORE else key, quantity)
            for key, quantity in given.items()
        }
    )


def _limit(resource: str, quantity: str | float) -> int:
    try:
        found = amount(resource, quantity)
    except ObjectError as error:
        raise ObjectError(f"{resource}: {error}") from None
    if found < 0:
        raise ObjectError(f"{resource}: {shown(quantity)} is negative")
    return found


def _max_applications(annotations: Mapping[str, str], findings: list[Finding]) -> int | None:
    text = annotations.get(names.NAMESPACE_MAX_APPLICATIONS)
    if not text:
        return None
    found = parse_uint64(text)
    if found is None or found == 0:
        findings.append(
            _left_out(
                names.NAMESPACE_MAX_APPLICATIONS,
                f"{shown(text)} is no number of applications",
                'write a whole number above 0, such as "10"',
            )
        )
        return None
    return found


def _parent(annotations: Mapping[str, str], findings: list[Finding]) -> str:
    for name in (names.NAMESPACE_PARENT, names.OLD_NAMESPACE_PARENT):
        text = annotations.get(name)
        if not text:
            continue
        if len(text) <= _PARENT_LIMIT and text.isprintable():
            return text
        findings.append(
            _left_out(name, f"{shown(text)} is no queue", "write a path such as root.teams")
        )
    return ""


def _left_out(name: str, problem: str, advice: str) -> Finding:
    return Finding(f"annotation {name}", f"{problem}, so it does not count", advice)


def _resource_json(amounts: Amounts) -> str:
    """Return amounts as the JSON of a Resource of the scheduler interface (RES-10)."""
    resources = {name: {"value": value} for name, value in amounts.items()}
    return msgspec.json.encode({"resources": resources}).decode()


_PARENT_LIMIT: Final = 1_024
_NONE: Final = NamespaceLimits()
