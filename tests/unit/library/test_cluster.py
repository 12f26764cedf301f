"""Nodes and queues of the Python API."""

from __future__ import annotations

from pathlib import Path

import pytest

from remuda import (
    Allocation,
    ConfigError,
    Queue,
    RejectedError,
    Release,
    RequestError,
    Scheduler,
    TerminationType,
)

QUEUES = """
partitions:
  - name: default
    queues:
      - name: root
        submitacl: "*"
        queues:
          - name: science
            resources: {max: {vcore: 4}}
"""


def placed(scheduler: Scheduler) -> list[tuple[str, str]]:
    """What a step placed: keys and nodes."""
    found = [each for each in scheduler.step() if isinstance(each, Allocation)]
    return [(each.allocation_key, each.node_id) for each in found]


def with_job(config: str = "") -> Scheduler:
    scheduler = Scheduler(config)
    queue, tags = ("root.science", None) if config else ("", {"namespace": "science"})
    scheduler.submit("job", queue=queue, user="ada", tags=tags)
    return scheduler


@pytest.mark.remuda_rule("NODE-1")
def test_a_node_takes_work_once_it_is_added() -> None:
    scheduler = with_job()
    scheduler.ask("job", "task", {"vcore": "1"})
    assert placed(scheduler) == []
    scheduler.add_node("n1", {"vcore": "2", "memory": "1Gi"})
    assert placed(scheduler) == [("task", "n1")]


def test_several_nodes_are_added_at_once() -> None:
    scheduler = with_job()
    scheduler.add_nodes({"n1": {"vcore": 1000}, "n2": {"vcore": 1000}})
    scheduler.ask("job", "task", {"vcore": 1000}, max_allocations=2)
    assert sorted(placed(scheduler)) == [("task", "n1"), ("task", "n2")]


def test_of_nodes_of_which_one_is_mistyped_none_is_added() -> None:
    scheduler = with_job()
    with pytest.raises(RequestError, match="node 'n2': vcore is '1 core'"):
        scheduler.add_nodes({"n1": {"vcore": 1000}, "n2": {"vcore": "1 core"}})
    scheduler.add_node("n1", {"vcore": 1000})


@pytest.mark.remuda_rule("NODE-1")
def test_a_node_that_exists_is_rejected_by_name_and_rule() -> None:
    scheduler = with_job()
    scheduler.add_node("n1", {"vcore": 1000})
    with pytest.raises(RejectedError, match=r"node 'n1' rejected: .* exists already \(NODE-1\)"):
        scheduler.add_node("n1", {"vcore": 9000})
    scheduler.ask("job", "task", {"vcore": 1000}, max_allocations=2)
    assert placed(scheduler) == [("task", "n1")]


@pytest.mark.remuda_rule("NODE-11")
def test_a_drained_node_takes_nothing_until_it_is_resumed() -> None:
    scheduler = with_job()
    scheduler.add_node("n1", {"vcore": 1000})
    scheduler.drain_node("n1")
    scheduler.ask("job", "task", {"vcore": 1000})
    assert placed(scheduler) == []
    scheduler.resume_node("n1")
    assert placed(scheduler) == [("task", "n1")]


def test_what_runs_on_a_removed_node_ends() -> None:
    scheduler = with_job()
    scheduler.add_node("n1", {"vcore": 1000})
    scheduler.ask("job", "task", {"vcore": 1000})
    scheduler.step()
    scheduler.remove_node("n1")
    ended = [each for each in scheduler.step() if isinstance(each, Release)]
    assert [(each.allocation_id, each.termination_type) for each in ended] == [
        ("task-0", TerminationType.STOPPED_BY_RM)
    ]
    assert not ended[0].ordered


@pytest.mark.parametrize("call", ["drain_node", "resume_node", "remove_node"])
def test_what_cannot_be_done_with_a_node_that_is_not_there_is_rejected(call: str) -> None:
    scheduler = with_job()
    with pytest.raises(RejectedError) as caught:
        getattr(scheduler, call)("gone")
    (refused,) = caught.value.rejections
    assert (refused.kind, refused.subject) == ("node", "gone")


