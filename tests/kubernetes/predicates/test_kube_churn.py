"""What came and went leaves nothing behind, however much it was."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from remuda_kubernetes.objects import kinds
from remuda_kubernetes.predicates.cluster import Cluster
from remuda_kubernetes.predicates.refusals import Refusal
from tests.kubernetes.containers import lengths
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

# More than the classes that are kept for pods to come.
ROUNDS = 300


def labelled(label: str, **more: object) -> dict[str, object]:
    return term("host", labelSelector={"matchLabels": {label: "x"}}, **more)


def runs_apart(found: Cluster, number: int) -> None:
    label = f"label{number}"
    made = pod(f"apart{number}", {label: "x"}, affinity=away(labelled(label)))
    found.class_of(made)
    found.set_pod(made, "n1")
    found.remove_pod(made.uid)


def runs_apart_from_all_namespaces(found: Cluster, number: int) -> None:
    label = f"wide{number}"
    wanted = away(labelled(label, namespaceSelector={}))
    found.set_pod(pod(f"wide{number}", affinity=wanted), "n1")
    found.remove_pod(f"wide{number}")


def is_refused_by_a_pod_that_stays(found: Cluster, number: int) -> None:
    made = pod(f"near{number}", {"app": "a"}, nodeSelector={"host": "n1", "key": "value"})
    found.judge(made, ["n1"], allocate=True, want=1)
    made = pod(f"new{number}", {"app": "a"}, tolerations=[{"key": f"key{number}"}])
    assert "anti-affinity" in reason(found, made, "n1")
    found.remove_pod(f"near{number}")
    found.remove_pod(made.uid)


def waits_for_others(found: Cluster, number: int) -> None:
    label = f"other{number}"
    for made in (
        pod(f"wait{number}", affinity=near(labelled(label))),
        pod(f"even{number}", topologySpreadConstraints=[spread("host", maxSkew=number + 1)]),
        pod(f"much{number}", containers=asks(cpu=str(100 + number))),
    ):
        found.judge(made, ["n1", "n2"], allocate=True, want=1)
        found.remove_pod(made.uid)


def nodes_go_with_their_pods(found: Cluster, number: int) -> None:
    name = f"short{number}"
    found.set_node(node(name, {"zone": f"zone{number}"}))
    found.set_pod(pod(name, {"app": "a"}), name)
    found.remove_node(name)
    found.remove_pod(name)


def volumes(found: Cluster, number: int) -> None:
    fast, driver = f"fast{number}", f"driver{number}"
    put(
        found,
        kinds.STORAGE_CLASS,
        fast,
        provisioner=driver,
        volumeBindingMode="WaitForFirstConsumer",
    )
    put(found, kinds.CSI_DRIVER, driver, spec={"storageCapacity": True})
    put(found, kinds.CSI_NODE, driver, spec={"drivers": [{"name": driver}]})
    source = {"persistentVolumeName": fast}
    put(found, kinds.ATTACHMENT, fast, spec={"nodeName": "n1", "source": source})
    room = {"storageClassName": fast, "nodeTopology": {}, "capacity": "10Gi"}
    put(found, kinds.CSI_CAPACITY, fast, namespace="one", **room)
    capacity = {"capacity": {"storage": "2Gi"}, "storageClassName": fast}
    put(found, kinds.PERSISTENT_VOLUME, fast, spec=capacity, status={"phase": "Available"})
    for name, size in (("small", "1Gi"), ("large", "5Gi")):
        wanted = {"storageClassName": fast, "resources": {"requests": {"storage": size}}}
        put(found, kinds.CLAIM, f"{name}{number}", namespace="one", spec=wanted)
        claim = {"claimName": f"{name}{number}"}
        made = pod(f"{name}{number}", volumes=[{"name": "v", "persistentVolumeClaim": claim}])
        decision = found.volumes_for(made, "n1")
        assert not isinstance(decision, Refusal)
        found.promise(decision)
        found.set_pod(made, "n1")
        found.remove_pod(made.uid)
        found.remove_object(kinds.CLAIM, "one", f"{name}{number}")
    for kind, namespace, name in (
        (kinds.ATTACHMENT, "", fast),
        (kinds.PERSISTENT_VOLUME, "", fast),
        (kinds.CSI_CAPACITY, "one", fast),
        (kinds.CSI_NODE, "", driver),
        (kinds.CSI_DRIVER, "", driver),
        (kinds.STORAGE_CLASS, "", fast),
    ):
        found.remove_object(kind, namespace, name)


def other_objects(found: Cluster, number: int) -> None:
    name = f"object{number}"
    put_namespace(found, name, team="a")
    put_namespace(found, name)
    every = (kinds.SERVICE, kinds.REPLICA_SET, kinds.RESOURCE_CLAIM)
    for kind in every:
        selector = {"app": "a"} if kind is kinds.SERVICE else {"matchLabels": {"app": "a"}}
        put(found, kind, name, namespace=name, spec={"selector": selector})
    for kind in every:
        found.remove_object(kind, name, name)
    found.remove_object(kinds.NAMESPACE, "", name)


@pytest.mark.parametrize(
    "happens",
    [
        runs_apart,
        runs_apart_from_all_namespaces,
        is_refused_by_a_pod_that_stays,
        waits_for_others,
        nodes_go_with_their_pods,
        volumes,
        other_objects,
    ],
)
def test_nothing_is_kept_of_what_came_and_went(happens: Callable[[Cluster, int], None]) -> None:
    found = cluster(node("n1"), node("n2"))
    found.set_pod(pod("stays", {"app": "a"}, affinity=away(term("host"))), "n1")
    kept = []
    for number in range(2 * ROUNDS):
        happens(found, number)
        found.take_renamed()
        found.take_woken()
        if number in {ROUNDS - 1, 2 * ROUNDS - 1}:
            kept.append(lengths(found))
    assert kept[0] == kept[1]
