"""Judging drafts: the checks of chapter 10, section 6, and the records they end in.

All faults are noted, in the order of section 6.8, and checking goes on with what is left, so
one mistake is not reported as several. Amounts are checked in ``quotas``.
"""

from __future__ import annotations

import math
import re
from typing import Final

from remuda.config.bind import NodeSortDraft, PartitionDraft, QueueDraft, RuleDraft
from remuda.config.findings import Findings
from remuda.config.quotas import QuotaCheck
from remuda.config.schema import (
    NODE_SORT_BINPACKING,
    NODE_SORT_FAIR,
    QUEUE_NAME,
    PartitionConfig,
    PlacementRuleConfig,
)
from remuda.config.tree import Node

_RULE_NAME: Final = re.compile(r"[_a-zA-Z][a-zA-Z0-9_]*")

_RULES_BUILT: Final = ("provided", "tag")
_RULES_LATER: Final = ("fixed", "test", "user")

_NODE_SORT_POLICIES: Final = (NODE_SORT_FAIR, NODE_SORT_BINPACKING)


def check_partitions(
    drafts: tuple[PartitionDraft, ...], findings: Findings
) -> tuple[PartitionConfig, ...]:
    """Return the partitions that the drafts describe, noting what is wrong with them.

    The result is only meaningful if nothing was noted. Rules: CFG-40 to CFG-46, CFG-61, CFG-62,
    CFG-70 to CFG-74, CFG-80, CFG-90, CFG-91, PLC-11, PLC-12, PLC-14.
    """
    seen: dict[str, int] = {}
    return tuple(_partition(draft, seen, findings) for draft in drafts)


def _partition(draft: PartitionDraft, seen: dict[str, int], findings: Findings) -> PartitionConfig:
    name = _partition_name(draft, seen, findings)
    root = _root(draft, name, findings)
    _check_children(root, 1, findings)
    root_config = QuotaCheck(findings).tree(root)
    rules = _rules(draft.rules, findings)
    _check_node_sort(draft.node_sort, findings)
    policy = draft.node_sort.policy
    return PartitionConfig(
        name=name,
        root=root_config,
        placement_rules=rules or (PlacementRuleConfig("provided"),),
        node_sort_policy=(policy.text if policy else "") or NODE_SORT_FAIR,
        node_sort_weights={
            resource: 0.0 if math.isnan(weight) else weight
            for resource, (weight, _) in draft.node_sort.weights.items()
        },
    )


# ------------------------------------------------------------------------ partitions and queues


def _partition_name(draft: PartitionDraft, seen: dict[str, int], findings: Findings) -> str:
    """Normalise the name and see that it is unique. Rules: CFG-40."""
    name = "default" if draft.name.lower() in ("", "default") else draft.name
    if name.lower() in seen:
        line = seen[name.lower()]
        text = f"duplicate partition name {name}, first used at line {line}"
        findings.add(draft.node, f"{draft.path}.name", "CFG-40", text, "rename one of them")
    seen.setdefault(name.lower(), draft.node.line)
    return name


def _root(draft: PartitionDraft, partition: str, findings: Findings) -> QueueDraft:
    """Return the root queue, put on top where the file has none.

    Rules: CFG-41 to CFG-45 (its name in any case, D-C2).
    """
    path = f"{draft.path}.queues"
    if draft.queues_node is None:
        text = f"queue config for partition {partition} is not set"
        findings.add(draft.node, path, "CFG-41", text, "add queues, [] for a root queue only")
    if len(draft.queues) == 1 and draft.queues[0].name.lower() == "root":
        root = draft.queues[0]
        _check_root_resources(root, partition, findings)
    else:
        root = _bare_root(draft.queues_node or draft.node, path, draft.queues)
    return QueueDraft(
        name="root",
        node=root.node,
        path=root.path,
        parent=True,
        maximum=None,
        guaranteed=None,
        properties=root.properties,
        queues=root.queues,
    )


