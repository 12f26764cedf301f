"""Build the wheel: the package as it is or, where that is possible, with a compiled core.

This is the build backend that pyproject.toml names: setuptools' own, and around it the decision
whether mypyc compiles what `COMPILED` lists. REMUDA_COMPILE=1 insists on it, REMUDA_COMPILE=0
forbids it; without either, what cannot be compiled stays plain Python, and one line says why.
Sources are compiled as they are, and stay in the wheel beside what became of them.

Wheels and the source archive are built in a copy of the sources, so that nothing that an earlier
build left lying about gets into them. The same sources and programs give the same bytes, wherever
and whenever: no path of the build, no order of a folder, no mode of a file and no time is in them,
but SOURCE_DATE_EPOCH where that is set. Editable installs are setuptools' alone and never compiled.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tarfile
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatch
from gzip import GzipFile
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from setuptools import setup
from setuptools.build_meta import (
    build_editable,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)
from setuptools.command.build_ext import build_ext

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

PACKAGES: Final = ("remuda", "remuda_kubernetes")

# What is compiled: modules below src, where `*` stands for any text, slashes too. A line here is
# all that a further module or folder needs; docs/explanation/the-compiled-build.md says what its
# code has to keep to.
COMPILED: Final = (
    "remuda/core/*.py",
    "remuda/si/codec_*.py",  # every ask and every allocation goes through them
    "remuda/si/generation.py",
    "remuda/si/placements.py",
)

# What of it stays as it is, with the reason.
INTERPRETED: Final = (
    # Recordings are read by the types of the records' fields, of which a compiled record keeps
    # only the outermost: what is inside a command would come back as a dictionary.
    "remuda/core/messages/commands.py",
    "remuda/core/ports.py",
    "*__init__.py",  # they hold a docstring
)

# The releases of mypy that the sources are known to compile with.
MYPY: Final = "mypy==2.4.*"

VARIABLE: Final = "REMUDA_COMPILE"
ROOT: Final = Path(__file__).resolve().parents[2]

# What of the repository a wheel is made of.
_PARTS: Final = (
    *("pyproject.toml", "README.md", "LICENSE", "NOTICE", "man"),
    *(f"src/{name}" for name in PACKAGES),
)

# What of the repository the source archive is made of beside that.
_BUILDING: Final = ("MANIFEST.in", "tools/wheels")

# The time of every file in a wheel or in the source archive if SOURCE_DATE_EPOCH does not say
# another: the first one that the format of a wheel has.
_EPOCH: Final = "315532800"

_SEED: Final = "-frandom-seed="

_BUILD: Final = (
    "import sys; from setuptools import build_meta;"
    " print(getattr(build_meta, sys.argv[1])(sys.argv[2]))"
)
_SETUP: Final = """\
import sys
sys.path.insert(0, {folder!r})
import backend
backend.set_up({files!r})
"""


class CompileError(Exception):
    """The core cannot be compiled here. The text says why, ``log`` what the programs printed."""

    def __init__(self, reason: str, log: str = "") -> None:
        super().__init__(reason)
        self.log = log


def modules(sources: Path = ROOT / "src") -> list[str]:
    """Return the modules to compile, as paths below the folder of the packages, in order."""
    names = sorted(
        path.relative_to(sources).as_posix()
        for package in PACKAGES
        for path in (sources / package).rglob("*.py")
    )
    return [name for name in names if _among(name, COMPILED) and not _among(name, INTERPRETED)]


def wanted(environment: Mapping[str, str] = os.environ) -> bool | None:
    """Return whether the environment insists on compiling or forbids it; None if neither.

    Raises: SystemExit with one line if it says something else.
    """
    value = environment.get(VARIABLE, "")
    if value not in {"", "0", "1"}:
        raise SystemExit(f"remuda: {VARIABLE} is {value!r}; it can be 0, 1 or nothing")
    return None if value == "" else value == "1"


def obstacle() -> str:
    """Return why nothing can be compiled here, whatever it is; empty if it can."""
    if sys.implementation.name != "cpython":
        return f"mypyc compiles for CPython, and this is {sys.implementation.name}"
    command = _compiler()
    trial = [*command, "-I", sysconfig.get_path("include"), "-x", "c", "-fsyntax-only", "-"]
    try:
        done = subprocess.run(
            trial, input="#include <Python.h>\n", capture_output=True, text=True, check=False
        )
    except OSError:
        return f"there is no C compiler (tried {command[0]!r})"
    if done.returncode == 0:
        return ""
    if "Python.h" in done.stderr:
        return "the C headers of Python are missing (Debian and Ubuntu: python3-dev)"
    return f"the C compiler {command[0]!r} does not work"


def whole_program(command: list[str]) -> list[str]:
    """Return the options by which a C compiler optimises across files, none if it cannot.

    Decisions go through many small functions of many modules: it saves a twentieth of their time.
    """
    options = ["-flto=auto", "-fno-semantic-interposition"]
    with TemporaryDirectory() as place:
        source = Path(place, "trial.c")
        source.write_text("int remuda(void) { return 0; }\n")
        trial = [*command, "-shared", "-fPIC", *options, "-o", str(source.with_suffix(".so"))]
        done = subprocess.run([*trial, str(source)], capture_output=True, check=False)
    return [] if done.returncode else options


def without_places(command: list[str]) -> list[str]:
    """Return the options by which no path of this machine gets into what is compiled.

    None if the compiler does not know them: what it makes runs as well. The working folder is the
    copy of the sources; mypyc's own C files lie beside its package.
    """
    library = find_spec("mypyc")
    assert library is not None
    assert library.origin is not None
    places = {Path.cwd(): ".", Path(library.origin).parent: "mypyc"}
    options = [f"-ffile-prefix-map={place}={name}" for place, name in places.items()]
    trial = [*command, *options, _SEED + "trial", "-x", "c", "-fsyntax-only", "-"]
    done = subprocess.run(trial, input="", capture_output=True, text=True, check=False)
    return [] if done.returncode else options


def _compiler() -> list[str]:
    return shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")


def get_requires_for_build_wheel(
    config_settings: Mapping[str, Any] | None = None,
) -> list[str]:
    """Return what building a wheel needs beside setuptools: mypy if there will be compiling.

    Raises: SystemExit with one line if compiling is insisted on and not possible.
    """
    choice = wanted()
    reason = obstacle() if choice is not False else ""
    if choice and reason:
        raise SystemExit(_insisted(reason))
    return [] if choice is False or reason else [MYPY]


def build_wheel(
    wheel_directory: str,
    config_settings: Mapping[str, Any] | None = None,
    metadata_directory: str | None = None,
) -> str:
    """Build a wheel, compiled if that is possible and not forbidden; returns its file's name.

    Raises: SystemExit with one line, after what the programs printed, if compiling is insisted
    on and fails.
    """
    choice = wanted()
    if choice is False:
        return pure_wheel(Path(wheel_directory))
    try:
        return compiled_wheel(Path(wheel_directory))
    except CompileError as error:
        if choice:
            print(error.log, file=sys.stderr)
            raise SystemExit(_insisted(str(error))) from None
        more = f" ({VARIABLE}=1 shows what they said)" if error.log else ""
        print(
            f"remuda: the core is not compiled, because {error}{more};"
            " it stays plain Python, which decides the same and is slower",
            file=sys.stderr,
        )
        return pure_wheel(Path(wheel_directory))


def build_sdist(
    sdist_directory: str,
    config_settings: Mapping[str, Any] | None = None,
) -> str:
    """Build the source archive; returns its file's name."""
    return source_archive(Path(sdist_directory))


