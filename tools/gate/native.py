"""Counts the machine instructions of an allocation, for the compiled core.

    PYTHONPATH=build/compiled python -m tools.gate.native S1 S6

Valgrind (a package of the system) runs a shape with few asks and with more; what one more ask costs
is the difference. Noise of the machine does not count, so two versions can be compared to one in a
hundred anywhere: run this in a worktree of each. It takes some minutes a shape.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from typing import Final

from remuda.bench.clusters.shapes import MIXED, SHAPES, WIDE
from tools.gate.timing import allocation_seconds, build

_FEW: Final = 2_000
_MORE: Final = 6_000
# Fewer nodes and a smaller backlog than the shape's: they cost time before the first allocation.
_NODES: Final = 2_000
_BACKLOG: Final = 5_000
_TOTAL: Final = re.compile(r"Collected : (\d+)")
_INSIDE: Final = "--inside"
_SHAPES: Final = {shape.name: shape for shape in (*SHAPES, *WIDE, *MIXED)}


def main(arguments: list[str]) -> int:
    """Count for each shape that is named; 2 if that is not possible."""
    if arguments[:1] == [_INSIDE]:
        _run(arguments[1], int(arguments[2]))
        return 0
    unknown = [name for name in arguments if name not in _SHAPES]
    if unknown or not arguments:
        print(f"native: name some of these shapes: {', '.join(_SHAPES)}")
        return 2
    if shutil.which("valgrind") is None:
        print("native: valgrind is missing; install it, for example apt-get install valgrind")
        return 2
    print(f"instructions of an allocation, {build()}")
    for name in arguments:
        count = (_instructions(name, _MORE) - _instructions(name, _FEW)) / (_MORE - _FEW)
        print(f"{name:4} {count:10,.0f}", flush=True)
    return 0


def _instructions(name: str, asks: int) -> int:
    """Return how many instructions the process takes that places so many asks."""
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", sys.executable]
    ended = subprocess.run(
        [*command, "-m", "tools.gate.native", _INSIDE, name, str(asks)],
        # Texts are hashed alike in each run.
        env={**os.environ, "PYTHONHASHSEED": "0"},
        capture_output=True,
        text=True,
        check=True,
    )
    found = _TOTAL.search(ended.stderr)
    if found is None:
        raise RuntimeError(f"valgrind counted nothing:\n{ended.stderr[-2000:]}")
    return int(found.group(1))


def _run(name: str, asks: int) -> None:
    shape = _SHAPES[name]
    backlog = min(shape.backlog, _BACKLOG)
    allocation_seconds(replace(shape, asks=asks, nodes=min(shape.nodes, _NODES), backlog=backlog))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
