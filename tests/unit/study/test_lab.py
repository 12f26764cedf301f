"""Whole studies, small ones: the same bytes whatever happens on the way."""

from __future__ import annotations

import csv
import errno
import json
import multiprocessing
import subprocess
import sys
from pathlib import Path

import pytest

from remuda.base.errors import RemudaError, UsageError
from remuda.sim import sample as trace
from remuda.study.lab import list_runs, run_study
from remuda.study.measures import MEASURES

TRACE = Path(trace.__file__).parent
# The first hour and a half of the sample, so that a run takes some hundredths of a second.
STUDY = f"""
traces: [{{name: early, workload: {TRACE}/workload.csv, nodes: {TRACE}/nodes.csv, to: 9000}}]
variants: [{{name: spread}}, {{name: packed, node-sort: binpacking}}, {{name: gangs, gangs: soft}}]
seeds: 3
variation:
  arrival-jitter: 600
  run-time-noise: 0.2
  node-failures: {{every: 40000, repair: 3600}}
"""


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("study") / "study.yaml"
    path.write_text(STUDY)
    return path


def content(directory: Path) -> dict[str, bytes]:
    files = [path for path in directory.rglob("*") if path.is_file()]
    return {str(path.relative_to(directory)): path.read_bytes() for path in files}


@pytest.fixture(scope="module")
def finished(study: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("finished")
    assert run_study(study, directory, workers=1).played == 9
    return directory


@pytest.mark.remuda_rule("EXT-59")
def test_results_are_the_same_under_two_processes(
    study: Path, finished: Path, tmp_path: Path
) -> None:
    seen: list[tuple[int, int]] = []
    run_study(study, tmp_path, workers=2, progress=lambda *told: seen.append(told))
    assert content(tmp_path) == content(finished)
    assert seen == [(number, 9) for number in range(10)]


@pytest.mark.remuda_rule("EXT-59")
@pytest.mark.parametrize("count", [1, 2])
def test_a_study_that_was_stopped_goes_on_where_it_was(
    study: Path, finished: Path, tmp_path: Path, count: int
) -> None:
    def stop(done: int, total: int) -> None:
        if done == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_study(study, tmp_path, workers=count, progress=stop)
    done = sum(is_done for _, is_done in list_runs(study, tmp_path))
    assert 4 <= done < 9
    assert not (tmp_path / "runs.csv").exists()
    assert run_study(study, tmp_path, workers=count).played == 9 - done
    assert content(tmp_path) == content(finished)
    assert run_study(study, tmp_path, workers=count).played == 0


@pytest.mark.remuda_rule("EXT-59")
def test_a_damaged_result_is_played_again(study: Path, finished: Path, tmp_path: Path) -> None:
    run_study(study, tmp_path, workers=1)
    first, second, third, fourth, *_ = sorted((tmp_path / "runs").iterdir())
    first.write_text("{")
    second.write_text('{"id": "other"}')
    third.write_text(json.dumps({"id": third.stem}))
    fourth.write_text("[" * 100_000)
    assert run_study(study, tmp_path, workers=1).played == 4
    assert content(tmp_path) == content(finished)


@pytest.mark.remuda_rule("EXT-59")
def test_a_full_disk_is_one_line_that_names_the_file(
    study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("os.fsync", full)
        with pytest.raises(RemudaError, match=r"^--output: cannot write \S+json: No space left"):
            run_study(study, tmp_path, workers=1)
    # Nothing that is not whole stays.
    assert list((tmp_path / "runs").iterdir()) == []


@pytest.mark.remuda_rule("EXT-59")
def test_a_process_that_dies_costs_only_its_run(
    study: Path, finished: Path, tmp_path: Path
) -> None:
    def kill(done: int, total: int) -> None:
        for child in multiprocessing.active_children() if done == 1 else ():
            child.kill()
            child.join()

    with pytest.raises(RemudaError, match=r"run early\..* ended without a result"):
        run_study(study, tmp_path, workers=2, progress=kill)
    assert not multiprocessing.active_children()
    done = sum(is_done for _, is_done in list_runs(study, tmp_path))
    assert 1 <= done < 9
    # What a process leaves that is killed while it writes.
    (tmp_path / "runs" / ".unfinished-x").write_text("{")
    assert run_study(study, tmp_path, workers=1).played == 9 - done
    assert content(tmp_path) == content(finished)


def test_every_figure_is_in_the_tables(finished: Path) -> None:
    with (finished / "runs.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 9
    assert {measure.key for measure in MEASURES} <= rows[0].keys()
    for row in rows:
        assert 0 < float(row["utilisation"]) < 1
        assert int(row["node_failures"]) > 0
        assert (row["gangs_timed_out"] != "") == (row["variant"] == "gangs")
        assert float(row["slowdown_mean"]) >= 1
    with (finished / "comparisons.csv").open() as file:
        compared = list(csv.DictReader(file))
    for row in compared:
        low, difference, high = (float(row[key]) for key in ("low", "difference", "high"))
        assert low <= difference <= high
        assert row["seeds"] == "3"
    with (finished / "queues.csv").open() as file:
        shares = [float(row["share"]) for row in csv.DictReader(file)]
    assert sum(shares) == pytest.approx(9)


def test_a_result_has_the_course_of_its_run(finished: Path) -> None:
    for path in (finished / "runs").iterdir():
        result = json.loads(path.read_text())
        assert path.name == f"{result['id']}.json"
        pieces = len(result["course"]["used"])
        assert len(result["course"]["hours"]) == pieces + 1 == 121
        assert len(result["wait_quantiles"]) == 101
        mean = sum(result["course"]["used"]) / pieces
        assert mean == pytest.approx(result["measures"]["utilisation"], abs=1e-5)


def command(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "remuda", "study", *map(str, arguments)]
    return subprocess.run(line, capture_output=True, text=True, check=False)


@pytest.mark.remuda_rule("EXT-55")
@pytest.mark.parametrize(
    "text,told",
    [
        ("traces: 5\n", "study.yaml:1:9: traces: cannot unmarshal: traces must be a list"),
        (STUDY.replace("workload.csv", "none.csv"), "cannot read"),
        (STUDY.replace("to: 9000", "to: 0"), "study.yaml:2:10: (early, own, spread): --from, --to"),
        (STUDY.replace("nodes.csv", "workload.csv"), "study.yaml:2:10: (early, own, spread): "),
        (
            STUDY.replace("variants:", "configurations: [{name: q, file: study.yaml}]\nvariants:"),
            "study.yaml:3:18: ",
        ),
    ],
)
def test_a_bad_study_is_one_line_and_plays_nothing(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "study.yaml"
    path.write_text(text)
    done = command(path, "--output", tmp_path / "out")
    assert done.returncode == 2
    assert told in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""
    assert not (tmp_path / "out").exists()


def test_the_command_lists_runs_and_shows_the_alternatives(study: Path, finished: Path) -> None:
    listed = command(study, "--output", finished, "--list").stdout.splitlines()
    assert [line.split()[0] for line in listed] == ["finished"] * 9
    shown = command(study, "--output", finished)
    assert shown.returncode == 0
    assert "runs: 0 played, 9 finished before" in shown.stdout
    assert "own / packed" in shown.stdout


def test_a_cluster_and_a_number_of_workers_are_refused_together(
    study: Path, tmp_path: Path
) -> None:
    done = command(study, "--output", tmp_path / "out", "--workers", "2", "--dask", "tcp://h:1")
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        "remuda: --workers: with --dask the cluster decides; leave one of both out"
    ]
    assert not (tmp_path / "out").exists()


def test_an_output_that_is_a_file_is_refused(study: Path) -> None:
    with pytest.raises(UsageError, match="--output"):
        run_study(study, study)


@pytest.mark.remuda_rule("EXT-99")
def test_without_the_library_nothing_is_played(
    study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "remuda.study.parquet", raising=False)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    output = tmp_path / "output"
    with pytest.raises(UsageError, match=r"Parquet files need pyarrow: .* 'remuda\[parquet\]'"):
        run_study(study, output, workers=1, parquet=True)
    assert not output.exists()
