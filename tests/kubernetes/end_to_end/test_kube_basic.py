"""What everyone does first: a pod, a job, and what can be seen of them."""

from __future__ import annotations

from tests.kubernetes.end_to_end.cluster import QUEUES, Cluster
from tests.kubernetes.end_to_end.objects import Object
from tests.kubernetes.end_to_end.spaces import Space

MEBIBYTE = 2**20
BY_MEMORY = QUEUES.replace(
    "    placementrules:",
    "    nodesortpolicy: {type: binpacking, resourceweights: {memory: 1.0, vcore: 0.0}}\n"
    "    placementrules:",
)


def application(space: Space, identity: str) -> Object:
    """Wait for an application and return it as the scheduler shows it."""
    space.until(f"application {identity} is known", lambda: space.application(identity))
    found = space.application(identity)
    assert found is not None
    return found


def test_application_and_queue_are_shown(space: Space) -> None:
    space.node("n1")
    space.pod("p1", app="first")
    space.running("p1")
    queue = space.cluster.queue(space.queue)
    assert queue is not None
    assert queue["allocatedResource"] == {"memory": 64 * MEBIBYTE, "pods": 1, "vcore": 100}
    found = application(space, "first")
    assert found["queueName"] == space.queue
    assert found["partition"].endswith("default")
    assert space.told(
        "p1", "Scheduling", f"application {space.identity('first')} of queue {space.queue}"
    )
    assert "n1" in space.told("p1", "Scheduled")
    assert "n1" in space.told("p1", "PodBindSuccessful")
    space.until(
        "the node was accepted",
        lambda: "NodeAccepted" in [told for told, _ in space.cluster.events_of("Node", "n1")],
    )


def test_states_of_a_job(space: Space) -> None:
    space.node("n1")
    space.job("sleeper", 3)
    names: list[str] = []

    def all_run() -> bool:
        pods = space.of_job("sleeper")
        names[:] = [pod["metadata"]["name"] for pod in pods]
        return [pod["status"]["phase"] for pod in pods] == ["Running"] * 3

    space.until("three pods run", all_run)
    assert application(space, "sleeper")["applicationState"] == "Running"
    space.finish(*names)
    space.until(
        "the job is complete",
        lambda: (
            space.api.get(f"/apis/batch/v1/namespaces/{space.name}/jobs/sleeper")["status"].get(
                "succeeded"
            )
            == 3
        ),
    )
    space.until(
        "the application has no pods",
        lambda: application(space, "sleeper")["applicationState"] == "Completing",
    )
    assert not any(application(space, "sleeper")["usedResource"].values())


def test_properties_of_an_allocation(space: Space) -> None:
    space.node("n1")
    made = space.pod("p1", app="props", cpu="250m", memory="128Mi")
    space.running("p1")
    found = application(space, "props")
    (allocation,) = found["allocations"]
    assert allocation["allocationKey"] == made["metadata"]["uid"]
    assert allocation["nodeId"] == "n1"
    assert allocation["applicationId"] == space.identity("props")
    assert allocation["priority"] == "0"
    assert allocation["resource"] == {"memory": 128 * MEBIBYTE, "pods": 1, "vcore": 250}
    assert allocation["allocationTags"]["kubernetes.io/meta/podName"] == "p1"
    assert allocation["allocationTags"]["kubernetes.io/meta/namespace"] == space.name
    assert allocation["allocationTags"]["kubernetes.io/label/applicationId"] == space.identity(
        "props"
    )


def test_a_pod_that_asks_for_nothing_is_placed(space: Space) -> None:
    space.node("n1")
    made = space.pod("p1", app="best", cpu="", memory="")
    assert made["status"]["qosClass"] == "BestEffort"
    space.running("p1")
    (allocation,) = application(space, "best")["allocations"]
    assert allocation["resource"] == {"pods": 1}


