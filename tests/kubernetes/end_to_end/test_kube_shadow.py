"""`remuda kubernetes shadow` tells each kind of difference, and writes nothing."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from remuda.base.errors import UsageError
from remuda_kubernetes.command import app
from remuda_kubernetes.packaging import rights
from remuda_kubernetes.testing import binaries
from remuda_kubernetes.testing.hollow import HollowCluster
from remuda_kubernetes.testing.real import RealServer
from tests.kubernetes.end_to_end.auditing import (
    audit_options,
    audited,
    create_roles,
    granted_rights,
    served_rights,
    used_rights,
)
from tests.kubernetes.end_to_end.calls import Api
from tests.kubernetes.end_to_end.cluster import Cluster
from tests.kubernetes.end_to_end.manifests import HOST, gang, node_manifest, task_group
from tests.kubernetes.end_to_end.servers import FakeServer, Server
from tests.kubernetes.end_to_end.shadowing import CHARGE, COMMAND, PODS, Charge, Shadow, until

PREEMPTING = {"preemption.delay": "10ms"}
QUEUES = yaml.safe_dump(
    {
        "partitions": [
            {
                "name": "default",
                "placementrules": [{"name": "provided"}],
                "queues": [
                    {
                        "name": "root",
                        "submitacl": "*",
                        "queues": [
                            {"name": "same"},
                            {"name": "another"},
                            {"name": "early"},
                            {"name": "large"},
                            {"name": "away"},
                            {"name": "small", "resources": {"max": {"vcore": 1}}},
                            {"name": "low", "properties": PREEMPTING},
                            {
                                "name": "high",
                                "properties": PREEMPTING,
                                "resources": {"guaranteed": {"vcore": 2}},
                            },
                        ],
                    }
                ],
            }
        ]
    }
)
ACCOUNT = "system:serviceaccount:yunikorn:remuda-shadow"
MANUAL = Path(__file__).parents[3] / "docs/reference/metrics.md"
# Nodes that only pods which name them get.
TIGHT = "n3"


class Recorded:
    """Passes requests on to the fake server, and keeps what the shadow asked for."""

    def __init__(self, inner: Any) -> None:
        self.asked: list[tuple[str, str]] = []
        self._inner = inner

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        agent = dict(scope.get("headers", ())).get(b"user-agent", b"")
        if agent.startswith(b"remuda-kubernetes"):
            self.asked.append((scope["method"], scope["path"]))
        await self._inner(scope, receive, send)


@pytest.fixture(scope="module")
def charge(empty_server: Server) -> Iterator[Charge]:
    """A cluster of three nodes, whose scheduler is the test."""
    nodes = [node_manifest(name) for name in ("n1", "n2")]
    nodes.append(node_manifest(TIGHT, cpu="2"))
    with Api(empty_server.kubeconfig) as api, HollowCluster(empty_server.kubeconfig, nodes=nodes):
        until("the nodes are ready", lambda: ready(api) == ["n1", "n2", TIGHT])
        yield Charge(api)


def ready(api: Api) -> list[str]:
    """The nodes without a taint."""
    found = api.get("/api/v1/nodes")["items"]
    return sorted(each["metadata"]["name"] for each in found if not each["spec"].get("taints"))


@pytest.fixture(scope="module")
def shadow(
    charge: Charge, empty_server: Server, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Shadow]:
    """A shadow of that cluster, for all tests."""
    folder = tmp_path_factory.mktemp("shadow")
    queues = folder / "queues.yaml"
    queues.write_text(QUEUES)
    options = (f"--scheduler-name={CHARGE}", f"--queue-file={queues}", "--grace=300ms")
    with Shadow(empty_server.kubeconfig, folder, *options) as running:
        yield running


def on(*nodes: str) -> dict[str, Any]:
    """The part of a spec by which a pod may run on these nodes only."""
    terms = [{"matchExpressions": [{"key": HOST, "operator": "In", "values": list(nodes)}]}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    return {"affinity": {"nodeAffinity": required}}


@pytest.mark.remuda_rule("EXT-168", "EXT-171")
def test_the_same_node(charge: Charge, shadow: Shadow) -> None:
    charge.pod("same", "root.same", spec=on("n2"))
    until("it is decided", lambda: shadow.kinds("root.same") == {"earlier": 1})
    charge.bind("same", "n2")
    until("it is compared", lambda: shadow.kinds("root.same") == {"same_node": 1})
    example = shadow.example("same_node", "root.same")
    assert (example["pod"], example["there"], example["here"]) == ("default/same", "n2", "n2")


@pytest.mark.remuda_rule("EXT-171")
def test_first_earlier_then_another_node(charge: Charge, shadow: Shadow) -> None:
    charge.pod("another", "root.another", spec=on("n1", "n2"))
    until("it is decided", lambda: shadow.kinds("root.another") == {"earlier": 1})
    here = shadow.example("earlier", "root.another")["here"]
    there = {"n1": "n2", "n2": "n1"}[here]
    charge.bind("another", there)
    until("it is compared", lambda: shadow.kinds("root.another") == {"another_node": 1})
    example = shadow.example("another_node", "root.another")
    assert (example["there"], example["here"]) == (there, here)
    assert example["ahead_seconds"] > 0


@pytest.mark.remuda_rule("EXT-171")
def test_later_for_want_of_a_node(charge: Charge, shadow: Shadow) -> None:
    charge.pod("large", "root.large", cpu="3", spec=on(TIGHT))
    until("it waits", lambda: shadow.waits("root.large"))
    charge.bind("large", "n1")
    until("it is compared", lambda: shadow.kinds("root.large") == {"later": 1})
    example = shadow.example("later", "root.large")
    assert (example["there"], example["here"]) == ("n1", "")
    assert "0/3 nodes are available" in example["reason"]
    charge.api.delete(f"{PODS}/large")


@pytest.mark.remuda_rule("EXT-171")
def test_later_for_the_quota_of_a_queue(charge: Charge, shadow: Shadow) -> None:
    charge.pod("quota", "root.small", cpu="1100m", spec=on("n1", "n2"))
    until("it waits", lambda: shadow.waits("root.small"))
    charge.bind("quota", "n1")
    until("it is compared", lambda: shadow.kinds("root.small") == {"later": 1})
    until("the scheduler says why", lambda: "lacks" in reason(shadow))
    assert "queue root.small lacks" in reason(shadow)


def reason(shadow: Shadow) -> str:
    return str(shadow.example("later", "root.small")["reason"])


@pytest.mark.remuda_rule("EXT-171")
def test_refused(charge: Charge, shadow: Shadow) -> None:
    charge.pod("refused", "root.missing")
    until("it is refused", lambda: shadow.kinds("root.missing") == {"refused": 1})
    assert "root.missing" in shadow.example("refused", "root.missing")["reason"]
    charge.bind("refused", "n1")
    until(
        "its node is known",
        lambda: shadow.example("refused", "root.missing")["there"] == "n1",
    )
    assert shadow.kinds("root.missing") == {"refused": 1}


@pytest.mark.remuda_rule("EXT-171", "EXT-172")
def test_would_evict(charge: Charge, shadow: Shadow) -> None:
    for name in ("low-0", "low-1"):
        charge.pod(name, "root.low", cpu="1", spec=on(TIGHT))
    until("they are decided", lambda: shadow.kinds("root.low") == {"earlier": 2})
    for name in ("low-0", "low-1"):
        charge.bind(name, TIGHT)
    until("they run", lambda: shadow.kinds("root.low") == {"same_node": 2})
    charge.pod("high", "root.high", cpu="1", spec=on(TIGHT))
    until("a victim is told", lambda: "would_evict" in shadow.kinds("root.low"))
    assert shadow.kinds("root.low") == {"same_node": 2, "would_evict": 1}
    assert "for pod default/high" in shadow.example("would_evict", "root.low")["reason"]
    phases = [charge.api.get(f"{PODS}/{name}")["metadata"] for name in ("low-0", "low-1")]
    assert not any("deletionTimestamp" in each for each in phases)


@pytest.mark.remuda_rule("EXT-168")
def test_the_api_server_goes_away_and_comes_back(
    charge: Charge, shadow: Shadow, empty_server: Server
) -> None:
    charge.pod("before", "root.away", spec=on("n1"))
    until("it is decided", lambda: shadow.kinds("root.away") == {"earlier": 1})
    with empty_server.away():
        until("it notices", lambda: not shadow.get("/readyz").is_success)
    until("it is back", lambda: shadow.get("/readyz").is_success)
    charge.bind("before", "n1")
    charge.pod("after", "root.away", spec=on("n2"))
    until("it is decided", lambda: shadow.kinds("root.away").get("earlier", 0) == 1)
    charge.bind("after", "n2")
    until("both are compared", lambda: sum(shadow.kinds("root.away").values()) == 2)
    until("neither waits", lambda: "earlier" not in shadow.kinds("root.away"))
    assert shadow.kinds("root.away") == {"same_node": 2}


@pytest.mark.remuda_rule("EXT-174")
def test_figures_have_kinds_as_labels_only(shadow: Shadow) -> None:
    text = shadow.get("/metrics").text
    lines = [line for line in text.splitlines() if line.startswith("remuda_kubernetes_shadow_pods")]
    assert len(lines) == 6
    assert 'remuda_kubernetes_shadow_pods_total{kind="same_node"}' in text
    assert shadow.get("/livez").text == "ok\n"
    told = {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE ")}
    page = MANUAL.read_text()
    assert [
        name for name in told if f"`{name.removeprefix('remuda_kubernetes_shadow_')}`" not in page
    ] == []


@pytest.mark.remuda_rule("EXT-169")
def test_nothing_is_written(tmp_path: Path) -> None:
    server = FakeServer(tmp_path)
    recorded = Recorded(server.inner._app)
    server.inner._app = recorded  # type: ignore[assignment]
    with server, Api(server.kubeconfig) as api:
        charge = Charge(api)
        server.inner.load([node_manifest("n1", cpu="2")])
        queues = tmp_path / "queues.yaml"
        queues.write_text(QUEUES)
        options = (f"--scheduler-name={CHARGE}", f"--queue-file={queues}", "--grace=60s")
        with Shadow(server.kubeconfig, tmp_path, *options) as shadow:
            for name in ("low-0", "low-1"):
                charge.pod(name, "root.low", cpu="1")
                charge.bind(name, "n1")
            charge.pod("refused", "root.missing")
            until("all is found", lambda: shadow.kinds("root.low") == {"same_node": 2})
            charge.pod("high", "root.high", cpu="1")
            until("a victim is told", lambda: "would_evict" in shadow.kinds("root.low"))
            found = shadow.end(signal.SIGINT)
    assert found["kinds"]["refused"] == 1
    assert len(recorded.asked) > 20
    assert {method for method, _ in recorded.asked} == {"GET"}


@pytest.mark.kubernetes
@pytest.mark.remuda_rule("EXT-169")
def test_rights_to_read_are_enough_and_a_real_server_writes_down_nothing_else(
    tmp_path: Path,
) -> None:
    if reason := binaries.missing():
        pytest.skip(f"no real API server, and roles count on no other: {reason}")
    users = {ACCOUNT: ["system:serviceaccounts", "system:authenticated"]}
    with (
        RealServer(tmp_path, users=users, options=audit_options(tmp_path)) as server,
        Api(server.kubeconfig) as api,
    ):
        prepare(api)
        charge = Charge(api)
        shadow_options = (f"--scheduler-name={CHARGE}", "--namespace=yunikorn")
        with Shadow(server.kubeconfig_of(ACCOUNT), tmp_path, *shadow_options) as shadow:
            charge.pod("p", "root.default")
            until("it is decided", lambda: shadow.agreement()["kinds"]["earlier"] == 1)
            charge.bind("p", "n1")
            until("it is compared", lambda: compared(shadow) == 1)
            shadow.end()
        ours = [each for each in audited(tmp_path) if each["user"]["username"] == ACCOUNT]
        served = served_rights(api, granted_rights(rights.shadow("yunikorn")))
    assert {each["verb"] for each in ours} == {"get", "list", "watch"}
    assert used_rights(tmp_path, ACCOUNT) == served


def prepare(api: Api) -> None:
    """Make a node, and the roles of a shadow."""
    api.create("/api/v1/namespaces", {"metadata": {"name": "yunikorn"}})
    create_roles(api, rights.shadow("yunikorn"))
    made = api.create("/api/v1/nodes", node_manifest("n1"))
    api.merge("/api/v1/nodes/n1", {"spec": {"taints": None}})
    api.merge("/api/v1/nodes/n1/status", {"status": made["status"]})


@pytest.mark.remuda_rule("EXT-173", "EXT-175")
def test_a_shadow_of_ourselves_differs_in_nothing(empty_server: Server, tmp_path: Path) -> None:
    nodes = [node_manifest(f"own-{number}", cpu="2") for number in range(4)]
    with Cluster(empty_server, tmp_path, nodes=nodes) as cluster:
        options = ("--scheduler-name=yunikorn", "--namespace=yunikorn", "--gangs", "--grace=60s")
        with (
            Shadow(empty_server.kubeconfig, tmp_path, *options) as shadow,
            cluster.space("ours") as space,
        ):
            # One at a time: what is decided next depends on where the last one runs.
            for number in range(20):
                space.pod(f"p{number}", app="a", cpu="300m")
                until("it is compared", lambda: compared(shadow) == number + 1)  # noqa: B023
            space.pod("driver", app="gang", annotations=gang(task_group("g", 1)))
            until("it and its placeholder are compared", lambda: compared(shadow) == 22)
            space.pod("member", app="gang", annotations=gang(group="g"))
            until("it is compared", lambda: compared(shadow) == 23)
            assert shadow.agreement()["gang_pods"] == 3
            assert shadow.kinds("root.ours") == {"same_node": 23}
            assert shadow.end()["same_node_percent"] == 100.0


def compared(shadow: Shadow) -> int:
    return int(shadow.agreement()["compared"])


# ------------------------------------------------------------------ what is wrong


def ran(option: str) -> subprocess.CompletedProcess[str]:
    """Run it to its end."""
    command = [*COMMAND, "--http-address=127.0.0.1:0", option]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.remuda_rule("EXT-168")
def test_a_name_that_no_pod_has_is_a_warning(tmp_path: Path) -> None:
    with FakeServer(tmp_path) as server, Api(server.kubeconfig) as api:
        Charge(api).pod("p", "root.a")
        with Shadow(server.kubeconfig, tmp_path, "--scheduler-name=nobody") as shadow:
            until("the pods are known", lambda: CHARGE in " ".join(shadow.warnings()))
            (warning,) = shadow.end()["warnings"]
    assert "no pod has the schedulerName nobody" in warning
    assert f"the pods of the cluster have {CHARGE}" in warning


@pytest.mark.parametrize(
    "options,words",
    [
        (["--queue-file=/nowhere/queues"], "/nowhere/queues: No such file or directory"),
        (["--queue-file={folder}/wrong.yaml"], "wrong.yaml: queues.yaml:2:5"),
        (["--queue-file={folder}/binary.yaml"], "is no text"),
        (["--scheduler-name=A B"], "--scheduler-name is 'A B'"),
        (["--for=soon"], "--for: 'soon' is not a duration"),
        (["--grace=0s"], "--grace: '0s' is not a duration above 0"),
        (["--http-address=nowhere"], "--http-address"),
        (["--namespace=No Name"], "No Name"),
    ],
)
def test_a_wrong_word_is_refused(tmp_path: Path, options: list[str], words: str) -> None:
    (tmp_path / "wrong.yaml").write_text("partitions:\n  - nam: default\n")
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe")
    given = [each.format(folder=tmp_path) for each in options]
    error = CliRunner().invoke(app, ["shadow", *given]).exception
    assert isinstance(error, UsageError)
    assert words in str(error)


def test_a_kind_that_may_not_be_listed_is_named(tmp_path: Path) -> None:
    with FakeServer(tmp_path) as server:
        server.inner.faults.fail(
            lambda call: "persistentvolumes" in call.path,
            status=403,
            reason="Forbidden",
            times=None,
        )
        with Shadow(server.kubeconfig, tmp_path, wait=False) as shadow:
            until("the server has refused", lambda: "403" in " ".join(shadow.warnings()))
            assert "PersistentVolume: " in shadow.get("/readyz").text
            told = [each for each in shadow.end()["warnings"] if "PersistentVolume: " in each]
    assert len(told) == 1
    assert "403 Forbidden" in told[0]


def test_a_server_that_is_not_reached_ends_it_with_a_line(tmp_path: Path) -> None:
    with FakeServer(tmp_path) as server:
        there = server.kubeconfig
    options = [f"--kubeconfig={each}" for each in (there, "/nowhere/config")]
    with ThreadPoolExecutor() as together:
        for done, words in zip(
            together.map(ran, options), (server.address, "/nowhere/config"), strict=True
        ):
            assert (done.returncode, done.stdout) == (2, "")
            told = [each for each in done.stderr.splitlines() if not each.startswith("listening ")]
            assert len(told) == 1
            assert words in told[0]
