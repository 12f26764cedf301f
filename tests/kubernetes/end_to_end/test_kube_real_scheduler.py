"""A real kube-scheduler in charge, or at work on the same nodes: shadow, shim and doctor."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import pytest

from remuda_kubernetes.doctor.run import Options, examine
from remuda_kubernetes.testing.kubelet import Habits
from remuda_kubernetes.testing.real import RealServer
from remuda_kubernetes.testing.scheduler import KubeScheduler, why_missing
from tests.kubernetes.end_to_end.cluster import NAMESPACE, Cluster
from tests.kubernetes.end_to_end.manifests import HOST, node_manifest
from tests.kubernetes.end_to_end.objects import Object
from tests.kubernetes.end_to_end.shadowing import Shadow, until
from tests.kubernetes.end_to_end.spaces import Space

pytestmark = [
    pytest.mark.kubernetes,
    pytest.mark.skipif(why_missing() != "", reason=f"no real kube-scheduler: {why_missing()}"),
]

THEIRS: Final = "default-scheduler"
OURS: Final = "yunikorn"
# As quick as the shim, so that they meet; usually it makes 50 calls a second.
QUICK: Final = ("--kube-api-qps=1000", "--kube-api-burst=1000")
CORES: Final = 4
PLAIN: Final = ("a1", "a2", "b1")
TAINTED: Final = "t1"
TAINT: Final = {"key": "dedicated", "value": "large", "effect": "NoSchedule"}
ZONE: Final = "topology.kubernetes.io/zone"


def nodes() -> list[Object]:
    """Three nodes of two zones, and a larger one that only pods with a toleration get."""
    plain = [node_manifest(name, cpu=str(CORES), labels={ZONE: name[0]}) for name in PLAIN]
    return [*plain, node_manifest(TAINTED, cpu="8", labels={ZONE: "b"}, taints=[TAINT])]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A real server with both schedulers, and kubelets that refuse what has no room."""
    folder = tmp_path_factory.mktemp("both")
    with (
        RealServer(folder) as server,
        Cluster(server, folder, nodes=nodes(), habits=Habits(rejects=True)) as running,
        KubeScheduler(server.kubeconfig, folder, options=QUICK),
    ):
        until("the nodes are ready", lambda: untainted(running) == {*PLAIN, TAINTED})
        with running.space("first") as space:
            # It does not schedule before it has seen all.
            space.pod("first", scheduler=THEIRS)
            space.running("first")
        yield running


def untainted(cluster: Cluster) -> set[str]:
    """The nodes without a taint of their start."""
    found = cluster.api.get("/api/v1/nodes")["items"]
    starting = "node.kubernetes.io/not-ready"
    return {
        each["metadata"]["name"]
        for each in found
        if all(taint["key"] != starting for taint in each["spec"].get("taints") or ())
    }


@pytest.fixture
def shadow(cluster: Cluster, tmp_path: Path) -> Iterator[Shadow]:
    """A shadow of kube-scheduler."""
    options = (f"--namespace={NAMESPACE}", "--grace=30s")
    with Shadow(cluster.server.kubeconfig, tmp_path, *options) as running:
        yield running


def within(*names: str) -> Object:
    """A part of a spec: one of these nodes."""
    terms = [{"matchExpressions": [{"key": HOST, "operator": "In", "values": list(names)}]}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    return {"nodeAffinity": required}


def near(app: str) -> Object:
    """A part of a spec: on a node that has a pod with a label, or on none that has one."""
    term = {"topologyKey": HOST, "labelSelector": {"matchLabels": {"word": app}}}
    return {"requiredDuringSchedulingIgnoredDuringExecution": [term]}


def compared(shadow: Shadow) -> int:
    return int(shadow.agreement()["compared"])


# ------------------------------------------------------------------ shadow


@pytest.mark.remuda_rule("EXT-168", "EXT-171")
def test_a_shadow_tells_of_each_pod_where_kube_scheduler_put_it(
    cluster: Cluster, shadow: Shadow
) -> None:
    with cluster.space("each") as space:
        for number in range(8):
            space.pod(f"one-{number}", cpu="200m", scheduler=THEIRS)
            until("it is compared", lambda: compared(shadow) == number + 1)  # noqa: B023
        for number in range(32):
            space.pod(f"burst-{number}", cpu="200m", scheduler=THEIRS)
        until("all are compared", lambda: compared(shadow) == 40)
        truth = {pod["metadata"]["name"]: pod["spec"]["nodeName"] for pod in space.all()}
        told = shadow.end()
    kinds = told["kinds"]
    # Each pod had room in both, so that they may differ about the node only.
    assert kinds["same_node"] + kinds["another_node"] == 40
    found = [each for kind in ("same_node", "another_node") for each in told["examples"][kind]]
    assert {each["pod"].removeprefix("each/"): each["there"] for each in found} == truth


@pytest.mark.remuda_rule("EXT-171")
def test_a_shadow_agrees_with_kube_scheduler_where_only_one_node_will_do(
    cluster: Cluster, shadow: Shadow
) -> None:
    either = within("a1", "a2")
    port = {"containerPort": 80, "hostPort": 8080}
    spread = {
        "maxSkew": 1,
        "topologyKey": ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"word": "spread"}},
    }
    tolerant: Object = {"tolerations": [{**TAINT, "operator": "Equal"}]}
    pods: list[tuple[str, str, str, Object]] = [
        ("selector", "b1", "100m", {"nodeSelector": {ZONE: "b"}}),
        ("tolerant", "t1", "5", tolerant),
        ("full", "a1", "3500m", {"affinity": within("a1")}),
        ("room", "a2", "1", {"affinity": either}),
        ("apart", "a2", "100m", {"affinity": {**either, "podAntiAffinity": near("full")}}),
        ("together", "a1", "100m", {"affinity": {**either, "podAffinity": near("full")}}),
        ("spread", "a1", "100m", {"affinity": within("a1"), "topologySpreadConstraints": [spread]}),
        ("spread", "b1", "100m", {"topologySpreadConstraints": [spread]}),
        ("port", "a1", "100m", {"affinity": within("a1"), "ports": [port]}),
        ("port", "a2", "100m", {"affinity": either, "ports": [port]}),
    ]
    with cluster.space("only") as space:
        for number, (word, node, cpu, spec) in enumerate(pods):
            name = f"{word}-{number}"
            create(space, name, cpu, spec, labels={"word": word})
            until("it is compared", lambda: compared(shadow) == number + 1)  # noqa: B023
            assert space.node_of(name) == node, name
        assert shadow.kinds(space.queue) == {"same_node": len(pods)}
        create(space, "nowhere", "5", {})
        until("neither places it", lambda: "0/4 nodes" in space.says("nowhere"))
        until("neither places it", lambda: shadow.waits(space.queue))
        assert compared(shadow) == len(pods)


