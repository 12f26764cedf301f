"""A real Spark job: its driver makes executor pods, and real executors run for those placed.

It needs a Python with PySpark, and Java. `REMUDA_SPARK_PYTHON` names that Python.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import pytest

from tests.kubernetes.end_to_end.process import SECONDS
from tests.kubernetes.end_to_end.spaces import Space

DRIVER: Final = """
import sys
from pyspark.sql import SparkSession

server, namespace = sys.argv[1:]
settings = {
    "spark.kubernetes.namespace": namespace,
    "spark.kubernetes.container.image": "spark",
    "spark.kubernetes.scheduler.name": "yunikorn",
    "spark.kubernetes.executor.label.queue": f"root.{namespace}",
    "spark.executor.instances": "2",
    "spark.executor.cores": "1",
    "spark.executor.memory": "512m",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
builder = SparkSession.builder.master(f"k8s://{server}").appName("squares")
for name, value in settings.items():
    builder = builder.config(name, value)
context = builder.getOrCreate().sparkContext
print("application", context.applicationId)
print("sum", context.parallelize(range(1000), 4).map(lambda number: number * number).sum())
context.stop()
"""

EXECUTOR: Final = "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend"
# Java's own modules that Spark reads; its driver tells its executors the same.
OPENED: Final = ("java.lang", "java.lang.invoke", "java.net", "java.nio", "java.util", "sun.nio.ch")
JARS: Final = "import os, pyspark; print(os.path.join(os.path.dirname(pyspark.__file__), 'jars'))"


@pytest.fixture(scope="module")
def spark() -> tuple[str, str]:
    """A Python that has PySpark, and the folder of Spark's Java classes."""
    if shutil.which("java") is None:
        pytest.skip("no Spark: there is no java")
    python = os.environ.get("REMUDA_SPARK_PYTHON", sys.executable)
    found = subprocess.run([python, "-c", JARS], capture_output=True, text=True, check=False)
    if found.returncode:
        pytest.skip(f"no Spark: {python} has no pyspark (REMUDA_SPARK_PYTHON names another Python)")
    return python, found.stdout.strip()


@pytest.fixture
def processes() -> Iterator[ExitStack]:
    """The processes of a test, which end with it."""
    with ExitStack() as running:
        yield running


def executor(pod: dict[str, Any], jars: str) -> list[str]:
    """The command of the executor in a pod, as its image would begin it."""
    given = {each["name"]: each.get("value", "") for each in pod["spec"]["containers"][0]["env"]}
    options = {
        "--driver-url": given["SPARK_DRIVER_URL"],
        "--executor-id": given["SPARK_EXECUTOR_ID"],
        "--cores": given["SPARK_EXECUTOR_CORES"],
        "--app-id": given["SPARK_APPLICATION_ID"],
        "--hostname": "127.0.0.1",
        "--resourceProfileId": given["SPARK_RESOURCE_PROFILE_ID"],
        "--podName": pod["metadata"]["name"],
    }
    opened = [f"--add-opens=java.base/{name}=ALL-UNNAMED" for name in OPENED]
    words = [word for pair in options.items() for word in pair]
    return ["java", "-Xmx512m", *opened, "-cp", f"{jars}/*", EXECUTOR, *words]


def start(processes: ExitStack, command: list[str], log: Path, **env: str) -> subprocess.Popen[str]:
    """Start a process that ends with the test."""
    output = processes.enter_context(log.open("w"))
    process = subprocess.Popen(
        command, env={**os.environ, **env}, stdout=output, stderr=subprocess.STDOUT, text=True
    )
    processes.callback(process.wait)
    processes.callback(process.kill)
    return process


def test_a_real_spark_job_computes(
    space: Space, spark: tuple[str, str], processes: ExitStack, tmp_path: Path
) -> None:
    python, jars = spark
    space.node("n1")
    log = tmp_path / "driver.log"
    address, kubeconfig = space.cluster.server.address, str(space.cluster.server.kubeconfig)
    command = [python, "-c", DRIVER, address, space.name]
    driver = start(processes, command, log, KUBECONFIG=kubeconfig, PYSPARK_PYTHON=python)

    started: dict[str, Any] = {}
    running = {"fieldSelector": "status.phase=Running"}

    def both_executors_run() -> bool:
        assert driver.poll() is None, log.read_text()
        for pod in space.api.get(space.pods, **running)["items"]:
            name = pod["metadata"]["name"]
            if name not in started:
                output = tmp_path / f"{name}.log"
                started[name] = start(processes, executor(pod, jars), output, SPARK_USER="spark")
        return len(started) == 2

    space.until("two executors run", both_executors_run)
    (application,) = space.cluster.applications(f"root.{space.name}")
    assert len(application["allocations"]) == 2
    assert driver.wait(SECONDS) == 0, log.read_text()
    told = dict(re.findall(r"^(application|sum) (\S+)$", log.read_text(), re.MULTILINE))
    assert told == {"application": application["applicationID"], "sum": "332833500"}
    # The driver deletes its executors.
    space.gone(*started)
