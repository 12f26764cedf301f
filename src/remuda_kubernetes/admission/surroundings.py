"""What answers depend on beside the request: namespaces, priority classes, ConfigMaps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from remuda.base.go_text import parse_bool
from remuda_kubernetes.objects.cluster import ConfigMap, Namespace, PriorityClass
from remuda_kubernetes.translation import names


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Objects of the cluster by name; the ConfigMaps are those of the controller's namespace."""

    namespaces: Mapping[str, Namespace] = field(default_factory=dict)
    priority_classes: Mapping[str, PriorityClass] = field(default_factory=dict)
    config_maps: Mapping[str, ConfigMap] = field(default_factory=dict)

    def annotations(self, namespace: str) -> Mapping[str, str]:
        """Return the annotations of a namespace, none if it is not known."""
        found = self.namespaces.get(namespace)
        return found.annotations if found is not None else {}

    def may_be_preempted(self, priority_class: str) -> bool:
        """Return what a priority class says of its pods; without a word they may be preempted."""
        found = self.priority_classes.get(priority_class)
        text = found.annotations.get(names.ALLOW_PREEMPTION, "") if found is not None else ""
        return parse_bool(text) is not False
