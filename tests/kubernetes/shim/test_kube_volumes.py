"""Pods whose claims are bound first: to volumes that exist, and to volumes made for them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from remuda_kubernetes.objects.kinds import CLAIM, NODE, PERSISTENT_VOLUME, POD, STORAGE_CLASS
from remuda_kubernetes.objects.outcomes import Outcome, Result
from remuda_kubernetes.objects.storage import (
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)
from remuda_kubernetes.objects.values import convert
from remuda_kubernetes.shim.effects import BindVolume, SelectNode
from tests.kubernetes.shim.world import World


def uses(claimed: str) -> dict[str, Any]:
    return {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": claimed}}]}


USES = uses("data")


@pytest.fixture
def world() -> Iterator[World]:
    made = World()
    for name in ("n1", "n2"):
        made.node(name, labels={"kubernetes.io/hostname": name})
    yield made
    made.close()


def storage_class(world: World, provisioner: str) -> None:
    found = {
        "metadata": {"name": "fast", "uid": "class-fast"},
        "provisioner": provisioner,
        "volumeBindingMode": "WaitForFirstConsumer",
    }
    world.put(STORAGE_CLASS, convert(StorageClass, found))


def claim(
    world: World, phase: str = "Pending", volume: str = "", name: str = "data", **notes: str
) -> None:
    found: dict[str, Any] = {
        "metadata": {"name": name, "namespace": "default", "uid": "claim", "annotations": notes},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "fast",
            "volumeName": volume,
            "resources": {"requests": {"storage": "1Gi"}},
        },
        "status": {"phase": phase},
    }
    world.put(CLAIM, convert(PersistentVolumeClaim, found))


def local_volume(world: World, node: str, claimed: bool = False) -> None:
    match = {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}
    spec: dict[str, Any] = {
        "capacity": {"storage": "2Gi"},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "fast",
        "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [match]}]}},
    }
    if claimed:
        spec["claimRef"] = {"namespace": "default", "name": "data", "uid": "claim"}
    found = {
        "metadata": {"name": "local", "uid": "volume"},
        "spec": spec,
        "status": {"phase": "Bound" if claimed else "Available"},
    }
    world.put(PERSISTENT_VOLUME, convert(PersistentVolume, found))


BOUND = {"pv.kubernetes.io/bind-completed": "yes"}


def test_a_local_volume_decides_the_node_and_is_bound_first(world: World) -> None:
    storage_class(world, "kubernetes.io/no-provisioner")
    local_volume(world, "n2")
    claim(world)
    world.start()
    world.pod("p", spec=USES)
    world.run()
    (call,) = [each for each in world.calls if isinstance(each, BindVolume)]
    assert (call.volume.name, call.claim.name) == ("local", "data")
    assert world.where("p") == ""
    local_volume(world, "n2", claimed=True)
    claim(world, "Bound", "local", **BOUND)
    world.run(seconds=2)
    assert world.where("p") == "n2"


def test_a_volume_is_made_for_the_node_that_was_chosen(world: World) -> None:
    storage_class(world, "csi.example.com")
    claim(world)
    world.start()
    world.pod("p", spec=USES)
    world.run()
    (call,) = [each for each in world.calls if isinstance(each, SelectNode)]
    assert call.claim.name == "data"
    assert call.node in {"n1", "n2"}
    assert world.where("p") == ""
    local_volume(world, call.node, claimed=True)
    claim(world, "Bound", "local", **BOUND)
    world.run(seconds=2)
    assert world.where("p") == call.node


def test_a_pod_whose_volume_never_comes_gives_its_room_back(world: World) -> None:
    world.config({"service.volumeBindTimeout": "10s"})
    storage_class(world, "csi.example.com")
    claim(world)
    world.start()
    world.pod("p", cpu="10", spec=USES)
    world.run()
    for _ in range(12):
        world.run(seconds=1)
    assert world.where("p") == ""
    assert any("not bound in time" in text for text in world.told("FailedScheduling"))


def test_a_pod_that_waits_for_its_volume_is_bound_though_the_scheduler_was_lost(
    world: World,
) -> None:
    storage_class(world, "csi.example.com")
    claim(world)
    world.start()
    world.pod("p", spec=USES)
    world.run()
    (call,) = [each for each in world.calls if isinstance(each, SelectNode)]
    world.shim.lost()
    world.shim.register_again()
    world.run()
    local_volume(world, call.node, claimed=True)
    claim(world, "Bound", "local", **BOUND)
    world.run(seconds=2)
    assert world.where("p") == call.node


def test_a_pod_that_waits_for_its_volume_is_not_bound_to_a_node_that_is_gone(world: World) -> None:
    storage_class(world, "csi.example.com")
    claim(world)
    world.start()
    world.pod("p", spec=USES)
    world.run()
    (call,) = [each for each in world.calls if isinstance(each, SelectNode)]
    world.drop(NODE, call.node)
    local_volume(world, call.node, claimed=True)
    claim(world, "Bound", "local", **BOUND)
    world.run(seconds=2)
    assert world.where("p") == ""
    world.node(call.node, labels={"kubernetes.io/hostname": call.node})
    world.run()
    assert world.where("p") == call.node


def test_a_volume_that_was_meant_for_a_pod_that_ended_is_free_for_another(world: World) -> None:
    storage_class(world, "kubernetes.io/no-provisioner")
    local_volume(world, "n2")
    claim(world)
    world.start()
    world.fail = lambda call: (
        Outcome(Result.DONE, "but nothing comes of it") if isinstance(call, BindVolume) else None
    )
    world.pod("p", spec=USES)
    world.run()
    world.drop(POD, "p", "default")
    world.drop(CLAIM, "data", "default")
    claim(world, name="other")
    world.pod("q", spec=uses("other"))
    world.run()
    calls = [each.claim.name for each in world.calls if isinstance(each, BindVolume)]
    assert calls == ["data", "other"]


def test_no_room_is_kept_for_a_pod_whose_claim_is_missing(world: World) -> None:
    world.drop(NODE, "n2")
    world.start()
    world.pod("p", app="waits", queue="root.waits", spec=USES)
    world.run()
    # A pod keeps room for itself once it has waited for two seconds.
    time.sleep(2.5)
    for name in ("q", "r"):
        world.pod(name, app=name, queue=f"root.{name}")
        world.run(seconds=1)
        assert world.where(name) == "n1"
    storage_class(world, "kubernetes.io/no-provisioner")
    local_volume(world, "n1", claimed=True)
    claim(world, "Bound", "local", **BOUND)
    world.run()
    assert world.where("p") == "n1"
