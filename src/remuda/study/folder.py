"""The output folder of a study: one file per finished run, and the files made of them.

A file is written beside its place and then moved there, so a run that has a file is finished. What
is finished is not done again: a study that was stopped goes on where it was.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from tempfile import NamedTemporaryFile, TemporaryFile
from typing import Final, final

from remuda.base.errors import RemudaError, UsageError
from remuda.study.figures import Content
from remuda.study.plan import Run

_RUNS: Final = "runs"
# What a result has.
_MEMBERS: Final = frozenset(
    {
        *("id", "trace", "configuration", "variant", "seed", "node_failures", "resource", "tasks"),
        *("placed", "measures", "queues", "wait_quantiles", "course", "decisions"),
    }
)
# What the name of a file begins with until it is whole.
_UNFINISHED: Final = ".unfinished-"


@final
class Folder:
    """An output folder, which may not exist yet."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._runs = directory / _RUNS

    def claim(self) -> None:
        """Make the folder if it is missing, and see that it can be written to.

        A process that was killed while it wrote left a file that is not whole; it is removed.

        Raises: UsageError.
        """
        try:
            self._runs.mkdir(parents=True, exist_ok=True)
            for place in (self.directory, self._runs):
                for left in place.glob(f"{_UNFINISHED}*"):
                    left.unlink(missing_ok=True)
            with TemporaryFile(dir=self.directory):
                pass
        except OSError as error:
            where = error.filename or self.directory
            raise UsageError(f"--output: {where}: {error.strerror or error}") from None

    def result(self, run: Run) -> Content | None:
        """Return the result of a run, None if it is not finished or its file is damaged."""
        try:
            content = json.loads(self._place(run).read_bytes())
        except (OSError, ValueError, RecursionError):
            return None
        whole = isinstance(content, dict) and content.keys() >= _MEMBERS
        return content if whole and content["id"] == run.run_id else None

    def keep(self, run: Run, result: Content) -> None:
        """Write the result of a run. Raises: RemudaError. Implements: EXT-59."""
        text = json.dumps(result, ensure_ascii=False, separators=(",", ":"))
        _replace(self._place(run), f"{text}\n".encode())

    def write(self, name: str, content: bytes) -> None:
        """Write a file made of the results. Raises: RemudaError."""
        _replace(self.directory / name, content)

    def remove(self, name: str) -> None:
        """Remove a file made of earlier results, if it is there. Raises: RemudaError."""
        place = self.directory / name
        try:
            place.unlink(missing_ok=True)
        except OSError as error:
            raise RemudaError(
                f"--output: cannot remove {place}: {error.strerror or error}"
            ) from None

    def _place(self, run: Run) -> Path:
        return self._runs / f"{run.run_id}.json"


def _replace(place: Path, content: bytes) -> None:
    """Write a file so that it is there whole or not at all. Raises: RemudaError."""
    try:
        _write(place, content)
    except OSError as error:
        what = f"--output: cannot write {place}: {error.strerror or error}"
        raise RemudaError(f"{what}; start the study again when that is mended") from None


def _write(place: Path, content: bytes) -> None:
    """Write a file and move it to its place. Raises: OSError."""
    with NamedTemporaryFile(dir=place.parent, prefix=_UNFINISHED, delete=False) as file:
        try:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        except BaseException:
            Path(file.name).unlink()
            raise
    Path(file.name).chmod(0o644)
    Path(file.name).replace(place)
