"""Checks drafts of partitions and queues (chapter 10, section 6), and makes records of them.

All faults are noted, in the order of section 6.8, and checking goes on with what is left, so
one mistake is not reported as several. The larger checks have modules of their own: limits,
limit_levels, queue_amounts and rules.
"""

from __future__ import annotations

import math
from typing import Final

from remuda.config.access import NOBODY, access_list
from remuda.config.amounts import AmountReader
from remuda.config.candidate import QueueCandidate
from remuda.config.drafts import LimitDraft, NodeSortDraft, PartitionDraft, QueueDraft, TextAt
from remuda.config.findings import Findings, cut
from remuda.config.limit_levels import check_limit_levels
from remuda.config.limits import LimitCheck
from remuda.config.queue_amounts import QueueAmountsCheck
from remuda.config.rules import RuleCheck
from remuda.config.schema import (
    DEFAULT_PARTITION,
    NODE_SORT_FAIR,
    NODE_SORTS,
    QUEUE_DEPTH_LIMIT,
    QUEUE_NAME,
    RECOVERY_QUEUE,
    RESOLVER_DEFAULT,
    RESOLVERS,
    ROOT,
    RULE_PROVIDED,
    PartitionConfig,
    PlacementRuleConfig,
)

_PARTITION_NAME_LIMIT: Final = 256
_APPLICATIONS: Final = "maxapplications"

# A partition has up to 256 weights, and their sum must be finite.
_WEIGHT_LIMIT: Final = 1e100


def check_partitions(
    drafts: tuple[PartitionDraft, ...], findings: Findings
) -> tuple[PartitionConfig, ...]:
    """Return the partitions that the drafts describe, noting what is wrong with them.

    The result is only meaningful if nothing was noted. Implements: PLC-11. Rules: chapter 10
    section 6.
    """
    names: dict[str, int] = {}
    patterns: dict[str, str] = {}
    return tuple(_partition(draft, names, patterns, findings) for draft in drafts)


def _partition(
    draft: PartitionDraft, names: dict[str, int], patterns: dict[str, str], findings: Findings
) -> PartitionConfig:
    """Check one partition in the order of section 6.8."""
    name = _partition_name(draft, names, findings)
    amounts = AmountReader()
    root = QueueCandidate(_root(draft, name, findings), None, amounts)
    _check_partition_limits(draft.limits, root, name, findings)
    _check_queue(root, LimitCheck(amounts, findings), findings)
    QueueAmountsCheck(amounts, findings).check(root)
    rules = RuleCheck(root, findings, patterns).check(draft.rules)
    _check_node_sort(draft.node_sort, findings)
    _check_applications(root, findings)
    check_limit_levels(root, findings)
    _warn_of_closed_queues(root, findings)
    policy = draft.node_sort.policy
    return PartitionConfig(
        name=name,
        root=root.record(),
        placement_rules=rules or (PlacementRuleConfig(RULE_PROVIDED),),
        node_sort_policy=(policy.text if policy else "") or NODE_SORT_FAIR,
        node_sort_weights={
            resource: 0.0 if math.isnan(weight) else weight
            for resource, (weight, _) in draft.node_sort.weights.items()
        },
        preemption=draft.preemption,
        quota_preemption=draft.quota_preemption,
        user_group_resolver=_resolver(draft.resolver, findings),
    )


# ----------------------------------------------------------------------------------- partitions


def partition_name(written: str) -> str:
    """Return the name of a partition; none, and ``default`` in any case, is one name.

    Rules: CFG-40.
    """
    return DEFAULT_PARTITION if written.lower() in ("", DEFAULT_PARTITION) else written


def _partition_name(draft: PartitionDraft, seen: dict[str, int], findings: Findings) -> str:
    """Normalise the name, see that it is unique and can be told apart.

    Implements: CFG-40, PAR-1 (D-C9).
    """
    name = partition_name(draft.name)
    path = f"{draft.path}.name"
    if not draft.name and findings.unread(draft.path, "name"):
        return name
    if name.startswith("[") or not name.isprintable() or len(name) > _PARTITION_NAME_LIMIT:
        text = f"invalid partition name {cut(name)!r}"
        hint = f"write up to {_PARTITION_NAME_LIMIT} printable characters, the first not ["
        findings.add(draft.node, path, "PAR-1", text, hint)
    if name.lower() in seen:
        line = seen[name.lower()]
        text = f"duplicate partition name {cut(name)}, first used at line {line}"
        findings.add(draft.node, path, "CFG-40", text, "rename one of them")
    seen.setdefault(name.lower(), draft.node.line)
    return name


