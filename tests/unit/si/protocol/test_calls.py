"""Calls in flight: IDs, budgets, what comes too late."""

from __future__ import annotations

from itertools import count

import pytest

from remuda.si.protocol.calls import Call, CallLoad, CallTable


def call(table: CallTable[str], what: str, due_ns: int = 500) -> int:
    call_id = table.next_id()
    table.put(Call(call_id, 10 + call_id, due_ns, what))
    return call_id


@pytest.mark.remuda_rule("EXT-5")
def test_answers_may_come_in_any_order_and_name_their_call() -> None:
    table: CallTable[str] = CallTable(CallLoad(8))
    first, second = call(table, "a"), call(table, "b")
    answered = table.answered(second)
    assert answered is not None
    assert (answered.what, answered.number) == ("b", 12)
    assert table.answered(second) is None
    assert table.answered(99) is None
    again = table.answered(first)
    assert again is not None
    assert again.what == "a"


@pytest.mark.remuda_rule("EXT-6")
def test_only_so_many_calls_are_in_flight() -> None:
    table: CallTable[str] = CallTable(CallLoad(2))
    first = call(table, "a")
    assert not table.load.full()
    call(table, "b")
    assert table.load.full()
    table.answered(first)
    assert not table.load.full()


@pytest.mark.remuda_rule("EXT-17")
def test_a_call_whose_budget_has_run_out_is_over() -> None:
    table: CallTable[str] = CallTable(CallLoad(8))
    first = call(table, "a", due_ns=500)
    call(table, "b", due_ns=501)
    assert table.due_ns() == 500
    assert table.overdue(499) == []
    assert [each.what for each in table.overdue(500)] == ["a"]
    assert table.answered(first) is None
    assert table.due_ns() == 501


@pytest.mark.remuda_rule("EXT-17")
def test_ten_overdue_calls_in_a_row_are_too_many() -> None:
    table: CallTable[str] = CallTable(CallLoad(100))
    for number in range(9):
        call(table, f"{number}")
    table.overdue(500)
    assert not table.load.deaf()
    answered = call(table, "answered")
    table.answered(answered)
    for number in range(9):
        call(table, f"{number}")
    table.overdue(500)
    assert not table.load.deaf()
    call(table, "one more")
    table.overdue(500)
    assert table.load.deaf()


@pytest.mark.remuda_rule("EXT-10")
def test_all_calls_are_over_when_their_stream_is() -> None:
    table: CallTable[str] = CallTable(CallLoad(8))
    first = call(table, "a")
    call(table, "b")
    assert [each.what for each in table.drop()] == ["a", "b"]
    assert (len(table), table.due_ns(), table.answered(first)) == (0, None, None)
    assert call(table, "c") == 3


@pytest.mark.remuda_rule("EXT-6", "EXT-17")
def test_calls_of_two_kinds_count_together_if_they_are_to() -> None:
    load = CallLoad(2)
    nodes: CallTable[str] = CallTable(load)
    victims: CallTable[str] = CallTable(load, count(100))
    first = call(nodes, "a")
    call(victims, "b")
    assert load.full()
    nodes.answered(first)
    assert not load.full()
    victims.drop()
    assert load.in_flight == 0
    for _ in range(5):
        call(nodes, "c")
        call(victims, "d")
        nodes.overdue(500)
        victims.overdue(500)
    assert (load.in_flight, load.deaf()) == (0, True)
    victims.answered(call(victims, "e"))
    assert not load.deaf()
