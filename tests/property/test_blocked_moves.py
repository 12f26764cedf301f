"""What unblocks waiting asks is what the table of moves says, in workloads that do everything."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from remuda.core.messages import gates
from remuda.core.model.asks import blocked as table
from remuda.core.model.asks.class_queue import ClassQueue, LimitGroup
from remuda.core.model.partition import Partition
from remuda.core.pending import blocking, changes
from tests.package import replaces_functions
from tests.reference.driver import difference
from tests.reference.manners import PATIENT
from tests.reference.workloads import record

# The events that a function of core/pending stands for.
EVENTS: dict[str, tuple[str, ...]] = {
    "new_ask": (table.NEW_ASK,),
    "queue_gained_room": (table.QUEUE_ROOM,),
    "user_gained_room": (table.USER_ROOM,),
    "place_free": (table.APPLICATION_PLACE,),
    "_try_few": (table.NODE_ROOM, table.NODE_FREE),
    "reservable_changed": (table.RESERVABLE_CHANGED,),
    "node_order_changed": (table.RESERVABLE_CHANGED,),
    "_best_node_changed": (table.RESERVABLE_CHANGED,),
    "predicates_changed": (table.PREDICATES_CHANGED,),
    "reserve_again": (table.PREDICATES_CHANGED,),
    "answered": (table.ANSWERED,),
    "pause_over": (table.PAUSE_OVER,),
    "preemption_due": (table.PREEMPTION_DUE,),
    "settings_changed": (table.SETTINGS,),
    "unblock_in_turn": (table.QUEUE_ROOM, table.NODE_ROOM, table.NODE_FREE),
    "_unblock_first": (table.USER_ROOM, table.APPLICATION_PLACE),
}


class Watch:
    """Counts which event unblocked what was blocked for which reason."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.seen: Counter[tuple[str, str]] = Counter()
        for module in (changes, blocking):
            patch.setattr(module, "unblock", self._watched(blocking.unblock))
        group = self._watched(blocking.unblock_group)
        for place in (changes, blocking):
            patch.setattr(place, "unblock_group", group)

    def _watched(self, unblock: Callable[[Partition, Any], None]) -> Callable[..., None]:
        def watched(partition: Partition, waiting: ClassQueue | LimitGroup) -> None:
            if waiting.blocked is not None:
                caller = sys._getframe(1).f_code.co_name
                self.seen[caller, waiting.blocked.reason] += 1
            unblock(partition, waiting)

        return watched


def allowed(caller: str, reason: str) -> bool:
    """Whether the table has a move from a place for what a function stands for."""
    return any(reason in table.UNBLOCKS[event] for event in EVENTS[caller])


@replaces_functions
@pytest.mark.remuda_rule("CYC-25", "LIM-53", "QUE-22")
def test_what_unblocks_is_what_the_table_says(monkeypatch: pytest.MonkeyPatch) -> None:
    watch = Watch(monkeypatch)
    for seed in range(40):
        assert difference(record(seed, moody=bool(seed % 2))) == ""
        assert difference(record(seed, manner=PATIENT)) == ""
    assert [each for each in watch.seen if not allowed(*each)] == []
    often = {
        ("queue_gained_room", gates.QUEUE_QUOTA),
        ("user_gained_room", gates.USER_QUOTA),
        ("place_free", gates.MAX_APPLICATIONS),
        ("_try_few", gates.NODES),
        ("new_ask", gates.NODES),
        ("settings_changed", gates.QUEUE_QUOTA),
    }
    assert often - {each for each, times in watch.seen.items() if times >= 5} == set()


def test_every_reason_to_be_blocked_has_an_event_that_ends_it() -> None:
    ended = {reason for reasons in table.UNBLOCKS.values() for reason in reasons}
    inner = {gates.NOT_SERVED, gates.AWAITING_PREDICATES, gates.POSTPONED}
    halted = {gates.PAUSED, gates.HALTED, gates.ENDING, gates.TURN, gates.BACKOFF}
    assert ended == (set(gates.ORDER) - halted) | inner
