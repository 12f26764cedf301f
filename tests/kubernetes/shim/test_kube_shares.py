"""Who gets how much: limits of users and groups, priorities, quotas of namespaces, fairness."""

from __future__ import annotations

import json
from typing import Any

import pytest

from remuda_kubernetes.objects.cluster import PriorityClass
from remuda_kubernetes.objects.kinds import POD, PRIORITY_CLASS
from remuda_kubernetes.objects.values import convert
from tests.kubernetes.shim.queue_worlds import Queue, document, queue, running
from tests.kubernetes.shim.world import World

USER = "yunikorn.apache.org/user.info"
QUOTA = "yunikorn.apache.org/namespace.quota"
OLD_CPU = "yunikorn.apache.org/namespace.max.cpu"
OLD_MEMORY = "yunikorn.apache.org/namespace.max.memory"


def of(user: str, *groups: str) -> dict[str, Any]:
    """What says on a pod whose it is."""
    return {"annotations": {USER: json.dumps({"user": user, "groups": list(groups)})}}


def limit(*, users: str = "", groups: str = "", cores: int = 0, applications: int = 0) -> Any:
    """A limit; users and groups with commas between them."""
    found: dict[str, Any] = {"limit": f"of {users}{groups}"}
    if users:
        found["users"] = users.split(",")
    if groups:
        found["groups"] = groups.split(",")
    if cores:
        found["maxresources"] = {"vcore": cores}
    if applications:
        found["maxapplications"] = applications
    return found


def limited(*limits: Any, **more: Any) -> Queue:
    return queue("a", limits=list(limits), **more)


def ask(world: World, user: str, *groups: str, count: int = 3, same: bool = True) -> int:
    """Create pods of a user, of one application or of one each; return how many get a node."""
    names = [f"{user.strip('$').replace('@', '-').replace(':', '-')}-{i}" for i in range(count)]
    for name in names:
        world.pod(name, app=user if same else name, **of(user, *groups))
    world.run()
    return sum(1 for name in names if world.where(name))


@pytest.mark.parametrize(
    "limits, user, groups, expected",
    [
        pytest.param([limit(users="ann", cores=2)], "ann", ["dev"], 2, id="user"),
        pytest.param([limit(users="ann", cores=2)], "bob", ["dev"], 3, id="another user"),
        pytest.param([limit(groups="dev", cores=2)], "ann", ["dev"], 2, id="group"),
        pytest.param([limit(groups="dev", cores=2)], "ann", ["ops"], 3, id="another group"),
        pytest.param([limit(users="*", cores=2)], "ann", ["dev"], 2, id="each user"),
        pytest.param(
            [limit(groups="dev", cores=3), limit(groups="*", cores=1)],
            "ann",
            ["ops"],
            1,
            id="all other groups",
        ),
        pytest.param(
            [limit(users="ann", cores=3), limit(users="*", cores=1)],
            "ann",
            ["dev"],
            3,
            id="a named user before each user",
        ),
        pytest.param(
            [limit(groups="dev", cores=3), limit(groups="*", cores=1)],
            "ann",
            ["dev"],
            3,
            id="a named group before all others",
        ),
        pytest.param(
            [limit(users="ann", cores=1), limit(groups="dev", cores=2)],
            "ann",
            ["dev"],
            1,
            id="user below group",
        ),
        pytest.param(
            [limit(users="ann", cores=2), limit(groups="dev", cores=1)],
            "ann",
            ["dev"],
            1,
            id="group below user",
        ),
    ],
)
def test_resources_of_users_and_groups_are_limited(
    limits: list[Any], user: str, groups: list[str], expected: int
) -> None:
    with running(limited(*limits), nodes={"n1": 8}) as world:
        assert ask(world, user, *groups) == expected


