"""The filters about volumes and devices; expected verdicts follow Kubernetes' documentation."""

from __future__ import annotations

from typing import Any

import pytest

from remuda_kubernetes.objects import kinds
from remuda_kubernetes.objects.pods import Pod
from remuda_kubernetes.predicates.cluster import Cluster
from remuda_kubernetes.predicates.refusals import Refusal
from remuda_kubernetes.predicates.volumes import VolumeDecision, VolumeProgress
from tests.kubernetes.predicates.scenes import cluster, fitting, node, pod, put, reason

NO_VOLUME = "node(s) didn't find available persistent volumes to bind"
ELSEWHERE = "node(s) didn't match PersistentVolume's node affinity"
NO_ROOM = "node(s) did not have enough free storage"
BOUND = {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}}


def with_claims(uid: str, *names: str, **spec: Any) -> Pod:
    """A pod that uses claims of its namespace."""
    volumes = [{"name": each, "persistentVolumeClaim": {"claimName": each}} for each in names]
    return pod(uid, volumes=volumes, **spec)


def in_zone(zone: str) -> dict[str, Any]:
    each = {"key": "zone", "operator": "In", "values": [zone]}
    return {"required": {"nodeSelectorTerms": [{"matchExpressions": [each]}]}}


def on_host(host: str) -> dict[str, Any]:
    each = {"key": "host", "operator": "In", "values": [host]}
    return {"required": {"nodeSelectorTerms": [{"matchExpressions": [each]}]}}


def put_class(found: Cluster, name: str, mode: str = "WaitForFirstConsumer", **rest: Any) -> None:
    fields = {"provisioner": "csi.example.com", "volumeBindingMode": mode} | rest
    put(found, kinds.STORAGE_CLASS, name, **fields)


def put_claim(found: Cluster, name: str, *, size: str = "1Gi", **fields: Any) -> None:
    spec = {
        "storageClassName": "fast",
        "resources": {"requests": {"storage": size}},
        "accessModes": ["ReadWriteOnce"],
    }
    spec |= fields.pop("spec", {})
    put(found, kinds.CLAIM, name, namespace="one", spec=spec, **fields)


def put_volume(found: Cluster, name: str, *, size: str = "1Gi", **fields: Any) -> None:
    spec = {
        "storageClassName": "fast",
        "capacity": {"storage": size},
        "accessModes": ["ReadWriteOnce"],
    }
    spec |= fields.pop("spec", {})
    status = fields.pop("status", {"phase": "Available"})
    put(found, kinds.PERSISTENT_VOLUME, name, spec=spec, status=status, **fields)


def three(**labels: str) -> Cluster:
    """Nodes a, b, c in the zones 1, 1, 2, and a class that waits for pods."""
    found = cluster(
        node("a", {"zone": "1", **labels}),
        node("b", {"zone": "1", **labels}),
        node("c", {"zone": "2", **labels}),
    )
    put_class(found, "fast")
    return found


def decision(found: Cluster, asked: Pod, name: str) -> VolumeDecision:
    made = found.volumes_for(asked, name)
    assert isinstance(made, VolumeDecision)
    return made


# ------------------------------------------------------------------------------------- binding


@pytest.mark.parametrize(
    "claim, said",
    [
        (None, 'persistentvolumeclaim "data" not found'),
        (
            {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}},
            'persistentvolumeclaim "data" is being deleted',
        ),
        (
            {"status": {"phase": "Lost"}, "spec": {"volumeName": "v"}},
            'persistentvolumeclaim "data" bound to non-existent persistentvolume "v"',
        ),
        (
            {"spec": {"storageClassName": "slow"}},
            "pod has unbound immediate PersistentVolumeClaims",
        ),
        # A claim that somebody bound by hand waits for the controller.
        ({"spec": {"volumeName": "v"}}, "pod has unbound immediate PersistentVolumeClaims"),
        ({"spec": {"storageClassName": ""}}, "pod has unbound immediate PersistentVolumeClaims"),
        ({"spec": {"storageClassName": "none"}}, 'storageclass.storage.k8s.io "none" not found'),
        (
            {"spec": {"volumeName": "v"}, "metadata": BOUND},
            "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",
        ),
    ],
)
def test_claims_that_no_node_helps(claim: dict[str, Any] | None, said: str) -> None:
    found = three()
    put_class(found, "slow", "Immediate")
    if claim is not None:
        put_claim(found, "data", **claim)
    assert reason(found, with_claims("p", "data"), "a") == said
    refused = found.volumes_for(with_claims("p", "data"), "a")
    assert isinstance(refused, Refusal)
    assert refused.text == said