def test_pods_that_ask_for_something_are_placed(space: Space) -> None:
    space.node("n1")
    resources = {"cpu": "100m", "memory": "64Mi"}
    container = {
        "name": "main",
        "image": "pause",
        "resources": {"requests": resources, "limits": resources},
    }
    made = space.pod("guaranteed", spec={"containers": [container]})
    assert made["status"]["qosClass"] == "Guaranteed"
    assert space.pod("burstable")["status"]["qosClass"] == "Burstable"
    space.running("guaranteed", "burstable")
    for name in ("guaranteed", "burstable"):
        (allocation,) = application(space, name)["allocations"]
        assert allocation["resource"]["vcore"] == 100


def test_pods_are_packed_by_memory(cluster: Cluster, space: Space) -> None:
    cluster.configure(BY_MEMORY)
    try:
        for name in ("n1", "n2"):
            space.node(name)
        # By cpu the first node is the fuller one, by memory the second.
        space.pod("cpu", cpu="3", memory="1Gi", spec=on("n1"))
        space.pod("memory", cpu="500m", memory="4Gi", spec=on("n2"))
        space.running("cpu", "memory")
        names = [f"p{number}" for number in range(4)]
        for name in names:
            space.pod(name, memory="512Mi")
        space.running(*names)
        assert {space.node_of(name) for name in names} == {"n2"}
    finally:
        cluster.configure(QUEUES)


def on(node: str) -> Object:
    return {"nodeSelector": {"kubernetes.io/hostname": node}}


def test_no_node_is_filled_beyond_its_capacity(space: Space) -> None:
    space.node("n1", cpu="1", memory="1Gi")
    space.pod("p1", cpu="600m")
    space.running("p1")
    space.pod("p2", cpu="600m")
    space.pod("p3", cpu="400m")
    space.running("p3")
    space.waiting("p2", "cpu")
    space.delete("p1")
    space.running("p2")


def test_pods_of_other_schedulers_are_counted_on_their_nodes(
    cluster: Cluster, space: Space
) -> None:
    space.node("n1", cpu="1")
    space.pod("other", cpu="700m", scheduler="default-scheduler")
    binding = {
        "metadata": {"name": "other"},
        "target": {"apiVersion": "v1", "kind": "Node", "name": "n1"},
    }
    space.api.create(f"{space.pods}/other/binding", binding)
    space.running("other")

    def foreign() -> list[Object]:
        node = cluster.shim.ask("partition/default/node/n1")
        return list(node.get("foreignAllocations") or ())

    space.until("the scheduler counts the pod of another scheduler", foreign)
    assert [each["resource"]["vcore"] for each in foreign()] == [700]
    space.pod("ours", cpu="500m")
    space.waiting("ours")
    space.delete("other")
    space.running("ours")
    assert foreign() == []


def test_a_spark_job_runs_its_driver_and_executors(space: Space) -> None:
    """The driver makes the executors and owns them, as Spark on Kubernetes does."""
    space.node("n1")
    # Spark names the application in a label of its own only.
    names = {"spark-app-selector": space.identity("spark-1"), "applicationId": ""}
    labels = {**names, "spark-role": "driver"}
    driver = space.pod("driver", app="spark-1", labels=labels)
    space.running("driver")
    owner = {
        "apiVersion": "v1",
        "kind": "Pod",
        "name": "driver",
        "uid": driver["metadata"]["uid"],
        "controller": True,
    }
    executors = [f"exec-{number}" for number in range(1, 4)]
    for name in executors:
        space.pod(
            name,
            app="spark-1",
            labels={**labels, "spark-role": "executor"},
            metadata={"ownerReferences": [owner]},
        )
    space.running(*executors)
    assert len(application(space, "spark-1")["allocations"]) == 4
    space.finish("driver")
    space.reach("Succeeded", ["driver"])
    space.delete("driver")
    # The garbage collector removes what the driver owned.
    space.gone("driver", *executors)
    space.until(
        "the queue is empty",
        lambda: not any((space.cluster.queue(space.queue) or {})["allocatedResource"].values()),
    )
