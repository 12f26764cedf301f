"""The launcher of a real API server: it starts, obeys, and leaves nothing behind."""

from __future__ import annotations

import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest

from remuda_kubernetes.testing import binaries
from remuda_kubernetes.testing.kept import listens
from remuda_kubernetes.testing.real import NotReadyError, RealServer
from remuda_kubernetes.testing.scheduler import why_missing
from tests.docs.examples import blocks_of
from tests.kubernetes.end_to_end.calls import Api, Refused
from tests.waiting import wait

pytestmark = [
    pytest.mark.kubernetes,
    pytest.mark.skipif(binaries.missing() != "", reason=binaries.missing()),
]

PAGE = Path(__file__).parents[3] / "docs/how-to/test-against-a-real-api-server.md"
SPACES = "/api/v1/namespaces"
GROUP = "rbac.authorization.k8s.io"
ROLES = f"/apis/{GROUP}/v1"
USER = """
import sys, time
from pathlib import Path
from remuda_kubernetes.testing.kept import listens
from remuda_kubernetes.testing.real import RealServer
with RealServer(Path(sys.argv[1])) as server:
    print(server.address, flush=True)
    time.sleep(600)
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    with RealServer(
        tmp_path_factory.mktemp("real"), users={"eve": ["developers"]}, controllers=["disruption"]
    ) as running:
        yield running


@pytest.fixture
def api(server: RealServer) -> Iterator[Api]:
    with Api(server.kubeconfig) as client:
        yield client


def answers(address: str) -> bool:
    port = urlsplit(address).port
    assert port is not None
    return listens(port)


def test_it_is_the_version_that_it_was_built_from(api: Api) -> None:
    told = api.get("/version")
    major, minor = told["gitVersion"].removeprefix("v").split(".")[:2]
    assert (told["major"], told["minor"].rstrip("+")) == (major, minor)


def test_the_secrets_of_a_server_are_its_users_alone(server: RealServer) -> None:
    for name in (server.kubeconfig.name, "tokens.csv", "accounts.key"):
        assert stat.S_IMODE((server.directory / name).stat().st_mode) == 0o600
    token = server.kubeconfig.read_text().partition("token: ")[2].partition("}")[0]
    assert len(token) > 20
    logs = "".join(path.read_text() for path in server.directory.glob("*.log"))
    assert token not in logs


def test_a_stranger_is_refused(server: RealServer) -> None:
    with httpx2.Client(verify=False) as stranger:
        assert stranger.get(server.address + SPACES).status_code == 401


def test_roles_decide_what_other_users_may_do(server: RealServer, api: Api) -> None:
    rules = [{"apiGroups": [""], "resources": ["namespaces"], "verbs": ["list"]}]
    role = {"apiGroup": GROUP, "kind": "ClusterRole", "name": "reader"}
    developers = {"apiGroup": GROUP, "kind": "Group", "name": "developers"}
    with Api(server.kubeconfig_of("eve")) as eve:
        with pytest.raises(Refused) as refusal:
            eve.get(SPACES)
        assert refusal.value.code == 403
        api.create(f"{ROLES}/clusterroles", {"metadata": {"name": "reader"}, "rules": rules})
        bound = {"metadata": {"name": "r"}, "roleRef": role, "subjects": [developers]}
        api.create(f"{ROLES}/clusterrolebindings", bound)
        wait(lambda: may(eve))
        with pytest.raises(Refused, match="nodes is forbidden"):
            eve.get("/api/v1/nodes")


def may(client: Api) -> bool:
    try:
        return bool(client.get(SPACES)["items"])
    except Refused:
        return False


def test_the_controllers_that_were_asked_for_run(api: Api) -> None:
    budgets = "/apis/policy/v1beta1/namespaces/default/poddisruptionbudgets"
    selector = {"matchLabels": {"app": "none"}}
    spec = {"minAvailable": 1, "selector": selector}
    api.create(budgets, {"metadata": {"name": "b"}, "spec": spec})
    wait(lambda: "observedGeneration" in api.get(f"{budgets}/b").get("status", {}))
    assert api.get(f"{budgets}/b")["status"]["disruptionsAllowed"] == 0


def test_an_api_server_that_went_away_comes_back_with_its_objects(
    server: RealServer, api: Api
) -> None:
    made = api.create(SPACES, {"metadata": {"name": "kept"}})
    address = server.address
    with server.away():
        assert not answers(address)
    assert server.address == address
    assert api.get(f"{SPACES}/kept")["metadata"]["uid"] == made["metadata"]["uid"]


def test_a_paused_api_server_answers_later(server: RealServer, api: Api) -> None:
    with (
        httpx2.Client(verify=False, timeout=0.5) as hasty,
        server.silent(),
        pytest.raises(httpx2.TimeoutException),
    ):
        hasty.get(server.address + SPACES)
    assert api.get(SPACES)["items"]


def test_a_server_ends_when_its_user_is_killed(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", USER, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as user:
        assert user.stdout is not None
        address = user.stdout.readline().strip()
        assert answers(address)
        user.send_signal(signal.SIGKILL)
        user.wait()
    wait(lambda: not answers(address))


def test_a_server_that_does_not_start_tells_why_and_keeps_its_logs(tmp_path: Path) -> None:
    with pytest.raises(NotReadyError) as failure, RealServer(tmp_path, options=["--no-such"]):
        raise AssertionError
    assert "kube-apiserver ended with code" in str(failure.value)
    assert "unknown flag: --no-such" in str(failure.value)
    assert failure.value.__notes__ == [f"the logs of the servers are in {tmp_path}"]
    assert "unknown flag" in (tmp_path / "kube-apiserver.log").read_text()


def test_the_example_of_the_how_to_works() -> None:
    assert printed(0) == "['default', 'kube-node-lease', 'kube-public', 'kube-system']\n"


@pytest.mark.skipif(why_missing() != "", reason=why_missing())
def test_the_example_with_a_scheduler_works() -> None:
    assert printed(1) == "n1\n"


def printed(number: int) -> str:
    """What an example of the how-to prints."""
    examples = [block.text for block in blocks_of(PAGE) if block.language == "python"]
    command = [sys.executable, "-c", examples[number]]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_a_temporary_folder_is_removed() -> None:
    with RealServer() as server:
        folder = server.directory
        assert server.kubeconfig.exists()
    assert not folder.exists()


def test_nothing_listens_beyond_the_loopback_address(server: RealServer) -> None:
    folder = str(server.directory)
    sockets = listening_inodes()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            ours = folder in (process / "cmdline").read_text()
            links = [str(each.readlink()) for each in (process / "fd").iterdir()] if ours else []
        except OSError:
            continue
        for link in links:
            assert sockets.get(link, LOOPBACK) == LOOPBACK, process


# 127.0.0.1 as the kernel's table of sockets writes it.
LOOPBACK = "0100007F"


def listening_inodes() -> dict[str, str]:
    """All listening sockets of the machine: link of the descriptor -> address."""
    found = {}
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            columns = line.split()
            if columns[3] == "0A":
                found[f"socket:[{columns[9]}]"] = columns[1].partition(":")[0]
    return found
