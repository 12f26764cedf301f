"""Forced applications and the queue that takes what no rule takes (chapter 20 section 8)."""

from __future__ import annotations

import pytest

from remuda.config.schema import TemplateConfig
from remuda.core.messages import effects as e
from remuda.core.messages import events as ev
from tests.unit.core.door import CREATING, PROVIDED, SECOND, Caller, events, leaf, of, parent
from tests.unit.core.placing import (
    FORCE,
    NOBODY,
    RECOVERY,
    acl,
    gang,
    made,
    may,
    paths,
    place,
    refused,
    rule,
    submit,
)

BY_USER = rule("user", create=True)
ASKED = ["root.@recovery@", "@recovery@", "ROOT.@RECOVERY@", "root.@Recovery@"]


def force(value: str, key: str = "application.create.force") -> dict[str, str]:
    """The tag, spelled so."""
    return {key: value}


@pytest.mark.remuda_rule("PLC-70", "SI-25", "SI-26")
@pytest.mark.parametrize("value", ["1", "t", "T", "true", "TRUE", "True"])
@pytest.mark.parametrize("key", ["application.create.force", "Application.Create.FORCE"])
def test_what_forces(value: str, key: str) -> None:
    assert place(Caller(leaf("a")), "root.none", tags=force(value, key)) == RECOVERY


@pytest.mark.remuda_rule("PLC-70")
@pytest.mark.parametrize("value", ["yes", "tRue", "", "0", "false", " true", "on"])
def test_what_does_not_force(value: str) -> None:
    assert refused(Caller(leaf("a")), "root.none", tags=force(value))


@pytest.mark.remuda_rule("PLC-71", "SI-25", "REC-4")
def test_a_forced_application_runs_the_normal_rules_first() -> None:
    door = Caller(leaf("a"))
    assert place(door, "root.a", tags=FORCE) == "root.a"
    assert RECOVERY not in paths(door)


@pytest.mark.remuda_rule("PLC-71", "D-P9", "SI-25")
def test_the_error_of_a_rule_leads_to_recovery() -> None:
    above = rule("user", create=True, above=rule("fixed", "root.a"))
    assert place(Caller(leaf("a"), placement_rules=(above,)), tags=FORCE) == RECOVERY
    assert place(Caller(placement_rules=(CREATING,)), "root.x!", tags=FORCE) == RECOVERY


@pytest.mark.remuda_rule("PLC-71", "D-P9", "PLC-67")
def test_a_queue_that_cannot_be_made_leads_to_recovery() -> None:
    door = Caller(parent("p", leaf("x")), leaf("a"), placement_rules=(CREATING,))
    submit(door, "keeps-it", "root.p.x")
    door.reload(leaf("a"), placement_rules=(CREATING,))
    assert place(door, "root.p.new", tags=FORCE) == RECOVERY


@pytest.mark.remuda_rule("PLC-71", "SI-20", "D-P9")
@pytest.mark.parametrize(
    "queue",
    [leaf("a", properties={"application.sort.policy": "fair"}), leaf("a", {"memory": 1})],
)
def test_a_gang_its_queue_refuses_is_looked_for_in_the_recovery_queue(queue: object) -> None:
    door = Caller(queue)  # type: ignore[arg-type]
    effects = door.send(gang({"memory": 5}, "root.a", tags=FORCE))
    assert made(effects) == [RECOVERY]
    (answer,) = of(effects, e.ApplicationsAnswered)
    assert answer.accepted == ("gang",)


@pytest.mark.remuda_rule("PLC-72", "EVT-76", "EVT-63")
def test_it_is_made_below_root_as_a_dynamic_leaf_without_properties() -> None:
    fair = {"application.sort.policy": "fair", "priority.offset": "7", "x": "y"}
    door = Caller(leaf("a"), properties=fair)
    assert made(submit(door, "app", "root.none", tags=FORCE)) == [RECOVERY]
    view = door.queue(RECOVERY)
    assert (view.leaf, view.managed, view.parent) == (True, False, "root")
    assert (view.sort_policy, view.priority_offset, dict(view.properties)) == ("fifo", 0, {})


@pytest.mark.remuda_rule("PRP-8", "QUE-20")
def test_it_ignores_what_root_says_of_order() -> None:
    door = Caller(leaf("a"), properties={"application.sort.priority": "disabled"})
    submit(door, "app", "root.none", tags=FORCE)
    assert door.queue(RECOVERY).priority_sorting


@pytest.mark.remuda_rule("PLC-72", "TPL-9", "D-C13")
def test_it_has_no_limits_from_the_template_of_root() -> None:
    template = TemplateConfig(2, {"application.sort.policy": "fair"}, {"memory": 5}, {"memory": 1})
    door = Caller(leaf("a"), root={"template": template})
    submit(door, "app", "root.none", tags=FORCE)
    view = door.queue(RECOVERY)
    assert (view.maximum, view.guaranteed, view.max_applications) == (None, None, 0)
    assert view.sort_policy == "fifo"


