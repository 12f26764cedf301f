"""Compile the core with mypyc into a folder, from the sources as they are.

Plain Python is the product; this proves that the very same files also compile, and serves those
who want the speed. Message records stay out: they are dataclasses built by a decorator of our
own, and no faster compiled. `make compile` runs

    python tools/compile_core.py FOLDER

which leaves in FOLDER, a new one, a copy of the package ``remuda`` with a compiled core.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

SETUP = """\
from mypyc.build import mypycify
from setuptools import setup

# Libraries without types, such as RE2, are called as they are.
files = ["--ignore-missing-imports", *{files!r}]
setup(name="remuda-core", packages=[], ext_modules=mypycify(files, opt_level="{level}"))
"""


def modules(package: Path) -> list[str]:
    """Return the modules of the core to compile, relative to the package's parent."""
    return [
        str(path.relative_to(package.parent))
        for path in sorted((package / "core").rglob("*.py"))
        if "messages" not in path.parts and path.name != "__init__.py"
    ]


def compile_core(folder: Path, level: str = "2") -> None:
    """Copy the package to a folder and compile its core there.

    Raises: subprocess.CalledProcessError if mypyc or the C compiler refuses.
    """
    folder.mkdir(parents=True, exist_ok=True)
    package = folder / "remuda"
    shutil.copytree(ROOT / "src" / "remuda", package, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "setup.py").write_text(
        SETUP.format(files=modules(package), level=level), encoding="utf-8"
    )
    subprocess.run(
        [sys.executable, "setup.py", "-q", "build_ext", "--inplace"],
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
    )


def main() -> int:
    """Compile into the folder named on the command line; 0 on success."""
    if len(sys.argv) != 2:
        print("usage: python tools/compile_core.py FOLDER")
        return 2
    try:
        compile_core(Path(sys.argv[1]))
    except FileExistsError as error:
        print(f"compile: {error.filename} exists; name a new folder")
        return 2
    except subprocess.CalledProcessError as failure:
        print(failure.stderr, end="")
        print("compile: mypyc or the C compiler refused; what they said is above")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
