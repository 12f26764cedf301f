"""Settings of the shim: every key it reads, with its default, in one table.

The keys are those of Apache YuniKorn (chapter 10 section 14), so that ConfigMaps written for it
mean the same; ``service.schedulerNames`` is ours. Durations are nanoseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

import re2

from remuda.base.duration import parse_duration
from remuda.base.go_text import parse_bool, parse_int32
from remuda_kubernetes.translation import names
from remuda_kubernetes.translation.placeholders import PAUSE_IMAGE
from remuda_kubernetes.translation.workloads import rules_named

_SECOND: Final = 10**9
_MINUTE: Final = 60 * _SECOND

PATTERNS_LIMIT: Final = 200
PATTERN_LENGTH_LIMIT: Final = 1_000
_PATTERN_MEMORY: Final = 1 << 18
_TEXT_LIMIT: Final = 1_024

Value = bool | int | str | tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionSettings:
    """What the admission webhook does. Patterns are regular expressions that match anywhere."""

    service: str = "yunikorn-admission-controller-service"
    scheduler_address: str = "yunikorn-service:9080"
    process_namespaces: tuple[str, ...] = ()
    bypass_namespaces: tuple[str, ...] = ("^kube-system$",)
    label_namespaces: tuple[str, ...] = ()
    no_label_namespaces: tuple[str, ...] = ()
    default_queue: str = "root.default"
    bypass_authentication: bool = False
    trust_controllers: bool = True
    system_users: tuple[str, ...] = ("^system:serviceaccount:kube-system:",)
    external_users: tuple[str, ...] = ()
    external_groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings in force.

    ``queues``: the queue file, "" for the scheduler's own. ``extra``: all entries that are no
    queue files, as texts, for the scheduler. ``calls_per_second``, ``calls_burst``: limits of calls
    to the API server.
    """

    cluster_id: str = "mycluster"
    policy_group: str = "queues"
    scheduling_interval_ns: int = _SECOND
    volume_bind_timeout_ns: int = 10 * _MINUTE
    event_capacity: int = 1_048_576
    dispatch_timeout_ns: int = 5 * _MINUTE
    gangs_disabled: bool = False
    hot_reload: bool = True
    placeholder_image: str = PAUSE_IMAGE
    instance_type_label: str = "node.kubernetes.io/instance-type"
    scheduler_names: tuple[str, ...] = (names.SCHEDULER_NAME,)
    calls_per_second: int = 1_000
    calls_burst: int = 1_000
    unique_application_ids: bool = False
    workloads: tuple[str, ...] = ()
    admission: AdmissionSettings = AdmissionSettings()
    queues: str = ""
    extra: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Key:
    """One key. ``attribute``: of Settings, or of its part ``admission``.

    ``parse``: gives the value, None if the text is none. ``advice``: what to write.
    ``reload``: whether a change takes effect without a restart. ``alias``: another spelling.
    """

    name: str
    attribute: str
    parse: Callable[[str], Value | None]
    advice: str
    reload: bool = False
    admission: bool = False
    alias: str = ""


def _positive_duration(text: str) -> int | None:
    found = parse_duration(text)
    return found if found is not None and found > 0 else None


def _positive_number(text: str) -> int | None:
    found = parse_int32(text)
    return found if found is not None and found > 0 else None


def _text(text: str) -> str | None:
    return text if text and len(text) <= _TEXT_LIMIT and text.isprintable() else None


def _queue_or_nothing(text: str) -> str | None:
    return text if not text or text == "root" or text.startswith("root.") else None


def _scheduler_names(text: str) -> tuple[str, ...] | None:
    found = tuple(each.strip() for each in text.split(",") if each.strip())
    return found if found and len(text) <= _TEXT_LIMIT and text.isprintable() else None


def patterns(text: str) -> tuple[str, ...] | None:
    """Return the regular expressions of a list with commas; None if one cannot be read.

    They are in the syntax of RE2, whose matching takes linear time.
    """
    found = tuple(each.strip() for each in text.split(",") if each.strip())
    return found if len(found) <= PATTERNS_LIMIT and all(map(_readable, found)) else None


def _readable(pattern: str) -> bool:
    if len(pattern) > PATTERN_LENGTH_LIMIT:
        return False
    try:
        re2.compile(pattern, _OPTIONS)
    except (re2.error, UnicodeError):
        return False
    return True


