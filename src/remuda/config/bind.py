"""Turns nodes into drafts: the fields of a document before they are judged.

Every key of ``keys`` is read with its required type. No value is compared with another one yet.
"""

from __future__ import annotations

from typing import Final

from remuda.config.drafts import (
    AmountsDraft,
    FilterDraft,
    LimitDraft,
    NamesDraft,
    NodeSortDraft,
    PartitionDraft,
    QueueDraft,
    RuleDraft,
    TemplateDraft,
    TextAt,
)
from remuda.config.fields import FieldReader
from remuda.config.findings import Findings, cut
from remuda.config.key_kinds import (
    DOCUMENT,
    FILTER,
    LIMIT,
    NODE_SORT,
    PARTITION,
    PREEMPTION,
    QUEUE,
    RESOLVER,
    RESOURCES,
    RULE,
    TEMPLATE,
)
from remuda.config.property_check import PropertyCheck
from remuda.config.tree import MapNode, Node, ScalarNode

# Longer than any legal name (CFG-30), so the part cut off makes no difference.
_NAME_SHOWN_LIMIT: Final = 65

# The most names in all access lists of a document, which are not counted as values.
ACCESS_NAMES_LIMIT: Final = 100_000


def bind_document(document: Node | None, findings: Findings) -> tuple[PartitionDraft, ...]:
    """Return the partitions that a document describes; no document means none.

    Implements: CFG-12. Rules: chapter 10 section 2.
    """
    if document is None:
        return ()
    return _Binder(findings).partitions(document)


