"""Show that wheels and the source archive are reproducible.

Each is built twice, in places that differ, and the bytes are compared; those of a wheel's bill of
materials, too.

`make reproducible` runs this. The places differ in the folder of the sources and its depth, the
folder for temporary files, the mode that new files get, the time zone, the seed of hashes and the
time of the build.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final
from zipfile import ZipFile

from tools.wheels.backend import ROOT

KINDS: Final = ("source_archive", "pure_wheel", "compiled_wheel")

# Where the sources lie below a folder, and what else differs.
_PLACES: Final = (
    ("one", 0o022, {"TZ": "UTC", "PYTHONHASHSEED": "1"}),
    ("another/and deeper", 0o077, {"TZ": "Asia/Tokyo", "PYTHONHASHSEED": "2"}),
)
_BUILD: Final = """\
import sys
from pathlib import Path
from tools.wheels import backend
kind, folder, *modules = sys.argv[1:]
backend.COMPILED = tuple(modules) or backend.COMPILED
print(getattr(backend, kind)(Path(folder)))
"""


def both(kind: str, folder: Path, modules: Sequence[str] = ()) -> list[Path]:
    """Build one of `KINDS` twice below a folder; ``modules``: compile only these.

    Raises: subprocess.CalledProcessError.
    """
    return [
        _built(kind, folder / place, umask, settings, modules) for place, umask, settings in _PLACES
    ]


def _built(
    kind: str, place: Path, umask: int, settings: dict[str, str], modules: Sequence[str]
) -> Path:
    unwanted = shutil.ignore_patterns("__pycache__", "*.so")
    for part in ("src", "tools", "man"):
        shutil.copytree(ROOT / part, place / part, ignore=unwanted, dirs_exist_ok=True)
    for part in ("pyproject.toml", "README.md", "LICENSE", "NOTICE", "MANIFEST.in"):
        shutil.copy(ROOT / part, place / part)
    result = place / "dist"
    result.mkdir(exist_ok=True)
    done = subprocess.run(
        [sys.executable, "-c", _BUILD, kind, str(result), *modules],
        cwd=place,
        env={**os.environ, **settings, "TMPDIR": str(place), "PYTHONPATH": str(place)},
        umask=umask,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return result / done.stdout.splitlines()[-1]


def differing(one: Path, other: Path) -> list[str]:
    """Return which files of two archives differ, or that only their places, times or modes do."""
    if one.read_bytes() == other.read_bytes():
        return []
    first, second = _contents(one), _contents(other)
    names = sorted({*first, *second})
    found = [name for name in names if first.get(name) != second.get(name)]
    return found or ["order, times or modes of the files"]


def _contents(archive: Path) -> dict[str, bytes]:
    """Return what the files of a wheel or of a source archive hold, by name."""
    if archive.suffix == ".gz":
        with tarfile.open(archive) as packed:
            return {each.name: file.read() for each in packed if (file := packed.extractfile(each))}
    with ZipFile(archive) as wheel:
        return {name: wheel.read(name) for name in wheel.namelist()}


def main() -> int:
    """Build and compare; 0 if there is no difference."""
    code = 0
    for kind in KINDS:
        with TemporaryDirectory() as folder:
            one, other = both(kind, Path(folder))
            difference = differing(one, other)
            if difference:
                print(f"reproducible: {one.name} differs in {', '.join(difference)}")
                code = 1
            else:
                digest = hashlib.sha256(one.read_bytes()).hexdigest()
                print(f"reproducible: {one.name} sha256 {digest}", flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