@pytest.mark.remuda_rule("PLC-84", "SI-25")
def test_it_takes_no_quota_from_tags() -> None:
    quota = {"namespace.resourcequota": '{"resources":{"memory":{"value":10}}}'}
    door = Caller(leaf("a"))
    submit(door, "app", "root.none", tags=FORCE | quota | {"namespace.resourcemaxapps": "1"})
    assert (door.queue(RECOVERY).maximum, door.queue(RECOVERY).max_applications) == (None, 0)


@pytest.mark.remuda_rule("PLC-73", "ACL-13")
def test_nobody_may_submit_to_it_and_who_administers_root_administers_it() -> None:
    door = Caller(leaf("a"), root={"admin_acl": acl("boss")})
    for _ in range(2):
        assert may(door, "root.a", "bob")
        assert not may(door, RECOVERY, "bob")
        assert not may(door, RECOVERY, "boss")
        assert not may(door, RECOVERY, "bob", admin=True)
        assert may(door, RECOVERY, "boss", admin=True)
        submit(door, "app", "root.none", tags=FORCE)


@pytest.mark.remuda_rule("PLC-73", "ACL-12", "PLC-72")
@pytest.mark.parametrize("asked", [*ASKED[:1], *ASKED[2:], f"{RECOVERY}.x", f"{RECOVERY}.x.y"])
def test_even_where_everybody_administers_root_nobody_submits_there(asked: str) -> None:
    everybody = acl("*")
    door = Caller(leaf("a"), root={"submit_acl": everybody, "admin_acl": everybody})
    submit(door, "app", "root.none", tags=FORCE)
    assert RECOVERY in paths(door)
    assert not may(door, asked, "bob", "staff")
    assert may(door, asked, "bob", "staff", admin=True)
    assert may(door, "root.a", "bob", "staff")


@pytest.mark.remuda_rule("PLC-74", "PLC-60", "D-P10", "SI-25")
@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("there", [False, True])
def test_nobody_gets_there_by_its_name(asked: str, *, there: bool) -> None:
    door = Caller(leaf("a"), placement_rules=(CREATING,))
    if there:
        submit(door, "forced", "root.a.none", tags=FORCE)
        assert door.apps()["forced"].queue == RECOVERY
    assert refused(door, asked)
    assert (RECOVERY in paths(door)) is there


@pytest.mark.remuda_rule("PLC-74", "D-P10")
@pytest.mark.parametrize("asked", ["root.@recovery@.x", "root.@RECOVERY@.x.y"])
def test_nobody_gets_below_its_name(asked: str) -> None:
    door = Caller(leaf("a"), placement_rules=(CREATING, rule("fixed", "root.a")))
    assert place(door, asked) == "root.a"
    assert paths(door) == ["root", "root.a"]


@pytest.mark.remuda_rule("PLC-74", "PLC-31", "D-P10")
def test_no_rule_gives_its_name() -> None:
    tag = rule("tag", "t", create=True)
    door = Caller(placement_rules=(tag, rule("fixed", "root.@recovery@", create=True)))
    assert refused(door, tags={"t": "@recovery@"})


@pytest.mark.remuda_rule("PLC-60", "PLC-74")
@pytest.mark.parametrize("asked", ASKED)
def test_a_forced_application_that_names_it_gets_there(asked: str) -> None:
    door = Caller(placement_rules=(CREATING,))
    assert place(door, asked, tags=FORCE) == RECOVERY


@pytest.mark.remuda_rule("PLC-35", "ACL-12")
def test_no_access_is_needed() -> None:
    door = Caller(leaf("a"), root={"submit_acl": NOBODY})
    assert refused(door, "root.a")
    assert place(door, "root.a", tags=FORCE) == RECOVERY


@pytest.mark.remuda_rule("PLC-75", "PLC-68", "EVT-64", "EVT-76")
def test_it_goes_when_it_is_empty_and_comes_back() -> None:
    door = Caller(leaf("a"))
    for application in ("first", "second"):
        assert made(submit(door, application, "root.none", tags=FORCE)) == [RECOVERY]
        door.remove(application)
        gone = events(door.wait(10 * SECOND))
        assert (ev.QUEUE, RECOVERY, ev.REMOVE, ev.QUEUE_DYNAMIC) in gone
        assert RECOVERY not in paths(door)


@pytest.mark.remuda_rule("PLC-35", "REC-4")
def test_what_is_there_is_scheduled_like_anything_else() -> None:
    door = Caller(leaf("a"), placement_rules=(PROVIDED,))
    door.node("n1", {"memory": 10})
    submit(door, "app", "root.none", tags=FORCE)
    door.existing("app", "running", "n1", {"memory": 4})
    door.ask("app", "more", {"memory": 4})
    assert door.place() == [("more-0", "n1")]
    assert door.queue(RECOVERY).allocated == {"memory": 8}
    door.scheduler.check()
