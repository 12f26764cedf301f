"""What a command says when the system has too little for it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from remuda.cli import program
from remuda.cli.scarcity import SCARCE

# A thread with a stack of 64 MiB, where 16 MiB are left, is refused on every machine.
_NO_THREAD = """
import resource, threading
pages = int(open("/proc/self/statm").read().split()[0])
limit = pages * resource.getpagesize() + 16 * 2**20
resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))
threading.stack_size(64 * 2**20)
threading.Thread(target=print).start()
"""


def refusal_of_a_thread() -> str:
    """What this Python says then."""
    done = subprocess.run(
        [sys.executable, "-c", _NO_THREAD], capture_output=True, text=True, check=False
    )
    return done.stderr.strip().splitlines()[-1].removeprefix("RuntimeError: ")


@pytest.mark.parametrize("kind", ["memory", "thread", "library"])
def test_too_little_memory_is_one_line(
    kind: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    faults = {
        "memory": MemoryError(),
        "thread": RuntimeError(refusal_of_a_thread()),
        # As a process with too small a limit of addresses ended.
        "library": ImportError("libsqlite3.so.0: failed to map segment from shared object"),
    }
    fault = faults[kind]

    def fail(*_: object, **__: object) -> int:
        raise fault

    monkeypatch.setattr(program, "app", fail)
    assert program.run(["serve"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line == f"remuda: {SCARCE}"


@pytest.mark.parametrize(
    "fault", [RuntimeError("dictionary changed size"), ImportError("No module named 'x'")]
)
def test_another_fault_is_not_taken_for_it(
    fault: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> int:
        raise fault

    monkeypatch.setattr(program, "app", fail)
    with pytest.raises(type(fault), match=str(fault)):
        program.run(["serve"])


def test_too_little_memory_for_the_libraries_is_one_line() -> None:
    """The first library that the command line imports finds no memory, as under ulimit -v."""
    text = """
import sys
class Scarce:
    def find_spec(self, name, *_):
        if name == "typer":
            raise MemoryError
sys.meta_path.insert(0, Scarce())
from remuda.cli.main import main
sys.argv = ["remuda", "serve"]
main()
"""
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == f"remuda: {SCARCE}\n"
