"""Every key of the extra map, in one table: its readers, its meaning and its default.

Programs of three kinds share the map: the scheduler itself (``core``), the adapter between it and a
cluster (``shim``) and that cluster's admission controller (``admission``). The scheduler acts on
its own keys and keeps the others. All keys are in this table, and the manual is generated from it
(KV, section 14 of chapter 10).
"""

from __future__ import annotations

from typing import Final

from remuda.base.message import message

CORE: Final = "core"
SHIM: Final = "shim"
ADMISSION: Final = "admission"
NOBODY: Final = "nobody"

# What a value looks like.
BOOLEAN: Final = "boolean"
NUMBER: Final = "number"
POSITIVE: Final = "number above 0"
INT32: Final = "whole number"
DURATION: Final = "duration"
LEVEL: Final = "level"
PARITY: Final = "none or 1.5"
STORE: Final = "memory, sqlite:PATH or ndjson:PATH"
TEXT: Final = "text"
PATTERNS: Final = "list of expressions"

# Where the name of a logger goes.
LOGGER_KEY: Final = "log.<logger>.level"


@message
class Setting:
    """One key. ``default``: as it would be written. ``reload``: whether a change takes effect.

    ``built``: whether this release acts on it, in the scheduler or in its adapter to Kubernetes.
    ``alias``: another spelling, read where the right one is missing. ``own``: each RM has its own
    value, others know nothing of it (RM-7).
    """

    key: str
    default: str
    kind: str
    readers: tuple[str, ...]
    reload: bool
    meaning: str
    rules: tuple[str, ...]
    built: bool = False
    alias: str = ""
    own: bool = False


def _core(
    key: str, default: str, kind: str, meaning: str, *rules: str, built: bool = True
) -> Setting:
    return Setting(key, default, kind, (CORE,), True, meaning, rules, built=built)


def _own(key: str, default: str, kind: str, meaning: str, *rules: str) -> Setting:
    return Setting(key, default, kind, (CORE,), True, meaning, rules, built=True, own=True)


def _shim(key: str, default: str, kind: str, meaning: str, *, built: bool = True) -> Setting:
    return Setting(key, default, kind, (SHIM,), False, meaning, ("KV-3",), built=built)


def _admission(
    key: str, default: str, kind: str, meaning: str, *, reload: bool = True, built: bool = True
) -> Setting:
    name = f"admissionController.{key}"
    return Setting(name, default, kind, (ADMISSION,), reload, meaning, (), built=built)


_BOTH: Final = (CORE, SHIM)

