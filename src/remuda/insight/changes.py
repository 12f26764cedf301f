"""What may be changed so that an ask is placed, and how changes become one edit (rules: EXT-47)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Final, TypeAlias

from remuda.base.message import message
from remuda.base.resources import Resource
from remuda.config.schema import Configuration, PartitionConfig
from remuda.core.messages.ask import Ask
from remuda.core.messages.commands import (
    Command,
    NewApplication,
    UpdateAllocations,
    UpdateApplications,
    UpdateConfiguration,
)
from remuda.core.messages.queries import NodeView
from remuda.core.messages.tags import REQUIRED_NODE
from remuda.core.messages.trace_queries import AskTraceView

# Kinds of changes; an edit may join several.
PRIORITY: Final = "priority"
QUEUE: Final = "another queue"
UNDRAIN: Final = "undrain a node"
REQUIREMENT: Final = "required node"
SMALLER: Final = "smaller ask"
LIMITS: Final = "limits"
GUARANTEE: Final = "guarantee"
RELEASE: Final = "an application ends"
LARGER: Final = "larger node"
NODE: Final = "another node"

# What changes cost, for the order of edits: what one person can do alone comes first.
COSTS: Final[Mapping[str, int]] = {
    PRIORITY: 1,
    QUEUE: 2,
    UNDRAIN: 3,
    REQUIREMENT: 3,
    SMALLER: 4,
    LIMITS: 5,
    GUARANTEE: 6,
    RELEASE: 7,
    LARGER: 8,
    NODE: 9,
}

# How many edits of one kind are tried.
TRIED: Final = 4

# Returns a partition with other settings; None if the change cannot be made there.
Configure: TypeAlias = Callable[[PartitionConfig], PartitionConfig | None]

# A checksum that no text has (CHK-5).
_CHECKSUM: Final = "edited"


@dataclass(frozen=True, slots=True)
class Change:
    """One change, and what it is in words.

    ``ask``: fields of the ask with other values. ``unbound``: the ask requires no node. ``leaf``:
    the ask comes in an application of this queue. ``configure``: changes the settings of the
    partition. ``commands``: other requests that make it. ``count``: it costs so many times as
    much as one of its kind.
    """

    kind: str
    text: str
    ask: Mapping[str, object] = field(default_factory=dict)
    unbound: bool = False
    leaf: str = ""
    configure: Configure | None = None
    commands: tuple[Command, ...] = ()
    count: int = 1


@message
class Edit:
    """Changes that are made together: their kinds, their words, and the requests that make them.

    ``application_id``: the application whose ask is placed by it, which differs for another queue.
    """

    kinds: tuple[str, ...]
    parts: tuple[str, ...]
    commands: tuple[Command, ...]
    application_id: str
    cost: int = 0

    @property
    def text(self) -> str:
        """All of it in words."""
        return ", and ".join(self.parts)


@message
class Surroundings:
    """What edits need to know beside the trace of the ask.

    ``leaves``: some other leaves that let the user in and have room for the ask now, and
    ``full_leaves`` some that have none. ``running``: applications whose end may help, the one that
    helps most first. ``used``: the usage of the ask's queue. ``nodes``: by ID. ``largest``: the
    capacity of the largest node. ``reserved``: the number of nodes with reservations of other asks
    about which the caller may read; ``reserving``: how many applications these are of, and
    ``reserving_amounts`` all that these ask for. ``name``: no ID of an application or node begins
    with it. ``may_name_nodes``: no edit about a single node is proposed otherwise.
    """

    rm_id: str
    partition: str
    configuration: Configuration
    leaves: Sequence[str]
    full_leaves: Sequence[str]
    running: Sequence[str]
    used: Resource
    nodes: Mapping[str, NodeView]
    largest: Resource
    reserved: int
    reserving: int
    reserving_amounts: Resource
    name: str
    may_name_nodes: bool = True


def joined(trace: AskTraceView, around: Surroundings, changes: Sequence[Change]) -> Edit | None:
    """Return an edit that makes some changes; None if the configuration does not allow them."""
    config = _configured(around, changes)
    if config is None:
        return None
    commands = [command for each in changes for command in each.commands]
    if config is not around.configuration:
        commands.insert(0, UpdateConfiguration(around.rm_id, config))
    ask, application_id = trace.ask, trace.ask.application_id
    for change in changes:
        if change.leaf:
            application_id = around.name
            new = NewApplication(
                application_id, change.leaf, around.partition, trace.user, trace.groups
            )
            commands.append(UpdateApplications(around.rm_id, (new,)))
            ask = _replaced(ask, application_id=application_id)
        if change.unbound:
            tags = {name: text for name, text in ask.tags.items() if name != REQUIRED_NODE}
            ask = _replaced(ask, tags=tags)
        if change.ask:
            ask = _replaced(ask, **change.ask)
    if ask is not trace.ask:
        commands.append(UpdateAllocations(around.rm_id, asks=(ask,)))
    return Edit(
        tuple([each.kind for each in changes]),
        tuple([each.text for each in changes]),
        tuple(commands),
        application_id,
        sum([COSTS[each.kind] * each.count for each in changes]),
    )


def _configured(around: Surroundings, changes: Sequence[Change]) -> Configuration | None:
    """Return the configuration with all changes of it; None if one of them cannot be made."""
    config = around.configuration
    for change in changes:
        if change.configure is None:
            continue
        partitions: list[PartitionConfig] = []
        for partition in config.partitions:
            changed: PartitionConfig | None = partition
            if partition.name == around.partition:
                changed = change.configure(partition)
            if changed is None:
                return None
            partitions.append(changed)
        config = replace(config, partitions=tuple(partitions), checksum=_CHECKSUM, text="")
    return config


def _replaced(ask: Ask, **changes: object) -> Ask:
    """Return an ask with other values: a compiled class has no ``__slots__``, but has fields."""
    values = {each.name: getattr(ask, each.name) for each in fields(ask)}
    return Ask(**{**values, **changes})


def amounts(resource: Resource) -> str:
    """Return amounts in base units as words."""
    return ", ".join(f"{name} {amount}" for name, amount in sorted(resource.items()))
