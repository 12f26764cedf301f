"""Properties of queues at every moment of their lives (chapter 50 section A.4, edge case 9)."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from remuda.config.schema import TemplateConfig
from remuda.core.model.queues.queue import QueueSettings
from tests.unit.core.door import CREATING, MINUTE, SECOND, Caller, leaf, parent, refusal

POLICY, PRIORITY = "application.sort.policy", "application.sort.priority"
FENCE, OFFSET = "priority.policy", "priority.offset"
PREEMPTION, DELAY = "preemption.policy", "preemption.delay"
BACKOFF, BACKOFF_DELAY = "application.unschedasks.backoff", "application.unschedasks.backoff.delay"
ADMISSION, QUOTA_DELAY = "application.gang.admission", "quota.preemption.delay"

# The table of QUE-18: key -> what it sets, and its default.
FIELDS: Mapping[str, tuple[str, object]] = {
    POLICY: ("application_sort", "fifo"),
    PRIORITY: ("sort_by_priority", True),
    FENCE: ("priority_fence", False),
    OFFSET: ("priority_offset", 0),
    PREEMPTION: ("preemption_policy", "default"),
    DELAY: ("preemption_delay_ns", 30 * SECOND),
    BACKOFF: ("backoff", 0),
    BACKOFF_DELAY: ("backoff_delay_ns", 30 * SECOND),
    ADMISSION: ("gang_admission", "quota"),
    QUOTA_DELAY: ("quota_preemption_delay_ns", 0),
}

# A value, what it means, and what a child makes of it that has none of its own.
VALUES: tuple[tuple[str, str, object, object], ...] = (
    (POLICY, "fair", "fair", "fair"),
    (PRIORITY, "Disabled", False, False),
    (FENCE, "FENCE", True, False),
    (OFFSET, "7", 7, 0),
    (PREEMPTION, "fence", "fence", "default"),
    (PREEMPTION, "Disabled", "disabled", "disabled"),
    (DELAY, "45s", 45 * SECOND, 45 * SECOND),
    (BACKOFF, "3", 3, 3),
    (BACKOFF_DELAY, "1h15m", 75 * MINUTE, 75 * MINUTE),
    (ADMISSION, "Greedy", "greedy", "greedy"),
    (QUOTA_DELAY, "5m", 5 * MINUTE, 5 * MINUTE),
)

WRONG = (
    (POLICY, "Fair"),
    (PRIORITY, "off"),
    (FENCE, "fenced"),
    (OFFSET, "seven"),
    (OFFSET, "2147483648"),
    (PREEMPTION, "no"),
    (DELAY, "0s"),
    (DELAY, "-5s"),
    (BACKOFF, "-1"),
    (BACKOFF_DELAY, "0s"),
    (ADMISSION, "all"),
    (QUOTA_DELAY, "5"),
)


def effective(door: Caller, path: str, key: str) -> object:
    """What a property of a queue means at the moment."""
    (partition,) = door.scheduler._cluster.partitions()
    queue = partition.queue(path)
    assert queue is not None
    settings: QueueSettings = queue.settings
    return getattr(settings, FIELDS[key][0])


@pytest.mark.remuda_rule("QUE-18", "QUE-20")
@pytest.mark.parametrize("key, value, own, child", VALUES)
def test_a_property_at_creation(key: str, value: str, own: object, child: object) -> None:
    default = FIELDS[key][1]
    door = Caller(
        leaf("own", properties={key: value}),
        parent("p", leaf("child"), parent("q", leaf("grandchild")), properties={key: value}),
        leaf("none"),
    )
    assert effective(door, "root.own", key) == own
    assert effective(door, "root.p.child", key) == child
    assert effective(door, "root.p.q.grandchild", key) == child
    assert effective(door, "root.none", key) == default
    door.reload(parent("p", leaf("child", properties={key: ""}), properties={key: value}))
    assert effective(door, "root.p.child", key) == default


@pytest.mark.remuda_rule("QUE-20", "QUE-3")
@pytest.mark.parametrize("key, value, own, child", VALUES)
def test_a_property_of_a_dynamic_leaf(key: str, value: str, own: object, child: object) -> None:
    template = TemplateConfig(0, {key: value})
    door = Caller(
        parent("inherits", properties={key: value}),
        parent("template", template=template),
        parent("both", properties={key: value}, template=TemplateConfig(0, {key: ""})),
        placement_rules=(CREATING,),
    )
    for above in ("inherits", "template", "both"):
        door.app(above, f"root.{above}.x")
    assert effective(door, "root.inherits.x", key) == child
    assert effective(door, "root.template.x", key) == own
    assert effective(door, "root.both.x", key) == FIELDS[key][1]


@pytest.mark.remuda_rule("QUE-21")
@pytest.mark.parametrize("key, value, own, child", VALUES)
def test_a_property_that_comes_and_goes_with_the_configuration(
    key: str, value: str, own: object, child: object
) -> None:
    default = FIELDS[key][1]
    door = Caller(parent("p", leaf("a")))
    for mine, above, expected in (
        ({}, {}, default),
        ({key: value}, {}, own),
        ({}, {key: value}, child),
        ({key: value}, {key: value}, own),
        ({}, {}, default),
    ):
        assert refusal(door.reload(parent("p", leaf("a", properties=mine), properties=above))) == ""
        assert effective(door, "root.p.a", key) == expected


@pytest.mark.remuda_rule("QUE-18")
@pytest.mark.parametrize("key, value", WRONG)
def test_a_value_that_means_nothing_is_the_default_and_not_what_was_before(
    key: str, value: str
) -> None:
    default = FIELDS[key][1]
    good = next(right for name, right, _, _ in VALUES if name == key)
    door = Caller(leaf("a", properties={key: value}))
    assert effective(door, "root.a", key) == default
    door.reload(leaf("a", properties={key: good}))
    assert effective(door, "root.a", key) != default
    door.reload(leaf("a", properties={key: value}))
    assert effective(door, "root.a", key) == default
    assert door.queue("root.a").properties[key] == value


@pytest.mark.remuda_rule("QUE-18")
@pytest.mark.parametrize("key, value, own, child", VALUES)
def test_keys_have_to_be_written_exactly(key: str, value: str, own: object, child: object) -> None:
    door = Caller(leaf("a", properties={key.upper(): value, key + " ": value}))
    assert effective(door, "root.a", key) == FIELDS[key][1]


@pytest.mark.remuda_rule("QUE-19", "QUE-18")
def test_the_sort_policy_of_a_parent_is_only_for_its_leaves() -> None:
    # By submission x.1, x.2, y.1, y.2; root and p take turns among their children all the same.
    door = Caller(
        parent("p", leaf("x"), leaf("y"), properties={POLICY: "fifo"}),
        properties={POLICY: "fair"},
    )
    door.node("n1", {"vcore": 100})
    for leaf_name in "xy":
        for number in (1, 2):
            door.now += 1
            door.app(f"{leaf_name}.{number}", f"root.p.{leaf_name}")
            door.ask(f"{leaf_name}.{number}", f"{leaf_name}.{number}", {"vcore": 1}, 2)
    assert door.order() == ["x.1", "y.1", "x.1", "y.1", "x.2", "y.2", "x.2", "y.2"]


@pytest.mark.remuda_rule("QUE-20", "QUE-19")
@pytest.mark.parametrize("above, order", [("fifo", "xxyy"), ("fair", "xyxy")])
def test_a_leaf_sorts_by_the_policy_it_inherits(above: str, order: str) -> None:
    door = Caller(parent("p", parent("q", leaf("a"))), properties={POLICY: above})
    door.node("n1", {"vcore": 100})
    for name in "xy":
        door.now += 1
        door.app(name, "root.p.q.a")
        door.ask(name, name, {"vcore": 1}, 2)
    assert "".join(door.order()) == order


def next_four(door: Caller) -> list[str]:
    """Which four applications are served next."""
    return [identity.rpartition("-")[0] for identity, _ in door.place(4)]


@pytest.mark.remuda_rule("QUE-21", "RLD-23")
def test_an_inherited_policy_changes_with_the_queue_it_comes_from() -> None:
    def switch(policy: str, **own: str) -> None:
        tree = parent("p", leaf("a", properties=own), leaf("b"))
        assert refusal(door.reload(tree, properties={POLICY: policy})) == ""

    door = Caller(parent("p", leaf("a"), leaf("b")), properties={POLICY: "fifo"})
    door.node("n1", {"vcore": 100})
    for path in "ab":
        for name in "xy":
            door.now += 1
            door.app(f"{name}{path}", f"root.p.{path}")
            door.ask(f"{name}{path}", f"{name}{path}", {"vcore": 1}, 20)
    assert next_four(door) == ["xa", "xb", "xa", "xb"]
    switch("fair")
    assert next_four(door) == ["ya", "yb", "ya", "yb"]
    switch("fair", **{POLICY: "fifo"})
    assert next_four(door) == ["xa", "xb", "xa", "yb"]
    door.scheduler.check()