def test_a_bound_volume_decides_about_nodes() -> None:
    found = three()
    put_volume(found, "v", spec={"nodeAffinity": in_zone("2")}, status={"phase": "Bound"})
    put_claim(found, "data", spec={"volumeName": "v"}, metadata=BOUND)
    asked = with_claims("p", "data")
    assert reason(found, asked, "a") == ELSEWHERE
    assert fitting(found, asked, "a", "b", "c") == ["c"]
    assert decision(found, asked, "c") == VolumeDecision("c")


def test_the_smallest_volume_that_suffices_is_bound() -> None:
    found = three()
    for name, size in (("v10", "10Gi"), ("v5", "5Gi"), ("v1", "1Gi")):
        put_volume(found, name, size=size)
    put_claim(found, "data", size="2Gi")
    assert decision(found, with_claims("p", "data"), "a").bindings == (("v5", "one/data"),)


def test_small_claims_choose_first() -> None:
    found = three()
    put_class(found, "fast", provisioner="kubernetes.io/no-provisioner")
    for name, size in (("v5", "5Gi"), ("v3", "3Gi")):
        put_volume(found, name, size=size)
    put_claim(found, "large", size="4Gi")
    put_claim(found, "small", size="2Gi")
    asked = with_claims("p", "large", "small")
    assert decision(found, asked, "a").bindings == (("v3", "one/small"), ("v5", "one/large"))
    put_claim(found, "huge", size="6Gi")
    assert reason(found, with_claims("q", "huge"), "a") == NO_VOLUME


@pytest.mark.parametrize(
    "volume, claim, fits",
    [
        ({}, {}, True),
        ({"spec": {"storageClassName": "slow"}}, {}, False),
        ({"spec": {"volumeMode": "Block"}}, {}, False),
        ({"spec": {"volumeMode": "Block"}}, {"spec": {"volumeMode": "Block"}}, True),
        ({"spec": {"accessModes": ["ReadOnlyMany"]}}, {}, False),
        ({"spec": {"accessModes": ["ReadOnlyMany", "ReadWriteOnce"]}}, {}, True),
        ({"status": {"phase": "Released"}}, {}, False),
        ({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}, {}, False),
        ({"spec": {"claimRef": {"namespace": "one", "name": "other"}}}, {}, False),
        # Promised to this claim by its owner.
        ({"spec": {"claimRef": {"namespace": "one", "name": "data"}}}, {}, True),
        (
            {"spec": {"claimRef": {"namespace": "one", "name": "data", "uid": "old"}}},
            {"metadata": {"uid": "new"}},
            False,
        ),
        ({}, {"spec": {"selector": {"matchLabels": {"kind": "x"}}}}, False),
        (
            {"metadata": {"labels": {"kind": "x"}}},
            {"spec": {"selector": {"matchLabels": {"kind": "x"}}}},
            True,
        ),
        ({"spec": {"nodeAffinity": on_host("a")}}, {}, True),
        ({"spec": {"nodeAffinity": on_host("b")}}, {}, False),
        (
            {
                "metadata": {"annotations": {"volume.beta.kubernetes.io/storage-class": "fast"}},
                "spec": {"storageClassName": "slow"},
            },
            {},
            True,
        ),
    ],
)
def test_volumes_that_a_claim_can_have(
    volume: dict[str, Any], claim: dict[str, Any], fits: bool
) -> None:
    found = three()
    put_class(found, "fast", provisioner="kubernetes.io/no-provisioner")
    put_volume(found, "v", **volume)
    put_claim(found, "data", **claim)
    assert reason(found, with_claims("p", "data"), "a") == ("" if fits else NO_VOLUME)


