"""Build wheels for the Makefile, and unpack one to run from.

`make wheel` runs ``python -m tools.wheels dist``, which leaves in dist/ both wheels, the bill of
materials of each, and the source archive.
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

from tools.supply.bill import write_bill
from tools.wheels.backend import CompileError, compiled_wheel, pure_wheel, source_archive


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
            everything(options.folder)
    except CompileError as error:
        print(error.log, end="", file=sys.stderr)
        print(f"compile: the core is not compiled, because {error}", file=sys.stderr)
        return 1
    return 0


def everything(folder: Path) -> None:
    """Build what is published, the compiled wheel last. Raises: CompileError."""
    folder.mkdir(parents=True, exist_ok=True)
    print(f"wheel: {folder / source_archive(folder)}", flush=True)
    for build in (pure_wheel, compiled_wheel):
        wheel = folder / build(folder)
        print(f"wheel: {wheel}", flush=True)
        print(f"wheel: {write_bill(wheel)}", flush=True)


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
