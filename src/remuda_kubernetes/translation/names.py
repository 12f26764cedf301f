"""Labels, annotations, tags, attributes and keys: every name that other programs know, once.

Most come from Apache YuniKorn, so that workloads written for it run unchanged; the documentation
of Kubernetes has the others, and those that begin with ``remuda/`` are ours. The manual is
docs/reference/kubernetes.md.
"""

from __future__ import annotations

from typing import Final

DOMAIN: Final = "yunikorn.apache.org/"
INTERNAL_DOMAIN: Final = "internal.yunikorn.apache.org/"

SCHEDULER_NAME: Final = "yunikorn"
DEFAULT_PARTITION: Final = "default"
DEFAULT_NAMESPACE: Final = "default"

# Pods: which application, queue and user. Labels and annotations of the same name count alike.
APPLICATION_ID: Final = DOMAIN + "app-id"
OLD_APPLICATION_ID: Final = "applicationId"
SPARK_APPLICATION_ID: Final = "spark-app-selector"
QUEUE: Final = DOMAIN + "queue"
OLD_QUEUE: Final = "queue"
USER_RECORD: Final = DOMAIN + "user.info"
USER_NAME: Final = DOMAIN + "username"
# An application ID with this end stands for one application a pod.
UNIQUE_SUFFIX: Final = "-uniqueautogen"
NOBODY: Final = "nobody"

# Pods and priority classes.
ALLOW_PREEMPTION: Final = DOMAIN + "allow-preemption"

# Pods: what their application wants.
NODE_SORT_POLICY: Final = "remuda/node-sort-policy"
TASK_GROUP_NAME: Final = DOMAIN + "task-group-name"
TASK_GROUPS: Final = DOMAIN + "task-groups"
POLICY_PARAMETERS: Final = DOMAIN + "schedulingPolicyParameters"
# "false" on the pods of a workload: it is no gang, whatever its object says.
DERIVE_GANG: Final = "remuda/gang"
TIMEOUT_PARAMETER: Final = "placeholderTimeoutInSeconds"
STYLE_PARAMETER: Final = "gangSchedulingStyle"
# Written by the shim when a gang timed out, so that no later start makes placeholders again.
RESERVATION_OVER: Final = "remuda/reservation-over"
SOFT: Final = "Soft"
HARD: Final = "Hard"

# Placeholders. The older names are only read.
PLACEHOLDER: Final = INTERNAL_DOMAIN + "placeholder"
# A label with the same meaning, by which people find them; the annotation decides.
PLACEHOLDER_LABEL: Final = "remuda/placeholder"
OLD_PLACEHOLDER: Final = DOMAIN + "placeholder"
OLD_PLACEHOLDER_LABEL: Final = "placeholder"

# Namespaces. The older names are only read.
NAMESPACE_QUOTA: Final = DOMAIN + "namespace.quota"
NAMESPACE_GUARANTEED: Final = DOMAIN + "namespace.guaranteed"
NAMESPACE_MAX_APPLICATIONS: Final = DOMAIN + "namespace.maxApps"
NAMESPACE_PARENT: Final = DOMAIN + "namespace.parentqueue"
OLD_NAMESPACE_PARENT: Final = DOMAIN + "parentqueue"
OLD_NAMESPACE_CPU: Final = DOMAIN + "namespace.max.cpu"
OLD_NAMESPACE_MEMORY: Final = DOMAIN + "namespace.max.memory"
# Read by the admission controller only.
NAMESPACE_ENABLE: Final = DOMAIN + "namespace.enableYuniKorn"
NAMESPACE_GENERATE: Final = DOMAIN + "namespace.generateAppId"

# Tags of applications.
TAG_NAMESPACE: Final = "namespace"
TAG_QUOTA: Final = "namespace.resourcequota"
TAG_GUARANTEED: Final = "namespace.resourceguaranteed"
TAG_MAX_APPLICATIONS: Final = "namespace.resourcemaxapps"
TAG_PARENT: Final = "namespace.parentqueue"
TAG_FORCE: Final = "application.create.force"
TAG_PULL_SECRETS: Final = "imagePullSecrets"
TAG_APPLICATION_CREATED: Final = DOMAIN + "creationTime"
TAG_NODE_SORT_POLICY: Final = "node.sort.policy"

# Tags of asks and allocations.
TAG_POD_NAMESPACE: Final = "kubernetes.io/meta/namespace"
TAG_POD_NAME: Final = "kubernetes.io/meta/podName"
TAG_LABEL: Final = "kubernetes.io/label/"
TAG_CREATED: Final = "creationTime"
TAG_REQUIRED_NODE: Final = DOMAIN + "requiredNode"
TAG_FOREIGN: Final = "foreign"
FOREIGN_STATIC: Final = "static"
FOREIGN_DEFAULT: Final = "default"
TAG_PREDICATE_CLASS: Final = "remuda/predicateClass"

# Attributes of nodes.
ATTRIBUTE_HOST: Final = "si/hostname"
ATTRIBUTE_RACK: Final = "si/rackname"
ATTRIBUTE_INSTANCE_TYPE: Final = "si/instance-type"
ATTRIBUTE_READY: Final = "ready"
DEFAULT_RACK: Final = "/rack-default"
# Attributes that well-known labels of nodes give.
ATTRIBUTES_OF_LABELS: Final = {
    "kubernetes.io/arch": "si/arch",
    "kubernetes.io/os": "si/os",
    "topology.kubernetes.io/zone": "si/zone",
    "topology.kubernetes.io/region": "si/region",
}

# Resources: the scheduler's own names. All others are called as in Kubernetes.
VCORE: Final = "vcore"
MEMORY: Final = "memory"
PODS: Final = "pods"

# ConfigMaps; of the same key, the value in the second counts.
DEFAULTS_MAP: Final = "yunikorn-defaults"
CONFIGS_MAP: Final = "yunikorn-configs"

# What the scheduler is told at registration: an ask is an allocation without a node.
INTERFACE_LEVEL: Final = "1.7"
LEVEL_KEY: Final = "si_level"
# The partitions that every configuration has to have, as it is told there, too.
PARTITIONS_KEY: Final = "remuda/partitions"
