"""The kinds of objects that only the look at a cluster needs, as far as it needs them."""

from __future__ import annotations

from typing import Final

from remuda_kubernetes.objects.metadata import KubernetesObject, LabelSelector
from remuda_kubernetes.objects.values import Value


class Variable(Value, frozen=True):
    """A variable of the environment of a container."""

    name: str = ""
    value: str = ""


class Container(Value, frozen=True):
    """What runs in a pod of a deployment."""

    name: str = ""
    image: str = ""
    command: tuple[str, ...] | None = None
    args: tuple[str, ...] | None = None
    env: tuple[Variable, ...] | None = None


class TemplateSpec(Value, frozen=True):
    """What the pods of a deployment want."""

    containers: tuple[Container, ...] | None = None
    service_account_name: str = ""
    priority_class_name: str = ""


class Template(Value, frozen=True):
    """The template of the pods of a deployment."""

    spec: TemplateSpec = TemplateSpec()


class DeploymentSpec(Value, frozen=True):
    """How many pods of which template."""

    replicas: int | None = None
    template: Template = Template()


class DeploymentStatus(Value, frozen=True):
    """How many of them are ready."""

    ready_replicas: int = 0


class Deployment(KubernetesObject, frozen=True):
    """Pods that are all alike."""

    spec: DeploymentSpec = DeploymentSpec()
    status: DeploymentStatus = DeploymentStatus()

    @property
    def replicas(self) -> int:
        """How many pods there are to be."""
        return 1 if self.spec.replicas is None else self.spec.replicas


class ServiceTarget(Value, frozen=True):
    """The service that a webhook calls."""

    namespace: str = ""
    name: str = ""


class Client(Value, frozen=True):
    """How the API server reaches a webhook, and by which certificates it knows it."""

    service: ServiceTarget | None = None
    url: str = ""
    ca_bundle: str = ""


class HookRule(Value, frozen=True):
    """The objects that a webhook is asked about."""

    resources: tuple[str, ...] | None = None


class Hook(Value, frozen=True):
    """One webhook."""

    name: str = ""
    client_config: Client = Client()
    failure_policy: str = ""
    namespace_selector: LabelSelector | None = None
    rules: tuple[HookRule, ...] | None = None


class WebhookConfiguration(KubernetesObject, frozen=True):
    """Some webhooks, mutating or validating."""

    webhooks: tuple[Hook, ...] | None = None


class Registration(KubernetesObject, frozen=True):
    """Any object of which only the metadata counts."""


DEPLOYMENTS: Final = "/apis/apps/v1/deployments"
REGISTRATION: Final = "/apis/admissionregistration.k8s.io/v1"
AUTHORIZATION: Final = "/apis/authorization.k8s.io/v1"
