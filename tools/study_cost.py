"""Measure what a study of 64 short runs costs beyond its runs: `python -m tools.study_cost`.

The runs are played twice: one after the other in one process, and as `remuda study` with a worker
for each core. The second takes more processor time for its processes, their imports, checks, tables
and report. Wall time tells whether the cores were kept busy, on a machine that does nothing else.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from tempfile import TemporaryDirectory
from time import perf_counter, process_time

from remuda.sim import sample
from remuda.study.lab import core_count
from remuda.study.plan import runs_of
from remuda.study.reading import read_study
from remuda.study.scenes import Stage

RUNS = 64
TRACE = Path(sample.__file__).parent
STUDY = f"""
traces: [{{name: sample, workload: {TRACE}/workload.csv, nodes: {TRACE}/nodes.csv}}]
variants: [{{name: spread}}, {{name: packed, node-sort: binpacking}}]
seeds: {RUNS // 2}
variation: {{arrival-jitter: 600, run-time-noise: 0.2}}
"""


@dataclass(frozen=True)
class Cost:
    """Seconds: of the runs alone, and of the study; ``cores``: workers of the study."""

    runs_cpu: float
    study_cpu: float
    runs_wall: float
    study_wall: float
    cores: int

    def cpu_ratio(self) -> float:
        """The study's processor time by that of its runs."""
        return self.study_cpu / self.runs_cpu

    def wall_ratio(self) -> float:
        """The study's wall time by that of its runs divided by the cores."""
        return self.study_wall / (self.runs_wall / self.cores)


def measure() -> Cost:
    """Play the runs both ways."""
    cores = core_count()
    with TemporaryDirectory() as folder:
        path = Path(folder, "study.yaml")
        path.write_text(STUDY)
        runs = runs_of(read_study(path))
        assert len(runs) == RUNS
        stage = Stage()
        stage.play(runs[0])
        cpu, wall = process_time(), perf_counter()
        for run in runs:
            stage.play(run)
        runs_cpu, runs_wall = process_time() - cpu, perf_counter() - wall
        before, wall = _children(), perf_counter()
        line = [sys.executable, "-m", "remuda", "study", str(path), "--output", f"{folder}/out"]
        subprocess.run([*line, "--workers", str(cores)], check=True, stdout=subprocess.DEVNULL)
        return Cost(runs_cpu, _children() - before, runs_wall, perf_counter() - wall, cores)


def _children() -> float:
    """The processor time of all children that ended, and of theirs."""
    used = getrusage(RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> int:
    """Print the cost."""
    cost = measure()
    print(f"{RUNS} runs alone: {cost.runs_cpu:.1f} s of processor time, {cost.runs_wall:.1f} s")
    print(f"the study, {cost.cores} workers: {cost.study_cpu:.1f} s, {cost.study_wall:.1f} s")
    print(f"ratios: {cost.cpu_ratio():.2f} by processor time, {cost.wall_ratio():.2f} by the clock")
    return 0


if __name__ == "__main__":
    sys.exit(main())
