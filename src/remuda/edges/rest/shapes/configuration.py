"""The configuration in force as a document: YAML or JSON (chapter 95 section 5).

The document shows the normalised text, not the records: amounts, names and lists as somebody wrote
them. The JSON has the names that Go programs expect (REST-58). Neither can be loaded again,
because of what is added at the end; the raw text can (REST-59).
Implements: REST-57.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from types import NoneType
from typing import Any, Final, TypeAlias, TypeVar, get_args, get_origin

import msgspec
import yaml

from remuda.config.document import document
from remuda.config.settings import ProcessSwitches
from remuda.core.messages.queries import ConfigurationView
from remuda.edges.rest.shapes import dao

YAML_TYPE: Final = "application/x-yaml; charset=UTF-8"

# One mapping of a configuration document, keys as in the file.
Section: TypeAlias = Mapping[str, object]

# The C emitter is ten times faster; it is there wherever the C parser is.
_DUMPER: Final = getattr(yaml, "CSafeDumper", yaml.SafeDumper)

# Texts that are kept parsed: those of a few RMs, and the one before.
_DOCUMENTS: Final = 4


S = TypeVar("S", bound="_GoShape")


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
    """The users and groups that a placement rule is for."""

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
    """The whole answer; only the last two keys exist before the first configuration.

    Implements: REST-60.
    """

    partitions: list[Partition] = msgspec.field(default_factory=list)
    checksum: str = ""
    extra: dict[str, str] = msgspec.field(default_factory=dict)
    deadlock_detection_enabled: bool
    deadlock_timeout_seconds: int


def as_yaml(view: ConfigurationView | None, switches: ProcessSwitches) -> bytes:
    """Return the configuration as YAML; None: there is none yet (REST-60). Implements: REST-59."""
    text: str = yaml.dump(
        _shown(view, switches),
        Dumper=_DUMPER,
        indent=4,
        sort_keys=False,
        default_flow_style=False,
        allow_unicode=True,
        width=1_000_000,
    )
    return text.encode()


def as_json(view: ConfigurationView | None, switches: ProcessSwitches) -> bytes:
    """Return the configuration as JSON; None: there is none yet (REST-60). Implements: REST-58."""
    return dao.encode(_shaped(Config, _shown(view, switches)))


def _shown(view: ConfigurationView | None, switches: ProcessSwitches) -> dict[str, object]:
    """Return the document, with keys as in the file; a configuration built by hand has no text."""
    shown: dict[str, object] = {}
    if view is not None:
        shown.update(_parsed(view.text) if view.text else {})
        if view.checksum:
            shown["checksum"] = view.checksum
        if view.extra_config:
            shown["extra"] = dict(sorted(view.extra_config.items()))
    shown["deadlockdetectionenabled"] = switches.deadlock_detection
    shown["deadlocktimeoutseconds"] = switches.deadlock_timeout_s
    return shown


@lru_cache(_DOCUMENTS)
def _parsed(text: str) -> Section:
    return document(text)


# ---------------------------------------------------------------------------- from keys to shapes


def _shaped(kind: type[S], found: Section) -> S:
    """Return a section of the document as its shape, whose fields are named like the keys.

    Required fields are empty if the text does not have them.
    """
    values: dict[str, object] = {}
    for each in msgspec.structs.fields(kind):
        key = each.name.replace("_", "")
        if key in found or each.required:
            values[each.name] = _value(each.type, found.get(key))
    return kind(**values)


def _value(kind: Any, value: Any) -> object:
    """Return a value, or None for one that is not given, as what a field of this type holds."""
    inner = get_args(kind)
    if NoneType in inner:
        return None if value is None else _value(inner[0], value)
    if get_origin(kind) is list:
        return [_value(inner[0], each) for each in value]
    if get_origin(kind) is dict:
        numbers = {name: dao.short(each) for name, each in value.items() if isinstance(each, float)}
        return {**value, **numbers}
    if issubclass(kind, _GoShape):
        return _shaped(kind, value or {})
    return "" if value is None else value
