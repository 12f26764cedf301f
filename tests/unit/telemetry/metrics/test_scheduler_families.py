"""The metrics of the scheduler as a whole (chapter 97 section 2)."""

from __future__ import annotations

import itertools
from functools import partial

import pytest

from remuda.base.duration import MICROSECOND, MILLISECOND
from remuda.config.process_limits import DEFAULT_LIMITS, MEMORY
from remuda.core.messages import commands as c
from remuda.core.messages.effects import AllocationNew
from remuda.core.ports import NodesAnswer, NodesQuestion, PreemptionQuestion, first_will_do
from remuda.runtime.timings import Timings
from remuda.telemetry.metrics.scheduler_families import RANGES
from tests.unit.core.door import (
    SECOND,
    Caller,
    existing_allocation,
    leaf,
    of,
    parent,
    partition,
)
from tests.unit.telemetry.metrics.scraping import S, Scraper, chosen, value

ATTEMPTS = S + "container_allocation_attempt_total"
SUBMISSIONS = S + "application_submission_total"
APPLICATIONS = S + "application_total"


@pytest.fixture
def door() -> Caller:
    caller = Caller(leaf("a"))
    caller.node("n1", {"vcore": 10})
    return caller


@pytest.mark.remuda_rule("MET-4", "MET-6", "MET-7", "MET-8", "MET-9")
def test_only_what_happened_exists_apart_from_what_others_read(door: Caller) -> None:
    scraper = Scraper(Caller(leaf("a")))
    found = scraper.samples()
    assert chosen(found, ATTEMPTS) == {"allocated": 0, "released": 0, "error": 0}
    assert chosen(found, SUBMISSIONS, "result") == {}
    assert chosen(found, APPLICATIONS) == {"running": 0}
    assert chosen(found, S + "node") == {"active": 0, "failed": 0}
    assert value(found, S + "recovered_total") == 0


@pytest.mark.remuda_rule("MET-6")
def test_refusals_of_asks_and_allocations_are_counted_when_they_are_handed_out(
    door: Caller,
) -> None:
    scraper = Scraper(door)
    refused = [
        *door.ask("nobody", "k", {"vcore": 1}),
        *door.existing("nobody", "i", "n1", {"vcore": 1}),
    ]
    scraper.metrics.refusals(refused)
    assert scraper.values(ATTEMPTS) == {"allocated": 0, "released": 0, "rejected": 2, "error": 1}


@pytest.mark.remuda_rule("MET-16", "MET-6", "MET-35")
def test_a_replaced_placeholder_is_released_when_it_is_ordered_out(door: Caller) -> None:
    scraper = Scraper(door)
    door.app("app")
    door.ask("app", "p", {"vcore": 1}, placeholder=True, task_group="g")
    ((identity, _),) = door.place()
    assert scraper.values(ATTEMPTS) == {"allocated": 1, "released": 0, "error": 0}
    door.ask("app", "real", {"vcore": 1}, task_group="g")
    door.step()
    assert scraper.values(ATTEMPTS) == {"allocated": 1, "released": 1, "error": 0}
    told = door.release("app", identity, kind=c.PLACEHOLDER_REPLACED)
    assert len(of(told, AllocationNew)) == 1
    found = scraper.samples()
    assert chosen(found, ATTEMPTS) == {"allocated": 2, "released": 1, "error": 0}
    # On the queue one came, and a confirmed replacement is no release.
    own = chosen(found, "yunikorn_queue_container", queue="root.a")
    assert own == {"allocated": 1, "released": 0}
    door.release("app")
    found = scraper.samples()
    assert chosen(found, ATTEMPTS) == {"allocated": 2, "released": 2, "error": 0}
    own = chosen(found, "yunikorn_queue_container", queue="root.a")
    assert own == {"allocated": 1, "released": 1}


