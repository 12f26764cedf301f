"""How a wheel comes to be compiled or not, and what gets into it.

The compiler is a program of ours that answers as told; that the real one compiles the core is
what `make test-compiled` shows, whose core is the content of a compiled wheel.
"""

from __future__ import annotations

import stat
import tomllib
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.package import ROOT
from tools.wheels import backend

NO_COMPILER = "there is no C compiler (tried '/nowhere/cc')"


@pytest.fixture(autouse=True)
def _nothing_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REMUDA_COMPILE", raising=False)
    monkeypatch.setenv("CC", "/nowhere/cc")


@pytest.fixture
def compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A compiler that is content with a trial and with nothing else."""
    program = tmp_path / "cc"
    program.write_text('#!/bin/sh\ncase "$*" in *-fsyntax-only*) exit 0;; esac\nexit 1\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("CC", f"{program} -m64")
    return program


def test_the_backend_is_the_one_that_the_project_names() -> None:
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]
    (folder,) = build["backend-path"]
    assert ROOT / folder / f"{build['build-backend']}.py" == Path(backend.__file__)


def test_what_is_compiled_is_listed_without_packages_and_what_recordings_are_read_by() -> None:
    names = backend.modules()
    assert "remuda/core/scheduler.py" in names
    assert "remuda/core/apply/turn.py" in names
    assert not {"remuda/core/messages/commands.py", "remuda/core/ports.py"} & set(names)
    assert not [name for name in names if name.endswith("__init__.py")]
    assert names == sorted(set(names))


@pytest.mark.parametrize("value, expected", [(None, None), ("", None), ("0", False), ("1", True)])
def test_the_variable_forbids_insists_or_leaves_it_open(
    value: str | None, expected: bool | None
) -> None:
    environment = {} if value is None else {"REMUDA_COMPILE": value}
    assert backend.wanted(environment) is expected


def test_another_value_is_an_error_in_one_line() -> None:
    with pytest.raises(SystemExit, match=r"^remuda: REMUDA_COMPILE is 'yes'; it can be 0, 1 or "):
        backend.wanted({"REMUDA_COMPILE": "yes"})


def test_mypy_is_needed_only_where_there_is_compiling(
    compiler: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert backend.get_requires_for_build_wheel() == [backend.MYPY]
    monkeypatch.setenv("REMUDA_COMPILE", "0")
    assert backend.get_requires_for_build_wheel() == []
    monkeypatch.delenv("REMUDA_COMPILE")
    monkeypatch.setenv("CC", "/nowhere/cc")
    assert backend.get_requires_for_build_wheel() == []
    assert backend.get_requires_for_build_editable() == []


def test_the_lock_holds_a_mypy_that_compiles() -> None:
    release = backend.MYPY.removesuffix("*")
    assert f"\n{release}" in (ROOT / "requirements.lock").read_text()


def test_insisting_without_a_compiler_ends_in_one_line_before_anything_is_fetched(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("REMUDA_COMPILE", "1")
    with pytest.raises(SystemExit) as ended:
        backend.get_requires_for_build_wheel()
    assert str(ended.value) == (
        f"remuda: REMUDA_COMPILE=1 asks for a compiled core, but {NO_COMPILER}"
    )


def test_a_compiler_that_cannot_optimise_across_files_is_not_asked_to(compiler: Path) -> None:
    assert backend.whole_program([str(compiler)]) == []
    compiler.write_text("#!/bin/sh\nexit 0\n")
    assert "-flto=auto" in backend.whole_program([str(compiler)])


def test_without_the_headers_of_python_the_reason_names_them(compiler: Path) -> None:
    compiler.write_text("#!/bin/sh\necho 'fatal error: Python.h: No such file' >&2\nexit 1\n")
    assert "python3-dev" in backend.obstacle()
    compiler.write_text("#!/bin/sh\necho 'unknown option' >&2\nexit 1\n")
    assert backend.obstacle() == f"the C compiler {str(compiler)!r} does not work"


def content(wheel: Path) -> set[str]:
    """The files of a wheel below the package."""
    with ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if name.startswith("remuda/")}


def test_without_a_compiler_the_wheel_is_pure_and_complete_and_one_line_says_so(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    wheel = tmp_path / backend.build_wheel(str(tmp_path))
    assert wheel.name.endswith("-py3-none-any.whl")
    files = {path for path in (ROOT / "src/remuda").rglob("*.*") if path.suffix != ".pyc"}
    assert content(wheel) == {path.relative_to(ROOT / "src").as_posix() for path in files}
    assert capfd.readouterr().err == (
        f"remuda: the core is not compiled, because {NO_COMPILER};"
        " it stays plain Python, which decides the same and is slower\n"
    )


def test_forbidden_compiling_is_not_a_word_worth(
    tmp_path: Path,
    compiler: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("REMUDA_COMPILE", "0")
    assert backend.build_wheel(str(tmp_path)).endswith("-py3-none-any.whl")
    assert capfd.readouterr().err == ""


def refusing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have only one small module compiled, which the compiler will not do."""
    monkeypatch.setattr(backend, "COMPILED", ("remuda/core/model/queues/bound.py",))


def test_a_compiler_that_fails_leaves_a_pure_wheel_and_one_line(
    tmp_path: Path,
    compiler: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    refusing(monkeypatch)
    assert backend.build_wheel(str(tmp_path)).endswith("-py3-none-any.whl")
    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith("remuda: the core is not compiled, because mypyc or the C compiler")
    assert "(REMUDA_COMPILE=1 shows what they said)" in line


def test_insisting_on_a_compiler_that_fails_shows_what_it_said_and_a_line(
    tmp_path: Path,
    compiler: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    refusing(monkeypatch)
    monkeypatch.setenv("REMUDA_COMPILE", "1")
    with pytest.raises(SystemExit, match=r"^remuda: REMUDA_COMPILE=1 asks for a compiled"):
        backend.build_wheel(str(tmp_path))
    assert str(compiler) in capfd.readouterr().err
    assert list(tmp_path.glob("*.whl")) == []
