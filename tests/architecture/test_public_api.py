"""What ``from remuda import ...`` promises: one list, complete types, nothing loaded before it."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import remuda
from remuda import public
from remuda.library.scheduler import Scheduler
from tests.package import PACKAGES, ROOT
from tools import gen_python_api

CONSUMER = ROOT / "tests/consumer"

OUTPUT = """\
gang is Accepted
tg-g-0-0 on n1
gang is Starting
tg-g-1-0 on n2
['real', 'tg-g-1'] 1.5
gang/real does not wait: real-0 runs on n1
queue quota 0
refused (1, 0, 0, 0), 0 ways out
waits (0, 0, 1, 0), 2 ways out
['started'], 0 of 0
0 go, 0 too low, 0 move, 0 differ
{'root.jobs': 67}
['scheduler', 'late: queue quota: root.jobs']
['n3']
allocation_key is empty; give it a name
[] {} gang Completed
1 faults | config is []; pass the text of a queue file, a Path to one, or queues
['n1']
"""


def run(*command: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a program with the package under test on its path."""
    return subprocess.run(
        [sys.executable, *command],
        cwd=cwd,
        env=os.environ | {"PYTHONPATH": str(PACKAGES)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_surface_is_listed_once_and_offered_whole() -> None:
    assert remuda.__all__ == public.__all__ == sorted(public.__all__)
    assert {name: getattr(remuda, name) for name in remuda.__all__} == {
        name: getattr(public, name) for name in public.__all__
    }
    assert set(dir(remuda)) >= {*remuda.__all__, "__version__"}
    with pytest.raises(AttributeError, match="module 'remuda' has no attribute 'Shceduler'"):
        _ = remuda.Shceduler  # type: ignore[attr-defined]
    offered = {name for name in vars(public) if not name.startswith("_") and name != "annotations"}
    assert offered == set(public.__all__)


def test_the_page_lists_the_surface_as_it_is() -> None:
    page = gen_python_api.PAGE.read_text()
    assert gen_python_api.page(page) == page, "run make python-api, and tell the changelog"
    for name in public.__all__:
        assert f"\n### {name}\n" in page
    for name in dir(Scheduler):
        assert name.startswith("_") or f"\n- `{name}" in page


def test_a_change_of_the_surface_is_a_change_of_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    page = gen_python_api.PAGE.read_text()

    def drain_node(self: Scheduler, node_id: str, *, force: bool = False) -> None:
        """Place nothing more on a node; what runs there stays. Raises: RejectedError."""

    monkeypatch.setattr(Scheduler, "drain_node", drain_node)
    assert gen_python_api.page(page) != page


def test_what_the_consumer_uses_is_public_and_all_that_is() -> None:
    used: set[str] = set()
    attributes: set[str] = set()
    for module in ("cluster.py", "mistakes.py"):
        for node in ast.walk(ast.parse((CONSUMER / module).read_text())):
            if isinstance(node, ast.Import):
                assert all(not each.name.startswith("remuda") for each in node.names)
            if isinstance(node, ast.ImportFrom) and node.module != "__future__":
                assert node.module in {"remuda", "pathlib"}
                used |= {each.name for each in node.names if node.module == "remuda"}
            if isinstance(node, ast.Attribute):
                attributes.add(node.attr)
    assert used - {"Unheard"} == set(public.__all__)
    calls = {name for name in dir(Scheduler) if not name.startswith("_")}
    assert calls - attributes == set()


def test_a_strictly_typed_consumer_passes_and_its_mistakes_do_not(tmp_path: Path) -> None:
    """Any would satisfy a checker, too: the comments in mistakes.py are errors where it does."""
    project = tmp_path / "consumer"
    shutil.copytree(CONSUMER, project)
    mypy = ("-m", "mypy", "--config-file=pyproject.toml", f"--cache-dir={tmp_path / 'cache'}")
    environment = {name: text for name, text in os.environ.items() if name != "MYPYPATH"}
    done = subprocess.run(
        [sys.executable, *mypy, "cluster.py", "mistakes.py"],
        cwd=project,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert (Path(remuda.__file__).parent / "py.typed").exists()


def test_the_consumer_does_what_it_says() -> None:
    done = run("cluster.py", cwd=CONSUMER)
    assert (done.stdout, done.stderr) == (OUTPUT, "")


def test_the_package_loads_nothing_before_it_is_asked_for() -> None:
    program = "import sys; a = set(sys.modules); import remuda; print(*(set(sys.modules) - a))"
    assert run("-c", program, cwd=ROOT).stdout.split() == ["remuda"]


def test_a_stepped_scheduler_needs_neither_the_wire_nor_a_network() -> None:
    program = "import sys; from remuda import Scheduler; Scheduler().step(); print(*sys.modules)"
    loaded = set(run("-c", program, cwd=ROOT).stdout.split())
    assert "remuda.core.scheduler" in loaded
    assert not {"grpc", "google.protobuf", "starlette", "uvicorn"} & loaded
