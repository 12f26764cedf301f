"""What the controller knows of the cluster, and the policy that follows from the ConfigMaps."""

from __future__ import annotations

import logging
from collections import ChainMap
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeVar

import msgspec

from remuda_kubernetes.admission.config_maps import OURS
from remuda_kubernetes.admission.policy import Policy
from remuda_kubernetes.admission.surroundings import Surroundings
from remuda_kubernetes.admission.webhooks import NAME_LABEL
from remuda_kubernetes.api.connection import Requests
from remuda_kubernetes.api.discovery import Served
from remuda_kubernetes.api.errors import NOT_FOUND, ApiError
from remuda_kubernetes.api.reflectors import Reflectors
from remuda_kubernetes.objects.changes import Change
from remuda_kubernetes.objects.cluster import ConfigMap, Namespace
from remuda_kubernetes.objects.kinds import CONFIG_MAP, NAMESPACE, PRIORITY_CLASS, Kind
from remuda_kubernetes.objects.values import UNDECODABLE
from remuda_kubernetes.translation.configuration import Configuration, first_configuration
from remuda_kubernetes.translation.findings import one_line
from remuda_kubernetes.translation.settings import Settings

T = TypeVar("T")

_LOG: Final = logging.getLogger("remuda.kubernetes")
KINDS: Final = (NAMESPACE, PRIORITY_CLASS, CONFIG_MAP)
# A pod may come before the watch has told of its namespace.
_LOOK_SECONDS: Final = 1.0
_LOOKED_UP_LIMIT: Final = 1_000
_LOOKS_AT_ONCE: Final = 4
_NAME_LIMIT: Final = 63


class Known:
    """The objects of the API server, and the policy. It is used on one loop."""

    def __init__(self, requests: Requests, served: Served, namespace: str) -> None:
        self.policy = Policy(Settings(), namespace)
        self._requests: Final = requests
        self._served: Final = served
        self._looked_up: Final[dict[str, Namespace]] = {}
        self._absent: Final[dict[str, None]] = {}
        self._looking = 0
        self.reflectors: Final = Reflectors(
            requests, served, self._deliver, namespace=namespace, kinds=KINDS
        )
        self._namespaces: Final = self._objects(NAMESPACE)

    async def begin(self) -> None:
        """Read all objects once; the policy is that of the ConfigMaps afterwards."""
        self.reflectors.start()
        await self.reflectors.wait_synced()
        found = self._configuration()
        if found.findings:
            _LOG.warning("ConfigMaps: %s", one_line(found.findings))
        self.policy = Policy(found.settings, self.policy.own_namespace)

    def around(self) -> Surroundings:
        """Return the objects of this moment."""
        return Surroundings(
            namespaces=ChainMap(self._namespaces, self._looked_up),
            priority_classes=self._objects(PRIORITY_CLASS),
            config_maps=self._maps(),
        )

    async def learn(self, namespace: str) -> None:
        """Read a namespace that is not known yet; a failure counts as no annotations."""
        known = namespace in self._namespaces or namespace in self._looked_up
        # Everybody who reaches the listener can name namespaces; the API server must not feel it.
        busy = self._looking >= _LOOKS_AT_ONCE or namespace in self._absent
        if known or busy or not _is_name(namespace):
            return
        self._looking += 1
        try:
            path = self._served.path(NAMESPACE, "", namespace)
            answer = await self._requests.request("GET", path, timeout=_LOOK_SECONDS)
            found = msgspec.json.decode(answer.body, type=Namespace)
        except ApiError as error:
            if error.status == NOT_FOUND:
                _keep(self._absent, namespace, None)
        except UNDECODABLE:
            pass
        else:
            _keep(self._looked_up, namespace, found)
        finally:
            self._looking -= 1

    @property
    def named(self) -> bool:
        """Whether namespaces have the label with their name, as they have since 1.21."""
        own = self._namespaces.get(self.policy.own_namespace)
        return own is None or NAME_LABEL in own.labels

    def _objects(self, kind: Kind) -> dict[str, Any]:
        found = self.reflectors.by_kind.get(kind)
        # The reflector changes this dictionary, and never replaces it.
        return {} if found is None else found.objects  # type: ignore[return-value]

    def _maps(self) -> dict[str, ConfigMap]:
        return {each.name: each for each in self._objects(CONFIG_MAP).values()}

    def _configuration(self) -> Configuration:
        maps: Mapping[str, ConfigMap] = self._maps()
        return first_configuration(*(maps.get(name) for name in OURS))

    def _deliver(self, changes: Sequence[Change]) -> None:
        for kind, old, new in changes:
            about = new or old
            assert about is not None
            if kind is NAMESPACE:
                self._looked_up.pop(about.name, None)
                self._absent.pop(about.name, None)
            elif kind is CONFIG_MAP and about.name in OURS:
                self._configure()

    def _configure(self) -> None:
        """Take over what the ConfigMaps say now, all or nothing."""
        old = self.policy.settings
        if not self.reflectors.by_kind[CONFIG_MAP].synced.is_set() or not old.hot_reload:
            return
        found = self._configuration()
        if found.refused:
            _LOG.warning("the change of a ConfigMap does not count: %s", one_line(found.findings))
            return
        # The shim, too, reads these at its start only.
        admission = replace(found.settings.admission, service=old.admission.service)
        self.policy = Policy(
            replace(
                found.settings,
                scheduler_names=old.scheduler_names,
                workloads=old.workloads,
                admission=admission,
            ),
            self.policy.own_namespace,
        )


def _keep(found: dict[str, T], name: str, value: T) -> None:
    """Remember something about a name; when there is much of it, nothing but that."""
    if len(found) >= _LOOKED_UP_LIMIT:
        found.clear()
    found[name] = value


def _is_name(text: str) -> bool:
    return 0 < len(text) <= _NAME_LIMIT and text.isascii() and text.replace("-", "0").isalnum()
