"""The settings of an installation; the values of the Helm chart are the same.

The comment above each field is its documentation in ``values.yaml`` of the chart.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Final

import msgspec
import yaml
from msgspec import Meta, Struct, field

from remuda import __version__
from remuda.base.errors import UsageError

_QUEUES: Final = """\
partitions:
  - name: default
    placementrules:
      - name: tag
        value: namespace
        create: true
    queues:
      - name: root
        submitacl: '*'
"""

_NAMESPACE: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")

# Bytes of a file with values.
_LIMIT: Final = 1024 * 1024

Count = Annotated[int, Meta(ge=1, le=9)]


def _resources(cpu: str, memory: str) -> dict[str, dict[str, str]]:
    return {"requests": {"cpu": cpu, "memory": memory}, "limits": {"memory": memory}}


class Scheduler(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, rename="camel"):
    """The replicas of ``remuda kubernetes``."""

    replicas: Annotated[Count, Meta(description="One works, the others stand by.")] = 2
    resources: Annotated[
        dict[str, Any],
        Meta(description="What each replica asks for, and may use at most."),
    ] = field(default_factory=lambda: _resources("1", "2Gi"))
    node_selector: Annotated[
        dict[str, str], Meta(description="Labels of the nodes that it may run on.")
    ] = field(default_factory=dict)
    tolerations: Annotated[
        list[dict[str, Any]], Meta(description="Taints of nodes that it tolerates.")
    ] = field(default_factory=list)


class Admission(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, rename="camel"):
    """The replicas of ``remuda kubernetes admission``."""

    enabled: Annotated[
        bool, Meta(description="Without it, pods name their scheduler and queue themselves.")
    ] = True
    replicas: Annotated[Count, Meta(description="All of them answer.")] = 2
    failure_policy: Annotated[
        str,
        Meta(
            pattern="^(ignore|fail)$",
            description="What becomes of pods while none answers: stored as they are, or refused.",
        ),
    ] = "ignore"
    resources: Annotated[
        dict[str, Any], Meta(description="What each replica asks for, and may use at most.")
    ] = field(default_factory=lambda: _resources("200m", "256Mi"))


class Switch(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, rename="camel"):
    """Something that can be left out."""

    enabled: bool = False


class Values(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, rename="camel"):
    """All settings of an installation."""

    image: Annotated[str, Meta(min_length=1, description="Made from deploy/container.")] = (
        f"remuda:{__version__}"
    )
    image_pull_policy: Annotated[
        str,
        Meta(pattern="^(Always|IfNotPresent|Never)$", description="When a node fetches it."),
    ] = "IfNotPresent"
    configs: Annotated[
        dict[str, str],
        Meta(
            description="The ConfigMap yunikorn-configs: queues.yaml, and settings of the scheduler"
            " and of admission."
        ),
    ] = field(default_factory=lambda: {"queues.yaml": _QUEUES})
    scheduler: Scheduler = field(default_factory=Scheduler)
    admission: Admission = field(default_factory=Admission)
    priority_class: Annotated[
        int,
        Meta(
            ge=0,
            le=1_000_000_000,
            description="Priority of the replicas themselves, so that work never displaces them.",
        ),
    ] = 1_000_000_000
    workloads: Annotated[
        Switch,
        Meta(
            description="Whether the scheduler may read Jobs, JobSets and the like, which the key"
            " service.workloads of configs needs."
        ),
    ] = field(default_factory=Switch)
    network_policy: Annotated[
        Switch, Meta(description="Whether nothing but probes, metrics and reviews may come in.")
    ] = field(default_factory=lambda: Switch(enabled=True))
    service_monitor: Annotated[
        Switch, Meta(description="Whether the Prometheus operator reads the metrics.")
    ] = field(default_factory=Switch)
    dashboards: Annotated[
        Switch,
        Meta(
            description="Whether there is a ConfigMap with the dashboard, which the side car of"
            " Grafana finds by the label grafana_dashboard."
        ),
    ] = field(default_factory=Switch)
    alerts: Annotated[
        Switch,
        Meta(description="Whether there is a PrometheusRule, for the Prometheus operator."),
    ] = field(default_factory=Switch)


def checked_namespace(name: str) -> str:
    """Return the name of a namespace. Raises: UsageError."""
    if not _NAMESPACE.fullmatch(name):
        raise UsageError(
            f"--namespace is {name!r:.80}; it has to have small letters, digits and hyphens,"
            " 63 at most, with no hyphen at its ends"
        )
    return name


def read_values(content: bytes, name: str) -> Values:
    """Return the values that a file has, in YAML. Raises: UsageError."""
    if len(content) > _LIMIT:
        raise UsageError(f"{name}: it has more than {_LIMIT} bytes")
    try:
        # A few of them in each other would make a manifest of any length.
        if any(isinstance(token, yaml.AliasToken) for token in yaml.scan(content)):
            raise UsageError(f"{name}: it has an alias (*name); write the value out")
        return msgspec.convert(yaml.safe_load(content) or {}, Values)
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"{name}: it is no YAML: {' '.join(str(error).split())}") from None
    except msgspec.ValidationError as error:
        raise UsageError(f"{name}: {error}; see values.yaml of the Helm chart") from None
