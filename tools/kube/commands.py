"""Running other programs with a bound on their time, and telling what they say when they fail."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from remuda_kubernetes.testing import keeper

_LAST_LINES: Final = 8


class CannotError(Exception):
    """A step cannot be done; the text is a sentence that says why and what to do."""


class FailedError(CannotError):
    """A program failed; the text has the end of what it said."""


class Clock:
    """The rest of the time that all steps have together."""

    def __init__(self, minutes: float) -> None:
        self._minutes = minutes
        self._end = time.monotonic() + minutes * 60

    def seconds(self) -> float:
        """Return the seconds that are left, at least a little.

        Raises:
            CannotError: Nothing is left.
        """
        left = self._end - time.monotonic()
        if left <= 0:
            raise self.spent()
        return left

    def spent(self) -> CannotError:
        """Return the error that says that the time is over."""
        return CannotError(
            f"it took longer than {self._minutes:g} minutes; run `make kube` again, which goes on"
            " where it stopped, or give it more with REMUDA_KUBE_MINUTES"
        )


def run(
    command: Sequence[str | Path],
    *,
    clock: Clock,
    log: Path,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> None:
    """Run a program; what it prints goes to the log.

    Raises:
        FailedError: It ended with another code than 0.
        CannotError: The time is over, and all of it was killed; or there is no such program.
    """
    path = (os.environ if environment is None else environment).get("PATH")
    if not shutil.which(command[0], path=path):
        raise CannotError(f"{command[0]} is missing, or may not be executed")
    with log.open("ab") as output:
        start = output.tell()
        # Under a keeper: however this process ends, the program ends with all it started.
        program = subprocess.Popen(
            [sys.executable, "-I", keeper.__file__, *map(str, command)],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
            cwd=folder,
            env=None if environment is None else dict(environment),
            start_new_session=True,
        )
        assert program.stdin is not None
        try:
            code = program.wait(clock.seconds())
        except subprocess.TimeoutExpired:
            raise clock.spent() from None
        finally:
            with contextlib.suppress(BrokenPipeError):
                program.stdin.close()
            program.wait()
    if code:
        told = log.read_bytes()[start:].decode(errors="replace").strip()
        last = "\n".join(told.splitlines()[-_LAST_LINES:])
        raise FailedError(f"{Path(command[0]).name} failed with code {code}; see {log}:\n{last}")
