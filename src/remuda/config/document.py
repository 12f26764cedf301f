"""The configuration as it counts, in the file's own words: what ``GET /ws/v1/config`` shows.

Keys, names and amounts stand as they were written and in the file's order; what the loader adds
is added (the root queue, the name of the default partition, the limits of a partition on its
root queue), and what is empty is left out.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from remuda.config.fields import FieldReader
from remuda.config.findings import Findings
from remuda.config.load import compose
from remuda.config.schema import BUILT_IN_TEXT
from remuda.config.structures import (
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
    STRUCTURES,
    TEMPLATE,
    Structure,
)
from remuda.config.tree import Node

_Content: TypeAlias = dict[str, object]
_Read: TypeAlias = Callable[["_Reader", Node], object]


def document(text: str) -> dict[str, object]:
    """Return a configuration text that was accepted, normalised, as plain dicts and lists.

    The recorded checksum is left out. The empty text stands for the built-in configuration.
    Raises: ConfigError if the text cannot be read. Rules: TOOL-3, REST-57 to REST-60, CFG-40,
    CFG-42, CFG-46, CFG-47.
    """
    node = compose(text or BUILT_IN_TEXT, "<config>")
    findings = Findings("<config>")
    content = {} if node is None else _Reader(findings).structure(node, DOCUMENT)
    findings.raise_if_any()
    content.pop("checksum", None)
    for partition in _dicts(content.get("partitions")):
        _normalise(partition)
    return content


def _normalise(partition: _Content) -> None:
    name = partition.pop("name", "")
    named = "default" if str(name).lower() in ("", "default") else name
    queues = _dicts(partition.pop("queues", []))
    if len(queues) == 1 and str(queues[0].get("name")).lower() == "root":
        root = queues[0]
    else:
        root = {"queues": queues} if queues else {}
    root = {"name": "root", "parent": True} | {
        key: value for key, value in root.items() if key not in ("name", "parent")
    }
    if "limits" in partition:
        root.setdefault("limits", copy.deepcopy(partition["limits"]))
    for queue in _dicts(root.get("queues")):
        _set_parent(queue)
    rest = dict(partition)
    partition.clear()
    partition |= {"name": named, "queues": [root], **rest}


def _set_parent(queue: _Content) -> None:
    """Say of every queue with queues below it that it is a parent. Rules: CFG-46."""
    below = _dicts(queue.get("queues"))
    if below:
        queue["parent"] = True
    for child in below:
        _set_parent(child)


def _dicts(found: object) -> list[_Content]:
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []


class _Reader:
    """Reads nodes of an accepted text; what is wrong all the same ends up in the findings."""

    def __init__(self, findings: Findings) -> None:
        self.fields = FieldReader(findings)

    def structure(self, node: Node, kind: Structure) -> _Content:
        shape = _SHAPES[kind.name]
        found = self.fields.structure(node, "", kind)
        values = {key: shape[key](self, value) for key, value in found.items()}
        return {key: value for key, value in values.items() if value not in ("", [], {})}

    def texts(self, node: Node) -> _Content:
        """Return a map of texts; empty ones in it stay."""
        entries = self.fields.mapping(node, "", "entries")
        return {name: self.fields.text(value, "") for name, (_, value) in entries.items()}

    def weights(self, node: Node) -> _Content:
        entries = self.fields.mapping(node, "", "resourceweights")
        return {name: self.fields.number(value, "") for name, (_, value) in entries.items()}

    def names(self, node: Node) -> list[str]:
        return [name for name, _ in self.fields.names(node, "", "names")]


def _text(reader: _Reader, node: Node) -> object:
    return reader.fields.text(node, "")


def _boolean(reader: _Reader, node: Node) -> object:
    return reader.fields.boolean(node, "")


def _unsigned(reader: _Reader, node: Node) -> object:
    return reader.fields.unsigned(node, "")


def _one(kind: Structure) -> _Read:
    return lambda reader, node: reader.structure(node, kind)


def _list(kind: Structure) -> _Read:
    return lambda reader, node: [
        reader.structure(item, kind) for item in reader.fields.items(node, "", kind.name)
    ]


# How the value of each key is read, per structure.
_SHAPES: Final[Mapping[str, Mapping[str, _Read]]] = {
    DOCUMENT.name: {"partitions": _list(PARTITION), "checksum": _text},
    PARTITION.name: {
        "name": _text,
        "queues": _list(QUEUE),
        "placementrules": _list(RULE),
        "limits": _list(LIMIT),
        "preemption": _one(PREEMPTION),
        "nodesortpolicy": _one(NODE_SORT),
        "usergroupresolver": _one(RESOLVER),
    },
    PREEMPTION.name: {"enabled": _boolean, "quotapreemptionenabled": _boolean},
    NODE_SORT.name: {"type": _text, "resourceweights": _Reader.weights},
    RESOLVER.name: {"type": _text},
    QUEUE.name: {
        "name": _text,
        "parent": _boolean,
        "queues": _list(QUEUE),
        "resources": _one(RESOURCES),
        "maxapplications": _unsigned,
        "properties": _Reader.texts,
        "adminacl": _text,
        "submitacl": _text,
        "childtemplate": _one(TEMPLATE),
        "limits": _list(LIMIT),
    },
    RESOURCES.name: {"guaranteed": _Reader.texts, "max": _Reader.texts},
    TEMPLATE.name: {
        "maxapplications": _unsigned,
        "properties": _Reader.texts,
        "resources": _one(RESOURCES),
    },
    LIMIT.name: {
        "limit": _text,
        "users": _Reader.names,
        "groups": _Reader.names,
        "maxresources": _Reader.texts,
        "maxapplications": _unsigned,
    },
    RULE.name: {
        "name": _text,
        "create": _boolean,
        "filter": _one(FILTER),
        "parent": _one(RULE),
        "value": _text,
    },
    FILTER.name: {"type": _text, "users": _Reader.names, "groups": _Reader.names},
}
assert all(_SHAPES[kind.name].keys() == kind.known for kind in STRUCTURES)
