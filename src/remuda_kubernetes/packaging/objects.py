"""The objects of an installation, by part; nothing else writes manifests.

``deploy/kubernetes`` and the Helm chart are generated from these functions (tools/packages.py), so
they cannot differ. A value may also be a piece of a template: it is put in place unseen.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import resources
from typing import Any, Final, TypeAlias

from remuda_kubernetes.packaging import rights
from remuda_kubernetes.packaging.values import Values

Object: TypeAlias = dict[str, Any]

SCHEDULER: Final = "remuda"
ADMISSION: Final = "remuda-admission"
NAME: Final = "app.kubernetes.io/name"
# The files with the dashboard for Grafana and the rules for Prometheus.
DASHBOARD: Final = "dashboard.json"
ALERTS: Final = "alerts.json"
_PART: Final = "app.kubernetes.io/part-of"
_REPORTS: Final = 9081
_ADMISSION_REPORTS: Final = 9444
_WEBHOOK: Final = 9443
_USER: Final = 65532


def parts(
    values: Values, namespace: str, dashboard: str, alerts: object
) -> Mapping[str, list[Object]]:
    """Return the objects of each part, by its name; ``included`` says which parts count.

    ``dashboard``: the text of the dashboard; ``alerts``: the groups of rules; or the places of
    them.
    """
    return {
        "scheduler": [
            *rights.scheduler(namespace),
            _priority_class(values),
            _config_map(values, namespace),
            _deployment(values, namespace),
            _budget(SCHEDULER, namespace),
            _metrics_service(namespace),
        ],
        "admission": [
            *rights.admission(namespace),
            _admission_deployment(values, namespace),
            _budget(ADMISSION, namespace),
            _admission_service(namespace),
        ],
        "workloads": rights.workloads(namespace),
        "network-policy": [_scheduler_policy(namespace)],
        "admission-network-policy": [_admission_policy(namespace)],
        "service-monitor": [_monitor(namespace)],
        "dashboards": [_dashboards(namespace, dashboard)],
        "alerts": [_rules(namespace, alerts)],
    }


# The parts that count only if all of some values are true: their paths in the values.
CONDITIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "admission": ("admission.enabled",),
    "workloads": ("workloads.enabled",),
    "network-policy": ("network_policy.enabled",),
    "admission-network-policy": ("network_policy.enabled", "admission.enabled"),
    "service-monitor": ("service_monitor.enabled",),
    "dashboards": ("dashboards.enabled",),
    "alerts": ("alerts.enabled",),
}


def included(values: Values, namespace: str) -> list[Object]:
    """Return the objects of an installation with these values."""
    files = resources.files(__package__)
    dashboard = files.joinpath(DASHBOARD).read_text("utf-8")
    alerts = json.loads(files.joinpath(ALERTS).read_text("utf-8"))
    left = left_out(values)
    found = parts(values, namespace, dashboard, alerts)
    return [each for part, objects in found.items() if part not in left for each in objects]


def left_out(values: Values) -> set[str]:
    """Return the parts that an installation with these values does not have."""
    return {
        part for part, paths in CONDITIONS.items() if not all(_at(values, path) for path in paths)
    }


def _at(values: object, path: str) -> object:
    for name in path.split("."):
        values = getattr(values, name)
    return values


def _given(fields: Object) -> Object:
    """Return the fields that are not empty; the server drops those, and would differ for ever."""
    return {name: value for name, value in fields.items() if value}


def _meta(name: str, namespace: str = "", labelled: str = "") -> Object:
    found: Object = {"name": name}
    if namespace:
        found["namespace"] = namespace
    found["labels"] = {NAME: labelled or name, _PART: SCHEDULER}
    return found


def _priority_class(values: Values) -> Object:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": _meta(SCHEDULER),
        "value": values.priority_class,
        "description": "The scheduler and its admission controller.",
    }


def _config_map(values: Values, namespace: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": _meta("yunikorn-configs", namespace, SCHEDULER),
        **_given({"data": values.configs}),
    }


def _deployment(values: Values, namespace: str) -> Object:
    part = values.scheduler
    arguments = ["kubernetes", "--leader-elect", f"--reports-address=0.0.0.0:{_REPORTS}"]
    pod = _pod(values, SCHEDULER, arguments, part.resources, {"reports": _REPORTS})
    pod |= _given({"nodeSelector": part.node_selector, "tolerations": part.tolerations})
    # One of two replicas that stand by may be replaced at a time; the lease tells which one works.
    return _deployed(SCHEDULER, namespace, part.replicas, pod)


def _admission_deployment(values: Values, namespace: str) -> Object:
    part = values.admission
    arguments = [
        "kubernetes",
        "admission",
        f"--webhook-address=0.0.0.0:{_WEBHOOK}",
        f"--reports-address=0.0.0.0:{_ADMISSION_REPORTS}",
    ]
    ports = {"webhook": _WEBHOOK, "reports": _ADMISSION_REPORTS}
    pod = _pod(values, ADMISSION, arguments, part.resources, ports)
    pod["containers"][0]["env"].append(
        {"name": "REMUDA_FAILURE_POLICY", "value": part.failure_policy}
    )
    return _deployed(ADMISSION, namespace, part.replicas, pod)


def _deployed(name: str, namespace: str, replicas: int, pod: Object) -> Object:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": _meta(name, namespace),
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {NAME: name}},
            # Without its type each ``kubectl apply`` would change it anew.
            "strategy": {
                "type": "RollingUpdate",
                "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0},
            },
            "template": {"metadata": {"labels": {NAME: name, _PART: SCHEDULER}}, "spec": pod},
        },
    }


def _pod(
    values: Values,
    name: str,
    arguments: list[str],
    resources: Mapping[str, Any],
    ports: Mapping[str, int],
) -> Object:
    """Return the spec of a pod: not root, nothing writable, probes, apart from its siblings."""
    return {
        "serviceAccountName": name,
        "priorityClassName": SCHEDULER,
        # The scheduler must not wait for itself.
        "schedulerName": "default-scheduler",
        "terminationGracePeriodSeconds": 30,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": _USER,
            "runAsGroup": _USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "affinity": {
            "podAntiAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {
                        "weight": 100,
                        "podAffinityTerm": {
                            "topologyKey": "kubernetes.io/hostname",
                            "labelSelector": {"matchLabels": {NAME: name}},
                        },
                    }
                ]
            }
        },
        "containers": [
            {
                "name": name,
                "image": values.image,
                "imagePullPolicy": values.image_pull_policy,
                "args": arguments,
                "env": [
                    {
                        "name": "REMUDA_NAMESPACE",
                        "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}},
                    }
                ],
                "ports": [
                    {"name": port, "containerPort": number} for port, number in ports.items()
                ],
                **_given({"resources": resources}),
                "livenessProbe": _probe("/livez", 10, 6),
                "readinessProbe": _probe("/readyz", 5, 2),
                "securityContext": {
                    "allowPrivilegeEscalation": False,
                    "readOnlyRootFilesystem": True,
                    "capabilities": {"drop": ["ALL"]},
                },
                "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}],  # noqa: S108 - in the pod
            }
        ],
        "volumes": [{"name": "tmp", "emptyDir": {"sizeLimit": "64Mi"}}],
    }


def _probe(path: str, seconds: int, failures: int) -> Object:
    return {
        "httpGet": {"path": path, "port": "reports"},
        "periodSeconds": seconds,
        "timeoutSeconds": 5,
        "failureThreshold": failures,
    }


def _budget(name: str, namespace: str) -> Object:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": _meta(name, namespace),
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": {NAME: name}}},
    }


def _metrics_service(namespace: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": _meta(SCHEDULER, namespace),
        "spec": {
            "clusterIP": "None",
            "selector": {NAME: SCHEDULER},
            "ports": [{"name": "reports", "port": _REPORTS, "targetPort": "reports"}],
        },
    }


def _admission_service(namespace: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        # The name by which the API server is told to call it, as the reference has it.
        "metadata": _meta("yunikorn-admission-controller-service", namespace, ADMISSION),
        "spec": {
            "selector": {NAME: ADMISSION},
            "ports": [{"name": "webhook", "port": 443, "targetPort": "webhook"}],
        },
    }


def _scheduler_policy(namespace: str) -> Object:
    return _policy(SCHEDULER, namespace, [_REPORTS])


def _admission_policy(namespace: str) -> Object:
    return _policy(ADMISSION, namespace, [_WEBHOOK, _ADMISSION_REPORTS])


def _policy(name: str, namespace: str, ports: list[int]) -> Object:
    """Return what may come in; what goes out to the API server is not limited by address."""
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": _meta(name, namespace),
        "spec": {
            "podSelector": {"matchLabels": {NAME: name}},
            "policyTypes": ["Ingress"],
            "ingress": [{"ports": [{"protocol": "TCP", "port": port} for port in ports]}],
        },
    }


def _monitor(namespace: str) -> Object:
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "ServiceMonitor",
        "metadata": _meta(SCHEDULER, namespace),
        "spec": {
            "selector": {"matchLabels": {NAME: SCHEDULER}},
            "endpoints": [{"port": "reports", "path": "/metrics", "interval": "30s"}],
        },
    }


def _dashboards(namespace: str, dashboard: str) -> Object:
    """Return what the side car of Grafana's own chart looks for, by its usual label."""
    found = _meta("remuda-dashboards", namespace, SCHEDULER)
    found["labels"] |= {"grafana_dashboard": "1"}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": found,
        "data": {"remuda.json": dashboard},
    }


def _rules(namespace: str, alerts: object) -> Object:
    """Return the rules of alerts as the Prometheus operator reads them."""
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": _meta(SCHEDULER, namespace),
        "spec": alerts,
    }
