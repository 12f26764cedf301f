"""Gangs: room is reserved for all members before the first of them starts.

Source: the documentation of Apache YuniKorn, "Gang scheduling".
"""

from __future__ import annotations

from collections.abc import Sequence

from tests.kubernetes.end_to_end.cluster import QUEUES, Cluster
from tests.kubernetes.end_to_end.manifests import HOST, gang, task_group
from tests.kubernetes.end_to_end.objects import Object
from tests.kubernetes.end_to_end.spaces import Space

MEBIBYTE = 2**20


def originator(space: Space, *groups: Object, name: str = "driver", app: str = "gang") -> Object:
    return space.pod(name, app=app, annotations=gang(*groups))


def members(space: Space, group: str, names: Sequence[str], app: str = "gang") -> None:
    for name in names:
        space.pod(name, app=app, annotations=gang(group=group))


def bound_placeholders(space: Space, group: str = "") -> list[Object]:
    return [
        pod
        for pod in space.placeholders()
        if pod["spec"].get("nodeName")
        and group in {"", pod["metadata"]["annotations"]["yunikorn.apache.org/task-group-name"]}
    ]


def reserved(space: Space, count: int) -> None:
    space.until(
        f"{count} placeholders have a node", lambda: len(bound_placeholders(space)) == count
    )


def no_placeholders(space: Space) -> None:
    space.until("no placeholder is left", lambda: not space.placeholders())


def placeholder_data(space: Space, app: str = "gang") -> dict[str, tuple[int, int]]:
    """Return group -> (members, replaced ones) as the scheduler shows it."""
    found = space.application(app) or {}
    return {
        each["taskGroupName"]: (each["count"], each.get("replaced", 0))
        for each in found.get("placeholderData") or ()
    }


def test_a_gang_is_defined_by_an_annotation(space: Space) -> None:
    space.node("n1")
    made = originator(space, task_group("workers", 2))
    space.running("driver")
    assert space.told("driver", "GangScheduling", "2 placeholder")
    reserved(space, 2)
    for pod in bound_placeholders(space):
        # What the group asks for, as a limit too; it goes with the originator.
        (container,) = pod["spec"]["containers"]
        asked = {"cpu": "100m", "memory": "64Mi"}
        assert container["resources"] == {"requests": asked, "limits": asked}
        owners = [each["uid"] for each in pod["metadata"]["ownerReferences"]]
        assert owners == [made["metadata"]["uid"]]
    members(space, "workers", ["w1", "w2"])
    space.running("w1", "w2")
    no_placeholders(space)
    space.until("both were replaced", lambda: placeholder_data(space) == {"workers": (2, 2)})


def test_groups_get_the_nodes_that_they_want(space: Space) -> None:
    space.node("n1")
    space.node("n2")
    originator(
        space,
        task_group("left", 2, nodeSelector={HOST: "n1"}),
        task_group("right", 3, nodeSelector={HOST: "n2"}),
    )
    reserved(space, 5)
    for group, node, count in (("left", "n1", 2), ("right", "n2", 3)):
        nodes = [pod["spec"]["nodeName"] for pod in bound_placeholders(space, group)]
        assert nodes == [node] * count
    for group, node, names in (("left", "n1", ["l1", "l2"]), ("right", "n2", ["r1", "r2", "r3"])):
        for name in names:
            space.pod(
                name,
                app="gang",
                annotations=gang(group=group),
                spec={"nodeSelector": {HOST: node}},
            )
    space.running("driver", "l1", "l2", "r1", "r2", "r3")
    no_placeholders(space)
    assert {space.node_of(name) for name in ("r1", "r2", "r3")} == {"n2"}


def test_more_members_than_the_minimum(space: Space) -> None:
    space.node("n1")
    originator(space, task_group("workers", 2))
    names = [f"w{number}" for number in range(5)]
    members(space, "workers", names)
    space.running("driver", *names)
    no_placeholders(space)


def test_a_gang_without_room_starts_in_the_default_style(space: Space) -> None:
    space.node("n1", cpu="1")
    notes = gang(task_group("workers", 5, cpu="300m"), timeout=2)
    space.pod("driver", app="gang", cpu="300m", annotations=notes)
    members(space, "workers", ["w1"])
    # Room for three; the fourth and fifth never come, and the style is Soft unless one is named.
    space.running("driver", "w1")
    no_placeholders(space)
    assert "Soft" in space.told("driver", "GangScheduling", "did not all get a node in time")


def test_a_gang_without_room_fails_in_the_hard_style(space: Space) -> None:
    space.node("n1", cpu="1")
    notes = gang(task_group("workers", 5, cpu="300m"), style="Hard", timeout=2)
    space.pod("driver", app="gang", annotations=notes)
    space.reach("Failed", ["driver"])
    no_placeholders(space)