def _root(draft: PartitionDraft, partition: str, findings: Findings) -> QueueDraft:
    """Return the root queue, put on top where the file has none.

    Implements: CFG-41, CFG-42, CFG-43, CFG-45 (its name in any case, D-C2). Rules: CFG-44.
    """
    path = f"{draft.path}.queues"
    if draft.queues_node is None and not findings.unread(draft.path, "queues"):
        text = f"queue config for partition {cut(partition)} is not set"
        findings.add(draft.node, path, "CFG-41", text, "add queues, [] for a root queue only")
    if len(draft.queues) == 1 and draft.queues[0].name.lower() == ROOT:
        given = draft.queues[0]
        _check_root_resources(given, partition, findings)
        return QueueDraft(
            name=ROOT,
            node=given.node,
            path=given.path,
            parent=True,
            properties=given.properties,
            queues=given.queues,
            max_applications=given.max_applications,
            admin_acl=given.admin_acl,
            submit_acl=given.submit_acl,
            template=given.template,
            limits=given.limits,
        )
    for queue in draft.queues:
        if queue.name.lower() == ROOT:
            text = f"queue {queue.name} is not the only one at the top and becomes root.root"
            hint = "put the others below it, or rename it"
            findings.warn(queue.node, f"{queue.path}.name", "CFG-43", text, hint)
    node = draft.queues_node or draft.node
    return QueueDraft(name=ROOT, node=node, path=path, parent=True, queues=draft.queues)


def _check_root_resources(root: QueueDraft, partition: str, findings: Findings) -> None:
    """See that root has no amounts of its own, not even an empty map. Implements: CFG-44."""
    for given in (root.guaranteed, root.maximum):
        if given is not None:
            text = f"root queue of partition {cut(partition)} must not have resource limits"
            hint = "its size is that of the registered nodes"
            findings.add(given.node, given.path, "CFG-44", text, hint)


def _check_partition_limits(
    limits: tuple[LimitDraft, ...], root: QueueCandidate, partition: str, findings: Findings
) -> None:
    """Give the limits of the partition to root. Implements: CFG-47, LIM-6."""
    if limits and not root.limit_drafts:
        root.limit_drafts = limits
    elif limits and [_content(one) for one in limits] != [
        _content(one) for one in root.limit_drafts
    ]:
        text = f"limits of partition {cut(partition)} and of its root queue are not equivalent"
        findings.add(limits[0].node, limits[0].path, "CFG-47", text, "give one of them only")


def _content(limit: LimitDraft) -> tuple[object, ...]:
    """Return the parts of a limit that are compared with those of another one."""
    amounts = limit.maximum.texts.items() if limit.maximum is not None else ()
    return (
        limit.description,
        [name for name, _ in limit.users.names],
        [name for name, _ in limit.groups.names],
        {name: text for name, (text, _) in amounts},
        limit.max_applications,
    )


def _resolver(given: TextAt | None, findings: Findings) -> str:
    """Return the group resolver; an unknown text means the default one. Rules: UGR-20."""
    if given is None or not given.text or given.text in RESOLVERS:
        return given.text if given is not None else RESOLVER_DEFAULT
    text = f"unknown user group resolver {cut(given.text)!r}: the default one is used"
    findings.warn(given.node, given.path, "UGR-20", text, f"write {', '.join(RESOLVERS)}")
    return RESOLVER_DEFAULT


# --------------------------------------------------------------------------------------- queues


def _check_queue(queue: QueueCandidate, limits: LimitCheck, findings: Findings) -> None:
    """Check access lists, limits and the names of the children, then the children.

    Rules: chapter 10 section 6.2.
    """
    if queue.draft.admin_acl is not None:
        queue.admin = access_list(queue.draft.admin_acl, queue.title, findings)
    if queue.draft.submit_acl is not None:
        queue.submit = access_list(queue.draft.submit_acl, queue.title, findings)
    if queue.limit_drafts:
        queue.limits = limits.check(queue)
    _check_names(queue, findings)
    for child in queue.children:
        _check_queue(child, limits, findings)


