"""Queues come from a ConfigMap; a change counts at once, or not at all and is told.

Source: the documentation of Apache YuniKorn, "Service Configuration" and "Partition and Queue
Configuration".
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterator

import pytest

from remuda.client import Admin, ClientError
from tests.kubernetes.end_to_end.cluster import CONFIG, QUEUES, Cluster

CHANGED, REFUSED = "ConfigurationChanged", "ConfigurationRefused"


@pytest.fixture
def settled(cluster: Cluster) -> Iterator[Cluster]:
    """The cluster, with its first configuration at the beginning and at the end."""
    cluster.configure(QUEUES)
    yield cluster
    cluster.configure(QUEUES)


def with_queue(name: str) -> str:
    return f"{QUEUES}        queues: [{{name: {json.dumps(name)}}}]\n"


def with_filter(**names: list[str]) -> str:
    wanted = json.dumps({"type": "allow", **names})
    return QUEUES.replace("create: true", f"create: true\n        filter: {wanted}")


def children(cluster: Cluster) -> list[str]:
    root = cluster.queue("root")
    assert root is not None
    return [each["queuename"] for each in root.get("children") or ()]


def is_refused(cluster: Cluster, queues: str, *texts: str) -> None:
    """Write a configuration, see that it is told what is wrong, and that nothing has changed."""
    before = cluster.configuration()
    cluster.configure(queues, wait=False)

    def told() -> bool:
        events = cluster.events_of("ConfigMap", CONFIG)
        return any(
            reason == REFUSED and all(text in message for text in texts)
            for reason, message in events
        )

    cluster.until(f"event {REFUSED} with {texts}", told)
    assert cluster.configuration() == before
    assert cluster.shim.problems() == ""


def test_a_plain_file_counts_at_once(settled: Cluster) -> None:
    settled.configure(with_queue("plain"))
    queue = settled.queue("root.plain")
    assert queue is not None
    assert queue["isManaged"] is True
    settled.until(
        f"event {CHANGED}",
        lambda: CHANGED in [reason for reason, _ in settled.events_of("ConfigMap", CONFIG)],
    )


@pytest.mark.remuda_rule("EXT-177")
@pytest.mark.parametrize(
    "queues",
    ["# every line is a comment\n", "partitions: [{name: gpu, queues: [{name: root}]}]\n"],
    ids=["comments", "another"],
)
def test_a_file_without_the_partition_of_all_nodes_is_refused(
    settled: Cluster, queues: str
) -> None:
    is_refused(settled, queues, "no partition 'default'")
    assert settled.queue("root") is not None


@pytest.mark.remuda_rule("EXT-191", "EXT-177")
def test_without_a_queue_file_an_operator_cannot_take_that_partition_away_either(
    settled: Cluster,
) -> None:
    settled.write_config({})
    settled.until("the built-in file counts", lambda: "value: namespace" in settled.configuration())
    before = settled.configuration()
    with Admin(settled.shim.grpc) as admin, pytest.raises(ClientError, match="no partition 'def"):
        admin.set_configuration("# every line is a comment\n")
    assert settled.configuration() == before


def test_a_compressed_file_counts_at_once(settled: Cluster) -> None:
    packed = base64.b64encode(gzip.compress(with_queue("packed").encode())).decode()
    settled.write_config({}, binaryData={"queues.yaml.gz": packed})
    settled.until("the queue is there", lambda: settled.queue("root.packed"))


@pytest.mark.parametrize("name", ["a_b-c", "x" * 64, "team:a#b/c@d"])
def test_queue_names_that_are_valid(settled: Cluster, name: str) -> None:
    settled.configure(with_queue(name))
    assert f"root.{name}" in children(settled)


@pytest.mark.parametrize("name", ["a b", "x" * 65, "a!b"])
def test_queue_names_that_are_invalid(settled: Cluster, name: str) -> None:
    is_refused(settled, with_queue(name), name[:20])
    assert f"root.{name}" not in children(settled)


def test_user_names_of_filters_that_are_valid(settled: Cluster) -> None:
    settled.configure(with_filter(users=["first", "user_2.x@y:z"]))
    settled.configure(with_filter(users=["dev-.*"]))


def test_user_names_of_filters_that_are_invalid(settled: Cluster) -> None:
    is_refused(settled, with_filter(users=["*first"]), "*first")
    is_refused(settled, with_filter(users=["first", "2nd user"]), "2nd user")


def test_group_names_of_filters_that_are_valid(settled: Cluster) -> None:
    settled.configure(with_filter(groups=["first", "group-2.x_y"]))
    settled.configure(with_filter(groups=["dev-.*"]))


def test_group_names_of_filters_that_are_invalid(settled: Cluster) -> None:
    is_refused(settled, with_filter(groups=["*first"]), "*first")
    is_refused(settled, with_filter(groups=["first", "2nd group"]), "2nd group")