@pytest.mark.parametrize(
    "limits, user, groups, expected",
    [
        pytest.param([limit(users="ann", applications=2)], "ann", ["dev"], 2, id="user"),
        pytest.param([limit(groups="dev", applications=2)], "ann", ["dev"], 2, id="group"),
        pytest.param([limit(users="*", applications=2)], "ann", ["dev"], 2, id="each user"),
        pytest.param(
            [limit(groups="dev", applications=3), limit(groups="*", applications=1)],
            "ann",
            ["ops"],
            1,
            id="all other groups",
        ),
        pytest.param(
            [limit(users="ann", applications=1), limit(groups="dev", applications=2)],
            "ann",
            ["dev"],
            1,
            id="user below group",
        ),
        pytest.param(
            [limit(users="ann", applications=2), limit(groups="dev", applications=1)],
            "ann",
            ["dev"],
            1,
            id="group below user",
        ),
    ],
)
def test_applications_of_users_and_groups_are_limited(
    limits: list[Any], user: str, groups: list[str], expected: int
) -> None:
    with running(limited(*limits), nodes={"n1": 8}) as world:
        assert ask(world, user, *groups, same=False) == expected


def test_each_user_of_a_wildcard_has_the_whole_amount_and_a_group_shares_it() -> None:
    with running(limited(limit(users="*", cores=2)), nodes={"n1": 8}) as world:
        assert ask(world, "ann", "dev") == 2
        assert ask(world, "bob", "dev") == 2
    with running(limited(limit(groups="dev", cores=3)), nodes={"n1": 8}) as world:
        assert ask(world, "ann", "dev") == 3
        assert ask(world, "bob", "dev") == 0


@pytest.mark.parametrize(
    "outer, inner",
    [
        (limit(groups="dev", cores=1), limit(users="ann", cores=2)),
        (limit(users="ann", cores=2), limit(groups="dev", cores=1)),
    ],
)
def test_the_smallest_limit_on_the_way_up_counts(outer: Any, inner: Any) -> None:
    top = queue("top", parent=True, queues=[limited(inner)], limits=[outer])
    with running(top, nodes={"n1": 8}) as world:
        for number in range(3):
            world.pod(f"p{number}", queue="root.top.a", **of("ann", "dev"))
        world.run()
        assert sum(1 for number in range(3) if world.where(f"p{number}")) == 1


def test_the_fewest_applications_on_the_way_up_count() -> None:
    leaf = limited(limit(users="ann", applications=2))
    top = queue("top", parent=True, queues=[leaf], limits=[limit(groups="dev", applications=1)])
    with running(top, nodes={"n1": 8}) as world:
        for number in range(3):
            world.pod(f"p{number}", app=f"{number}", queue="root.top.a", **of("ann", "dev"))
        world.run()
        assert sum(1 for number in range(3) if world.where(f"p{number}")) == 1


@pytest.mark.parametrize("user", ["ann@example.com", "system:serviceaccount:team:robot", "ann$"])
def test_names_with_special_characters_are_limited(user: str) -> None:
    with running(limited(limit(users=user, cores=1)), nodes={"n1": 8}) as world:
        assert ask(world, user, "dev") == 1


def test_a_limit_that_changes_counts_for_what_comes_next() -> None:
    with running(limited(limit(users="ann", cores=1)), nodes={"n1": 8}) as world:
        assert ask(world, "ann", "dev") == 1
        world.config({"queues.yaml": document(limited(limit(users="ann", cores=2)))})
        world.run()
        placed = [pod.name for pod in world.pods() if pod.spec.node_name]
        assert len(placed) == 2
        world.config({"queues.yaml": document(limited(limit(users="ann", cores=1)))})
        world.run()
        # What runs stays; its place is free only when both are gone.
        world.drop(POD, placed[0], "default")
        world.run()
        assert sum(1 for pod in world.pods() if pod.spec.node_name) == 1


# ------------------------------------------------------------------ priorities


def race(world: World, **pods: dict[str, Any]) -> str:
    """Let pods wait for the one node with room that comes; return which gets it."""
    for name, more in pods.items():
        world.pod(name, app=name, **more)
    world.run()
    world.node("n1", cpu="1")
    world.run()
    (winner,) = [name for name in pods if world.where(name)]
    return winner


