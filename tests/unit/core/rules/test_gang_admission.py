"""Which gangs a queue takes at all (GANG-1, GANG-2, GANG-3, SI-20 steps 8 to 10)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from remuda.base.resources import Resource
from remuda.config.schema import QueueConfig
from remuda.core.messages import effects as e
from tests.unit.core.door import CREATING, DAY, leaf, of, parent
from tests.unit.core.rules.gang import FAIR, ONE, TWO, Gang, heard, pair

STATEAWARE = {"application.sort.policy": "stateaware"}
FORCE = {"application.create.force": "true"}
BAD_ORDER = {"node.sort.policy": "sideways"}


def verdict(gang: Gang, ask: Resource, queue: str = "root.a", **other: Any) -> str:
    """Why a gang is refused, "" if it is accepted."""
    gang.submit("app", ask, queue=queue, **other)
    (answer,) = of(gang.last, e.ApplicationsAnswered)
    if answer.accepted:
        assert gang.state("app") == "New"
        return ""
    (refused,) = answer.rejected
    assert refused.subject == "app"
    assert gang.state("app") == ""
    return refused.reason


@pytest.mark.remuda_rule("GANG-2", "SI-20", "QUE-43")
@pytest.mark.parametrize("properties", [{}, {"application.sort.policy": "fifo"}, STATEAWARE])
def test_queues_that_serve_one_after_the_other_take_gangs(properties: dict[str, str]) -> None:
    assert verdict(Gang(leaf("a", properties=properties)), TWO) == ""


@pytest.mark.remuda_rule("GANG-2", "SI-20", "QUE-43")
def test_a_fair_queue_takes_no_gang() -> None:
    gang = Gang(leaf("a", properties=FAIR))
    assert "unsupported sort type" in verdict(gang, TWO)
    assert heard(gang.app("app")) == ["accepted[app]"]  # SI-23: the ID is free at once


@pytest.mark.remuda_rule("GANG-1", "GANG-2", "GANG-3")
@pytest.mark.parametrize("ask", [{}, {"vcore": 0}, {"vcore": 0, "memory": 0}])
def test_an_ask_of_nothing_makes_no_gang(ask: Resource) -> None:
    gang = Gang(leaf("a", {"vcore": 1}, properties=FAIR))
    assert verdict(gang, ask) == ""


@pytest.mark.remuda_rule("GANG-2")
@pytest.mark.parametrize("style", ["Hard", "Soft"])
def test_a_later_change_of_the_order_leaves_the_gangs_in_the_queue_alone(style: str) -> None:
    gang = pair(style=style)
    gang.submit("late", TWO)
    gang.reload(leaf("a", properties=FAIR))
    assert gang.queue("root.a").sort_policy == "fair"
    gang.want("r1")
    assert gang.run() == ["released[p1-0 REPLACED]"]
    assert gang.confirm("p1-0") == ["new[r1-0 n1]"]
    gang.hold("q1", "q2", app="late")
    assert sorted(line for line in gang.run() if line.startswith("updated")) == [
        "updated[late Starting]"
    ]
    assert gang.holds("late") == ["q1-0", "q2-0"]
    assert gang.submit("later", TWO) == ["rejected[later]"]


PATHS: list[tuple[list[QueueConfig], str]] = [
    ([leaf("a", {"vcore": 10})], "root.a"),
    ([parent("p", leaf("a"), maximum={"vcore": 10})], "root.p.a"),
    ([parent("p", leaf("a", {"vcore": 10}), maximum={"vcore": 12})], "root.p.a"),
    ([parent("p", parent("s", leaf("a", {"vcore": 10})), maximum={"vcore": 10})], "root.p.s.a"),
]


@pytest.mark.remuda_rule("GANG-3", "SI-20", "QUE-15")
@pytest.mark.parametrize("queues, path", PATHS)
def test_a_gang_must_fit_the_smallest_maximum_of_its_path(
    queues: list[QueueConfig], path: str
) -> None:
    for cores in (9, 10):
        assert verdict(Gang(*queues), {"vcore": cores}, path) == ""
    assert "larger than max queue allocation" in verdict(Gang(*queues), {"vcore": 11}, path)


@pytest.mark.remuda_rule("GANG-3", "QUE-15")
@pytest.mark.parametrize(
    "ask, fits",
    [
        ({"vcore": 10}, True),
        ({"memory": 5}, True),
        ({"vcore": 10, "memory": 5}, True),
        ({"vcore": 10, "memory": 5, "gpu": 1000}, True),
        ({"vcore": 11, "memory": 5}, False),
        ({"vcore": 10, "memory": 6}, False),
    ],
)
def test_each_level_may_limit_another_type(ask: Resource, fits: bool) -> None:
    gang = Gang(parent("p", leaf("a", {"vcore": 10}), maximum={"memory": 5}))
    assert (verdict(gang, ask, "root.p.a") == "") is fits


@pytest.mark.remuda_rule("GANG-3")
def test_the_size_of_the_cluster_refuses_no_gang() -> None:
    assert verdict(Gang(), {"vcore": 1_000_000}) == ""
    gang = Gang()
    gang.nodes(n1=1)
    assert verdict(gang, {"vcore": 1_000_000, "unheard/of": 7}) == ""


@pytest.mark.remuda_rule("GANG-3")
def test_what_runs_already_does_not_count_when_a_gang_comes() -> None:
    gang = Gang(leaf("a", {"vcore": 10}))
    gang.nodes(n1=10)
    gang.submit("other")
    gang.existing("other", "x", "n1", {"vcore": 9})
    assert verdict(gang, {"vcore": 10}) == ""


@pytest.mark.remuda_rule("GANG-3", "PLC-6")
@pytest.mark.parametrize("cores, fits", [(5, True), (6, False)])
def test_the_quota_of_a_namespace_counts(cores: int, fits: bool) -> None:
    gang = Gang(leaf("a"), placement_rules=(CREATING,))
    quota = json.dumps({"resources": {"vcore": {"value": 5}}})
    tags = {"namespace.resourcequota": quota}
    assert (verdict(gang, {"vcore": cores}, "root.ns", tags=tags) == "") is fits


@pytest.mark.remuda_rule("SI-20")
def test_the_checks_of_a_gang_have_an_order() -> None:
    fair = Gang(leaf("a", {"vcore": 1}, properties=FAIR))
    assert "unsupported sort type" in verdict(fair, TWO, tags=BAD_ORDER)
    small = Gang(leaf("a", {"vcore": 1}))
    assert "larger than max queue allocation" in verdict(small, TWO, tags=BAD_ORDER)
    assert "unsupported node sort policy" in verdict(Gang(leaf("a")), TWO, tags=BAD_ORDER)


@pytest.mark.remuda_rule("SI-20", "SI-22", "APP-13", "APP-18")
def test_a_refused_gang_is_recorded_as_rejected_for_three_days() -> None:
    gang = Gang(leaf("a", {"vcore": 1}))
    assert verdict(gang, TWO)
    assert gang.home().applications.get("Rejected") == 1
    gang.run(3 * DAY - 1)
    assert gang.home().applications.get("Rejected") == 1
    gang.run(1)
    assert gang.home().applications.get("Rejected", 0) == 0


@pytest.mark.remuda_rule("SI-25", "GANG-2", "GANG-3")
@pytest.mark.parametrize("queue", [leaf("a", properties=FAIR), leaf("a", {"vcore": 1})])
def test_a_forced_gang_works_in_the_recovery_queue(queue: QueueConfig) -> None:
    gang = Gang(queue)
    gang.nodes(n1=10)
    assert gang.submit("app", TWO, tags=FORCE) == ["accepted[app]"]
    assert gang.application().queue == "root.@recovery@"
    gang.hold("p1", "p2")
    assert gang.run() == ["new[p1-0 n1]", "updated[app Starting]", "new[p2-0 n1]"]


@pytest.mark.remuda_rule("GANG-1")
def test_placeholders_work_without_the_total_of_the_gang() -> None:
    gang = Gang(leaf("a", {"vcore": 1}, properties=FAIR))
    gang.nodes(n1=10)
    assert gang.submit() == ["accepted[app]"]
    assert gang.hold("p1", "p2") == ["updated[app Accepted]"]
    # No gate: one after the other as far as the quota goes; and no state by placeholders alone.
    assert gang.run() == ["new[p1-0 n1]"]
    assert gang.state("app") == "Accepted"
    # No hold: real asks replace at once.
    gang.want("r1")
    assert gang.run() == ["released[p1-0 REPLACED]"]


@pytest.mark.remuda_rule("SI-31")
def test_a_placeholder_without_a_group_is_refused_like_before() -> None:
    gang = Gang()
    gang.submit("app", ONE)
    assert gang.hold("p1", group="") == ["refused[p1]"]
    assert gang.state("app") == "New"
