"""What is wrong with the ConfigMaps, as the shim and the scheduler would find it, all at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from remuda_kubernetes.admission.queue_files import faults_of
from remuda_kubernetes.doctor.findings import Finding, Severity, of_fault
from remuda_kubernetes.doctor.sight import Sight
from remuda_kubernetes.translation import names
from remuda_kubernetes.translation.config_maps import merged
from remuda_kubernetes.translation.configuration import first_configuration
from remuda_kubernetes.translation.settings import OWN_PREFIXES

_AREA: Final = "configuration"
_QUEUE_FILE: Final = ".yaml"
# Keys below these are the scheduler's.
_SCHEDULER: Final = ("event.", "rm.", "application.", "scheduler.", "health.", "log.")
# Keys of ours that the reference does not have; with them it would decide otherwise.
_ONLY_OURS: Final = ("service.schedulerNames", "service.workloads")
_ONLY_CHECKED: Final = (
    "service.schedulingInterval",
    "service.eventChannelCapacity",
    "service.dispatchTimeout",
    "admissionController.webHook.schedulerServiceAddress",
)
_SHOWN: Final = 100


def findings(sight: Sight) -> Iterator[Finding]:
    """Yield what is wrong with the ConfigMaps, and what of them has no effect.

    Implements: EXT-153.
    """
    maps = tuple(map(sight.config_maps.get, (names.DEFAULTS_MAP, names.CONFIGS_MAP)))
    where = f"ConfigMap {sight.namespace}/{names.CONFIGS_MAP}"
    if not any(maps):
        if not any(each.startswith("ConfigMap ") for each in (*sight.unread, *sight.unreadable)):
            yield Finding(
                Severity.NOTE,
                _AREA,
                where,
                f"there is neither it nor {names.DEFAULTS_MAP}, so the built-in queues count: one"
                " for each namespace",
                "nothing, if that is meant; else create it, or name its --namespace",
            )
        return
    for fault in first_configuration(*maps).findings:
        yield of_fault(fault, _AREA, where)
    texts, _ = merged(maps)
    for fault in faults_of(sight.settings.queues):
        yield of_fault(fault, _AREA, where)
    for name in sorted(texts)[:_SHOWN]:
        yield from _without_effect(name, where, sight)


def _without_effect(name: str, where: str, sight: Sight) -> Iterator[Finding]:
    read = f"{sight.settings.policy_group}{_QUEUE_FILE}"
    problem = advice = ""
    if name.endswith(_QUEUE_FILE) and name != read:
        problem = f"nobody reads the queue file {name!r}: service.policyGroup names {read!r}"
        advice = f"remove it, or rename it to {read}"
    elif name in _ONLY_CHECKED:
        problem = f"{name} is checked and has no effect; in YuniKorn it has one"
        advice = "nothing; remove it if only Remuda reads this ConfigMap"
    elif name in _ONLY_OURS:
        problem = f"{name} is a key of Remuda only; YuniKorn does not read it"
        advice = "nothing, unless you go back to YuniKorn"
    elif name != read and not name.startswith((*OWN_PREFIXES, *_SCHEDULER)):
        problem = f"nobody reads the key {name!r}"
        advice = "remove it, or correct its spelling"
    if problem:
        severity = Severity.WARNING if "nobody" in problem else Severity.NOTE
        yield Finding(severity, _AREA, where, problem, advice)
