"""Stopping and starting a queue or partition, draining a node and ending that."""

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

DrainedArgument: TypeAlias = Annotated[str, typer.Argument(metavar="KIND", help="node.")]
NodesArgument: TypeAlias = Annotated[
    list[str], typer.Argument(metavar="NAME...", help="IDs of the nodes.")
]

_DONE = {"stop": "stopped", "start": "started", "drain": "drained", "undrain": "undrained"}


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


def switch_nodes(
    action: str,
    kind: str,
    nodes: list[str],
    partition: str,
    rm: str,
    *,
    yes: bool,
    grpc: tuple[str, Path | None, Path | None],
) -> None:
    """Drain nodes or end that once a person agrees; say what each was before and is now.

    ``grpc``: address, authorities and token. Raises: UsageError, and those of ``administrator``;
    what was changed before a refusal stays changed, and was told. Rules: EXT-176.
    """
    if kind != "node":
        raise UsageError(f"no {action} for a {shown(kind)}; there is for a node")
    with administrator(*grpc) as admin:
        rm_id = manager_of(admin, partition, rm)
        what = f"the node {nodes[0]}" if len(nodes) == 1 else f"{len(nodes)} nodes"
        where = f"of the partition {partition}"
        confirm(f"{action} {shown(what)} {shown(where)} ({shown(rm_id)})", yes=yes)
        call = admin.drain if action == "drain" else admin.undrain
        for node in nodes:
            before = call(rm_id, node, partition=partition)
            told = f"node {shown(node)} {shown(where)}: {_DONE[action]}"
            print(f"{told}, it was {shown(before)} before", flush=True)
