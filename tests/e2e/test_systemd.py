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
LOCAL_UNIT = UNIT.with_name("remuda-local-node.service")


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


def test_commands_outlast_a_service_of_the_unit_for_a_local_node() -> None:
    lines = [line for line in LOCAL_UNIT.read_text().splitlines() if "=" in line]
    said = dict(line.split("=", 1) for line in lines if not line.startswith("#"))
    assert said["KillMode"] == "process"
    assert (said["Delegate"], said["DelegateSubgroup"]) == ("cpu memory", "service")
    # Each of these takes something away from commands when the service stops.
    assert {"DynamicUser", "PrivateTmp", "RemoveIPC", "ProtectControlGroups"}.isdisjoint(said)
    assert " --local-node " in said["ExecStart"]


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd-analyze")
def test_systemd_takes_the_unit_for_a_local_node(tmp_path: Path) -> None:
    unit = tmp_path / LOCAL_UNIT.name
    unit.write_text(LOCAL_UNIT.read_text().replace("/opt/remuda/bin/remuda", sys.executable))
    verified = subprocess.run(
        ["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, check=False
    )
    # Before 254 a subgroup is an unknown key, and systemd goes on without it.
    said = [line for line in verified.stderr.splitlines() if "DelegateSubgroup" not in line]
    assert (verified.returncode, said) == (0, [])