def test_queues_are_a_text_a_file_or_objects(tmp_path: Path) -> None:
    path = tmp_path / "queues.yaml"
    path.write_text(QUEUES)
    objects = [Queue("science", maximum={"vcore": "4"})]
    for config in (QUEUES, path, objects, objects[0], Queue("root", queues=objects)):
        scheduler = Scheduler(config)
        scheduler.add_node("n1", {"vcore": "100"})
        scheduler.submit("job", queue="root.science")
        scheduler.ask("job", "task", {"vcore": "1"}, max_allocations=9)
        assert len(placed(scheduler)) == 4


def test_what_objects_say_counts_on_each_level() -> None:
    inner = Queue("night", max_applications=1, properties={"application.sort.policy": "fair"})
    scheduler = Scheduler(Queue("teams", maximum={"vcore": 1500}, queues=[inner, Queue("day")]))
    scheduler.add_node("n1", {"vcore": "9"})
    for name, leaf in (("a", "night"), ("b", "night"), ("c", "day")):
        scheduler.submit(name, queue=f"root.teams.{leaf}")
        scheduler.ask(name, "task", {"vcore": 500}, max_allocations=3)
    by_application = [
        each.application_id for each in scheduler.step() if isinstance(each, Allocation)
    ]
    assert len(by_application) == 3
    assert set(by_application) <= {"a", "c"}
    (waiting,) = scheduler.pending("b")
    assert scheduler.explain(waiting).gate == "max applications"


def test_a_wrong_configuration_is_told_with_its_place() -> None:
    with pytest.raises(ConfigError, match=r"config:8:13: .*colour.*CFG-13"):
        Scheduler(QUEUES.replace("- name: science", "- colour: red\n            name: science"))
    with pytest.raises(ConfigError, match=r"^config: partitions.*no spaces please.*CFG-61"):
        Scheduler(Queue("no spaces please"))


def test_no_more_and_no_less_than_one_partition() -> None:
    with pytest.raises(RequestError, match="config has 2 partitions"):
        Scheduler(QUEUES + QUEUES.replace("partitions:\n", "").replace("default", "gpu"))
    with pytest.raises(RequestError, match="config has 0 partitions"):
        Scheduler("partitions: []")


def test_a_partition_of_another_name_has_its_nodes_and_work() -> None:
    scheduler = with_job(QUEUES.replace("default", "gpu"))
    scheduler.add_node("n1", {"vcore": "1"}, attributes={"rack": "7"})
    scheduler.ask("job", "task", {"vcore": "1"})
    assert placed(scheduler) == [("task", "n1")]
    scheduler.drain_node("n1")


def test_the_queues_change_while_everything_runs_or_nothing_does() -> None:
    scheduler = with_job(QUEUES)
    scheduler.add_node("n1", {"vcore": "100"})
    scheduler.ask("job", "task", {"vcore": "1"}, max_allocations=9)
    assert len(placed(scheduler)) == 4
    for wrong in (QUEUES.replace("vcore: 4", "vcore: x"), QUEUES.replace("default", "gpu"), "{"):
        with pytest.raises((ConfigError, RequestError)):
            scheduler.update_configuration(wrong)
    assert placed(scheduler) == []
    scheduler.update_configuration(QUEUES.replace("vcore: 4", "vcore: 6"))
    assert len(placed(scheduler)) == 2


def test_a_stepped_scheduler_looks_up_no_groups() -> None:
    resolver = QUEUES.replace(
        "queues:\n      - name: root",
        "usergroupresolver: {type: os}\n    queues:\n      - name: root",
        1,
    )
    with pytest.raises(RequestError, match="asks for usergroupresolver 'os'"):
        Scheduler(resolver)
    scheduler = Scheduler(QUEUES)
    with pytest.raises(RequestError, match="asks for usergroupresolver 'os'"):
        scheduler.update_configuration(resolver)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match=r"none\.yaml: it cannot be read"):
        Scheduler(tmp_path / "none.yaml")
