"""Carries out every decision except the one to place an allocation (``commit.allocate``)."""

from __future__ import annotations

from typing import assert_never

from remuda.core.apply.asks.questions import await_predicates, postpone_predicates
from remuda.core.apply.asks.retries import take_probe
from remuda.core.apply.decisions.commit import (
    block_application_limit,
    block_no_room,
    block_user_quota,
    keep_backed_off,
    keep_node,
)
from remuda.core.apply.decisions.preemption import preempt
from remuda.core.apply.decisions.swaps import swap_placeholders
from remuda.core.apply.turn import Turn
from remuda.core.model.decision import (
    ApplicationLimitReached,
    AwaitPredicates,
    BackedOff,
    NoRoom,
    PostponePredicates,
    Preempt,
    Probe,
    Reserve,
    Swap,
    UnblockInTurn,
    UserQuotaReached,
)
from remuda.core.model.partition import Partition
from remuda.core.pending.blocking import unblock_in_turn


def carry_out(  # noqa: C901 - a case for each kind of decision
    turn: Turn,
    partition: Partition,
    decision: Reserve
    | Preempt
    | NoRoom
    | UserQuotaReached
    | ApplicationLimitReached
    | BackedOff
    | Swap
    | AwaitPredicates
    | PostponePredicates
    | UnblockInTurn
    | Probe,
) -> None:
    """Do what was decided. Implements: CYC-6. Rules: CYC-12, CYC-23, CYC-33, EXT-14, EXT-17."""
    if partition.waiting.gained_room.any and not isinstance(decision, NoRoom | UnblockInTurn):
        partition.waiting.gained_room.unblocked = {}
    match decision:
        case Reserve():
            keep_node(turn, partition, decision)
        case Preempt():
            preempt(turn, partition, decision)
        case NoRoom():
            block_no_room(turn, partition, decision)
        case UserQuotaReached():
            block_user_quota(turn, partition, decision)
        case ApplicationLimitReached():
            block_application_limit(turn, partition, decision)
        case Swap():
            swap_placeholders(turn, partition, decision)
        case UnblockInTurn():
            unblock_in_turn(partition, decision.class_queues)
        case BackedOff():
            keep_backed_off(partition, decision)
        case AwaitPredicates() | PostponePredicates() | Probe():
            _ask(turn, partition, decision)
        case _:
            assert_never(decision)


def _ask(
    turn: Turn, partition: Partition, decision: AwaitPredicates | PostponePredicates | Probe
) -> None:
    """Carry out a decision that depends on an answer of the RM. Rules: EXT-14, EXT-15, EXT-17."""
    if isinstance(decision, AwaitPredicates):
        await_predicates(partition, decision)
    elif isinstance(decision, PostponePredicates):
        postpone_predicates(turn, partition, decision)
    else:
        take_probe(turn, partition, decision)
