"""The museum of the reference's defects: gangs that lose members, or their start."""

from __future__ import annotations

import pytest

from remuda.core.messages import commands as c
from tests.unit.core.door import leaf, parent
from tests.unit.core.rules.gang import (
    ONE,
    TIMEOUT,
    TWO,
    Gang,
    amounts,
    existing,
    half,
    moving,
    pair,
    swapping,
)


@pytest.mark.remuda_rule("GANG-3", "QUE-16")
def test_a_type_limited_on_one_level_only_does_not_refuse_a_gang() -> None:
    """1.5.1 takes a type that one level does not limit for zero there, and rejects every gang.

    remuda takes it for unlimited there.
    """
    gang = Gang(parent("p", leaf("a", {"vcore": 9}), maximum={"memory": 9}))
    assert gang.submit("app", {"vcore": 5, "memory": 5}, queue="root.p.a") == ["accepted[app]"]


@pytest.mark.remuda_rule("GANG-5")
def test_one_placeholder_too_many_does_not_stop_a_gang() -> None:
    """1.5.1 compares for equality, so a gang with a surplus never has its room complete.

    remuda starts the gang once the room is covered.
    """
    gang = Gang()
    gang.nodes(n1=10)
    gang.submit("app", {"vcore": 3})
    gang.hold("p1", "p2", size=TWO)
    assert "updated[app Starting]" in gang.run()


@pytest.mark.remuda_rule("GANG-26", "GANG-23")
def test_a_soft_gang_keeps_its_real_asks_at_the_timeout() -> None:
    """1.5.1 drops the real asks with the placeholders, and their pods stay pending for ever.

    remuda drops the placeholders only, and places the real asks afterwards.
    """
    gang = half(style="Soft")
    gang.want("real")
    assert "releasedAsk[p2 TIMEOUT]" in gang.run(TIMEOUT)
    assert gang.pending() == {"real": 1}
    gang.timed_out("p1-0")
    assert "new[real-0 n1]" in gang.run()


@pytest.mark.remuda_rule("GANG-23", "EVT-19")
def test_only_asks_that_wait_are_told_to_have_timed_out() -> None:
    """1.5.1 lists every ask of the gang as released, also those that run already.

    remuda lists the asks that still waited.
    """
    gang = half()
    lines = gang.run(TIMEOUT)
    assert [line for line in lines if line.startswith("releasedAsk")] == ["releasedAsk[p2 TIMEOUT]"]


@pytest.mark.remuda_rule("SI-64")
@pytest.mark.parametrize("identity", ["r1-0", ""])
def test_a_confirmation_for_a_real_allocation_is_refused(identity: str) -> None:
    """1.5.1 loses the sums of node and queue, and without an identity it crashes.

    remuda ignores the message.
    """
    gang = Gang()
    gang.nodes(n1=10)
    gang.submit()
    gang.want("r1", group="")
    gang.run()
    assert gang.confirm(identity) == []
    assert gang.runs() == ["r1-0"]
    assert gang.on("n1") == gang.in_queue() == ONE


@pytest.mark.remuda_rule("SI-65", "GANG-18")
def test_a_placeholder_whose_successor_vanished_leaves_nothing_behind() -> None:
    """1.5.1 forgets to return the usage of node and queue if the successor's node is gone.

    remuda treats the confirmation as a plain release.
    """
    gang = moving()
    gang.node("n2", action=c.DECOMISSION)
    gang.confirm("p1-0")
    assert (gang.on("n1"), gang.in_queue(), gang.of_user()) == ({}, {}, {})
    gang.nodes(n3=10)
    assert any(line.startswith("new[r1-") for line in gang.run())


@pytest.mark.remuda_rule("SI-66")
def test_a_placeholder_that_ends_by_itself_still_makes_room_for_its_successor() -> None:
    """1.5.1 cuts the link, never places the real ask, and lets the application complete.

    remuda completes the replacement, because the room is free.
    """
    gang = swapping()
    lines = gang.confirm("p1-0", kind=c.STOPPED_BY_RM)
    assert "new[r1-0 n1]" in lines
    assert gang.state("app") == "Starting"


