"""What all objects have: names, labels, owners, versions; and selectors of labels."""

from __future__ import annotations

from remuda_kubernetes.objects.values import Value


class OwnerReference(Value, frozen=True):
    """The object that this one belongs to: it is deleted with it."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class ObjectMeta(Value, frozen=True):
    """Metadata. Times are texts of RFC 3339 in seconds, as the server writes them."""

    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    owner_references: tuple[OwnerReference, ...] | None = None
    finalizers: tuple[str, ...] | None = None
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: int | None = None


class KubernetesObject(Value, frozen=True):
    """The base of all kinds. The server leaves both texts out of the items of a list."""

    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = ObjectMeta()

    @property
    def name(self) -> str:
        """The name within the namespace."""
        return self.metadata.name

    @property
    def namespace(self) -> str:
        """The namespace; "" for objects of the whole cluster."""
        return self.metadata.namespace

    @property
    def uid(self) -> str:
        """The identity: no two objects have the same, not even one after the other."""
        return self.metadata.uid

    @property
    def labels(self) -> dict[str, str]:
        """The labels; not to be changed."""
        return self.metadata.labels or _NONE

    @property
    def annotations(self) -> dict[str, str]:
        """The annotations; not to be changed."""
        return self.metadata.annotations or _NONE


class ObjectReference(Value, frozen=True):
    """A pointer to another object, in whatever version."""

    api_version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""


class LabelSelectorRequirement(Value, frozen=True):
    """One expression: In, NotIn, Exists, DoesNotExist."""

    key: str = ""
    operator: str = ""
    values: tuple[str, ...] | None = None


class LabelSelector(Value, frozen=True):
    """A query over labels; all parts must hold. An empty one matches everything."""

    match_labels: dict[str, str] | None = None
    match_expressions: tuple[LabelSelectorRequirement, ...] | None = None


_NONE: dict[str, str] = {}
