"""The configuration in force as a document: YAML with the file's own keys, or JSON (REST-57 to 60).

What is shown is the normalised text, not the records: amounts, names and lists as somebody wrote
them. The JSON has the names that Go programs expect (REST-58). Neither can be loaded again,
because of what is added at the end; the raw text can (REST-59).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Final, TypeAlias

import msgspec
import yaml

from remuda.config.document import document
from remuda.config.settings import ProcessSwitches
from remuda.core.messages.queries import ConfigurationView
from remuda.edges.rest import dao

YAML_TYPE: Final = "application/x-yaml; charset=UTF-8"

# One mapping of a configuration document, keys as in the file.
Section: TypeAlias = Mapping[str, object]

# The C emitter is ten times faster; it is there wherever the C parser is.
_DUMPER: Final = getattr(yaml, "CSafeDumper", yaml.SafeDumper)

# Texts that are kept parsed: those of a few RMs, and the one before.
_DOCUMENTS: Final = 4


class _GoShape(msgspec.Struct, omit_defaults=True, rename="pascal"):
    """Base of the shapes of this module: keys are Go's field names."""


class Resources(_GoShape, kw_only=True):
    """Amounts of a queue or template, as they were written."""

    guaranteed: dict[str, str] = msgspec.field(default_factory=dict)
    max: dict[str, str] = msgspec.field(default_factory=dict)


class ChildTemplate(_GoShape, kw_only=True):
    """What dynamic leaves take over."""

    max_applications: int = 0
    properties: dict[str, str] = msgspec.field(default_factory=dict)
    resources: Resources


class Limit(_GoShape, kw_only=True):
    """One limit of users and groups."""

    limit: str
    users: list[str] = msgspec.field(default_factory=list)
    groups: list[str] = msgspec.field(default_factory=list)
    max_resources: dict[str, str] = msgspec.field(default_factory=dict)
    max_applications: int = 0


class Filter(_GoShape, kw_only=True):
    """Whom a placement rule is for."""

    type: str
    users: list[str] = msgspec.field(default_factory=list)
    groups: list[str] = msgspec.field(default_factory=list)


class Rule(_GoShape, kw_only=True):
    """One placement rule."""

    name: str
    create: bool = False
    filter: Filter
    parent: Rule | None = None
    value: str = ""


class Queue(_GoShape, kw_only=True):
    """One configured queue with those below it."""

    name: str
    parent: bool = False
    resources: Resources
    max_applications: int = 0
    properties: dict[str, str] = msgspec.field(default_factory=dict)
    admin_acl: str = msgspec.field(default="", name="AdminACL")
    submit_acl: str = msgspec.field(default="", name="SubmitACL")
    child_template: ChildTemplate
    queues: list[Queue] = msgspec.field(default_factory=list)
    limits: list[Limit] = msgspec.field(default_factory=list)


class Preemption(_GoShape, kw_only=True):
    """The switches of preemption; what was not given is left out."""

    enabled: bool | None = None
    quota_preemption_enabled: bool | None = None


class NodeSortPolicy(_GoShape, kw_only=True):
    """The order of nodes."""

    type: str
    resource_weights: dict[str, int | float] = msgspec.field(default_factory=dict)


class Resolver(_GoShape, kw_only=True):
    """What looks up the groups of users."""

    type: str


class Partition(_GoShape, kw_only=True):
    """One configured partition; ``queues`` may be null."""

    name: str
    queues: list[Queue] | None
    placement_rules: list[Rule] = msgspec.field(default_factory=list)
    limits: list[Limit] = msgspec.field(default_factory=list)
    preemption: Preemption
    node_sort_policy: NodeSortPolicy
    user_group_resolver: Resolver | None = None


class Config(_GoShape, kw_only=True):
    """The whole answer; only the last two keys exist before the first configuration (REST-60)."""

    partitions: list[Partition] = msgspec.field(default_factory=list)
    checksum: str = ""
    extra: dict[str, str] = msgspec.field(default_factory=dict)
    deadlock_detection_enabled: bool
    deadlock_timeout_seconds: int


def as_yaml(view: ConfigurationView | None, switches: ProcessSwitches) -> bytes:
    """Return the configuration as YAML; None: there is none yet (REST-59, REST-60)."""
    shown: dict[str, object] = {}
    if view is not None:
        shown.update(_document(view))
        if view.checksum:
            shown["checksum"] = view.checksum
        if view.extra_config:
            shown["extra"] = dict(sorted(view.extra_config.items()))
    shown["deadlockdetectionenabled"] = switches.deadlock_detection
    shown["deadlocktimeoutseconds"] = switches.deadlock_timeout_s
    text: str = yaml.dump(
        shown,
        Dumper=_DUMPER,
        indent=4,
        sort_keys=False,
        default_flow_style=False,
        allow_unicode=True,
        width=1_000_000,
    )
    return text.encode()


