"""Starts a shadow from what the command line says, and tells at its end what it found."""

from __future__ import annotations

import os
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Final

import msgspec

# The gRPC library would add lines of its own to ours; it reads this when it is imported.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")

from remuda.app import Settings, run
from remuda.base.errors import UsageError
from remuda.edges.addresses import Address
from remuda_kubernetes.admission.queue_files import faults_of
from remuda_kubernetes.shadow.report import as_text
from remuda_kubernetes.shadow.run import Options, Program

_ANY: Final[Address] = ("127.0.0.1", 0)
_FILE_BYTES: Final = 4 << 20


def start(options: Options, seconds: float | None) -> Program:
    """Run until told to stop, or for so many seconds.

    What the scheduler says about itself goes to the error output: the standard output has nothing
    but what was found.
    Raises: UsageError, ShimStoppedError, LoopStoppedError.
    """
    program = Program(options)
    settings = Settings(
        config=None,
        grpc_address=_ANY,
        rest_address=_ANY,
        rest_cors=False,
        demo=False,
        duration_seconds=seconds,
        record=None,
    )
    with redirect_stdout(sys.stderr):
        run(settings, program.run)
    return program


def summary(program: Program, *, as_json: bool) -> str:
    """Return what was found, to be printed."""
    found = program.agreement()
    if as_json:
        return msgspec.json.format(msgspec.json.encode(found), indent=2).decode() + "\n"
    return as_text(found)


def read_queues(path: Path) -> str:
    """Return a queue file that the scheduler takes; an empty one is the built-in one.

    Raises: UsageError.
    """
    try:
        with path.open("rb") as stream:
            data = stream.read(_FILE_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}; name a queue file") from None
    if len(data) > _FILE_BYTES:
        raise UsageError(f"{path}: has more than {_FILE_BYTES} bytes; name a queue file")
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise UsageError(f"{path}: is no text; name a queue file in YAML") from None
    for fault in faults_of(text):
        if fault.error:
            raise UsageError(f"{path}: {fault}")
    return text
