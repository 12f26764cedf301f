"""The museum of the reference's defects: changes of the configuration while it runs."""

from __future__ import annotations

import pytest

from remuda.base.errors import ConfigError
from remuda.config.load import load_configuration
from remuda.config.schema import TemplateConfig
from remuda.core.messages import events as ev
from remuda.core.messages import queries as q
from remuda.edges.inproc import InProcessScheduler
from remuda.si.pb import si_pb2 as si
from tests.unit.core.door import (
    CREATING,
    MINUTE,
    SECOND,
    Caller,
    events,
    leaf,
    parent,
    partition,
    refusal,
)
from tests.unit.edges.cluster import Rm, application, asks, nodes, registering

ONE = {"vcore": 1}
TWO = {"vcore": 2}


def cluster(*queues: object, **other: object) -> Caller:
    """One large node and these queues."""
    door = Caller(*queues, **other)  # type: ignore[arg-type]
    door.node("n1", {"vcore": 100})
    return door


def run(door: Caller, app: str, queue: str = "root.a", count: int = 1) -> int:
    """Ask for allocations of one core; how many there are."""
    door.app(app, queue)
    door.ask(app, f"{app}.k", ONE, count)
    return len(door.place())


def text(limit: int, rule: str = "provided") -> str:
    """A configuration in which ann may use so many cores in root.a."""
    limits = f"limits: [{{limit: x, users: [ann], maxresources: {{vcore: {limit}}}}}]"
    root = f"{{name: root, submitacl: '*', queues: [{{name: a, {limits}}}]}}"
    return f"partitions: [{{name: default, placementrules: [{{name: {rule}}}], queues: [{root}]}}]"


def serve(scheduler: InProcessScheduler, rm: Rm) -> None:
    """Begin with a limit of two cores, and an application in root.a that wants fifty."""
    scheduler.register_resource_manager(registering(config=text(2)), rm)
    scheduler.update_node(nodes("n1", vcore=100_000))
    request = application()
    request.new[0].queueName = "root.a"
    scheduler.update_application(request)
    scheduler.update_allocation(asks(*(f"k{number}" for number in range(50))))
    scheduler.wait_idle()


def update(scheduler: InProcessScheduler, config: str) -> None:
    """Change the configuration, and let everything happen that follows."""
    try:
        scheduler.update_configuration(si.UpdateConfigurationRequest(rmID="rm", config=config))
    finally:
        scheduler.wait_idle()


@pytest.mark.remuda_rule("RLD-6", "SI-86", "D-C15", "D-U9")
def test_a_refused_change_changes_no_limit() -> None:
    """The reference refuses a text for an unknown rule, and has set all its limits by then.

    In remuda, a change happens as a whole or not at all.
    """
    with InProcessScheduler(load=load_configuration) as scheduler:
        rm = Rm()
        serve(scheduler, rm)
        with pytest.raises(ConfigError, match="unheard"):
            update(scheduler, text(9, rule="unheard"))
        assert len(rm.placed) == 2


@pytest.mark.remuda_rule("RLD-7", "SI-86", "D-C16")
def test_the_way_back_from_a_refused_change_is_not_blocked() -> None:
    """The reference skips the old text, because its checksum is still the one in force.

    In remuda, checksum and limits always belong together, so nothing has to be undone.
    """
    with InProcessScheduler(load=load_configuration) as scheduler:
        rm = Rm()
        serve(scheduler, rm)
        with pytest.raises(ConfigError, match="unheard"):
            update(scheduler, text(9, rule="unheard"))
        update(scheduler, text(2))
        assert len(rm.placed) == 2
        update(scheduler, text(4))
        assert len(rm.placed) == 4


@pytest.mark.remuda_rule("RLD-9", "SI-87", "D-C18")
def test_a_partition_can_be_removed() -> None:
    """From 1.5.0 to 1.9 the scheduler hangs, because it takes a lock twice.

    remuda ends the partition's applications and removes it, and the other partition goes on.
    """
    door = cluster(partitions=[partition(leaf("a")), partition(leaf("a"), name="gpu")])
    door.app("lost", partition="gpu")
    assert refusal(door.reload(partitions=[partition(leaf("a"))])) == ""
    for _ in range(5):
        door.wait(10 * SECOND)
    assert door.scheduler.view(q.QueuesQuery("gpu", door.rm)) is None
    assert run(door, "app") == 1


