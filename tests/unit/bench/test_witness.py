"""The processes that tell for how long the machine stood still."""

from __future__ import annotations

import os
import signal
import time
from functools import partial
from pathlib import Path

import pytest

from remuda.bench.services.witness import Witness, witness
from tests.waiting import wait


def test_the_longest_gap_that_touches_a_span_counts(tmp_path: Path) -> None:
    noted = [tmp_path / "first", tmp_path / "second"]
    noted[0].write_text("ready\n10.0 10.004\n11.0 11.05\n")
    noted[1].write_text("ready\n12.0 12.02\n")
    found = Witness(noted, [])
    assert found.longest_milliseconds(0.0, 20.0) == 50.0
    assert found.longest_milliseconds(11.04, 11.5) == 50.0
    assert found.longest_milliseconds(11.5, 12.01) == 20.0
    assert found.longest_milliseconds(10.5, 10.9) == 0.0
    for each in noted:
        each.write_text("ready\n")
    assert found.longest_milliseconds(0.0, 20.0) == 0.0


def still_since(beside: Witness, began: float) -> bool:
    return beside.longest_milliseconds(began, time.monotonic()) >= 190


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="no process can be stopped here")
def test_a_process_that_cannot_run_is_noticed() -> None:
    with witness() as beside:
        for pid in beside.pids:
            began = time.monotonic()
            os.kill(pid, signal.SIGSTOP)
            time.sleep(0.2)
            os.kill(pid, signal.SIGCONT)
            wait(partial(still_since, beside, began))
    for pid in beside.pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="cores cannot be told apart here")
def test_each_core_has_one() -> None:
    with witness() as beside:
        assert [os.sched_getaffinity(pid) for pid in beside.pids] == [
            {core} for core in sorted(os.sched_getaffinity(0))
        ]