def _options() -> re2.Options:
    options = re2.Options()
    options.max_mem = _PATTERN_MEMORY
    options.log_errors = False
    return options


_OPTIONS: Final = _options()


def matches_any(found: tuple[str, ...]) -> Callable[[str], bool]:
    """Return what says of a text whether one of these patterns, read before, matches in it."""
    compiled = [re2.compile(each, _OPTIONS) for each in found]
    return lambda text: any(each.search(text) for each in compiled)


_BOOLEAN: Final = 'write "true" or "false"'
_DURATION: Final = 'write a duration above 0, such as "30s" or "5m"'
_NUMBER: Final = 'write a whole number from 1 to 2147483647, such as "1000"'
_NAME: Final = "write a text of at most 1024 printable characters"
_PATTERNS: Final = 'write regular expressions with commas between them, such as "^kube-,^test$"'
_QUEUE: Final = "write root, a queue below it such as root.default, or nothing"
_WORKLOADS: Final = 'write kinds of workloads such as "job,jobset,ray", "all", or nothing'
_NAMES: Final = 'write names with commas between them, such as "yunikorn,batch"'

_AMF: Final = "admissionController.filtering."
_AMA: Final = "admissionController.accessControl."
_AMW: Final = "admissionController.webHook."

KEYS: Final = (
    Key("service.clusterId", "cluster_id", _text, _NAME),
    Key("service.policyGroup", "policy_group", _text, _NAME),
    Key("service.schedulingInterval", "scheduling_interval_ns", _positive_duration, _DURATION),
    Key("service.volumeBindTimeout", "volume_bind_timeout_ns", _positive_duration, _DURATION),
    Key("service.eventChannelCapacity", "event_capacity", _positive_number, _NUMBER),
    Key("service.dispatchTimeout", "dispatch_timeout_ns", _positive_duration, _DURATION),
    Key("service.disableGangScheduling", "gangs_disabled", parse_bool, _BOOLEAN),
    Key("service.enableConfigHotRefresh", "hot_reload", parse_bool, _BOOLEAN, reload=True),
    Key("service.placeholderImage", "placeholder_image", _text, _NAME),
    Key(
        "service.nodeInstanceTypeNodeLabelKey",
        "instance_type_label",
        _text,
        _NAME,
        alias="service.instanceTypeNodeLabelKey",
    ),
    Key("service.schedulerNames", "scheduler_names", _scheduler_names, _NAMES),
    Key("service.workloads", "workloads", rules_named, _WORKLOADS),
    Key("kubernetes.qps", "calls_per_second", _positive_number, _NUMBER),
    Key("kubernetes.burst", "calls_burst", _positive_number, _NUMBER),
    Key(f"{_AMF}generateUniqueAppId", "unique_application_ids", parse_bool, _BOOLEAN),
    Key(f"{_AMW}amServiceName", "service", _text, _NAME, admission=True),
    Key(f"{_AMW}schedulerServiceAddress", "scheduler_address", _text, _NAME, admission=True),
    *(
        Key(f"{_AMF}{name}", attribute, patterns, _PATTERNS, reload=True, admission=True)
        for name, attribute in (
            ("processNamespaces", "process_namespaces"),
            ("bypassNamespaces", "bypass_namespaces"),
            ("labelNamespaces", "label_namespaces"),
            ("noLabelNamespaces", "no_label_namespaces"),
        )
    ),
    Key(
        f"{_AMF}defaultQueue",
        "default_queue",
        _queue_or_nothing,
        _QUEUE,
        reload=True,
        admission=True,
    ),
    *(
        Key(f"{_AMA}{name}", attribute, parse_bool, _BOOLEAN, reload=True, admission=True)
        for name, attribute in (
            ("bypassAuth", "bypass_authentication"),
            ("trustControllers", "trust_controllers"),
        )
    ),
    *(
        Key(f"{_AMA}{name}", attribute, patterns, _PATTERNS, reload=True, admission=True)
        for name, attribute in (
            ("systemUsers", "system_users"),
            ("externalUsers", "external_users"),
            ("externalGroups", "external_groups"),
        )
    ),
)

# Keys of the reference that mean nothing any more.
IGNORED: Final = frozenset({"service.operatorPlugins"})
# Keys below these belong to the shim; one that is not in the table is probably misspelt.
OWN_PREFIXES: Final = ("service.", "kubernetes.", "admissionController.")
