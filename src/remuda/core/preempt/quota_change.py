"""What has to go to bring a queue down to its maximum (rules: PRE-67 to PRE-71).

How much is too much, how far guarantees let it go, and which part of it each leaf below has to
give. Who goes for it is chosen in ``quota_victims``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias, final

from remuda.core.model import states
from remuda.core.model.partition import Partition
from remuda.core.model.queue import Queue
from remuda.core.model.vectors import Vector, amount_at

# Amounts above zero by type index.
Part: TypeAlias = Mapping[int, int]

NOTHING: Final[Part] = {}


@final
class Share:
    """What a queue has to give up of what its own applications hold."""

    __slots__ = ("part", "queue")

    def __init__(self, queue: Queue, part: Part) -> None:
        self.queue = queue
        self.part = part


def delay_of(partition: Partition, queue: Queue) -> int:
    """Return how long a queue may stay above a changed maximum, in nanoseconds; 0: for ever.

    For ever where it is switched off, in root (its maximum is the size of the cluster), in dynamic
    queues and in those that are configured no more. Rules: PRE-63, PRE-64.
    """
    if not partition.config.quota_preemption or queue.parent is None:
        return 0
    if not queue.managed or queue.state == states.DRAINING:
        return 0
    return queue.settings.quota_preemption_delay_ns


def excess(queue: Queue) -> Part:
    """Return by how much what stays in a queue is above its maximum; victims are about to go.

    Types that the maximum does not name are unlimited. Rules: PRE-67.
    """
    maximum = queue.maximum
    if maximum is None or queue.parent is None:
        return NOTHING
    return _above(queue, maximum, _types_of(maximum))


def allowed(queue: Queue, wanted: Part) -> Part:
    """Return how much of an amount may go before this queue or one above is at its guarantee.

    It is the least that any of them has above it; one without guarantee of a type allows all.
    Rules: PRE-68 (Ours).
    """
    left = dict(wanted)
    for level in queue.path_up:
        for index in list(left):
            if names(level.guaranteed, index):
                left[index] = min(left[index], _spare_of(level, index))
    return _positive(left)


def distribute(queue: Queue, wanted: Part) -> list[Share]:
    """Return what each queue in and below one has to give, depth first, children by name.

    In proportion to what they hold above guarantees: their own, and those below that keep it. A
    type without guarantee is above it. Shares are whole and add up to what is wanted, or to all
    that guarantees leave. Rules: PRE-69 (Ours). Cost: O(queues below x types).
    """
    spare: dict[str, dict[int, int]] = {}
    _find_spare(queue, wanted, spare)
    shares: list[Share] = []
    _split(queue, wanted, spare, shares)
    return shares


def portions(amount: int, weights: Sequence[int]) -> list[int]:
    """Return whole parts of an amount in proportion to weights; none is above its weight.

    What rounding down leaves goes to the largest remainders, among equal ones to the first.
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
    """Return what stays allocated of a type when all victims are gone. Rules: PRE-67."""
    return amount_at(queue.allocated, index) - amount_at(queue.preempting, index)


def names(limit: Vector | None, index: int) -> bool:
    """Whether a maximum or guarantee has a value for a type, zero included. Rules: PRE-85."""
    return limit is not None and limit.types >> index & 1 == 1


def _find_spare(queue: Queue, wanted: Part, found: dict[str, dict[int, int]]) -> None:
    """Find for a queue and all below it what can go without taking one below its guarantee."""
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
    """Distribute an amount over the children and what the queue's own applications hold."""
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
    """Return what stays of the queue's own applications; a former parent has children, too."""
    return stays(queue, index) - sum([stays(child, index) for child in queue.children.values()])


def _spare_of(queue: Queue, index: int) -> int:
    """Return how much a queue has above a guarantee that it names."""
    assert queue.guaranteed is not None
    return max(0, stays(queue, index) - amount_at(queue.guaranteed, index))


def _above(queue: Queue, limit: Vector, indexes: Sequence[int]) -> Part:
    return _positive({index: stays(queue, index) - amount_at(limit, index) for index in indexes})


def _types_of(vector: Vector) -> list[int]:
    return [index for index in range(vector.types.bit_length()) if vector.types >> index & 1]


def _positive(part: Part) -> dict[int, int]:
    return {index: amount for index, amount in part.items() if amount > 0}
