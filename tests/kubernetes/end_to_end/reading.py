"""Somebody who reads a page and types its commands for a cluster."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from remuda_kubernetes.testing import binaries
from tests.docs.examples import Block

SECONDS: Final = 200
# The pages whose commands the tests of this folder type.
FOLLOWED: Final = frozenset(
    {
        "how-to/check-pods-at-admission.md",
        "how-to/find-out-what-is-wrong-on-kubernetes.md",
        "how-to/install-on-kubernetes.md",
        "how-to/shadow-a-cluster.md",
        "tutorials/kubernetes.md",
    }
)
# These need a kubelet that answers, and the tests have none.
OF_KUBELETS: Final = (" logs ", " port-forward ")


class Reader:
    """Saves the page's files and types its kubectl commands.

    ``words``: what the page writes in capitals for names, and the names.
    """

    def __init__(
        self, folder: Path, kubeconfig: Path, kubectl: Path, words: dict[str, str] | None = None
    ) -> None:
        self._folder = folder
        self._words = words or {}
        path = f"{kubectl.parent}{os.pathsep}{os.environ['PATH']}"
        self._environment = {
            **os.environ,
            "PATH": path,
            "KUBECONFIG": str(kubeconfig),
            "HOME": str(folder),
        }
        self.told: list[tuple[str, str]] = []

    def follow(self, block: Block) -> None:
        """Do what a block says, as far as it is about a cluster."""
        if block.note == "file":
            (self._folder / block.value).write_text(block.text)
        elif block.language == "sh":
            for line in block.text.splitlines():
                self.type(line, f"line {block.line}: ")

    def type(self, line: str, place: str = "") -> None:
        """Type a line if it is a command for a cluster; without an answer of it if it may not."""
        if not line.startswith("kubectl ") or any(word in line for word in OF_KUBELETS):
            return
        for word, name in self._words.items():
            line = line.replace(word, name)
        self.told.append((line, self.run(line, place)))

    def remuda(self, line: str) -> None:
        """Type a command of ours."""
        assert line.startswith("remuda ")
        self.run(f"{sys.executable} -m {line}")

    def run(self, line: str, place: str = "") -> str:
        """Type one line; returns what it prints."""
        done = subprocess.run(
            ["sh", "-c", line],
            cwd=self._folder,
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == 0, f"{place}{line}\n{done.stdout}{done.stderr}"
        return done.stdout

    def output(self, begin: str) -> str:
        """What the last command that begins so printed."""
        return next(text for line, text in reversed(self.told) if line.startswith(begin))


def kubectl_or_skip() -> Path:
    """Return kubectl, or skip the test and say why."""
    try:
        program = binaries.find().kubectl
    except binaries.BinariesMissingError as reason:
        pytest.skip(f"no kubectl: {reason}")
    if program is None:
        pytest.skip(f"no kubectl in {binaries.find().folder}")
    return program
