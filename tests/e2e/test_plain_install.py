"""What `pip install .` can do, without extras and with that for Kubernetes."""

from __future__ import annotations

import json
import resource
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.request import urlopen

import pytest

import remuda
from tests.e2e.plain_install import PlainInstall
from tests.e2e.serving import FREE_PORTS
from tests.package import ROOT

SAMPLE = ROOT / "src/remuda/sim/sample"

DIRECT_LIMIT = 8
START_SECONDS = 0.15

LEFT_OUT = {
    *("matplotlib", "numpy", "pillow", "uvloop", "prometheus-client"),
    *("grpcio-health-checking", "grpcio-reflection", "mypy-extensions"),
}

RESOURCE_MANAGER = """
import sys
from remuda.client import Client

with Client(sys.argv[1], "mine") as client:
    client.register()
    client.add_nodes({"node-1": {"vcore": 4000, "memory": 2**33}})
    client.add_application("job", queue="root.default", user="ada")
    client.ask("job", "task", {"vcore": 1500, "memory": 2**30}, count=2)
    for allocation in client.allocations(2):
        print(allocation.allocationKey, allocation.nodeID)
    input()
"""

PROBE = """
import sys, grpc
with grpc.insecure_channel(sys.argv[1]) as channel:
    print(channel.unary_unary("/grpc.health.v1.Health/Check")(b"", timeout=20).hex())
"""

QUEUES = """
partitions:
  - name: default
    queues:
      - name: root
        submitacl: "*"
        queues: [{name: default}]
"""


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> PlainInstall:
    return PlainInstall(tmp_path_factory.mktemp("plain"))


def test_it_asks_for_few_libraries(plain: PlainInstall) -> None:
    assert len(plain.asked) <= DIRECT_LIMIT
    assert plain.libraries & LEFT_OUT == set()


@pytest.fixture(scope="module")
def served(plain: PlainInstall) -> Iterator[tuple[str, str]]:
    """The addresses for gRPC and REST of a served process."""
    config = plain.python.parent / "queues.yaml"
    config.write_text(QUEUES)
    with subprocess.Popen(
        [str(plain.python), "-m", "remuda", "serve", *FREE_PORTS, "--config", str(config)],
        env=plain.environment(),
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            words = dict(word.split("=") for word in process.stdout.readline().split()[1:])
            yield words["grpc"], words["rest"]
        finally:
            process.terminate()
            assert process.wait(30) == 0


def read(address: str, path: str) -> str:
    with urlopen(f"http://{address}{path}", timeout=30) as answer:
        return str(answer.read(), "utf-8")


def test_it_serves_schedules_and_answers(plain: PlainInstall, served: tuple[str, str]) -> None:
    grpc, rest = served
    with subprocess.Popen(
        [str(plain.python), "-c", RESOURCE_MANAGER, grpc],
        env=plain.environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as manager:
        assert manager.stdout is not None
        assert [manager.stdout.readline() for _ in range(2)] == ["task node-1\n"] * 2
        (queue,) = json.loads(read(rest, "/ws/v1/partition/default/queues"))["children"]
        assert queue["queuename"] == "root.default"
        assert queue["allocatedResource"] == {"memory": 2**31, "vcore": 3000}
        metrics = read(rest, "/ws/v1/metrics")
        assert 'yunikorn_queue_resource{queue="root.default",resource="vcore"' in metrics
        assert "process_cpu_seconds_total" in metrics
        manager.communicate("\n", timeout=30)
        assert manager.returncode == 0


def test_it_answers_probes_over_grpc(plain: PlainInstall, served: tuple[str, str]) -> None:
    asked = plain.run("-c", PROBE, served[0])
    assert (asked.stdout, asked.returncode) == ("0801\n", 0), asked.stderr


def test_it_simulates_without_the_report(plain: PlainInstall) -> None:
    options = [f"--nodes={SAMPLE / 'nodes.csv'}", f"--workload={SAMPLE / 'workload.csv'}"]
    ended = plain.run("-m", "remuda", "simulate", *options)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "Tasks" in ended.stdout


@pytest.mark.parametrize(
    "arguments, extra",
    [
        (["simulate", "--workload", "x.csv", "--output", "result"], "simulate"),
        (["bench", "--plot", "x.svg"], "plot"),
        (["serve", *FREE_PORTS, "--tracing", "otel"], "otel"),
        (["kubernetes"], "kubernetes"),
        (["study", "x.yaml", "--output", "result", "--dask", "tcp://127.0.0.1:1"], "dask"),
    ],
)
def test_what_an_extra_is_missing_for_is_told_in_one_line(
    plain: PlainInstall, arguments: list[str], extra: str
) -> None:
    ended = plain.run("-m", "remuda", *arguments)
    assert (ended.returncode, ended.stdout) == (2, "")
    (line,) = ended.stderr.splitlines()
    assert line.startswith("remuda: ")
    assert line.endswith(f"pip install 'remuda[{extra}]'")


@pytest.fixture(scope="module")
def with_kubernetes(tmp_path_factory: pytest.TempPathFactory) -> PlainInstall:
    return PlainInstall(tmp_path_factory.mktemp("with_kubernetes"), extra="kubernetes")


def test_the_extra_for_kubernetes_brings_all_that_it_needs(
    with_kubernetes: PlainInstall, tmp_path: Path
) -> None:
    """It gets as far as the API server, of which the one here answers everything with a 503."""
    kubeconfig = tmp_path / "kubeconfig"
    with refusing() as address:
        kubeconfig.write_text(
            f"clusters: [{{name: c, cluster: {{server: 'http://{address}'}}}}]\n"
            "contexts: [{name: c, context: {cluster: c}}]\ncurrent-context: c\n"
        )
        options = ["--kubeconfig", str(kubeconfig), "--reports-address", "127.0.0.1:0"]
        with subprocess.Popen(
            [str(with_kubernetes.python), "-m", "remuda", "kubernetes", *options, *FREE_PORTS],
            env=with_kubernetes.environment(),
            stderr=subprocess.PIPE,
            text=True,
        ) as shim:
            assert shim.stderr is not None
            line = next(each for each in shim.stderr if "API server" in each)
            shim.terminate()
            assert shim.stderr.read().count("Traceback") == 0
            assert shim.wait(60) == 0
    assert "waiting for the API server" in line


@contextmanager
def refusing() -> Iterator[str]:
    """The address of an HTTP server that is overloaded."""

    class Overloaded(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_error(503)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Overloaded)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def cpu_seconds(plain: PlainInstall, *arguments: str) -> float:
    """The processor time of a process that does not end in an error."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert plain.run(*arguments).returncode == 0
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@pytest.mark.timed
@pytest.mark.parametrize("arguments", [["-m", "remuda", "--version"], ["-c", "import remuda"]])
def test_it_starts_at_once(plain: PlainInstall, arguments: list[str]) -> None:
    """Processor time, and the least of some runs: what else the machine does is in neither."""
    assert plain.run("-m", "remuda", "--version").stdout == (
        f"remuda {remuda.__version__} (interpreted)\n"
    )
    assert min(cpu_seconds(plain, *arguments) for _ in range(7)) <= START_SECONDS
