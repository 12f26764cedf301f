"""The application state machine and its timers (chapter 80, section 1)."""

from __future__ import annotations

import pytest

from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from remuda.core.messages import queries as q
from tests.unit.core.door import DAY, MINUTE, SECOND, START, Caller, answers, leaf, of, states

ONE = {"vcore": 1}


def through(door: Caller, state: str) -> None:
    """Bring the application into a state."""
    if state == "New":
        return
    door.ask("app", "k", ONE)
    if state == "Completing":
        door.release_ask("app", "k")
    if state in ("Starting", "Running"):
        door.place()
    if state == "Running":
        door.ask("app", "k", ONE, 2)
        door.place()
    assert door.state("app") == state


@pytest.mark.remuda_rule("APP-1", "APP-4", "APP-6", "SI-12")
def test_the_usual_life(door: Caller) -> None:
    assert door.state("app") == "New"
    assert states(door.ask("app", "k", ONE, 3)) == [("app", "Accepted")]
    assert states(door.step(1)) == [("app", "Starting")]
    assert states(door.step(1)) == [("app", "Running")]
    assert states(door.step(1)) == []
    assert states(door.release("app")) == [("app", "Completing")]
    assert states(door.wait(30 * SECOND)) == [("app", "Completed")]
    assert door.apps() == {}
    assert states(door.wait(3 * DAY)) == [("app", "Expired")]


@pytest.mark.remuda_rule("APP-1", "SI-78")
def test_updates_carry_manager_and_time(door: Caller) -> None:
    door.now += 5
    (update,) = of(door.ask("app", "k", ONE), e.ApplicationUpdated)
    assert (update.rm_id, update.application_id) == ("rm", "app")
    assert update.timestamp_ns == START + 5


@pytest.mark.remuda_rule("APP-1", "REST-77")
def test_the_log_holds_every_state_entered_but_new(door: Caller) -> None:
    door.now += 1
    door.ask("app", "k", ONE)
    door.now += 1
    door.place()
    log = [(time - START, state) for time, state in door.apps()["app"].state_log]
    assert log == [(1, "Accepted"), (2, "Starting")]


@pytest.mark.remuda_rule("APP-1", "REST-77")
def test_the_log_keeps_the_newest_thousand_states(door: Caller) -> None:
    entered: list[tuple[int, str]] = []
    for _ in range(1_500):
        door.now += 1
        found = door.ask("app", "k", ONE) + door.release_ask("app", "k")
        entered += [(u.timestamp_ns, u.state) for u in of(found, e.ApplicationUpdated)]
    assert len(entered) == 3_000
    assert list(door.apps()["app"].state_log) == entered[-1_000:]
    assert entered[-1] == (START + 1_500, "Completing")


@pytest.mark.remuda_rule("APP-16", "APP-4")
def test_starting_lasts_five_minutes(door: Caller) -> None:
    through(door, "Starting")
    assert states(door.wait(5 * MINUTE - 1)) == []
    assert states(door.wait(1)) == [("app", "Running")]


@pytest.mark.remuda_rule("APP-16")
def test_the_tag_ends_starting_at_once(door: Caller) -> None:
    door.app("quick", tags={"application.stateaware.disable": "yes"})
    door.ask("quick", "q", ONE)
    door.step()
    door.step()
    assert door.state("quick") == "Running"


@pytest.mark.remuda_rule("APP-16", "CYC-3")
@pytest.mark.parametrize("count", [1, 2, 5])
def test_the_tag_acts_alike_however_a_run_is_cut_into_steps(count: int) -> None:
    def effects(limit: int) -> list[e.Effect]:
        door = Caller(leaf("a"))
        door.node("n1", {"vcore": 10})
        for name in ("quick", "slow", "quicker"):
            disabled = {} if name == "slow" else {"application.stateaware.disable": "true"}
            door.app(name, tags=disabled)
            door.ask(name, name, ONE, count)
        found = [effect for _ in range(20) for effect in door.step(limit)]
        assert not door.scheduler.has_work()
        return found

    whole = effects(100)
    assert effects(1) == whole
    assert effects(2) == whole
    assert ("quick", "Running") in states(whole)
    assert (("slow", "Running") in states(whole)) is (count > 1)


@pytest.mark.remuda_rule("APP-16", "APP-6")
def test_the_tag_ends_starting_before_the_next_decision() -> None:
    door = Caller(leaf("a"))
    door.node("n1", {"vcore": 10})
    door.app("quick", tags={"application.stateaware.disable": "yes"})
    door.ask("quick", "q", ONE, 2)
    found = answers(door.step())
    names = ["ApplicationUpdated", "AllocationNew", "ApplicationUpdated", "AllocationNew"]
    assert [type(x).__name__ for x in found] == names
    assert states(found) == [("quick", "Starting"), ("quick", "Running")]


@pytest.mark.remuda_rule("APP-2", "APP-17")
def test_leaving_a_state_cancels_its_timer(door: Caller) -> None:
    through(door, "Starting")
    door.wait(4 * MINUTE)
    door.ask("app", "more", ONE)
    assert states(door.step()) == [("app", "Running")]
    assert states(door.wait(2 * MINUTE)) == []
    door.release("app")
    door.wait(20 * SECOND)
    assert states(door.ask("app", "late", ONE)) == [("app", "Running")]
    assert states(door.wait(11 * SECOND)) == []
    door.release_ask("app", "late")
    assert states(door.wait(29 * SECOND)) == []
    assert states(door.wait(1 * SECOND)) == [("app", "Completed")]