class _Binder:
    def __init__(self, findings: Findings) -> None:
        self._fields = FieldReader(findings)
        self._properties_check = PropertyCheck(findings)
        self._access_names = 0

    def partitions(self, document: Node) -> tuple[PartitionDraft, ...]:
        if _is_config_map(document):
            text = "this is a Kubernetes config map around a queue configuration"
            hint = "pass the text that stands in it under data, such as that of queues.yaml"
            self._fields.refuse(document, "", "CFG-12", text, hint)
            return ()
        found = self._fields.section(document, "", DOCUMENT)
        self._fields.text(found.get("checksum"), "checksum")
        given = found.get("partitions")
        items = self._fields.sections(given, "partitions", "partitions", PARTITION)
        return tuple([self._partition(node, path) for path, node in items])

    def _partition(self, node: Node, path: str) -> PartitionDraft:
        fields = self._fields
        found = fields.section(node, path, PARTITION)
        rules = f"{path}.placementrules"
        below = f"{path}.preemption"
        preemption = self._within(found.get("preemption"), below, PREEMPTION)
        enabled = preemption.get("enabled")
        quota = preemption.get("quotapreemptionenabled")
        resolver = f"{path}.usergroupresolver"
        return PartitionDraft(
            name=fields.text(found.get("name"), f"{path}.name"),
            node=found.get("name", node),
            path=path,
            queues_node=found.get("queues"),
            queues=self._queues(found.get("queues"), f"{path}.queues"),
            rules=tuple(
                [
                    self._rule(rule, where)
                    for where, rule in fields.sections(
                        found.get("placementrules"), rules, "placementrules", RULE
                    )
                ]
            ),
            node_sort=self._node_sort(found.get("nodesortpolicy"), f"{path}.nodesortpolicy"),
            limits=self._limits(found.get("limits"), f"{path}.limits"),
            preemption=enabled is None or fields.boolean(enabled, f"{below}.enabled"),
            quota_preemption=fields.boolean(quota, f"{below}.quotapreemptionenabled"),
            resolver=self._text_at(
                self._within(found.get("usergroupresolver"), resolver, RESOLVER).get("type"),
                f"{resolver}.type",
            ),
        )

    def _within(self, node: Node | None, path: str, section: str) -> dict[str, Node]:
        """Return the fields of a mapping that may be absent."""
        return {} if node is None else self._fields.section(node, path, section)

    def _text_at(self, node: Node | None, path: str) -> TextAt | None:
        return None if node is None else TextAt(self._fields.text(node, path), node, path)

    # ---------------------------------------------------------------------------------- queues

    def _queues(self, node: Node | None, path: str) -> tuple[QueueDraft, ...]:
        items = self._fields.sections(node, path, "queues", QUEUE)
        return tuple([self._queue(item, where) for where, item in items])

    def _queue(self, node: Node, path: str) -> QueueDraft:
        fields = self._fields
        found = fields.section(node, path, QUEUE)
        draft = QueueDraft(
            name=fields.text(found.get("name"), f"{path}.name")[:_NAME_SHOWN_LIMIT],
            node=found.get("name", node),
            path=path,
        )
        if len(found) == 1 and "name" in found:
            return draft
        maximum, guaranteed = self._resources(found.get("resources"), path)
        return QueueDraft(
            name=draft.name,
            node=draft.node,
            path=path,
            parent=fields.boolean(found.get("parent"), f"{path}.parent"),
            maximum=maximum,
            guaranteed=guaranteed,
            properties=self._properties(found.get("properties"), path),
            queues=self._queues(found.get("queues"), f"{path}.queues"),
            max_applications=self._applications(found.get("maxapplications"), path),
            admin_acl=self._access_list(found.get("adminacl"), f"{path}.adminacl"),
            submit_acl=self._access_list(found.get("submitacl"), f"{path}.submitacl"),
            template=self._template(found.get("childtemplate"), f"{path}.childtemplate"),
            limits=self._limits(found.get("limits"), f"{path}.limits"),
        )

    def _applications(self, node: Node | None, path: str) -> int:
        return 0 if node is None else self._fields.unsigned(node, f"{path}.maxapplications")

    def _access_list(self, node: Node | None, path: str) -> TextAt | None:
        """Return the text of an access list, within the bound on all of them. Rules: CFG-50."""
        found = self._text_at(node, path)
        if found is None:
            return None
        before = self._access_names
        self._access_names += found.text.count(",") + 1
        if self._access_names <= ACCESS_NAMES_LIMIT:
            return found
        if before <= ACCESS_NAMES_LIMIT:
            text = f"more than {ACCESS_NAMES_LIMIT} names in access lists"
            self._fields.refuse(found.node, path, "CFG-5", text, "use groups")
        return None

    def _resources(
        self, node: Node | None, above: str
    ) -> tuple[AmountsDraft | None, AmountsDraft | None]:
        """Return max and guaranteed."""
        if node is None:
            return None, None
        path = f"{above}.resources"
        given = self._fields.section(node, path, RESOURCES)
        maximum = self._amounts(given.get("max"), f"{path}.max")
        return maximum, self._amounts(given.get("guaranteed"), f"{path}.guaranteed")

    def _amounts(self, node: Node | None, path: str) -> AmountsDraft | None:
        if node is None:
            return None
        entries = self._fields.mapping(node, path, "resource amounts")
        texts = {}
        for name, (_, value) in entries.items():
            text = self._fields.text(value, f"{path}.{cut(name)}")
            if isinstance(value, ScalarNode):
                texts[name] = text, value
        return AmountsDraft(node, path, texts)

    def _properties(self, node: Node | None, above: str) -> dict[str, str]:
        """Return the properties, unknown keys included. Rules: CFG-17, PRP-1, PRP-2."""
        if node is None:
            return {}
        path = f"{above}.properties"
        properties: dict[str, str] = {}
        for name, (key, value) in self._fields.mapping(node, path, "properties").items():
            where = f"{path}.{cut(name)}"
            text = self._fields.text(value, where)
            properties[name] = text
            self._properties_check.check(name, text, key, where)
        return properties

    def _template(self, node: Node | None, path: str) -> TemplateDraft | None:
        if node is None:
            return None
        found = self._fields.section(node, path, TEMPLATE)
        maximum, guaranteed = self._resources(found.get("resources"), path)
        return TemplateDraft(
            node=node,
            path=path,
            max_applications=self._applications(found.get("maxapplications"), path),
            properties=self._properties(found.get("properties"), path),
            maximum=maximum,
            guaranteed=guaranteed,
        )

    def _limits(self, node: Node | None, path: str) -> tuple[LimitDraft, ...]:
        items = self._fields.sections(node, path, "limits", LIMIT)
        return tuple([self._limit(item, where) for where, item in items])

    def _limit(self, node: Node, path: str) -> LimitDraft:
        found = self._fields.section(node, path, LIMIT)
        return LimitDraft(
            node=node,
            path=path,
            description=self._fields.text(found.get("limit"), f"{path}.limit"),
            users=self._names(found.get("users"), f"{path}.users", "users"),
            groups=self._names(found.get("groups"), f"{path}.groups", "groups"),
            maximum=self._amounts(found.get("maxresources"), f"{path}.maxresources"),
            max_applications=self._applications(found.get("maxapplications"), path),
            applications_node=found.get("maxapplications", node),
        )

    def _names(self, node: Node | None, path: str, what: str) -> NamesDraft:
        return NamesDraft(path, [] if node is None else self._fields.names(node, path, what))

    # ------------------------------------------------------------------- rules and node sorting

    def _rule(self, node: Node, path: str) -> RuleDraft:
        found = self._fields.section(node, path, RULE)
        parent = found.get("parent")
        return RuleDraft(
            name=self._fields.text(found.get("name"), f"{path}.name"),
            node=found.get("name", node),
            path=path,
            create=self._fields.boolean(found.get("create"), f"{path}.create"),
            value=self._text_at(found.get("value"), f"{path}.value"),
            parent=None if parent is None else self._rule(parent, f"{path}.parent"),
            filter=self._filter(found.get("filter"), f"{path}.filter"),
        )

    def _filter(self, node: Node | None, path: str) -> FilterDraft | None:
        if node is None:
            return None
        found = self._fields.section(node, path, FILTER)
        users = self._names(found.get("users"), f"{path}.users", "users")
        groups = self._names(found.get("groups"), f"{path}.groups", "groups")
        return FilterDraft(
            kind=self._text_at(found.get("type"), f"{path}.type"),
            users=users if users.names else None,
            groups=groups if groups.names else None,
        )

    def _node_sort(self, node: Node | None, path: str) -> NodeSortDraft:
        if node is None:
            return NodeSortDraft(None, {})
        found = self._fields.section(node, path, NODE_SORT)
        weights: dict[str, tuple[float, TextAt]] = {}
        if "resourceweights" in found:
            below = f"{path}.resourceweights"
            entries = self._fields.mapping(found["resourceweights"], below, "resourceweights")
            for name, (_, value) in entries.items():
                weight = self._fields.number(value, f"{below}.{cut(name)}")
                shown = value.text if isinstance(value, ScalarNode) else ""
                weights[name] = (weight, TextAt(shown, value, below))
        return NodeSortDraft(self._text_at(found.get("type"), f"{path}.type"), weights)


def _is_config_map(document: Node) -> bool:
    """Whether a document says that it is the object of a cluster that holds configurations."""
    return isinstance(document, MapNode) and any(
        isinstance(key, ScalarNode)
        and key.text == "kind"
        and isinstance(value, ScalarNode)
        and value.text == "ConfigMap"
        for key, value in document.entries
    )