def _check_names(queue: QueueCandidate, findings: Findings) -> None:
    """See that child names are legal and unique. Implements: CFG-61, CFG-62."""
    if queue.children and queue.level + 1 == QUEUE_DEPTH_LIMIT:
        first = queue.children[0]
        text = f"more than {QUEUE_DEPTH_LIMIT} levels of queues, root included: {first.path}"
        findings.add(first.draft.node, first.draft.path, "CFG-5", text, "put it further up")
    seen: dict[str, int] = {}
    for child in queue.children:
        draft = child.draft
        where = f"at level {child.level}"
        if not draft.name and findings.unread(draft.path, "name"):
            continue
        if not QUEUE_NAME.fullmatch(draft.name):
            text = f"invalid child name {draft.name!r} {where}"
            hint = "use 1 to 64 letters, digits and _ : # / @ -"
        elif child.level == 1 and child.path == RECOVERY_QUEUE:
            text = f"invalid child name {draft.name!r} {where}, it is the recovery queue's"
            hint = "rename it"
        elif child.name in seen:
            line = seen[child.name]
            text = f"duplicate child name {draft.name!r} {where}, first at line {line}"
            path = f"{draft.path}.name"
            findings.add(draft.node, path, "CFG-62", text, "names differ by more than case")
            continue
        else:
            seen[child.name] = draft.node.line
            continue
        findings.add(draft.node, f"{draft.path}.name", "CFG-61", text, hint)


def _check_applications(queue: QueueCandidate, findings: Findings) -> None:
    """See that children stay within a queue's number of applications. Implements: CFG-92."""
    most = queue.draft.max_applications
    for child in queue.children:
        own = child.draft.max_applications
        if most and not 0 < own <= most and not findings.unread(child.draft.path, _APPLICATIONS):
            text = (
                f"maxApplications {most} of queue {queue.path} is smaller than"
                f" {own or '0 (not limited)'} of queue {child.path}"
            )
            path = f"{child.draft.path}.{_APPLICATIONS}"
            findings.add(child.draft.node, path, "CFG-92", text, f"write 1 to {most}")
        if child.children:
            _check_applications(child, findings)


def _warn_of_closed_queues(root: QueueCandidate, findings: Findings) -> None:
    """Tell of queues to which nobody can submit, once per branch. Rules: ACL-10, ACL-12.

    There is no warning if queues or access lists could not be read, because one of them may give
    access.
    """
    broken = any(found.rule == "CFG-50" for found in findings.errors)
    if broken or findings.unread(root.draft.path.partition(".")[0], "queues"):
        return
    if not _open_below(root):
        _warn_closed(root, findings)
        return
    waiting = [root]
    while waiting:
        queue = waiting.pop()
        if queue.submit != NOBODY or queue.admin != NOBODY:
            continue
        for child in queue.children:
            if child.open_below:
                waiting.append(child)
            else:
                _warn_closed(child, findings)


def _warn_closed(queue: QueueCandidate, findings: Findings) -> None:
    below = " or any queue below it" if queue.children else ""
    text = f"nobody can submit to queue {queue.path}{below}: no submitacl on the way to it"
    hint = 'add submitacl, "*" for everybody, here or above'
    findings.warn(queue.draft.node, queue.draft.path, "ACL-12", text, hint)


def _open_below(queue: QueueCandidate) -> bool:
    """Note and return whether a queue or one below it lets anybody in."""
    below = [_open_below(child) for child in queue.children]
    queue.open_below = queue.submit != NOBODY or queue.admin != NOBODY or any(below)
    return queue.open_below


# --------------------------------------------------------------------------------- node sorting


def _check_node_sort(draft: NodeSortDraft, findings: Findings) -> None:
    """Check that policy and weights are valid. Implements: CFG-90, CFG-91."""
    policy = draft.policy
    if policy is not None and policy.text not in ("", *NODE_SORTS):
        text = f"undefined policy: {cut(policy.text)}"
        hint = f"write {' or '.join(NODE_SORTS)}"
        findings.add(policy.node, policy.path, "CFG-90", text, hint)
    for name, (weight, at) in draft.weights.items():
        if weight < 0:
            text = f"negative resource weight for {cut(name)}: {cut(at.text)}"
            findings.add(at.node, at.path, "CFG-91", text, "write 0 or more")
        elif weight > _WEIGHT_LIMIT:
            size = "infinite" if math.isinf(weight) else "too large a"
            text = f"{size} resource weight for {cut(name)}: {cut(at.text)}"
            findings.add(at.node, at.path, "CFG-91", text, f"write at most {_WEIGHT_LIMIT:g}")
