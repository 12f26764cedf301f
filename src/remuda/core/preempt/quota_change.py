"""Computes the amounts that a quota preemption must free (rules: chapter 60 part D).

That is the excess, limited by guarantees, and the share of it that each leaf below must give up.
``quota_victims`` chooses the victims.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias, final

from remuda.core.model import states
from remuda.core.model.partition import Partition
from remuda.core.model.queues.queue import Queue
from remuda.core.model.vectors import Vector, amount_at

# Amounts above zero by type index.
Part: TypeAlias = Mapping[int, int]

NOTHING: Final[Part] = {}


@final
class Share:
    """The amounts that a queue's own applications must give up."""

    __slots__ = ("part", "queue")

    def __init__(self, queue: Queue, part: Part) -> None:
        self.queue = queue
        self.part = part


def delay_of(partition: Partition, queue: Queue) -> int:
    """Return how long a queue may exceed a changed maximum, in nanoseconds; 0: for ever.

    0 if quota preemption is switched off, for root (its maximum is the size of the cluster), for
    dynamic queues and for queues that are not configured any more. Rules: PRE-63, PRE-64.
    """
    if not partition.settings.config.quota_preemption or queue.parent is None:
        return 0
    if not queue.managed or queue.state == states.DRAINING:
        return 0
    return queue.settings.quota_preemption_delay_ns


def excess(queue: Queue) -> Part:
    """Return how far a queue exceeds its maximum after all victims end.

    Types that the maximum does not name are unlimited. Implements: PRE-67.
    """
    maximum = queue.maximum
    if maximum is None or queue.parent is None:
        return NOTHING
    return _above(queue, maximum, _types_of(maximum))


def allowed(queue: Queue, wanted: Part) -> Part:
    """Return how much may be preempted before this queue or an ancestor is at its guarantee.

    That is the least surplus over a guarantee on the path. A queue without a guarantee for a type
    does not limit it.
    Implements: PRE-68 (Ours).
    """
    left = dict(wanted)
    for level in queue.path_up:
        for index in list(left):
            if names(level.guaranteed, index):
                left[index] = min(left[index], _spare_of(level, index))
    return _positive(left)


def distribute(queue: Queue, wanted: Part) -> list[Share]:
    """Return the share of a queue and of each queue below it, depth first, children by name.

    Shares are in proportion to usage above guarantees: the queue's own guarantee and those of
    queues below it. All usage of a type without a guarantee counts as above it. Shares are whole
    numbers and add up to ``wanted``, or to all that guarantees leave. Implements: PRE-69 (Ours).
    Cost: O(queues below x types).
    """
    spare: dict[str, dict[int, int]] = {}
    _find_spare(queue, wanted, spare)
    shares: list[Share] = []
    _split(queue, wanted, spare, shares)
    return shares


def portions(amount: int, weights: Sequence[int]) -> list[int]:
    """Split an amount into whole parts in proportion to weights; no part exceeds its weight.

    The rest after rounding down goes to the largest remainders, among equal ones to the first.
    Rules: PRE-69 (Ours).
    """
    total = sum(weights)
    amount = min(amount, total)
    if amount <= 0:
        return [0] * len(weights)
    found = [amount * weight // total for weight in weights]
    left = amount - sum(found)
    places = sorted(
        range(len(weights)), key=lambda place: (-(amount * weights[place] % total), place)
    )
    for place in places[:left]:
        found[place] += 1
    return found


def stays(queue: Queue, index: int) -> int:
    """Return the usage of a type after all victims end. Rules: PRE-67."""
    return amount_at(queue.allocated, index) - amount_at(queue.preempting, index)


def names(limit: Vector | None, index: int) -> bool:
    """Whether a maximum or guarantee has a value for a type, zero included. Rules: PRE-85."""
    return limit is not None and limit.types >> index & 1 == 1


def _find_spare(queue: Queue, wanted: Part, found: dict[str, dict[int, int]]) -> None:
    """Find for a queue and all queues below it what guarantees allow to preempt."""
    for child in queue.children.values():
        _find_spare(child, wanted, found)
    own: dict[int, int] = {}
    for index in wanted:
        below = sum([found[child.path][index] for child in queue.children.values()])
        own[index] = below + _own(queue, index)
        if names(queue.guaranteed, index):
            own[index] = min(own[index], _spare_of(queue, index))
    found[queue.path] = own


def _split(queue: Queue, wanted: Part, spare: Mapping[str, Part], shares: list[Share]) -> None:
    """Distribute an amount over the children and the queue's own applications."""
    if not wanted:
        return
    children = [queue.children[name] for name in sorted(queue.children)]
    parts: list[dict[int, int]] = [{} for _ in range(len(children) + 1)]
    for index, amount in wanted.items():
        weights = [_own(queue, index), *[spare[child.path][index] for child in children]]
        for part, portion in zip(parts, portions(amount, weights), strict=True):
            part[index] = portion
    own = _positive(parts[0])
    if own:
        shares.append(Share(queue, own))
    for child, part in zip(children, parts[1:], strict=True):
        _split(child, _positive(part), spare, shares)


def _own(queue: Queue, index: int) -> int:
    """Return the usage of the queue's own applications after all victims end."""
    return stays(queue, index) - sum([stays(child, index) for child in queue.children.values()])


def _spare_of(queue: Queue, index: int) -> int:
    """Return the usage of a queue above its guarantee of a type, which it must have."""
    assert queue.guaranteed is not None
    return max(0, stays(queue, index) - amount_at(queue.guaranteed, index))


def _above(queue: Queue, limit: Vector, indexes: Sequence[int]) -> Part:
    return _positive({index: stays(queue, index) - amount_at(limit, index) for index in indexes})


def _types_of(vector: Vector) -> list[int]:
    return [index for index in range(vector.types.bit_length()) if vector.types >> index & 1]


def _positive(part: Part) -> dict[int, int]:
    return {index: amount for index, amount in part.items() if amount > 0}
