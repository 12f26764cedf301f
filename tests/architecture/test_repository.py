"""What a fresh clone relies on: the lock, the Makefile, the package's own description."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import remuda

ROOT = Path(__file__).resolve().parents[2]
LOCK = (ROOT / "requirements.lock").read_text()
LDAP_LOCK = (ROOT / "requirements-ldap.lock").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def canonical(requirement: str) -> str:
    """The name a requirement asks for, spelled as package indexes compare it."""
    return re.sub(r"[-_.]+", "-", re.split(r"[<>=\[; ]", requirement)[0]).lower()


def locked(lock: str = LOCK) -> dict[str, str]:
    """Name -> version of every library in the lock."""
    return dict(re.findall(r"^([a-z0-9-]+)==(\S+)", lock, re.MULTILINE))


@pytest.mark.parametrize("lock", [LOCK, LDAP_LOCK], ids=["main", "ldap"])
def test_the_lock_names_no_address(lock: str) -> None:
    assert "://" not in lock
    assert not re.search(r"^-", lock, re.MULTILINE)


@pytest.mark.parametrize("lock", [LOCK, LDAP_LOCK], ids=["main", "ldap"])
def test_everything_in_the_lock_has_a_hash(lock: str) -> None:
    entries = re.split(r"^(?=[a-z0-9-]+==)", lock, flags=re.MULTILINE)[1:]
    assert len(entries) == len(locked(lock))
    assert [entry for entry in entries if "--hash=sha256:" not in entry] == []


def test_the_lock_holds_what_the_project_asks_for() -> None:
    project = PROJECT["project"]
    wanted = [
        *project["dependencies"],
        *project["optional-dependencies"]["dev"],
        *PROJECT["build-system"]["requires"],
    ]
    assert {canonical(item) for item in wanted} - locked().keys() == set()


def test_what_needs_libraries_of_the_system_has_a_lock_of_its_own() -> None:
    wanted = {canonical(item) for item in PROJECT["project"]["optional-dependencies"]["ldap"]}
    assert wanted - locked(LDAP_LOCK).keys() == set()
    assert wanted & locked().keys() == set()


def test_the_package_says_its_version_licence_and_types() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+\S*", remuda.__version__)
    assert PROJECT["project"]["license"] == "Apache-2.0"
    assert "Apache License" in (ROOT / "LICENSE").read_text()
    assert (ROOT / "src/remuda/py.typed").exists()


def test_every_data_file_of_the_package_is_installed() -> None:
    patterns = PROJECT["tool"]["setuptools"]["package-data"]["*"]
    files = [path for path in (ROOT / "src/remuda").rglob("*") if path.is_file()]
    left_out = [
        path
        for path in files
        if path.suffix not in {".py", ".pyc"} and not any(map(path.match, patterns))
    ]
    assert left_out == []


def make(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["make", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )


def test_make_alone_lists_the_targets() -> None:
    done = make()
    assert done.returncode == 0
    for target in ("setup", "run", "test", "check", "fix", "rules", "long", "bench", "clean"):
        assert f"make {target} " in done.stdout


def test_an_unfit_python_is_refused_in_one_line(tmp_path: Path) -> None:
    done = make("setup", "PYTHON=false", f"VENV={tmp_path}/venv")
    assert done.returncode != 0
    assert done.stdout.strip() == (
        "remuda needs Python 3.11 or newer, and 'false' is not:"
        " run make with PYTHON=/path/to/python3.11"
    )
    assert not (tmp_path / "venv").exists()


def test_the_generated_wire_code_is_fresh() -> None:
    done = subprocess.run(
        [sys.executable, "tools/gen_si.py", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
