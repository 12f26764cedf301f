"""Studies on a Dask cluster: a real one on this machine, whose parts die in the middle."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from remuda.base.errors import RemudaError, UsageError
from remuda.sim import sample as trace
from remuda.study import dask_cluster
from remuda.study.lab import list_runs, run_study
from remuda.study.plan import runs_of
from remuda.study.reading import read_study
from tests.waiting import wait

dask = pytest.importorskip("dask", reason="the library dask is not installed (make study)")
distributed = pytest.importorskip(
    "distributed", reason="the library distributed is not installed (make study)"
)

TRACE = Path(trace.__file__).parent
STUDY = """
traces: [{name: early, workload: workload.csv, nodes: nodes.csv, to: 9000, queue-by: none}]
configurations: [{name: today}, {name: wide, file: queues.yaml}]
seeds: 3
variation: {arrival-jitter: 600, node-failures: {every: 40000, repair: 3600}}
"""
QUEUES = (
    "partitions: [{name: default, queues: [{name: root, submitacl: '*', queues: [{name: a}]}]}]"
)


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("study") / "study.yaml"
    path.write_text(STUDY)
    path.with_name("queues.yaml").write_text(QUEUES)
    for name in ("workload.csv", "nodes.csv"):
        shutil.copy(TRACE / name, path.with_name(name))
    return path


@pytest.fixture(scope="module")
def local(study: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    directory = tmp_path_factory.mktemp("local")
    run_study(study, directory, workers=1)
    return content(directory)


def content(directory: Path) -> dict[str, bytes]:
    files = [path for path in directory.rglob("*") if path.is_file()]
    return {str(path.relative_to(directory)): path.read_bytes() for path in files}


def local_cluster(**options: object) -> Any:
    return distributed.LocalCluster(dashboard_address=":0", **options)


@pytest.fixture(autouse=True, scope="module")
def _own_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Dask keeps its locks in a folder of the test's."""
    with dask.config.set(temporary_directory=str(tmp_path_factory.mktemp("dask"))):
        yield


def started(folder: Path, *arguments: str, **variables: str) -> subprocess.Popen[bytes]:
    line = [sys.executable, "-m", "dask", *arguments]
    environment = {**os.environ, "DASK_TEMPORARY_DIRECTORY": str(folder), **variables}
    nowhere = subprocess.DEVNULL
    return subprocess.Popen(line, env=environment, stdout=nowhere, stderr=nowhere)


