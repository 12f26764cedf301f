"""The import contracts hold, and each of them sees what it is there to see."""

from __future__ import annotations

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


@pytest.mark.parametrize(
    "module,line,contract",
    [
        ("config/schema.py", "import remuda.core.scheduler", "Packages point inwards"),
        ("newcomer/__init__.py", "", "Packages point inwards"),
        ("core/model/node.py", "import remuda.core.apply", "The core is layered"),
        ("core/model/node.py", "import time", "The core has no door to the world"),
        ("base/errors.py", "import yaml", "The core never sees configuration text"),
        ("sim/clock.py", "import remuda.core.model.node", "From outside the core only its door"),
    ],
)
def test_a_violation_is_reported(tmp_path: Path, module: str, line: str, contract: str) -> None:
    shutil.copytree(
        ROOT / "src/remuda", tmp_path / "src/remuda", ignore=shutil.ignore_patterns("__pycache__")
    )
    target = tmp_path / "src/remuda" / module
    target.parent.mkdir(exist_ok=True)
    with target.open("a") as stream:
        stream.write(f"\n{line}\n")
    done = lint(tmp_path)
    assert done.returncode == 1
    broken = [text for text in done.stdout.splitlines() if "BROKEN" in text]
    if line:
        assert [text for text in broken if text.startswith(contract)], done.stdout
    else:
        assert "newcomer" in done.stdout
