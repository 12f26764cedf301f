"""Tells what each function of the compiled core costs, in machine instructions per ask.

    PYTHONPATH=build/compiled python -m tools.gate.functions M2

Valgrind runs a shape with few asks. Each line has what a function spends itself, with what it calls
in the interpreter and in libraries, but without other compiled functions; how often it is called
for an ask; and what it spends with all that it calls. Nodes, applications and the check at the end
are in the figures, too. The scheduler's clock runs slowly, since no ask is to grow old meanwhile.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from remuda.bench.clusters.shapes import MIXED, SHAPES, WIDE
from remuda.runtime.interpreter import tune_interpreter
from tools.gate.timing import Jumping, allocation_seconds, build

_ASKS: Final = 8_000
_NODES: Final = 5_000
_SHOWN: Final = 60
_SLOWER: Final = 1_000
_INSIDE: Final = "--inside"
_SHAPES: Final = {shape.name: shape for shape in (*SHAPES, *WIDE, *MIXED)}

# A line of callgrind_annotate: instructions, what the line is, and the name of a function.
_LINE: Final = re.compile(r"\s*([\d,]+) \(\s*[\d.]+%\)\s+([*<>])\s+\S+?:(\S+)(?: \(([\d,]+)x\))?")
_COMPILED: Final = re.compile(r"CPy(Def|Py|Exec)_")
_SHOWS: Final = "CPyDef_"


@dataclass
class Function:
    """What one function spends in all, its compiled callees, and how often it was called."""

    total: int = 0
    calls: int = 0
    callees: dict[str, int] = field(default_factory=dict)

    def own(self) -> int:
        """Return what it spends without other compiled functions."""
        return self.total - sum(self.callees.values())


class SlowClock(Jumping):
    """The machine's clocks, slowed down a thousand times."""

    def __init__(self) -> None:
        super().__init__()
        self._began_ns = self._clock.now_ns()
        self._ahead_ns = self._clock.wall_ns() - self._began_ns

    def now_ns(self) -> int:
        """Nanoseconds since some moment, slowly."""
        passed = (self._clock.now_ns() - self._began_ns) // _SLOWER
        return self._began_ns + passed + self.ahead_ns

    def wall_ns(self) -> int:
        """Unix time in nanoseconds, as slowly."""
        return self.now_ns() + self._ahead_ns


def read(lines: Iterable[str]) -> dict[str, Function]:
    """Return the functions of what ``callgrind_annotate --tree=calling`` prints."""
    functions: dict[str, Function] = {}
    current = Function()
    for line in lines:
        found = _LINE.match(line)
        if found is None:
            continue
        number, kind, name = int(found[1].replace(",", "")), found[2], found[3]
        if kind == "*":
            current = functions.setdefault(name, Function())
            current.total = max(current.total, number)
        elif kind == ">" and _COMPILED.match(name):
            current.callees[name] = number
            called = functions.setdefault(name, Function())
            called.calls += int((found[4] or "0").replace(",", ""))
    return functions


def main(arguments: list[str]) -> int:
    """Print the functions of a shape; 2 if that is not possible."""
    if arguments[:1] == [_INSIDE]:
        _run(arguments[1])
        return 0
    valgrind, annotate = shutil.which("valgrind"), shutil.which("callgrind_annotate")
    if valgrind is None or annotate is None:
        print("functions: valgrind is missing; install it, for example apt-get install valgrind")
        return 2
    if len(arguments) != 1 or arguments[0] not in _SHAPES:
        print(f"functions: name one of these shapes: {', '.join(_SHAPES)}")
        return 2
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "callgrind.out"
        command = [valgrind, "--tool=callgrind", f"--callgrind-out-file={file}", sys.executable]
        subprocess.run(
            [*command, "-m", "tools.gate.functions", _INSIDE, arguments[0]],
            env={**os.environ, "PYTHONHASHSEED": "0"},
            stderr=subprocess.DEVNULL,
            check=True,
        )
        options = ("--inclusive=yes", "--threshold=100", "--tree=calling", "--show=Ir")
        told = subprocess.run(
            [annotate, *options, str(file)], capture_output=True, text=True, check=True
        )
    functions = read(told.stdout.splitlines())
    shown = sorted(
        (each.own(), name) for name, each in functions.items() if name.startswith(_SHOWS)
    )
    print(f"{'itself':>8} {'calls':>8} {'in all':>8}  of an ask of {arguments[0]}, {build()}")
    for own, name in shown[: -_SHOWN - 1 : -1]:
        each = functions[name]
        print(
            f"{own / _ASKS:8,.0f} {each.calls / _ASKS:8.2f} {each.total / _ASKS:8,.0f}"
            f"  {name.removeprefix(_SHOWS)}"
        )
    return 0


def _run(name: str) -> None:
    tune_interpreter()
    shape = _SHAPES[name]
    few = replace(shape, asks=_ASKS, nodes=min(shape.nodes, _NODES), backlog=0)
    allocation_seconds(few, clock=SlowClock())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