@pytest.mark.remuda_rule("MET-16")
def test_what_nodes_bring_along_counts_as_allocated_and_as_recovered(door: Caller) -> None:
    scraper = Scraper(door)
    door.app("app")
    door.node("n2", {"vcore": 10}, existing=(existing_allocation("app", "i1", "n2", {"vcore": 1}),))
    door.existing("app", "i2", "n1", {"vcore": 1})
    door.existing("app", "i2", "n1", {"vcore": 2})  # a new size is no new allocation
    door.existing("app", "i3", "n1", {"vcore": 1}, tags={"foreign": ""})
    door.ask("app", "k", {"vcore": 1})
    door.place()
    found = scraper.samples()
    recovered = value(found, S + "recovered_total")
    live = len(door.apps()["app"].allocations)
    assert chosen(found, ATTEMPTS)["allocated"] == live
    assert recovered == live - 1
    door.release("app")
    assert scraper.values(ATTEMPTS) == {"allocated": live, "released": live, "error": 0}


@pytest.mark.remuda_rule("MET-17", "MET-7")
def test_each_application_is_accepted_or_rejected_once(door: Caller) -> None:
    scraper = Scraper(door)
    door.app("one")
    found = scraper.values(SUBMISSIONS, "result")
    assert found == {"new": 1}
    door.ask("one", "k", {"vcore": 1})
    door.place()
    door.app("two", "root.unknown")
    door.app("one")
    expected: dict[str, float] = {"new": 3, "accepted": 1, "rejected": 2}
    assert scraper.values(SUBMISSIONS, "result") == expected
    door.release("one")
    assert scraper.values(SUBMISSIONS, "result") == expected


@pytest.mark.remuda_rule("MET-18", "MET-19", "MET-8")
def test_running_is_the_true_number_whatever_way_applications_end(door: Caller) -> None:
    scraper = Scraper(door)
    for name in ("one", "two"):
        door.app(name)
        door.ask(name, "k", {"vcore": 1})
    door.place()
    assert scraper.values(APPLICATIONS) == {"running": 2}
    door.remove("one")
    assert scraper.values(APPLICATIONS) == {"running": 1}
    door.release("two")
    assert scraper.values(APPLICATIONS) == {"running": 0, "completing": 1}
    door.ask("two", "again", {"vcore": 1})
    door.place()
    assert scraper.values(APPLICATIONS)["running"] == 1
    door.release("two")
    door.wait(30 * SECOND)
    assert scraper.values(APPLICATIONS) == {"running": 0, "completing": 0, "completed": 1}


@pytest.mark.remuda_rule("MET-8", "MET-19")
def test_an_application_counts_as_failed_when_it_is_and_not_before() -> None:
    caller = Caller(partitions=[partition(leaf("a")), partition(leaf("a"), name="other")])
    scraper = Scraper(caller)
    caller.app("app", partition="other")
    caller.ask("app", "k", {"vcore": 1}, partition="other")
    assert scraper.values(APPLICATIONS) == {"running": 0}
    caller.reload(partitions=[partition(leaf("a"))])
    caller.wait(SECOND)
    assert scraper.values(APPLICATIONS) == {"running": 0, "failed": 1}


@pytest.mark.remuda_rule("MET-9", "MET-20")
def test_nodes_are_counted_by_what_is_true_and_by_what_happened(door: Caller) -> None:
    scraper = Scraper(door)
    door.node("n2", {"vcore": 1}, c.CREATE_DRAIN, attributes={"ready": "false"})
    nodes = S + "node"
    expected: dict[str, float] = {"active": 2, "failed": 0, "draining": 1, "unhealthy": 1}
    assert scraper.values(nodes) == expected
    door.node("n2", action=c.DRAIN_TO_SCHEDULABLE)
    door.node("n2", action=c.UPDATE, attributes={"ready": "true"})
    assert scraper.values(nodes) == expected | {"draining": 0, "unhealthy": 0}
    door.node("n1", action=c.DRAIN_NODE)
    door.node("n1", action=c.DECOMISSION)
    gone: dict[str, float] = {"active": 1, "draining": 0, "unhealthy": 0, "decommissioned": 1}
    assert scraper.values(nodes) == {**gone, "failed": 0}
    door.node("n3", {"vcore": 1}, home="[rm]unknown")
    lost = existing_allocation("nobody", "i", "n4", {"vcore": 1})
    door.node("n4", {"vcore": 1}, existing=(lost,))
    found = scraper.samples()
    assert chosen(found, nodes) == {**gone, "failed": 2}
    assert value(found, ATTEMPTS, state="error") == 1
    door.scheduler.check()


