"""One node, and how full nodes are."""

from __future__ import annotations

from typing import Any

import pytest

from remuda.config.schema import Configuration
from remuda.core.messages import commands as c
from remuda.edges.rest.shapes.utilisation import bucket
from tests.unit.core.door import Caller, partition
from tests.unit.edges.rest.schema import assert_valid
from tests.unit.edges.rest.serving import BASE, error, serve

NAMES = [f"{low}-{low + 10}%" for low in range(0, 100, 10)]


def filled(used: dict[str, int]) -> Caller:
    """Nodes of a hundred cores of which so many are allocated, as the RM reports."""
    caller = Caller()
    caller.app("app")
    for node_id, cores in used.items():
        caller.node(node_id, {"vcore": 100})
        if cores:
            caller.existing("app", f"on-{node_id}", node_id, {"vcore": cores})
    return caller


def buckets(found: dict[str, Any]) -> dict[str, list[str]]:
    """Return the nodes of each bucket that has some; there are always ten (REST-142)."""
    assert [each["bucketName"] for each in found["utilization"]] == NAMES
    shown = {}
    for each in found["utilization"]:
        if "nodeNames" in each:
            assert each["numOfNodes"] == len(each["nodeNames"])
            shown[each["bucketName"]] = each["nodeNames"]
        else:
            assert each == {"bucketName": each["bucketName"]}
    return shown


@pytest.mark.remuda_rule("REST-32", "REST-137", "REST-85")
def test_one_node_is_shown_like_in_the_list() -> None:
    caller = Caller()
    caller.node("n1", {"memory": 100}, attributes={"si/hostname": "h1", "si/rackname": "/r1"})
    caller.node("rack/n 2", {"memory": 7})
    client = serve(caller.scheduler)
    found = client.get(f"{BASE}/node/n1").json()
    assert_valid("Node", found)
    assert found == client.get(f"{BASE}/nodes").json()[0]
    assert (found["nodeID"], found["hostName"], found["rackName"]) == ("n1", "h1", "/r1")
    assert found["capacity"] == {"memory": 100}
    assert client.get(f"{BASE}/node/rack%2Fn%202").json()["nodeID"] == "rack/n 2"


@pytest.mark.remuda_rule("REST-32", "REST-13", "REST-14", "REST-140")
def test_an_unknown_node_is_told_from_an_unknown_partition() -> None:
    client = serve(Caller().scheduler)
    nobody = client.get(f"{BASE}/node/n1")
    assert (nobody.status_code, nobody.json()) == (404, error(404, "Node not found"))
    nowhere = client.get("/ws/v1/partition/gpu/node/n1")
    assert (nowhere.status_code, nowhere.json()) == (404, error(404, "Partition not found"))
    other = client.get(f"{BASE}/node/n1?rm=other")
    assert other.json() == error(404, "Partition not found")


@pytest.mark.remuda_rule("REST-87", "REST-68")
@pytest.mark.parametrize(
    "percent, expected",
    [(0, 0), (1, 0), (10, 0), (11, 1), (20, 1), (21, 2), (99, 9), (100, 9), (101, 9), (2**31, 9)],
)
def test_the_upper_edge_belongs_to_a_bucket(percent: int, expected: int) -> None:
    assert bucket(percent) == expected


@pytest.mark.remuda_rule("REST-45", "REST-87", "REST-88", "REST-142")
def test_every_type_has_its_buckets_with_the_nodes_in_them() -> None:
    caller = filled({"n0": 0, "n1": 1, "n10": 10, "n11": 11, "n99": 99, "n100": 100, "n101": 101})
    caller.node("more", {"vcore": 0, "gpu": 2})
    found = serve(caller.scheduler).get("/ws/v1/scheduler/node-utilizations").json()
    (only,) = found
    assert_valid("PartitionNodeUtilization", only)
    assert (only["clusterId"], only["partition"]) == ("rm", "default")
    assert [each["type"] for each in only["utilizations"]] == ["gpu", "vcore"]
    gpu, vcore = only["utilizations"]
    assert buckets(gpu) == {"0-10%": ["more"]}
    assert buckets(vcore) == {
        "0-10%": ["n0", "n1", "n10"],
        "10-20%": ["n11"],
        "90-100%": ["n100", "n101", "n99"],
    }


@pytest.mark.remuda_rule("REST-87", "REST-68")
def test_percent_are_cut_off_before_the_bucket_is_chosen() -> None:
    caller = Caller()
    caller.app("app")
    caller.node("n1", {"vcore": 1000})
    caller.existing("app", "a", "n1", {"vcore": 109})  # 10.9 % count as 10
    found = serve(caller.scheduler).get("/ws/v1/scheduler/node-utilizations").json()
    assert buckets(found[0]["utilizations"][0]) == {"0-10%": ["n1"]}


@pytest.mark.remuda_rule("REST-44", "REST-86")
def test_the_old_form_shows_the_type_of_which_most_is_used() -> None:
    caller = Caller()
    caller.app("app")
    caller.node("n1", {"memory": 100, "vcore": 100})
    caller.node("n2", {"memory": 100, "vcore": 100})
    client = serve(caller.scheduler)
    unused = client.get("/ws/v1/scheduler/node-utilization").json()
    assert_valid("NodeUtilization", unused)
    assert "type" not in unused
    assert buckets(unused) == {}
    caller.existing("app", "a", "n1", {"memory": 35, "vcore": 35})
    assert client.get("/ws/v1/scheduler/node-utilization").json()["type"] == "memory"
    caller.existing("app", "b", "n2", {"memory": 4, "vcore": 5})
    found = client.get("/ws/v1/scheduler/node-utilization").json()
    assert_valid("NodeUtilization", found)
    assert found["type"] == "vcore"
    assert buckets(found) == {"0-10%": ["n2"], "30-40%": ["n1"]}


@pytest.mark.remuda_rule("REST-86", "REST-88", "REST-22")
def test_without_nodes_or_partitions_there_is_little_to_show() -> None:
    caller = Caller()
    client = serve(caller.scheduler)
    assert client.get("/ws/v1/scheduler/node-utilization").content == b"{}\n"
    bare = client.get("/ws/v1/scheduler/node-utilizations")
    assert bare.content == b'[{"clusterId":"rm","partition":"default","utilizations":[]}]\n'
    caller.node("n1", {"vcore": 0})
    assert client.get("/ws/v1/scheduler/node-utilization").content == b"{}\n"

    other = Caller(partitions=(partition(name="gpu"),))
    client = serve(other.scheduler)
    gone = client.get("/ws/v1/scheduler/node-utilization")
    assert (gone.status_code, gone.json()) == (500, error(500, "Partition not found"))
    other.send(c.UnregisterResourceManager(other.rm))
    assert client.get("/ws/v1/scheduler/node-utilizations").content == b"[]\n"


@pytest.mark.remuda_rule("REST-21", "REST-45", "REST-44")
def test_partitions_of_several_resource_managers_are_told_apart() -> None:
    caller = Caller()
    caller.send(c.RegisterResourceManager("other", Configuration((partition(),))))
    caller.node("n1", {"vcore": 1})
    client = serve(caller.scheduler)
    found = client.get("/ws/v1/scheduler/node-utilizations").json()
    assert [each["clusterId"] for each in found] == ["other", "rm"]
    assert client.get("/ws/v1/scheduler/node-utilization").json() == {}
    mine = client.get("/ws/v1/scheduler/node-utilization?rm=rm").json()
    assert len(mine["utilization"]) == 10
