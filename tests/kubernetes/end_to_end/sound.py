"""A sound installation on an API server of tests: that of `remuda kubernetes manifests`."""

from __future__ import annotations

import time
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from remuda_kubernetes.admission.pairs import new_pair
from remuda_kubernetes.admission.webhooks import PLURALS, Target, merged
from remuda_kubernetes.packaging.objects import included
from remuda_kubernetes.packaging.values import Values
from tests.kubernetes.end_to_end.calls import Api, Refused
from tests.kubernetes.end_to_end.objects import Object

SPACE: Final = "yunikorn"
SERVICE: Final = "yunikorn-admission-controller-service"
MAPS: Final = f"/api/v1/namespaces/{SPACE}/configmaps"
DEPLOYMENTS: Final = f"/apis/apps/v1/namespaces/{SPACE}/deployments"
LEASES: Final = f"/apis/coordination.k8s.io/v1/namespaces/{SPACE}/leases"
HOOKS: Final = "/apis/admissionregistration.k8s.io/v1"
MUTATING: Final = f"{HOOKS}/mutatingwebhookconfigurations"
PODS: Final = "/api/v1/namespaces/default/pods"
_PLACES: Final = {
    "PriorityClass": "/apis/scheduling.k8s.io/v1/priorityclasses",
    "ConfigMap": MAPS,
    "Deployment": DEPLOYMENTS,
    "Service": f"/api/v1/namespaces/{SPACE}/services",
}
QUEUES: Final = """\
partitions:
  - name: default
    placementrules:
      - name: provided
    queues:
      - name: root
        submitacl: '*'
        queues:
          - name: batch
          - name: teams
            queues:
              - name: red
"""


def bundle(*, days_ago: int = 0) -> bytes:
    """Return an authority in PEM that was made so many days ago; it counts for 90."""
    made = datetime.now(UTC) - timedelta(days=days_ago)
    return new_pair([f"{SERVICE}.{SPACE}.svc"], made).authority


def install(api: Api, *, admission: bool = True) -> None:
    """Create what is installed, with every replica ready and the lease held."""
    for name in (SPACE, "kube-system"):
        with suppress(Refused):
            api.create("/api/v1/namespaces", {"metadata": {"name": name}})
        # Servers since 1.21 give the label themselves.
        labels = {"kubernetes.io/metadata.name": name}
        api.merge(f"/api/v1/namespaces/{name}", {"metadata": {"labels": labels}})
    values = Values(configs={"queues.yaml": QUEUES})
    for each in included(values, SPACE):
        if each["kind"] in _PLACES and (admission or "admission" not in each["metadata"]["name"]):
            api.create(_PLACES[each["kind"]], each)
    for name in ("remuda", "remuda-admission") if admission else ("remuda",):
        made_ready(api, name, 2)
    hold(api, time.time())
    if admission:
        target = Target(SPACE, SERVICE, authorities=bundle())
        for plural in PLURALS:
            configuration = merged(None, plural, target)
            assert configuration is not None
            api.create(f"{HOOKS}/{plural}", configuration)


def made_ready(api: Api, name: str, count: int, space: str = SPACE) -> None:
    """Say that replicas of a deployment are ready, as its controller would."""
    path = f"/apis/apps/v1/namespaces/{space}/deployments/{name}"
    status = {"replicas": count, "readyReplicas": count, "availableReplicas": count}
    api.merge(f"{path}/status", {"status": status})


def hold(api: Api, seconds: float) -> None:
    """Let a replica have renewed the lease at a Unix time."""
    moment = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    spec = {
        "holderIdentity": "remuda-1",
        "leaseDurationSeconds": 60,
        "acquireTime": moment,
        "renewTime": moment,
    }
    name = "remuda-kubernetes"
    body = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name}}
    with suppress(Refused):
        api.delete(f"{LEASES}/{name}")
    api.create(LEASES, {**body, "spec": spec})


def deployment(
    name: str, *, image: str, args: list[str] | None = None, space: str = SPACE, replicas: int = 1
) -> Object:
    """A deployment of one container."""
    labels = {"app": name}
    container: dict[str, Any] = {"name": name, "image": image, "args": args or []}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": space},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }
