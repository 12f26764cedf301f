"""What a fresh clone relies on: the lock, the Makefile, the package's own description."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions, requires
from pathlib import Path

import pytest

import remuda

ROOT = Path(__file__).resolve().parents[2]
LOCK = (ROOT / "requirements.lock").read_text()
SERVE_LOCK = (ROOT / "requirements-serve.lock").read_text()
KUBERNETES_LOCK = (ROOT / "requirements-kubernetes.lock").read_text()
LDAP_LOCK = (ROOT / "requirements-ldap.lock").read_text()
ETCD_LOCK = (ROOT / "requirements-etcd.lock").read_text()
STUDY_LOCK = (ROOT / "requirements-study.lock").read_text()
KUBE_LOCK = (ROOT / "requirements-kube.lock").read_text()
FUZZ_LOCK = (ROOT / "requirements-fuzz.lock").read_text()
BROWSER_LOCK = (ROOT / "requirements-browser.lock").read_text()
DOCS_LOCK = (ROOT / "requirements-docs.lock").read_text()
LOCKS = {
    "main": LOCK,
    "serve": SERVE_LOCK,
    "kubernetes": KUBERNETES_LOCK,
    "ldap": LDAP_LOCK,
    "etcd": ETCD_LOCK,
    "study": STUDY_LOCK,
    "kube": KUBE_LOCK,
    "fuzz": FUZZ_LOCK,
    "browser": BROWSER_LOCK,
    "docs": DOCS_LOCK,
}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def canonical(requirement: str) -> str:
    """The name a requirement asks for, spelled as package indexes compare it."""
    return re.sub(r"[-_.]+", "-", re.split(r"[<>=\[; ]", requirement)[0]).lower()


def locked(lock: str = LOCK) -> dict[str, str]:
    """Name -> version of every library in the lock."""
    return dict(re.findall(r"^([a-z0-9-]+)==(\S+)", lock, re.MULTILINE))


@pytest.mark.parametrize("lock", LOCKS.values(), ids=LOCKS.keys())
def test_the_lock_names_no_address(lock: str) -> None:
    assert "://" not in lock
    assert not re.search(r"^-", lock, re.MULTILINE)


@pytest.mark.parametrize("lock", LOCKS.values(), ids=LOCKS.keys())
def test_everything_in_the_lock_has_a_hash(lock: str) -> None:
    entries = re.split(r"^(?=[a-z0-9-]+==)", lock, flags=re.MULTILINE)[1:]
    assert len(entries) == len(locked(lock))
    assert [entry for entry in entries if "--hash=sha256:" not in entry] == []


def asked_by(*extras: str) -> set[str]:
    """What the project and some of its extras ask for, and the extras that those name."""
    project = PROJECT["project"]
    asked = list(project["dependencies"])
    for extra in extras:
        asked += project["optional-dependencies"][extra]
    for inner in [each for each in asked if each.startswith("remuda[")]:
        asked.remove(inner)
        asked += asked_by(*inner.removeprefix("remuda[").rstrip("]").split(","))
    return {canonical(each) for each in asked}


def test_the_lock_holds_what_the_project_and_its_tests_ask_for() -> None:
    wanted = asked_by("dev") | {canonical(each) for each in PROJECT["build-system"]["requires"]}
    assert {"matplotlib", "rich", "uvloop", "grpcio-reflection"} <= wanted
    assert wanted - locked().keys() == set()


def test_who_serves_may_install_the_versions_that_were_tested() -> None:
    assert asked_by() - locked(SERVE_LOCK).keys() == set()
    assert locked(SERVE_LOCK).items() <= locked().items()
    assert len(locked(SERVE_LOCK)) < 30
    told = (ROOT / "SECURITY.md").read_text() + (ROOT / "docs/how-to/install.md").read_text()
    assert told.count("requirements-serve.lock") >= 2


def test_the_image_has_the_versions_that_were_tested() -> None:
    assert asked_by("kubernetes") - locked(KUBERNETES_LOCK).keys() == set()
    assert locked(SERVE_LOCK).items() <= locked(KUBERNETES_LOCK).items() <= locked().items()


# What only some commands and options need: the modules that import it when they are imported.
OPTIONAL = {
    "bench/": {"rich", "matplotlib"},
    "edges/issuers/keys.py": {"cryptography", "jwt"},
    "edges/issuers/signed.py": {"jwt"},
    "sim/charts.py": {"matplotlib"},
    "study/parquet.py": {"pyarrow"},
    "runtime/users/ldap_child.py": {"bonsai"},
}

# Libraries that come with one that is asked for, whose classes are extended.
ALONG = {"h11": "uvicorn"}


def imported_at_once(path: Path) -> set[str]:
    """The libraries that a module imports when it is imported itself."""
    found: set[str] = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return {name.partition(".")[0] for name in found} - set(sys.stdlib_module_names) - {"remuda"}


def test_what_is_imported_is_asked_for() -> None:
    plain = asked_by()
    owners = packages_distributions()
    for library, owner in ALONG.items():
        assert owner in plain
        assert library in {canonical(each) for each in requires(owner) or []}
    package = ROOT / "src/remuda"
    for path in package.rglob("*.py"):
        name = path.relative_to(package).as_posix()
        allowed = {each for key, some in OPTIONAL.items() if name.startswith(key) for each in some}
        for library in imported_at_once(path) - allowed - ALONG.keys():
            assert {canonical(each) for each in owners[library]} & plain, f"{name}: {library}"


def test_what_needs_libraries_of_the_system_has_a_lock_of_its_own() -> None:
    wanted = {canonical(item) for item in PROJECT["project"]["optional-dependencies"]["ldap"]}
    assert wanted - locked(LDAP_LOCK).keys() == set()
    assert wanted & locked().keys() == set()


def test_the_lease_in_etcd_has_a_lock_of_its_own_that_agrees_with_the_others() -> None:
    wanted = {canonical(item) for item in PROJECT["project"]["optional-dependencies"]["etcd"]}
    wanted |= {canonical(item) for item in PROJECT["dependency-groups"]["etcd"]}
    assert wanted - locked(ETCD_LOCK).keys() == set()
    assert wanted & locked().keys() == set()
    shared = locked(ETCD_LOCK).keys() & locked().keys()
    assert {name: locked(ETCD_LOCK)[name] for name in shared} == {
        name: locked()[name] for name in shared
    }


def test_what_few_studies_need_has_a_lock_of_its_own_that_agrees_with_the_others() -> None:
    extras = PROJECT["project"]["optional-dependencies"]
    wanted = {canonical(item) for extra in ("dask", "parquet") for item in extras[extra]}
    assert wanted - locked(STUDY_LOCK).keys() == set()
    assert wanted & locked().keys() == set()
    shared = locked(STUDY_LOCK).keys() & locked().keys()
    assert {name: locked(STUDY_LOCK)[name] for name in shared} == {
        name: locked()[name] for name in shared
    }


def test_what_needs_a_real_api_server_is_where_make_test_kubernetes_looks() -> None:
    mark = "mark." + "kubernetes"
    marked = [path for path in (ROOT / "tests").rglob("*.py") if mark in path.read_text()]
    folder = ROOT / "tests/kubernetes/end_to_end"
    assert marked
    assert [path for path in marked if path.parent != folder] == []
    assert f"tools.second_try {folder.relative_to(ROOT)} " in (ROOT / "Makefile").read_text()


def test_what_make_kube_fetches_has_a_lock_of_its_own() -> None:
    wanted = {canonical(item) for item in PROJECT["dependency-groups"]["kube"]}
    assert wanted == locked(KUBE_LOCK).keys()
    assert wanted & locked().keys() == set()


def test_the_fuzzer_has_a_lock_of_its_own() -> None:
    wanted = {canonical(item) for item in PROJECT["dependency-groups"]["fuzz"]}
    assert wanted == locked(FUZZ_LOCK).keys()
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


def test_a_shell_of_make_has_the_program_on_its_path() -> None:
    done = subprocess.run(
        ["make", "-o", f"{sys.prefix}/.ready", "shell", f"VENV={sys.prefix}"],
        cwd=ROOT,
        env={**os.environ, "SHELL": "/bin/sh"},
        input="command -v remuda && command -v python\n",
        capture_output=True,
        text=True,
        check=True,
    )
    expected = [f"{sys.prefix}/bin/remuda", f"{sys.prefix}/bin/python"]
    assert done.stdout.splitlines()[1:] == expected


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
