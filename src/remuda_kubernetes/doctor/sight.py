"""All that was read of a cluster at one time; the findings are functions of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from remuda_kubernetes.api.discovery import Served
from remuda_kubernetes.doctor.objects import Deployment, WebhookConfiguration
from remuda_kubernetes.objects.cluster import ConfigMap, Lease, Namespace, PriorityClass
from remuda_kubernetes.objects.pods import Pod
from remuda_kubernetes.translation.settings import Settings


@dataclass(frozen=True, slots=True, order=True)
class Need:
    """One thing that an account has to be allowed to do. ``namespace`` "": in the whole cluster.

    ``resource`` may have a part behind a slash, as in pods/binding. ``name`` "": any object.
    """

    group: str
    resource: str
    verb: str
    namespace: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class Asked:
    """What was asked about the rights of one account.

    ``account``: NAMESPACE/NAME, "" for the caller. ``missing``: what it may not do. ``failure``:
    why the API server could not be asked, "" if it answered all.
    """

    account: str
    part: str
    missing: tuple[Need, ...] = ()
    failure: str = ""


@dataclass(slots=True)
class Sight:
    """What was read. ``unread``: what could not be read, with the reason.

    ``unreadable``: objects whose form is wrong, with the reason. ``services``: NAMESPACE/NAME of
    services that webhooks call -> whether there is one. ``cut``: pods were left out.
    """

    namespace: str
    now_s: int
    served: Served
    settings: Settings = field(default_factory=Settings)
    config_maps: Mapping[str, ConfigMap] = field(default_factory=dict)
    deployments: list[Deployment] = field(default_factory=list)
    mutating: list[WebhookConfiguration] = field(default_factory=list)
    validating: list[WebhookConfiguration] = field(default_factory=list)
    namespaces: Mapping[str, Namespace] = field(default_factory=dict)
    priority_classes: Mapping[str, PriorityClass] = field(default_factory=dict)
    services: dict[str, bool] = field(default_factory=dict)
    lease: Lease | None = None
    pods: list[Pod] = field(default_factory=list)
    cut: bool = False
    rights: list[Asked] = field(default_factory=list)
    unread: dict[str, str] = field(default_factory=dict)
    unreadable: dict[str, str] = field(default_factory=dict)
