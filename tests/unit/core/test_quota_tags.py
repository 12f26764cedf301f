"""Limits that a namespace brings by tags of its applications (chapter 20 section 9)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import pytest

from remuda.config.schema import TemplateConfig
from remuda.core.messages import effects as e
from remuda.core.messages import events as ev
from remuda.core.messages.effects import Effect
from remuda.core.model.vectors import TYPES_LIMIT
from tests.unit.core.door import CREATING, SECOND, Caller, leaf, of, parent
from tests.unit.core.placing import gang, submit

QUOTA, GUARANTEED = "namespace.resourcequota", "namespace.resourceguaranteed"
APPS = "namespace.resourcemaxapps"


@pytest.fixture
def door() -> Caller:
    """Queues are made on demand; there is room for everything."""
    found = Caller(leaf("a"), placement_rules=(CREATING,))
    found.node("n1", {"memory": 1000, "vcore": 1000})
    return found


def text(**amounts: int) -> str:
    """A resource as a tag holds it."""
    return json.dumps({"resources": {name: {"value": value} for name, value in amounts.items()}})


def limits(door: Caller, path: str = "root.ns") -> tuple[object, object, int]:
    """Maximum, guarantee and number of applications of a queue."""
    view = door.queue(path)
    return view.maximum, view.guaranteed, view.max_applications


def changes(effects: Sequence[Effect]) -> list[tuple[str, int, Mapping[str, int] | None]]:
    """The events about changed limits."""
    details = (ev.QUEUE_MAX, ev.QUEUE_GUARANTEED)
    return [
        (record.object_id, record.detail, record.resource)
        for record in of(effects, e.EventRecord)
        if record.kind == ev.QUEUE and record.change == ev.SET and record.detail in details
    ]


@pytest.mark.remuda_rule("PLC-80", "QUE-7", "RES-10", "SI-26")
@pytest.mark.parametrize("spelled", [str, str.upper, str.title])
def test_the_tags_set_maximum_and_guarantee(door: Caller, spelled: type[str]) -> None:
    tags = {spelled(QUOTA): text(memory=10), spelled(GUARANTEED): text(memory=4, vcore=2)}
    submit(door, "app", "root.ns", tags=tags)
    assert limits(door) == ({"memory": 10}, {"memory": 4, "vcore": 2}, 0)


@pytest.mark.remuda_rule("PLC-80", "QUE-8")
def test_a_quota_is_obeyed(door: Caller) -> None:
    submit(door, "app", "root.ns", tags={QUOTA: text(memory=10)})
    door.ask("app", "k", {"memory": 4}, 5)
    assert len(door.place()) == 2
    door.scheduler.check()


@pytest.mark.remuda_rule("PLC-81", "QUE-7")
def test_the_last_tag_wins_and_an_absent_one_leaves_all_as_it_is(door: Caller) -> None:
    submit(door, "one", "root.ns", tags={QUOTA: text(memory=10)})
    submit(door, "two", "root.ns", tags={QUOTA: text(memory=20)})
    assert limits(door)[0] == {"memory": 20}
    submit(door, "three", "root.ns")
    submit(door, "four", "root.ns", tags={QUOTA: "", GUARANTEED: ""})
    assert limits(door)[0] == {"memory": 20}


@pytest.mark.remuda_rule("PLC-81", "QUE-8")
def test_a_raised_quota_lets_waiting_asks_go_on(door: Caller) -> None:
    submit(door, "one", "root.ns", tags={QUOTA: text(memory=4)})
    door.ask("one", "k", {"memory": 4}, 3)
    assert len(door.place()) == 1
    submit(door, "two", "root.ns", tags={QUOTA: text(memory=8)})
    assert len(door.place()) == 1
    submit(door, "three", "root.ns", tags={QUOTA: text(memory=4)})
    assert door.place() == []
    door.scheduler.check()


@pytest.mark.remuda_rule("PLC-81", "QUE-7")
def test_configured_queues_ignore_the_tags(door: Caller) -> None:
    submit(door, "app", "root.a", tags={QUOTA: text(memory=10), APPS: "3"})
    assert limits(door, "root.a") == (None, None, 0)


@pytest.mark.remuda_rule("PLC-81", "PLC-86")
def test_a_rejected_application_sets_nothing(door: Caller) -> None:
    submit(door, "one", "root.ns", tags={QUOTA: text(memory=10)})
    submit(door, "one", "root.ns", tags={QUOTA: text(memory=20)})
    assert limits(door)[0] == {"memory": 10}


BAD = [
    "no json",
    "[]",
    '"10"',
    "null",
    "{}",
    '{"resources":{}}',
    '{"resources":[]}',
    '{"resources":{"memory":10}}',
    '{"resources":{"memory":{"value":"10"}}}',
    '{"resources":{"memory":{"value":1.5}}}',
    '{"resources":{"memory":{"value":true}}}',
    '{"resources":{"memory":{"value":NaN}}}',
    '{"resources":{"memory":{"value":9223372036854775808}}}',
    '{"resources":{"memory":{"value":' + "9" * 5000 + "}}}",
    "[" * 60_000,
    text(memory=0),
    text(memory=10, vcore=-1),
    text(**{f"type-{number}": 1 for number in range(TYPES_LIMIT + 1)}),
    text(memory=10) + " " * 100_000,
]


@pytest.mark.remuda_rule("PLC-82", "RES-10", "RES-38")
@pytest.mark.parametrize("bad", BAD, ids=range(len(BAD)))
def test_a_tag_that_means_nothing_is_ignored_and_the_other_applies(door: Caller, bad: str) -> None:
    submit(door, "one", "root.ns", tags={QUOTA: bad})
    assert limits(door) == (None, None, 0)
    submit(door, "two", "root.ns", tags={QUOTA: bad, GUARANTEED: text(memory=4)})
    assert limits(door) == (None, {"memory": 4}, 0)
    submit(door, "three", "root.ns", tags={QUOTA: text(memory=9), GUARANTEED: bad})
    assert limits(door)[0] == {"memory": 9}


@pytest.mark.remuda_rule("PLC-82", "QUE-5")
def test_a_zero_beside_something_is_a_hard_zero(door: Caller) -> None:
    submit(door, "app", "root.ns", tags={QUOTA: text(memory=10, vcore=0)})
    door.ask("app", "no", {"vcore": 1})
    door.ask("app", "yes", {"memory": 1})
    assert [key for key, _ in door.place()] == ["yes-0"]


@pytest.mark.remuda_rule("PLC-83")
def test_a_quota_replaces_the_limit_of_the_template_whole() -> None:
    template = TemplateConfig(7, maximum={"memory": 5, "vcore": 1}, guaranteed={"memory": 1})
    door = Caller(leaf("a"), root={"template": template}, placement_rules=(CREATING,))
    tags = {QUOTA: text(memory=50), GUARANTEED: text(vcore=1)}
    submit(door, "app", "root.ns", tags=tags)
    assert limits(door) == ({"memory": 50}, {"vcore": 1}, 7)


@pytest.mark.remuda_rule("PLC-83")
def test_a_quota_may_exceed_its_parents_which_still_count() -> None:
    door = Caller(parent("p", maximum={"memory": 4}), placement_rules=(CREATING,))
    door.node("n1", {"memory": 100})
    submit(door, "app", "root.p.ns", tags={QUOTA: text(memory=50)})
    assert limits(door, "root.p.ns")[0] == {"memory": 50}
    door.ask("app", "k", {"memory": 2}, 9)
    assert len(door.place()) == 2


@pytest.mark.remuda_rule("PLC-85")
@pytest.mark.parametrize(
    "value, applications",
    [
        ("3", 3),
        ("007", 7),
        ("18446744073709551615", 2**64 - 1),
        ("0", 0),
        ("-1", 0),
        ("+1", 0),
        ("1.5", 0),
        ("many", 0),
        ("18446744073709551616", 0),
        ("9" * 5000, 0),
        ("", 0),
    ],
)
def test_a_tag_sets_the_number_of_applications(door: Caller, value: str, applications: int) -> None:
    submit(door, "app", "root.ns", tags={APPS: value})
    assert limits(door) == (None, None, applications)


@pytest.mark.remuda_rule("PLC-85")
def test_a_bad_number_of_applications_leaves_the_current_one(door: Caller) -> None:
    submit(door, "one", "root.ns", tags={APPS: "3"})
    submit(door, "two", "root.ns", tags={APPS: "0"})
    submit(door, "three", "root.ns", tags={QUOTA: text(memory=1)})
    assert limits(door) == ({"memory": 1}, None, 3)


@pytest.mark.remuda_rule("PLC-85", "QUE-22", "QUE-25")
def test_the_number_of_applications_holds_back_and_lets_go(door: Caller) -> None:
    for name in ("one", "two", "three"):
        submit(door, name, "root.ns", tags={APPS: "1"} if name == "one" else {})
        door.ask(name, f"{name}-k", {"memory": 1})
    assert [key for key, _ in door.place()] == ["one-k-0"]
    submit(door, "four", "root.ns", tags={APPS: "2"})
    assert [key for key, _ in door.place()] == ["two-k-0"]
    door.scheduler.check()


@pytest.mark.remuda_rule("PLC-85", "QUE-22", "QUE-25")
def test_a_number_of_applications_holds_back_who_was_free_before(door: Caller) -> None:
    for name in ("one", "two"):
        submit(door, name, "root.ns")
        door.ask(name, f"{name}-k", {"memory": 1})
    assert door.place(1) == [("one-k-0", "n1")]
    submit(door, "three", "root.ns", tags={APPS: "1"})
    assert door.place() == []
    door.scheduler.check()


@pytest.mark.remuda_rule("PLC-85")
@pytest.mark.parametrize("given, cleared", [(QUOTA, GUARANTEED), (GUARANTEED, QUOTA)])
def test_if_one_limit_is_given_the_other_goes(door: Caller, given: str, cleared: str) -> None:
    submit(door, "one", "root.ns", tags={QUOTA: text(memory=10), GUARANTEED: text(memory=4)})
    effects = submit(door, "two", "root.ns", tags={given: text(memory=6)})
    expected: dict[str, object] = {given: {"memory": 6}, cleared: None}
    assert limits(door)[:2] == (expected[QUOTA], expected[GUARANTEED])
    assert changes(effects) == [
        ("root.ns", ev.QUEUE_MAX, expected[QUOTA]),
        ("root.ns", ev.QUEUE_GUARANTEED, expected[GUARANTEED]),
    ]


@pytest.mark.remuda_rule("PLC-86", "D-P11", "PLC-6", "GANG-3")
def test_a_gang_is_tested_with_its_quota_which_is_not_stored(door: Caller) -> None:
    submit(door, "one", "root.ns", tags={QUOTA: text(memory=10)})
    refusals = []
    for quota in (5, 20):
        effects = door.send(gang({"memory": 15}, "root.ns", tags={QUOTA: text(memory=quota)}))
        (answer,) = of(effects, e.ApplicationsAnswered)
        refused = [bad.reason for bad in answer.rejected]
        refusals.append(any("larger than max queue allocation" in each for each in refused))
        assert limits(door)[0] == {"memory": 10 if refused else 20}  # PLC-81: of those accepted
    assert refusals == [True, False]


@pytest.mark.remuda_rule("EVT-75", "EVT-67", "EVT-68", "EVT-65")
def test_changed_limits_are_told_after_the_application(door: Caller) -> None:
    tags = {QUOTA: text(memory=10), GUARANTEED: text(memory=4)}
    effects = submit(door, "one", "root.ns", tags=tags)
    told = [(r.change, r.detail) for r in of(effects, e.EventRecord) if r.kind == ev.QUEUE]
    assert told == [
        (ev.ADD, ev.QUEUE_DYNAMIC),
        (ev.ADD, ev.QUEUE_APP),
        (ev.SET, ev.QUEUE_MAX),
        (ev.SET, ev.QUEUE_GUARANTEED),
    ]
    assert changes(effects) == [
        ("root.ns", ev.QUEUE_MAX, {"memory": 10}),
        ("root.ns", ev.QUEUE_GUARANTEED, {"memory": 4}),
    ]
    assert changes(submit(door, "two", "root.ns", tags=tags)) == []


@pytest.mark.remuda_rule("PLC-68")
def test_a_queue_that_comes_back_has_no_quota_any_more(door: Caller) -> None:
    submit(door, "one", "root.ns", tags={QUOTA: text(memory=10), APPS: "1"})
    door.remove("one")
    door.wait(10 * SECOND)
    submit(door, "two", "root.ns")
    assert limits(door) == (None, None, 0)


@pytest.mark.remuda_rule("PLC-82", "RES-1")
def test_tags_teach_no_more_resource_types_than_a_partition_may_have(door: Caller) -> None:
    half = {f"type-{number}": 1 for number in range(TYPES_LIMIT - 10)}
    rest = {f"more-{number}": 1 for number in range(20)}
    submit(door, "app", "root.ns", tags={QUOTA: text(**half), GUARANTEED: text(**rest)})
    assert limits(door) == (half, None, 0)
    door.scheduler.check()