def test_gangs_come_in_the_order_of_their_queue(cluster: Cluster, space: Space) -> None:
    space.node("n1")
    queue = f"""
        queues:
          - name: {space.name}
            properties: {{application.sort.policy: fifo}}
            resources: {{max: {{vcore: 400m}}}}
"""
    try:
        cluster.configure(QUEUES.rstrip() + queue)
        for app in ("one", "two", "three"):
            originator(space, task_group("workers", 3), name=app, app=app)
            # The scheduler knows each before the next comes.
            space.until(f"{app} is known", lambda app=app: space.application(app))
        space.running("one")
        reserved(space, 3)
        members(space, "workers", ["w1", "w2", "w3"], app="one")
        space.running("w1", "w2", "w3")
        assert space.node_of("two") == space.node_of("three") == ""
        space.finish("one", "w1", "w2", "w3")
        space.running("two")
        assert space.node_of("three") == ""
    finally:
        cluster.configure(QUEUES)


def test_placeholders_that_somebody_deletes(space: Space) -> None:
    space.node("n1")
    originator(space, task_group("workers", 3))
    space.running("driver")
    reserved(space, 3)
    space.delete(*[pod["metadata"]["name"] for pod in space.placeholders()])
    no_placeholders(space)
    members(space, "workers", ["w1", "w2", "w3"])
    space.running("w1", "w2", "w3")
    assert space.phase("driver") == "Running"


def test_placeholders_go_when_the_job_is_complete(space: Space) -> None:
    space.node("n1")
    # One group has no members at all, and its placeholders have 15 minutes.
    notes = gang(task_group("workers", 1), task_group("idle", 2), group="workers")
    space.job("worker", annotations=notes, seconds=0.1)
    space.until(
        "the job is complete",
        lambda: (
            space.api.get(f"/apis/batch/v1/namespaces/{space.name}/jobs/worker")["status"].get(
                "succeeded"
            )
            == 1
        ),
    )
    no_placeholders(space)


def test_placeholders_go_with_an_originator_that_nobody_owns(space: Space) -> None:
    space.node("n1", cpu="200m")
    originator(space, task_group("workers", 4))
    space.until("placeholders are there", lambda: len(space.placeholders()) == 4)
    space.delete("driver")
    space.gone("driver")
    no_placeholders(space)


def test_placeholders_go_with_an_originator_that_has_an_owner(space: Space) -> None:
    space.node("n1", cpu="200m")
    maps = f"/api/v1/namespaces/{space.name}/configmaps"
    owner = space.create(maps, {"metadata": {"name": "owner"}})
    reference = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": "owner",
        "uid": owner["metadata"]["uid"],
    }
    space.pod(
        "driver",
        app="gang",
        annotations=gang(task_group("workers", 4)),
        metadata={"ownerReferences": [reference]},
    )
    space.until("placeholders are there", lambda: len(space.placeholders()) == 4)
    space.delete("driver")
    space.gone("driver")
    no_placeholders(space)


def test_a_gang_with_huge_pages(space: Space) -> None:
    pages = {"hugepages-2Mi": "100Mi"}
    space.node("n1", amounts=pages)
    group = task_group("workers", 2, amounts={"hugepages-2Mi": "50Mi"})
    originator(space, group)
    space.running("driver")
    reserved(space, 2)
    for name in ("w1", "w2"):
        asked = {"cpu": "100m", "memory": "64Mi", "hugepages-2Mi": "50Mi"}
        container = {
            "name": "main",
            "image": "pause",
            "resources": {"requests": asked, "limits": asked},
        }
        space.pod(
            name,
            app="gang",
            annotations=gang(group="workers"),
            spec={"containers": [container]},
        )
    space.running("w1", "w2")
    no_placeholders(space)
    node = space.cluster.shim.ask("partition/default/node/n1")
    assert node["allocated"]["hugepages-2Mi"] == 100 * MEBIBYTE


def test_the_originator_stays_the_same_over_a_restart(cluster: Cluster, space: Space) -> None:
    space.node("n1")
    originator(space, task_group("workers", 3))
    members(space, "workers", ["w1"])
    space.running("driver", "w1")

    def marked() -> list[str]:
        found = space.application("gang") or {}
        uids = {pod["metadata"]["uid"]: pod["metadata"]["name"] for pod in space.all()}
        return [
            uids[each["allocationKey"]]
            for each in found.get("allocations") or ()
            if each.get("originator")
        ]

    assert marked() == ["driver"]
    cluster.shim.kill()
    cluster.shim.start()
    space.until("the driver is the originator", lambda: marked() == ["driver"])
    assert space.phase("driver") == "Running"
    # The gang's room is there as before, and not twice.
    assert len(space.placeholders()) == 2
