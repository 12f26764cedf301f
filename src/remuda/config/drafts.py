"""Drafts: the fields of a document before they are judged.

A draft keeps the nodes of values that may still be wrong, so that a later problem names its place.
Paths are those of Problem: elements of the file, counted from 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from remuda.base.message import message
from remuda.config.tree import Node


@message
class TextAt:
    """A text and its place."""

    text: str
    node: Node
    path: str


@message
class NamesDraft:
    """A list of names; the path of one is ``path[index]``."""

    path: str
    names: list[tuple[str, Node]]


@message
class AmountsDraft:
    """A map of quantity texts that was given, possibly empty."""

    node: Node
    path: str
    texts: Mapping[str, tuple[str, Node]]


@message
class LimitDraft:
    """One entry of ``limits``.

    ``applications_node``: the node of its number, or else of the entry.
    """

    node: Node
    path: str
    description: str
    users: NamesDraft
    groups: NamesDraft
    maximum: AmountsDraft | None
    max_applications: int
    applications_node: Node


@message
class TemplateDraft:
    """A ``childtemplate`` that was given, possibly empty."""

    node: Node
    path: str
    max_applications: int
    properties: Mapping[str, str]
    maximum: AmountsDraft | None
    guaranteed: AmountsDraft | None


@message
class QueueDraft:
    """One queue as written; the name is not yet judged and not yet lower case."""

    name: str
    node: Node
    path: str
    parent: bool = False
    maximum: AmountsDraft | None = None
    guaranteed: AmountsDraft | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    queues: tuple[QueueDraft, ...] = ()
    max_applications: int = 0
    admin_acl: TextAt | None = None
    submit_acl: TextAt | None = None
    template: TemplateDraft | None = None
    limits: tuple[LimitDraft, ...] = ()


@message
class FilterDraft:
    """The filter of a placement rule; ``users`` and ``groups`` None: not given or empty."""

    kind: TextAt | None
    users: NamesDraft | None
    groups: NamesDraft | None


@message
class RuleDraft:
    """One placement rule as written. ``value`` None: not given or null."""

    name: str
    node: Node
    path: str
    create: bool
    value: TextAt | None
    parent: RuleDraft | None
    filter: FilterDraft | None


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
    limits: tuple[LimitDraft, ...]
    preemption: bool
    quota_preemption: bool
    resolver: TextAt | None