def test_the_pod_of_higher_priority_comes_first_in_a_queue() -> None:
    with running(queue("a"), nodes={}) as world:
        urgent = {"spec": {"priority": 100}}
        assert race(world, early={}, urgent=urgent, late={}) == "urgent"


def test_the_pod_of_higher_priority_comes_first_in_a_queue_made_for_it() -> None:
    world = World()
    try:
        world.start()
        urgent = {"spec": {"priority": 100}, "queue": "root.new.b"}
        assert race(world, early={"queue": "root.new.b"}, urgent=urgent) == "urgent"
    finally:
        world.close()


def test_the_offset_of_a_queue_adds_to_the_priority_of_its_pods() -> None:
    raised = queue("raised", properties={"priority.offset": "200"})
    with running(queue("a"), raised, nodes={}) as world:
        urgent = {"spec": {"priority": 100}}
        assert race(world, urgent=urgent, usual={"queue": "root.raised"}) == "usual"


def test_a_gang_of_higher_priority_comes_first() -> None:
    def gang(priority: int) -> dict[str, Any]:
        group = {"name": "g", "minMember": 1, "minResource": {"cpu": "1"}}
        notes = {"yunikorn.apache.org/task-groups": json.dumps([group])}
        notes["yunikorn.apache.org/task-group-name"] = "g"
        spec = {"priority": priority, "priorityClassName": f"class-{priority}"}
        return {"annotations": notes, "spec": spec}

    with running(queue("a", properties={"application.sort.policy": "fifo"}), nodes={}) as world:
        for name, priority in (("early", 1), ("urgent", 100)):
            meta = {"name": f"class-{priority}", "uid": name}
            found = convert(PriorityClass, {"metadata": meta, "value": priority})
            world.put(PRIORITY_CLASS, found)
            world.pod(name, app=name, **gang(priority))
        world.run()
        world.node("n1", cpu="1")
        world.run()
        # Its placeholder got the room and left it to the member.
        assert world.where("urgent") == "n1"
        assert world.where("early") == ""


# ------------------------------------------------------------------ quotas of namespaces


@pytest.mark.parametrize(
    "annotations, expected, told",
    [
        pytest.param({OLD_CPU: "2", OLD_MEMORY: "1Gi"}, 2, False, id="old"),
        pytest.param({QUOTA: '{"cpu": "1"}'}, 1, False, id="new"),
        pytest.param({QUOTA: '{"cpu": "1"}', OLD_CPU: "2"}, 1, True, id="both"),
        pytest.param({}, 3, False, id="none"),
        pytest.param({QUOTA: ""}, 3, False, id="empty"),
        pytest.param({QUOTA: "{broken"}, 3, True, id="wrong"),
    ],
)
def test_the_annotations_of_a_namespace_limit_its_queue(
    annotations: dict[str, str], expected: int, *, told: bool
) -> None:
    world = World()
    try:
        world.node("n1", cpu="8")
        world.namespace("team", annotations)
        world.start()
        for number in range(3):
            world.pod(f"p{number}", namespace="team", queue="root.team")
        world.run()
        assert sum(1 for pod in world.pods() if pod.spec.node_name) == expected
        assert bool(world.told("InvalidMetadata")) is told
    finally:
        world.close()


# ------------------------------------------------------------------ fairness


def test_fair_applications_get_as_much_as_each_other() -> None:
    fair = queue("a", properties={"application.sort.policy": "fair"})
    with running(fair, nodes={}) as world:
        for app in ("one", "two", "three"):
            for number in range(4):
                world.pod(f"{app}-{number}", app=app)
        world.run()
        world.node("n1", cpu="6")
        world.run()
        counts: dict[str, int] = {}
        for pod in world.pods():
            if pod.spec.node_name:
                app = pod.labels["applicationId"]
                counts[app] = counts.get(app, 0) + 1
        assert counts == {"one": 2, "two": 2, "three": 2}
