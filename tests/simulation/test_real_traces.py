"""Published traces of real clusters, where they are at hand: figures others have measured.

The data are not part of the project: REMUDA_DATA names their directory, else ../shared/data
beside the checkout is tried. The expected figures come from independent throw-away programs
(FILL_BASELINE.json, PHILLY_REPLAY_BASELINE.json of that directory).
"""

from __future__ import annotations

import csv
import io
import os
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from remuda.sim.experiment import Options, run
from remuda.sim.metrics import Figures
from tests.long_runs import COMPILED_ONLY, usual
from tests.simulation.check_pending import check

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("REMUDA_DATA") or ROOT.parent / "shared" / "data")

pytestmark = pytest.mark.skipif(
    not DATA.is_dir(), reason=f"no real traces in {DATA}; REMUDA_DATA may name their directory"
)

ALIBABA = DATA / "alibaba-gpu-2023"
ALL_NODES = ALIBABA / "openb_node_list_all_node.csv.gz"
PHILLY = DATA / "philly" / "philly_jobs_by_vc.csv.gz"
NASA = DATA / "swf" / "NASA-iPSC-1993-3.1-cln.swf.gz"
GPUS_1024 = "1xgpu=1024000"


def simulated(workload: Path, **more: Any) -> Figures:
    return run(Options(workload, **more), io.StringIO(), io.StringIO())


@pytest.mark.parametrize(
    "pods, node_sort, gpu, nodes",
    usual(
        [
            ("default", "binpacking", 0.92, 1_300),
            ("multigpu50", "fair", 0.91, 1_523),
            ("default", "fair", 0.91, 1_523),
            ("gpuspec33", "binpacking", 0.84, 1_300),
        ]
    ),
)
def test_alibaba_pods_fill_the_cluster(
    tmp_path: Path, pods: str, node_sort: str, gpu: float, nodes: int
) -> None:
    workload = ALIBABA / f"openb_pod_list_{pods}.csv.gz"
    began = time.process_time()
    figures = simulated(
        workload,
        nodes=str(ALL_NODES),
        mode="fill",
        queue_by="none",
        node_sort=node_sort,
        output=tmp_path,
    )
    assert time.process_time() - began < 30
    assert figures.nodes_total == 1_523
    assert figures.utilisation["gpu"].final >= gpu
    assert figures.nodes_used <= nodes
    faults, pending = check(ALL_NODES, workload, tmp_path / "allocations.csv")
    assert faults == []
    assert pending == figures.tasks_pending


@pytest.mark.remuda_rule("RSV-3")
@pytest.mark.parametrize("reservation_delay", usual(["2s", "off"]))
def test_nasa_jobs_hardly_ever_wait(reservation_delay: str) -> None:
    """On one node nothing can be reserved: what fits the queue's headroom fits the node."""
    figures = simulated(NASA, queue_by="none", reservation_delay=reservation_delay)
    assert figures.nodes_total == 1
    assert figures.tasks_total == figures.tasks_placed == 18_239
    assert figures.tasks_waited == 6


@pytest.mark.remuda_rule("RSV-3")
@pytest.mark.parametrize("reservation_delay", usual(["2s", "off"]))
def test_philly_jobs_on_1024_gpus_in_one_queue(reservation_delay: str) -> None:
    figures = simulated(
        PHILLY, nodes=GPUS_1024, queue_by="none", reservation_delay=reservation_delay
    )
    assert figures.tasks_total == figures.tasks_finished == 15_264
    assert figures.tasks_waited == 11_332
    wait = figures.wait_seconds
    assert round(wait.mean) == 85_977
    assert (wait.p95, wait.max) == (421_292, 3_703_824)
    assert round(figures.utilisation["gpu"].mean, 3) == 0.565


ONE_QUEUE = """
partitions:
  - name: default
    queues:
      - name: root
        submitacl: "*"
        queues:
          - name: jobs
            properties: {application.sort.policy: fifo}
            resources:
              max: {gpu: 1024000}
"""


@COMPILED_ONLY
@pytest.mark.remuda_rule("GANG-4", "GANG-5", "GANG-14", "GANG-17")
def test_philly_gangs_on_128_nodes_under_a_quota_of_1024_gpus(tmp_path: Path) -> None:
    """With members of one GPU each, and room looked at as a whole, it is as if on one node."""
    config = tmp_path / "queues.yaml"
    config.write_text(ONE_QUEUE)
    figures = simulated(
        PHILLY, nodes="128xgpu=8000", queue_by="none", config=config, gangs=True, output=tmp_path
    )
    assert figures.tasks_total == figures.tasks_finished == 15_264
    assert figures.tasks_waited == 11_332
    wait = figures.wait_seconds
    assert round(wait.mean) == 85_977
    assert (wait.p95, wait.max) == (421_292, 3_703_824)
    assert figures.gangs is not None
    assert (figures.gangs.members, figures.gangs.of_several) == (42_192, 4_784)
    assert figures.gangs.started_in_part == figures.gangs.timed_out == 0
    assert never_above(tmp_path / "allocations.csv", nodes=128, gpus=8)


def never_above(allocations: Path, nodes: int, gpus: int) -> bool:
    """Whether no node ever runs more members of one GPU than it has GPUs."""
    changes: list[tuple[float, int, str]] = []
    with allocations.open(newline="") as file:
        for row in csv.DictReader(file):
            changes.append((float(row["end"]), 0, row["node"]))
            changes.append((float(row["start"]), 1, row["node"]))
    running: Counter[str] = Counter()
    for _, begins, node in sorted(change for change in changes):
        running[node] += 1 if begins else -1
        if running[node] > gpus:
            return False
    return len(running) == nodes


@COMPILED_ONLY
def test_nasa_jobs_as_gangs_of_their_processors() -> None:
    figures = simulated(NASA, queue_by="none", gangs=True, to_seconds="1000000")
    assert figures.tasks_total == figures.tasks_finished
    assert figures.tasks_waited == simulated(NASA, to_seconds="1000000").tasks_waited
    assert figures.gangs is not None
    assert figures.gangs.started_in_part == figures.gangs.timed_out == 0


@COMPILED_ONLY
def test_philly_jobs_on_1024_gpus_with_a_queue_per_virtual_cluster() -> None:
    figures = simulated(PHILLY, nodes=GPUS_1024, queue_by="vc")
    assert figures.tasks_finished == 15_264
    assert len(figures.queues) == 15
    assert round(figures.utilisation["gpu"].mean, 3) == 0.565


@COMPILED_ONLY
@pytest.mark.remuda_rule("GANG-4")
def test_no_philly_gang_of_a_virtual_cluster_times_out_for_the_part_another_one_has() -> None:
    """Fifteen leaves share a quota of 1024 GPUs; a gang that began is let finish."""
    figures = simulated(PHILLY, nodes="128xgpu=8000", queue_by="vc", gangs=True)
    assert figures.tasks_total == figures.tasks_finished == 15_264
    assert figures.gangs is not None
    assert figures.gangs.started_in_part == figures.gangs.timed_out == figures.gangs.failed == 0
