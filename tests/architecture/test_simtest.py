"""The simulation without end goes on where it was, and keeps what it finds."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from tests.simulation.faults.world import WorldError
from tools import simtest


def test_a_seed_that_fails_is_kept_and_the_next_start_goes_on_behind_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(seed: int, *, gangs: bool, checked: int, budget: float) -> Counter[str]:
        if seed == 1_003:
            raise WorldError("seed 1003: a counter is wrong", "seed 1003\n...")
        return Counter({"input": 5, "check": 5})

    monkeypatch.setattr(simtest, "run", run)
    options = ["--budget", "1ms", "--workers", "1", "--folder", str(tmp_path)]
    assert simtest.main([*options, "--budget", "50ms", "--seed", "1000"]) == 1
    before = json.loads((tmp_path / "state.json").read_text())["next"]
    assert simtest.main([*options, "--budget", "50ms"]) == 1
    state = json.loads((tmp_path / "state.json").read_text())
    assert state["next"] > before >= 1_010
    assert state["failed"] == [1_003]
    assert state["worlds"] == state["next"] - 1_000
    assert state["inputs"] == 5 * (state["worlds"] - 1)
    kept = (tmp_path / "seed-1003.txt").read_text()
    script = tmp_path / "seed-1003.script"
    assert kept.startswith(f"python -m tools.simtest --replay {script}\n")
    assert "a counter is wrong" in kept
    assert script.read_text() == "seed 1003\n..."
    assert "1 failed" in capsys.readouterr().out


def test_one_seed_can_be_run_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert simtest.main(["--only", "5", "--check-every", "50", "--folder", str(tmp_path)]) == 0
    assert capsys.readouterr().out == "seed 5: no fault\n"


def test_what_is_no_script_is_refused_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "x.script"
    for text in ("", "seed 1", "seed 1\nprofile {}\n1.0 east nothing 5", "profile 1\nseed 2"):
        file.write_text(text)
        assert simtest.main(["--replay", str(file)]) == 2
        told = capsys.readouterr().out
        assert told.startswith(f"simtest: {file} is no script of a world: ")
        assert told.count("\n") == 1


def test_a_budget_is_a_duration(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        simtest.main(["--budget", "long"])
    assert "'long' is no duration above 0, for example 8h" in capsys.readouterr().err