@pytest.mark.remuda_rule("RLD-22", "D-C20")
def test_a_larger_number_of_applications_counts_at_once() -> None:
    """1.5.1 does not apply maxapplications to queues that exist.

    remuda applies it everywhere.
    """
    door = cluster(leaf("a", max_applications=1))
    assert (run(door, "one"), run(door, "two")) == (1, 0)
    assert refusal(door.reload(leaf("a", max_applications=2))) == ""
    assert door.place() == [("two.k-0", "n1")]


@pytest.mark.remuda_rule("RLD-26", "D-C21")
def test_a_queue_with_applications_stays_a_leaf() -> None:
    """1.5.1 turns it into a parent, which schedules none of the applications it still holds.

    remuda refuses such a change, and says which queue is the reason.
    """
    door = cluster(leaf("a"))
    run(door, "app")
    assert "root.a" in refusal(door.reload(parent("a", leaf("x"))))
    door.ask("app", "more", ONE)
    assert door.place() == [("more-0", "n1")]


@pytest.mark.remuda_rule("RLD-29", "OBJ-2", "D-C22")
def test_a_queue_that_comes_back_is_there_to_stay() -> None:
    """1.5.1 leaves it draining, and removes it once it is empty although it is configured.

    remuda makes it active again.
    """
    door = cluster(leaf("a"), leaf("b"))
    run(door, "app")
    assert refusal(door.reload(leaf("b"))) == ""
    assert refusal(door.reload(leaf("a"), leaf("b"))) == ""
    door.remove("app")
    door.wait(MINUTE)
    assert door.queue("root.a").status == "Active"
    assert run(door, "next") == 1


@pytest.mark.remuda_rule("PRP-7", "QUE-21", "D-C10")
def test_a_property_that_is_taken_away_has_no_effect_any_more() -> None:
    """Up to 1.9 a removed offset keeps its effect until the scheduler is restarted.

    remuda works all properties out anew.
    """
    door = cluster(leaf("a", properties={"priority.offset": "7"}), leaf("b"))
    assert refusal(door.reload(leaf("a"), leaf("b"))) == ""
    for app, queue, priority in (("one", "root.a", 0), ("two", "root.b", 5)):
        door.app(app, queue)
        door.ask(app, app, ONE, priority=priority)
    assert door.order() == ["two", "one"]


@pytest.mark.remuda_rule("QUE-30")
def test_a_new_offset_counts_for_asks_that_wait_already() -> None:
    """The reference does not tell the parents, which go on with the old value.

    remuda passes it up with the change.
    """
    queues = leaf("other"), parent("p", leaf("a"))
    door = Caller(*queues)
    for app, queue in (("one", "root.other"), ("two", "root.p.a")):
        door.app(app, queue)
        door.ask(app, app, ONE, priority=5)
    raised = parent("p", leaf("a", properties={"priority.offset": "7"}))
    assert refusal(door.reload(leaf("other"), raised)) == ""
    assert [door.queue(path).current_priority for path in ("root.p", "root")] == [12, 12]
    door.node("n1", {"vcore": 9})
    assert door.order() == ["two", "one"]


@pytest.mark.remuda_rule("TPL-8", "D-C12")
def test_a_template_of_root_counts_after_a_change_too() -> None:
    """Up to 1.9 a parent that inherits its template has none after any change.

    In remuda, it inherits the template again.
    """
    root = {"template": TemplateConfig(2, maximum=TWO)}
    door = cluster(parent("p"), root=root, placement_rules=(CREATING,))
    changed = door.reload(parent("p"), leaf("b"), root=root, placement_rules=(CREATING,))
    assert refusal(changed) == ""
    assert run(door, "app", "root.p.made", 50) == 2


@pytest.mark.remuda_rule("EVT-74")
def test_a_change_tells_what_changed_and_nothing_else() -> None:
    """Up to 1.6 every change tells that each configured queue was added once more.

    remuda tells the queue that is new.
    """
    door = cluster(leaf("a"))
    changed = door.reload(leaf("a"), leaf("b"))
    assert events(changed) == [(ev.QUEUE, "root.b", ev.ADD, ev.DETAILS_NONE)]


@pytest.mark.remuda_rule("PLC-61", "OBJ-3", "D-C23")
def test_a_queue_that_is_about_to_go_takes_no_application() -> None:
    """1.5.1 accepts new applications in a draining queue, so it may never be empty.

    remuda refuses them there, and finishes those that it has.
    """
    door = cluster(leaf("a"), leaf("b"))
    run(door, "old")
    assert refusal(door.reload(leaf("b"))) == ""
    assert run(door, "new") == 0
    assert door.state("new") == ""
    door.ask("old", "more", ONE)
    assert door.place() == [("more-0", "n1")]
