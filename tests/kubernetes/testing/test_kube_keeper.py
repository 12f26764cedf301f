"""No server outlives its user, however the user ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from remuda_kubernetes.testing.kept import KeptProcess, free_ports
from tests.waiting import wait

# A server that starts another process; both say who they are, and neither ends by itself.
SERVER = """
import os, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print(os.getpid(), child.pid, flush=True)
time.sleep(600)
"""
USER = """
import sys, time
from pathlib import Path
from remuda_kubernetes.testing.kept import KeptProcess
kept = KeptProcess([sys.executable, "-c", sys.argv[1]], Path(sys.argv[2]))
time.sleep(600)
"""


def pids(log: Path) -> list[int]:
    """The processes that the server told, when it has."""
    wait(lambda: log.exists() and log.read_text().endswith("\n"))
    return [int(word) for word in log.read_text().split()]


def alive(pid: int) -> bool:
    """Whether a process runs; one that only waits to be reaped does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def test_the_end_of_a_server_is_the_end_of_all_it_started(tmp_path: Path) -> None:
    kept = KeptProcess([sys.executable, "-c", SERVER], tmp_path / "log")
    both = pids(tmp_path / "log")
    assert [alive(pid) for pid in both] == [True, True]
    kept.end()
    assert kept.ended
    wait(lambda: not any(map(alive, both)))
    kept.end()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_server_ends_when_its_user_is_killed(tmp_path: Path, number: signal.Signals) -> None:
    log = tmp_path / "log"
    with subprocess.Popen([sys.executable, "-c", USER, SERVER, str(log)]) as user:
        both = pids(log)
        user.send_signal(number)
        user.wait()
    wait(lambda: not any(map(alive, both)))


def test_a_server_ends_when_its_keeper_is_killed(tmp_path: Path) -> None:
    kept = KeptProcess([sys.executable, "-c", SERVER], tmp_path / "log")
    server, child = pids(tmp_path / "log")
    keeper = int(Path(f"/proc/{server}/stat").read_text().rpartition(")")[2].split()[1])
    os.kill(keeper, signal.SIGKILL)
    wait(lambda: not alive(server))
    kept.end()
    os.kill(child, signal.SIGKILL)


def test_a_server_that_ends_by_itself_tells_code_and_last_words(tmp_path: Path) -> None:
    ending = "print('the port is taken', flush=True); raise SystemExit(3)"
    kept = KeptProcess([sys.executable, "-c", ending], tmp_path / "log")
    wait(lambda: kept.ended)
    assert f"ended with code 3; see {tmp_path / 'log'}:\nthe port is taken" in kept.why()
    kept.end()


def test_a_paused_server_does_nothing_until_it_is_resumed(tmp_path: Path) -> None:
    kept = KeptProcess([sys.executable, "-c", SERVER], tmp_path / "log")
    server = pids(tmp_path / "log")[0]
    state = Path(f"/proc/{server}/stat")
    kept.pause()
    wait(lambda: ") T " in state.read_text())
    kept.resume()
    wait(lambda: ") T " not in state.read_text())
    kept.end()


def test_free_ports_differ() -> None:
    assert len(set(free_ports(20))) == 20
