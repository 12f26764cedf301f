"""Queue properties and how they are inherited (A.4 and chapter 10, section 8)."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from remuda.config.schema import TemplateConfig
from remuda.core.model.queues.queue import QueueSettings
from remuda.core.policy.properties import inherited, settings
from tests.unit.core.door import CREATING, MINUTE, SECOND, Caller, leaf, parent, partition

POLICY, PRIORITY = "application.sort.policy", "application.sort.priority"
FENCE, OFFSET = "priority.policy", "priority.offset"


@pytest.mark.remuda_rule("QUE-18", "PRP-2", "QUE-19")
@pytest.mark.parametrize(
    "value, policy",
    [
        ("fair", "fair"),
        ("fifo", "fifo"),
        ("FAIR", "fifo"),
        ("lifo", "fifo"),
        ("", "fifo"),
        ("stateaware", "stateaware"),
    ],
)
def test_the_sort_policy_is_read_exactly(value: str, policy: str) -> None:
    assert Caller(leaf("a", properties={POLICY: value})).queue("root.a").sort_policy == policy


@pytest.mark.remuda_rule("QUE-18", "PRP-2")
@pytest.mark.parametrize(
    "value, enabled", [("disabled", False), ("DISABLED", False), ("enabled", True), ("off", True)]
)
def test_priority_sorting_is_read_in_any_case(value: str, enabled: bool) -> None:
    assert (
        Caller(leaf("a", properties={PRIORITY: value})).queue("root.a").priority_sorting is enabled
    )


@pytest.mark.remuda_rule("QUE-18", "PRP-2")
@pytest.mark.parametrize(
    "value, offset",
    [
        ("5", 5),
        ("+5", 5),
        ("-2147483648", -(2**31)),
        ("2147483647", 2**31 - 1),
        ("2147483648", 0),
        ("1.5", 0),
        ("five", 0),
        ("1_0", 0),
        ("", 0),
    ],
)
def test_the_offset_is_a_32_bit_number_or_nothing(value: str, offset: int) -> None:
    assert Caller(leaf("a", properties={OFFSET: value})).queue("root.a").priority_offset == offset


@pytest.mark.remuda_rule("QUE-18")
@pytest.mark.parametrize("value, fenced", [("fence", True), ("Fence", True), ("wall", False)])
def test_the_fence_is_read_in_any_case(value: str, fenced: bool) -> None:
    assert Caller(leaf("a", properties={FENCE: value})).queue("root.a").priority_fence is fenced


@pytest.mark.remuda_rule("QUE-18", "QUE-20", "PRP-3", "PRP-5")
def test_sorting_is_inherited_and_priorities_are_not() -> None:
    everything = {POLICY: "fair", PRIORITY: "disabled", FENCE: "fence", OFFSET: "7", "x": "y"}
    door = Caller(
        parent("p", leaf("a"), leaf("b", properties={POLICY: "fifo"}), properties=everything)
    )
    inner = door.queue("root.p.a")
    assert (inner.sort_policy, inner.priority_sorting) == ("fair", False)
    assert (inner.priority_fence, inner.priority_offset) == (False, 0)
    assert inner.properties["x"] == "y"
    assert door.queue("root.p.b").sort_policy == "fifo"
    assert not door.queue("root.p.b").priority_sorting


@pytest.mark.remuda_rule("PRP-3", "PRP-5")
def test_the_worked_example_of_inheritance() -> None:
    root = {OFFSET: "3", POLICY: "fair", "x": "y"}
    door = Caller(leaf("a", properties={OFFSET: "7"}), leaf("p"), properties=root)
    assert dict(door.queue("root.a").properties) == {OFFSET: "7", POLICY: "fair", "x": "y"}
    assert dict(door.queue("root.p").properties) == {OFFSET: "0", POLICY: "fair", "x": "y"}


@pytest.mark.remuda_rule("PRP-4", "D-C24", "PLC-66")
def test_a_dynamic_leaf_inherits_like_a_configured_one() -> None:
    inherited = {POLICY: "fair", OFFSET: "7", PRIORITY: "disabled"}
    door = Caller(
        partitions=[partition(parent("p", properties=inherited), placement_rules=(CREATING,))]
    )
    door.app("app", "root.p.x")
    found = door.queue("root.p.x")
    assert (found.leaf, found.managed) == (True, False)
    assert (found.sort_policy, found.priority_sorting, found.priority_offset) == ("fair", False, 0)


@pytest.mark.remuda_rule("QUE-33", "QUE-18")
def test_priority_sorting_of_the_parent_decides_among_its_children() -> None:
    door = Caller(leaf("a"), leaf("b"), properties={PRIORITY: "disabled"})
    door.node("n1", {"vcore": 10})
    door.app("a", "root.a")
    door.app("b", "root.b")
    door.existing("b", "used", "n1", {"vcore": 1})
    door.ask("a", "a", {"vcore": 1}, priority=1)
    door.ask("b", "b", {"vcore": 1}, priority=9)
    assert door.order() == ["a", "b"]


# ------------------------------------------------------------------------- all properties

PREEMPTION, DELAY = "preemption.policy", "preemption.delay"
BACKOFF, BACKOFF_DELAY = "application.unschedasks.backoff", "application.unschedasks.backoff.delay"
ADMISSION = "application.gang.admission"
QUOTA_DELAY, OLD_QUOTA_DELAY = "quota.preemption.delay", "preemption.quota.delay"
MILLISECOND = SECOND // 1000


def effective(properties: Mapping[str, str]) -> QueueSettings:
    """What a leaf makes of its properties."""
    return settings(properties, leaf=True)


@pytest.mark.remuda_rule("PRP-1", "PRP-2", "QUE-18")
def test_the_defaults() -> None:
    found = effective({})
    assert found.application_sort == "fifo"
    assert found.sort_by_priority
    assert (found.priority_fence, found.priority_offset) == (False, 0)
    assert (found.preemption_policy, found.preemption_delay_ns) == ("default", 30 * SECOND)
    assert (found.backoff, found.backoff_delay_ns) == (0, 30 * SECOND)
    assert (found.gang_admission, found.quota_preemption_delay_ns) == ("quota", 0)


@pytest.mark.remuda_rule("PRP-1", "QUE-18", "QUE-19")
@pytest.mark.parametrize(
    "value, policy",
    [("fair", "fair"), ("stateaware", "stateaware"), ("Fair", "fifo"), ("x", "fifo")],
)
def test_the_sort_policy_is_one_of_three_words(value: str, policy: str) -> None:
    assert effective({POLICY: value}).application_sort == policy


@pytest.mark.remuda_rule("PRP-1", "PRP-2", "QUE-18")
@pytest.mark.parametrize(
    "value, policy",
    [
        ("fence", "fence"),
        ("FENCE", "fence"),
        ("Disabled", "disabled"),
        ("default", "default"),
        ("", "default"),
        ("off", "default"),
    ],
)
def test_the_preemption_policy(value: str, policy: str) -> None:
    assert effective({PREEMPTION: value}).preemption_policy == policy
    assert settings({PREEMPTION: value}, leaf=False).preemption_policy == policy


DURATIONS = [
    ("1m30s", 90 * SECOND),
    ("1h15m", 75 * MINUTE),
    ("1.5h", 90 * MINUTE),
    ("500ms", 500 * MILLISECOND),
    ("7us", 7_000),
    ("7µs", 7_000),
    ("9ns", 9),
    ("0s", None),
    ("-5s", None),
    ("30", None),
    ("", None),
    ("1d", None),
    ("five", None),
    ("9999999h", None),
]


@pytest.mark.remuda_rule("PRP-1", "PRP-2", "QUE-18")
@pytest.mark.parametrize("value, delay", DURATIONS)
def test_delays_are_durations_above_zero(value: str, delay: int | None) -> None:
    default = 30 * SECOND
    found = effective({DELAY: value, BACKOFF_DELAY: value, QUOTA_DELAY: value})
    assert found.preemption_delay_ns == (delay or default)
    assert found.backoff_delay_ns == (delay or default)
    assert found.quota_preemption_delay_ns == (delay or 0)


@pytest.mark.remuda_rule("PRP-1", "QUE-18")
def test_both_names_of_the_quota_delay_count() -> None:
    assert effective({OLD_QUOTA_DELAY: "5s"}).quota_preemption_delay_ns == 5 * SECOND
    both = {OLD_QUOTA_DELAY: "5s", QUOTA_DELAY: "7s"}
    assert effective(both).quota_preemption_delay_ns == 7 * SECOND
    own = inherited({QUOTA_DELAY: "7s"}, {OLD_QUOTA_DELAY: "5s"})
    assert effective(own).quota_preemption_delay_ns == 5 * SECOND


@pytest.mark.remuda_rule("PRP-1", "PRP-2", "QUE-18")
@pytest.mark.parametrize(
    "value, count",
    [
        ("5", 5),
        ("18446744073709551615", 2**64 - 1),
        ("18446744073709551616", 0),
        ("-1", 0),
        ("+5", 0),
        ("1.5", 0),
        ("", 0),
    ],
)
def test_the_back_off_is_an_unsigned_number(value: str, count: int) -> None:
    assert effective({BACKOFF: value}).backoff == count


@pytest.mark.remuda_rule("PRP-1", "PRP-2", "QUE-18", "GANG-4")
@pytest.mark.parametrize(
    "value, admission",
    [("greedy", "greedy"), ("GREEDY", "greedy"), ("quota", "quota"), ("all", "quota")],
)
def test_the_admission_of_gangs(value: str, admission: str) -> None:
    assert effective({ADMISSION: value}).gang_admission == admission


@pytest.mark.remuda_rule("PRP-1", "PRP-2", "REST-71", "PRE-74")
def test_a_queue_tells_how_preemption_is_set() -> None:
    given = {PREEMPTION: "Fence", DELAY: "1.5h", OLD_QUOTA_DELAY: "1h"}
    odd = {PREEMPTION: "never", DELAY: "60", QUOTA_DELAY: "off"}
    door = Caller(leaf("given", properties=given), leaf("odd", properties=odd), leaf("plain"))
    view = door.queue("root.given")
    assert view.preemption_policy == "fence"
    assert view.preemption_delay_ns == 90 * MINUTE
    assert view.quota_preemption_delay_ns == 60 * MINUTE
    for path in ("root.odd", "root.plain"):
        view = door.queue(path)
        assert view.preemption_policy == "default"
        assert (view.preemption_delay_ns, view.quota_preemption_delay_ns) == (30 * SECOND, 0)


@pytest.mark.remuda_rule("PRP-1")
def test_keys_are_case_sensitive_and_unknown_ones_are_kept() -> None:
    properties = {"Priority.Offset": "7", "x": "y"}
    door = Caller(parent("p", leaf("a"), properties=properties))
    assert door.queue("root.p").priority_offset == 0
    assert dict(door.queue("root.p.a").properties) == properties


@pytest.mark.remuda_rule("PRP-6", "QUE-19")
def test_a_parent_has_no_settings_of_leaves() -> None:
    given = {POLICY: "fair", DELAY: "5s", BACKOFF: "3", BACKOFF_DELAY: "5s", ADMISSION: "greedy"}
    found = settings(given, leaf=False)
    assert (found.preemption_delay_ns, found.backoff) == (30 * SECOND, 0)
    assert (found.backoff_delay_ns, found.gang_admission) == (30 * SECOND, "quota")
    assert settings({QUOTA_DELAY: "5s"}, leaf=False).quota_preemption_delay_ns == 5 * SECOND
    door = Caller(parent("p", leaf("a"), properties=given))
    assert dict(door.queue("root.p.a").properties) == given
    assert door.queue("root.p.a").sort_policy == "fair"


@pytest.mark.remuda_rule("PRP-3", "PRP-5", "QUE-18", "QUE-20")
@pytest.mark.parametrize(
    "key, given, passed",
    [
        (POLICY, "fair", "fair"),
        (PRIORITY, "disabled", "disabled"),
        (FENCE, "fence", "default"),
        (OFFSET, "7", "0"),
        (PREEMPTION, "disabled", "disabled"),
        (PREEMPTION, "DISABLED", "DISABLED"),
        (PREEMPTION, "fence", "default"),
        (DELAY, "5s", "5s"),
        (BACKOFF, "3", "3"),
        (BACKOFF_DELAY, "5s", "5s"),
        (ADMISSION, "greedy", "greedy"),
        (QUOTA_DELAY, "5s", "5s"),
        (OLD_QUOTA_DELAY, "5s", "5s"),
        ("x", "y", "y"),
    ],
)
def test_what_a_child_inherits(key: str, given: str, passed: str) -> None:
    door = Caller(parent("p", parent("q", leaf("a"))), properties={key: given})
    assert dict(door.queue("root").properties) == {key: given}
    for path in ("root.p", "root.p.q", "root.p.q.a"):
        assert dict(door.queue(path).properties) == {key: passed}


@pytest.mark.remuda_rule("PRP-3", "PRP-5")
def test_an_own_value_wins_over_an_inherited_one() -> None:
    above = {PREEMPTION: "disabled", FENCE: "fence", POLICY: "fair"}
    own = {PREEMPTION: "fence", FENCE: "fence", POLICY: "fifo"}
    door = Caller(parent("p", leaf("a", properties=own), properties=above))
    assert dict(door.queue("root.p.a").properties) == own


@pytest.mark.remuda_rule("PRP-4", "D-C24", "TPL-4", "QUE-20")
def test_a_dynamic_leaf_merges_its_parent_and_the_template() -> None:
    # The full example of chapter 10 section 7: what blue.x gets.
    root = {PRIORITY: "disabled"}
    teams = {PREEMPTION: "disabled", OFFSET: "100"}
    blue = parent("blue", properties={POLICY: "fair"})
    template = TemplateConfig(3, {DELAY: "5s"}, {"memory": 8_000_000_000, "vcore": 4000})
    door = Caller(
        parent("teams", blue, properties=teams),
        properties=root,
        root={"template": template},
        placement_rules=(CREATING,),
    )
    door.app("app", "root.teams.blue.x")
    view = door.queue("root.teams.blue.x")
    assert dict(view.properties) == {
        PRIORITY: "disabled",
        PREEMPTION: "disabled",
        OFFSET: "0",
        POLICY: "fair",
        DELAY: "5s",
    }
    assert (view.sort_policy, view.priority_sorting, view.priority_offset) == ("fair", False, 0)
    assert (view.max_applications, view.maximum) == (3, template.maximum)


@pytest.mark.remuda_rule("PRP-4", "D-C24")
def test_the_template_wins_and_a_dynamic_parent_inherits_too() -> None:
    template = TemplateConfig(0, {POLICY: "fifo", OFFSET: "9"})
    door = Caller(
        parent("p", properties={POLICY: "fair", OFFSET: "7"}, template=template),
        placement_rules=(CREATING,),
    )
    door.app("app", "root.p.x.y")
    assert dict(door.queue("root.p.x").properties) == {POLICY: "fair", OFFSET: "0"}
    assert dict(door.queue("root.p.x.y").properties) == {POLICY: "fifo", OFFSET: "9"}


@pytest.mark.remuda_rule("PRP-7", "QUE-21", "D-C10", "RLD-23")
def test_a_reload_works_all_properties_out_again() -> None:
    before = {OFFSET: "7", POLICY: "fair"}
    door = Caller(parent("p", leaf("a", properties=before)), properties={PRIORITY: "disabled"})
    door.reload(parent("p", leaf("a")), properties={PRIORITY: "disabled", "x": "y"})
    view = door.queue("root.p.a")
    assert dict(view.properties) == {PRIORITY: "disabled", "x": "y"}
    assert (view.priority_offset, view.sort_policy) == (0, "fifo")
    assert not view.priority_sorting
