"""Whoever builds from the same sources with the same tools gets the same bytes.

A compiled wheel takes minutes to build, twice as long as a test may take; here a few modules are
compiled, by the same way. `make reproducible` builds the whole.
"""

from __future__ import annotations

import tarfile
import time
from pathlib import Path
from zipfile import ZipFile

import pytest

from tools.supply.bill import bill, write_bill
from tools.wheels import backend
from tools.wheels.reproducible import both, differing

MODULES = ("remuda/core/model/queues/bound.py", "remuda/core/policy/headroom.py")

compiles = pytest.mark.skipif(bool(backend.obstacle()), reason=backend.obstacle())


def test_two_source_archives_from_different_places_are_the_same_bytes(tmp_path: Path) -> None:
    one, other = both("source_archive", tmp_path)
    assert one != other
    assert differing(one, other) == []
    assert one.read_bytes() == other.read_bytes()
    with tarfile.open(one) as archive:
        members = archive.getmembers()
    assert {(each.uid, each.gid, each.uname, each.gname) for each in members} == {(0, 0, "", "")}
    assert {each.mode for each in members} == {0o644, 0o755}
    names = {each.name.partition("/")[2] for each in members}
    sources = [*backend.modules(), "remuda_kubernetes/__init__.py"]
    needed = {"pyproject.toml", "tools/wheels/backend.py", *[f"src/{name}" for name in sources]}
    assert needed - names == set()


@pytest.mark.parametrize("kind", ["pure_wheel", pytest.param("compiled_wheel", marks=compiles)])
def test_two_builds_in_different_places_are_the_same_bytes(kind: str, tmp_path: Path) -> None:
    one, other = both(kind, tmp_path, MODULES)
    assert one != other
    assert differing(one, other) == []
    assert one.read_bytes() == other.read_bytes()
    assert write_bill(one).read_bytes() == write_bill(other).read_bytes()
    with ZipFile(one) as archive:
        libraries = [name for name in archive.namelist() if name.endswith(".so")]
        assert bool(libraries) is (kind == "compiled_wheel")
        for name in libraries:
            assert str(tmp_path).encode() not in archive.read(name)


def test_wheel_bill_and_source_archive_are_dated_as_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    wheel = tmp_path / backend.pure_wheel(tmp_path)
    with ZipFile(wheel) as archive:
        dates = {each.date_time for each in archive.infolist()}
    assert dates == {time.gmtime(1_700_000_000)[:6]}
    assert bill(wheel)["metadata"]["timestamp"] == "2023-11-14T22:13:20Z"
    with tarfile.open(tmp_path / backend.source_archive(tmp_path)) as sources:
        assert {each.mtime for each in sources} == {1_700_000_000}


def test_a_difference_between_source_archives_is_told(tmp_path: Path) -> None:
    found = []
    for name, text in (("a.tar.gz", "x"), ("b.tar.gz", "y")):
        (tmp_path / "file").write_text(text)
        with tarfile.open(tmp_path / name, "w:gz") as archive:
            archive.add(tmp_path / "file", "file")
        found.append(tmp_path / name)
    assert differing(*found) == ["file"]


def test_a_difference_is_told(tmp_path: Path) -> None:
    names = ["a", "b", "c"]
    for name, text in zip(names, ["x", "y", "x"], strict=True):
        with ZipFile(tmp_path / name, "w") as archive:
            archive.writestr("file", text)
    with ZipFile(tmp_path / "c", "w") as archive:
        archive.writestr("file", "x")
        archive.writestr("more", "")
    one, other, third = (tmp_path / name for name in names)
    assert differing(one, other) == ["file"]
    assert differing(one, third) == ["more"]
    assert differing(one, one) == []