def test_a_volume_of_another_node_is_not_seen() -> None:
    found = three()
    put_class(found, "fast", provisioner="kubernetes.io/no-provisioner")
    for name in ("a", "c"):
        put_volume(found, f"v-{name}", spec={"nodeAffinity": on_host(name)})
    put_claim(found, "data")
    asked = with_claims("p", "data")
    assert fitting(found, asked, "a", "b", "c") == ["a", "c"]
    assert decision(found, asked, "c").bindings == (("v-c", "one/data"),)
    found.remove_object(kinds.PERSISTENT_VOLUME, "", "v-c")
    assert fitting(found, asked, "a", "b", "c") == ["a"]


def test_what_is_promised_is_not_given_twice() -> None:
    found = three()
    put_class(found, "fast", provisioner="kubernetes.io/no-provisioner")
    put_volume(found, "v")
    put_claim(found, "data")
    put_claim(found, "more")
    first, second = with_claims("p", "data"), with_claims("q", "more")
    made = decision(found, first, "a")
    found.promise(made)
    assert reason(found, second, "a") == NO_VOLUME
    # The claim that it was promised to has it wherever the volume can be reached.
    assert decision(found, first, "b").bindings == (("v", "one/data"),)
    found.take_back(made)
    assert reason(found, second, "a") == ""


def test_a_promise_ends_when_the_server_shows_it() -> None:
    found = three()
    put_claim(found, "data")
    asked = with_claims("p", "data")
    found.promise(decision(found, asked, "a"))
    assert fitting(found, asked, "a", "b") == ["a"]
    put_claim(found, "data", metadata={"annotations": {"volume.kubernetes.io/selected-node": "b"}})
    assert fitting(found, asked, "a", "b") == ["b"]


def selected(node_name: str) -> dict[str, Any]:
    return {"annotations": {"volume.kubernetes.io/selected-node": node_name}}


def test_a_binding_is_done_when_the_server_says_so() -> None:
    found = three()
    put_volume(found, "v")
    put_claim(found, "data")
    made = decision(found, with_claims("p", "data"), "a")
    found.promise(made)
    assert found.volume_progress(made) == VolumeProgress(done=False)
    reference = {"namespace": "one", "name": "data"}
    put_volume(found, "v", spec={"claimRef": reference}, status={"phase": "Bound"})
    assert found.volume_progress(made) == VolumeProgress(done=False)
    put_claim(found, "data", spec={"volumeName": "v"}, metadata=BOUND)
    assert found.volume_progress(made) == VolumeProgress(done=True)
    assert decision(found, with_claims("p", "data"), "a") == VolumeDecision("a")


def test_a_binding_fails_if_the_volume_gets_another_claim() -> None:
    found = three()
    put_volume(found, "v")
    put_claim(found, "data")
    made = decision(found, with_claims("p", "data"), "a")
    found.promise(made)
    put_volume(found, "v", spec={"claimRef": {"namespace": "one", "name": "other"}})
    assert "has another claim" in found.volume_progress(made).problem
    put_claim(found, "data", spec={"volumeName": "w"}, metadata=BOUND)
    assert "another volume" in found.volume_progress(made).problem
    found.remove_object(kinds.CLAIM, "one", "data")
    assert "is gone" in found.volume_progress(made).problem


def test_a_volume_that_cannot_be_made_frees_the_choice_of_the_node() -> None:
    found = three()
    put_claim(found, "data")
    asked = with_claims("p", "data")
    made = decision(found, asked, "a")
    found.promise(made)
    # What the server says before the request arrives there does not count.
    put_claim(found, "data")
    assert found.volume_progress(made) == VolumeProgress(done=False)
    put_claim(found, "data", metadata=selected("a"))
    assert found.volume_progress(made) == VolumeProgress(done=False)
    put_claim(found, "data")
    assert "no volume could be made for node a" in found.volume_progress(made).problem
    found.take_back(made)
    assert fitting(found, asked, "a", "b") == ["a", "b"]


def test_a_volume_made_elsewhere_is_a_problem() -> None:
    found = three()
    put_claim(found, "data")
    made = decision(found, with_claims("p", "data"), "a")
    found.promise(made)
    put_volume(found, "v", spec={"nodeAffinity": in_zone("2")}, status={"phase": "Bound"})
    put_claim(found, "data", spec={"volumeName": "v"}, metadata=BOUND)
    assert ELSEWHERE in found.volume_progress(made).problem


