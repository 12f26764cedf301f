"""Installs Debian's packages for tests, where that is possible, and looks for libraries."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence

# A machine without a network shall say so soon.
_GET = (
    *("apt-get", "-qq", "-o=Dpkg::Use-Pty=0", "-o=Acquire::Retries=1"),
    *("-o=Acquire::http::Timeout=20", "-o=Acquire::https::Timeout=20"),
)


def install_packages(purpose: str, packages: Sequence[str], answers: str = "") -> bool:
    """Install packages on Debian or Ubuntu as root; say so in a line that names the purpose.

    ``answers``: to questions that the packages ask, as debconf takes them.
    """
    if os.geteuid() or not shutil.which("apt-get"):
        return False
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    print(f"{purpose}: installing {', '.join(packages)}")
    if answers:
        command = ["/usr/bin/debconf-set-selections"]
        subprocess.run(command, input=answers, text=True, check=False)
    install = [*_GET, "install", "-y", "--no-install-recommends", *packages]
    subprocess.run([*_GET, "update"], env=quiet, stdout=subprocess.DEVNULL, check=False)
    return (
        subprocess.run(install, env=quiet, stdout=subprocess.DEVNULL, check=False).returncode == 0
    )


def has_library(module: str) -> bool:
    """Whether the virtual environment has a library, and it loads."""
    command = [sys.executable, "-c", f"import {module}"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0
