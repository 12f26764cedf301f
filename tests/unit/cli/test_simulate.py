"""The options of ``remuda simulate`` and what is said about bad ones."""

from __future__ import annotations

import inspect
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import pytest
import typer
from typer.testing import CliRunner, Result

from remuda.base.errors import RemudaError, UsageError
from remuda.cli.simulate import Format, GangStyle, Mode, NodeSort, QueueBy, simulate
from remuda.config.load import load_configuration
from remuda.sim import experiment, gangs, queues, sample, simulator, workload
from remuda.sim.traces import detect
from tests.package import PACKAGES

SAMPLE = Path(sample.__file__).parent
NODES = ("--nodes", str(SAMPLE / "nodes.csv"))
WORKLOAD = ("--workload", str(SAMPLE / "workload.csv"))

app = typer.Typer()
app.command()(simulate)


def invoke(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_the_choices_offered_are_those_the_simulator_has() -> None:
    assert {each.value for each in Format} == {detect.AUTO, *detect.READERS}
    assert {each.value for each in Mode} == set(get_args(simulator.Mode))
    labels = {workload.USER, workload.CLASS, workload.VC}
    assert {each.value.title() for each in GangStyle} == set(get_args(gangs.Style))
    assert {each.value for each in QueueBy} == {queues.NONE, *labels}


@pytest.mark.parametrize("policy", list(NodeSort))
def test_every_node_order_offered_is_one_of_the_configuration(policy: NodeSort) -> None:
    text = f"partitions: [{{name: p, queues: [], nodesortpolicy: {{type: {policy.value}}}}}]"
    (partition,) = load_configuration(text).partitions
    assert partition.node_sort_policy == policy.value


def test_a_run_writes_its_files_and_shows_its_figures(tmp_path: Path) -> None:
    result = invoke(*NODES, *WORKLOAD, "--output", tmp_path)
    assert result.exit_code == 0, result.output
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "allocations.csv",
        "report.html",
        "summary.json",
    ]
    assert "wait p50 / p95 / p99" in result.output


def taken_by_a_file(directory: Path) -> Path:
    (directory / "out").touch()
    return directory / "out"


def taken_inside(directory: Path) -> Path:
    (directory / "report.html").mkdir()
    return directory


