"""The import contracts hold, and each of them sees what it is there to see."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def lint(tree: Path) -> subprocess.CompletedProcess[str]:
    """Run the contracts on the package under ``tree``/src."""
    program = str(Path(sys.executable).with_name("lint-imports"))
    environment = os.environ | {"PYTHONPATH": str(tree / "src")}
    return subprocess.run(
        [program, "--no-logo", "--no-cache", "--config", str(ROOT / ".importlinter")],
        cwd=tree,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_every_contract_is_kept() -> None:
    done = lint(ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


# Module, import added to it, contract that must see it, and how it is reported.
VIOLATIONS = (
    (
        "config/schema.py",
        "remuda.core.scheduler",
        "Packages point inwards",
        "remuda.config.schema -> remuda.core.scheduler",
    ),
    (
        "library/records.py",
        "remuda.edges.inproc",
        "Packages point inwards",
        "remuda.library.records -> remuda.edges.inproc",
    ),
    ("newcomer/__init__.py", "", "Packages point inwards", "newcomer"),
    (
        "core/model/nodes/node.py",
        "remuda.core.apply",
        "The core is layered",
        "remuda.core.model.nodes.node -> remuda.core.apply",
    ),
    (
        "core/model/nodes/node.py",
        "time",
        "The core has no door to the world",
        "remuda.core.model.nodes.node -> time",
    ),
    (
        "base/errors.py",
        "yaml",
        "The core never sees configuration text",
        "remuda.base.errors -> yaml",
    ),
    (
        "conformance/wording.py",
        "remuda.si.codec_out",
        "The conformance suite knows the wire only",
        "remuda.conformance.wording -> remuda.si.codec_out",
    ),
    (
        "sim/shape.py",
        "remuda.core.model.nodes.node",
        "From outside the core only its door is used",
        "remuda.sim.shape -> remuda.core.model.nodes.node",
    ),
)


@pytest.fixture(scope="module")
def violated(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What the contracts say about a copy of the package with every violation in it."""
    tree = tmp_path_factory.mktemp("violated")
    skipped = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "src/remuda", tree / "src/remuda", ignore=skipped)
    for module, imported, _, _ in VIOLATIONS:
        target = tree / "src/remuda" / module
        target.parent.mkdir(exist_ok=True)
        with target.open("a") as stream:
            stream.write(f"\nimport {imported}\n" if imported else "")
    done = lint(tree)
    assert done.returncode == 1
    return done.stdout


@pytest.mark.parametrize("module,imported,contract,reported", VIOLATIONS)
def test_a_violation_is_reported(
    violated: str, module: str, imported: str, contract: str, reported: str
) -> None:
    verdicts, _, details = violated.partition("Broken contracts")
    assert f"{contract} BROKEN" in verdicts, f"{module} importing {imported or 'nothing'}"
    section = details.partition(f"{contract}\n---")[2]
    assert reported in " ".join(section.split())


@pytest.mark.remuda_rule("SEED-211")
def test_each_entity_is_one_class_and_the_model_has_it() -> None:
    """No second form of a queue or a node for another part of the core, as a cache would be."""
    core = ROOT / "src/remuda/core"
    classes = [
        (node.name, path.relative_to(core).parts[0])
        for path in sorted(core.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef)
    ]
    for entity in (
        "Cluster",
        "Partition",
        "Queue",
        "Node",
        "Application",
        "Request",
        "Allocation",
        "Reservation",
    ):
        assert [package for name, package in classes if name == entity] == ["model"], entity
