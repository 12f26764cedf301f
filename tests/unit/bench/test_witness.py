"""The process that tells for how long the machine stood still."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from remuda.bench.witness import Witness, witness
from tests.waiting import wait


def test_the_longest_gap_that_touches_a_span_counts(tmp_path: Path) -> None:
    noted = tmp_path / "gaps"
    noted.write_text("ready\n10.0 10.004\n11.0 11.05\n12.0 12.02\n")
    found = Witness(noted, 0)
    assert found.longest_milliseconds(0.0, 20.0) == 50.0
    assert found.longest_milliseconds(11.04, 11.5) == 50.0
    assert found.longest_milliseconds(11.5, 12.01) == 20.0
    assert found.longest_milliseconds(10.5, 10.9) == 0.0
    noted.write_text("ready\n")
    assert found.longest_milliseconds(0.0, 20.0) == 0.0


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="no process can be stopped here")
def test_a_process_that_cannot_run_is_noticed() -> None:
    began = time.monotonic()
    with witness() as beside:
        os.kill(beside.pid, signal.SIGSTOP)
        time.sleep(0.2)
        os.kill(beside.pid, signal.SIGCONT)
        wait(lambda: beside.longest_milliseconds(began, time.monotonic()) > 0)
        longest = beside.longest_milliseconds(began, time.monotonic())
    assert longest >= 190
    with pytest.raises(ProcessLookupError):
        os.kill(beside.pid, 0)