@pytest.mark.parametrize("spoil", [taken_by_a_file, taken_inside])
def test_an_output_that_cannot_be_written_is_refused_before_the_run(
    tmp_path: Path, spoil: Callable[[Path], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object) -> None:
        raise AssertionError("the run began")

    monkeypatch.setattr(experiment, "simulate", never)
    result = invoke(*NODES, *WORKLOAD, "--output", spoil(tmp_path))
    assert isinstance(result.exception, UsageError)
    assert str(result.exception).startswith(f"--output: {tmp_path}/")
    assert len(list(tmp_path.iterdir())) == 1


def test_an_earlier_result_stays_until_the_run_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RemudaError("the run failed")

    monkeypatch.setattr(experiment, "simulate", fail)
    (tmp_path / "summary.json").write_text("earlier")
    assert invoke(*NODES, *WORKLOAD, "--output", tmp_path).exit_code == 1
    assert [path.name for path in tmp_path.iterdir()] == ["summary.json"]
    assert (tmp_path / "summary.json").read_text() == "earlier"


def test_all_options_reach_the_run(tmp_path: Path) -> None:
    result = invoke(
        *WORKLOAD,
        *("--nodes", "30xvcore=64000,memory=274877906944,gpu=8000", "--output", tmp_path),
        *("--format", "remuda", "--mode", "replay", "--queue-by", "class"),
        *("--node-sort", "binpacking", "--from", "3600", "--to", "7200.5", "--seed", "42"),
        *("--reservation-delay", "1m"),
    )
    assert result.exit_code == 0, result.output
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["run"] == {
        "workload": "workload.csv",
        "nodes": "30xvcore=64000,memory=274877906944,gpu=8000",
        "format": "remuda",
        "mode": "replay",
        "config": "",
        "queue_by": "class",
        "node_sort": "binpacking",
        "from": "3600",
        "to": "7200.5",
        "seed": "42",
        "reservation_delay": "1m",
        "gangs": "",
        "preemption": "off",
    }
    assert summary["gangs"] is None
    assert set(summary["queues"]) == {"root.interactive", "root.probe", "root.training"}
    assert summary["nodes_used"] < summary["nodes_total"] == 30


GANGS = """task,submit,duration,members,gpu
a,0,100,2,4
b,1,50,4,4
c,2,1500,1,2
"""


@pytest.mark.parametrize("style", ["soft", "hard"])
def test_gangs_are_counted_and_each_member_is_a_row(tmp_path: Path, style: str) -> None:
    (tmp_path / "w.csv").write_text(GANGS)
    result = invoke(
        *("--workload", tmp_path / "w.csv", "--nodes", "3xgpu=2", "--gangs"),
        *("--gang-style", style, "--output", tmp_path),
    )
    assert result.exit_code == 0, result.output
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["run"]["gangs"] == style.title()
    assert summary["gangs"] == {
        "gangs": 3,
        "of_several": 2,
        "members": 7,
        "timed_out": 0,
        "failed": 0,
        "too_large": 0,
        "started_in_part": 0,
    }
    assert (summary["tasks_placed"], summary["tasks_waited"]) == (3, 1)
    rows = (tmp_path / "allocations.csv").read_text().splitlines()[1:]
    assert [row.split(",")[0] for row in rows] == ["a"] * 2 + ["c"] + ["b"] * 4
    assert {row.partition(",")[2] for row in rows if row.startswith("b")} == {
        "root.cluster.default,b,node-0001,1,100,150",
        "root.cluster.default,b,node-0002,1,100,150",
    }
    assert re.search(r"reservations timed out +0\n", result.output)
    assert "<dd>3<small>0 timed out</small></dd>" in (tmp_path / "report.html").read_text()


def test_what_cannot_be_a_gang_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "w.csv").write_text(GANGS.replace("4,4", "3,4"))
    result = invoke("--workload", tmp_path / "w.csv", "--nodes", "3xgpu=2", "--gangs")
    assert isinstance(result.exception, UsageError)
    assert str(result.exception).endswith("task 'b': 4 of gpu are not 3 equal parts")
    assert invoke("--workload", tmp_path / "w.csv", "--nodes", "3xgpu=2").exit_code == 0


def test_the_defaults_of_the_command_are_those_of_the_run() -> None:
    command = inspect.signature(simulate).parameters
    options = experiment.Options(SAMPLE / "workload.csv")
    assert command["reservation_delay"].default == options.reservation_delay
    assert command["seed"].default == options.seed
    assert command["gangs"].default is options.gangs is False
    assert command["gang_style"].default == options.gang_style.lower()


def test_a_bad_reservation_delay_is_answered_with_what_is_good() -> None:
    result = invoke(*NODES, *WORKLOAD, "--reservation-delay", "soon")
    assert isinstance(result.exception, UsageError)
    assert str(result.exception).startswith(
        "--reservation-delay: 'soon' is not a duration above 0, for example 2s"
    )


@pytest.mark.remuda_rule("RSV-3")
@pytest.mark.parametrize("text, delay_ns", [("2s", 2_000_000_000), ("off", None)])
def test_the_reservation_delay_reaches_the_scheduler(text: str, delay_ns: int | None) -> None:
    options = experiment.Options(
        SAMPLE / "workload.csv", str(SAMPLE / "nodes.csv"), reservation_delay=text
    )
    scenario, about = experiment.prepare(options)
    assert scenario.reservation_delay_ns == delay_ns
    assert about["reservation_delay"] == text
    assert (
        experiment.prepare(experiment.Options(SAMPLE / "workload.csv", options.nodes))[
            0
        ].reservation_delay_ns
        == 2_000_000_000
    )


