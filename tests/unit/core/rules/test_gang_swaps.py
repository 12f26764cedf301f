"""What may come between the order of a replacement and its confirmation (SI-53, chapter 70 section
7)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from remuda.core.messages import commands as c
from tests.unit.core.door import MINUTE, leaf
from tests.unit.core.rules.gang import ONE, TWO, Gang, amounts, heard, moving, pair, swapping

REPLACED = c.PLACEHOLDER_REPLACED
NO_ANSWER = (c.TIMEOUT, c.PREEMPTED_BY_SCHEDULER)


@pytest.mark.remuda_rule("SI-62", "SI-60", "SI-64", "GANG-27")
def test_a_confirmation_that_comes_twice_counts_once() -> None:
    gang = swapping()
    assert gang.confirm("p1-0", "p1-0") == ["new[r1-0 n1]"]
    before = gang.totals()
    assert gang.confirm("p1-0") == []
    assert gang.totals() == before
    assert gang.data() == (1, 1, 0)


@pytest.mark.remuda_rule("SI-66", "SI-60")
@pytest.mark.parametrize("kind", [*NO_ANSWER, c.STOPPED_BY_RM, c.UNKNOWN_TERMINATION_TYPE])
@pytest.mark.parametrize("where", [swapping, moving])
def test_whatever_ends_the_placeholder_completes_the_swap(
    kind: int, where: Callable[[], Gang]
) -> None:
    gang = where()
    node = "n1" if where is swapping else "n2"
    lines = gang.confirm("p1-0", kind=kind)
    assert [line for line in lines if line.startswith("new")] == [f"new[r1-0 {node}]"]
    assert not [line for line in lines if line.startswith("updated")]
    if kind in NO_ANSWER:
        assert len(lines) == 1
    assert (gang.data(), gang.runs(), gang.holds()) == ((1, 1, 0), ["r1-0"], [])
    assert gang.confirm("p1-0") == []
    assert gang.in_queue() == gang.on(node) == ONE


@pytest.mark.remuda_rule("SI-66", "SI-61")
def test_the_key_of_the_placeholder_is_enough_to_end_it() -> None:
    gang = swapping()
    assert "new[r1-0 n1]" in heard(gang.release("app", key="p1"))
    assert gang.runs() == ["r1-0"]


@pytest.mark.remuda_rule("SI-64")
@pytest.mark.parametrize("identity", ["r1-0", "", "unheard-of"])
def test_only_a_placeholder_can_be_replaced(identity: str) -> None:
    gang = pair()
    gang.want("r1")
    gang.run()
    gang.confirm("p1-0")
    before = gang.totals()
    assert gang.confirm(identity) == []
    assert gang.totals() == before
    assert (gang.runs(), gang.holds(), gang.data()) == (["r1-0"], ["p2-0"], (2, 1, 0))


@pytest.mark.remuda_rule("SI-65", "GANG-35", "SI-112")
def test_a_replacement_without_anything_to_replace_it_is_a_plain_end() -> None:
    gang = pair()
    assert gang.confirm("p2-0") == []
    assert (gang.holds(), gang.data()) == (["p1-0"], (2, 0, 1))
    for counted in (gang.in_queue(), gang.in_queue("root"), gang.of_user()):
        assert counted == ONE
    assert gang.on("n2") == {}
    assert gang.home().placeholders == 1


@pytest.mark.remuda_rule("SI-53", "SI-65", "APP-8", "GANG-33")
@pytest.mark.parametrize("key", ["r1", ""])
def test_who_releases_the_real_ask_cancels_the_swap(key: str) -> None:
    gang = moving()
    assert heard(gang.release_ask("app", key)) == []
    assert gang.on("n2") == {}  # the room there is free at once
    assert gang.on("n1") == gang.in_queue() == ONE
    old = gang.allocation("p1-0")
    assert (old.release_type, old.replacement) == (REPLACED, "")
    assert gang.state("app") == "Starting"
    assert gang.confirm("p1-0") == ["updated[app Completing]"]
    assert (gang.on("n1"), gang.in_queue(), gang.of_user()) == ({}, {}, {})
    assert gang.data() == (1, 0, 1)
    assert gang.run() == []


@pytest.mark.remuda_rule("SI-53", "GANG-10")
def test_a_placeholder_that_is_ordered_out_is_not_chosen_again() -> None:
    gang = pair()
    gang.want("r1")
    gang.run()
    gang.release_ask("app", "r1")
    gang.want("r2", "r3")
    assert gang.run() == ["released[p2-0 REPLACED]"]
    assert gang.confirm("p1-0") == []
    assert gang.data() == (2, 0, 1)
    assert gang.run() == []  # p2 is still there to wait for
    assert gang.confirm("p2-0") == ["new[r2-0 n2]"]
    assert gang.run()[-1].startswith("new[r3-0 ")


@pytest.mark.remuda_rule("SI-53", "SI-61")
def test_the_rm_cannot_stop_what_it_was_never_told_of() -> None:
    gang = swapping()
    assert gang.confirm("r1-0", kind=c.STOPPED_BY_RM) == []
    assert gang.confirm("r1-0", kind=c.TIMEOUT) == []
    assert gang.confirm("p1-0") == ["new[r1-0 n1]"]


@pytest.mark.remuda_rule("SI-34", "SI-33", "GANG-14")
def test_the_ask_that_is_sent_again_meanwhile_changes_nothing() -> None:
    gang = swapping()
    gang.want("r1")
    assert (gang.pending(), gang.run()) == ({}, [])
    gang.want("r1", max_allocations=2)
    assert gang.pending() == {"r1": 1}
    assert gang.run() == []
    assert gang.confirm("p1-0") == ["new[r1-0 n1]"]
    assert gang.run() == ["updated[app Running]", "new[r1-1 n2]"]


@pytest.mark.remuda_rule("SI-29", "GANG-19")
@pytest.mark.parametrize("where", [swapping, moving])
def test_a_removed_application_leaves_nothing_on_the_target(where: Callable[[], Gang]) -> None:
    gang = where()
    lines = [line for line in heard(gang.remove("app")) if line.startswith(("released", "new"))]
    assert lines == ["released[p1-0 STOPPED]"]
    assert (gang.on("n1"), gang.on("n2"), gang.in_queue(), gang.of_user()) == ({}, {}, {}, {})
    assert gang.queue("root").running_applications == 0
    assert (gang.home().total_containers, gang.home().placeholders) == (0, 0)
    assert gang.confirm("p1-0") == []
    assert gang.run(60 * MINUTE) == []


@pytest.mark.remuda_rule("SI-29", "APP-19")
def test_a_removed_gang_takes_everything_with_it() -> None:
    gang = pair(leaf("a"))
    gang.want("r1")
    gang.run()
    gang.confirm("p1-0")
    gang.hold("p3", "p4", size={"vcore": 100})
    gang.want("r2")
    gang.run()
    lines = heard(gang.remove("app"))
    gone = sorted(line for line in lines if line.startswith("released"))
    assert gone == ["released[p2-0 STOPPED]", "released[r1-0 STOPPED]"]
    root = gang.queue("root")
    assert (amounts(root.allocated), amounts(root.pending)) == ({}, {})
    assert root.running_applications == 0
    assert gang.apps() == {}
    assert gang.home().placeholders == 0


@pytest.mark.remuda_rule("GANG-19", "SI-61", "SI-29")
@pytest.mark.parametrize("where", [swapping, moving])
def test_the_end_of_all_allocations_undoes_a_swap(where: Callable[[], Gang]) -> None:
    gang = where()
    assert gang.confirm("", kind=c.STOPPED_BY_RM)[-1] == "released[p1-0 STOPPED]"
    assert (gang.on("n1"), gang.on("n2"), gang.in_queue(), gang.of_user()) == ({}, {}, {}, {})
    assert gang.holds() == []
    # The ask was never released, so what it asks for is placed in the end.
    gang.send(c.UpdateNodes(gang.rm))
    assert [line for line in gang.run() if line.startswith("new[r1-")]
    assert gang.in_queue() == ONE


@pytest.mark.remuda_rule("SI-60", "SI-63", "GANG-33", "SI-112", "PRE-38")
@pytest.mark.parametrize(
    "kind, answer",
    [
        (c.STOPPED_BY_RM, ["released[p1-0 STOPPED]"]),
        (c.UNKNOWN_TERMINATION_TYPE, ["released[p1-0 STOPPED]"]),
        (c.TIMEOUT, []),
        (c.PREEMPTED_BY_SCHEDULER, []),
    ],
)
def test_a_placeholder_that_ends_otherwise_is_timed_out(kind: int, answer: list[str]) -> None:
    gang = pair()
    assert gang.confirm("p1-0", kind=kind) == answer
    assert (gang.data(), gang.holds()) == ((2, 0, 1), ["p2-0"])
    gang.want("r1", "r2")
    gang.run()
    gang.confirm("p2-0")
    # The second real one is free: its group has no placeholder left.
    assert gang.run()[-1].startswith("new[r2-0 ")


@pytest.mark.remuda_rule("SI-67", "SI-62", "SI-69")
def test_the_rm_may_end_what_was_ordered_out_before_it_confirms() -> None:
    gang = pair()
    gang.want("r1", size=TWO)
    assert gang.run() == ["released[p1-0 TIMEOUT]", "released[p2-0 TIMEOUT]"]
    assert gang.confirm("p1-0", kind=c.STOPPED_BY_RM) == ["released[p1-0 STOPPED]"]
    assert gang.data() == (2, 0, 1)
    assert gang.timed_out("p1-0") == []
    assert gang.data() == (2, 0, 1)
    assert gang.in_queue() == ONE


@pytest.mark.remuda_rule("SI-69", "GANG-7")
def test_what_is_ordered_out_counts_until_it_is_confirmed() -> None:
    gang = pair()
    gang.want("r1", size=TWO)
    gang.run()
    assert gang.in_queue() == gang.of_user() == {"vcore": 2}
    assert (gang.on("n1"), gang.on("n2")) == (ONE, ONE)
    assert [a.release_type for a in gang.application().allocations] == [c.TIMEOUT, c.TIMEOUT]
    assert gang.home().placeholders == 2


@pytest.mark.remuda_rule("SI-34", "GANG-18")
def test_an_ask_whose_swap_was_undone_still_wants_it_when_it_is_sent_again() -> None:
    gang = swapping()
    gang.node("n1", action=c.DECOMISSION)
    assert gang.pending() == {"r1": 1}
    gang.want("r1")
    assert gang.pending() == {"r1": 1}
    lines = [line for line in gang.run() if line.startswith("new")]
    assert len(lines) == 1
    gang.want("r1")
    assert (gang.pending(), gang.run()) == ({}, [])


@pytest.mark.remuda_rule("GANG-17", "REST-135")
def test_what_a_placeholder_held_stays_the_most_an_application_ever_had() -> None:
    gang = swapping(size={"vcore": 3}, real=ONE)
    gang.confirm("p1-0")
    assert amounts(gang.application().used) == ONE
    assert amounts(gang.application().max_used) == {"vcore": 3}
