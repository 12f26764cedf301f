"""The bundled trace, run in processes of their own: same bytes, whatever the hash seed."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from remuda.sim import sample
from tests.long_runs import usual
from tests.package import PACKAGES
from tests.simulation.check_pending import check

SAMPLE = Path(sample.__file__).parent
NODES = SAMPLE / "nodes.csv"
WORKLOAD = SAMPLE / "workload.csv"
WALL_CLOCK = ("wall_seconds", "allocations_per_second")

PROGRAM = """
import io, sys
from pathlib import Path
from remuda.sim.experiment import Options, run
nodes, workload, output, mode, seed, preemption = sys.argv[1:]
options = Options(
    Path(workload), nodes, Path(output), mode=mode, seed=int(seed), preemption=preemption == "on"
)
run(options, io.StringIO(), sys.stderr)
"""


def start(
    output: Path, mode: str, hash_seed: str, seed: str = "3", preemption: str = "off"
) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(PACKAGES)}
    arguments = [str(NODES), str(WORKLOAD), str(output), mode, seed, preemption]
    return subprocess.Popen([sys.executable, "-c", PROGRAM, *arguments], env=environment)


def content(directory: Path) -> tuple[dict[str, Any], dict[str, str]]:
    """The digests of the files, the summary without its wall-clock figures."""
    summary = json.loads((directory / "summary.json").read_text())
    for key in WALL_CLOCK:
        assert summary.pop(key) >= 0
    return summary, {
        name: hashlib.sha256((directory / name).read_bytes()).hexdigest()
        for name in ("allocations.csv", "report.html")
    }


@pytest.mark.parametrize(
    "mode, preemption", usual([("replay", "on"), ("replay", "off"), ("fill", "off")])
)
def test_equal_input_gives_equal_bytes_under_any_hash_seed(
    tmp_path: Path, mode: str, preemption: str
) -> None:
    seeds = ("0", "1", "4242")
    runs = [start(tmp_path / seed, mode, seed, preemption=preemption) for seed in seeds]
    assert [each.wait(timeout=120) for each in runs] == [0, 0, 0]
    first, *others = (content(tmp_path / seed) for seed in seeds)
    assert others == [first, first]
    if preemption == "on":
        return  # the checker knows tasks that run once
    faults, pending = check(NODES, WORKLOAD, tmp_path / "0" / "allocations.csv")
    assert faults == []
    assert pending == first[0]["tasks_pending"]


def test_the_sample_lets_tasks_wait_and_finishes_them_all(tmp_path: Path) -> None:
    assert start(tmp_path, "replay", "0").wait(timeout=120) == 0
    summary, _ = content(tmp_path)
    assert summary["tasks_placed"] == summary["tasks_finished"] == summary["tasks_total"] > 300
    assert summary["tasks_waited"] > 0
    assert len(summary["queues"]) == 3


def test_preemption_in_the_sample_moves_little_work_and_finishes_it_all(tmp_path: Path) -> None:
    assert start(tmp_path, "replay", "0", preemption="on").wait(timeout=120) == 0
    summary, _ = content(tmp_path)
    assert summary["tasks_placed"] == summary["tasks_finished"] == summary["tasks_total"]
    figures = summary["preemption"]
    assert 0 < figures["preemptions"] <= figures["victims"] < 100
    assert all(0 <= lost["share"] < 0.05 for lost in figures["lost_work"].values())
    rows = (tmp_path / "allocations.csv").read_text().splitlines()[1:]
    cut = [row for row in rows if row.endswith(",yes")]
    assert 0 < len(cut) <= figures["victims"]
    assert len(rows) == summary["tasks_total"] + len(cut)


def test_the_checker_sees_what_it_looks_for(tmp_path: Path) -> None:
    """Corrupts a good result in every way the checker is there for."""
    nodes = tmp_path / "nodes.csv"
    nodes.write_text("sn,cpu_milli,memory_mib,gpu,model\nn1,2000,8,1,T4\nn2,2000,8,0,\n")
    pods = tmp_path / "pods.csv"
    pods.write_text(
        "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\n"
        "a,2000,1,1,500,T4\nb,2000,1,0,0,\nc,1,1,0,0,\nd,1,1,1,600,P100\n"
    )

    def faults(*rows: tuple[str, str, str, str]) -> tuple[list[str], int]:
        path = tmp_path / "allocations.csv"
        lines = (f"{task},q,{task},{node},0,{start},{end}\n" for task, node, start, end in rows)
        path.write_text("task,queue,application,node,submit,start,end\n" + "".join(lines))
        return check(nodes, pods, path)

    good = (("a", "n1", "0", ""), ("b", "n2", "0", ""))
    assert faults(*good) == ([], 2)
    assert faults(good[0])[0] == ["b is pending and fits on n2", "c is pending and fits on n2"]
    assert faults(*good, ("c", "n1", "0", ""))[0] == ["n1 lacks 1 vcore at 0"]
    assert faults(*good, good[0])[0] == ["a was placed twice"]
    assert faults(good[0], ("d", "n1", "0", ""))[0] == ["d does not accept n1's model 'T4'"]
    assert faults(("b", "n3", "0", ""))[0] == ["b on n3: no such task or node"]
    assert faults(("b", "n2", "-1", "0"))[0] == ["b started before it was submitted"]
    assert faults(("a", "n1", "0", "5"), ("b", "n1", "5", ""), ("c", "n2", "0", ""))[0] == []
