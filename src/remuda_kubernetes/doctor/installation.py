"""What is wrong with what is installed: schedulers, webhooks, certificates, classes, the lease.

Two schedulers that bind the same pods are the worst of it: each counts room that the other gives
away. Implements: EXT-154.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from datetime import UTC
from typing import Final

from remuda_kubernetes.admission.pairs import PairError, chain_of
from remuda_kubernetes.doctor.findings import Finding, Severity
from remuda_kubernetes.doctor.installed import (
    Part,
    installed,
    is_ours,
    is_reference,
    of_part,
    part_of,
)
from remuda_kubernetes.doctor.objects import Deployment, Hook, WebhookConfiguration
from remuda_kubernetes.doctor.sight import Sight
from remuda_kubernetes.objects.selectors import matches
from remuda_kubernetes.objects.times import unix_seconds
from remuda_kubernetes.objects.values import ObjectError
from remuda_kubernetes.translation import names

_AREA: Final = "installation"
_ELECT: Final = "--leader-elect"
_ELECT_VARIABLE: Final = "REMUDA_LEADER_ELECT"
_FAIL: Final = "Fail"
_SYSTEM: Final = "kube-system"
_WARN_SECONDS: Final = 7 * 86_400
# Classes that every API server has.
_BUILT_IN: Final = ("system-cluster-critical", "system-node-critical")


def findings(sight: Sight) -> Iterator[Finding]:
    """Yield what is wrong with what is installed."""
    yield from _schedulers(sight)
    for part in (Part.SCHEDULER, Part.ADMISSION):
        for each in of_part(sight, part):
            yield from _deployment(each, sight)
    yield from _lease(sight)
    yield from _registration(sight)
    for configuration in (*sight.mutating, *sight.validating):
        if installed(configuration, sight):
            for hook in configuration.webhooks or ():
                yield from _hook(configuration, hook, sight)


def _finding(severity: Severity, where: str, problem: str, advice: str) -> Finding:
    return Finding(severity, _AREA, where, problem, advice)


def _named(each: Deployment) -> str:
    return f"Deployment {each.namespace}/{each.name}"


def _schedulers(sight: Sight) -> Iterator[Finding]:
    """Yield which schedulers would bind the same pods, and that there is none."""
    ours = [each for each in of_part(sight, Part.SCHEDULER) if each.replicas]
    away = [
        each
        for each in sight.deployments
        if part_of(each) is Part.SCHEDULER and each.namespace != sight.namespace and each.replicas
    ]
    theirs = [each for each in of_part(sight, Part.REFERENCE) if each.replicas]
    if not ours and "Deployments" not in sight.unread:
        yield _finding(
            Severity.NOTE,
            f"Namespace {sight.namespace}",
            "no Deployment of Remuda's scheduler is to run here",
            f"install it, or name its --namespace: it runs in {away[0].namespace}"
            if away
            else "install it, if it does not run elsewhere",
        )
    for other in away if ours else ():
        yield _finding(
            Severity.ERROR,
            _named(other),
            f"Remuda runs in this namespace and in {sight.namespace}: both may bind the same pods",
            "remove one of them, or give them different service.schedulerNames",
        )
    if len(ours) > 1:
        yield _finding(
            Severity.ERROR,
            _named(ours[1]),
            f"{_named(ours[0])} runs the scheduler, too: both may bind the same pods",
            "keep one Deployment, with replicas",
        )
    same = names.SCHEDULER_NAME in sight.settings.scheduler_names
    for each in theirs:
        clash = bool(ours) and same
        yield _finding(
            Severity.ERROR if clash else Severity.NOTE,
            _named(each),
            f"YuniKorn schedules pods whose schedulerName is {names.SCHEDULER_NAME}, as Remuda"
            " does: both bind the same pods"
            if clash
            else f"YuniKorn schedules pods whose schedulerName is {names.SCHEDULER_NAME}",
            "scale one of them to 0, or give Remuda another name in service.schedulerNames"
            if clash
            else "scale it to 0 before Remuda answers to the same name",
        )


def _deployment(each: Deployment, sight: Sight) -> Iterator[Finding]:
    spec = each.spec.template.spec
    if each.replicas and not each.status.ready_replicas:
        yield _finding(
            Severity.WARNING,
            _named(each),
            f"none of {each.replicas} replicas is ready",
            "look at its pods and their logs",
        )
    if not each.replicas:
        yield _finding(
            Severity.WARNING, _named(each), "it has 0 replicas", "scale it up if it is to work"
        )
    chosen = spec.priority_class_name
    known = {*sight.priority_classes, *_BUILT_IN}
    if chosen and "PriorityClasses" not in sight.unread and chosen not in known:
        yield _finding(
            Severity.ERROR,
            _named(each),
            f"there is no PriorityClass {chosen}, so its pods cannot be made",
            "apply the one that `remuda kubernetes manifests` prints",
        )
    if not chosen:
        yield _finding(
            Severity.WARNING,
            _named(each),
            "it names no PriorityClass, so other pods may displace it",
            "name the class that `remuda kubernetes manifests` prints",
        )
    if part_of(each) is Part.SCHEDULER and each.replicas > 1 and not _elects(each):
        yield _finding(
            Severity.ERROR,
            _named(each),
            f"{each.replicas} replicas run without {_ELECT}: all of them bind pods at once",
            f"add the argument {_ELECT}, or keep one replica",
        )


def _elects(each: Deployment) -> bool:
    for one in each.spec.template.spec.containers or ():
        given = {variable.name: variable.value for variable in one.env or ()}
        if _ELECT in (*(one.command or ()), *(one.args or ())):
            return True
        if given.get(_ELECT_VARIABLE, "").lower() in {"1", "true", "t", "yes", "y", "on"}:
            return True
    return False


def _lease(sight: Sight) -> Iterator[Finding]:
    """Yield that nobody leads though replicas are ready."""
    where = f"Lease {sight.namespace}/remuda-kubernetes"
    ready = any(
        each.status.ready_replicas and _elects(each) for each in of_part(sight, Part.SCHEDULER)
    )
    if not ready or where in sight.unread or where in sight.unreadable:
        return
    spec = sight.lease.spec if sight.lease is not None else None
    try:
        renewed = unix_seconds(spec.renew_time) if spec is not None else 0
    except ObjectError:
        renewed = 0
    held = spec is not None and bool(spec.holder_identity)
    lasts = (spec.lease_duration_seconds or 0) if spec is not None else 0
    if not held or renewed + lasts < sight.now_s:
        yield _finding(
            Severity.WARNING,
            where,
            "no replica holds it, so nothing is scheduled",
            "look at the logs of the replicas, and whether they may update the lease",
        )


def _registration(sight: Sight) -> Iterator[Finding]:
    ours = [each for each in sight.mutating if is_ours(each, sight)]
    theirs = [each for each in sight.mutating if is_reference(each)]
    for each in theirs:
        where = f"MutatingWebhookConfiguration {each.name}"
        if ours:
            yield _finding(
                Severity.ERROR,
                where,
                "YuniKorn's admission controller and Remuda's both change the same pods",
                "delete the webhook configurations of the one that does not schedule",
            )
    running = [each for each in of_part(sight, Part.ADMISSION) if each.status.ready_replicas]
    if running and not ours and "mutatingwebhookconfigurations" not in sight.unread:
        yield _finding(
            Severity.WARNING,
            _named(running[0]),
            "there is no webhook configuration of it, so the API server never asks it",
            "look at its logs, and whether it may create webhook configurations",
        )


def _hook(configuration: WebhookConfiguration, hook: Hook, sight: Sight) -> Iterator[Finding]:
    where = f"webhook {configuration.name}/{hook.name}"
    client = hook.client_config
    if client.service is not None:
        key = f"{client.service.namespace}/{client.service.name}"
        if sight.services.get(key) is False:
            refused = hook.failure_policy == _FAIL
            yield _finding(
                Severity.ERROR,
                where,
                f"it calls the Service {key}, which does not exist, so objects are "
                + ("refused" if refused else "stored unchecked"),
                "create the Service, or delete the webhook configuration",
            )
    yield from _authorities(hook, where, sight)
    if hook.failure_policy == _FAIL and _asks_about_pods(hook):
        yield from _failing(hook, where, sight)


def _authorities(hook: Hook, where: str, sight: Sight) -> Iterator[Finding]:
    advice = "let the admission controller write it: delete the configuration and restart it"
    bundle = hook.client_config.ca_bundle
    if not bundle:
        if hook.client_config.service is not None:
            yield _finding(
                Severity.ERROR,
                where,
                "caBundle is empty, so the API server trusts no certificate of the Service",
                advice,
            )
        return
    try:
        ends = max(each.not_valid_after_utc for each in chain_of(base64.b64decode(bundle)))
    except (PairError, binascii.Error, ValueError):
        yield _finding(Severity.ERROR, where, "caBundle holds no certificates in PEM", advice)
        return
    left = int(ends.timestamp()) - sight.now_s
    day = ends.astimezone(UTC).date().isoformat()
    if left < 0:
        yield _finding(Severity.ERROR, where, f"caBundle expired on {day}", advice)
    elif left < _WARN_SECONDS:
        yield _finding(Severity.WARNING, where, f"caBundle expires on {day}", advice)


def _asks_about_pods(hook: Hook) -> bool:
    """Whether the API server asks a webhook about pods, and not only about other objects."""
    about = {each for rule in hook.rules or () for each in rule.resources or ()}
    return not about.isdisjoint(("pods", "*", "*/*"))


def _failing(hook: Hook, where: str, sight: Sight) -> Iterator[Finding]:
    """Yield that a cluster could not start again while the webhook does not answer."""
    caught = [
        name
        for name in dict.fromkeys((_SYSTEM, sight.namespace))
        if name in sight.namespaces
        and (
            hook.namespace_selector is None
            or matches(hook.namespace_selector, sight.namespaces[name].labels)
        )
    ]
    if caught:
        yield _finding(
            Severity.ERROR,
            where,
            f"failurePolicy is Fail and namespace {' and '.join(caught)} is not exempt: while the"
            " webhook does not answer, no pod of it can start, the webhook's own included",
            "exempt the namespace by the namespaceSelector, or set failurePolicy to Ignore",
        )
