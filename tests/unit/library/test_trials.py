"""What would happen, and what would help, asked through the Python API."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import pytest

from remuda import (
    Ask,
    ChangedAsk,
    ConfigError,
    ConfigImpact,
    MovedApplication,
    Queue,
    QueueAmount,
    QueueGone,
    RemudaError,
    RequestError,
    Scheduler,
    WayOut,
)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="copies take /proc")


def small(*, live: bool = False) -> Scheduler:
    scheduler = Scheduler([Queue("a", maximum={"vcore": "3"}), Queue("b")], live=live)
    scheduler.add_node("n1", {"vcore": "4"})
    scheduler.submit("job", queue="root.a", user="ada")
    return scheduler


@pytest.mark.remuda_rule("EXT-48")
def test_asks_of_an_application_that_runs_need_no_submission() -> None:
    scheduler = small()
    found = scheduler.dry_run("job", [Ask("job", "t", {"vcore": 1000})])
    assert (found.verdict, found.queue) == ("placed", "root.a")
    assert [each.node_id for each in found.placed] == ["n1"]


@pytest.mark.remuda_rule("EXT-48")
def test_a_configuration_and_nodes_can_come_before_the_submission() -> None:
    scheduler = small()
    ask = [Ask("job", "t", {"vcore": 4000})]
    assert scheduler.dry_run("job", ask).waiting[0].gate == "queue quota"
    wider = [Queue("a", maximum={"vcore": "9"}), Queue("b")]
    assert scheduler.dry_run("job", ask, config=wider).verdict == "placed"
    more = [Ask("job", "t", {"vcore": 5000})]
    found = scheduler.dry_run("job", more, config=wider, nodes={"n2": {"vcore": "5"}})
    assert [each.node_id for each in found.placed] == ["n2"]
    assert scheduler.dry_run("job", ask).verdict == "waits"


@pytest.mark.remuda_rule("EXT-48")
def test_a_live_scheduler_answers_too() -> None:
    with small(live=True) as scheduler:
        found = scheduler.dry_run("job", [Ask("job", "t", {"vcore": 1000})])
        assert found.verdict == "placed"
        late = scheduler.ask("job", "late", {"vcore": "4"})
        scheduler.wait()
        ways = scheduler.ways_out(late)
        assert [way.text for way in ways[:2]] == [
            "submit it to queue root.b instead of root.a",
            "ask for vcore 3000 instead of vcore 4000",
        ]


@pytest.mark.remuda_rule("EXT-47")
def test_limits_that_stop_an_ask_together_are_raised_together() -> None:
    scheduler = Scheduler(
        [Queue("p", maximum={"vcore": "2"}, queues=[Queue("a", maximum={"vcore": "1"})])]
    )
    scheduler.add_node("n1", {"vcore": "8"})
    scheduler.submit("job", queue="root.p.a")
    ask = scheduler.ask("job", "t", {"vcore": "3"})
    scheduler.step()
    (limits,) = [way for way in scheduler.ways_out(ask) if way.kinds == ("limits",)]
    assert limits.text == (
        "raise the limit of root.p.a to vcore 3000; raise the limit of root.p to vcore 3000"
    )
    assert limits.node_id == "n1"


@pytest.mark.remuda_rule("EXT-47")
def test_a_way_says_whom_it_costs_something() -> None:
    scheduler = small()
    scheduler.ask("job", "held", {"vcore": "3"})
    scheduler.submit("other", queue="root.b")
    scheduler.step()
    waits = scheduler.ask("other", "t", {"vcore": "2"})
    scheduler.ask("job", "next", {"vcore": "3"})
    scheduler.step()
    (end,) = [way for way in scheduler.ways_out(waits) if way.kinds == ("an application ends",)]
    assert end.text == "application job ends"
    assert end.preempted == ()


def texts(ways: Sequence[WayOut], kind: str) -> list[str]:
    """The words of the ways that change only one kind of thing."""
    return [way.text for way in ways if way.kinds == (kind,)]


@pytest.mark.remuda_rule("EXT-47")
def test_a_guarantee_lets_an_ask_preempt() -> None:
    scheduler = Scheduler(
        [Queue("p", guaranteed={"vcore": "1"}, queues=[Queue("a"), Queue("b")]), Queue("c")]
    )
    scheduler.add_node("n1", {"vcore": "4"})
    scheduler.submit("old", queue="root.c")
    scheduler.submit("new", queue="root.p.a")
    scheduler.ask("old", "t", {"vcore": "1"}, max_allocations=4)
    scheduler.step()
    kind = "guarantee"
    modest = scheduler.ask("new", "modest", {"vcore": "2"})
    waits = scheduler.ask("new", "t", {"vcore": "2"}, allow_preempt_other=True)
    scheduler.step()
    assert texts(scheduler.ways_out(modest, within_seconds=60), kind) == []
    ways = scheduler.ways_out(waits, within_seconds=60)
    (way,) = [each for each in ways if each.kinds == (kind,)]
    assert way.text == "guarantee root.p.a vcore 2000"
    assert len(way.preempted) == 2
    assert way.node_id == "n1"


@pytest.mark.remuda_rule("EXT-47")
def test_an_ask_that_requires_a_node_may_go_elsewhere_or_have_that_node_enlarged() -> None:
    scheduler = Scheduler([Queue("a")])
    scheduler.add_nodes({"n1": {"vcore": "4"}, "n2": {"vcore": "8"}})
    scheduler.submit("job", queue="root.a")
    pinned = {node: {"yunikorn.apache.org/requiredNode": node} for node in ("n1", "n3")}
    small = scheduler.ask("job", "small", {"vcore": "6"}, tags=pinned["n1"])
    gone = scheduler.ask("job", "gone", {"vcore": "6"}, tags=pinned["n3"])
    scheduler.step()
    ways = scheduler.ways_out(small)
    assert texts(ways, "required node") == ["do not require node n1"]
    assert texts(ways, "larger node") == ["enlarge node n1 to vcore 6000"]
    ways = scheduler.ways_out(gone)
    assert texts(ways, "required node") == ["do not require node n3"]
    assert texts(ways, "another node") == ["add node n3 with vcore 6000"]
    assert ways[-1].node_id == "n3"


@pytest.mark.remuda_rule("EXT-119")
def test_edits_that_change_more_are_tried_only_when_no_smaller_one_places_the_ask() -> None:
    scheduler = Scheduler([Queue("a", properties={"application.sort.policy": "stateaware"})])
    scheduler.add_node("n1", {"vcore": "4"})
    asks = {}
    for number, (name, size) in enumerate({"x": "9", "y": "9", "job": "1"}.items()):
        scheduler.submit(name, queue="root.a")
        asks[name] = scheduler.ask(name, "t", {"vcore": size})
        scheduler.step(number)
    (way,) = scheduler.ways_out(asks["job"])
    assert way.text == "application x ends, and application y ends"
    assert (way.cost, way.node_id) == (14, "n1")
    (way,) = scheduler.ways_out(asks["y"])
    assert way.text == "application x ends, and one more node with vcore 9000"


DYNAMIC = """
partitions:
  - name: default
    placementrules: [{name: provided, create: true}]
    queues:
      - name: root
        submitacl: "*"
        queues:
          - name: teams
            parent: true
            childtemplate: {resources: {max: {vcore: 2}}}
