"""A served local node in a directory of the test, and the commands that people use it with."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.e2e.serving import FREE_PORTS, PARTITION, Served, environment, run_remuda
from tests.e2e.signals import heed_signals
from tests.waiting import wait

# A part of a core, so that several tasks run on the smallest machine.
SMALL = ("--cpus", "100m")


class Node:
    """The local node below ``folder``: its services one after the other, and its commands."""

    def __init__(self, folder: Path) -> None:
        self.directory = folder / "state"
        self.folder = folder

    def served(self, *arguments: str, **extra: str) -> Served:
        """A service of this node; enter it to start it."""
        return Served("--local-node", *FREE_PORTS, *arguments, **{**self._here(), **extra})

    def remuda(self, *arguments: str, **extra: str) -> subprocess.CompletedProcess[str]:
        """Run a command of the program to its end."""
        return run_remuda(*arguments, **{**self._here(), **extra})

    def begun(self, *arguments: str) -> subprocess.Popen[str]:
        """Start a command of the program."""
        return subprocess.Popen(
            [sys.executable, "-m", "remuda", *arguments],
            env=environment(**self._here()),
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=heed_signals,  # noqa: PLW1509 - it only sets what a signal does
        )

    def submit(self, *arguments: str) -> str:
        """Submit a command and return its ID."""
        done = self.remuda("submit", *arguments)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout.strip()

    def waited(self, identity: str) -> tuple[int, str]:
        """Wait for a command; return its code and what is said of it."""
        done = self.remuda("wait", identity)
        assert done.stderr == ""
        return done.returncode, done.stdout.strip()

    @property
    def secret(self) -> str:
        """What lets a caller in."""
        return (self.directory / "token").read_text().strip()

    def _here(self) -> dict[str, str]:
        return {"REMUDA_LOCAL_DIR": str(self.directory)}


def allocations(served: Served, application: str) -> dict[str, str]:
    """The allocations of an application: key to node."""
    found = served.client.get(f"{PARTITION}/application/{application}")
    if found.status_code == 404:
        return {}
    shown: dict[str, Any] = found.json()
    return {each["allocationKey"]: each["nodeId"] for each in shown.get("allocations") or []}


def asked(served: Served, node: Node, identity: str) -> dict[str, Any]:
    """What the HTTP API says of a command."""
    path = f"/ws/v1/local/command/{identity}"
    found = served.client.get(path, headers={"Authorization": f"Bearer {node.secret}"})
    assert found.status_code == 200
    shown: dict[str, Any] = json.loads(found.content)
    return shown


def wait_for_file(path: Path) -> None:
    """Wait until a task has made a file and closed it; a shell makes it before it writes."""
    wait(lambda: path.exists() and path.stat().st_size > 0)


def wait_until(done: Callable[[], bool]) -> None:
    """Wait until something is so; what cannot be read yet is not so."""

    def so() -> bool:
        with suppress(FileNotFoundError):
            return done()
        return False

    wait(so)