def test_a_bad_row_ends_the_program_with_one_line_and_code_2(tmp_path: Path) -> None:
    trace = tmp_path / "tasks.csv"
    trace.write_text("task,submit,duration,gpu\na,0,1,1\nb,0,long,1\n")
    program = "from remuda.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program, "simulate", "--nodes=1xgpu=1", f"--workload={trace}"],
        env={**os.environ, "PYTHONPATH": str(PACKAGES)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert done.stdout == ""
    complaint = f"{trace}:3: column 'duration' 'long' is not a number of seconds"
    assert done.stderr == f"remuda: {complaint}\n"


def test_help_says_that_no_seed_changes_anything_today() -> None:
    text = " ".join(invoke("--help").output.replace("│", " ").split())
    assert "No part of a simulation is random" in text


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["--workload", "absent.csv", *NODES], "absent.csv: No such file"),
        ([*WORKLOAD], "--nodes"),
        ([*WORKLOAD, "--nodes", "absent.csv"], "absent.csv: No such file"),
        ([*WORKLOAD, "--nodes", "0xgpu=1"], "--nodes"),
        ([*WORKLOAD, *NODES, "--from", "soon"], "--from: 'soon' is not a number of seconds"),
        ([*WORKLOAD, *NODES, "--to", "-1"], "--to: '-1' is not between 0 and"),
        ([*WORKLOAD, *NODES, "--from", "999999"], "--from, --to: no task"),
        ([*WORKLOAD, *NODES, "--format", "philly"], "column 'job' is missing"),
        ([*WORKLOAD, *NODES, "--gang-style", "hard"], "there are no gangs without --gangs"),
        ([*WORKLOAD, *NODES, "--config", "absent.yaml"], "absent.yaml: No such file"),
    ],
)
def test_what_cannot_be_run_is_said_in_one_line(arguments: list[str], said: str) -> None:
    result = invoke(*arguments)
    assert isinstance(result.exception, UsageError)
    assert said in str(result.exception)
    assert "\n" not in str(result.exception)


@pytest.mark.parametrize("queue_by", ["user", "class"])
def test_a_label_the_format_does_not_have_is_refused(tmp_path: Path, queue_by: str) -> None:
    trace = tmp_path / "jobs.csv"
    trace.write_text("job,vc,submit_s,gpus,duration_s\n1,v,0,1,1\n")
    result = invoke("--workload", trace, "--nodes", "1xgpu=9000", "--queue-by", queue_by)
    assert str(result.exception).startswith(f"--queue-by {queue_by}: ")


def test_vc_is_refused_for_swf(tmp_path: Path) -> None:
    trace = tmp_path / "log.swf"
    trace.write_text("; MaxProcs: 8\n" + " ".join(["1", "0", "-1", "5", "4", *["-1"] * 13]) + "\n")
    assert invoke("--workload", trace).exit_code == 0
    result = invoke("--workload", trace, "--queue-by", "vc")
    assert str(result.exception).startswith("--queue-by vc: ")


CONFIG = """
partitions:
  - name: default
    queues:
      - name: root
        submitacl: "*"
        queues:
          - name: research
          - name: analytics
            resources:
              max: {vcore: 40}
          - name: product
"""


def test_a_configuration_names_the_queues_and_its_limits_hold(tmp_path: Path) -> None:
    config = tmp_path / "queues.yaml"
    config.write_text(CONFIG)
    limited = invoke(*NODES, *WORKLOAD, "--config", config, "--output", tmp_path / "limited")
    free = invoke(*NODES, *WORKLOAD, "--output", tmp_path / "free")
    assert limited.exit_code == free.exit_code == 0, limited.exception
    waits = [
        json.loads((tmp_path / name / "summary.json").read_text())["queues"]["root.analytics"]
        for name in ("limited", "free")
    ]
    assert waits[0]["wait_mean"] > waits[1]["wait_mean"]
    assert waits[0]["placed"] == waits[1]["placed"]


def test_a_queue_missing_in_the_configuration_is_named(tmp_path: Path) -> None:
    config = tmp_path / "queues.yaml"
    config.write_text(CONFIG.replace("research", "other"))
    result = invoke(*NODES, *WORKLOAD, "--config", config)
    assert "the configuration has no leaf queue 'root.research'" in str(result.exception)
    assert "workload.csv:" in str(result.exception)


def test_a_faulty_configuration_is_refused(tmp_path: Path) -> None:
    config = tmp_path / "queues.yaml"
    config.write_text("partitions: [")
    result = invoke(*NODES, *WORKLOAD, "--config", config)
    assert isinstance(result.exception, RemudaError)
    assert str(config) in str(result.exception)
