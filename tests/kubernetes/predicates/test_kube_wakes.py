"""Which classes and nodes a change wakes, and which pods share a class."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from remuda_kubernetes.objects import kinds
from remuda_kubernetes.objects.pods import Pod
from remuda_kubernetes.predicates.cluster import Cluster
from remuda_kubernetes.predicates.refusals import NODE_AFFINITY, NODE_RESOURCES
from tests.kubernetes.predicates.scenes import (
    asks,
    away,
    cluster,
    near,
    node,
    pod,
    put,
    put_namespace,
    reason,
    spread,
    term,
)


def waiting(found: Cluster, asked: Pod, *names: str) -> str:
    """A pod that was refused on some nodes. Returns its class."""
    for name in names:
        assert reason(found, asked, name) != ""
    found.take_woken()
    return found.class_of(asked)


def woken(found: Cluster) -> tuple[set[str], set[str]]:
    taken = found.take_woken()
    return set(taken.classes), set(taken.nodes)


NOTHING: tuple[set[str], set[str]] = (set(), set())

# ------------------------------------------------------------------------------ single nodes


@pytest.mark.parametrize(
    "spec, before, after",
    [
        ({"nodeSelector": {"disk": "ssd"}}, {}, {"labels": {"disk": "ssd"}}),
        ({}, {"taints": [{"key": "k", "effect": "NoSchedule"}]}, {}),
        ({}, {"unschedulable": True}, {}),
        ({"containers": asks(cpu="5")}, {}, {"allocatable": {"cpu": "8", "pods": "9"}}),
        ({"topologySpreadConstraints": [spread("rack")]}, {}, {"labels": {"rack": "1"}}),
        ({"affinity": near(term("rack"))}, {}, {"labels": {"rack": "1"}}),
    ],
)
def test_a_change_of_a_node_wakes_that_node(
    spec: dict[str, Any], before: dict[str, Any], after: dict[str, Any]
) -> None:
    found = cluster(node("a", **before), node("b", **before))
    asked = pod("p", {"app": "a"}, **spec)
    waiting(found, asked, "a", "b")
    found.set_node(node("a", **before))
    assert woken(found) == NOTHING
    found.set_node(node("a", **after))
    assert woken(found) == (set(), {"a"})
    assert reason(found, asked, "a") == ""


def test_a_change_that_concerns_no_filter_that_refused_wakes_nothing() -> None:
    found = cluster(node("a"))
    waiting(found, pod("p", containers=asks(cpu="99")), "a")
    found.set_node(node("a", {"disk": "ssd"}))
    found.set_node(node("a", {"disk": "ssd"}, taints=[{"key": "k", "effect": "NoSchedule"}]))
    found.set_node(node("a", {"disk": "ssd"}))
    found.set_node(node("a", {"disk": "ssd"}, allocatable={"cpu": "1", "pods": "9"}))
    put_namespace(found, "one", team="red")
    put(found, kinds.PERSISTENT_VOLUME, "v")
    assert woken(found) == NOTHING


def test_the_end_of_a_pod_wakes_its_node() -> None:
    found = cluster(node("a"), node("b"))
    found.set_pod(pod("old", containers=asks(cpu="4")), "a")
    found.set_pod(pod("other", containers=asks(cpu="4")), "b")
    waiting(found, pod("p", containers=asks(cpu="1")), "a", "b")
    found.remove_pod("old")
    assert woken(found) == (set(), {"a"})


def test_the_end_of_a_pod_without_ports_frees_none() -> None:
    found = cluster(node("a"))
    port = [{"name": "c", "ports": [{"hostPort": 80, "containerPort": 80}]}]
    found.set_pod(pod("web", containers=port), "a")
    found.set_pod(pod("other"), "a")
    waiting(found, pod("p", containers=port), "a")
    found.remove_pod("other")
    assert woken(found) == NOTHING
    found.remove_pod("web")
    assert woken(found) == (set(), {"a"})


# --------------------------------------------------------------------------- other pods


def zoned() -> Cluster:
    """Two nodes in zone 1, one in zone 2."""
    return cluster(node("a", {"zone": "1"}), node("b", {"zone": "1"}), node("c", {"zone": "2"}))


def test_a_pod_that_leaves_a_domain_wakes_who_must_not_be_near_it() -> None:
    found = zoned()
    found.set_pod(pod("old", {"app": "a"}), "a")
    found.set_pod(pod("old2", {"app": "a"}), "b")
    found.set_pod(pod("far", {"app": "a"}), "c")
    name = waiting(found, pod("p", affinity=away(term())), "a", "b", "c")
    found.remove_pod("old")
    assert woken(found) == NOTHING
    found.remove_pod("old2")
    assert woken(found) == ({name}, set())
    assert reason(found, pod("p", affinity=away(term())), "c") != ""
    # A domain of one node: that node, not the class.
    found.remove_pod("far")
    assert woken(found) == (set(), {"c"})


def test_a_running_pod_that_keeps_others_away_wakes_them_when_it_ends() -> None:
    found = zoned()
    found.set_pod(pod("old", affinity=away(term())), "a")
    name = waiting(found, pod("p", {"app": "a"}), "a", "b")
    waiting(found, pod("q", containers=asks(cpu="99")), "a")
    found.remove_pod("old")
    classes, nodes = woken(found)
    # The end of the pod also gives room to the node, which the other pod lacks.
    assert (classes, nodes) == ({name}, {"a"})


def test_a_pod_that_comes_wakes_who_must_be_near_it() -> None:
    found = zoned()
    name = waiting(found, pod("p", affinity=near(term())), "a", "b", "c")
    found.set_pod(pod("other", {"app": "b"}), "a")
    assert woken(found) == NOTHING
    found.set_pod(pod("friend", {"app": "a"}), "a")
    assert woken(found) == ({name}, set())


def test_changed_labels_of_a_pod_are_a_pod_that_leaves_and_one_that_comes() -> None:
    found = zoned()
    found.set_pod(pod("old", {"app": "b"}), "a")
    name = waiting(found, pod("p", affinity=near(term())), "a")
    found.set_pod(pod("old", {"app": "a"}), "a")
    assert name in woken(found)[0]


def test_a_higher_lowest_number_wakes_who_was_too_many() -> None:
    found = zoned()
    found.set_pod(pod("old", {"app": "a"}), "a")
    asked = pod("p", {"app": "a"}, topologySpreadConstraints=[spread()])
    name = waiting(found, asked, "a", "b")
    found.set_pod(pod("more", {"app": "a"}), "a")
    assert woken(found) == NOTHING
    found.set_pod(pod("there", {"app": "a"}), "c")
    assert woken(found) == ({name}, set())


def test_a_new_domain_wakes_who_wanted_more_of_them() -> None:
    found = zoned()
    found.set_pod(pod("one", {"app": "a"}), "a")
    found.set_pod(pod("two", {"app": "a"}), "c")
    constraint = [spread(minDomains=3)]
    asked = pod("p", {"app": "a"}, topologySpreadConstraints=constraint)
    name = waiting(found, asked, "a", "b", "c")
    found.set_node(node("d", {"zone": "3"}))
    assert name in woken(found)[0]


def test_labels_of_a_namespace_wake_who_was_refused_by_terms() -> None:
    found = zoned()
    put_namespace(found, "two", team="red")
    red: dict[str, Any] = {"namespaceSelector": {"matchLabels": {"team": "red"}}}
    found.set_pod(pod("old", {"app": "a"}, namespace="two"), "a")
    name = waiting(found, pod("p", affinity=away(term(**red))), "a")
    put_namespace(found, "two", team="red")
    assert woken(found) == NOTHING
    put_namespace(found, "two", team="blue")
    assert name in woken(found)[0]


# ------------------------------------------------------------------------------ volumes


def claimed(uid: str, name: str) -> Pod:
    return pod(uid, volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": name}}])


def put_claim(found: Cluster, name: str, **spec: Any) -> None:
    put(found, kinds.CLAIM, name, namespace="one", spec={"storageClassName": "fast"} | spec)


def put_volume(found: Cluster, name: str, storage_class: str = "fast", **spec: Any) -> None:
    fields = {"storageClassName": storage_class, "capacity": {"storage": "1Gi"}} | spec
    put(found, kinds.PERSISTENT_VOLUME, name, spec=fields, status={"phase": "Available"})


def put_class(found: Cluster, name: str, provisioner: str = "kubernetes.io/no-provisioner") -> None:
    mode = "WaitForFirstConsumer"
    put(found, kinds.STORAGE_CLASS, name, provisioner=provisioner, volumeBindingMode=mode)


def refused_for_volumes() -> tuple[Cluster, str]:
    """A pod whose claim finds no volume, and another that waits for something else."""
    found = zoned()
    put_class(found, "fast")
    put_claim(found, "data")
    name = waiting(found, claimed("p", "data"), "a")
    waiting(found, pod("other", nodeSelector={"x": "y"}), "a")
    return found, name


@pytest.mark.parametrize(
    "change",
    [
        lambda found: put_claim(found, "data"),
        lambda found: put_class(found, "fast", "csi.example.com"),
        lambda found: put_volume(found, "v"),
        lambda found: put_volume(found, "v", claimRef={"namespace": "one", "name": "data"}),
        lambda found: put(found, kinds.CSI_CAPACITY, "c", storageClassName="fast"),
        lambda found: put(found, kinds.CSI_DRIVER, "d"),
    ],
)
def test_objects_about_volumes_wake_who_waits_for_them(
    change: Callable[[Cluster], None],
) -> None:
    found, name = refused_for_volumes()
    change(found)
    assert woken(found) == ({name}, set())


@pytest.mark.parametrize(
    "change",
    [
        lambda found: put_claim(found, "more"),
        lambda found: put_class(found, "slow"),
        lambda found: put_volume(found, "v", "slow"),
        lambda found: put_volume(found, "v", claimRef={"namespace": "two", "name": "data"}),
        lambda found: put(found, kinds.CSI_CAPACITY, "c", storageClassName="slow"),
        lambda found: put(found, kinds.CSI_NODE, "a"),
        lambda found: found.remove_object(kinds.CLAIM, "one", "data"),
    ],
)
def test_objects_about_other_volumes_wake_nobody(change: Callable[[Cluster], None]) -> None:
    found, _ = refused_for_volumes()
    change(found)
    assert woken(found) == NOTHING


def test_a_volume_that_did_not_change_wakes_nobody() -> None:
    found, name = refused_for_volumes()
    put_volume(found, "v", capacity={"storage": "1"}, volumeMode="Block")
    assert woken(found) == ({name}, set())
    waiting(found, claimed("p", "data"), "a")
    put_volume(found, "v", capacity={"storage": "1"}, volumeMode="Block")
    assert woken(found) == NOTHING


def test_a_detached_volume_wakes_the_node() -> None:
    found = zoned()
    put_class(found, "fast", "csi.example.com")
    for name in ("data", "more"):
        put_claim(found, name)
    driver = {"name": "csi.example.com", "nodeID": "a", "allocatable": {"count": 1}}
    put(found, kinds.CSI_NODE, "a", spec={"drivers": [driver]})
    put_volume(found, "v", csi={"driver": "csi.example.com", "volumeHandle": "h"})
    source = {"persistentVolumeName": "v"}
    put(found, kinds.ATTACHMENT, "at", spec={"nodeName": "a", "source": source})
    asked = claimed("p", "data")
    waiting(found, asked, "a")
    assert reason(found, asked, "a") == "node(s) exceed max volume count"
    found.remove_object(kinds.ATTACHMENT, "", "at")
    assert woken(found) == (set(), {"a"})
    assert reason(found, asked, "a") == ""


def test_a_claim_wakes_only_those_that_use_it() -> None:
    found = zoned()
    name = waiting(found, claimed("p", "data"), "a")
    waiting(found, claimed("q", "more"), "a")
    put_claim(found, "data")
    assert woken(found) == ({name}, set())


def test_a_claim_for_one_pod_wakes_the_next_one() -> None:
    found = zoned()
    put(
        found,
        kinds.STORAGE_CLASS,
        "fast",
        provisioner="x",
        volumeBindingMode="WaitForFirstConsumer",
    )
    put_claim(found, "data", accessModes=["ReadWriteOncePod"])
    found.set_pod(claimed("old", "data"), "a")
    name = waiting(found, claimed("p", "data"), "b")
    found.remove_pod("old")
    assert name in woken(found)[0]


# ------------------------------------------------------------------------------- classes


def test_refusals_are_remembered_until_a_class_is_woken() -> None:
    found = zoned()
    asked = pod("p", nodeSelector={"zone": "2"}, containers=asks(cpu="5"))
    assert found.filters_that_refused(found.class_of(asked)) == 0
    waiting(found, asked, "a", "c")
    assert found.filters_that_refused(found.class_of(asked)) == NODE_AFFINITY | NODE_RESOURCES
    assert found.filters_that_refused("unknown") == 0


def test_an_explanation_for_people_wakes_nothing_later() -> None:
    found = zoned()
    found.set_pod(pod("old", containers=asks(cpu="4")), "a")
    asked = pod("p", containers=asks(cpu="1"), nodeName="a")
    verdicts = found.explain(asked, ["a", "b"])
    assert [refusal.text for _, refusal in verdicts.refusals] == [
        "Insufficient cpu",
        "node(s) didn't match the requested node name",
    ]
    found.remove_pod("old")
    assert woken(found) == NOTHING
    assert found.filters_that_refused(found.class_of(asked)) == 0


def test_nothing_is_woken_that_does_not_wait() -> None:
    found = zoned()
    asked = pod("p", affinity=near(term()))
    waiting(found, asked, "a")
    found.remove_pod("p")
    found.set_pod(pod("friend", {"app": "a"}), "a")
    assert woken(found) == NOTHING


def test_trying_victims_wakes_nothing() -> None:
    found = zoned()
    found.set_pod(pod("old", {"app": "a"}, containers=asks(cpu="4")), "a")
    waiting(found, pod("p", affinity=away(term())), "a", "b")
    asked = pod("q", containers=asks(cpu="2"))
    waiting(found, asked, "a")
    assert found.victims(asked, "a", ["old"], 0) == 0
    assert woken(found) == NOTHING


def test_equal_pods_share_a_class_whatever_their_own_numbers_are() -> None:
    found = zoned()
    one = pod("p1", {"app": "a", "exec-id": "1"}, containers=asks(cpu="1"))
    two = pod("p2", {"exec-id": "2", "app": "a"}, containers=asks(cpu="1000m"))
    assert found.class_of(one) == found.class_of(two)
    assert found.class_of(one) == cluster().class_of(two)
    assert len(found.class_of(one)) <= 32


@pytest.mark.parametrize(
    "spec",
    [
        {"containers": asks(cpu="2")},
        {"nodeSelector": {"zone": "1"}},
        {"tolerations": [{"operator": "Exists"}]},
        {"affinity": away(term())},
        {"topologySpreadConstraints": [spread()]},
        {"nodeName": "a"},
        {"labels": {"app": "b"}},
        {"namespace": "two"},
        {"containers": [{"ports": [{"hostPort": 80, "containerPort": 80}]}]},
        {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]},
        {"resourceClaims": [{"name": "gpu", "resourceClaimName": "c"}]},
    ],
)
def test_pods_that_a_filter_can_tell_apart_have_different_classes(spec: dict[str, Any]) -> None:
    found = zoned()
    assert found.class_of(pod("p")) != found.class_of(pod("q", **spec))


def test_labels_that_the_pods_own_terms_look_at_part_them() -> None:
    found = zoned()
    selector = {"matchLabels": {"exec-id": "1"}}
    wanted = near(term(labelSelector=selector))
    one = found.class_of(pod("p1", {"exec-id": "1"}, affinity=wanted))
    assert one != found.class_of(pod("p2", {"exec-id": "2"}, affinity=wanted))


def test_a_term_about_a_label_that_did_not_matter_renames_waiting_pods() -> None:
    found = zoned()
    one, two = (pod(f"p{i}", {"exec-id": str(i)}) for i in (1, 2))
    without = pod("p3")
    name = found.class_of(one)
    assert found.class_of(two) == name == found.class_of(without)
    assert found.take_renamed() == {}
    selector = {"matchLabels": {"exec-id": "1"}}
    found.set_pod(pod("old", affinity=away(term(labelSelector=selector))), "a")
    renamed = found.take_renamed()
    assert set(renamed) == {"p1", "p2"}
    assert renamed["p1"] != renamed["p2"] != name
    assert found.class_of(one) == renamed["p1"]
    assert found.class_of(without) == name
    assert found.take_renamed() == {}
    assert reason(found, one, "a") != ""
    assert reason(found, two, "a") == ""
    # The class that the three shared is now that of the pod without the label.
    assert reason(found, without, "a") == ""


def test_a_term_parts_only_pods_of_the_namespaces_that_it_is_about() -> None:
    found = zoned()
    here = [pod(f"p{i}", {"exec-id": str(i)}) for i in (1, 2)]
    there = [pod(f"q{i}", {"exec-id": str(i)}, namespace="two") for i in (1, 2)]
    for each in (*here, *there):
        found.class_of(each)
    selector = {"matchLabels": {"exec-id": "1"}}
    found.set_pod(pod("old", affinity=away(term(labelSelector=selector))), "a")
    assert set(found.take_renamed()) == {"p1", "p2"}
    assert found.class_of(there[0]) == found.class_of(there[1])
    everywhere = away(term(labelSelector=selector, namespaceSelector={}))
    found.set_pod(pod("wide", affinity=everywhere), "a")
    assert set(found.take_renamed()) == {"q1", "q2"}


def test_classes_come_and_go_without_end() -> None:
    found = zoned()
    for number in range(600):
        constraint = [spread(labelSelector={"matchLabels": {"job": str(number)}})]
        asked = pod(f"p{number}", {"job": str(number)}, topologySpreadConstraints=constraint)
        assert reason(found, asked, "a") == ""
        found.set_pod(asked, "a")
        found.remove_pod(asked.uid)
    first = pod(
        "p0",
        {"job": "0"},
        topologySpreadConstraints=[spread(labelSelector={"matchLabels": {"job": "0"}})],
    )
    found.set_pod(pod("old", {"job": "0"}), "a")
    assert reason(found, first, "a") != ""
    assert reason(found, first, "c") == ""


def test_a_pod_that_changes_class_when_many_are_idle_is_judged_right() -> None:
    found = zoned()
    base = pod("p", {"app": "a"}, topologySpreadConstraints=[spread()])
    found.class_of(base)
    found.class_of(pod("p", {"app": "b"}))
    for number in range(255):
        found.class_of(pod(f"q{number}", containers=asks(cpu=f"{number + 1}m")))
        found.remove_pod(f"q{number}")
    # The oldest idle class is the one that the pod returns to.
    found.set_pod(pod("old", {"app": "a"}), "a")
    assert reason(found, base, "a") != ""
