"""A plain installation: the wheel and what it asks for, apart from all else.

Nothing is fetched: the libraries are those of the environment that runs the tests, linked one by
one, so that what is not asked for is not there.
"""

from __future__ import annotations

import os
import subprocess
import venv
from importlib.metadata import PathDistribution, distribution
from pathlib import Path
from zipfile import ZipFile

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tools.wheels.backend import pure_wheel


class PlainInstall:
    """An environment made below a folder, with one extra or none.

    ``asked``: what the package itself asks for.
    """

    def __init__(self, folder: Path, extra: str = "") -> None:
        wheel = folder / pure_wheel(folder)
        venv.create(folder / "venv", symlinks=True)
        (self.packages,) = (folder / "venv/lib").glob("python3*/site-packages")
        with ZipFile(wheel) as archive:
            archive.extractall(self.packages)
        (about,) = self.packages.glob("remuda-*.dist-info")
        self.asked = _needed(PathDistribution(about).requires or [], extra)
        self.libraries = _closure(self.asked)
        for name in self.libraries:
            self._link(name)
        self.python = folder / "venv/bin/python"
        self._folder = folder

    def _link(self, name: str) -> None:
        """Make a library visible, and nothing that lies beside it."""
        found = distribution(name)
        tops = {path.parts[0] for path in found.files or []} - {"..", "__pycache__"}
        for top in sorted(tops):
            # Two libraries may share a folder: lightkube and its models do.
            if not (self.packages / top).exists():
                (self.packages / top).symlink_to(Path(str(found.locate_file(top))))

    def environment(self) -> dict[str, str]:
        """Return ours without what points at the sources, or at settings of whoever runs this."""
        left_out = ("REMUDA_", "PYTHON")
        return {k: v for k, v in os.environ.items() if not k.startswith(left_out)}

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run the interpreter of the environment to its end."""
        return subprocess.run(
            [str(self.python), *arguments],
            cwd=self._folder,
            env=self.environment(),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )


def _needed(requirements: list[str], extra: str = "") -> list[str]:
    """Return the names of what is asked for here, with an extra or without."""
    parsed = (Requirement(text) for text in requirements)
    return [
        canonicalize_name(each.name)
        for each in parsed
        if each.marker is None or each.marker.evaluate({"extra": extra})
    ]


def _closure(names: list[str]) -> set[str]:
    """Return these libraries and all that they ask for in turn."""
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += _needed(distribution(name).requires or [])
    return found