def test_volumes_are_made_where_none_suits() -> None:
    found = three()
    put_claim(found, "data")
    asked = with_claims("p", "data")
    made = decision(found, asked, "a")
    assert (made.bindings, made.provisions) == ((), ("one/data",))


def test_volumes_can_only_be_made_in_allowed_topologies() -> None:
    found = three()
    terms = [{"matchLabelExpressions": [{"key": "zone", "values": ["2", "3"]}]}]
    put_class(found, "fast", allowedTopologies=terms)
    put_claim(found, "data")
    asked = with_claims("p", "data")
    assert reason(found, asked, "a") == NO_VOLUME
    assert fitting(found, asked, "a", "b", "c") == ["c"]


@pytest.mark.parametrize(
    "capacity, fits",
    [
        ({"capacity": "2Gi", "nodeTopology": {"matchLabels": {"zone": "1"}}}, ["a", "b"]),
        ({"capacity": "1Gi", "nodeTopology": {"matchLabels": {"zone": "1"}}}, []),
        (
            {
                "capacity": "9Gi",
                "maximumVolumeSize": "1Gi",
                "nodeTopology": {"matchLabels": {"zone": "1"}},
            },
            [],
        ),
        ({"capacity": "2Gi", "nodeTopology": {}}, ["a", "b", "c"]),
        # No topology means that no node has access; no amount that nothing is known.
        ({"capacity": "2Gi"}, []),
        ({"nodeTopology": {}}, []),
        ({"capacity": "2Gi", "nodeTopology": {}, "storageClassName": "slow"}, []),
    ],
)
def test_storage_has_to_have_room(capacity: dict[str, Any], fits: list[str]) -> None:
    found = three()
    put(found, kinds.CSI_DRIVER, "csi.example.com", spec={"storageCapacity": True})
    put(found, kinds.CSI_CAPACITY, "c", namespace="x", **({"storageClassName": "fast"} | capacity))
    put_claim(found, "data", size="2Gi")
    asked = with_claims("p", "data")
    assert fitting(found, asked, "a", "b", "c") == fits
    if not fits:
        assert reason(found, asked, "a") == NO_ROOM
    # A driver that does not tell its room is trusted.
    put(found, kinds.CSI_DRIVER, "csi.example.com", spec={"storageCapacity": False})
    assert fitting(found, asked, "a", "b", "c") == ["a", "b", "c"]


def test_an_ephemeral_volume_waits_for_its_claim() -> None:
    found = three()
    volumes = [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}]
    asked = pod("p", volumes=volumes)
    assert reason(found, asked, "a") == (
        'waiting for ephemeral volume controller to create the persistentvolumeclaim "p-scratch"'
    )
    put_claim(found, "p-scratch")
    assert "was not created for the pod" in reason(found, asked, "a")
    put_claim(found, "p-scratch", metadata={"ownerReferences": [{"uid": "p"}]})
    assert reason(found, asked, "a") == ""


# -------------------------------------------------------------------------------- restrictions