SETTINGS: Final = (
    _core("event.trackingEnabled", "true", BOOLEAN, "whether event records are made", "EVT-101"),
    Setting(
        "event.requestCapacity",
        "1000",
        POSITIVE,
        (CORE,),
        True,
        "records kept for each resource manager between two deliveries, and as many again of "
        "those for users; at most 1000000",
        ("EVT-102", "EVT-93"),
        built=True,
    ),
    Setting(
        "event.ringBufferCapacity",
        "100000",
        POSITIVE,
        (CORE,),
        True,
        "records kept for queries; at most 10000000",
        ("EVT-103", "EVT-106"),
        built=True,
        alias="event.ringbufferCapacity",
    ),
    _core("event.maxStreams", "100", NUMBER, "event streams at a time", "EVT-104"),
    _core("event.maxStreamsPerHost", "15", NUMBER, "the same, for each client host", "EVT-104"),
    _core("event.RESTResponseSize", "10000", POSITIVE, "records in one batch reply", "EVT-105"),
    Setting(
        "event.store",
        "memory",
        STORE,
        (CORE,),
        False,
        "where event records are kept; PATH is below the directory of `--event-dir`",
        ("EVT-132",),
        built=True,
    ),
    Setting(
        "event.storeMaxAge",
        "168h",
        DURATION,
        (CORE,),
        False,
        "how old records in files may get; 0: no limit but the size",
        ("EVT-132",),
        built=True,
    ),
    Setting(
        "event.storeMaxSize",
        "1073741824",
        POSITIVE,
        (CORE,),
        False,
        "bytes that such files may take; at least 1 MiB is used",
        ("EVT-132",),
        built=True,
    ),
    _own(
        "rm.pauseTimeout",
        "5m",
        DURATION,
        "how long a resource manager may be disconnected; 0: not at all, negative: for ever",
        "RM-18",
    ),
    _own(
        "rm.userEventsOnly",
        "false",
        BOOLEAN,
        "whether the resource manager gets only the events for users: those of requests, and "
        "that a node came or went",
        "EVT-93",
    ),
    _own("rm.outboundLimit", "100000", NUMBER, "messages kept for a disconnected one", "RM-15"),
    _own(
        "rm.confirmTimeout",
        "10m",
        DURATION,
        "time after which an unconfirmed release request is repeated; 0: never",
        "SI-69",
    ),
    _own(
        "application.enforceExecutionTimeout",
        "false",
        BOOLEAN,
        "whether the execution timeout of an application ends it",
        "APP-30",
    ),
    _own(
        "scheduler.reservationLimit",
        "60m",
        DURATION,
        "a reservation older than that ends when its ask does not fit its limits; 0: never",
        "RSV-10",
    ),
    _own(
        "scheduler.parity",
        "none",
        PARITY,
        "`1.5`: queues are ordered, and victims chosen, as that release did",
        "KV-5",
    ),
    Setting(
        "health.checkInterval",
        "30s",
        DURATION,
        (CORE,),
        True,
        "time between health checks; 0: none",
        ("HLT-2",),
        built=True,
    ),
    Setting("log.level", "INFO", LEVEL, _BOTH, True, "level of every logger", ("KV-2",), True),
    Setting(
        LOGGER_KEY, "", LEVEL, _BOTH, True, "level of one logger and all below it", ("KV-2",), True
    ),
    _shim("service.clusterId", "mycluster", TEXT, "ID of the resource manager"),
    _shim("service.policyGroup", "queues", TEXT, "names the entry with the queues, plus .yaml"),
    _shim(
        "service.schedulingInterval",
        "1s",
        DURATION,
        "time between two rounds of requests",
        built=False,
    ),
    _shim("service.volumeBindTimeout", "10m", DURATION, "how long volumes may take to bind"),
    _shim(
        "service.eventChannelCapacity",
        "1048576",
        INT32,
        "events waiting in the adapter",
        built=False,
    ),
    _shim(
        "service.dispatchTimeout",
        "5m",
        DURATION,
        "how long an event may wait there",
        built=False,
    ),
    _shim("service.disableGangScheduling", "false", BOOLEAN, "no placeholders"),
    Setting(
        "service.enableConfigHotRefresh",
        "true",
        BOOLEAN,
        (SHIM, ADMISSION),
        True,
        "whether changes are read; once off, only a restart turns it on",
        ("KV-3",),
        built=True,
    ),
    _shim("service.placeholderImage", "pause:3.7", TEXT, "image of placeholder pods"),
    Setting(
        "service.nodeInstanceTypeNodeLabelKey",
        "node.kubernetes.io/instance-type",
        TEXT,
        (SHIM,),
        False,
        "node label that tells the machine type",
        ("KV-3",),
        built=True,
        alias="service.instanceTypeNodeLabelKey",
    ),
    _shim("service.schedulerNames", "yunikorn", TEXT, "scheduler names of the pods it schedules"),
    _shim("service.workloads", "", TEXT, "kinds of workloads whose gangs are derived"),
    Setting("service.operatorPlugins", "general", TEXT, (NOBODY,), False, "deprecated", ("KV-1",)),
    _shim("kubernetes.qps", "1000", INT32, "requests a second to the cluster"),
    _shim("kubernetes.burst", "1000", INT32, "the same, for a moment"),
    _admission(
        "webHook.amServiceName",
        "yunikorn-admission-controller-service",
        TEXT,
        "service of the web hook",
        reload=False,
    ),
    _admission(
        "webHook.schedulerServiceAddress",
        "yunikorn-service:9080",
        TEXT,
        "where configurations are validated",
        reload=False,
        built=False,
    ),
    _admission("filtering.processNamespaces", "", PATTERNS, "namespaces to handle; all if empty"),
    _admission(
        "filtering.bypassNamespaces", "^kube-system$", PATTERNS, "namespaces to leave alone"
    ),
    _admission("filtering.labelNamespaces", "", PATTERNS, "namespaces whose pods are labelled"),
    _admission("filtering.noLabelNamespaces", "", PATTERNS, "namespaces whose pods are not"),
    Setting(
        "admissionController.filtering.generateUniqueAppId",
        "false",
        BOOLEAN,
        (SHIM, ADMISSION),
        True,
        "one application per pod without an ID; the shim reads it at its start only",
        (),
        built=True,
    ),
    _admission("filtering.defaultQueue", "root.default", TEXT, "queue of pods without one"),
    _admission("accessControl.bypassAuth", "false", BOOLEAN, "no check of users"),
    _admission("accessControl.trustControllers", "true", BOOLEAN, "controllers may set users"),
    _admission(
        "accessControl.systemUsers",
        "^system:serviceaccount:kube-system:",
        PATTERNS,
        "users that are trusted",
    ),
    _admission("accessControl.externalUsers", "", PATTERNS, "users that may set others"),
    _admission("accessControl.externalGroups", "", PATTERNS, "groups that may"),
)

BY_KEY: Final = {setting.key: setting for setting in SETTINGS}

_BY_SPELLING: Final = {
    **BY_KEY,
    **{setting.alias: setting for setting in SETTINGS if setting.alias},
}
_LOGGER_PREFIX, _LOGGER_SUFFIX = LOGGER_KEY.split("<logger>")


def is_process_wide(key: str) -> bool:
    """Whether a key of an extra map concerns the whole process, not only the RM that sets it.

    Rules: KV-6, RM-7.
    """
    if key.startswith(_LOGGER_PREFIX) and key.endswith(_LOGGER_SUFFIX):
        return True
    setting = _BY_SPELLING.get(key)
    return setting is not None and CORE in setting.readers and not setting.own