def source_archive(directory: Path) -> str:
    """Build the archive of what a wheel is made of and built with; returns its file's name.

    Raises: subprocess.CalledProcessError if setuptools fails.
    """
    with TemporaryDirectory() as folder:
        tree = _copy(Path(folder), (*_PARTS, *_BUILDING))
        name = _built("build_sdist", tree, tree)
        _settle(tree / name, directory / name)
    return name


def _settle(archive: Path, target: Path) -> None:
    """Write an archive anew, without what depends on the place and the time of the build."""
    time = int(os.environ.get("SOURCE_DATE_EPOCH", _EPOCH))
    with (
        tarfile.open(archive) as source,
        target.open("wb") as file,
        GzipFile("", "wb", fileobj=file, mtime=time) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as result,
    ):
        for member in sorted(source.getmembers(), key=lambda each: each.name):
            mode = 0o755 if member.isdir() else 0o644
            plain = member.replace(mtime=time, mode=mode, uid=0, gid=0, uname="", gname="")
            plain.pax_headers = {}
            result.addfile(plain, source.extractfile(member) if member.isfile() else None)


def pure_wheel(directory: Path) -> str:
    """Build the wheel that runs everywhere; returns its file's name.

    Raises: subprocess.CalledProcessError if setuptools fails.
    """
    with TemporaryDirectory() as folder:
        return _built("build_wheel", _copy(Path(folder)), directory)


