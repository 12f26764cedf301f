"""Orders to the RM to end allocations, repeated until it confirms (rules: SI-69, SI-37).

An allocation that was ordered out counts as before until then (SI-69).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from remuda.core.accounting.gangs import order_out
from remuda.core.apply.turn import Turn
from remuda.core.messages.commands import TIMEOUT
from remuda.core.messages.effects import AllocationsReleased, ReleasedAllocation
from remuda.core.messages.tags import EXECUTION_TIMEOUT
from remuda.core.model import deadlines
from remuda.core.model.allocation import Allocation
from remuda.core.model.deadlines import MILLISECOND_NS, TIMEOUT_MS_LIMIT, Deadline
from remuda.core.model.partition import Partition

EXECUTION_TIMED_OUT: Final = "execution timeout"


def order(
    turn: Turn,
    partition: Partition,
    allocations: Sequence[Allocation],
    termination_type: int,
    message: str,
) -> None:
    """Tell the RM to end some allocations of one application, in one response.

    Rules: SI-69, SI-77. Emits: AllocationsReleased.
    """
    if not allocations:
        return
    for allocation in allocations:
        order_out(partition, allocation, termination_type)
        allocation.repeated = False
        _await(turn, partition, allocation)
    _tell(turn, partition, allocations, termination_type, message)


def repeat_order(turn: Turn, partition: Partition, deadline: Deadline) -> None:
    """Tell the RM again to end what it did not confirm.

    Rules: SI-69. Emits: AllocationsReleased.
    """
    allocation = deadline.allocation
    if (
        allocation is None
        or allocation.order is not deadline
        or not _is_live(partition, allocation)
    ):
        return
    allocation.repeated = True
    _await(turn, partition, allocation)
    message = f"order repeated: not confirmed in {partition.confirm_timeout_ns // 10**9} s"
    _tell(turn, partition, [allocation], allocation.ordered, message)


def limit_execution(
    turn: Turn, partition: Partition, allocation: Allocation, timeout_ms: int
) -> None:
    """Let an allocation run that long from now, if at all limited. Rules: SI-37 [S]."""
    if 0 < timeout_ms <= TIMEOUT_MS_LIMIT and not allocation.ask.placeholder:
        _limit(turn, partition, allocation, timeout_ms * MILLISECOND_NS)


def end_execution(turn: Turn, partition: Partition, deadline: Deadline) -> None:
    """Order an allocation out that ran too long, again and again until the RM confirms.

    One that was ordered out for another reason is not told twice.
    Rules: SI-37 [S]. Emits: AllocationsReleased.
    """
    allocation = deadline.allocation
    if allocation is None or not _is_live(partition, allocation):
        return
    if allocation.order is None and allocation.ordered in (0, TIMEOUT):
        allocation.repeated = allocation.ordered != 0
        order_out(partition, allocation, TIMEOUT)
        _tell(turn, partition, [allocation], TIMEOUT, EXECUTION_TIMED_OUT)
    _limit(turn, partition, allocation, deadline.period_ns)


def reported_timeout_ms(allocation: Allocation) -> int:
    """Return how long a reported allocation may run, by its tag; 0 for ever. Rules: SI-37."""
    text = allocation.ask.tags.get(EXECUTION_TIMEOUT, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else 0


def _is_live(partition: Partition, allocation: Allocation) -> bool:
    """Whether an allocation still runs; an application of the same ID may have come after its."""
    application = allocation.application
    if partition.applications.get(application.application_id) is not application:
        return False
    return application.allocations.get(allocation.allocation_id) is allocation


def _limit(turn: Turn, partition: Partition, allocation: Allocation, delay_ns: int) -> None:
    """Look at an allocation after that time, and then again after the same time. Rules: SI-37."""
    deadline = turn.set_timer(partition, deadlines.EXECUTION, delay_ns, allocation=allocation)
    deadline.period_ns = delay_ns


def _await(turn: Turn, partition: Partition, allocation: Allocation) -> None:
    """See that an order is repeated should the RM not confirm it. Rules: SI-69 (KV-3)."""
    allocation.order = None
    if partition.confirm_timeout_ns > 0:
        delay_ns = partition.confirm_timeout_ns
        allocation.order = turn.set_timer(
            partition, deadlines.CONFIRM, delay_ns, allocation=allocation
        )


def _tell(
    turn: Turn,
    partition: Partition,
    allocations: Sequence[Allocation],
    termination_type: int,
    message: str,
) -> None:
    released = tuple(
        [released_allocation(partition, each, termination_type, message) for each in allocations]
    )
    turn.emit(AllocationsReleased(partition.rm_id, released))


def released_allocation(
    partition: Partition, allocation: Allocation, termination_type: int, message: str
) -> ReleasedAllocation:
    """Return what the RM is told of one allocation that ends. Rules: SI-77."""
    return ReleasedAllocation(
        partition.name,
        allocation.application.application_id,
        allocation.allocation_id,
        allocation.ask.allocation_key,
        termination_type,
        message,
    )
