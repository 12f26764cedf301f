"""Adding and removing applications (chapter 70, section 4; chapter 20)."""

from __future__ import annotations

import pytest

from remuda.config.schema import PlacementRuleConfig
from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from remuda.core.messages import queries as q
from tests.unit.core.door import (
    CREATING,
    DAY,
    PROVIDED,
    SECOND,
    Caller,
    answers,
    leaf,
    of,
    parent,
    partition,
    released,
    states,
)

ONE = {"vcore": 1}
TAG = PlacementRuleConfig("tag", create=True, value="namespace")


def verdict(effects: list[e.Effect]) -> tuple[list[str], list[str]]:
    """Accepted and rejected IDs of the only answer."""
    (answer,) = of(effects, e.ApplicationsAnswered)
    return list(answer.accepted), [bad.subject for bad in answer.rejected]


@pytest.mark.remuda_rule("SI-20", "SI-21", "SI-4", "QUE-43")
def test_one_answer_with_both_verdicts() -> None:
    door = Caller(leaf("a"), parent("p", leaf("q")))
    door.app("old")
    new = (
        c.NewApplication("good", "root.a", user="ann"),
        c.NewApplication("old", "root.a", user="ann"),
        c.NewApplication("lost", "root.a", partition="nowhere", user="ann"),
        c.NewApplication("parent", "root.p", user="ann"),
        c.NewApplication("missing", "root.x", user="ann"),
        c.NewApplication("nobody", "root.a"),
        c.NewApplication("", "root.a", user="ann"),
        c.NewApplication("gang", "root.a", user="ann", placeholder_ask=ONE),
        c.NewApplication("less", "root.a", user="ann", placeholder_ask={"vcore": -1}),
        c.NewApplication("nested", "root.p.q", user="ann"),
    )
    found = door.send(c.UpdateApplications(door.rm, new))
    bad = ["old", "lost", "parent", "missing", "nobody", "", "less"]
    assert verdict(found) == (["good", "gang", "nested"], bad)
    (answer,) = of(found, e.ApplicationsAnswered)
    assert all(rejection.reason for rejection in answer.rejected)
    assert states(found) == []
    assert {name: door.state(name) for name in ("good", "nested")} == {
        "good": "New",
        "nested": "New",
    }


@pytest.mark.remuda_rule("SI-20", "PLC-4")
@pytest.mark.parametrize(
    "new, reason",
    [
        (c.NewApplication("old", "root.a", user="ann"), "already existed"),
        (c.NewApplication("new", "root.none", user="ann"), "no placement rule matched"),
        (c.NewApplication("new", "root.a", partition="x", user="ann"), "partition"),
        (c.NewApplication("new", "root.a"), "user"),
    ],
)
def test_the_reason_names_the_cause(new: c.NewApplication, reason: str) -> None:
    door = Caller(leaf("a"))
    door.app("old")
    (answer,) = of(door.send(c.UpdateApplications(door.rm, (new,))), e.ApplicationsAnswered)
    assert reason in answer.rejected[0].reason


@pytest.mark.remuda_rule("SI-20", "SI-30")
def test_a_request_cannot_replace_an_application_by_the_same_id() -> None:
    door = Caller(leaf("a"))
    door.app("app")
    new = (c.NewApplication("app", "root.a", user="ann"),)
    request = c.UpdateApplications(door.rm, new, (c.ApplicationRemoval("app"),))
    assert verdict(door.send(request)) == ([], ["app"])
    assert door.apps() == {}
    assert verdict(door.app("app")) == (["app"], [])


@pytest.mark.remuda_rule("SI-3", "SI-30")
def test_a_new_application_may_be_removed_in_the_same_request() -> None:
    door = Caller(leaf("a"))
    new = (c.NewApplication("app", "root.a", user="ann"),)
    request = c.UpdateApplications(door.rm, new, (c.ApplicationRemoval("app"),))
    assert verdict(door.send(request)) == (["app"], [])
    assert door.apps() == {}


@pytest.mark.remuda_rule("SI-29", "SI-79")
def test_removing_a_running_application_returns_everything() -> None:
    door = Caller(leaf("a"))
    door.node("n1", {"vcore": 4})
    door.app("app")
    door.ask("app", "k", ONE, 3)
    door.ask("app", "waiting", {"vcore": 9})
    door.place()
    found = answers(door.remove("app"))
    assert [type(x).__name__ for x in found] == ["ApplicationUpdated", "AllocationsReleased"]
    assert states(found) == [("app", "Completing")]
    assert sorted(released(found)[0]) == ["k-0", "k-1", "k-2"]
    assert door.apps() == {}
    assert not any(door.queue("root").allocated.values())
    assert not any(door.queue("root").pending.values())
    assert door.node_view("n1").allocations == ()


@pytest.mark.remuda_rule("SI-29", "EVT-89")
def test_removing_an_application_that_runs_nothing_ends_it() -> None:
    door = Caller(leaf("a"))
    door.app("app")
    door.ask("app", "k", ONE)
    found = answers(door.remove("app"))
    assert states(found) == [("app", "Completing"), ("app", "Completed")]
    assert released(found) == []


@pytest.mark.remuda_rule("SI-29")
def test_removing_a_new_application_or_none_is_silent() -> None:
    door = Caller(leaf("a"))
    door.app("app")
    assert answers(door.remove("app")) == []
    assert answers(door.remove("app")) == []
    assert answers(door.remove("app", "nowhere")) == []


