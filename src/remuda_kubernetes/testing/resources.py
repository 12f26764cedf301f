"""The kinds of objects that the server keeps: names, groups, versions, what can be done with them.

Names, verbs and short names are those of recorded discovery; what came after release 1.20 is from
the API reference of Kubernetes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from remuda_kubernetes.testing.settings import NEWEST, OLDEST, Settings

VERBS: Final = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
_WITHOUT_COLLECTION: Final = tuple(verb for verb in VERBS if verb != "deletecollection")
_STATUS_VERBS: Final = ("get", "patch", "update")


@dataclass(frozen=True)
class Version:
    """A version of a group, and the releases (1.N) that have it."""

    name: str
    first: int = OLDEST
    last: int = NEWEST


@dataclass(frozen=True, kw_only=True)
class Resource:
    """One kind. ``versions``: the best first. ``subresources``: without status."""

    kind: str
    plural: str
    group: str = ""
    versions: tuple[Version, ...] = (Version("v1"),)
    namespaced: bool = True
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    has_status: bool = False
    has_generation: bool = False
    subresources: tuple[str, ...] = ()
    verbs: tuple[str, ...] = VERBS

    def offered(self, settings: Settings) -> tuple[str, ...]:
        """Return the versions that a release has, the best first."""
        return tuple(
            version.name
            for version in self.versions
            if version.first <= settings.minor <= version.last
        )

    @property
    def storage(self) -> tuple[str, str]:
        """The group and plural that the objects are kept under."""
        return ("", "events") if self.kind == "Event" else (self.group, self.plural)

    def key(self, namespace: str, name: str) -> str:
        """Return the key of an object; lists are sorted by it."""
        return f"{namespace}/{name}" if self.namespaced else name


def _controller(kind: str, group: str, short: str, *categories: str) -> Resource:
    return Resource(
        kind=kind,
        plural=f"{kind.lower()}s",
        group=group,
        short_names=(short,) if short else (),
        categories=categories,
        has_status=True,
        has_generation=True,
    )


def _cluster(kind: str, plural: str, group: str, *short: str) -> Resource:
    return Resource(kind=kind, plural=plural, group=group, namespaced=False, short_names=short)


_BUDGET_VERSIONS: Final = (Version("v1", 21), Version("v1beta1", OLDEST, 24))
_CAPACITY_VERSIONS: Final = (Version("v1", 24), Version("v1beta1", 21, 26))
_EVENT_VERSIONS: Final = (Version("v1"), Version("v1beta1", OLDEST, 24))
_DEVICE_VERSIONS: Final = (Version("v1", 34), Version("v1beta1", 32))
_STORAGE: Final = "storage.k8s.io"
_DEVICES: Final = "resource.k8s.io"
_REGISTRATION: Final = "admissionregistration.k8s.io"

POD: Final = Resource(
    kind="Pod",
    plural="pods",
    short_names=("po",),
    categories=("all",),
    has_status=True,
    subresources=("binding", "eviction", "resize"),
)
NODE: Final = Resource(
    kind="Node", plural="nodes", namespaced=False, short_names=("no",), has_status=True
)
NAMESPACE: Final = Resource(
    kind="Namespace",
    plural="namespaces",
    namespaced=False,
    short_names=("ns",),
    has_status=True,
    subresources=("finalize",),
    verbs=_WITHOUT_COLLECTION,
)
EVENT: Final = Resource(kind="Event", plural="events", short_names=("ev",))
NEW_EVENT: Final = Resource(
    kind="Event",
    plural="events",
    group="events.k8s.io",
    versions=_EVENT_VERSIONS,
    short_names=("ev",),
)
BUDGET: Final = Resource(
    kind="PodDisruptionBudget",
    plural="poddisruptionbudgets",
    group="policy",
    versions=_BUDGET_VERSIONS,
    short_names=("pdb",),
    has_status=True,
    has_generation=True,
)
PRIORITY_CLASS: Final = Resource(
    kind="PriorityClass",
    plural="priorityclasses",
    group="scheduling.k8s.io",
    namespaced=False,
    short_names=("pc",),
    has_generation=True,
)

MUTATING: Final = _cluster(
    "MutatingWebhookConfiguration", "mutatingwebhookconfigurations", _REGISTRATION
)
VALIDATING: Final = _cluster(
    "ValidatingWebhookConfiguration", "validatingwebhookconfigurations", _REGISTRATION
)

RESOURCES: Final = (
    MUTATING,
    VALIDATING,
    POD,
    NODE,
    NAMESPACE,
    EVENT,
    NEW_EVENT,
    BUDGET,
    PRIORITY_CLASS,
    Resource(kind="ConfigMap", plural="configmaps", short_names=("cm",)),
    Resource(kind="Secret", plural="secrets"),
    Resource(kind="ServiceAccount", plural="serviceaccounts", short_names=("sa",)),
    Resource(kind="Endpoints", plural="endpoints", short_names=("ep",)),
    Resource(
        kind="Service",
        plural="services",
        short_names=("svc",),
        categories=("all",),
        has_status=True,
        verbs=_WITHOUT_COLLECTION,
    ),
    Resource(
        kind="PersistentVolume",
        plural="persistentvolumes",
        namespaced=False,
        short_names=("pv",),
        has_status=True,
    ),
    Resource(
        kind="PersistentVolumeClaim",
        plural="persistentvolumeclaims",
        short_names=("pvc",),
        has_status=True,
    ),
    _controller("ReplicationController", "", "rc", "all"),
    _controller("ReplicaSet", "apps", "rs", "all"),
    _controller("StatefulSet", "apps", "sts", "all"),
    _controller("Deployment", "apps", "deploy", "all"),
    _controller("DaemonSet", "apps", "ds", "all"),
    _controller("Job", "batch", "", "all"),
    Resource(
        kind="CronJob",
        plural="cronjobs",
        group="batch",
        versions=(Version("v1", 21), Version("v1beta1", OLDEST, 24)),
        short_names=("cj",),
        categories=("all",),
        has_status=True,
        has_generation=True,
    ),
    Resource(kind="Lease", plural="leases", group="coordination.k8s.io"),
    _cluster("StorageClass", "storageclasses", _STORAGE, "sc"),
    _cluster("CSINode", "csinodes", _STORAGE),
    _cluster("CSIDriver", "csidrivers", _STORAGE),
    Resource(
        kind="VolumeAttachment",
        plural="volumeattachments",
        group=_STORAGE,
        namespaced=False,
        has_status=True,
    ),
    Resource(
        kind="CSIStorageCapacity",
        plural="csistoragecapacities",
        group=_STORAGE,
        versions=_CAPACITY_VERSIONS,
    ),
    Resource(
        kind="ResourceClaim",
        plural="resourceclaims",
        group=_DEVICES,
        versions=_DEVICE_VERSIONS,
        has_status=True,
    ),
    Resource(
        kind="ResourceClaimTemplate",
        plural="resourceclaimtemplates",
        group=_DEVICES,
        versions=_DEVICE_VERSIONS,
    ),
    Resource(
        kind="ResourceSlice",
        plural="resourceslices",
        group=_DEVICES,
        versions=_DEVICE_VERSIONS,
        namespaced=False,
    ),
    Resource(
        kind="DeviceClass",
        plural="deviceclasses",
        group=_DEVICES,
        versions=_DEVICE_VERSIONS,
        namespaced=False,
    ),
)


def subresource_verbs(name: str) -> tuple[str, ...]:
    """Return the verbs of a sub-resource."""
    if name in {"binding", "eviction"}:
        return ("create",)
    return ("update",) if name == "finalize" else _STATUS_VERBS


def subresources(resource: Resource, settings: Settings) -> tuple[str, ...]:
    """Return the sub-resources that a release has, status among them."""
    names = [*resource.subresources, *(["status"] if resource.has_status else [])]
    return tuple(sorted(n for n in names if n != "resize" or settings.has_resize))
