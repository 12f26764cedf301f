"""Build wheels for the Makefile, and unpack one to run from.

`make wheel` runs ``python -m tools.wheels dist``, which leaves both wheels in dist/.
`make compile` runs ``python -m tools.wheels --unpack build/compiled``, which leaves in that
folder what pip would install of the compiled wheel.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory
from zipfile import ZipFile

from tools.wheels.backend import CompileError, compiled_wheel, pure_wheel


def main(arguments: list[str]) -> int:
    """Do what the command line says; 0 on success, 1 if the core cannot be compiled."""
    parser = ArgumentParser(prog="python -m tools.wheels", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--unpack", action="store_true", help="the compiled one, unpacked")
    options = parser.parse_args(arguments)
    try:
        if options.unpack:
            unpack(options.folder)
        else:
            both(options.folder)
    except CompileError as error:
        print(error.log, end="", file=sys.stderr)
        print(f"compile: the core is not compiled, because {error}", file=sys.stderr)
        return 1
    return 0


def both(folder: Path) -> None:
    """Build the wheel that runs everywhere, then the compiled one. Raises: CompileError."""
    folder.mkdir(parents=True, exist_ok=True)
    for build in (pure_wheel, compiled_wheel):
        print(f"wheel: {folder / build(folder)}", flush=True)


def unpack(folder: Path) -> None:
    """Compile, and replace a folder by what the wheel holds. Raises: CompileError."""
    with TemporaryDirectory() as place:
        wheel = Path(place) / compiled_wheel(Path(place))
        if folder.exists():
            rmtree(folder)
        with ZipFile(wheel) as archive:
            archive.extractall(folder)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
