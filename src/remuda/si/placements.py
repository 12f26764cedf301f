"""Encodes placements as bytes: the list of responses that grows with the work.

Setting the fields of a message costs 2 us per allocation and encoding it another 0.3, so the bytes
of AllocationResponse.new are put together here from parts, most of which are the same from one
allocation to the next: 1 us. Code that needs a message parses them, for 0.3 us. The tests compare
the bytes with those that protobuf itself makes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from remuda.base.resources import Resource
from remuda.core.messages.commands import Ask, Tags
from remuda.core.messages.effects import AllocationNew
from remuda.si.pb import si_pb2 as si
from remuda.si.wire import resource as resource_of
from remuda.si.wire import varint

# The most parts of asks, nodes and applications remembered per RM; beyond it the memory is cleared.
# Longer parts are built each time, so that an RM cannot make the memory grow.
_SHAPES_LIMIT: Final = 4_096
_NAMES_LIMIT: Final = 16_384
_REMEMBERED_BYTES_LIMIT: Final = 1_024

# The placements of the usual kind are put together as text in which each character stands for a
# byte, because joining texts is quicker than encoding each and joining the bytes. These are the
# lengths in that form; identifiers and allocations are hardly ever longer.
_LENGTHS: Final = tuple([varint(length).decode("latin-1") for length in range(1_024)])

# The fields of Allocation (si.proto) are, in front of their lengths or values:
#   \x0a allocationKey   \x12 allocationTags  \x1a UUID           \x2a resourcePerAlloc
#   \x30 priority        \x42 nodeID          \x4a applicationID  \x52 partitionName
#   \x5a taskGroupName   \x60 placeholder     \x6a allocationID   \x70 originator
#   \x7a preemptionPolicy
# \x0a is also the list in AllocationResponse; \x0a and \x12 are key and value of a map.


class PlacementEncoder:
    """Encodes the placements of one RM. Implements: SI-110. Rules: SI-76."""

    def __init__(self) -> None:
        # Resources are known by their identity, which the entry keeps alive: the reader gives
        # equal asks the same mapping.
        self._shapes: dict[tuple[int, int, bool, bool], tuple[Resource, str, str]] = {}
        self._nodes: dict[str, str] = {}
        self._applications: dict[str, str] = {}
        self._partition = ""

    def encode(self, effects: Sequence[AllocationNew]) -> bytes:
        """Return an AllocationResponse with these in its ``new`` list, encoded.

        Every field an RM needs to replay it is there (SI-76), in the order of their numbers; what
        is empty, zero or false is left out, as by protobuf.
        Implements: SI-76.
        """
        like: Resource | None = None
        victim = preemptor = False
        rank = 0
        amounts = policy = ""
        nodes, applications, lengths = self._nodes, self._applications, _LENGTHS
        encoded: list[str] = []
        for effect in effects:
            ask, node_id, identity = effect.ask, effect.node_id, effect.allocation_id
            key, application_id = ask.allocation_key, ask.application_id
            resource, priority = ask.resource, ask.priority
            may, might = ask.allow_preempt_self, ask.allow_preempt_other
            if (
                resource is not like
                or priority != rank
                or may is not victim
                or might is not preemptor
            ):
                like, rank, victim, preemptor = resource, priority, may, might
                amounts, policy = self._shape(ask)
            if effect.partition != self._partition:
                self._partition = effect.partition
                applications.clear()
            node = nodes.get(node_id) or self._node(node_id)
            owner = applications.get(application_id) or self._application(application_id)
            if _is_usual(ask, key, identity):
                size = lengths[len(identity)]
                inside = (
                    f"\x0a{lengths[len(key)]}{key}\x1a{size}{identity}{amounts}"
                    f"{node}{owner}\x6a{size}{identity}{policy}"
                )
            else:
                inside = _any(ask, identity, (amounts, node + owner, policy))
            size = lengths[len(inside)] if len(inside) < 1_024 else _length(len(inside))
            encoded.append(f"\x0a{size}{inside}")
        return "".join(encoded).encode("latin-1")

    def _shape(self, ask: Ask) -> tuple[str, str]:
        """Return the encoded resource with the priority, and preemption policy, of an ask."""
        key = (id(ask.resource), ask.priority, ask.allow_preempt_self, ask.allow_preempt_other)
        known = self._shapes.get(key)
        if known is not None:
            return known[1], known[2]
        resource = resource_of(ask.resource)
        amounts = _characters(si.Allocation(resourcePerAlloc=resource, priority=ask.priority))
        policy = si.PreemptionPolicy(
            allowPreemptSelf=ask.allow_preempt_self, allowPreemptOther=ask.allow_preempt_other
        )
        encoded = _characters(si.Allocation(preemptionPolicy=policy))
        if len(amounts) <= _REMEMBERED_BYTES_LIMIT:
            if len(self._shapes) >= _SHAPES_LIMIT:
                self._shapes.clear()
            self._shapes[key] = (ask.resource, amounts, encoded)
        return amounts, encoded

    def _node(self, node_id: str) -> str:
        return _remembered(self._nodes, node_id, _text("\x42", node_id))

    def _application(self, application_id: str) -> str:
        """Return an application and its partition."""
        encoded = _text("\x4a", application_id) + _text("\x52", self._partition)
        return _remembered(self._applications, application_id, encoded)


def _remembered(memory: dict[str, str], name: str, encoded: str) -> str:
    if len(encoded) <= _REMEMBERED_BYTES_LIMIT:
        if len(memory) >= _NAMES_LIMIT:
            memory.clear()
        memory[name] = encoded
    return encoded


def _is_usual(ask: Ask, key: str, identity: str) -> bool:
    """Whether an ask has only the usual fields, with texts of one byte a character."""
    if ask.tags or ask.task_group or ask.placeholder or ask.originator:
        return False
    short = 0 < len(key) < 1_024 and 0 < len(identity) < 1_024
    return short and key.isascii() and identity.isascii()


def _any(ask: Ask, identity: str, known: tuple[str, str, str]) -> str:
    """Return any allocation, encoded.

    ``known``: its resource with the priority, its node and owner, its policy.
    """
    amounts, place, policy = known
    parts = [_text("\x0a", ask.allocation_key), _tags(ask.tags), _text("\x1a", identity), amounts]
    parts += (place, _text("\x5a", ask.task_group))
    if ask.placeholder:
        parts.append("\x60\x01")
    parts.append(_text("\x6a", identity))
    if ask.originator:
        parts.append("\x70\x01")
    parts.append(policy)
    return "".join(parts)


def _tags(tags: Tags) -> str:
    """Return a map of texts; empty values are sent, too."""
    parts: list[str] = []
    for name, text in tags.items():
        inside = (_text("\x0a", name) or "\x0a\x00") + (_text("\x12", text) or "\x12\x00")
        parts.append(f"\x12{_length(len(inside))}{inside}")
    return "".join(parts)


def _text(tag: str, text: str) -> str:
    """Return a text field as characters that stand for bytes; "" for an empty text."""
    if not text:
        return ""
    characters = text.encode().decode("latin-1")
    return f"{tag}{_length(len(characters))}{characters}"


def _length(value: int) -> str:
    return varint(value).decode("latin-1")


def _characters(message: si.Allocation) -> str:
    return message.SerializeToString().decode("latin-1")