@pytest.mark.parametrize(
    "used, wanted, free",
    [
        (
            {"gcePersistentDisk": {"pdName": "d"}},
            {"gcePersistentDisk": {"pdName": "d", "readOnly": True}},
            False,
        ),
        (
            {"gcePersistentDisk": {"pdName": "d", "readOnly": True}},
            {"gcePersistentDisk": {"pdName": "d", "readOnly": True}},
            True,
        ),
        ({"gcePersistentDisk": {"pdName": "d"}}, {"gcePersistentDisk": {"pdName": "e"}}, True),
        (
            {"awsElasticBlockStore": {"volumeID": "d", "readOnly": True}},
            {"awsElasticBlockStore": {"volumeID": "d", "readOnly": True}},
            False,
        ),
        ({"iscsi": {"iqn": "i", "lun": 1}}, {"iscsi": {"iqn": "i", "lun": 2}}, False),
        (
            {"iscsi": {"iqn": "i", "readOnly": True}},
            {"iscsi": {"iqn": "i", "readOnly": True}},
            True,
        ),
        (
            {"rbd": {"monitors": ["a", "b"], "image": "i", "pool": "p"}},
            {"rbd": {"monitors": ["b", "c"], "image": "i", "pool": "p"}},
            False,
        ),
        (
            {"rbd": {"monitors": ["a"], "image": "i"}},
            {"rbd": {"monitors": ["b"], "image": "i"}},
            True,
        ),
        (
            {"rbd": {"monitors": ["a"], "image": "i"}},
            {"rbd": {"monitors": ["a"], "image": "i", "pool": "rbd"}},
            False,
        ),
    ],
)
def test_disks_that_two_pods_of_a_node_cannot_share(
    used: dict[str, Any], wanted: dict[str, Any], free: bool
) -> None:
    found = three()
    found.set_pod(pod("old", volumes=[{"name": "v"} | used]), "a")
    asked = pod("p", volumes=[{"name": "v"} | wanted])
    assert fitting(found, asked, "a", "b") == (["a", "b"] if free else ["b"])
    if not free:
        assert reason(found, asked, "a") == "node(s) had no available disk"
    found.remove_pod("old")
    assert fitting(found, asked, "a", "b") == ["a", "b"]


def test_a_claim_for_one_pod_is_for_one_pod_in_the_whole_cluster() -> None:
    found = three()
    put_claim(found, "data", spec={"accessModes": ["ReadWriteOncePod"]})
    found.set_pod(with_claims("old", "data"), "a")
    asked = with_claims("p", "data")
    assert reason(found, asked, "b") == (
        "node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access"
        " mode"
    )
    # With the end of that pod it is free; on another node its end helps, too.
    assert found.victims(asked, "a", ["old"], 0) == 0
    found.remove_pod("old")
    assert reason(found, asked, "b") == ""


# --------------------------------------------------------------------------------------- limits


def limited(count: int | None) -> Cluster:
    """Three nodes; a can have so many volumes of the driver."""
    found = three()
    driver = {"name": "csi.example.com", "nodeID": "a", "allocatable": {"count": count}}
    put(found, kinds.CSI_NODE, "a", spec={"drivers": [driver]})
    for name in ("one", "two", "three"):
        handle = {"driver": "csi.example.com", "volumeHandle": name}
        put_volume(found, f"v-{name}", spec={"csi": handle}, status={"phase": "Bound"})
        put_claim(found, name, spec={"volumeName": f"v-{name}"}, metadata=BOUND)
    put_claim(found, "unbound")
    return found


def test_a_node_can_have_so_many_volumes_of_a_driver() -> None:
    found = limited(2)
    found.set_pod(with_claims("p1", "one"), "a")
    assert reason(found, with_claims("p", "two"), "a") == ""
    assert reason(found, with_claims("q", "two", "three"), "a") == "node(s) exceed max volume count"
    found.set_pod(with_claims("p2", "unbound"), "a")
    # A volume that is there already is not another one.
    assert reason(found, with_claims("r", "one"), "a") == ""
    assert fitting(found, with_claims("s", "two"), "a", "b") == ["b"]
    found.remove_pod("p2")
    assert reason(found, with_claims("s", "two"), "a") == ""


def test_attached_volumes_count_until_they_are_detached() -> None:
    found = limited(1)
    source = {"persistentVolumeName": "v-one"}
    spec = {"attacher": "csi.example.com", "nodeName": "a", "source": source}
    put(found, kinds.ATTACHMENT, "at", spec=spec)
    assert reason(found, with_claims("p", "two"), "a") == "node(s) exceed max volume count"
    assert reason(found, with_claims("q", "one"), "a") == ""
    found.remove_object(kinds.ATTACHMENT, "", "at")
    assert reason(found, with_claims("p", "two"), "a") == ""


def test_without_a_limit_any_number_will_do() -> None:
    found = limited(None)
    for name in ("one", "two"):
        found.set_pod(with_claims(f"p-{name}", name), "a")
    assert reason(found, with_claims("p", "three"), "a") == ""
    assert reason(found, with_claims("q", "three"), "b") == ""


# ---------------------------------------------------------------------------------------- zones


