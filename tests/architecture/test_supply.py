"""What the project is built from and run with: bills of materials, licences, hashes."""

from __future__ import annotations

import json
import re
import tomllib
from importlib.metadata import distributions
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator
from packaging.utils import canonicalize_name
from referencing import Registry, Resource

from tests.package import ROOT
from tools.supply import bill as bills
from tools.supply import licences
from tools.wheels import __main__ as program
from tools.wheels import backend

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The plain wheel."""
    folder = tmp_path_factory.mktemp("dist")
    return folder / backend.pure_wheel(folder)


@pytest.fixture(scope="module")
def document(wheel: Path) -> dict[str, Any]:
    """The bill of the plain wheel, as written."""
    found: dict[str, Any] = json.loads(bills.write_bill(wheel).read_text())
    return found


def lines_of(lock: str) -> dict[tuple[str, str], set[str]]:
    """(name, version) -> hashes of a lock, read line by line."""
    found: dict[tuple[str, str], set[str]] = {}
    last: set[str] = set()
    for line in (ROOT / lock).read_text().splitlines():
        if "==" in line:
            name, _, version = line.removesuffix(" \\").partition("==")
            last = found.setdefault((name, version), set())
        elif "--hash=sha256:" in line:
            last.add(line.partition("sha256:")[2].removesuffix(" \\"))
    return found


def official() -> Draft7Validator:
    """The check by the schema that CycloneDX publishes, which a library of theirs holds."""
    folder = files("cyclonedx.schema._res")
    names = ("bom-1.6", "spdx", "jsf-0.82")
    main, *others = (
        json.loads(folder.joinpath(f"{name}.SNAPSHOT.schema.json").read_text()) for name in names
    )
    registry: Registry[Any] = Registry().with_resources(
        [(each["$id"], Resource.from_contents(each)) for each in [main, *others]]
    )
    return Draft7Validator(main, registry=registry)


def test_a_bill_follows_the_schema_of_its_format(document: dict[str, Any]) -> None:
    check = official()
    assert [error.message for error in check.iter_errors(document)] == []
    assert not check.is_valid({**document, "components": [{"type": "library"}]})


def test_a_bill_has_the_locked_libraries_by_version_and_hash_and_nothing_else(
    document: dict[str, Any],
) -> None:
    told = {
        (each["name"], each["version"]): {entry["content"] for entry in each["hashes"]}
        for each in document["components"]
    }
    assert told == lines_of("requirements-serve.lock")
    assert len(document["components"]) == len(told) > 15
    assert all(told.values())


def test_a_bill_names_the_licence_of_each_library(document: dict[str, Any]) -> None:
    told = {each["name"]: each["licenses"] for each in document["components"]}
    assert told["grpcio"] == [{"expression": "Apache-2.0"}]
    assert told["google-re2"] == [{"expression": "BSD-3-Clause"}]
    for (entry,) in told.values():
        assert licences.permitted(entry["expression"])


def test_a_bill_says_which_wheel_it_is_of(document: dict[str, Any], wheel: Path) -> None:
    product = document["metadata"]["component"]
    assert product["name"] == "remuda"
    assert product["licenses"] == [{"expression": PROJECT["license"]}]
    assert wheel.name in product["purl"]
    before = product["hashes"]
    changed = wheel.parent / "changed" / wheel.name
    changed.parent.mkdir()
    # A comment of the archive changes its bytes and nothing that is in it.
    changed.write_bytes(wheel.read_bytes()[:-2] + b"\x01\x00x")
    other = bills.bill(changed)
    assert other["metadata"]["component"]["hashes"] != before
    assert other["serialNumber"] != document["serialNumber"]


def test_a_bill_says_what_asks_for_what(document: dict[str, Any]) -> None:
    names = {each["bom-ref"]: each["name"] for each in document["components"]}
    depends = {each["ref"]: each["dependsOn"] for each in document["dependencies"]}
    root = document["metadata"]["component"]["bom-ref"]
    direct = {names[each] for each in depends[root]}
    assert direct == {re.split("[>=]", each)[0].lower() for each in PROJECT["dependencies"]}
    (uvicorn,) = (ref for ref, name in names.items() if name == "uvicorn")
    assert {names[each] for each in depends[uvicorn]} >= {"click", "h11"}
    reached, waiting = set(), [root]
    while waiting:
        here = waiting.pop()
        reached.add(here)
        waiting += [each for each in depends[here] if each not in reached]
    assert reached == {root, *names}


def test_the_bill_of_a_compiled_wheel_has_the_compiler_whose_runtime_is_in_it(wheel: Path) -> None:
    compiled = wheel.with_name("remuda-0.1.0-cp311-cp311-linux_x86_64.whl")
    compiled.write_bytes(wheel.read_bytes())
    told = {each["name"] for each in bills.bill(compiled)["components"]}
    plain = {name for name, _ in lines_of("requirements-serve.lock")}
    assert told == {*plain, "mypy"}


def test_what_is_published_is_both_wheels_a_bill_of_each_and_the_source_archive(
    tmp_path: Path, wheel: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled = wheel.name.replace("py3-none-any", "cp311-cp311-linux_x86_64")

    def compile_nothing(folder: Path) -> str:
        (folder / compiled).write_bytes(wheel.read_bytes())
        return compiled

    monkeypatch.setattr(program, "compiled_wheel", compile_nothing)
    assert program.main([str(tmp_path / "dist")]) == 0
    archive = wheel.name.replace("-py3-none-any.whl", ".tar.gz")
    names = {path.name for path in (tmp_path / "dist").iterdir()}
    bill_names = {f"{name}{bills.SUFFIX}" for name in (wheel.name, compiled)}
    assert names == {archive, wheel.name, compiled, *bill_names}


def test_a_bill_is_not_written_without_a_licence(
    wheel: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bills, "licence_of", lambda name: "" if name == "h11" else "MIT")
    with pytest.raises(bills.LicenceError, match="h11"):
        bills.bill(wheel)


def test_the_licences_of_all_libraries_that_may_be_installed_permit_use() -> None:
    names = licences.closure(licences.offered(PROJECT))
    assert {"grpcio", "lightkube", "matplotlib", "uvloop", "rich", "numpy", "bonsai"} <= names
    assert not {"pytest", "hypothesis", "mypy"} & names
    assert licences.findings({*names, *licences.NOT_INSTALLED}) == []


def test_every_locked_library_of_a_user_is_among_those_checked() -> None:
    names = licences.closure(licences.offered(PROJECT))
    locked = {*lines_of("requirements-serve.lock"), *lines_of("requirements-ldap.lock")}
    # Needed on other versions of Python or on other systems only.
    assert {name for name, _ in locked} - names <= {"typing-extensions"}


def test_a_licence_that_does_not_permit_use_and_an_unknown_one_are_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known = {"one": "GPL-3.0-only", "two": "", "three": "MIT"}
    monkeypatch.setattr(licences, "licence_of", known.__getitem__)
    assert licences.findings(known) == [
        "one: GPL-3.0-only is not among the licences that are allowed",
        "two: neither its metadata nor tools/supply/licences.py say a licence",
    ]


@pytest.mark.parametrize(
    "expression, expected",
    [
        ("MIT", True),
        ("MIT AND BSD-3-Clause", True),
        ("MIT AND GPL-3.0-only", False),
        ("GPL-3.0-only OR MIT", True),
        ("GPL-3.0-only OR MIT AND AGPL-3.0-only", False),
        ("(MIT OR GPL-3.0-only)", False),
        ("", False),
    ],
)
def test_one_choice_of_an_expression_has_to_be_allowed(expression: str, expected: bool) -> None:
    assert licences.permitted(expression) is expected


def test_a_licence_that_was_looked_up_agrees_with_the_metadata_where_there_are_some(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    there = {canonicalize_name(each.name) for each in distributions()}
    looked_up = {name: text for name, text in licences.NOT_INSTALLED.items() if name in there}
    if not looked_up:
        pytest.skip("no library of the extras ldap and otel is installed (make ldap)")
    monkeypatch.setattr(licences, "NOT_INSTALLED", {})
    assert {name: licences.licence_of(name) for name in looked_up} == looked_up


def test_whatever_installs_asks_for_hashes_or_takes_no_library() -> None:
    makefile = (ROOT / "Makefile").read_text().replace("\\\n", " ")
    calls = re.findall(r"^.* -m pip .*$", makefile, re.MULTILINE)
    for path in (ROOT / "tools").rglob("*.py"):
        # A command is built in two lines.
        calls += re.findall(r'^.*"-m", "pip".*\n.*$', path.read_text(), re.MULTILINE)
    assert len(calls) == 9
    for call in calls:
        assert "--require-hashes" in call or ("--no-deps" in call and " -e ." in call), call
