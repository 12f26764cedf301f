"""``remuda config impact``: what it says and with which exit code."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from remuda.core.messages.ask import Ask
from remuda.core.messages.commands import (
    CREATE,
    NewApplication,
    NodeUpdate,
    RegisterResourceManager,
    UpdateAllocations,
    UpdateApplications,
    UpdateNodes,
)
from remuda.core.scheduler import Scheduler
from remuda.runtime import snapshots
from remuda.runtime.configuration.text import read_configuration
from tests.e2e.serving import run_remuda
from tests.unit.core.door import START

pytestmark = [
    pytest.mark.remuda_rule("EXT-67"),
    pytest.mark.skipif(sys.platform != "linux", reason="copies take /proc"),
]

OLD = """\
partitions:
  - name: default
    queues:
      - name: root
        submitacl: "*"
        queues:
          - name: a
            resources: {guaranteed: {vcore: 4}}
          - name: b
"""
NEW = OLD.replace("guaranteed: {vcore: 4}", "max: {vcore: 2}").replace("          - name: b\n", "")


def state(folder: Path, *rm_ids: str) -> str:
    """A snapshot of a scheduler with a node, a running and a waiting ask per RM."""
    (folder / "old.yaml").write_text(OLD)
    scheduler = Scheduler()
    for rm_id in rm_ids:
        config = read_configuration(folder / "old.yaml")
        scheduler.handle(RegisterResourceManager(rm_id, config), START)
        node = NodeUpdate("n", CREATE, {"vcore": 6000})
        scheduler.handle(UpdateNodes(rm_id, (node,)), START)
        jobs = [NewApplication(name, f"root.{name}", user="ada") for name in "ab"]
        scheduler.handle(UpdateApplications(rm_id, tuple(jobs)), START)
        scheduler.handle(UpdateAllocations(rm_id, asks=(Ask("a", "run", {"vcore": 3000}),)), START)
        scheduler.step(START, 10)
        scheduler.handle(UpdateAllocations(rm_id, asks=(Ask("a", "wait", {"vcore": 1000}),)), START)
    snapshots.write(folder / "state", scheduler, START)
    return str(folder / "state")


def test_it_says_what_differs_as_text_and_as_json(tmp_path: Path) -> None:
    snapshot, new = state(tmp_path, "rm"), tmp_path / "new.yaml"
    new.write_text(NEW)
    done = run_remuda("config", "impact", str(new), "--snapshot", snapshot)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[:4] == [
        "queues that go: 1",
        "  root.b: 1 application, it uses nothing",
        "quotas below usage: 1",
        "  root.a: it uses 3000 of vcore, and may use 2000 instead of no limit",
    ]
    assert "  a/wait: not placed instead of on n\n" in done.stdout
    done = run_remuda("config", "impact", str(new), "--snapshot", snapshot, "--output", "json")
    found = json.loads(done.stdout)
    assert found["queues_gone"][0]["queue"] == "root.b"
    assert found["asks"][0]["before"] == ["n"]
    assert found["moved"][0]["application_id"] == "b"
    done = run_remuda(
        "config", "impact", str(tmp_path / "old.yaml"), "--snapshot", snapshot, "--within", "0"
    )
    assert (done.returncode, done.stdout) == (0, "no differences\n")


def test_what_is_wrong_is_one_line_and_code_two(tmp_path: Path) -> None:
    snapshot = state(tmp_path, "rm", "other")
    old, bad, parent = tmp_path / "old.yaml", tmp_path / "bad.yaml", tmp_path / "parent.yaml"
    bad.write_text("partitions: 7\n")
    parent.write_text(f"{OLD}            queues:\n              - name: c\n")
    for arguments, said in (
        ((str(old), "--snapshot", snapshot), "with --rm; it has: other, rm"),
        (
            (str(old), "--snapshot", snapshot, "--rm", "x"),
            "no resource manager 'x'; it has: other, rm",
        ),
        ((str(old), "--snapshot", str(old), "--rm", "rm"), "this is no snapshot of Remuda"),
        ((str(bad), "--snapshot", snapshot, "--rm", "rm"), "bad.yaml:1:13"),
        ((str(tmp_path / "none"), "--snapshot", snapshot), "cannot read"),
        ((str(parent), "--snapshot", snapshot, "--rm", "rm"), "root.b cannot become a parent"),
        ((str(old), "--snapshot", snapshot, "--within", "-1"), "--within is -1; it has to be"),
        ((str(old), "--snapshot", snapshot, "--within", "nan"), "--within is nan"),
        ((), "NEW"),
    ):
        done = run_remuda("config", "impact", *arguments)
        assert (done.returncode, done.stdout) == (2, ""), done
        assert said in done.stderr
        assert done.stderr.count("\n") == 1