@pytest.mark.parametrize(
    "volume, node_labels, fits",
    [
        (
            {"topology.kubernetes.io/zone": "z1"},
            {"topology.kubernetes.io/zone": "z1"},
            True,
        ),
        (
            {"topology.kubernetes.io/zone": "z1"},
            {"topology.kubernetes.io/zone": "z2"},
            False,
        ),
        (
            {"topology.kubernetes.io/zone": "z1__z2"},
            {"topology.kubernetes.io/zone": "z2"},
            True,
        ),
        # The old label of a volume is compared with the new one of the node.
        (
            {"failure-domain.beta.kubernetes.io/zone": "z1"},
            {"topology.kubernetes.io/zone": "z1"},
            True,
        ),
        (
            {"topology.kubernetes.io/region": "r1"},
            {"topology.kubernetes.io/zone": "z1"},
            False,
        ),
        # A node without any zone is not restricted.
        ({"topology.kubernetes.io/zone": "z1"}, {}, True),
    ],
)
def test_zones_of_volumes(volume: dict[str, str], node_labels: dict[str, str], fits: bool) -> None:
    found = three(**node_labels)
    put_volume(found, "v", metadata={"labels": volume}, status={"phase": "Bound"})
    put_claim(found, "data", spec={"volumeName": "v"}, metadata=BOUND)
    text = "" if fits else "node(s) had no available volume zone"
    assert reason(found, with_claims("p", "data"), "a") == text


# --------------------------------------------------------------------------------------- devices


def claiming(uid: str, *, status: dict[str, Any] | None = None, **claim: str) -> Pod:
    return pod(uid, resourceClaims=[{"name": "gpu"} | claim], status=status or {})


def put_devices(found: Cluster, **status: Any) -> None:
    put(found, kinds.RESOURCE_CLAIM, "claim", namespace="one", status=status)


def test_a_claim_without_an_allocation_cannot_be_judged() -> None:
    found = three()
    asked = claiming("p", resourceClaimName="claim")
    assert reason(found, asked, "a") == 'resourceclaim "one/claim" not found'
    put_devices(found)
    assert "is not allocated: remuda does not choose devices" in reason(found, asked, "a")


def test_an_allocation_decides_about_nodes() -> None:
    found = three()
    selector = in_zone("2")["required"]
    put_devices(found, allocation={"nodeSelector": selector})
    asked = claiming("p", resourceClaimName="claim")
    assert reason(found, asked, "a") == "resourceclaim not available on the node"
    assert fitting(found, asked, "a", "b", "c") == ["c"]
    put_devices(found, allocation={})
    assert fitting(found, asked, "a", "b", "c") == ["a", "b", "c"]


def test_a_claim_has_a_limit_of_users() -> None:
    found = three()
    users = [{"resource": "pods", "name": f"u{i}", "uid": f"u{i}"} for i in range(256)]
    put_devices(found, allocation={}, reservedFor=users)
    new = claiming("p", resourceClaimName="claim")
    assert reason(found, new, "a") == 'resourceclaim "one/claim" has 256 users already'
    assert reason(found, claiming("u7", resourceClaimName="claim"), "a") == ""


def test_a_claim_from_a_template_has_to_be_made_first() -> None:
    found = three()
    asked = claiming("p", resourceClaimTemplateName="t")
    assert "to be made from its template" in reason(found, asked, "a")
    put_devices(found, allocation={})
    made = [{"name": "gpu", "resourceClaimName": "claim"}]
    status = {"resourceClaimStatuses": made}
    ready = claiming("q", status=status, resourceClaimTemplateName="t")
    assert reason(found, ready, "a") == ""
    # A status without a name says that no claim is needed.
    none = claiming("r", status={"resourceClaimStatuses": [{"name": "gpu"}]})
    assert reason(found, none, "a") == ""


def test_no_node_is_reserved_for_a_claim_that_the_end_of_no_pod_brings() -> None:
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "none"}}]
    devices = [{"name": "gpu", "resourceClaimName": "none"}]
    for asked in (pod("p", volumes=volumes), pod("q", resourceClaims=devices)):
        verdicts = cluster(node("a")).judge(asked, ["a"], allocate=False, want=1)
        assert "not found" in verdicts.refusals[0][1].text
