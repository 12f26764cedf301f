"""What dynamic leaves take over from child templates (chapter 10 section 9)."""

from __future__ import annotations

import pytest

from remuda.config.schema import TemplateConfig
from remuda.core.messages import effects as e
from remuda.core.messages import events as ev
from tests.unit.core.door import CREATING, SECOND, Caller, leaf, of, parent
from tests.unit.core.placing import acl, made, place, submit

FAIR = {"application.sort.policy": "fair"}
OPEN = acl("*")
ROOT = TemplateConfig(2, maximum={"memory": 5})
OTHER = TemplateConfig(9, guaranteed={"vcore": 1})


def limits(door: Caller, path: str) -> tuple[int, object, object]:
    """What limits a queue: applications, maximum, guarantee."""
    view = door.queue(path)
    return view.max_applications, view.maximum, view.guaranteed


@pytest.mark.remuda_rule("TPL-4", "TPL-5", "PLC-66")
def test_the_worked_example() -> None:
    door = Caller(leaf("a"), root={"template": ROOT}, placement_rules=(CREATING,))
    assert made(submit(door, "app", "root.x.y")) == ["root.x", "root.x.y"]
    assert limits(door, "root.x") == (0, None, None)
    assert limits(door, "root.x.y") == (2, {"memory": 5}, None)
    assert door.queue("root.x").template == ROOT


@pytest.mark.remuda_rule("TPL-4", "PLC-66", "PLC-63", "PLC-68", "QUE-3")
def test_the_creation_example_of_chapter_20() -> None:
    john = parent("p", submit_acl=acl("john"))
    door = Caller(john, leaf("a"), root={"template": ROOT}, placement_rules=(CREATING,))
    effects = submit(door, "app", "root.p.x.y", user="john")
    assert made(effects) == ["root.p.x", "root.p.x.y"]
    assert limits(door, "root.p.x.y") == (2, {"memory": 5}, None)
    door.remove("app")
    door.wait(10 * SECOND)
    assert [child.path for child in door.queue("root").children] == ["root.a", "root.p"]
    assert door.queue("root.p").children == ()


@pytest.mark.remuda_rule("TPL-4", "QUE-3")
def test_everything_of_a_template_is_copied_to_a_leaf() -> None:
    whole = TemplateConfig(3, FAIR, {"memory": 5, "vcore": 0}, {"memory": 2})
    door = Caller(parent("p", template=whole), placement_rules=(CREATING,))
    submit(door, "app", "root.p.x")
    assert limits(door, "root.p.x") == (3, {"memory": 5, "vcore": 0}, {"memory": 2})
    view = door.queue("root.p.x")
    assert (view.sort_policy, dict(view.properties)) == ("fair", FAIR)


@pytest.mark.remuda_rule("TPL-4", "TPL-1")
def test_configured_queues_never_use_a_template() -> None:
    door = Caller(parent("p", leaf("x", template=OTHER)), root={"template": ROOT})
    assert limits(door, "root.p.x") == (0, None, None)
    assert limits(door, "root.p") == (0, None, None)
    assert door.queue("root.p.x").template is None


@pytest.mark.remuda_rule("TPL-5")
def test_the_nearest_template_upwards_counts_as_a_whole() -> None:
    door = Caller(
        parent("p", parent("q"), template=OTHER),
        parent("r"),
        root={"template": ROOT},
        placement_rules=(CREATING,),
    )
    for path in ("root.p.q.d.x", "root.p.y", "root.r.z"):
        assert place(door, path) == path
    assert limits(door, "root.p.q.d.x") == (9, None, {"vcore": 1})
    assert limits(door, "root.p.y") == (9, None, {"vcore": 1})
    assert limits(door, "root.r.z") == (2, {"memory": 5}, None)
    assert door.queue("root.p.q.d").template == OTHER


@pytest.mark.remuda_rule("TPL-4", "QUE-8")
def test_the_maximum_of_a_template_is_obeyed() -> None:
    door = Caller(leaf("a"), root={"template": ROOT}, placement_rules=(CREATING,))
    door.node("n1", {"memory": 100})
    submit(door, "app", "root.x.y")
    door.ask("app", "k", {"memory": 2}, 5)
    assert len(door.place()) == 2
    door.scheduler.check()


@pytest.mark.remuda_rule("TPL-4", "QUE-22", "QUE-25")
def test_the_number_of_applications_of_a_template_is_obeyed() -> None:
    template = TemplateConfig(1)
    door = Caller(leaf("a"), root={"template": template}, placement_rules=(CREATING,))
    door.node("n1", {"memory": 100})
    for name in ("one", "two"):
        submit(door, name, "root.x")
        door.ask(name, f"{name}-k", {"memory": 1})
    assert [key for key, _ in door.place()] == ["one-k-0"]


@pytest.mark.remuda_rule("TPL-6")
def test_a_changed_template_does_not_touch_existing_queues() -> None:
    door = Caller(leaf("a"), root={"template": ROOT}, placement_rules=(CREATING,))
    submit(door, "app", "root.x")
    effects = door.reload(leaf("a"), root={"template": OTHER}, placement_rules=(CREATING,))
    assert [r for r in of(effects, e.EventRecord) if r.kind == ev.QUEUE] == []
    assert limits(door, "root.x") == (2, {"memory": 5}, None)
    submit(door, "next", "root.y")
    assert limits(door, "root.y") == (9, None, {"vcore": 1})


@pytest.mark.remuda_rule("TPL-8", "D-C12", "RLD-24")
def test_a_reload_does_not_cut_inheritance() -> None:
    door = Caller(parent("p"), root={"template": ROOT}, placement_rules=(CREATING,))
    door.reload(parent("p"), leaf("b"), root={"template": ROOT}, placement_rules=(CREATING,))
    submit(door, "app", "root.p.x")
    assert limits(door, "root.p.x") == (2, {"memory": 5}, None)
    assert door.queue("root.p").template == ROOT


@pytest.mark.remuda_rule("EVT-71", "EVT-63")
def test_making_a_limited_queue_is_one_event() -> None:
    door = Caller(leaf("a"), root={"template": ROOT}, placement_rules=(CREATING,))
    effects = submit(door, "app", "root.x")
    found = [(r.object_id, r.change, r.detail) for r in of(effects, e.EventRecord)]
    assert found == [
        ("app", ev.ADD, ev.DETAILS_NONE),
        ("root.x", ev.ADD, ev.QUEUE_DYNAMIC),
        ("root.x", ev.ADD, ev.QUEUE_APP),
    ]
