"""A cluster that grows: an autoscaler of tests adds nodes for pods that say they need them.

It reads what the cluster autoscaler reads: pods without a node whose condition PodScheduled is
False for the reason Unschedulable.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pytest

from tests.kubernetes.end_to_end.cluster import Cluster
from tests.kubernetes.end_to_end.manifests import gang, task_group
from tests.kubernetes.end_to_end.objects import Object
from tests.kubernetes.end_to_end.servers import Server
from tests.kubernetes.end_to_end.spaces import Space

NODE_CPU: Final = 2_000
QUEUES: Final = """
partitions:
  - name: default
    placementrules:
      - name: provided
        create: true
    queues:
      - name: root
        submitacl: '*'
        queues:
          - name: small
            resources: {max: {vcore: 1}}
"""


@pytest.fixture(scope="module")
def cluster(empty_server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster with a small queue."""
    folder = tmp_path_factory.mktemp("cluster")
    with Cluster(empty_server, folder, queues=QUEUES) as running:
        yield running


def cpu(pod: Object) -> int:
    """What a pod asks for, in thousandths."""
    total = 0
    for container in pod["spec"]["containers"]:
        text = container["resources"]["requests"]["cpu"]
        total += int(text[:-1]) if text.endswith("m") else 1000 * int(text)
    return total


def needs_a_node(pod: Object) -> bool:
    return not pod["spec"].get("nodeName") and any(
        (each["type"], each["status"], each.get("reason"))
        == ("PodScheduled", "False", "Unschedulable")
        for each in pod["status"].get("conditions") or ()
    )


class Autoscaler:
    """Adds nodes of one size for pods of a namespace, as many as all that need one would fill."""

    def __init__(self, space: Space) -> None:
        self.space = space
        self.nodes: list[str] = []

    def look(self) -> None:
        """Add the nodes that are missing now."""
        pods = self.space.all()
        free = dict.fromkeys(self.nodes, NODE_CPU)
        for pod in pods:
            if pod["spec"].get("nodeName") in free:
                free[pod["spec"]["nodeName"]] -= cpu(pod)
        rooms = list(free.values())
        for pod in filter(needs_a_node, pods):
            wanted = cpu(pod)
            fitting = next((i for i, room in enumerate(rooms) if room >= wanted), None)
            if fitting is None:
                rooms.append(NODE_CPU)
                fitting = len(rooms) - 1
            rooms[fitting] -= wanted
        for _ in range(len(rooms) - len(self.nodes)):
            name = f"{self.space.name}-{len(self.nodes)}"
            self.space.node(name, cpu=f"{NODE_CPU}m")
            self.nodes.append(name)


@pytest.mark.remuda_rule("EXT-142")
def test_nodes_are_added_until_a_gang_starts(space: Space) -> None:
    scaler = Autoscaler(space)
    # Something has to be there, or nothing is tried.
    space.node("seed", cpu="100m")
    space.pod("driver", cpu="1", annotations=gang(task_group("workers", 5, cpu="1")))

    def started() -> bool:
        scaler.look()
        return bool(space.node_of("driver"))

    space.until("the gang has its room", started)
    # Five members and the driver, two on each node: no node more than that.
    assert len(scaler.nodes) == 3
    for number in range(5):
        space.pod(f"w{number}", cpu="1", app="driver", annotations=gang(group="workers"))
    space.running("driver", *[f"w{number}" for number in range(5)])
    scaler.look()
    assert len(scaler.nodes) == 3


@pytest.mark.remuda_rule("EXT-142")
def test_no_node_is_added_for_what_quota_holds_back(space: Space) -> None:
    scaler = Autoscaler(space)
    space.node("seed", cpu="1")
    labels = {"queue": "root.small"}
    space.pod("first", cpu="1", labels=labels)
    space.running("first")
    space.pod("second", cpu="1", labels=labels)
    told = space.waiting("second", "queue root.small lacks cpu", "SchedulingSkipped")
    assert told.startswith("SchedulingSkipped: ")
    # A pod of another queue is helped meanwhile, so the autoscaler works.
    space.pod("other", cpu="2")
    space.waiting("other", "Insufficient cpu", "Unschedulable")

    def helped() -> bool:
        scaler.look()
        return bool(space.node_of("other"))

    space.until("the other pod has a node", helped)
    assert len(scaler.nodes) == 1
    assert not needs_a_node(space.get("second") or {})