def create(space: Space, name: str, cpu: str, spec: Object, **what: Any) -> None:
    """Make a pod of kube-scheduler, whose container may have ports."""
    spec = dict(spec)
    ports = spec.pop("ports", [])
    body = {"name": "main", "image": "pause", "ports": ports}
    body["resources"] = {"requests": {"cpu": cpu}}
    spec["containers"] = [body]
    space.pod(name, scheduler=THEIRS, spec={"schedulerName": THEIRS, **spec}, **what)


# ------------------------------------------------------------------ both at work


def test_each_scheduler_counts_the_pods_of_the_other(cluster: Cluster) -> None:
    with cluster.space("counted") as space:
        theirs = [f"theirs-{number}" for number in range(len(PLAIN))]
        for name in theirs:
            space.pod(name, cpu="3", scheduler=THEIRS)
        space.running(*theirs)
        cluster.until("foreign pods are counted", lambda: used(cluster) == truth(cluster))
        space.pod("ours", cpu="2")
        space.waiting("ours", "Insufficient cpu")
        space.delete("theirs-0")
        space.running("ours")
        space.pod("again", cpu="3", scheduler=THEIRS)
        space.waiting("again", "Insufficient cpu")
        space.delete("ours")
        space.running("again")


def test_both_schedulers_at_work_on_the_same_nodes_lose_no_pod(cluster: Cluster) -> None:
    with cluster.space("load") as space:
        with ThreadPoolExecutor() as together:
            made = [together.submit(load, space, who) for who in (OURS, THEIRS)]
            for each in made:
                each.result()
        space.until("all have ended", lambda: all(map(ended, space.all())))
        pods = space.all()
        # A pod for which both took the same room is refused by the kubelet, and by nobody else.
        assert {each["status"].get("reason", "") for each in pods} <= {"", "OutOfcpu"}
        ran = Counter(each["spec"]["schedulerName"] for each in pods if succeeded(each))
        assert len(pods) == 80
        assert min(ran[OURS], ran[THEIRS]) > 0
        space.pod("last", cpu="4")
        space.running("last")
        cluster.until("nothing else is counted", lambda: used(cluster) == truth(cluster))


def load(space: Space, scheduler: str) -> None:
    """Make pods for more than all nodes, each of which runs for a moment."""
    for number in range(40):
        name = f"{scheduler[:4]}-{number}"
        space.pod(name, app="load", cpu="1", scheduler=scheduler, seconds=0.2)


def ended(pod: Object) -> bool:
    return pod["status"]["phase"] in {"Succeeded", "Failed"}


def succeeded(pod: Object) -> bool:
    return bool(pod["status"]["phase"] == "Succeeded")


def used(cluster: Cluster) -> dict[str, int]:
    """Thousandths of a core that the scheduler counts on each node."""
    return {
        each["nodeID"]: sum(
            (each.get(part) or {}).get("vcore", 0) for part in ("allocated", "occupied")
        )
        for each in cluster.shim.ask("partition/default/nodes")
    }


def truth(cluster: Cluster) -> dict[str, int]:
    """Thousandths of a core that pods have on each node, as the API server knows them."""
    total = dict.fromkeys((*PLAIN, TAINTED), 0)
    for pod in cluster.api.get("/api/v1/pods")["items"]:
        if pod["spec"].get("nodeName") and not ended(pod):
            asked = pod["spec"]["containers"][0]["resources"]["requests"]["cpu"]
            total[pod["spec"]["nodeName"]] += int(asked) * 1000
    return total


# ------------------------------------------------------------------ doctor


@pytest.mark.remuda_rule("EXT-150")
def test_the_doctor_takes_no_offence_at_a_kube_scheduler(cluster: Cluster) -> None:
    with cluster.space("sound") as space:
        for name, scheduler in (("ours", OURS), ("theirs", THEIRS)):
            space.pod(name, scheduler=scheduler)
        space.running("ours", "theirs")
        space.pod("nowhere", cpu="9", scheduler=THEIRS)
        space.waiting("nowhere", "Insufficient cpu")
        options = Options(kubeconfig=cluster.server.kubeconfig, namespace=NAMESPACE, json=True)
        text, errors = examine(options)
    found = [each for each in json.loads(text)["findings"] if each["severity"] != "note"]
    assert (found, errors) == ([], False)
