"""Events of nodes, ConfigMaps, namespaces and other objects than pods."""

from __future__ import annotations

from collections.abc import Iterable

from remuda_kubernetes.objects.cluster import ConfigMap
from remuda_kubernetes.objects.metadata import KubernetesObject
from remuda_kubernetes.objects.nodes import Node
from remuda_kubernetes.translation.events import (
    CONFIGURATION,
    CONFIGURATION_REFUSED,
    INVALID_METADATA,
    NODE_ACCEPTED,
    NODE_REJECTED,
    NORMAL,
    RESTART_NEEDED,
    WARNING,
    Event,
    made,
    reference,
)
from remuda_kubernetes.translation.findings import Finding, one_line


def object_faults(kind: str, found: KubernetesObject, cause: str) -> Event:
    """Tell that an object cannot be read, so that an older state of it counts."""
    text = f"{kind} {found.name} counts as it was before: {cause}"
    return made(INVALID_METADATA, WARNING, text, reference(found, kind))


def namespace_faults(namespace: KubernetesObject, findings: Iterable[Finding]) -> tuple[Event, ...]:
    """Tell what annotations of a namespace say wrongly; no event if nothing."""
    text = one_line(findings)
    if not text:
        return ()
    return (made(INVALID_METADATA, WARNING, text, reference(namespace, "Namespace")),)


def node_accepted(node: Node) -> Event:
    """Tell that pods may be placed on a node."""
    text = f"The scheduler accepted node {node.name}"
    return made(NODE_ACCEPTED, NORMAL, text, reference(node, "Node"))


def node_rejected(node: Node, cause: str) -> Event:
    """Tell that the scheduler knows nothing of a node, and why."""
    text = f"The scheduler refused node {node.name}: {cause}"
    return made(NODE_REJECTED, WARNING, text, reference(node, "Node"))


def configuration_changed(config: ConfigMap) -> Event:
    """Tell that a change of the configuration is in force."""
    text = f"The configuration of ConfigMap {config.name} is in force"
    return _of_configuration(CONFIGURATION, NORMAL, text, config)


def queue_file_refused(config: ConfigMap, cause: str) -> Event:
    """Tell at the start that the scheduler cannot begin with a queue file, and why."""
    text = f"No pod is scheduled until ConfigMap {config.name} is corrected: {cause}"
    return _of_configuration(CONFIGURATION_REFUSED, WARNING, text, config)


def configuration_refused(config: ConfigMap, cause: str) -> Event:
    """Tell that a change of the configuration counts for nothing, and why."""
    text = f"Nothing of this change is in force, the configuration before it stays: {cause}"
    return _of_configuration(CONFIGURATION_REFUSED, WARNING, text, config)


def restart_needed(config: ConfigMap, keys: Iterable[str]) -> Event:
    """Tell which keys of a change need a restart."""
    text = f"Restart the scheduler's pod to change {', '.join(keys)}; all else is in force"
    return _of_configuration(RESTART_NEEDED, WARNING, text, config)


def _of_configuration(reason: str, kind: str, text: str, config: ConfigMap) -> Event:
    return made(reason, kind, text, reference(config, "ConfigMap"), "UpdatingConfiguration")