def as_json(view: ConfigurationView | None, switches: ProcessSwitches) -> bytes:
    """Return the configuration as JSON; None: there is none yet (REST-58, REST-60)."""
    found = {} if view is None else _document(view)
    return dao.encode(
        Config(
            partitions=[_partition(each) for each in _sections(found, "partitions")],
            checksum="" if view is None else view.checksum,
            extra={} if view is None else dict(view.extra_config),
            deadlock_detection_enabled=switches.deadlock_detection,
            deadlock_timeout_seconds=switches.deadlock_timeout_s,
        )
    )


def _document(view: ConfigurationView) -> Section:
    """Return the normalised document; empty for a configuration that was built by hand."""
    return _parsed(view.text) if view.text else {}


@lru_cache(_DOCUMENTS)
def _parsed(text: str) -> Section:
    return document(text)


# ---------------------------------------------------------------------------- from keys to shapes


def _partition(found: Section) -> Partition:
    order = _section(found, "nodesortpolicy")
    preemption = _section(found, "preemption")
    resolver = _section(found, "usergroupresolver")
    return Partition(
        name=_text(found, "name"),
        queues=[_queue(each) for each in _sections(found, "queues")] if "queues" in found else None,
        placement_rules=[_rule(each) for each in _sections(found, "placementrules")],
        limits=[_limit(each) for each in _sections(found, "limits")],
        preemption=Preemption(
            enabled=_flag(preemption, "enabled"),
            quota_preemption_enabled=_flag(preemption, "quotapreemptionenabled"),
        ),
        node_sort_policy=NodeSortPolicy(
            type=_text(order, "type"),
            resource_weights={
                name: dao.short(weight)
                for name, weight in _section(order, "resourceweights").items()
                if isinstance(weight, float)
            },
        ),
        user_group_resolver=Resolver(type=_text(resolver, "type")) if resolver else None,
    )


def _queue(found: Section) -> Queue:
    template = _section(found, "childtemplate")
    return Queue(
        name=_text(found, "name"),
        parent=bool(found.get("parent")),
        resources=_resources(found),
        max_applications=_count(found, "maxapplications"),
        properties=_texts_by_name(found, "properties"),
        admin_acl=_text(found, "adminacl"),
        submit_acl=_text(found, "submitacl"),
        child_template=ChildTemplate(
            max_applications=_count(template, "maxapplications"),
            properties=_texts_by_name(template, "properties"),
            resources=_resources(template),
        ),
        queues=[_queue(each) for each in _sections(found, "queues")],
        limits=[_limit(each) for each in _sections(found, "limits")],
    )


def _resources(found: Section) -> Resources:
    inner = _section(found, "resources")
    return Resources(
        guaranteed=_texts_by_name(inner, "guaranteed"), max=_texts_by_name(inner, "max")
    )


def _limit(found: Section) -> Limit:
    return Limit(
        limit=_text(found, "limit"),
        users=_texts(found, "users"),
        groups=_texts(found, "groups"),
        max_resources=_texts_by_name(found, "maxresources"),
        max_applications=_count(found, "maxapplications"),
    )


def _rule(found: Section) -> Rule:
    whom = _section(found, "filter")
    parent = _section(found, "parent")
    return Rule(
        name=_text(found, "name"),
        create=bool(found.get("create")),
        filter=Filter(
            type=_text(whom, "type"), users=_texts(whom, "users"), groups=_texts(whom, "groups")
        ),
        parent=_rule(parent) if parent else None,
        value=_text(found, "value"),
    )


# ---------------------------------------------------------------------- values of a known kind


def _section(found: Section, key: str) -> Section:
    value = found.get(key)
    return value if isinstance(value, Mapping) else {}


def _sections(found: Section, key: str) -> list[Section]:
    value = found.get(key)
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []


def _text(found: Section, key: str) -> str:
    value = found.get(key)
    return value if isinstance(value, str) else ""


def _texts(found: Section, key: str) -> list[str]:
    value = found.get(key)
    return [str(each) for each in value] if isinstance(value, list) else []


def _texts_by_name(found: Section, key: str) -> dict[str, str]:
    return {name: str(value) for name, value in _section(found, key).items()}


def _count(found: Section, key: str) -> int:
    value = found.get(key)
    return value if isinstance(value, int) else 0


def _flag(found: Section, key: str) -> bool | None:
    value = found.get(key)
    return value if isinstance(value, bool) else None
