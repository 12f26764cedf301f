"""The ask: a resource manager's request for allocations.

This module is compiled, while those of the commands around it are not. Recordings are read by the
types of the records' fields, and a compiled class keeps only the outermost type of a field.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias, final

from remuda.base.native import mypyc_attr
from remuda.base.resources import Resource

Tags: TypeAlias = Mapping[str, str]

_NO_TAGS: Final[Tags] = {}


@final
@mypyc_attr(acyclic=True)
@dataclass(init=False, slots=True)
class Ask:
    """A request for up to ``max_allocations`` equal allocations (chapter 70 section 5).

    ``equivalence``: asks of one RM with the same non-empty text get the same predicate answers on
    the same node. If predicates refused one of them on a node, that node is not asked about again
    until it changes. ``key_is_identity``: the ID of its one allocation is the ask's key (SI-35
    [>=1.6], SI-111).

    Its constructor is written out for speed, because every ask makes one (see ``base.message``). No
    code may change it. Its fields are not marked Final, because the reader of recordings needs
    their types.
    """

    application_id: str
    allocation_key: str
    resource: Resource
    partition: str
    max_allocations: int
    priority: int
    tags: Tags
    execution_timeout_ms: int
    task_group: str
    placeholder: bool
    originator: bool
    allow_preempt_self: bool
    allow_preempt_other: bool
    equivalence: str
    key_is_identity: bool

    def __init__(
        self,
        application_id: str,
        allocation_key: str,
        resource: Resource,
        partition: str = "",
        max_allocations: int = 1,
        priority: int = 0,
        tags: Tags = _NO_TAGS,
        execution_timeout_ms: int = 0,
        task_group: str = "",
        placeholder: bool = False,
        originator: bool = False,
        allow_preempt_self: bool = True,
        allow_preempt_other: bool = False,
        equivalence: str = "",
        key_is_identity: bool = False,
    ) -> None:
        self.application_id = application_id
        self.allocation_key = allocation_key
        self.resource = resource
        self.partition = partition
        self.max_allocations = max_allocations
        self.priority = priority
        self.tags = tags
        self.execution_timeout_ms = execution_timeout_ms
        self.task_group = task_group
        self.placeholder = placeholder
        self.originator = originator
        self.allow_preempt_self = allow_preempt_self
        self.allow_preempt_other = allow_preempt_other
        self.equivalence = equivalence
        self.key_is_identity = key_is_identity
