"""Namespaces, configuration, priority classes, budgets, and what groups pods."""

from __future__ import annotations

from remuda_kubernetes.objects.metadata import KubernetesObject, LabelSelector
from remuda_kubernetes.objects.values import Value


class Namespace(KubernetesObject, frozen=True):
    """A namespace; its annotations may carry quotas."""


class ConfigMap(KubernetesObject, frozen=True):
    """Texts and bytes by name."""

    data: dict[str, str] | None = None
    binary_data: dict[str, bytes] | None = None


class PriorityClass(KubernetesObject, frozen=True):
    """A priority by name. Preemption policies: PreemptLowerPriority, Never."""

    value: int = 0
    preemption_policy: str | None = None


class BudgetSpec(Value, frozen=True):
    """The pods that a budget protects."""

    selector: LabelSelector | None = None


class BudgetStatus(Value, frozen=True):
    """How many of them may be evicted now."""

    disruptions_allowed: int = 0


class PodDisruptionBudget(KubernetesObject, frozen=True):
    """How many of some pods may be disturbed at once."""

    spec: BudgetSpec = BudgetSpec()
    status: BudgetStatus = BudgetStatus()


class SelectorSpec(Value, frozen=True):
    """Pods chosen by labels that must all be equal."""

    selector: dict[str, str] | None = None


class Service(KubernetesObject, frozen=True):
    """A service, which chooses pods by labels."""

    spec: SelectorSpec = SelectorSpec()


class ReplicationController(KubernetesObject, frozen=True):
    """The older form of a ReplicaSet."""

    spec: SelectorSpec = SelectorSpec()


class WorkloadSpec(Value, frozen=True):
    """Pods chosen by a selector."""

    selector: LabelSelector | None = None


class ReplicaSet(KubernetesObject, frozen=True):
    """Equal pods of which so many run."""

    spec: WorkloadSpec = WorkloadSpec()


class StatefulSet(KubernetesObject, frozen=True):
    """Pods with names and volumes of their own."""

    spec: WorkloadSpec = WorkloadSpec()


class LeaseSpec(Value, frozen=True):
    """The holder of a lease, since when, for how long. Times are RFC 3339 with microseconds."""

    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None


class Lease(KubernetesObject, frozen=True):
    """A lock that runs out if its holder does not renew it."""

    spec: LeaseSpec = LeaseSpec()
