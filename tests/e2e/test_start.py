"""What starting costs: which modules are imported, and how much more that takes than libraries do.

Times are compared with what the libraries take that are needed in any case, by turns on this
machine: there is nothing to gain from being quicker than they are.
"""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.serving import FREE_PORTS, environment

COMMANDS = ["serve", "validate", "simulate", "replay", "bench", "conformance"]

HEAVY = {
    *("asyncio", "google", "grpc", "matplotlib", "prometheus_client", "re2", "sqlite3"),
    *("starlette", "uvicorn", "yaml"),
    *(
        f"remuda.{part}"
        for part in ("app", "bench", "core", "edges", "runtime", "sim", "telemetry")
    ),
}

HELP = "from remuda.cli.main import main; main()"
# What prints help, and what serves, without anything of ours.
PRINTING = "import typer"
SERVING = "; ".join(
    f"import {library}"
    for library in (
        *("typer", "grpc.aio", "google.protobuf.json_format"),
        *("re2", "sqlite3", "starlette.applications", "uvicorn", "yaml"),
    )
)


def imported(program: str, *arguments: str) -> set[str]:
    """Return the modules that a program imports."""
    probe = (
        f"import sys; before = set(sys.modules); sys.argv[1:] = {list(arguments)}\n"
        f"try:\n    {program}\nexcept SystemExit:\n    pass\n"
        "print(*sorted(set(sys.modules) - before))\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", probe],
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    return set(ended.stdout.splitlines()[-1].split())


def test_the_package_itself_imports_nothing() -> None:
    assert imported("import remuda") == {"remuda"}


@pytest.mark.parametrize("arguments", [["--help"], *([name, "--help"] for name in COMMANDS)])
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    assert imported(HELP, *arguments) & HEAVY == set()


def test_serving_imports_nothing_that_only_other_commands_need() -> None:
    modules = imported(HELP, "serve", *FREE_PORTS, "--duration", "10ms")
    others = {"matplotlib", "numpy", "rich", "remuda.bench", "remuda.demo", "remuda.sim"}
    assert {"grpc", "remuda.core.scheduler"} <= modules
    assert modules & (others | {"bonsai", "opentelemetry", "remuda.conformance"}) == set()


def cpu_seconds(cache: Path, program: str, *arguments: str) -> float:
    """Return the CPU time of a process that finds its modules compiled to byte code.

    As a user starts it: without the frozen records of tests, which take a tenth more.
    """
    only_tests = {"PYTHONDONTWRITEBYTECODE", "REMUDA_STRICT_RECORDS"}
    inherited = {k: v for k, v in environment().items() if k not in only_tests}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env={**inherited, "PYTHONPYCACHEPREFIX": str(cache)},
        stdout=subprocess.DEVNULL,
        check=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@pytest.mark.timed
@pytest.mark.parametrize(
    "arguments,libraries,limit",
    [(["--help"], PRINTING, 1.6), (["serve", *FREE_PORTS, "--duration", "10ms"], SERVING, 3.2)],
    ids=["help", "serve"],
)
def test_starting_takes_little_more_than_importing_the_libraries(
    tmp_path: Path, arguments: list[str], libraries: str, limit: float
) -> None:
    """On an idle machine 0.15 s to the help, and 0.5 s to serving."""
    ours: list[float] = []
    theirs: list[float] = []
    for _ in range(8):
        ours.append(cpu_seconds(tmp_path, HELP, *arguments))
        theirs.append(cpu_seconds(tmp_path, libraries))
    ratio = min(ours) / min(theirs)
    print(f"{min(ours):.3f} s, libraries {min(theirs):.3f} s")
    assert ratio < limit
