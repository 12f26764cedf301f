"""What teams get of a cluster: guarantees, limits, quotas, priorities, and who has to leave."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.kubernetes.end_to_end.cluster import QUEUES, Cluster
from tests.kubernetes.end_to_end.objects import Object
from tests.kubernetes.end_to_end.spaces import Space

CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
FAST = {"preemption.delay": "10ms"}
SOON = {"quota.preemption.delay": "10ms"}
ALLOW = "yunikorn.apache.org/allow-preemption"
USER = "yunikorn.apache.org/user.info"


@pytest.fixture(autouse=True)
def _usual_queues(cluster: Cluster) -> Iterator[None]:
    """Take the queues of a test away after it."""
    yield
    cluster.configure(QUEUES)


def queue(name: str, guaranteed: int = 0, maximum: int = 0, **more: Any) -> dict[str, Any]:
    amounts: dict[str, Any] = {}
    if guaranteed:
        amounts["guaranteed"] = {"vcore": guaranteed}
    if maximum:
        amounts["max"] = {"vcore": maximum}
    properties = FAST | more.pop("properties", {})
    return {"name": name, "resources": amounts, "properties": properties, **more}


def configure(space: Space, *queues: dict[str, Any], **partition: Any) -> None:
    """Give the queue of a test other queues below it."""
    team = {"name": space.name, "parent": True, "queues": list(queues)}
    root = {"name": "root", "submitacl": "*", "queues": [team]}
    rules = [{"name": "provided", "create": True}]
    document = {"name": "default", "placementrules": rules, "queues": [root], **partition}
    space.cluster.configure(yaml.safe_dump({"partitions": [document]}))


def pod(space: Space, name: str, of: str, **more: Any) -> Object:
    """Make a pod of one core in a queue below that of the test."""
    labels = {"queue": f"{space.queue}.{of}", **more.pop("labels", {})}
    return space.pod(name, app=more.pop("app", of), cpu="1", labels=labels, **more)


def priority_class(space: Space, name: str, value: int, **metadata: Any) -> str:
    """Make a priority class; return its name."""
    full = f"{space.name}-{name}"
    space.create(CLASSES, {"metadata": {"name": full, **metadata}, "value": value})
    return full


def bound(space: Space) -> list[str]:
    return sorted(each["metadata"]["name"] for each in space.all() if each["spec"].get("nodeName"))


# ------------------------------------------------------------------ who has to leave


def test_a_queue_below_its_guarantee_gets_room_and_both_pods_are_told(space: Space) -> None:
    configure(space, queue("low"), queue("high", 1))
    space.node("n1", cpu="2")
    for name in ("low-1", "low-2"):
        pod(space, name, "low")
    space.running("low-1", "low-2")
    pod(space, "high", "high")
    space.running("high")
    (gone,) = {"low-1", "low-2"} - set(bound(space))
    told = space.told(gone, "Preempted")
    assert f"{space.name}/high" in told
    assert "n1" in told
    assert f"{space.name}/{gone}" in space.told("high", "Preempting")


def test_a_pod_whose_class_opts_out_stays(space: Space) -> None:
    configure(space, queue("low"), queue("high", 1))
    stays = priority_class(space, "stays", 0, annotations={ALLOW: "false"})
    space.node("n1", cpu="2")
    pod(space, "low", "low")
    space.running("low")
    pod(space, "kept", "low", spec={"priorityClassName": stays})
    space.running("kept")
    pod(space, "high", "high")
    space.running("high")
    assert bound(space) == ["high", "kept"]


def make_budget(space: Space) -> None:
    """Make a budget that lets no pod with role=guarded go, and wait until it is known."""
    version = space.api.get("/apis/policy")["preferredVersion"]["groupVersion"]
    path = f"/apis/{version}/namespaces/{space.name}/poddisruptionbudgets"
    selector = {"matchLabels": {"role": "guarded"}}
    spec = {"minAvailable": 1, "selector": selector}
    space.create(path, {"metadata": {"name": "b"}, "spec": spec})

    def counted() -> bool:
        found = space.api.get(f"{path}/b").get("status") or {}
        return bool(found.get("currentHealthy")) and found["disruptionsAllowed"] == 0

    space.until("the budget counts its pod", counted)
    known = "PodDisruptionBudget"
    space.until("the budget is known", lambda: space.cluster.shim.state()["objects"][known])


def test_a_budget_is_respected_when_another_choice_exists(space: Space) -> None:
    configure(space, queue("low"), queue("high", 1))
    space.node("n1", cpu="1")
    space.node("n2", cpu="1")
    pod(space, "open", "low")
    space.running("open")
    # The younger one would be the first choice, but for the budget.
    pod(space, "guarded", "low", labels={"role": "guarded"})
    space.running("guarded")
    make_budget(space)
    pod(space, "high", "high")
    space.running("high")
    assert bound(space) == ["guarded", "high"]


def test_pods_above_a_lowered_maximum_have_to_leave(space: Space) -> None:
    on = {"preemption": {"quotapreemptionenabled": True}}
    configure(space, queue("a", maximum=3, properties=SOON), **on)
    space.node("n1", cpu="4")
    names = ["a-1", "a-2", "a-3"]
    for name in names:
        pod(space, name, "a")
    space.running(*names)
    configure(space, queue("a", maximum=1, properties=SOON), **on)
    space.until("one is left", lambda: len(bound(space)) == 1)
    gone = set(names) - set(bound(space))
    for name in gone:
        assert "quota" in space.told(name, "Preempted")


# ------------------------------------------------------------------ how much


def test_a_limit_of_a_user_counts_and_its_change_counts(space: Space) -> None:
    def limited(cores: int) -> dict[str, Any]:
        limit = {"limit": "ann", "users": ["ann@example.com"], "maxresources": {"vcore": cores}}
        return queue("a", limits=[limit])

    configure(space, limited(1))
    space.node("n1", cpu="4")
    notes = {USER: json.dumps({"user": "ann@example.com", "groups": ["dev"]})}
    for name in ("p1", "p2", "p3"):
        pod(space, name, "a", annotations=notes)
    pod(space, "other", "a", app="other", annotations={USER: '{"user": "bob"}'})
    space.running("p1", "other")
    space.waiting("p2")
    configure(space, limited(2))
    space.until("one more runs", lambda: len(bound(space)) == 3)
    assert "other" in bound(space)


def test_the_quota_of_a_namespace_limits_it(space: Space) -> None:
    path = f"/api/v1/namespaces/{space.name}"
    quota = {"yunikorn.apache.org/namespace.quota": '{"cpu": "1"}'}
    space.api.merge(path, {"metadata": {"annotations": quota}})
    space.node("n1", cpu="4")
    for name in ("p1", "p2"):
        space.pod(name, app="app", cpu="1")
    space.until("one runs", lambda: len(bound(space)) == 1)
    (left,) = {"p1", "p2"} - set(bound(space))
    space.waiting(left)
    assert len(bound(space)) == 1


def test_a_broken_quota_of_a_namespace_is_told(space: Space) -> None:
    path = f"/api/v1/namespaces/{space.name}"
    quota = {"yunikorn.apache.org/namespace.quota": "{broken"}
    space.api.merge(path, {"metadata": {"annotations": quota}})
    space.node("n1", cpu="4")
    space.pod("p1", app="app")
    space.running("p1")
    told = space.cluster.events_of
    space.until("an event on the namespace", lambda: told("Namespace", space.name))
    (reason, message) = told("Namespace", space.name)[0]
    assert reason == "InvalidMetadata"
    assert "namespace.quota" in message


def test_the_pod_of_higher_priority_comes_first(space: Space) -> None:
    urgent = priority_class(space, "urgent", 1000)
    space.node("n1", cpu="1")
    space.pod("blocker", app="blocker", cpu="1")
    space.running("blocker")
    space.pod("early", app="early", cpu="1")
    space.pod("urgent", app="urgent", cpu="1", spec={"priorityClassName": urgent})
    space.waiting("early")
    space.waiting("urgent")
    space.delete("blocker")
    space.running("urgent")
    assert bound(space) == ["urgent"]


def resize(space: Space, name: str, cpu: str) -> None:
    """Ask for another size of a running pod, as `kubectl patch --subresource resize` does."""
    container = {"name": "main", "resources": {"requests": {"cpu": cpu, "memory": "64Mi"}}}
    found = space.api.get(f"{space.pods}/{name}")
    found["spec"]["containers"][0] |= container
    space.api.replace(f"{space.pods}/{name}/resize", found)


def test_a_resized_pod_is_counted_with_its_new_size(space: Space) -> None:
    names = [each["name"] for each in space.api.get("/api/v1")["resources"]]
    if "pods/resize" not in names:
        pytest.skip("the server cannot resize pods, which begins with Kubernetes 1.32")

    def cores() -> int:
        application = space.application("p")
        return 0 if application is None else application["usedResource"].get("vcore", 0)

    space.node("n1", cpu="4")
    space.pod("p", app="p", cpu="1")
    space.running("p")
    resize(space, "p", "3")
    space.until("it is counted larger", lambda: cores() == 3000)
    space.pod("q", app="q", cpu="2")
    space.waiting("q")
    resize(space, "p", "2")
    space.running("q")
    assert cores() == 2000
