"""The configuration as it counts, in the file's own words: what ``GET /ws/v1/config`` shows.

Keys, names and amounts stand as they were written and in the file's order; what the loader adds
is added (the root queue, the name of the default partition, the limits of a partition on its
root queue), and what is empty is left out.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from remuda.config import key_kinds as kinds
from remuda.config.compose import compose
from remuda.config.fields import FieldReader
from remuda.config.findings import Findings
from remuda.config.keys import KEYS
from remuda.config.schema import BUILT_IN_TEXT, ROOT
from remuda.config.tree import Node
from remuda.config.validate import partition_name

_Content: TypeAlias = dict[str, object]


def document(text: str) -> dict[str, object]:
    """Return a configuration text that was accepted, normalised, as plain dicts and lists.

    The recorded checksum is left out. The empty text stands for the built-in configuration. Raises:
    ConfigError if the text cannot be read. Rules: TOOL-3, REST-57, REST-58, REST-59, REST-60,
    CFG-40, CFG-42, CFG-46, CFG-47.
    """
    node = compose(text or BUILT_IN_TEXT, "<config>")
    findings = Findings("<config>")
    content = {} if node is None else _Reader(findings).section(node, kinds.DOCUMENT)
    findings.raise_if_any()
    content.pop("checksum", None)
    if "partitions" in content:
        content["partitions"] = [_normalised(one) for one in _dicts(content["partitions"])]
    return content


def _normalised(partition: _Content) -> _Content:
    name = partition_name(str(partition.pop("name", "")))
    queues = _dicts(partition.pop("queues", []))
    if len(queues) == 1 and str(queues[0].get("name")).lower() == ROOT:
        root = queues[0]
    else:
        root = {"queues": queues} if queues else {}
    root = {"name": ROOT, "parent": True} | {
        key: value for key, value in root.items() if key not in ("name", "parent")
    }
    if "limits" in partition:
        root.setdefault("limits", copy.deepcopy(partition["limits"]))
    for queue in _dicts(root.get("queues")):
        _set_parent(queue)
    return {"name": name, "queues": [root], **partition}


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
        self._fields = FieldReader(findings)

    def section(self, node: Node, name: str) -> _Content:
        known = KEYS[name]
        found = self._fields.section(node, "", name)
        values = {word: self._value(known[word], value) for word, value in found.items()}
        return {word: value for word, value in values.items() if value not in ("", [], {})}

    def _value(self, key: kinds.Key, node: Node) -> object:
        fields = self._fields
        if key.kind == kinds.SECTION:
            return self.section(node, key.section)
        if key.kind == kinds.SECTIONS:
            return [self.section(item, key.section) for item in fields.items(node, "", key.name)]
        if key.kind == kinds.TEXTS:
            return [text for text, _ in fields.names(node, "", key.name)]
        if key.kind in _SINGLE:
            return _SINGLE[key.kind](fields, node, "")
        # An empty value in a map stays.
        read = fields.number if key.kind == kinds.WEIGHTS else fields.text
        entries = fields.mapping(node, "", key.name)
        return {name: read(value, "") for name, (_, value) in entries.items()}


# What is one value: how it is read.
_SINGLE: Final[Mapping[str, Callable[[FieldReader, Node, str], object]]] = {
    kinds.TEXT: FieldReader.text,
    kinds.BOOLEAN: FieldReader.boolean,
    kinds.COUNT: FieldReader.unsigned,
}
