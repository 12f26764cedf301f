"""Queues that placement makes and the cleaner takes away (chapters 20 and 80)."""

from __future__ import annotations

import pytest

from remuda.config.schema import QUEUE_DEPTH_LIMIT, TemplateConfig
from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from remuda.core.messages import queries as q
from remuda.core.messages.events import ADD, QUEUE, QUEUE_DYNAMIC, REMOVE
from tests.unit.core.door import CREATING, SECOND, Caller, events, leaf, of, parent

ONE = {"vcore": 1}


@pytest.fixture
def door() -> Caller:
    """Queues are made on demand; one node."""
    found = Caller(leaf("a"), parent("p"), placement_rules=(CREATING,))
    found.node("n1", {"vcore": 4})
    return found


def children(door: Caller, path: str) -> list[str]:
    """The paths right below a queue."""
    return [child.path for child in door.queue(path).children]


@pytest.mark.remuda_rule("OBJ-5", "PLC-68")
def test_empty_dynamic_queues_are_removed_every_time(door: Caller) -> None:
    for turn in range(3):
        application = f"app-{turn}"
        made = events(door.app(application, "root.x.y"))
        assert [each for each in made if each[3] == QUEUE_DYNAMIC] == [
            (QUEUE, "root.x", ADD, QUEUE_DYNAMIC),
            (QUEUE, "root.x.y", ADD, QUEUE_DYNAMIC),
        ]
        door.remove(application)
        gone = events(door.wait(10 * SECOND))
        assert [each for each in gone if each[3] == QUEUE_DYNAMIC] == [
            (QUEUE, "root.x.y", REMOVE, QUEUE_DYNAMIC),
            (QUEUE, "root.x", REMOVE, QUEUE_DYNAMIC),
        ]
        assert children(door, "root") == ["root.a", "root.p"]


@pytest.mark.remuda_rule("OBJ-5")
def test_a_queue_in_use_again_outlives_the_cleaner_and_goes_later(door: Caller) -> None:
    door.app("first", "root.x")
    door.remove("first")
    door.app("second", "root.x")
    door.wait(20 * SECOND)
    assert children(door, "root") == ["root.a", "root.p", "root.x"]
    door.remove("second")
    door.wait(10 * SECOND)
    assert children(door, "root") == ["root.a", "root.p"]


@pytest.mark.remuda_rule("SI-22", "OBJ-5", "EVT-64")
@pytest.mark.parametrize(
    "template, wanted",
    [
        (TemplateConfig(maximum=ONE), 2),  # more than the queue may ever hold
        (TemplateConfig(properties={"application.sort.policy": "fair"}), 1),
    ],
)
def test_a_queue_made_for_one_that_is_refused_goes(template: TemplateConfig, wanted: int) -> None:
    door = Caller(parent("p", template=template), placement_rules=(CREATING,))
    new = c.NewApplication(
        "gang", "root.p.x.y", user="ann", placeholder_ask={"vcore": wanted, "gpu": 0}
    )
    found = door.send(c.UpdateApplications(door.rm, (new,)))
    (answer,) = of(found, e.ApplicationsAnswered)
    assert [bad.subject for bad in answer.rejected] == ["gang"]
    assert children(door, "root.p") == ["root.p.x"]
    assert events(door.wait(10 * SECOND)) == [
        (QUEUE, "root.p.x.y", REMOVE, QUEUE_DYNAMIC),
        (QUEUE, "root.p.x", REMOVE, QUEUE_DYNAMIC),
    ]
    assert children(door, "root.p") == []


@pytest.mark.remuda_rule("PLC-64", "PLC-5")
def test_no_queue_is_made_below_the_deepest_level(door: Caller) -> None:
    # The path of "root.p.d.d ... d" has as many elements as there are levels.
    deepest = "root.p" + ".d" * (QUEUE_DEPTH_LIMIT - 2)
    (answer,) = of(door.app("deeper", f"{deepest}.d"), e.ApplicationsAnswered)
    assert [bad.subject for bad in answer.rejected] == ["deeper"]
    assert children(door, "root.p") == []
    (answer,) = of(door.app("deep", deepest), e.ApplicationsAnswered)
    assert answer.accepted == ("deep",)
    assert door.queue(deepest).leaf


@pytest.mark.remuda_rule("PLC-64")
@pytest.mark.parametrize("levels", [QUEUE_DEPTH_LIMIT + 1, 200, 5000])
def test_far_too_deep_paths_are_rejected_and_leave_nothing(door: Caller, levels: int) -> None:
    (answer,) = of(door.app("deep", "root" + ".d" * (levels - 1)), e.ApplicationsAnswered)
    assert [bad.subject for bad in answer.rejected] == ["deep"]
    assert children(door, "root") == ["root.a", "root.p"]


@pytest.mark.remuda_rule("PLC-64", "QUE-2")
def test_the_deepest_queue_is_scheduled_shown_and_checked(door: Caller) -> None:
    deepest = "root" + ".d" * (QUEUE_DEPTH_LIMIT - 1)
    door.app("deep", deepest)
    door.ask("deep", "k", ONE, 3)
    assert len(door.place(2)) == 2
    door.scheduler.check()
    shown = door.queue("root")
    for _ in range(QUEUE_DEPTH_LIMIT - 1):
        assert (shown.allocated, shown.pending) == ({"vcore": 2}, ONE)
        (shown,) = [child for child in shown.children if child.path.endswith(".d")]
    assert (shown.path, shown.leaf, shown.allocated) == (deepest, True, {"vcore": 2})
    found = door.scheduler.view(q.ApplicationsQuery("default", deepest, door.rm))
    assert isinstance(found, tuple)
    assert len(found) == 1
    door.remove("deep")
    door.wait(10 * SECOND)
    assert children(door, "root") == ["root.a", "root.p"]
    door.scheduler.check()
