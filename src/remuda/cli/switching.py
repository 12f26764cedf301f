"""Stopping and starting a queue or partition: the same call, one way or the other."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from remuda.base.errors import UsageError
from remuda.base.texts import shown
from remuda.cli.administering import administrator, confirm, manager_of

SwitchedArgument: TypeAlias = Annotated[
    str, typer.Argument(metavar="KIND", help="queue or partition.")
]
NameArgument: TypeAlias = Annotated[
    str, typer.Argument(metavar="NAME", help="Path of the queue, or name of the partition.")
]

_DONE = {"stop": "stopped", "start": "started"}


def switch(
    action: str,
    kind: str,
    name: str,
    partition: str,
    rm: str,
    *,
    yes: bool,
    grpc: tuple[str, Path | None, Path | None],
) -> None:
    """Stop or start an object once a person agrees, and say what it was before.

    ``grpc``: address, authorities and token. Raises: UsageError, and those of ``administrator``.
    """
    if kind not in ("queue", "partition"):
        raise UsageError(f"no {action} for a {shown(kind)}; there is for a queue and a partition")
    queue = name if kind == "queue" else ""
    partition = partition if queue else name
    with administrator(*grpc) as admin:
        rm_id = manager_of(admin, partition, rm)
        where = f"{kind} {name}" if not queue else f"{kind} {name} of the partition {partition}"
        confirm(f"{action} the {shown(where)} ({shown(rm_id)})", yes=yes)
        call = admin.stop if action == "stop" else admin.start
        before = call(rm_id, queue, partition=partition)
    print(f"{shown(where)}: {_DONE[action]}, it was {shown(before)} before")
