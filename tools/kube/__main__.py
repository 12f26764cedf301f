"""`make kube`: the programs of a real API server, to test against, built once for this machine.

    python -m tools.kube           build what is missing
    python -m tools.kube --where   print the folder with the programs

Debian has the sources of Kubernetes, and the Go tool chain and etcd are Python packages. All of it
stays below one folder outside of the source tree; nothing is installed. A build that is interrupted
goes on where it stopped. Nothing is built if KUBEBUILDER_ASSETS names a folder with the programs.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from remuda_kubernetes.testing import binaries
from tools.kube.commands import CannotError, Clock
from tools.kube.recipe import Recipe

MINUTES: Final = "REMUDA_KUBE_MINUTES"
_USUAL_MINUTES: Final = 20.0


def main(arguments: list[str] | None = None) -> int:
    """Build or tell; 0 if the programs are there."""
    parser = argparse.ArgumentParser(prog="python -m tools.kube", description="see `make kube`")
    parser.add_argument("--where", action="store_true", help="print the folder of the programs")
    if parser.parse_args(arguments).where:
        return where()
    if os.environ.get(binaries.ASSETS):
        return named()
    home = binaries.cache()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        home.mkdir(parents=True, exist_ok=True)
        with alone(home):
            folder = Recipe(home, Clock(minutes()), say).programs()
    except (CannotError, OSError) as error:
        return cannot(home, str(error))
    except KeyboardInterrupt:
        return cannot(home, "it was interrupted; run `make kube` again, which goes on from there")
    (home / binaries.FAILURE).unlink(missing_ok=True)
    say(f"ready in {folder}")
    return 0


def where() -> int:
    """Print the folder with the programs."""
    try:
        print(binaries.find().folder)
    except binaries.BinariesMissingError as error:
        say(str(error))
        return 1
    return 0


def named() -> int:
    """Judge the folder that the user named."""
    lacking = binaries.missing()
    say(lacking or f"nothing is built: {binaries.ASSETS} names {os.environ[binaries.ASSETS]}")
    return 1 if lacking else 0


def cannot(home: Path, reason: str) -> int:
    """Tell why there will be no API server, now and to the tests."""
    with contextlib.suppress(OSError):
        (home / binaries.FAILURE).write_text(reason + "\n")
    say(f"NO REAL API SERVER: {reason}")
    return 1


def minutes() -> float:
    """Return how long all may take.

    Raises:
        CannotError: The variable is no number of minutes.
    """
    text = os.environ.get(MINUTES, "") or str(_USUAL_MINUTES)
    try:
        return float(text)
    except ValueError:
        raise CannotError(f"{MINUTES} is a number of minutes, and not {text!r}") from None


@contextlib.contextmanager
def alone(home: Path) -> Iterator[None]:
    """Wait until no other process builds in the same folder."""
    with (home / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"another process builds in {home}; waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def say(line: str) -> None:
    """Print a line at once, also where output is collected."""
    print(f"kube: {line}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
