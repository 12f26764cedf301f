"""Requests to the RM to release allocations, repeated until it confirms (rules: SI-69, SI-37).

An allocation whose release was requested counts as usage until the RM confirms (SI-69).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from remuda.core.accounting.gangs import note_release_request
from remuda.core.apply.turn import Turn
from remuda.core.messages.commands import TIMEOUT
from remuda.core.messages.effects import AllocationsReleased, ReleasedAllocation
from remuda.core.messages.tags import EXECUTION_TIMEOUT
from remuda.core.model import deadlines
from remuda.core.model.allocation import Allocation
from remuda.core.model.deadlines import MILLISECOND_NS, TIMEOUT_MS_LIMIT, Deadline
from remuda.core.model.partition import Partition

EXECUTION_TIMED_OUT: Final = "execution timeout"


def request_release(
    turn: Turn,
    partition: Partition,
    allocations: Sequence[Allocation],
    termination_type: int,
    message: str,
) -> None:
    """Tell the RM to end some allocations of one application, in one response.

    Implements: SI-69. Rules: SI-77. Emits: AllocationsReleased.
    """
    if not allocations:
        return
    for allocation in allocations:
        note_release_request(partition, allocation, termination_type)
        allocation.repeated = False
        _await(turn, partition, allocation)
    _report(turn, partition, allocations, termination_type, message)


def repeat_release_request(turn: Turn, partition: Partition, deadline: Deadline) -> None:
    """Repeat a release request that the RM did not confirm.

    Rules: SI-69. Emits: AllocationsReleased.
    """
    allocation = deadline.allocation
    if (
        allocation is None
        or allocation.release_timer is not deadline
        or not _is_live(partition, allocation)
    ):
        return
    allocation.repeated = True
    _await(turn, partition, allocation)
    seconds = partition.settings.confirm_timeout_ns // 10**9
    message = f"release requested again: not confirmed in {seconds} s"
    _report(turn, partition, [allocation], allocation.release_type, message)


def limit_execution(
    turn: Turn, partition: Partition, allocation: Allocation, timeout_ms: int
) -> None:
    """Start the execution timeout of an allocation, if it has one. Implements: SI-37 [S]."""
    if 0 < timeout_ms <= TIMEOUT_MS_LIMIT and not allocation.ask.placeholder:
        _limit(turn, partition, allocation, timeout_ms * MILLISECOND_NS)


def end_execution(turn: Turn, partition: Partition, deadline: Deadline) -> None:
    """Request the release of an allocation that ran too long, repeatedly until the RM confirms.

    If its release was requested for another reason already, no second request is sent.
    Rules: SI-37 [S]. Emits: AllocationsReleased.
    """
    allocation = deadline.allocation
    if allocation is None or not _is_live(partition, allocation):
        return
    if allocation.release_timer is None and allocation.release_type in (0, TIMEOUT):
        allocation.repeated = allocation.release_type != 0
        note_release_request(partition, allocation, TIMEOUT)
        _report(turn, partition, [allocation], TIMEOUT, EXECUTION_TIMED_OUT)
    _limit(turn, partition, allocation, deadline.period_ns)


def reported_timeout_ms(allocation: Allocation) -> int:
    """Return how long a reported allocation may run, from its tag; 0: without limit.

    Implements: REC-10. Rules: SI-37.
    """
    text = allocation.ask.tags.get(EXECUTION_TIMEOUT, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else 0


def _is_live(partition: Partition, allocation: Allocation) -> bool:
    """Whether an allocation still runs, in the very application it was made for."""
    application = allocation.application
    if partition.applications.get(application.application_id) is not application:
        return False
    return application.allocations.get(allocation.allocation_id) is allocation


def _limit(turn: Turn, partition: Partition, allocation: Allocation, delay_ns: int) -> None:
    """Set a timer for an allocation that is set again each time it runs out. Rules: SI-37."""
    deadline = turn.set_timer(partition, deadlines.EXECUTION, delay_ns, allocation=allocation)
    deadline.period_ns = delay_ns


def _await(turn: Turn, partition: Partition, allocation: Allocation) -> None:
    """Set the timer that repeats a release request until the RM confirms it.

    Rules: SI-69 (KV-3).
    """
    allocation.release_timer = None
    if partition.settings.confirm_timeout_ns > 0:
        delay_ns = partition.settings.confirm_timeout_ns
        allocation.release_timer = turn.set_timer(
            partition, deadlines.CONFIRM, delay_ns, allocation=allocation
        )


def _report(
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
    """Return the record that tells the RM that one allocation ends. Implements: SI-77."""
    return ReleasedAllocation(
        partition.name,
        allocation.application.application_id,
        allocation.allocation_id,
        allocation.ask.allocation_key,
        termination_type,
        message,
    )
