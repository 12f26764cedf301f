"""Items of a question about victims as a session sends and gets them: cut, grouped, checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from remuda.core.ports import PreemptionItem, PreemptionVerdict
from remuda.si.pb import si_pb2 as si

# What a call, an item, and a victim of it take besides their texts, at most.
_CALL_BYTES: Final = 64
_ITEM_BYTES: Final = 64
_VICTIM_BYTES: Final = 8


def args_of(item: PreemptionItem, limit: int) -> si.PreemptionPredicatesArgs | None:
    """Return an item as it is sent, in a call of at most ``limit`` bytes.

    If there are too many victims, the last ones are left out; the RM may answer that the others do
    not suffice. None: not even the needed victims fit. Rules: EXT-8, EXT-18.
    """
    left = limit - _CALL_BYTES - _ITEM_BYTES
    left -= len(item.allocation_key.encode()) + len(item.node_id.encode())
    count = 0
    for victim in item.victims:
        left -= len(victim.encode()) + _VICTIM_BYTES
        if left < 0:
            break
        count += 1
    if count <= item.start_index:
        return None
    return si.PreemptionPredicatesArgs(
        allocationKey=item.allocation_key,
        nodeID=item.node_id,
        preemptAllocationKeys=item.victims[:count],
        startIndex=item.start_index,
    )


def groups(items: Mapping[int, si.PreemptionPredicatesArgs], limit: int) -> list[tuple[int, ...]]:
    """Return the places of items in groups, in their order; each fits a call. Rules: EXT-8."""
    found: list[list[int]] = []
    left = 0
    for place, args in items.items():
        size = args.ByteSize() + _ITEM_BYTES
        if size > left:
            found.append([])
            left = limit - _CALL_BYTES
        found[-1].append(place)
        left -= size
    return [tuple(group) for group in found]


def verdict_of(
    args: si.PreemptionPredicatesArgs, response: si.PreemptionPredicatesResponse
) -> PreemptionVerdict:
    """Return the verdict of a response; an index beyond the victims is a failure.

    Implements: PRE-27. Rules: SI-81.
    """
    in_list = 0 <= response.index < len(args.preemptAllocationKeys)
    if response.success and in_list:
        return PreemptionVerdict(True, response.index)
    return PreemptionVerdict(False)
