"""A YAML text as a tree of nodes that keep their source text and their place.

The usual loaders turn ``010`` into 8 and ``yes`` into true before anyone asks; here every scalar
stays as it was written, and what reads a field decides what it means (CFG-17). Lines and columns
count from 1 and end up in the problems shown to the user.
"""

from __future__ import annotations

from dataclasses import field
from typing import Final, TypeAlias

from remuda.base.message import message

_NULLS: Final = frozenset({"", "~", "null", "Null", "NULL"})


@message
class ScalarNode:
    """A text. ``plain``: written without quotes, so words and numbers may have a meaning."""

    text: str
    plain: bool
    line: int
    column: int


@message
class ListNode:
    """A list of nodes in source order."""

    line: int
    column: int
    items: list[Node] = field(default_factory=list)


@message
class MapNode:
    """Pairs of key and value in source order; duplicates and merge keys are still in it."""

    line: int
    column: int
    entries: list[tuple[Node, Node]] = field(default_factory=list)


Node: TypeAlias = ScalarNode | ListNode | MapNode


def is_null(node: Node) -> bool:
    """Whether a node is YAML's null, however it is written. Rules: CFG-17, CFG-18."""
    return isinstance(node, ScalarNode) and node.plain and node.text in _NULLS
