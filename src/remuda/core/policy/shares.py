"""Computes shares: usage divided by a guarantee or maximum.

Rules: chapter 40 section 9, QUE-38.
"""

from __future__ import annotations

from remuda.core.model.queues.queue import Queue
from remuda.core.model.vectors import Vector, amount_at

NO_PART = -1


def fair_share(queue: Queue) -> float:
    """Return the largest ratio of usage to divisor over the types. Rules: RES-52, QUE-38.

    A type with neither a guarantee nor a fair maximum is ignored. A type with divisor 0 counts as
    fully used if any of it is used.
    """
    best = 0.0
    amounts = queue.allocated.amounts
    known = len(amounts)
    assert queue.divisors is not None
    for index, divisor in enumerate(queue.divisors):
        used = amounts[index] if index < known else 0
        if used > 0 and divisor >= 0:
            ratio = used / divisor if divisor else 1.0
            if ratio > best:
                best = ratio
    return best


def fair_maximum(queue: Queue, above: Vector | None) -> Vector | None:
    """Return the fair maximum of a queue from that of its parent. Implements: QUE-38.

    The queue's own maximum replaces the parent's type by type, even if it is larger. If the
    parent's fair maximum is empty, the queue has none either.
    """
    if queue.parent is None:
        return queue.maximum
    if above is None or not above.types or queue.maximum is None:
        return above
    merged = Vector()
    own = queue.maximum
    merged.types = above.types | own.types
    for index in range(merged.types.bit_length()):
        source = own if own.types >> index & 1 else above
        merged.amounts.append(amount_at(source, index))
    return merged


def divisors(queue: Queue, fair_max: Vector | None) -> list[int]:
    """Return the divisor of usage per type: the guarantee, else the fair maximum.

    NO_PART if neither names the type. Rules: RES-52.
    """
    guaranteed = queue.guaranteed
    types = (guaranteed.types if guaranteed else 0) | (fair_max.types if fair_max else 0)
    found: list[int] = []
    for index in range(types.bit_length()):
        if guaranteed is not None and guaranteed.types >> index & 1:
            found.append(max(0, guaranteed.amounts[index]))
        elif fair_max is not None and fair_max.types >> index & 1:
            found.append(max(0, fair_max.amounts[index]))
        else:
            found.append(NO_PART)
    return found


def usage_shares(used: Vector, total: Vector | None) -> tuple[float, ...]:
    """Return the shares of an application, largest first, zeros cut off.

    A type whose total is missing or 0 counts with its raw amount. If no usage is negative,
    comparing two such tuples is the comparison of RES-47.

    Rules: RES-46, RES-47, RES-48.
    """
    totals = total.amounts if total is not None else []
    known = len(totals)
    found: list[float] = []
    for index, amount in enumerate(used.amounts):
        if amount != 0:
            due = totals[index] if index < known else 0
            found.append(amount / due if due else amount)
    if len(found) > 1:
        found.sort(reverse=True)
    return tuple(found)
