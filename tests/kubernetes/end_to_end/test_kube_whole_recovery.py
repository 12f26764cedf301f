"""The shim is killed as by kill -9 and started again: nothing is lost, doubled or started twice."""

from __future__ import annotations

from collections.abc import Sequence

from tests.kubernetes.end_to_end.cluster import QUEUES, Cluster
from tests.kubernetes.end_to_end.manifests import gang, task_group
from tests.kubernetes.end_to_end.objects import Object
from tests.kubernetes.end_to_end.spaces import Space

RECOVERY = "root.@recovery@"


def restart(cluster: Cluster) -> None:
    cluster.shim.kill()
    cluster.shim.start()


def allocations(space: Space, app: str) -> dict[str, Object]:
    """Return the allocations of an application by their key."""
    found = (space.application(app) or {}).get("allocations") or ()
    return {each["allocationKey"]: each for each in found}


def names(pods: Sequence[Object]) -> list[str]:
    return sorted(pod["metadata"]["name"] for pod in pods)


def all_run(space: Space, job: str, count: int) -> None:
    space.until(
        f"{count} pods of {job} run",
        lambda: [pod["status"]["phase"] for pod in space.of_job(job)] == ["Running"] * count,
    )


def test_properties_are_the_same_after_a_restart(cluster: Cluster, space: Space) -> None:
    space.node("n1")
    space.node("n2")
    space.pod("p1", app="app", cpu="300m", memory="128Mi")
    space.pod("p2", app="app", cpu="200m")
    space.running("p1", "p2")
    pods = {pod["metadata"]["uid"]: pod for pod in space.all()}
    before = allocations(space, "app")
    used = (cluster.queue(space.queue) or {})["allocatedResource"]
    restart(cluster)
    space.until("both are allocations again", lambda: len(allocations(space, "app")) == 2)
    after = allocations(space, "app")
    for key in pods:
        # How the pod was judged is of interest only until it has a node.
        before[key]["allocationTags"].pop("remuda/predicateClass", "")
        for field in ("nodeId", "resource", "priority", "applicationId", "allocationTags"):
            assert after[key][field] == before[key][field], field
    assert (cluster.queue(space.queue) or {})["allocatedResource"] == used
    # Nothing has touched the pods.
    for pod in space.all():
        assert pod["status"] == pods[pod["metadata"]["uid"]]["status"]
    # What is free is known, too.
    space.pod("p3", cpu="3900m")
    space.waiting("p3", "cpu")


def test_jobs_that_sleep_go_on_over_a_restart(cluster: Cluster, space: Space) -> None:
    space.node("n1", cpu="500m")
    # Five of the eight pods find room before the restart.
    space.job("first", 4)
    space.job("second", 4)
    space.until("all pods are there", lambda: len(space.all()) == 8)
    space.until(
        "five pods run",
        lambda: [pod["status"]["phase"] for pod in space.all()].count("Running") == 5,
    )
    before = {pod["metadata"]["uid"]: pod["spec"].get("nodeName") for pod in space.all()}
    restart(cluster)
    assert {pod["metadata"]["uid"]: pod["spec"].get("nodeName") for pod in space.all()} == before
    space.node("n2")
    for job in ("first", "second"):
        all_run(space, job, 4)
        assert len(allocations(space, job)) == 4
    assert {pod["metadata"]["uid"] for pod in space.all()} == set(before)
    space.finish(*names(space.all()))
    for job in ("first", "second"):
        path = f"/apis/batch/v1/namespaces/{space.name}/jobs/{job}"
        space.until(
            f"job {job} is complete",
            lambda path=path: space.api.get(path)["status"].get("succeeded") == 4,
        )


def test_two_gangs_go_on_over_a_restart(cluster: Cluster, space: Space) -> None:
    space.node("n1")
    for app in ("one", "two"):
        space.pod(f"{app}-driver", app=app, annotations=gang(task_group("workers", 3)))
        space.pod(f"{app}-1", app=app, annotations=gang(group="workers"))
        space.running(f"{app}-driver", f"{app}-1")
    space.until("two placeholders of each are left", lambda: len(space.placeholders()) == 4)
    before = {pod["metadata"]["uid"] for pod in space.all()}
    restart(cluster)
    for app in ("one", "two"):
        space.until(f"four allocations of {app}", lambda app=app: len(allocations(space, app)) == 4)
    assert {pod["metadata"]["uid"] for pod in space.all()} == before
    for app in ("one", "two"):
        members = [f"{app}-2", f"{app}-3"]
        for name in members:
            space.pod(name, app=app, annotations=gang(group="workers"))
        space.running(*members)
    space.until("no placeholder is left", lambda: not space.placeholders())


def test_placeholders_that_wait_are_not_made_again(cluster: Cluster, space: Space) -> None:
    space.node("n1", cpu="250m")
    space.pod("driver", app="gang", annotations=gang(task_group("workers", 4)))
    space.until("all placeholders are there", lambda: len(space.placeholders()) == 4)
    space.until(
        "two have a node",
        lambda: sum("nodeName" in pod["spec"] for pod in space.placeholders()) == 2,
    )
    before = {pod["metadata"]["uid"] for pod in space.all()}
    restart(cluster)
    space.until("all ask again", lambda: len(allocations(space, "gang")) == 2)
    assert {pod["metadata"]["uid"] for pod in space.all()} == before
    assert space.node_of("driver") == ""
    space.node("n2")
    space.running("driver")
    assert {pod["metadata"]["uid"] for pod in space.all()} == before


def test_a_queue_that_went_meanwhile_leads_to_the_recovery_queue(
    cluster: Cluster, space: Space
) -> None:
    managed = QUEUES.replace("create: true", "create: false")
    cluster.configure(f"{managed}        queues: [{{name: {space.name}}}]\n")
    space.node("n1")
    space.pod("p1", app="app")
    space.running("p1")
    cluster.shim.kill()
    try:
        other = managed + "        queues: [{name: other}]\n"
        cluster.configure(other, wait=False)
        cluster.shim.start()
        assert "name: other" in cluster.configuration()
        found = cluster.applications(RECOVERY)
        cluster.until("the application is known", lambda: cluster.applications(RECOVERY))
        found = cluster.applications(RECOVERY)
        assert [each["applicationID"] for each in found] == [space.identity("app")]
        assert space.phase("p1") == "Running"
        # Others are still refused.
        space.pod("p2", app="late")
        space.reach("Failed", ["p2"])
        space.told("p2", "ApplicationRejected", space.queue)
    finally:
        cluster.configure(QUEUES)
