"""What one test has of the cluster: a namespace, a queue, its nodes and other objects."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from tests.kubernetes.end_to_end.calls import Api, Refused
from tests.kubernetes.end_to_end.manifests import node_manifest, pod_manifest
from tests.kubernetes.end_to_end.objects import NODES, Object

if TYPE_CHECKING:
    from tests.kubernetes.end_to_end.cluster import Cluster

# Collections of a namespace whose objects make or keep others; they go first.
_OWNERS: Final = (
    (
        "/apis/batch/v1",
        "jobs",
    ),
    (
        "/apis/apps/v1",
        "replicasets",
    ),
)


class Space:
    """The namespace ``name`` and the queue root.``name``."""

    def __init__(self, cluster: Cluster, name: str) -> None:
        self.cluster = cluster
        self.name = name
        self.queue = f"root.{name}"
        self.pods = f"/api/v1/namespaces/{name}/pods"
        self._made: list[str] = []

    def identity(self, app: str) -> str:
        """Return the ID of an application of this test; others may have one of the same name."""
        return f"{app}.{self.name}"

    @property
    def api(self) -> Api:
        """The administrator's client."""
        return self.cluster.api

    # ------------------------------------------------------------------ making

    def create(self, collection: str, body: Object) -> Object:
        """Create an object; it is deleted after the test."""
        made: Object = self.api.create(collection, body)
        self._made.append(f"{collection}/{made['metadata']['name']}")
        return made

    def node(self, name: str, **what: Any) -> Object:
        """Make a node, see ``node_manifest``, and wait until the scheduler has it."""
        made = self.create(NODES, node_manifest(name, **what))
        self.until(f"node {name} is known", lambda: name in self.cluster.shim.state()["nodes"])
        self.until(f"node {name} has no taint of its start", lambda: not _starting(self, name))
        return made

    def pod(self, name: str, **what: Any) -> Object:
        """Make a pod of this queue, see ``pod_manifest``."""
        app = self.identity(what.pop("app", name))
        body = pod_manifest(name, queue=self.queue, app=app, **what)
        made: Object = self.api.create(self.pods, body)
        return made

    def job(self, name: str, count: int = 1, **what: Any) -> Object:
        """Make a job of so many pods at a time and in total; ``what``: see ``pod_manifest``."""
        template = pod_manifest(
            name, queue=self.queue, app=self.identity(what.pop("app", name)), **what
        )
        del template["metadata"]["name"]
        template["spec"]["restartPolicy"] = "Never"
        spec = {"parallelism": count, "completions": count, "template": template}
        return self.create(self._jobs, {"metadata": {"name": name}, "spec": spec})

    @property
    def _jobs(self) -> str:
        return f"/apis/batch/v1/namespaces/{self.name}/jobs"

    # ------------------------------------------------------------------ looking

    def get(self, name: str) -> Object | None:
        """Return a pod, None if there is none."""
        with suppress(Refused):
            found: Object = self.api.get(f"{self.pods}/{name}")
            return found
        return None

    def all(self, labels: str = "") -> list[Object]:
        """Return all pods, or those that a selector finds."""
        found: list[Object] = self.api.get(self.pods, labelSelector=labels)["items"]
        return found

    def of_job(self, name: str) -> list[Object]:
        """Return the pods of a job."""
        return [
            pod
            for pod in self.all()
            if any(each["name"] == name for each in pod["metadata"].get("ownerReferences") or ())
            and not pod["metadata"]["name"].startswith("tg-")
        ]

    def placeholders(self) -> list[Object]:
        """Return the placeholder pods."""
        return [pod for pod in self.all() if pod["metadata"]["name"].startswith("tg-")]

    def node_of(self, name: str) -> str:
        """Return the node of a pod, "" if it has none."""
        pod = self.get(name)
        return "" if pod is None else str(pod["spec"].get("nodeName", ""))

    def phase(self, name: str) -> str:
        """Return the phase of a pod, "" if there is none."""
        pod = self.get(name)
        return "" if pod is None else str(pod["status"]["phase"])

    def says(self, name: str) -> str:
        """Return why a pod waits, as its condition says; "" if it says nothing."""
        pod = self.get(name) or {}
        for each in pod.get("status", {}).get("conditions") or ():
            if each["type"] == "PodScheduled" and each["status"] == "False":
                return f"{each.get('reason')}: {each.get('message')}"
        return ""

    def events(self, name: str, kind: str = "Pod") -> list[tuple[str, str]]:
        """Return (reason, message) of each event about a pod, or another object."""
        field = f"involvedObject.kind={kind},involvedObject.name={name}"
        path = f"/api/v1/namespaces/{self.name}/events"
        events = self.api.get(path, fieldSelector=field)["items"]
        return [(each["reason"], each["message"]) for each in events]

    def application(self, app: str) -> Object | None:
        """Return an application of this queue as the scheduler shows it."""
        found = self.cluster.applications(self.queue)
        identity = self.identity(app)
        return next((each for each in found if each["applicationID"] == identity), None)

    # ------------------------------------------------------------------ waiting

    def until(self, what: str, done: Any) -> None:
        """Wait until something is so; a failure shows the pods and events of this namespace."""
        self.cluster.until(what, done, self.name)

    def running(self, *names: str) -> None:
        """Wait until pods run."""
        self.reach("Running", names)

    def reach(self, phase: str, names: Iterable[str]) -> None:
        """Wait until pods have a phase."""
        wanted = set(names)

        def there() -> bool:
            pods = self.all()
            return wanted <= {
                pod["metadata"]["name"] for pod in pods if pod["status"]["phase"] == phase
            }

        self.until(f"{phase}: {', '.join(sorted(wanted))}", there)

    def waiting(self, name: str, text: str = "", reason: str = "") -> str:
        """Wait until the condition of a pod tells why it waits, with a text; return all of it.

        ``reason``: of the condition; either of the two without.
        """
        reasons = (f"{reason}: ",) if reason else ("Unschedulable: ", "SchedulingSkipped: ")
        self.until(
            f"pod {name} waits and says {text!r}",
            lambda: self.says(name).startswith(reasons) and text in self.says(name),
        )
        assert self.node_of(name) == ""
        return self.says(name)

    def told(self, name: str, reason: str, text: str = "", kind: str = "Pod") -> str:
        """Wait for an event with a reason and a text; return its message."""

        def found() -> list[str]:
            return [m for r, m in self.events(name, kind) if r == reason and text in m]

        self.until(f"event {reason} about {name} with {text!r}", found)
        return found()[0]

    def gone(self, *names: str) -> None:
        """Wait until there are no such pods."""
        wanted = set(names)
        self.until(
            f"gone: {', '.join(sorted(wanted))}",
            lambda: wanted.isdisjoint(pod["metadata"]["name"] for pod in self.all()),
        )

    # ------------------------------------------------------------------ ending

    def delete(self, *names: str, grace: int = 0) -> None:
        """Delete pods."""
        for name in names:
            self.api.delete(f"{self.pods}/{name}", gracePeriodSeconds=grace)

    def finish(self, *names: str, code: int = 0) -> None:
        """End the containers of running pods."""
        for name in names:
            self.cluster.hollow.end(self.name, name, code)

    def clear(self) -> set[str]:
        """Delete everything of this test; return the names of its nodes."""
        for base, plural in _OWNERS:
            for each in self.api.get(f"{base}/namespaces/{self.name}/{plural}")["items"]:
                _remove(self.api, f"{base}/namespaces/{self.name}/{plural}", each)
        for path in reversed(self._made):
            with suppress(Refused):
                self.api.delete(path, gracePeriodSeconds=0)

        def pods_gone() -> bool:
            pods = self.all()
            for pod in pods:
                _remove(self.api, self.pods, pod)
            return not pods

        self.until("all pods of the test are gone", pods_gone)
        with suppress(Refused):
            self.api.delete(f"/api/v1/namespaces/{self.name}")
        return {path.removeprefix(f"{NODES}/") for path in self._made if path.startswith(NODES)}


def _remove(api: Api, collection: str, found: Object) -> None:
    with suppress(Refused):
        api.delete(f"{collection}/{found['metadata']['name']}", gracePeriodSeconds=0)


def _starting(space: Space, name: str) -> bool:
    """Whether a node still has the taint that a server may give to new nodes."""
    taints = space.api.get(f"{NODES}/{name}")["spec"].get("taints") or ()
    return any(each["key"] == "node.kubernetes.io/not-ready" for each in taints)
