"""The settings as questions: which namespaces are processed, and whom to believe.

The settings are texts of ConfigMaps; their patterns are compiled once for each change.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from remuda.base.go_text import parse_bool
from remuda_kubernetes.admission.reviews import Requester
from remuda_kubernetes.objects.pods import Pod
from remuda_kubernetes.translation import names
from remuda_kubernetes.translation.settings import Settings, matches_any


class Policy:
    """Answers questions by settings. ``own_namespace``: that of the controller itself.

    Pods of the own namespace are never processed, so that the scheduler and the controller can
    start without the controller.
    """

    def __init__(self, settings: Settings, own_namespace: str) -> None:
        self.settings: Final = settings
        self.own_namespace: Final = own_namespace
        self.checks_users: Final = not settings.admission.bypass_authentication
        self._own_accounts: Final = f"system:serviceaccount:{own_namespace}:"
        self._process: Final = _List(
            settings.admission.process_namespaces, settings.admission.bypass_namespaces
        )
        self._label: Final = _List(
            settings.admission.label_namespaces, settings.admission.no_label_namespaces
        )
        self._system: Final = matches_any(settings.admission.system_users)
        self._external: Final = matches_any(settings.admission.external_users)
        self._external_group: Final = matches_any(settings.admission.external_groups)

    def processes(self, namespace: str, annotations: Mapping[str, str]) -> bool:
        """Whether the pods of a namespace are scheduled by remuda, whatever they say themselves.

        The annotation ``namespace.enableYuniKorn`` of the namespace counts before the lists.
        """
        if namespace == self.own_namespace:
            return False
        told = parse_bool(annotations.get(names.NAMESPACE_ENABLE, ""))
        return self._process.has(namespace) if told is None else told

    def labels(self, namespace: str, annotations: Mapping[str, str]) -> bool:
        """Whether pods of a namespace get an application ID and a queue if they name none."""
        told = parse_bool(annotations.get(names.NAMESPACE_GENERATE, ""))
        return self._label.has(namespace) if told is None else told

    def is_ours(self, pod: Pod) -> bool:
        """Whether a pod names this scheduler by itself."""
        return pod.spec.scheduler_name in self.settings.scheduler_names

    def is_system(self, requester: Requester) -> bool:
        """Whether this is a controller of Kubernetes."""
        return self._system(requester.username)

    def believes(self, requester: Requester) -> bool:
        """Whether a requester may say for whom it acts.

        The accounts of the own namespace may: the scheduler creates placeholders for users.
        """
        return (
            requester.username.startswith(self._own_accounts)
            or (self.settings.admission.trust_controllers and self.is_system(requester))
            or self._external(requester.username)
            or any(map(self._external_group, requester.groups or ()))
        )


class _List:
    """Names that match a pattern of one list, or any name if it is empty, and none of another."""

    def __init__(self, included: tuple[str, ...], excluded: tuple[str, ...]) -> None:
        self._all: Final = not included
        self._included: Final = matches_any(included)
        self._excluded: Final = matches_any(excluded)

    def has(self, name: str) -> bool:
        """Whether a name is in the list."""
        return (self._all or self._included(name)) and not self._excluded(name)
