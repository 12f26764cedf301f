"""`remuda serve` under systemd, as far as that can be had without its being the first process."""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.serving import FREE_PORTS, Served
from tests.package import ROOT

UNIT = ROOT / "deploy/systemd/remuda.service"


def test_the_service_says_when_it_is_ready_that_it_lives_and_that_it_ends(tmp_path: Path) -> None:
    address = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as told:
        told.bind(address)
        told.settimeout(120)
        with Served(*FREE_PORTS, NOTIFY_SOCKET=address, WATCHDOG_USEC="300000") as served:
            first = told.recv(1_000).decode()
            assert first == f"READY=1\nSTATUS=listening grpc={served.grpc} rest={served.rest}"
            for _ in range(3):
                assert told.recv(1_000) == b"WATCHDOG=1"
            served.end(signal.SIGTERM)
        while (last := told.recv(1_000)) == b"WATCHDOG=1":
            pass
        assert last == b"STOPPING=1"


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd-analyze")
def test_systemd_takes_the_unit_and_finds_it_hardened(tmp_path: Path) -> None:
    unit = tmp_path / UNIT.name
    # The program has to be there; where is up to who installs it.
    unit.write_text(UNIT.read_text().replace("/opt/remuda/bin/remuda", sys.executable))
    verified = subprocess.run(
        ["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, check=False
    )
    assert (verified.returncode, verified.stderr) == (0, "")
    judged = subprocess.run(
        ["systemd-analyze", "security", "--offline=yes", "--threshold=20", str(unit)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert judged.returncode == 0, judged.stdout
