"""From nodes to drafts: what a document says, field by field, before it is judged.

A draft keeps the nodes of what can still be wrong, so that a later problem names its place.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from remuda.base.message import message
from remuda.config.fields import FieldReader, Structure
from remuda.config.findings import Findings
from remuda.config.tree import Node, ScalarNode

_DOCUMENT: Final = Structure("document", frozenset({"partitions", "checksum"}), {})

_PARTITION: Final = Structure(
    "partition",
    frozenset({"name", "queues", "placementrules", "nodesortpolicy"}),
    {"limits": "CFG-47", "preemption": "PAR-3", "usergroupresolver": "CFG-13"},
)

_QUEUE: Final = Structure(
    "queue",
    frozenset({"name", "parent", "queues", "resources", "properties", "adminacl", "submitacl"}),
    {"limits": "CFG-52", "maxapplications": "CFG-92", "childtemplate": "TPL-1"},
)

_RESOURCES: Final = Structure("resources", frozenset({"guaranteed", "max"}), {})

_RULE: Final = Structure(
    "placement rule",
    frozenset({"name", "create", "value"}),
    {"parent": "CFG-81", "filter": "CFG-82"},
)

_NODE_SORT: Final = Structure("nodesortpolicy", frozenset({"type", "resourceweights"}), {})

# Queue properties of the full table that have no effect in this release. Any other key is legal
# and kept (PRP-1).
_PROPERTIES_LATER: Final = frozenset(
    {
        "preemption.policy",
        "preemption.delay",
        "preemption.quota.delay",
        "quota.preemption.delay",
        "application.unschedasks.backoff",
        "application.unschedasks.backoff.delay",
        "application.gang.admission",
    }
)

# Longer than any legal name (CFG-30): what is cut off cannot make a difference.
_NAME_SHOWN_LIMIT: Final = 65


@message
class TextAt:
    """A text and where it stands."""

    text: str
    node: Node
    path: str


@message
class AmountsDraft:
    """A map of quantity texts that was given, possibly empty."""

    node: Node
    path: str
    texts: Mapping[str, TextAt]


@message
class QueueDraft:
    """One queue as written; the name is not yet judged and not yet lower case."""

    name: str
    node: Node
    path: str
    parent: bool
    maximum: AmountsDraft | None
    guaranteed: AmountsDraft | None
    properties: Mapping[str, str]
    queues: tuple[QueueDraft, ...]


@message
class RuleDraft:
    """One placement rule as written."""

    name: str
    node: Node
    path: str
    create: bool
    value: str


@message
class NodeSortDraft:
    """A node sort policy as written; ``policy`` None: not given."""

    policy: TextAt | None
    weights: Mapping[str, tuple[float, TextAt]]


@message
class PartitionDraft:
    """One partition as written; ``queues_node`` None: the key is missing or null."""

    name: str
    node: Node
    path: str
    queues_node: Node | None
    queues: tuple[QueueDraft, ...]
    rules: tuple[RuleDraft, ...]
    node_sort: NodeSortDraft


def bind_document(document: Node | None, findings: Findings) -> tuple[PartitionDraft, ...]:
    """Return the partitions that a document describes; no document means none.

    Rules: CFG-12 to CFG-18.
    """
    if document is None:
        return ()
    return _Binder(FieldReader(findings)).partitions(document)


class _Binder:
    def __init__(self, fields: FieldReader) -> None:
        self._fields = fields

    def partitions(self, document: Node) -> tuple[PartitionDraft, ...]:
        found = self._fields.structure(document, "", _DOCUMENT)
        self._fields.text(found.get("checksum"), "checksum")
        items = self._fields.items(found.get("partitions"), "partitions", "partitions")
        return tuple(
            self._partition(node, f"partitions[{index}]") for index, node in enumerate(items)
        )

    def _partition(self, node: Node, path: str) -> PartitionDraft:
        found = self._fields.structure(node, path, _PARTITION)
        rules = self._fields.items(
            found.get("placementrules"), f"{path}.placementrules", "placementrules"
        )
        return PartitionDraft(
            name=self._fields.text(found.get("name"), f"{path}.name"),
            node=found.get("name", node),
            path=path,
            queues_node=found.get("queues"),
            queues=self._queues(found.get("queues"), f"{path}.queues"),
            rules=tuple(
                self._rule(rule, f"{path}.placementrules[{index}]")
                for index, rule in enumerate(rules)
            ),
            node_sort=self._node_sort(found.get("nodesortpolicy"), f"{path}.nodesortpolicy"),
        )

    def _queues(self, node: Node | None, path: str) -> tuple[QueueDraft, ...]:
        items = self._fields.items(node, path, "queues")
        return tuple(self._queue(item, f"{path}[{index}]") for index, item in enumerate(items))

    def _queue(self, node: Node, path: str) -> QueueDraft:
        found = self._fields.structure(node, path, _QUEUE)
        name = self._fields.text(found.get("name"), f"{path}.name")
        for key in ("adminacl", "submitacl"):
            self._access_list(found.get(key), f"{path}.{key}", key)
        resources = f"{path}.resources"
        given = (
            self._fields.structure(found["resources"], resources, _RESOURCES)
            if "resources" in found
            else {}
        )
        return QueueDraft(
            name=name[:_NAME_SHOWN_LIMIT],
            node=found.get("name", node),
            path=path,
            parent=self._fields.boolean(found.get("parent"), f"{path}.parent"),
            maximum=self._amounts(given.get("max"), f"{resources}.max"),
            guaranteed=self._amounts(given.get("guaranteed"), f"{resources}.guaranteed"),
            properties=self._properties(found.get("properties"), f"{path}.properties"),
            queues=self._queues(found.get("queues"), f"{path}.queues"),
        )

    def _access_list(self, node: Node | None, path: str, key: str) -> None:
        """Accept no access list, or the one that lets everybody in. Rules: CFG-50."""
        if node is not None and self._fields.text(node, path).strip() != "*":
            what = f'{key} other than "*"'
            self._fields.not_built(node, path, "CFG-50", what)

    def _amounts(self, node: Node | None, path: str) -> AmountsDraft | None:
        if node is None:
            return None
        entries = self._fields.mapping(node, path, "resource amounts")
        texts = {
            name: TextAt(self._fields.text(value, f"{path}.{name[:64]}"), value, path)
            for name, (_, value) in entries.items()
        }
        return AmountsDraft(node, path, texts)

    def _properties(self, node: Node | None, path: str) -> dict[str, str]:
        """Return the properties, unknown keys included. Rules: CFG-17, PRP-1."""
        if node is None:
            return {}
        properties: dict[str, str] = {}
        for name, (key, value) in self._fields.mapping(node, path, "properties").items():
            if name in _PROPERTIES_LATER:
                self._fields.not_built(key, path, "PRP-1", f"property {name}")
            else:
                properties[name] = self._fields.text(value, f"{path}.{name[:64]}")
        return properties

    def _rule(self, node: Node, path: str) -> RuleDraft:
        found = self._fields.structure(node, path, _RULE)
        return RuleDraft(
            name=self._fields.text(found.get("name"), f"{path}.name"),
            node=found.get("name", node),
            path=path,
            create=self._fields.boolean(found.get("create"), f"{path}.create"),
            value=self._fields.text(found.get("value"), f"{path}.value"),
        )

    def _node_sort(self, node: Node | None, path: str) -> NodeSortDraft:
        if node is None:
            return NodeSortDraft(None, {})
        found = self._fields.structure(node, path, _NODE_SORT)
        policy = None
        if "type" in found:
            text = self._fields.text(found["type"], f"{path}.type")
            policy = TextAt(text, found["type"], f"{path}.type")
        weights: dict[str, tuple[float, TextAt]] = {}
        if "resourceweights" in found:
            below = f"{path}.resourceweights"
            entries = self._fields.mapping(found["resourceweights"], below, "resourceweights")
            for name, (_, value) in entries.items():
                weight = self._fields.number(value, f"{below}.{name[:64]}")
                shown = value.text if isinstance(value, ScalarNode) else ""
                weights[name] = (weight, TextAt(shown, value, below))
        return NodeSortDraft(policy, weights)