def _bare_root(node: Node, path: str, queues: tuple[QueueDraft, ...]) -> QueueDraft:
    return QueueDraft("root", node, path, True, None, None, {}, queues)


def _check_root_resources(root: QueueDraft, partition: str, findings: Findings) -> None:
    """See that root has no amounts of its own, not even an empty map. Rules: CFG-44."""
    for given in (root.guaranteed, root.maximum):
        if given is not None:
            text = f"root queue of partition {partition} must not have resource limits"
            hint = "its size is that of the registered nodes"
            findings.add(given.node, given.path, "CFG-44", text, hint)


def _check_children(queue: QueueDraft, level: int, findings: Findings) -> None:
    """See that child names are legal and unique, the whole tree down. Rules: CFG-61, CFG-62."""
    seen: dict[str, int] = {}
    for child in queue.queues:
        path = f"{child.path}.name"
        if not QUEUE_NAME.fullmatch(child.name):
            text = f"invalid child name {child.name!r} at level {level}"
            hint = "use 1 to 64 letters, digits, - and _"
            findings.add(child.node, path, "CFG-61", text, hint)
        elif child.name.lower() in seen:
            line = seen[child.name.lower()]
            text = f"duplicate child name {child.name!r} at level {level}, first at line {line}"
            findings.add(child.node, path, "CFG-62", text, "names differ by more than case")
        else:
            seen[child.name.lower()] = child.node.line
    for child in queue.queues:
        _check_children(child, level + 1, findings)


# ------------------------------------------------------------------------------ placement rules


def _rules(drafts: tuple[RuleDraft, ...], findings: Findings) -> tuple[PlacementRuleConfig, ...]:
    for number, draft in enumerate(drafts):
        _check_rule(draft, number, findings)
    return tuple(
        PlacementRuleConfig(draft.name.lower(), draft.create, draft.value) for draft in drafts
    )


def _check_rule(draft: RuleDraft, number: int, findings: Findings) -> None:
    """See that a rule is one that can be built. Rules: CFG-80, PLC-12, PLC-14, D-C9."""
    path = f"{draft.path}.name"
    shown = draft.name[:64]
    name = draft.name.lower()
    built = f"the rules are {', '.join(_RULES_BUILT)}"
    if not _RULE_NAME.fullmatch(draft.name):
        text = f"invalid rule name {shown!r} of placement rule no. #{number}"
        findings.add(draft.node, path, "CFG-80", text, built)
    elif name in _RULES_LATER:
        text = f"placement rule {name} is not built yet, remove it"
        findings.add(draft.node, path, "PLC-12", text, built)
    elif name not in _RULES_BUILT:
        text = f"unknown rule name specified {shown} of placement rule no. #{number}"
        findings.add(draft.node, path, "PLC-12", text, built)
    elif name == "tag" and not draft.value:
        text = f"a tag queue rule must have a tag name set, placement rule no. #{number} has none"
        findings.add(draft.node, draft.path, "PLC-14", text, "add value: and the tag's name")


# --------------------------------------------------------------------------------- node sorting


def _check_node_sort(draft: NodeSortDraft, findings: Findings) -> None:
    """See that policy and weights mean something. Rules: CFG-90, CFG-91."""
    policy = draft.policy
    if policy is not None and policy.text not in ("", *_NODE_SORT_POLICIES):
        text = f"undefined policy: {policy.text[:64]}"
        hint = f"write {' or '.join(_NODE_SORT_POLICIES)}"
        findings.add(policy.node, policy.path, "CFG-90", text, hint)
    for name, (weight, at) in draft.weights.items():
        if weight < 0:
            text = f"negative resource weight for {name[:64]}: {at.text[:64]}"
            findings.add(at.node, at.path, "CFG-91", text, "write 0 or more")
        elif math.isinf(weight):
            text = f"infinite resource weight for {name[:64]}: {at.text[:64]}"
            findings.add(at.node, at.path, "CFG-91", text, "write a finite number")
