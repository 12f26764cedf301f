"""The targets of the fuzzer: their first inputs and some changes of them show no fault."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from time import process_time

import pytest

from tools.fuzz import __main__ as command
from tools.fuzz.mutation import changed
from tools.fuzz.target import Target
from tools.fuzz.targets import TARGETS

CHANGED = 600

# Processor time that an input of a few kilobytes may take; usual are some milliseconds.
SECONDS = 2.0


@pytest.mark.parametrize("name", TARGETS)
def test_whatever_bytes_arrive_only_documented_refusals_come_of_them(name: str) -> None:
    target = TARGETS[name]
    random = Random(name)
    seeds = list(target.seeds())
    assert seeds
    assert all(len(seed) <= target.bytes_limit for seed in seeds)
    drawn = [
        changed(random.choice(seeds), target.words, random, target.bytes_limit)
        for _ in range(CHANGED)
    ]
    for data in [*seeds, *drawn]:
        began = process_time()
        target.take(data)
        assert process_time() - began < SECONDS, data


def test_changed_inputs_differ_and_keep_to_the_limit() -> None:
    random = Random(1)
    found = {changed(b"partitions: []", (b"queues:",), random, 20) for _ in range(200)}
    assert len(found) > 100
    assert max(map(len, found)) == 20


def fault(data: bytes) -> None:
    raise KeyError(data)


def test_an_input_is_given_to_its_target_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "crash-1"
    file.write_bytes(b"10Gi")
    assert command.main(["--target", "amounts", "--again", str(file)]) == 0
    assert capsys.readouterr().out == "fuzz: no fault of amounts\n"
    monkeypatch.setitem(TARGETS, "amounts", Target(fault, lambda: [b""]))
    with pytest.raises(KeyError, match="10Gi"):
        command.main(["--target", "amounts", "--again", str(file)])


# Stands for the process that is guided by coverage, whose library is not always installed.
GUIDED = """
import pathlib, sys
name, corpus, seeds = sys.argv[1:4]
options = dict(each[1:].split("=", 1) for each in sys.argv[4:])
assert options["max_total_time"] == "1", options
assert sorted(pathlib.Path(seeds).iterdir())
print("#2 INITED cov: 7 ft: 9")
print("stat::number_of_executed_units: 1000")
if name == "token":
    pathlib.Path(options["artifact_prefix"] + "crash-1").write_bytes(b"x")
    sys.exit(77)
"""


def test_inputs_are_counted_over_all_runs_and_a_fault_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "guided.py"
    script.write_text(GUIDED)
    monkeypatch.setattr(command, "GUIDED", (str(script),))
    folder = tmp_path / "found"
    options = ["--budget", "1s", "--workers", "1", "--folder", str(folder), "--target"]
    assert command.main([*options, "amounts"]) == 0
    assert command.main([*options, "amounts"]) == 0
    assert command.main([*options, "token"]) == 1
    state = json.loads((folder / "state.json").read_text())
    assert state["amounts"] == {"executed": 2_000, "seconds": 2, "covered": 7, "faults": []}
    assert state["token"]["faults"] == [f"{folder}/token/crash-1"]
    assert "fuzz: 3,000 inputs in all runs" in capsys.readouterr().out


def test_a_name_that_is_no_target_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command.main(["--target", "nothing"])
    assert "no target 'nothing'" in capsys.readouterr().err