@pytest.mark.remuda_rule("MET-14", "MET-21")
def test_ranges_are_closed_above_and_hold_overfull_nodes() -> None:
    assert RANGES[:3] == ("[0,10%]", "(10%,20%]", "(20%,30%]")
    assert RANGES[-1] == "(90%,100%]"
    caller = Caller(leaf("a"))
    caller.app("app")
    for number, used in enumerate((0, 10, 11, 20, 100, 150)):
        node = f"n{number}"
        caller.node(node, {"vcore": 100, "memory": 0})
        if used:
            caller.existing("app", f"i{number}", node, {"vcore": used})
    scraper = Scraper(caller)
    found = scraper.samples()
    usage = chosen(found, S + "vcore_node_usage_total", "range")
    expected = dict.fromkeys(RANGES, 0.0)
    expected |= {"[0,10%]": 2, "(10%,20%]": 2, "(90%,100%]": 2}
    assert usage == expected
    assert chosen(found, S + "node_usage", "range", resource="vcore") == expected
    assert chosen(found, S + "memory_node_usage_total", "range") == {}  # no node has any


@pytest.mark.remuda_rule("MET-14", "MET-21")
def test_partitions_are_summed_and_a_type_whose_last_node_left_is_at_zero() -> None:
    caller = Caller(partitions=[partition(leaf("a")), partition(leaf("a"), name="other")])
    caller.node("n1", {"vcore": 10, "gpu": 1})
    caller.node("n2", {"vcore": 10}, home="other")
    scraper = Scraper(caller)
    assert scraper.values(S + "vcore_node_usage_total", "range")["[0,10%]"] == 2
    assert scraper.values(S + "gpu_node_usage_total", "range")["[0,10%]"] == 1
    caller.node("n1", action=c.DECOMISSION)
    assert scraper.values(S + "vcore_node_usage_total", "range")["[0,10%]"] == 1
    gone = scraper.values(S + "gpu_node_usage_total", "range")
    assert gone == dict.fromkeys(RANGES, 0.0)


@pytest.mark.remuda_rule("MET-14")
def test_ten_thousand_nodes_are_looked_at_in_parts_and_once_a_second(door: Caller) -> None:
    nodes = tuple([c.NodeUpdate(f"m{n}", c.CREATE, {"vcore": 10}) for n in range(2_000)])
    door.send(c.UpdateNodes("rm", nodes))
    scraper = Scraper(door)
    found = scraper.samples()
    assert value(found, S + "vcore_node_usage_total", range="[0,10%]") == 2_001
    asked = len(scraper.source.asked)
    assert asked > 4  # none of the questions is about all nodes
    scraper.metrics.render()
    assert len(scraper.source.asked) == asked  # the same second, the same reading
    scraper.samples()
    assert len(scraper.source.asked) == asked + 3  # nothing changed: one question of each kind


@pytest.mark.remuda_rule("MET-5", "MET-10", "MET-15")
def test_latencies_are_in_seconds_under_both_names() -> None:
    caller = Caller(leaf("a"))
    scraper = Scraper(caller)
    stopwatch = scraper.source.stopwatch
    placed = AllocationNew("rm", "default", "i", "n1", c.Ask("app", "k", {}))
    stopwatch.step(50 * MICROSECOND, [], rests=False)
    stopwatch.step(2 * MILLISECOND, [placed, placed], rests=True)
    found = scraper.samples()
    for unit in ("milliseconds", "seconds"):
        # The step without a result is not observed.
        name = f"{S}scheduling_latency_{unit}"
        assert value(found, f"{name}_count") == 1
        assert value(found, f"{name}_sum") == pytest.approx(0.002)
        buckets = chosen(found, f"{name}_bucket", "le")
        limits = [0.0001, 0.001, 0.01, 0.1, 1, 10, 100, 1000]
        assert [float(each) for each in buckets] == [*limits, float("inf")]
        assert list(buckets.values()) == [0, 0, 1, 1, 1, 1, 1, 1, 1]
        cycle = f"{S}scheduling_cycle_{unit}"
        assert value(found, f"{cycle}_count") == 1
        assert value(found, f"{cycle}_sum") == pytest.approx(0.00205)
        assert value(found, f"{S}trynode_evaluation_{unit}_count") == 0


