"""The options of ``remuda run`` and ``remuda submit``, and the command that they describe."""

from __future__ import annotations

import os
from typing import Annotated, TypeAlias

import typer

from remuda.base.errors import UsageError

ProgramArgument: TypeAlias = Annotated[
    list[str], typer.Argument(metavar="-- PROGRAM ARGUMENT...", help="What to run.")
]
CpusOption: TypeAlias = Annotated[
    str,
    typer.Option(
        metavar="AMOUNT",
        help="Cores of each task: 2, or 500m. A task has whole ones for itself alone.",
    ),
]
MemoryOption: TypeAlias = Annotated[
    str,
    typer.Option(
        metavar="AMOUNT",
        help="Memory of each task: 8Gi. It is held to it as 'remuda serve --local-bounds' says.",
    ),
]
GpusOption: TypeAlias = Annotated[
    int, typer.Option(metavar="N", min=0, help="GPUs of each task; it sees no others.")
]
GangOption: TypeAlias = Annotated[
    int, typer.Option(metavar="N", min=1, max=256, help="So many tasks, which start together.")
]
QueueOption: TypeAlias = Annotated[
    str, typer.Option(metavar="PATH", help="Queue. Default: what the placement rules say.")
]
NameOption: TypeAlias = Annotated[
    str, typer.Option(metavar="NAME", help="First part of its ID. Default: the program's name.")
]
PriorityOption: TypeAlias = Annotated[
    int, typer.Option(metavar="N", help="Those with a higher one come first in their queue.")
]


def submission(
    program: list[str],
    cpus: str,
    memory: str,
    gpus: int,
    gang: int,
    queue: str,
    name: str,
    priority: int,
) -> bytes:
    """Return the body of a request that submits a command, with what it inherits from here.

    Raises: UsageError.
    """
    import msgspec  # noqa: PLC0415 - keeps help fast

    resources = {"vcore": cpus}
    if memory:
        resources["memory"] = memory
    if gpus:
        resources["nvidia.com/gpu"] = str(gpus)
    umask = os.umask(0o077)
    os.umask(umask)
    try:
        directory = os.getcwd()  # noqa: PTH109 - a text is wanted
    except FileNotFoundError:
        raise UsageError(
            "the working directory does not exist any more; change to another"
        ) from None
    body = {
        "arguments": program,
        "environment": dict(os.environ),
        "directory": directory,
        "umask": umask,
        "resources": resources,
        "gang": gang,
        "queue": queue,
        "name": name,
        "priority": priority,
    }
    try:
        return msgspec.json.encode(body)
    except UnicodeEncodeError:
        raise UsageError(
            "an argument, a variable or the working directory is not UTF-8; it cannot be sent"
        ) from None
