"""What an operator sees and does with kubectl; the texts are those that kubectl's users know."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from remuda_kubernetes.testing import binaries
from tests.kubernetes.end_to_end.budgets import budget
from tests.kubernetes.end_to_end.calls import Api, Refused
from tests.kubernetes.end_to_end.objects import (
    EVENTS,
    NODES,
    PODS,
    Object,
    binding,
    event,
    node,
    pod,
)
from tests.kubernetes.end_to_end.servers import Server
from tests.waiting import wait

pytestmark = pytest.mark.kubernetes

SECONDS = 120
FINDING = "0/12 nodes: 7 too small for gpu, 5 refused: taint dedicated"


class Kubectl:
    """One kubectl, with a home folder of its own so that it remembers nothing of other servers."""

    def __init__(self, program: Path, kubeconfig: Path, home: Path) -> None:
        self._command = [str(program), f"--kubeconfig={kubeconfig}", f"--cache-dir={home}"]
        self._environment = {**os.environ, "HOME": str(home), "TZ": "UTC"}

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start a command."""
        return subprocess.Popen(
            [*self._command, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self._environment,
        )

    def __call__(self, *arguments: str, code: int = 0) -> str:
        """Run a command to its end; return what it says, all white space as one space a line."""
        with self.start(*arguments) as running:
            told, errors = running.communicate(timeout=SECONDS)
        assert running.returncode == code, told + errors
        return "\n".join(re.sub(r"[ \t]+", " ", line).strip() for line in told.splitlines())


@pytest.fixture
def kubectl(server: Server, tmp_path: Path) -> Kubectl:
    try:
        program = binaries.find().kubectl
    except binaries.BinariesMissingError as reason:
        pytest.skip(f"no kubectl: {reason}")
    if program is None:
        pytest.skip(f"no kubectl in {binaries.find().folder}")
    return Kubectl(program, server.kubeconfig, tmp_path)


def bound_pod(api: Api, name: str, labels: dict[str, str] | None = None) -> Object:
    made: Object = api.create(PODS, pod(name, labels))
    api.create(f"{PODS}/{name}/binding", binding(name, "n1"))
    return made


def shows(pattern: str, told: str) -> bool:
    """Whether a whole number of lines is like this."""
    return re.search(pattern, told, re.MULTILINE) is not None


def test_get_shows_nodes_as_a_table(api: Api, kubectl: Kubectl) -> None:
    api.create(NODES, node("n1"))
    head, line = kubectl("get", "nodes").splitlines()
    assert head == "NAME STATUS ROLES AGE VERSION"
    assert line.startswith("n1 Unknown <none> ")


def test_get_shows_where_pods_are(api: Api, kubectl: Kubectl) -> None:
    api.create(NODES, node("n1"))
    bound_pod(api, "p1")
    api.create(PODS, pod("p2"))
    head, first, second = kubectl("get", "pods", "-o", "wide").splitlines()
    assert head == ("NAME READY STATUS RESTARTS AGE IP NODE NOMINATED NODE READINESS GATES")
    assert re.fullmatch(r"p1 0/1 Pending 0 \d+s <none> n1 <none> <none>", first)
    assert re.fullmatch(r"p2 0/1 Pending 0 \d+s <none> <none> <none> <none>", second)


def test_get_selects_by_label_and_field(api: Api, kubectl: Kubectl) -> None:
    bound_pod(api, "p1", {"app": "a"})
    api.create(PODS, pod("p2", {"app": "b"}))
    assert kubectl("get", "pods", "-l", "app in (b, c)", "-o", "name") == "pod/p2"
    asked = ("--field-selector", "spec.nodeName=n1", "-o", "name")
    assert kubectl("get", "pods", "--all-namespaces", *asked) == "pod/p1"
    column = ("-o", "jsonpath={.items[*].spec.schedulerName}")
    assert kubectl("get", "pods", *column) == "remuda remuda"


def test_get_of_nothing_and_of_a_missing_object(kubectl: Kubectl) -> None:
    assert kubectl("get", "pods") == ""
    assert kubectl("get", "pod", "p9", code=1) == ""


def test_describe_of_a_pod_shows_why_it_waits(api: Api, kubectl: Kubectl) -> None:
    api.create(EVENTS, event(api.create(PODS, pod("p1")), "FailedScheduling", FINDING))
    told = kubectl("describe", "pod", "p1")
    assert shows(r"^Name: p1\nNamespace: default\nPriority: 0\nNode: <none>$", told)
    assert shows(r"^Requests:\ncpu: 100m\nmemory: 64Mi$", told)
    assert shows(rf"^Warning FailedScheduling .* remuda {re.escape(FINDING)}$", told)


def test_describe_of_a_node_adds_up_its_pods(api: Api, kubectl: Kubectl) -> None:
    api.create(NODES, node("n1"))
    bound_pod(api, "p1")
    bound_pod(api, "p2")
    told = kubectl("describe", "node", "n1")
    assert "Unschedulable: false" in told
    assert "Non-terminated Pods: (2 in total)" in told
    assert shows(r"^default p1 100m \(2%\) 0 \(0%\) 64Mi \(0%\) 0 \(0%\)", told)
    assert shows(r"^cpu 200m \(5%\) 0 \(0%\)$", told)


def test_events_are_listed_with_their_object(api: Api, kubectl: Kubectl) -> None:
    api.create(EVENTS, event(api.create(PODS, pod("p1")), "FailedScheduling", FINDING))
    head, line = kubectl("get", "events").splitlines()
    assert head == "LAST SEEN TYPE REASON OBJECT MESSAGE"
    assert line.endswith(f" Warning FailedScheduling pod/p1 {FINDING}")


def test_cordon_and_uncordon(api: Api, kubectl: Kubectl) -> None:
    api.create(NODES, node("n1"))
    assert kubectl("cordon", "n1") == "node/n1 cordoned"
    assert api.get(f"{NODES}/n1")["spec"]["unschedulable"] is True
    assert kubectl("get", "nodes").splitlines()[1].startswith("n1 Unknown,SchedulingDisabled ")
    assert kubectl("cordon", "n1") == "node/n1 already cordoned"
    assert kubectl("uncordon", "n1") == "node/n1 uncordoned"
    assert "unschedulable" not in api.get(f"{NODES}/n1")["spec"]


def test_taint_and_label(api: Api, kubectl: Kubectl) -> None:
    api.create(NODES, node("n1"))
    assert kubectl("taint", "nodes", "n1", "dedicated=ml:NoSchedule") == "node/n1 tainted"
    taint = {"key": "dedicated", "value": "ml", "effect": "NoSchedule"}
    assert taint in api.get(f"{NODES}/n1")["spec"]["taints"]
    assert kubectl("label", "node", "n1", "zone=a") == "node/n1 labeled"
    assert api.get(f"{NODES}/n1")["metadata"]["labels"]["zone"] == "a"


def test_apply_creates_and_changes(api: Api, kubectl: Kubectl, tmp_path: Path) -> None:
    file = tmp_path / "pod.yaml"
    manifest = "apiVersion: v1\nkind: Pod\nmetadata: {name: p1, labels: {team: red}}\n"
    manifest += "spec: {schedulerName: remuda, containers: [{name: main, image: pause}]}\n"
    file.write_text(manifest)
    assert kubectl("apply", "-f", str(file)) == "pod/p1 created"
    assert kubectl("apply", "-f", str(file)) == "pod/p1 unchanged"
    file.write_text(manifest.replace("red", "blue"))
    assert kubectl("apply", "-f", str(file)) == "pod/p1 configured"
    assert api.get(f"{PODS}/p1")["metadata"]["labels"] == {"team": "blue"}
    told = kubectl("delete", "-f", str(file), "--grace-period=0", "--force")
    assert told == 'pod "p1" force deleted'


def test_drain_evicts_pods_and_waits_until_they_are_gone(api: Api, kubectl: Kubectl) -> None:
    api.create(NODES, node("n1"))
    bound_pod(api, "p1")
    with kubectl.start("drain", "n1", "--force", f"--timeout={SECONDS}s") as drain:
        wait(lambda: terminating(api, "p1"))
        assert drain.poll() is None
        assert api.get(f"{NODES}/n1")["spec"]["unschedulable"] is True
        # What a kubelet does when the containers have ended.
        api.delete(f"{PODS}/p1", gracePeriodSeconds=0)
        told, _ = drain.communicate(timeout=SECONDS)
    assert drain.returncode == 0
    lines = told.splitlines()
    assert lines[0] == "node/n1 cordoned"
    assert {"evicting pod default/p1", "pod/p1 evicted"} <= set(lines)
    assert lines[-1] in {"node/n1 drained", "node/n1 evicted"}


def test_drain_respects_a_disruption_budget(api: Api, kubectl: Kubectl) -> None:
    api.create(NODES, node("n1"))
    bound_pod(api, "p1", {"app": "a"})
    # A budget does not protect pods that never ran.
    ready = {"type": "Ready", "status": "True"}
    api.merge(f"{PODS}/p1/status", {"status": {"phase": "Running", "conditions": [ready]}})
    allow = budget(api, {"app": "a"})
    allow(0)
    told = kubectl("drain", "n1", "--force", "--timeout=2s", code=1)
    assert told.startswith("node/n1 cordoned")
    assert not terminating(api, "p1")
    allow(1)
    with kubectl.start("drain", "n1", "--force", f"--timeout={SECONDS}s") as drain:
        wait(lambda: terminating(api, "p1"))
        api.delete(f"{PODS}/p1", gracePeriodSeconds=0)
        drain.communicate(timeout=SECONDS)
    assert drain.returncode == 0


def terminating(api: Api, name: str) -> bool:
    try:
        return "deletionTimestamp" in api.get(f"{PODS}/{name}")["metadata"]
    except Refused:
        return False