@pytest.mark.remuda_rule("SI-29")
@pytest.mark.parametrize("state", ["New", "Accepted", "Starting", "Completing"])
def test_a_removed_application_is_never_heard_of_again(state: str) -> None:
    door = Caller(leaf("a"))
    door.node("n1", {"vcore": 4})
    door.app("app")
    if state != "New":
        door.ask("app", "k", ONE)
    if state == "Starting":
        door.place()
    if state == "Completing":
        door.release_ask("app", "k")
    assert door.state("app") == state
    door.remove("app")
    later = [door.wait(time) for time in (31 * SECOND, 301 * SECOND, 4 * DAY)]
    assert [states(effects) for effects in later] == [[], [], []]


@pytest.mark.remuda_rule("SI-23")
def test_the_id_of_an_ended_application_is_free() -> None:
    door = Caller(leaf("a"))
    assert verdict(door.app("app", "root.none")) == ([], ["app"])
    assert verdict(door.app("app")) == (["app"], [])
    door.ask("app", "k", ONE)
    door.release_ask("app")
    assert states(door.wait(31 * SECOND)) == [("app", "Completed")]
    assert verdict(door.app("app")) == (["app"], [])


@pytest.mark.remuda_rule("SI-22", "SI-20", "REST-67")
def test_a_rejected_duplicate_hides_nothing() -> None:
    door = Caller(leaf("a"))
    door.app("app")
    door.ask("app", "k", ONE)
    door.app("app")
    assert door.state("app") == "Accepted"
    views = door.scheduler.view(q.PartitionsQuery())
    assert isinstance(views, tuple)
    (view,) = views
    assert isinstance(view, q.PartitionView)
    assert (view.applications["Accepted"], view.applications["Rejected"]) == (1, 1)


# ------------------------------------------------------------------------------- placement


def placed(rules: tuple[PlacementRuleConfig, ...], queue: str = "", **tags: str) -> str:
    """The queue an application goes to, "" if it is refused."""
    queues = (leaf("a"), parent("p", leaf("x")))
    door = Caller(partitions=[partition(*queues, placement_rules=rules)])
    door.app("app", queue, tags=tags)
    found = door.apps()
    return found["app"].queue if found else ""


@pytest.mark.remuda_rule("PLC-20", "PLC-22", "PLC-27", "PLC-28", "PLC-30", "PLC-57")
@pytest.mark.parametrize(
    "queue, existing, creating",
    [
        ("root.a", "root.a", "root.a"),
        ("a", "root.a", "root.a"),
        ("ROOT.A", "root.a", "root.a"),
        ("root.p.X", "root.p.x", "root.p.x"),
        ("p", "", ""),
        ("root.p", "", ""),
        ("root.a.below", "", ""),
        ("p.x", "", "root.p_dot_x"),
        ("root.new", "", "root.new"),
        ("root.p.new.er", "", "root.p.new.er"),
        ("New", "", "root.new"),
        ("", "", ""),
    ],
)
def test_the_provided_rule(queue: str, existing: str, creating: str) -> None:
    assert placed((PROVIDED,), queue) == existing
    assert placed((CREATING,), queue) == creating


@pytest.mark.remuda_rule("PLC-20", "PLC-34", "PLC-42", "SI-26")
@pytest.mark.parametrize(
    "tags, queue",
    [
        ({"namespace": "dev"}, "root.dev"),
        ({"NameSpace": "Dev"}, "root.dev"),
        ({"namespace": "a.b"}, "root.a_dot_b"),
        ({"namespace": "root.p.team"}, "root.p.team"),
        ({"namespace": ""}, ""),
        ({"other": "dev"}, ""),
    ],
)
def test_the_tag_rule(tags: dict[str, str], queue: str) -> None:
    assert placed((TAG,), "root.a", **tags) == queue


@pytest.mark.remuda_rule("PLC-55", "PLC-56", "PLC-61")
def test_the_first_rule_that_gives_an_open_queue_wins() -> None:
    assert placed((PROVIDED, TAG), "root.a", namespace="dev") == "root.a"
    assert placed((PROVIDED, TAG), "root.p", namespace="dev") == "root.dev"
    assert placed((TAG, PROVIDED), "root.a", namespace="p") == "root.a"
    assert placed((TAG, PROVIDED), "root.x") == ""


@pytest.mark.remuda_rule("PLC-62")
@pytest.mark.parametrize("configured, queue", [(True, "root.default"), (False, "")])
def test_the_default_queue_takes_what_no_rule_takes(configured: bool, queue: str) -> None:
    door = Caller(leaf("default" if configured else "other"))
    door.app("app", "root.unknown")
    found = door.apps()
    assert (found["app"].queue if found else "") == queue


@pytest.mark.remuda_rule("PLC-64", "PLC-66", "QUE-1", "OBJ-1")
def test_missing_queues_are_made_dynamic_the_last_a_leaf() -> None:
    door = Caller(partitions=[partition(leaf("a"), placement_rules=(CREATING,))])
    door.app("app", "root.x.Y")
    middle, last = door.queue("root.x"), door.queue("root.x.y")
    assert (middle.leaf, middle.managed, middle.maximum) == (False, False, None)
    assert (last.leaf, last.managed, last.maximum) == (True, False, None)
    door.node("n1", {"vcore": 1})
    door.ask("app", "k", ONE)
    assert door.place() == [("k-0", "n1")]
    assert door.queue("root.x").allocated == ONE


@pytest.mark.remuda_rule("PLC-68", "OBJ-5", "OBJ-6", "QUE-4")
def test_empty_dynamic_queues_go_and_configured_ones_stay() -> None:
    door = Caller(partitions=[partition(leaf("a"), placement_rules=(CREATING,))])
    door.app("app", "root.x.y")
    door.wait(11 * SECOND)
    assert [child.path for child in door.queue("root").children] == ["root.a", "root.x"]
    door.remove("app")
    door.wait(11 * SECOND)
    assert [child.path for child in door.queue("root").children] == ["root.a"]
    door.app("app", "root.x.y")
    assert door.queue("root.x.y").leaf