@pytest.mark.remuda_rule("APP-2", "APP-17")
def test_the_timer_of_starting_does_not_end_completing(door: Caller) -> None:
    through(door, "Starting")
    door.wait(5 * MINUTE - 10 * SECOND)
    assert states(door.release("app")) == [("app", "Completing")]
    assert states(door.wait(20 * SECOND)) == []
    assert states(door.wait(10 * SECOND - 1)) == []
    assert states(door.wait(1)) == [("app", "Completed")]


@pytest.mark.remuda_rule("APP-2", "APP-17")
def test_an_earlier_completing_does_not_end_a_later_one(door: Caller) -> None:
    through(door, "Completing")
    door.wait(20 * SECOND)
    assert states(door.ask("app", "more", ONE)) == [("app", "Running")]
    assert states(door.release_ask("app")) == [("app", "Completing")]
    assert states(door.wait(29 * SECOND)) == []
    assert states(door.wait(1 * SECOND)) == [("app", "Completed")]


@pytest.mark.remuda_rule("APP-17", "APP-18", "SI-22")
def test_timers_of_an_ended_application_leave_its_successor_alone(door: Caller) -> None:
    through(door, "Starting")
    door.wait(5 * MINUTE - 5 * SECOND)
    door.remove("app")
    door.app("app")
    through(door, "Starting")
    assert states(door.wait(5 * MINUTE - 1)) == []
    assert states(door.wait(1)) == [("app", "Running")]


@pytest.mark.remuda_rule("APP-4", "APP-5")
@pytest.mark.parametrize(
    "state, after",
    [
        ("New", "Accepted"),
        ("Accepted", "Accepted"),
        ("Starting", "Starting"),
        ("Running", "Running"),
        ("Completing", "Running"),
    ],
)
def test_an_ask_in_each_state(door: Caller, state: str, after: str) -> None:
    through(door, state)
    found = states(door.ask("app", "more", ONE))
    assert found == ([("app", after)] if after != state else [])
    assert door.state("app") == after


@pytest.mark.remuda_rule("APP-4", "APP-6")
@pytest.mark.parametrize(
    "state, after",
    [
        ("New", "Starting"),
        ("Accepted", "Starting"),
        ("Starting", "Running"),
        ("Running", "Running"),
        ("Completing", "Running"),
    ],
)
def test_a_real_allocation_in_each_state(door: Caller, state: str, after: str) -> None:
    through(door, state)
    door.existing("app", "x", "n1", ONE)
    assert door.state("app") == after


@pytest.mark.remuda_rule("APP-8", "SI-51")
@pytest.mark.parametrize("state", ["Accepted", "Starting", "Running"])
def test_with_nothing_left_it_completes(door: Caller, state: str) -> None:
    through(door, state)
    found = states(door.release_ask("app")) + states(door.release("app"))
    assert found == [("app", "Completing")]


@pytest.mark.remuda_rule("APP-3", "APP-14")
def test_completed_leaves_queue_and_lists_in_the_same_step(door: Caller) -> None:
    through(door, "Completing")
    door.wait(30 * SECOND)
    assert door.apps() == {}
    view = door.queue("root.a")
    assert not any(view.pending.values())
    assert not any(view.allocated.values())
    assert answers(door.remove("app")) == []


@pytest.mark.remuda_rule("APP-3", "QUE-23", "APP-19")
def test_starting_and_running_applications_are_counted(door: Caller) -> None:
    counts = []
    for action in (
        lambda: None,
        lambda: door.ask("app", "k", ONE, 2),
        lambda: door.step(1),
        lambda: door.step(1),
        lambda: door.release("app"),
        lambda: door.ask("app", "more", ONE),
        lambda: door.remove("app"),
    ):
        action()
        counts.append(door.queue("root").running_applications)
        assert door.queue("root.a").running_applications == counts[-1]
    assert counts == [0, 0, 1, 1, 0, 1, 0]


@pytest.mark.remuda_rule("APP-15", "APP-18", "SI-22")
def test_ended_applications_are_kept_for_three_days(door: Caller) -> None:
    def count(state: str) -> int:
        views = door.scheduler.view(q.PartitionsQuery())
        assert isinstance(views, tuple)
        (view,) = views
        assert isinstance(view, q.PartitionView)
        return view.applications.get(state, 0)

    through(door, "Completing")
    door.app("bad", "root.none")
    door.wait(30 * SECOND)
    assert (count("Completed"), count("Rejected")) == (1, 1)
    door.wait(3 * DAY - 31 * SECOND)
    assert (count("Completed"), count("Rejected")) == (1, 1)
    door.wait(31 * SECOND)
    assert (count("Completed"), count("Rejected")) == (0, 0)


@pytest.mark.remuda_rule("APP-16")
def test_the_next_deadline_is_never_after_a_timer(door: Caller) -> None:
    through(door, "Starting")
    deadline = door.scheduler.next_deadline()
    assert deadline is not None
    assert START < deadline <= START + 5 * MINUTE
    door.release("app")
    deadline = door.scheduler.next_deadline()
    assert deadline is not None
    assert deadline <= START + 30 * SECOND


@pytest.mark.remuda_rule("APP-1")
def test_timers_of_one_instant_act_in_the_order_they_were_set() -> None:
    door = Caller(leaf("a"))
    names = ["z", "a", "m"]
    door.send(
        c.UpdateApplications(
            door.rm, tuple(c.NewApplication(name, "root.a", user="ann") for name in names)
        )
    )
    for name in names:
        door.ask(name, f"k-{name}", ONE)
        door.release_ask(name)
    assert states(door.wait(30 * SECOND)) == [(name, "Completed") for name in names]