@pytest.fixture
def parts(tmp_path: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """The address of a cluster, and its processes: the scheduler, and two workers."""
    file = f"--scheduler-file={tmp_path / 'scheduler.json'}"
    found = [started(tmp_path, "scheduler", file, "--host=127.0.0.1", "--port=0", "--no-dashboard")]
    worker = (
        "worker",
        file,
        f"--local-directory={tmp_path}",
        "--nthreads=1",
        "--no-nanny",
        "--no-dashboard",
    )
    try:
        found += [started(tmp_path, *worker), started(tmp_path, *worker)]
        wait((tmp_path / "scheduler.json").exists)
        yield json.loads((tmp_path / "scheduler.json").read_text())["address"], found
    finally:
        for process in found:
            process.kill()
            process.wait()


@pytest.mark.remuda_rule("EXT-97")
def test_results_are_those_of_this_machine(
    study: Path, local: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with local_cluster(n_workers=2, threads_per_worker=1) as cluster:
        # The workers stay where they were.
        monkeypatch.chdir(study.parent)
        found = run_study(study.name, tmp_path, dask=cluster.scheduler_address)
        assert found.played == 6
        assert content(tmp_path) == local


@pytest.mark.remuda_rule("EXT-97")
def test_a_worker_that_dies_costs_nothing_and_a_scheduler_that_dies_one_line(
    study: Path,
    local: dict[str, bytes],
    parts: tuple[str, list[subprocess.Popen[bytes]]],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    address, (scheduler, first, second) = parts
    # It dies while runs are played.
    later = threading.Timer(0.3, scheduler.kill)

    def kill(done: int, total: int) -> None:
        if done == 1:
            first.kill()
        elif done == 4:
            second.send_signal(signal.SIGSTOP)
            later.start()

    output = tmp_path / "out"
    with pytest.raises(RemudaError) as caught:
        run_study(study, output, dask=address, progress=kill)
    assert str(caught.value) == (
        f"--dask: {address}: the connection to the scheduler is lost; "
        "finished runs are kept, start the study again"
    )
    later.join()
    assert caplog.records == []
    done = sum(is_done for _, is_done in list_runs(study, output))
    assert 4 <= done < 6
    assert run_study(study, output, workers=1).played == 6 - done
    assert content(output) == local


@pytest.mark.remuda_rule("EXT-97")
def test_a_cluster_without_workers_and_an_address_of_nobody_are_one_line(
    study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dask_cluster, "CONNECT_SECONDS", 0.5)
    monkeypatch.setattr(dask_cluster, "WORKERS_SECONDS", 0.1)
    with local_cluster(n_workers=0, processes=False, protocol="tcp") as none:
        with pytest.raises(
            RemudaError, match=r"has had no workers for 0\.1 s [^\n]+; finished runs"
        ):
            run_study(study, tmp_path, dask=none.scheduler_address)
        gone = none.scheduler_address
    for address in (gone, "nowhere", "tls://127.0.0.1:1"):
        with pytest.raises(UsageError, match=rf"^--dask: {address}: [^\n]+$"):
            run_study(study, tmp_path / "new", dask=address)
    # Where nobody answers, nothing is made.
    assert not (tmp_path / "new").exists()


def fail_in_worker(_run: object) -> None:
    """Fail as a worker may that has another version of a library."""
    raise RuntimeError("no such thing\nand more")


@pytest.mark.remuda_rule("EXT-97")
def test_an_error_of_a_worker_is_not_told_as_a_lost_scheduler(
    study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dask_cluster, "play_in_worker", fail_in_worker)
    with (
        local_cluster(n_workers=1, processes=False, protocol="tcp") as cluster,
        pytest.raises(
            UsageError, match=r"^run [^\n]*: the cluster cannot play it: no such thing and"
        ),
    ):
        run_study(study, tmp_path, dask=cluster.scheduler_address)


@pytest.mark.remuda_rule("EXT-97")
def test_a_worker_that_reads_other_files_refuses_the_run(study: Path) -> None:
    run = runs_of(read_study(study))[0]
    assert dask_cluster.play_in_worker(run).result is not None
    changed = dask_cluster.play_in_worker(replace(run, run_id=f"{run.run_id}x"))
    assert changed.result is None
    assert changed.usage
    assert "other content in its files" in changed.error
    gone = replace(run, trace=replace(run.trace, workload=Path("none.csv")))
    assert (
        dask_cluster.play_in_worker(gone).error
        == "on a worker: cannot read none.csv: No such file or directory"
    )


# A process that begins with this has no remuda.
WITHOUT = """
import sys

class Nowhere:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "remuda":
            raise ModuleNotFoundError(f"no {name}")

sys.meta_path.insert(0, Nowhere())
"""


@pytest.mark.remuda_rule("EXT-97")
def test_a_scheduler_without_remuda_is_one_line_that_says_what_to_install(
    study: Path, tmp_path: Path
) -> None:
    (tmp_path / "sitecustomize.py").write_text(WITHOUT)
    file = tmp_path / "scheduler.json"
    options = (f"--scheduler-file={file}", "--host=127.0.0.1", "--port=0", "--no-dashboard")
    scheduler = started(tmp_path, "scheduler", *options, PYTHONPATH=str(tmp_path))
    worker = None
    try:
        wait(file.exists)
        options = (f"--scheduler-file={file}", "--nthreads=1", "--no-nanny", "--no-dashboard")
        worker = started(tmp_path, "worker", *options, f"--local-directory={tmp_path}")
        address = json.loads(file.read_text())["address"]
        with pytest.raises(UsageError, match=r"installed at the scheduler and at each worker$"):
            run_study(study, tmp_path / "out", dask=address)
    finally:
        for process in (scheduler, worker):
            if process is not None:
                process.kill()
                process.wait()
