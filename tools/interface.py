"""Build the web interface from ui/, or say whether the committed files are those of the sources.

Usage: ``python -m tools.interface`` builds; ``--check`` compares and writes nothing; ``--test``
runs the unit tests of the sources. The page has a digest of all sources, so the comparison needs
nothing but Python. Where node is there, the files are built again and compared byte by byte.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
SOURCES: Final = ROOT / "ui"
BUILT: Final = ROOT / "src/remuda/edges/rest/ui"
LOCK: Final = SOURCES / "package-lock.json"

# A copy of the lock by which the libraries were installed.
_INSTALLED: Final = SOURCES / "node_modules" / ".remuda-lock"
_DIGEST: Final = re.compile(r'<meta name="sources" content="([0-9a-f]{64})">')


def source_files(sources: Path = SOURCES) -> list[Path]:
    """Return the files on which the built ones depend, in the order of the digest."""
    files = [each for each in (sources / "src").rglob("*") if each.is_file()]
    files += [sources / name for name in ("build.mjs", "package-lock.json", "tsconfig.json")]
    return sorted(files, key=lambda each: each.relative_to(sources).as_posix())


def digest(sources: Path = SOURCES) -> str:
    """Return the digest of all sources; build.mjs writes the same one into the page."""
    found = hashlib.sha256()
    for each in source_files(sources):
        for part in (each.relative_to(sources).as_posix().encode(), each.read_bytes()):
            found.update(b"%d\n" % len(part) + part)
    return found.hexdigest()


def recorded(built: Path = BUILT) -> str:
    """Return the digest of the sources of which the built files are, "" if they do not say."""
    page = built / "index.html"
    found = _DIGEST.search(page.read_text("utf-8")) if page.exists() else None
    return "" if found is None else found[1]


def install_libraries() -> bool:
    """Install the libraries of the lock, unless they are there; False if they cannot be had."""
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        return False
    if _INSTALLED.exists() and _INSTALLED.read_bytes() == LOCK.read_bytes():
        return True
    command = [npm, "ci", "--silent", "--ignore-scripts", "--no-audit", "--no-fund"]
    if subprocess.run(command, cwd=SOURCES, check=False).returncode:
        return False
    _INSTALLED.write_bytes(LOCK.read_bytes())
    return True


def _node(*arguments: str) -> int:
    """Run a program of the sources and return its exit code."""
    node = shutil.which("node")
    assert node is not None, "install_libraries said that node is there"
    return subprocess.run([node, *arguments], cwd=SOURCES, check=False).returncode


def check() -> int:
    """Compare the built files with the sources; 0: they agree, as far as can be told here."""
    if digest() != recorded():
        print("ui: the files in src/remuda/edges/rest/ui are not those of ui/: run make ui")
        return 1
    if not install_libraries():
        print("ui: NOT BUILT AGAIN, for want of node or its libraries; the digests agree")
        return 0
    return _node("node_modules/typescript/bin/tsc", "--noEmit") or _node("build.mjs", "--check")


def main(arguments: list[str]) -> int:
    """Do what the only argument says."""
    if arguments == ["--check"]:
        return check()
    if not install_libraries():
        print("ui: node and npm are needed, and access to the libraries of ui/package-lock.json")
        return 1
    if arguments == ["--test"]:
        return _node("test.mjs")
    return _node("node_modules/typescript/bin/tsc", "--noEmit") or _node("build.mjs")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