@pytest.mark.remuda_rule("CYC-31", "MET-48", "MET-49", "MET-12", "MET-13", "MET-15")
def test_all_that_is_measured_around_the_core_is_shown() -> None:
    scraper = Scraper(Caller(leaf("a")))
    placed = AllocationNew("rm", "default", "i", "n1", c.Ask("app", "k", {}))
    source = scraper.source
    source.stopwatch = stopwatch = Timings(partial(next, itertools.count(0, MILLISECOND)))
    for number in range(7):
        effects = [placed] * 3 if number < 5 else []
        stopwatch.step(MILLISECOND, effects, rests=number in {0, 2, 4, 6})
    answers = [NodesAnswer(0), NodesAnswer(-1, ("no",)), NodesAnswer(1, ("no",))]
    ask = stopwatch.listen(lambda _: answers.pop())
    for _ in range(3):
        ask(NodesQuestion("rm", "app", "k", True, ("n1", "n2")))
    ask_about_victims = stopwatch.listen_about_victims(first_will_do)
    for _ in range(6):
        ask_about_victims(PreemptionQuestion("rm", ()))
        stopwatch.attempt(begins=True)
        stopwatch.attempt(begins=False)
    stopwatch.attempt(begins=True)
    stopwatch.attempt(begins=False)
    found = scraper.samples()
    # Each of them took a millisecond; only YuniKorn's own have a twin (MET-5).
    for name, twin, count, total in (
        ("scheduling_step", False, 7, 0.007),
        ("scheduling_latency", True, 5, 0.005),
        ("scheduling_cycle", True, 4, 0.007),
        ("trynode_latency", True, 2, 0.002),
        ("trynode_evaluation", True, 3, 0.003),
        ("trypreemption_latency", True, 7, 0.007),
        ("predicate_victims", False, 6, 0.006),
    ):
        assert value(found, f"{S}{name}_seconds_count") == count, name
        assert value(found, f"{S}{name}_seconds_sum") == pytest.approx(total), name
        assert value(found, f"{S}{name}_milliseconds_count") == (count if twin else None), name
    assert value(found, f"{S}step_allocations_total") == 15
    assert value(found, f"{S}trynode_nodes_total") == 6


@pytest.mark.remuda_rule("MET-51", "SI-14")
def test_refusals_by_limits_are_counted_under_the_names_of_the_table() -> None:
    caller = Caller(leaf("a"), limits={**DEFAULT_LIMITS, "nodes": 1})
    scraper = Scraper(caller)
    name = S + "limit_hits_total"
    assert chosen(scraper.samples(), name, "limit") == dict.fromkeys([*DEFAULT_LIMITS, MEMORY], 0)
    for number in range(3):
        caller.node(f"n{number}", {"vcore": 1})
    counts = {**dict.fromkeys([*DEFAULT_LIMITS, MEMORY], 0), "nodes": 2}
    assert chosen(scraper.samples(), name, "limit") == counts


@pytest.mark.remuda_rule("MET-11")
def test_what_is_no_act_of_its_own_here_has_no_series() -> None:
    caller = Caller(parent("p", leaf("a")))
    caller.app("app", "root.p.a")
    caller.node("n1", {"vcore": 1})
    caller.ask("app", "k", {"vcore": 1})
    caller.place()
    names = {name for name, _ in Scraper(caller).samples()}
    assert not [name for name in names if name.startswith(S + "node_sorting_latency")]