"""


@pytest.mark.remuda_rule("EXT-119")
def test_limits_that_no_configuration_names_are_left_as_they_are() -> None:
    scheduler = Scheduler(DYNAMIC)
    scheduler.add_node("n1", {"vcore": "9"})
    for name in ("x", "y", "job"):
        scheduler.submit(name, queue="root.teams.red")
    for name in ("x", "y"):
        scheduler.ask(name, "t", {"vcore": "1"})
    scheduler.step()
    waits = scheduler.ask("job", "t", {"vcore": "2"})
    scheduler.step()
    (way,) = scheduler.ways_out(waits)
    assert way.text == "application x ends, and application y ends"


def test_wrong_input_is_refused_in_one_line_and_changes_nothing() -> None:
    scheduler = small()
    placed = scheduler.ask("job", "t", {"vcore": "1"})
    scheduler.step()
    before = scheduler.allocations()
    with pytest.raises(RequestError, match="is no Ask of application 'job'"):
        scheduler.dry_run("job", [Ask("other", "t", {"vcore": 1})])
    with pytest.raises(RequestError, match="within_seconds is -1"):
        scheduler.dry_run("job", within_seconds=-1)
    with pytest.raises(RemudaError, match="ask 't' of application 'job' does not wait"):
        scheduler.ways_out(placed)
    with pytest.raises(RequestError, match="is no Ask"):
        scheduler.ways_out("t")  # type: ignore[arg-type]
    assert scheduler.allocations() == before
    scheduler.stop()
    with pytest.raises(RequestError, match="was stopped"):
        scheduler.dry_run("job")


@pytest.mark.remuda_rule("EXT-67", "EXT-68", "EXT-69")
def test_an_impact_names_what_a_configuration_changes_and_nothing_else() -> None:
    scheduler = Scheduler([Queue("a", guaranteed={"vcore": "2"}), Queue("b")])
    scheduler.add_nodes({"n1": {"vcore": "4"}})
    scheduler.submit("job", queue="root.a")
    scheduler.submit("idle", queue="root.b")
    scheduler.ask("job", "t", {"vcore": "3"})
    scheduler.step()
    scheduler.ask("job", "next", {"vcore": "1"})
    before = scheduler.allocations(), scheduler.pending()
    found = scheduler.config_impact(
        [Queue("a", guaranteed={"vcore": "1"}, maximum={"vcore": "2"}), Queue("c")]
    )
    assert (scheduler.allocations(), scheduler.pending()) == before
    assert found == ConfigImpact(
        found.at_ns,
        60.0,
        (QueueGone("default", "root.b", 1, {}),),
        (QueueAmount("default", "root.a", "vcore", None, 2_000, 3_000),),
        (),
        (QueueAmount("default", "root.a", "vcore", 1_000, 2_000, 3_000),),
        (MovedApplication("default", "idle", "root.b", "", found.moved[0].reason),),
        (ChangedAsk("default", "job", "next", ("n1",), ()),),
    )
    assert "no placement rule matched" in found.moved[0].reason
    unmet = scheduler.config_impact([Queue("a", guaranteed={"vcore": "9"}), Queue("b")])
    assert [(each.queue, each.after, each.against) for each in unmet.guarantees_unmet] == [
        ("root", 9_000, 4_000),
        ("root.a", 9_000, 4_000),
    ]
    same = scheduler.config_impact([Queue("a", guaranteed={"vcore": "2"}), Queue("b")])
    assert str(same) == "no differences"


@pytest.mark.remuda_rule("EXT-67")
def test_a_configuration_that_would_be_refused_has_no_impact() -> None:
    scheduler = small()
    scheduler.submit("other", queue="root.b")
    with pytest.raises(ConfigError, match=r"root\.b cannot become a parent"):
        scheduler.config_impact([Queue("b", queues=[Queue("c")])])
    with pytest.raises(ConfigError):
        scheduler.config_impact("partitions: 7")
    with pytest.raises(RequestError, match="names partition 'gpu'"):
        scheduler.config_impact("partitions: [{name: gpu, queues: [{name: root}]}]")
    with pytest.raises(RequestError, match="within_seconds is -1"):
        scheduler.config_impact(Queue("b"), within_seconds=-1)


@pytest.mark.remuda_rule("EXT-76")
def test_a_name_with_a_line_end_makes_no_line_of_its_own() -> None:
    name, key = "job\n  k runs on n1", "k\x1b[2J\n"
    told = r"job\n  k runs on n1"
    scheduler = Scheduler([Queue("a", maximum={"vcore": "3"}), Queue("b")])
    scheduler.add_node("n1", {"vcore": "4"})
    scheduler.submit(name, queue="root.a", user="ada")
    ask = scheduler.ask(name, key, {"vcore": "4"})
    scheduler.step(1)
    first = str(scheduler.explain(ask)).split("\n")[0]
    assert first == told + r"/k\x1b[2J\n waits: 1 pending, each vcore 4"
    found = scheduler.dry_run(name, [Ask(name, "more\n", {"vcore": 1000})])
    assert str(found).split("\n") == [
        f"{told} in root.a: waits",
        r"  more\n runs on n1",
        r"  k\x1b[2J\n waits, 1 pending: queue quota (root.a)",
    ]
    impact = str(scheduler.config_impact([Queue("b")]))
    assert f"  {told}: refused instead of root.a" in impact
    assert all(line.isprintable() for line in impact.split("\n"))
    assert all(str(way).isprintable() for way in scheduler.ways_out(ask))
