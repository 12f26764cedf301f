"""The configuration of a resource manager as a report has it: as a queue file, without comments.

It is built from what the scheduler understood, so every name in it can be replaced, and the result
is a queue file again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from remuda.base.amount_text import quantity_text
from remuda.config.queue_properties import QUEUE_PROPERTIES
from remuda.config.schema import (
    RULE_FIXED,
    RULE_RECOVERY,
    RULE_TAG,
    RULES,
    WILDCARD,
    AccessList,
    FilterConfig,
    LimitConfig,
    NameFilter,
    PartitionConfig,
    PlacementRuleConfig,
    QueueConfig,
)
from remuda.runtime.reports import names as kinds
from remuda.runtime.reports.names import Names, is_number

# A tag that the shim for Kubernetes and the built-in configuration use.
_KNOWN_TAGS: Final = ("namespace",)

_CHOICES: Final = {
    name: one.choices for one in QUEUE_PROPERTIES for name in (one.name, one.alias) if name
}


def partition_outline(names: Names, config: PartitionConfig) -> dict[str, Any]:
    """Return a partition as a queue file has it, with the names of the report."""
    found: dict[str, Any] = {
        "name": names.of(kinds.PARTITION, config.name),
        "placementrules": [_rule(names, each) for each in config.placement_rules],
        "nodesortpolicy": _node_order(names, config),
        "preemption": {
            "enabled": config.preemption,
            "quotapreemptionenabled": config.quota_preemption,
        },
    }
    if config.user_group_resolver:
        found["usergroupresolver"] = {"type": config.user_group_resolver}
    found["queues"] = [_queue(names, config.root)]
    return found


def _node_order(names: Names, config: PartitionConfig) -> dict[str, Any]:
    found: dict[str, Any] = {"type": config.node_sort_policy}
    if config.node_sort_weights:
        weights = sorted(config.node_sort_weights.items())
        found["resourceweights"] = {names.of(kinds.RESOURCE, kind): each for kind, each in weights}
    return found


def _queue(names: Names, config: QueueConfig) -> dict[str, Any]:
    found: dict[str, Any] = {"name": names.of(kinds.QUEUE, config.name)}
    if config.parent and not config.queues:
        found["parent"] = True
    resources = _resources(names, config.guaranteed, config.maximum)
    if resources:
        found["resources"] = resources
    if config.max_applications:
        found["maxapplications"] = config.max_applications
    if config.properties:
        found["properties"] = properties(names, config.properties)
    for key, access in (("adminacl", config.admin_acl), ("submitacl", config.submit_acl)):
        text = _access(names, access)
        if text:
            found[key] = text
    if config.template is not None:
        template = config.template
        found["childtemplate"] = {
            "maxapplications": template.max_applications,
            "properties": properties(names, template.properties),
            "resources": _resources(names, template.guaranteed, template.maximum),
        }
    if config.limits:
        found["limits"] = [_limit(names, each) for each in config.limits]
    if config.queues:
        found["queues"] = [_queue(names, each) for each in config.queues]
    return found


def _resources(
    names: Names, guaranteed: Mapping[str, int] | None, maximum: Mapping[str, int] | None
) -> dict[str, Any]:
    pairs = (("guaranteed", guaranteed), ("max", maximum))
    return {key: _quantities(names, each) for key, each in pairs if each is not None}


def _quantities(names: Names, resource: Mapping[str, int]) -> dict[str, str]:
    return {
        names.of(kinds.RESOURCE, kind): quantity_text(kind, amount)
        for kind, amount in sorted(resource.items())
    }


def properties(names: Names, found: Mapping[str, str]) -> dict[str, str]:
    """Return the properties of a queue; texts that are no known values count as names."""
    shown: dict[str, str] = {}
    for name, value in sorted(found.items()):
        choices = _CHOICES.get(name)
        if choices is None:
            shown[names.of(kinds.PROPERTY, name)] = names.of(kinds.VALUE, value)
        else:
            known = value.lower() in choices or is_number(value)
            shown[name] = value if known else names.of(kinds.VALUE, value)
    return shown


def _access(names: Names, access: AccessList) -> str:
    if access.everybody:
        return WILDCARD
    users = ",".join([names.of(kinds.USER, each) for each in access.users])
    groups = ",".join([names.of(kinds.GROUP, each) for each in access.groups])
    return f"{users} {groups}" if groups else users


def _limit(names: Names, limit: LimitConfig) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if limit.description and not names.hidden:
        found["limit"] = limit.description
    if limit.users:
        found["users"] = [names.of(kinds.USER, each) for each in limit.users]
    if limit.groups:
        found["groups"] = [names.of(kinds.GROUP, each) for each in limit.groups]
    if limit.maximum is not None:
        found["maxresources"] = _quantities(names, limit.maximum)
    if limit.max_applications:
        found["maxapplications"] = limit.max_applications
    return found


def _rule(names: Names, rule: PlacementRuleConfig) -> dict[str, Any]:
    known = rule.name in (*RULES, RULE_RECOVERY)
    found: dict[str, Any] = {"name": rule.name if known else names.of(kinds.OBJECT, rule.name)}
    if rule.create:
        found["create"] = True
    if rule.value:
        found["value"] = _rule_value(names, rule)
    if rule.filter is not None:
        found["filter"] = _filter(names, rule.filter)
    if rule.parent is not None:
        found["parent"] = _rule(names, rule.parent)
    return found


def _rule_value(names: Names, rule: PlacementRuleConfig) -> str:
    if rule.name == RULE_FIXED:
        return names.of(kinds.QUEUE, rule.value)
    if rule.name == RULE_TAG and rule.value in _KNOWN_TAGS:
        return rule.value
    return names.of(kinds.TAG, rule.value)


def _filter(names: Names, config: FilterConfig) -> dict[str, Any]:
    found: dict[str, Any] = {"type": "deny" if config.deny else "allow"}
    if config.users is not None:
        found["users"] = _matched(names, kinds.USER, config.users)
    if config.groups is not None:
        found["groups"] = _matched(names, kinds.GROUP, config.groups)
    return found


def _matched(names: Names, kind: str, matched: NameFilter) -> Sequence[str]:
    if matched.pattern:
        return [names.of(kinds.PATTERN, matched.pattern)]
    return [names.of(kind, each) for each in matched.names]
