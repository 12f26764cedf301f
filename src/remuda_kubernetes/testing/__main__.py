"""The server as a program: `python -m remuda_kubernetes.testing --kubeconfig FILE`.

It prints one line with its address when it accepts requests, and ends on SIGINT or SIGTERM.
"""

from __future__ import annotations

import argparse
import gc
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import msgspec

from remuda_kubernetes.testing.hollow import HollowCluster
from remuda_kubernetes.testing.kubelet import hollow_node
from remuda_kubernetes.testing.server import ApiServer
from remuda_kubernetes.testing.settings import NEWEST, OLDEST, Settings
from remuda_kubernetes.testing.statuses import Json, Refusal

_MISUSED = 2


def main(arguments: list[str] | None = None) -> int:
    """Serve until a signal comes. Returns the exit code."""
    chosen = _parser().parse_args(arguments)
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    server = ApiServer(Settings(minor=chosen.minor, token=chosen.token), port=chosen.port)
    try:
        if chosen.load is not None:
            server.load(_objects(chosen.load))
            _keep_loaded()
        server.start()
    except (OSError, Refusal, msgspec.DecodeError) as error:
        sys.stderr.write(f"remuda_kubernetes.testing: {error}\n")
        return _MISUSED
    if chosen.kubeconfig is not None:
        server.write_kubeconfig(chosen.kubeconfig)
    with _hollow(server.address, chosen.nodes, chosen.token):
        sys.stdout.write(f"{server.address}\n")
        sys.stdout.flush()
        ended.wait()
    server.stop()
    return 0


def _hollow(address: str, count: int, token: str | None) -> AbstractContextManager[object]:
    """Return a cluster of so many nodes without machines around the server, or nothing."""
    if count == 0:
        return nullcontext()
    nodes = [hollow_node(f"n{number}") for number in range(1, count + 1)]
    return HollowCluster(address, token=token, nodes=nodes)


def _keep_loaded() -> None:
    """Let the collector of cycles leave the loaded objects alone; they are many and have none."""
    gc.collect()
    gc.freeze()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m remuda_kubernetes.testing", description=main.__doc__
    )
    parser.add_argument("--port", type=int, default=0, help="0: any free one")
    parser.add_argument(
        "--minor",
        type=int,
        default=Settings.minor,
        choices=range(OLDEST, NEWEST + 1),
        metavar="N",
        help=f"behave as Kubernetes 1.N, {OLDEST} to {NEWEST}",
    )
    parser.add_argument("--token", help="the only token that is accepted")
    parser.add_argument("--kubeconfig", type=Path, help="a file to write for clients")
    parser.add_argument(
        "--nodes",
        type=int,
        default=0,
        metavar="COUNT",
        help="nodes without machines, with controllers for jobs, replica sets and budgets",
    )
    parser.add_argument("--load", type=Path, help="objects that exist at first, one a line")
    return parser


def _objects(path: Path) -> Iterator[Json]:
    decode = msgspec.json.Decoder(dict[str, Any]).decode
    with path.open("rb") as lines:
        for line in lines:
            if line.strip():
                yield decode(line)


if __name__ == "__main__":
    sys.exit(main())