def compiled_wheel(directory: Path) -> str:
    """Build the wheel with a compiled core, for this platform; returns its file's name.

    Raises: CompileError.
    """
    reason = obstacle() or ("" if find_spec("mypyc") else "mypy is not installed")
    if reason:
        raise CompileError(reason)
    with TemporaryDirectory() as folder:
        tree = _copy(Path(folder))
        files = [f"src/{name}" for name in modules(tree / "src")]
        script = _SETUP.format(folder=str(Path(__file__).parent), files=files)
        (tree / "setup.py").write_text(script, encoding="utf-8")
        try:
            return _built("build_wheel", tree, directory)
        except subprocess.CalledProcessError as error:
            log = error.stdout + error.stderr
            raise CompileError("mypyc or the C compiler refused", log) from None


def set_up(files: list[str]) -> None:
    """Do the work of setup.py in the copy that `compiled_wheel` makes."""
    from mypyc.build import mypycify  # noqa: PLC0415 - not there where nothing is compiled

    # One C file for each module: compiled side by side within a third of the time of one for all,
    # and, optimised across files, as quick to run. No settings of ours, which are for judging, not
    # for compiling; libraries without types, such as RE2, are called as they are.
    extensions = mypycify(
        ["--config-file=", "--ignore-missing-imports", *files],
        opt_level="3",
        debug_level="0",
        multi_file=True,
        group_name="remuda",
    )
    options = whole_program(_compiler())
    places = without_places(_compiler())
    _SideBySide.seeded = bool(places)
    for each in extensions:
        # A warning that a newer compiler thought of is no reason against its work.
        each.extra_compile_args += ["-Wno-error", *options, *places]
        each.extra_link_args += ["-O3", *options] if options else []
    setup(ext_modules=extensions, cmdclass={"build_ext": _SideBySide})


class _SideBySide(build_ext):  # type: ignore[misc]  # setuptools has no types
    """Compiles as many files at a time as there are processors; setuptools takes one by one.

    ``seeded``: the compiler takes the option that makes what it makes up repeatable.
    """

    seeded = False

    def build_extensions(self) -> None:
        """Compile and link all extensions."""
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            compiler: Any = self.compiler
            one_by_one = compiler.compile

            def compile_all(sources: list[str], **settings: Any) -> list[str]:
                options = list(settings.pop("extra_postargs", None) or [])

                def compile_one(source: str) -> list[str]:
                    # Names that the compiler makes up come from the file's name, not by chance.
                    seeded = [*options, f"{_SEED}{source}"] if self.seeded else options
                    return list(one_by_one([source], extra_postargs=seeded, **settings))

                found = pool.map(compile_one, sources)
                return [each for objects in found for each in objects]

            compiler.compile = compile_all
            self.parallel = True
            super().build_extensions()


def _among(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatch(name, pattern) for pattern in patterns)


def _insisted(reason: str) -> str:
    return f"remuda: {VARIABLE}=1 asks for a compiled core, but {reason}"


def _copy(tree: Path, parts: Iterable[str] = _PARTS) -> Path:
    """Copy to a folder what a wheel is made of, or other parts of the repository."""
    for part in parts:
        source, target = ROOT / part, tree / part
        if source.is_dir():
            unwanted = shutil.ignore_patterns("__pycache__", "*.so")
            shutil.copytree(source, target, ignore=unwanted)
        else:
            shutil.copy(source, target)
    for path in tree.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    return tree


def _built(kind: str, tree: Path, directory: Path) -> str:
    """Have setuptools build from a tree. Raises: subprocess.CalledProcessError."""
    done = subprocess.run(
        [sys.executable, "-c", _BUILD, kind, str(directory.resolve())],
        cwd=tree,
        # mypyc goes through sets of names, whose order is that of their hashes.
        env={"SOURCE_DATE_EPOCH": _EPOCH, **os.environ, "PYTHONHASHSEED": "0"},
        umask=0o022,
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.splitlines()[-1]
