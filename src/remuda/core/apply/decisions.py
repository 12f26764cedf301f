"""Carries out all decisions but that to place an allocation, which is ``commit.allocate``."""

from __future__ import annotations

from typing import assert_never

from remuda.core.apply.commit import hold_back, keep_node, let_pause, let_wait, park_lane
from remuda.core.apply.preemption import preempt
from remuda.core.apply.questions import await_answer, postpone
from remuda.core.apply.swaps import swap_placeholders
from remuda.core.apply.turn import Turn
from remuda.core.model.decision import (
    Await,
    Hold,
    Park,
    Pause,
    Postpone,
    Preempt,
    Reserve,
    Swap,
    Wait,
)
from remuda.core.model.partition import Partition


def carry_out(
    turn: Turn,
    partition: Partition,
    decision: Reserve | Preempt | Park | Wait | Hold | Pause | Swap | Await | Postpone,
) -> None:
    """Do what was decided. Rules: CYC-6, CYC-12, CYC-23, CYC-33, EXT-14, EXT-17."""
    match decision:
        case Reserve():
            keep_node(turn, partition, decision)
        case Preempt():
            preempt(turn, partition, decision)
        case Park():
            park_lane(turn, partition, decision)
        case Wait():
            let_wait(turn, partition, decision)
        case Hold():
            hold_back(turn, partition, decision)
        case Swap():
            swap_placeholders(turn, partition, decision)
        case Pause():
            let_pause(partition, decision)
        case Await():
            await_answer(partition, decision)
        case Postpone():
            postpone(turn, partition, decision)
        case _:
            assert_never(decision)