@pytest.mark.remuda_rule("SI-53")
def test_a_real_ask_that_is_withdrawn_during_the_replacement_does_not_start() -> None:
    """1.5.1 starts it all the same, and relies on the RM to release it once more.

    remuda cancels the replacement, and the placeholder ends without a successor.
    """
    gang = swapping()
    gang.release_ask("app", "r1")
    assert [line for line in gang.confirm("p1-0") if line.startswith("new")] == []
    assert (gang.runs(), gang.on("n1")) == ([], {})


@pytest.mark.remuda_rule("APP-9")
def test_a_gang_of_one_does_not_complete_while_it_is_replaced() -> None:
    """1.5.1 tells Completing during the replacement, and Running again after it.

    remuda counts a replacement as allocated, so the state does not move.
    """
    gang = swapping()
    assert gang.state("app") == "Starting"
    assert gang.confirm("p1-0") == ["new[r1-0 n1]"]
    assert [state for _, state in gang.application().state_log] == ["Accepted", "Starting"]


@pytest.mark.remuda_rule("GANG-20")
def test_a_gang_that_waited_long_still_has_its_whole_time() -> None:
    """1.5.1 takes the age of the application off, so an old gang times out after 1 ms.

    remuda starts the clock with the first placeholder, unless placeholders are recovered.
    """
    gang = Gang()
    gang.nodes(n1=1)
    hours_ago = str(gang.now // 1_000_000_000 - 7200)
    gang.submit("app", TWO, tags={"yunikorn.apache.org/creationTime": hours_ago})
    gang.hold("p1", "p2")
    gang.run()
    assert gang.deadline() == gang.now + TIMEOUT
    assert gang.run(TIMEOUT - 1) == []


@pytest.mark.remuda_rule("GANG-21")
def test_a_placeholder_recovered_after_real_work_times_out_too() -> None:
    """1.5.1 starts no timer in Running, so such a placeholder holds its room for ever.

    remuda starts the timer with the placeholder, whatever came before.
    """
    gang = Gang()
    gang.nodes(n1=10)
    gang.submit("app", TWO)
    gang.recover(existing("app", "r1-0", "n1", "g"))
    gang.recover(existing("app", "p1-0", "n1", "g", placeholder=True))
    assert gang.state("app") in ("Starting", "Running")
    assert "released[p1-0 TIMEOUT]" in gang.run(TIMEOUT)


@pytest.mark.remuda_rule("SI-40")
def test_a_placeholder_without_a_group_is_refused() -> None:
    """1.5.1 answers such a report with an empty message, and counts nothing.

    remuda rejects the allocation by name.
    """
    gang = Gang()
    gang.nodes(n1=10)
    gang.submit()
    assert gang.recover(existing("app", "p1-0", "n1", placeholder=True)) == ["refused[p1]"]


@pytest.mark.remuda_rule("APP-12", "SI-31")
def test_an_application_that_fails_starts_nothing_more() -> None:
    """1.5.1 takes and places asks in Failing, and their allocations outlive the application.

    remuda refuses the asks.
    """
    gang = half(style="Hard")
    gang.run(TIMEOUT)
    assert gang.state("app") == "Failing"
    gang.nodes(n2=10)
    assert gang.want("late", group="") == ["refused[late]"]
    assert gang.run() == []


@pytest.mark.remuda_rule("GANG-15", "SI-112")
def test_an_ask_larger_than_its_placeholders_does_not_wait_for_ever() -> None:
    """1.5.1 never counts a placeholder that was too small as gone, so the ask stays pending.

    remuda ends the placeholder and then places the ask as any other one.
    """
    gang = pair()
    gang.want("large", size={"vcore": 5})
    gang.run()
    gang.timed_out("p1-0", "p2-0")
    assert any(line.startswith("new[large-0 ") for line in gang.run())


@pytest.mark.remuda_rule("GANG-17", "APP-10")
def test_a_confirmation_that_comes_twice_replaces_once() -> None:
    """The reference counted a placeholder twice when it was replaced (YUNIKORN-2953).

    remuda counts one replacement, and ignores the second confirmation.
    """
    gang = swapping()
    assert gang.confirm("p1-0", "p1-0") == ["new[r1-0 n1]"]
    assert gang.data() == (1, 1, 0)
    assert amounts(gang.home().allocated) == ONE
