"""Which queue a task goes to."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remuda.base.errors import UsageError
from remuda.config.schema import Configuration, PartitionConfig, QueueConfig
from remuda.sim.queues import given_queues, legal_names, own_queues
from remuda.sim.workload import NodeSpec, Task, Workload

NODES = (NodeSpec("n", {"vcore": 1, "gpu": 1}),)


def workload(*values: str) -> Workload:
    tasks = tuple(
        Task(
            f"t{number}", number + 2, {"disk": 1}, application_id=f"t{number}", labels={"vc": value}
        )
        for number, value in enumerate(values)
    )
    return Workload("jobs.csv", "philly", tasks, labels=("vc",))


def configured(*queues: QueueConfig, partition: str = "default") -> Configuration:
    root = QueueConfig("root", parent=True, queues=queues)
    return Configuration((PartitionConfig(partition, root),))


def test_without_configuration_there_is_one_fifo_leaf_per_value() -> None:
    plan = own_queues(workload("b", "a", "b"), "vc", NODES, "binpacking")
    assert plan.paths == ("root.b", "root.a", "root.b")
    (partition,) = plan.configuration.partitions
    assert partition.node_sort_policy == "binpacking"
    assert partition.node_sort_weights == {"disk": 1.0, "gpu": 1.0, "vcore": 1.0}
    assert [leaf.name for leaf in partition.root.queues] == ["a", "b"]
    for leaf in partition.root.queues:
        assert leaf.properties["application.sort.policy"] == "fifo"
        assert leaf.maximum is None
        assert leaf.guaranteed is None


def test_none_is_a_single_leaf() -> None:
    plan = own_queues(workload("b", "a"), "none", NODES, "fair")
    assert plan.paths == ("root.default", "root.default")


def test_queues_of_gangs_share_a_maximum_of_the_size_of_the_cluster() -> None:
    nodes = (*NODES, NodeSpec("m", {"vcore": 3, "disk": 0}))
    plan = own_queues(workload("b", "a"), "vc", nodes, "fair", gangs=True)
    assert plan.paths == ("root.cluster.b", "root.cluster.a")
    (top,) = plan.configuration.partitions[0].root.queues
    assert top.maximum == {"vcore": 4, "gpu": 1}
    assert [leaf.maximum for leaf in top.queues] == [None, None]


def test_a_label_the_trace_does_not_have_is_refused() -> None:
    with pytest.raises(UsageError, match=r"--queue-by user: jobs\.csv \(philly\) has vc"):
        own_queues(workload("a"), "user", NODES, "fair")


@pytest.mark.parametrize(
    "values, names",
    [
        (["Prod", "prod", "PROD"], ["prod", "prod-2", "prod-3"]),
        (["a.b", "a_b", "a b"], ["a_b", "a_b-2", "a_b-3"]),
        ([""], ["none"]),
        (["@recovery@"], ["_recovery_"]),
        (["123"], ["123"]),
        (["x" * 65, "x" * 66], ["x" * 64, "x" * 62 + "-2"]),
    ],
)
@pytest.mark.remuda_rule("CFG-61", "CFG-62")
def test_names_are_made_legal_and_stay_different(values: list[str], names: list[str]) -> None:
    assert list(legal_names(values).values()) == names


@given(st.lists(st.text(), unique=True))
def test_every_value_gets_a_legal_name_of_its_own(values: list[str]) -> None:
    names = legal_names(values)
    assert list(names) == values
    assert len(set(names.values())) == len(values)
    assert all(re.fullmatch(r"[a-z0-9_-]{1,64}", name) for name in names.values())


def test_a_given_configuration_is_kept_and_labels_are_its_paths() -> None:
    inner = QueueConfig("team", parent=True, queues=(QueueConfig("a"), QueueConfig("b")))
    configuration = configured(inner, QueueConfig("c"))
    trace = workload("team.a", "root.team.b", "C")
    plan = given_queues(trace, "vc", configuration, None)
    assert plan.paths == ("root.team.a", "root.team.b", "root.c")
    assert plan.configuration is configuration


def test_node_sort_overrides_the_given_configuration() -> None:
    plan = given_queues(workload("c"), "vc", configured(QueueConfig("c")), "binpacking")
    assert plan.configuration.partitions[0].node_sort_policy == "binpacking"


@pytest.mark.parametrize("value", ["d", "", "team", "root", "c.x"])
def test_a_queue_the_configuration_does_not_have_is_refused_with_the_row(value: str) -> None:
    team = QueueConfig("team", parent=True, queues=(QueueConfig("a"),))
    with pytest.raises(UsageError, match=r"jobs\.csv:3: task 't1': the configuration has no leaf"):
        given_queues(workload("c", value), "vc", configured(team, QueueConfig("c")), None)


def test_one_leaf_needs_no_label_and_several_do() -> None:
    assert given_queues(workload("x"), "none", configured(QueueConfig("c")), None).paths == (
        "root.c",
    )
    with pytest.raises(UsageError, match="2 leaf queues to choose from; say --queue-by"):
        given_queues(workload("x"), "none", configured(QueueConfig("c"), QueueConfig("d")), None)


def test_a_configuration_without_the_default_partition_is_refused() -> None:
    with pytest.raises(UsageError, match="no partition named 'default'"):
        given_queues(workload("x"), "none", configured(QueueConfig("c"), partition="gpu"), None)


def test_an_application_in_two_queues_is_refused() -> None:
    tasks = tuple(
        Task(f"t{number}", number + 2, {"gpu": 1}, application_id="job", labels={"vc": value})
        for number, value in enumerate("ab")
    )
    trace = Workload("jobs.csv", "remuda", tasks, labels=("vc",))
    with pytest.raises(UsageError, match=r"jobs\.csv:3: application 'job' is in queue"):
        own_queues(trace, "vc", NODES, "fair")
